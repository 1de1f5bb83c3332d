"""A search that deletes many edges at once, each with a private separating set.

A stage lists the conditioning sets of the edges that are left: public facts. One draw
chooses the edges to delete by their best margins, then each of them gets a separating
set by a draw of its own. The price of every draw is fixed beforehand, or follows from
the public number of deleted edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import comb, sqrt

import networkx as nx

from skdp.causal.skeleton import Progress, Skeleton, candidate_sets
from skdp.privacy import Curator, zcdp_from_dp
from skdp.queries import DependenceQuery, IndependenceMargins, Question

__all__ = ["DeletionPlan", "delete_edges", "n_joint_questions", "plan_deletions"]

Edge = tuple[str, str]
Given = tuple[str, ...]
AskedSets = dict[Edge, list[Given]]
Asker = Callable[[str, str, Given], tuple[DependenceQuery, float]]


@dataclass(frozen=True)
class DeletionPlan:
    """The prices of a search.

    Parameters
    ----------
    choices : tuple of float
        For each stage, epsilon of the choice of the edges to delete.
    separations : tuple of float
        For each stage, epsilon of all its separating sets.
    composition : {"basic", "zcdp"}
        How the draws are composed.
    in_two_steps : bool
        Whether the number of edges is chosen first, for half of a choice's price.
    """

    choices: tuple[float, ...] = ()
    separations: tuple[float, ...] = ()
    composition: str = "basic"
    in_two_steps: bool = False


def plan_deletions(
    budget: tuple[float, float],
    orders: Sequence[int],
    separating_share: float,
    in_two_steps: bool,
) -> DeletionPlan:
    """Divide a budget into equal stages.

    Parameters
    ----------
    budget : tuple of (float, float)
        Total epsilon and delta.
    orders : sequence of int
        Largest size of a conditioning set in each stage. Where it is 0, nothing has to
        be chosen but the edges.
    separating_share : float in (0, 1)
        Share of a stage for its separating sets.
    in_two_steps : bool
        Whether the number of edges is chosen first.

    Returns
    -------
    DeletionPlan
        The plan; its cost is at most the budget.
    """
    if not orders:
        return DeletionPlan(in_two_steps=in_two_steps)
    epsilon, delta = budget
    shares = [separating_share if order else 0.0 for order in orders]
    steps = 2 if in_two_steps else 1
    factor, composition = epsilon / len(orders), "basic"
    if delta > 0:
        # An exponential mechanism of epsilon is epsilon^2/8-zCDP.
        squares = sum((1 - s) ** 2 / steps + s**2 for s in shares)
        concentrated = sqrt(8 * zcdp_from_dp(epsilon, delta) / squares)
        if concentrated > factor:
            factor, composition = concentrated, "zcdp"
    factor *= 1 - 2.0**-40  # the sums are rounded
    return DeletionPlan(
        tuple(factor * (1 - share) for share in shares),
        tuple(factor * share for share in shares),
        composition,
        in_two_steps,
    )


def n_joint_questions(n_variables: int, max_order: int | None) -> int:
    """Count the questions about all pairs given all sets of other variables.

    Parameters
    ----------
    n_variables : int
        Number of variables.
    max_order : int or None
        Largest size of a set.

    Returns
    -------
    int
        The number of questions.
    """
    others = max(n_variables - 2, 0)
    largest = others if max_order is None else min(max_order, others)
    n_sets = sum(comb(others, order) for order in range(largest + 1))
    return comb(n_variables, 2) * n_sets


def delete_edges(
    curator: Curator,
    names: Sequence[str],
    ask: Asker,
    plan: DeletionPlan,
    max_order: int | None = None,
    progress: Progress | None = None,
) -> Skeleton:
    """Delete edges of the complete graph in the stages of a plan.

    Parameters
    ----------
    curator : Curator
        Makes the choices.
    names : sequence of str
        The variables.
    ask : callable
        ``ask(x, y, given)`` returns a score as a query and its threshold.
    plan : DeletionPlan
        The prices. With one stage, every set of other variables up to `max_order` is
        asked in it; with several, those of neighbours whose size is the stage's number.
    max_order : int, optional
        Largest size of a conditioning set.
    progress : callable, optional
        Called as ``progress(stage, n_done, n_deleted)`` after each separating set.

    Returns
    -------
    Skeleton
        What is left, and the chosen separating sets.
    """
    search = _Search(curator, ask, plan, nx.complete_graph(names), progress)
    if len(plan.choices) == 1:
        search.run_stage(0, search.all_sets(max_order))
    else:
        for order in range(len(plan.choices)):
            search.run_stage(order, search.neighbour_sets(order))
    return search.result()


class _Search:
    """The state of one search."""

    def __init__(
        self,
        curator: Curator,
        ask: Asker,
        plan: DeletionPlan,
        graph: nx.Graph,
        progress: Progress | None,
    ) -> None:
        self.curator = curator
        self.ask = ask
        self.plan = plan
        self.graph = graph
        self.progress = progress
        self.separating_sets: dict[frozenset[str], Given] = {}
        self.n_tests = 0

    def all_sets(self, max_order: int | None) -> AskedSets:
        """List the sets of other variables, small ones first."""
        names = list(self.graph)
        largest = len(names) - 2 if max_order is None else max_order
        return {
            (x, y): list(_sets([z for z in names if z not in (x, y)], largest))
            for x, y in combinations(names, 2)
        }

    def neighbour_sets(self, order: int) -> AskedSets:
        """List the sets of neighbours of one size, for the edges that have any."""
        places = {name: i for i, name in enumerate(self.graph)}
        neighbours = {
            x: tuple(sorted(self.graph[x], key=places.__getitem__)) for x in self.graph
        }
        found = {
            (x, y): list(candidate_sets(x, y, neighbours, order))
            for x, y in combinations(self.graph, 2)
            if self.graph.has_edge(x, y)
        }
        return {edge: sets for edge, sets in found.items() if sets}

    def run_stage(self, stage: int, asked: AskedSets) -> None:
        """Choose the edges to delete, then a separating set for each."""
        if not asked:
            return
        margins = {
            (x, y): [Question(*self.ask(x, y, given)) for given in sets]
            for (x, y), sets in asked.items()
        }
        self.n_tests += sum(map(len, asked.values()))
        deleted = self._choose_edges(margins, self.plan.choices[stage])
        self.graph.remove_edges_from(deleted)
        open_ones = sum(len(asked[edge]) > 1 for edge in deleted)
        for n_done, edge in enumerate(deleted, start=1):
            chosen = 0
            if len(asked[edge]) > 1:
                price = self._share(self.plan.separations[stage], open_ones)
                chosen = self._choose_set(margins[edge], price)
            self.separating_sets[frozenset(edge)] = asked[edge][chosen]
            if self.progress is not None:
                self.progress(stage, n_done, len(deleted))

    def _choose_edges(
        self, margins: dict[Edge, list[Question]], epsilon: float
    ) -> list[Edge]:
        query = IndependenceMargins(tuple(map(tuple, margins.values())))
        size = None
        if self.plan.in_two_steps:
            epsilon /= 2
            size = self.curator.subset_size(query, epsilon=epsilon)
        chosen = self.curator.subset(query, epsilon=epsilon, size=size)
        return [edge for edge, out in zip(margins, chosen, strict=True) if out]

    def _share(self, epsilon: float, n_draws: int) -> float:
        """Divide a price by a public number of exponential mechanisms."""
        return epsilon / (
            n_draws if self.plan.composition == "basic" else sqrt(n_draws)
        )

    def _choose_set(self, questions: list[Question], epsilon: float) -> int:
        query = IndependenceMargins(tuple((question,) for question in questions))
        epsilon *= 1 - 2.0**-40  # the sums are rounded
        if self.plan.composition == "basic":
            return self.curator.noisy_max(query, epsilon=epsilon)
        return self.curator.exponential(query, epsilon=epsilon)

    def result(self) -> Skeleton:
        """Return what was found."""
        return Skeleton(
            graph=self.graph,
            separating_sets=self.separating_sets,
            n_tests=self.n_tests,
            n_deletions=len(self.separating_sets),
            complete=True,
        )


def _sets(others: Sequence[str], largest: int) -> Iterator[Given]:
    return chain.from_iterable(combinations(others, k) for k in range(largest + 1))
