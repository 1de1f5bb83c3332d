"""PC whose independence tests all get Gaussian noise."""

from __future__ import annotations

from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval, StrOptions
from skdp.causal.answerers import MechanismAnswerer
from skdp.causal.private import (
    NothingToAsk,
    PrivateCausalDiscovery,
    default_tests,
)
from skdp.causal.questions import Questions
from skdp.causal.scores import DEPENDENCE_QUERIES
from skdp.privacy import noise_multiplier
from skdp.queries import PublicFacts
from skdp.records import CountTable, Schema
from skdp.stats import GaussianNoise

__all__ = ["GaussianPC"]


class GaussianPC(PrivateCausalDiscovery):
    """Learn a causal graph with differential privacy by Gaussian noise on every test.

    A baseline: every question is paid for, whatever its answer. Their number is capped
    beforehand at `max_tests`, and the noise is calibrated to it by a Renyi accountant,
    so that the guarantee holds whatever happens to be asked.

    Parameters
    ----------
    epsilon : float > 0, default=1.0
        Total privacy loss of one `fit`.
    delta : float in (0, 1), default=1e-6
        Gaussian noise has no pure form.
    independence_test : {"kendall", "kendall_normalized", "spearman", \
            "total_variation"}, default="kendall"
        Dependence score; all but the last take levels in the order of the schema.
    alpha : float in (0, 1), default=0.1
        Level of the tests, their noise counted in.
    max_order : int or None, default=1
        Largest size of a conditioning set; None for no limit.
    max_tests : int, optional
        Cap on the questions; by default the number of pairs of variables, times three
        or half the number of other variables if `max_order` is not 0. When it is
        reached the remaining edges are kept and a `PrivacyBudgetWarning` says so.
    subsample : float in (0, 1], default=1.0
        Share of the records that a test looks at, drawn anew for each. Sub-sampling
        never improves the signal against the noise.
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
        False if the questions were used up before the search ended.
    max_tests_ : int
        The cap in force.
    noise_multiplier_ : float
        Standard deviation of the noise over the sensitivity of the score.
    sample_size_ : int
        Records that a test looks at.
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
    discovery*, NeurIPS 2020, section 5; Wang, Balle, Kasiviswanathan, *Subsampled Renyi
    differential privacy and analytical moments accountant*, AISTATS 2019.

    Examples
    --------
    >>> from skdp import GaussianPC
    >>> from skdp.datasets import load_bayesian_network
    >>> network = load_bayesian_network("cancer")
    >>> X = network.sample(100_000, random_state=0)
    >>> model = GaussianPC(10.0, schema=network.schema, random_state=0).fit(X)
    >>> bool(model.ledger_.total() <= 10.0)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCausalDiscovery._parameter_constraints,
        "independence_test": [StrOptions(set(DEPENDENCE_QUERIES))],
        "max_tests": [Interval(Integral, 1, None, closed="left"), None],
        "subsample": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        independence_test: str = "kendall",
        alpha: float = 0.1,
        max_order: int | None = 1,
        max_tests: int | None = None,
        subsample: float = 1.0,
        schema: Schema | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.independence_test = independence_test
        self.alpha = alpha
        self.max_order = max_order
        self.max_tests = max_tests
        self.subsample = subsample
        self.schema = schema
        self.verbose = verbose
        self.random_state = random_state

    def _answerer(self, records: CountTable) -> MechanismAnswerer | NothingToAsk:
        n = records.n_records
        self._refuse_pure("Gaussian noise has no pure form")
        self._plan(records.schema, n)
        failure = float(self.delta) if self.sample_size_ < n else 0.0
        curator = self._open_curator(records, failure)
        if self.max_tests_ == 0:
            return NothingToAsk()
        questions = Questions(
            DEPENDENCE_QUERIES[self.independence_test],
            PublicFacts(self.sample_size_, records.schema),
            float(self.alpha),
            lambda unit: GaussianNoise(unit * self.noise_multiplier_),
        )
        if questions.are_hopeless():
            self._warn_of_noise(n, "cap max_tests")
        mechanism = curator.gaussian_tests(
            n_tests=self.max_tests_,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            sample_size=self.sample_size_,
        )
        return MechanismAnswerer(mechanism, questions)

    def _plan(self, schema: Schema, n_records: int) -> None:
        """Fix the number of tests and their noise from public facts."""
        self.max_tests_ = default_tests(schema, self.max_order)
        if self.max_tests_ and self.max_tests is not None:
            self.max_tests_ = int(self.max_tests)
        size = max(2, ceil(float(self.subsample) * n_records))
        self.sample_size_ = min(n_records, size)
        self.noise_multiplier_ = 0.0
        if self.max_tests_:
            self.noise_multiplier_ = noise_multiplier(
                self.max_tests_,
                float(self.epsilon),
                float(self.delta),
                (self.sample_size_, n_records),
            )

    def _cap(self) -> tuple[str, str]:
        return "tests", "max_tests"

    def _public_facts(self) -> tuple[str, ...]:
        return (
            *super()._public_facts(),
            f"cap on the tests: {self.max_tests_}, each with noise of "
            f"{self.noise_multiplier_:.4g} sensitivities",
        )
