"""The search for the skeleton of a causal graph, whoever answers its questions.

PC-stable (Colombo & Maathuis 2014, Algorithm 4.1): start from the complete
graph and, for growing sizes of the conditioning set, remove every edge whose
ends are found independent given some set of their neighbours. Neighbours are
frozen while the size stays the same, so that the graph does not depend on the
order of the variables. The search sees no records: it asks an answerer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count
from typing import Protocol

import networkx as nx

__all__ = ["Answerer", "Skeleton", "candidate_sets", "learn_skeleton"]

Neighbours = dict[str, tuple[str, ...]]
Progress = Callable[[int, int, int], None]


class Answerer(Protocol):
    """What the search asks its questions of."""

    @property
    def exhausted(self) -> bool:
        """Whether no more questions may be asked."""

    def independent(self, x: str, y: str, given: tuple[str, ...]) -> bool:
        """Say whether two variables are independent given others.

        Parameters
        ----------
        x, y : str
            The two variables.
        given : tuple of str
            The conditioning set; () for marginal independence.

        Returns
        -------
        bool
            True for independent: the edge between them is removed.
        """


@dataclass(frozen=True)
class Skeleton:
    """What a skeleton search found.

    Parameters
    ----------
    graph : networkx.Graph
        The remaining edges; every variable is a node, in the order given.
    separating_sets : dict of frozenset to tuple of str
        For each pair whose edge was removed, the set that separated it.
    n_tests : int
        Number of questions asked.
    n_deletions : int
        Number of edges removed.
    complete : bool
        False if the answerer was exhausted before the search had ended; the
        edges not yet examined are then still in the graph.
    """

    graph: nx.Graph
    separating_sets: dict[frozenset[str], tuple[str, ...]]
    n_tests: int
    n_deletions: int
    complete: bool


def learn_skeleton(
    variables: Sequence[str],
    answerer: Answerer,
    *,
    max_order: int | None = None,
    progress: Progress | None = None,
) -> Skeleton:
    """Find which pairs of variables no set of other variables separates.

    Parameters
    ----------
    variables : sequence of str
        Distinct names. Questions name their variables in this order.
    answerer : Answerer
        Answers the questions; none is asked twice, and none once it says that it
        is exhausted. Exceptions it raises pass through.
    max_order : int, optional
        Largest size of a conditioning set; None for no limit.
    progress : callable, optional
        Called as ``progress(order, n_done, n_edges)`` after each edge: the
        size of the conditioning sets, and how many of the edges to examine at
        that size are done.

    Returns
    -------
    Skeleton
        The remaining edges, the separating sets and what the search took.

    Raises
    ------
    ValueError
        If a variable is named twice or `max_order` is negative.

    References
    ----------
    Colombo, D. & Maathuis, M. H. (2014). Order-independent constraint-based
    causal structure learning. Journal of Machine Learning Research 15.

    Examples
    --------
    >>> class Chain:
    ...     exhausted = False
    ...     def independent(self, x, y, given):
    ...         return (x, y, given) == ("rain", "slip", ("wet",))
    >>> found = learn_skeleton(["rain", "wet", "slip"], Chain())
    >>> list(found.graph.edges)
    [('rain', 'wet'), ('wet', 'slip')]
    >>> found.separating_sets[frozenset({"rain", "slip"})]
    ('wet',)
    """
    names = _distinct(variables)
    if max_order is not None and max_order < 0:
        raise ValueError(f"max_order must be None or at least 0, got {max_order}.")
    search = _Search(names, answerer)
    for order in count() if max_order is None else range(max_order + 1):
        if not search.run_order(order, progress):
            break
    return search.result()


class _Search:
    """The state of one search: the graph so far and what has been asked."""

    def __init__(self, names: tuple[str, ...], answerer: Answerer) -> None:
        self.names = names
        self.answerer = answerer
        self.graph = nx.complete_graph(names)
        self.separating_sets: dict[frozenset[str], tuple[str, ...]] = {}
        self.n_tests = 0
        self.complete = True

    def run_order(self, order: int, progress: Progress | None) -> bool:
        """Examine every edge with sets of one size; say whether to go on."""
        neighbours = self._neighbours()
        edges = self._examinable(neighbours, order)
        for n_done, (x, y) in enumerate(edges, start=1):
            self._examine(x, y, candidate_sets(x, y, neighbours, order))
            if not self.complete:
                return False
            if progress is not None:
                progress(order, n_done, len(edges))
        return bool(edges)

    def result(self) -> Skeleton:
        return Skeleton(
            graph=self.graph,
            separating_sets=self.separating_sets,
            n_tests=self.n_tests,
            n_deletions=len(self.separating_sets),
            complete=self.complete,
        )

    def _neighbours(self) -> Neighbours:
        return {
            x: tuple(y for y in self.names if self.graph.has_edge(x, y))
            for x in self.names
        }

    def _examinable(self, neighbours: Neighbours, order: int) -> list[tuple[str, str]]:
        """List the edges that have a conditioning set of this size."""
        degree = {x: len(others) for x, others in neighbours.items()}
        return [
            (x, y)
            for x, y in combinations(self.names, 2)
            if self.graph.has_edge(x, y) and max(degree[x], degree[y]) > order
        ]

    def _examine(self, x: str, y: str, sets: Iterator[tuple[str, ...]]) -> None:
        """Ask about one edge until a set separates its ends."""
        for given in sets:
            if self.answerer.exhausted:
                self.complete = False
                return
            self.n_tests += 1
            if self.answerer.independent(x, y, given):
                self.graph.remove_edge(x, y)
                self.separating_sets[frozenset((x, y))] = given
                return


def candidate_sets(
    x: str, y: str, neighbours: Neighbours, order: int
) -> Iterator[tuple[str, ...]]:
    """Yield the sets of neighbours of `x`, then those of `y` not yet seen.

    Parameters
    ----------
    x, y : str
        The ends of an edge.
    neighbours : dict of str to tuple of str
        The neighbours of every variable, each other included.
    order : int
        Size of the sets.

    Yields
    ------
    tuple of str
        A conditioning set.
    """
    of_x = [z for z in neighbours[x] if z != y]
    of_y = [z for z in neighbours[y] if z != x]
    yield from combinations(of_x, order)
    seen = set(of_x)
    yield from (s for s in combinations(of_y, order) if not seen.issuperset(s))


def _distinct(variables: Sequence[str]) -> tuple[str, ...]:
    names = tuple(variables)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"Variables must have distinct names; rename the repeated {twice}."
        )
    return names
