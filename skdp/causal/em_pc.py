"""EM-PC: PC that chooses the edges to delete by the exponential mechanism, exactly."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval, StrOptions
from skdp.causal.deletions import (
    DeletionPlan,
    delete_edges,
    n_joint_questions,
    plan_deletions,
)
from skdp.causal.private import PrivateCausalDiscovery, n_pairs
from skdp.causal.questions import Questions
from skdp.causal.scores import DEPENDENCE_QUERIES
from skdp.exceptions import ModelTooLargeError
from skdp.progress import progress_of
from skdp.queries import PublicFacts
from skdp.records import CountTable, Schema
from skdp.stats import LaplaceNoise

__all__ = ["EMPC"]

MOST_QUESTIONS = 1_000_000


class EMPC(PrivateCausalDiscovery):
    """Learn a causal graph with differential privacy by the exponential mechanism.

    The edges to delete are chosen all at once. Every edge has a margin: how far the
    dependence of its ends can be pushed below the threshold by a conditioning set, in
    units of the score's sensitivity. The exponential mechanism chooses among all sets
    of edges, with the smallest margin on the right side as the utility; it is drawn
    exactly. A share of the budget then chooses a separating set for each deleted
    edge. Orientation is post-processing.

    Parameters
    ----------
    epsilon : float > 0, default=1.0
        Total privacy loss of one `fit`.
    delta : float in [0, 1), default=0.0
        0 for pure differential privacy. With delta > 0 the draws are composed by the
        better of basic and zCDP composition.
    independence_test : {"kendall", "kendall_normalized", "spearman", \
            "total_variation"}, default="kendall"
        Dependence score; all but the last take levels in the order of the schema.
    alpha : float in (0, 1), default=0.1
        Level that sets the thresholds, with noise of the mechanism's scale 2/epsilon
        counted in. A choice among sets of edges has no exact level.
    max_order : int or None, default=1
        Largest size of a conditioning set; None for no limit.
    selection : {"joint", "edges", "count_then_edges"}, default="joint"
        "joint" draws once, with all sets up to `max_order` of all other variables; with
        many variables for the budget, first how many edges, then which.
        "edges" draws once per order, as PC does, with sets of the neighbours that are
        left. "count_then_edges" draws twice per order: how many edges, then which, as
        published.
    separating_share : float in (0, 1), default=0.2
        Share of the budget for the separating sets, which only the orientation needs.
    schema : Schema, optional
        Public levels of the columns. Without it they are read off the records, with a
        `PrivacyLeakWarning`.
    verbose : int, default=0
        Whether to show progress.
    random_state : int, RandomState or None, default=None
        None: cryptographic noise. An int makes the fit reproducible, for tests and
        papers; a known seed voids the guarantee.

    Attributes
    ----------
    skeleton_ : networkx.Graph
        The skeleton over the names of the variables.
    causal_graph_ : networkx.DiGraph
        The CPDAG; an undirected edge is two directed ones.
    adjacency_matrix_ : ndarray of int64, shape (n_variables, n_variables)
        1 at (i, j) for an edge from i to j in `causal_graph_`, in the order of
        `schema_`.
    separating_sets_ : dict of frozenset to tuple of str
        For each deleted pair a set that separates it, chosen privately.
    orientation_conflicts_ : tuple of frozenset of str
        Edges left undirected because the separating sets contradict each other.
    n_tests_, n_deletions_ : int
        Number of scores that the choices looked at, and of edges deleted.
    is_complete_ : bool
        Always True here; see `PrivPC`.
    plan_ : DeletionPlan
        Epsilon of every draw.
    ledger_ : PrivacyLedger
        What the fit bought; survives a failed fit.
    schema_ : Schema
        Levels of the variables.
    inferred_columns_ : tuple of str
        Variables whose levels were read off the records.
    n_records_ : int
        Number of records; public.

    References
    ----------
    Xu, Yuan, Wu, *Differential privacy preserving causal graph discovery*, IEEE PAC
    2017, with a utility of proved sensitivity, an exact draw, and private separating
    sets; McSherry, Talwar, *Mechanism design via differential privacy*, FOCS 2007.

    Examples
    --------
    >>> from skdp import EMPC
    >>> from skdp.datasets import load_bayesian_network
    >>> network = load_bayesian_network("cancer")
    >>> X = network.sample(100_000, random_state=0)
    >>> model = EMPC(epsilon=1.0, schema=network.schema, random_state=0).fit(X)
    >>> sorted(model.skeleton_["Cancer"])
    ['Dyspnoea', 'Pollution', 'Smoker', 'Xray']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCausalDiscovery._parameter_constraints,
        "independence_test": [StrOptions(set(DEPENDENCE_QUERIES))],
        "selection": [StrOptions({"joint", "edges", "count_then_edges"})],
        "separating_share": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        independence_test: str = "kendall",
        alpha: float = 0.1,
        max_order: int | None = 1,
        selection: str = "joint",
        separating_share: float = 0.2,
        schema: Schema | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.independence_test = independence_test
        self.alpha = alpha
        self.max_order = max_order
        self.selection = selection
        self.separating_share = separating_share
        self.schema = schema
        self.verbose = verbose
        self.random_state = random_state

    def _discover(self, records: CountTable) -> None:
        names = [column.name for column in records.schema if column.n_levels > 1]
        self.plan_ = self._plan(PublicFacts(records.n_records, records.schema))
        curator = self._open_curator(records)
        questions = self._questions(
            curator.public, lambda unit: 2 * unit / self.plan_.choices[-1]
        )
        if self.plan_.choices and questions.are_hopeless():
            self._warn_of_noise(records.n_records, "set a lower max_order")
        order = None if self.max_order is None else int(self.max_order)
        with progress_of(self.verbose, "EMPC") as progress:
            found = delete_edges(curator, names, questions, self.plan_, order, progress)
        self._set_result(found, records.schema)

    def _questions(
        self, public: PublicFacts, scale: Callable[[float], float]
    ) -> Questions:
        query = DEPENDENCE_QUERIES[self.independence_test]
        alpha = float(self.alpha)
        return Questions(query, public, alpha, lambda u: LaplaceNoise(scale(u)))

    def _plan(self, public: PublicFacts) -> DeletionPlan:
        """Fix the draws and their prices from public facts."""
        n_variables = sum(column.n_levels > 1 for column in public.schema)
        largest = n_variables - 2
        if self.max_order is not None:
            largest = min(largest, int(self.max_order))
        if self.selection == "joint":
            self._refuse_many_questions(n_variables)
            orders = [largest] if n_variables > 1 else []
        else:
            orders = list(range(largest + 1))
        two_steps = self.selection == "count_then_edges" or (
            self.selection == "joint" and self._is_crowded(public)
        )
        return plan_deletions(
            (float(self.epsilon), float(self.delta)),
            orders,
            float(self.separating_share),
            two_steps,
        )

    def _is_crowded(self, public: PublicFacts) -> bool:
        """Return whether one draw would drown in the number of sets. A public fact.

        The m-th edge is right if its margin exceeds 2 m ln 2 / epsilon; that of an
        independent pair is about its threshold. Half of that proved to be the limit.
        """
        epsilon = float(self.epsilon) * (1 - float(self.separating_share))
        clear = self._questions(public, lambda unit: 0.0).typical_threshold()
        return n_pairs(public.schema) * log(2) / epsilon > clear

    def _refuse_many_questions(self, n_variables: int) -> None:
        asked = n_joint_questions(n_variables, self.max_order)
        if asked > MOST_QUESTIONS:
            raise ModelTooLargeError(
                f"selection='joint' with max_order={self.max_order} would look at "
                f"{asked} scores of {n_variables} variables, more than "
                f"{MOST_QUESTIONS}: set a lower max_order, or selection='edges'. "
                "Nothing was spent."
            )

    def _public_facts(self) -> tuple[str, ...]:
        choices = ", ".join(f"{epsilon:.4g}" for epsilon in self.plan_.choices)
        return (
            *super()._public_facts(),
            f"epsilon of the choices of edges: {choices or 'none'}; of the separating "
            f"sets: {sum(self.plan_.separations):.4g} ({self.plan_.composition} "
            "composition)",
        )
