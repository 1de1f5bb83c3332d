"""SVT-PC: PC whose independence tests are the sparse vector technique alone."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval, StrOptions
from skdp.causal.answerers import MechanismAnswerer
from skdp.causal.private import NothingToAsk, PrivateCausalDiscovery, n_pairs
from skdp.causal.questions import Questions
from skdp.causal.scores import DEPENDENCE_QUERIES
from skdp.privacy import scale_parts_to, sparse_vector_scales
from skdp.records import CountTable, Schema
from skdp.stats import TwoLaplaceNoise

__all__ = ["SVTPC"]


class SVTPC(PrivateCausalDiscovery):
    """Learn a causal graph with differential privacy by the sparse vector technique.

    The baseline that `PrivPC` improves on: the first noisy answer "independent" deletes
    the edge, without a second look. The threshold gets fresh noise after each deletion,
    of which there are at most `max_deletions`.

    Parameters
    ----------
    epsilon : float > 0, default=1.0
        Total privacy loss of one `fit`.
    delta : float in [0, 1), default=0.0
        0 for pure differential privacy. With delta > 0 the rounds are composed by the
        best of basic, zCDP and optimal composition.
    independence_test : {"kendall", "kendall_normalized", "spearman", \
            "total_variation"}, default="kendall"
        Dependence score; all but the last take levels in the order of the schema.
    alpha : float in (0, 1), default=0.1
        Level of the tests, the noise of question and threshold counted in.
    max_order : int or None, default=1
        Largest size of a conditioning set; None for no limit.
    max_deletions : int, optional
        Cap R on the deletions; by default the number of pairs of variables. After R of
        them the remaining edges are kept and a `PrivacyBudgetWarning` says so.
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
        For each deleted pair the set that separated it.
    orientation_conflicts_ : tuple of frozenset of str
        Edges left undirected because the separating sets contradict each other.
    n_tests_, n_deletions_ : int
        Number of questions asked, and of edges deleted.
    is_complete_ : bool
        False if the rounds were used up before the search ended.
    max_deletions_ : int
        The cap R in force.
    round_epsilon_ : float
        Epsilon of one round.
    composition_ : {"basic", "zcdp", "optimal"}
        How the rounds were composed.
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
    Wang, Pang, Song, *Towards practical differentially private causal graph
    discovery*, NeurIPS 2020, section 3.1; Lyu, Su, Li, *Understanding the sparse vector
    technique for differential privacy*, VLDB 2017.

    Examples
    --------
    >>> from skdp import SVTPC
    >>> from skdp.datasets import load_bayesian_network
    >>> network = load_bayesian_network("cancer")
    >>> X = network.sample(100_000, random_state=0)
    >>> model = SVTPC(epsilon=10.0, schema=network.schema, random_state=0).fit(X)
    >>> bool(model.ledger_.total() <= 10.0)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCausalDiscovery._parameter_constraints,
        "independence_test": [StrOptions(set(DEPENDENCE_QUERIES))],
        "max_deletions": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        independence_test: str = "kendall",
        alpha: float = 0.1,
        max_order: int | None = 1,
        max_deletions: int | None = None,
        schema: Schema | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.independence_test = independence_test
        self.alpha = alpha
        self.max_order = max_order
        self.max_deletions = max_deletions
        self.schema = schema
        self.verbose = verbose
        self.random_state = random_state

    def _answerer(self, records: CountTable) -> MechanismAnswerer | NothingToAsk:
        curator = self._open_curator(records)
        self._plan(records.schema)
        if self.max_deletions_ == 0:
            return NothingToAsk()
        of_threshold, of_question = sparse_vector_scales(self.round_epsilon_)
        questions = Questions(
            DEPENDENCE_QUERIES[self.independence_test],
            curator.public,
            float(self.alpha),
            lambda unit: TwoLaplaceNoise(unit * of_threshold, unit * of_question),
        )
        if questions.are_hopeless():
            self._warn_of_noise(records.n_records, "cap max_deletions")
        mechanism = curator.sparse_vector(
            rounds=self.max_deletions_, epsilon=self.round_epsilon_
        )
        return MechanismAnswerer(mechanism, questions)

    def _plan(self, schema: Schema) -> None:
        """Fix the rounds and their price from public facts."""
        self.max_deletions_, self.round_epsilon_ = n_pairs(schema), 0.0
        self.composition_ = "basic"
        if self.max_deletions_:
            if self.max_deletions is not None:
                self.max_deletions_ = int(self.max_deletions)
            self.round_epsilon_, self.composition_ = scale_parts_to(
                float(self.epsilon), float(self.delta), ((1.0, self.max_deletions_),)
            )

    def _public_facts(self) -> tuple[str, ...]:
        return (
            *super()._public_facts(),
            f"cap on the deletions: {self.max_deletions_}, each epsilon "
            f"{self.round_epsilon_:.4g} ({self.composition_} composition)",
        )
