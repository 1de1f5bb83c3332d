"""Priv-PC: PC whose independence tests are a private sieve and examination."""

from __future__ import annotations

from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval, StrOptions
from skdp.causal.answerers import MechanismAnswerer
from skdp.causal.medians import MedianPlan, MedianQuestions, plan_medians
from skdp.causal.private import (
    NothingToAsk,
    PrivateCausalDiscovery,
    default_tests,
)
from skdp.causal.questions import Questions
from skdp.causal.rounds import plan_rounds
from skdp.causal.scores import BLOCK_TESTS, DEPENDENCE_QUERIES
from skdp.privacy import least_noise_fraction
from skdp.queries import PublicFacts
from skdp.records import CountTable, Schema
from skdp.stats import LaplaceNoise

__all__ = ["PrivPC"]


class PrivPC(PrivateCausalDiscovery):
    """Learn a causal graph with differential privacy by sieve-and-examine.

    PC asks many questions of independence and few answers are "independent". A sieve
    (the sparse vector technique) lets the promising questions through, a Laplace
    mechanism examines them, and only these rounds are paid for. Their number is capped
    beforehand at `max_deletions`, which fixes the guarantee: the whole output is
    (epsilon, delta)-differentially private under replacement of one record. Orientation
    is post-processing.

    Parameters
    ----------
    epsilon : float > 0, default=1.0
        Total privacy loss of one `fit`.
    delta : float in [0, 1), default=0.0
        0 for pure differential privacy. With delta > 0 the rounds are composed by the
        best of basic, zCDP and optimal composition.
    independence_test : {"kendall", "kendall_normalized", "spearman", \
            "total_variation", "chi2", "g2"}, default="kendall"
        Dependence score; the first three take levels in the order of the schema. "chi2"
        and "g2" have no bounded sensitivity, and so no sieve: each question is the
        private median over blocks of records, which needs delta > 0.
    alpha : float in (0, 1), default=0.1
        Level of the tests, the noise of the examination counted in.
    max_order : int or None, default=1
        Largest size of a conditioning set; None for no limit.
    max_deletions : int, optional
        Cap R on the rounds, those included whose examination keeps the edge. By
        default the number of pairs of variables. When R rounds have fired, the
        remaining edges are kept and a `PrivacyBudgetWarning` says so.
    sieve_share : float in (0, 1) or "auto", default="auto"
        Share of a round's budget that goes to the sieve, after amplification. "auto"
        lies between 0.3 where the noise is large against the scores and 0.7 where it is
        small, by public facts; the paper has 0.5.
    subsample : float in (0, 1] or "auto", default=1.0
        Share of the records that a sieve looks at. Sub-sampling never improves the
        signal against the privacy noise, nor the time: it is there to reproduce the
        paper. "auto" is the paper's noise-minimising share, at least 1/20.
    threshold_tweak : float, default=0.0
        In units of the score; > 0 lets more questions through the sieve.
    max_tests : int, optional
        For "chi2" and "g2" only: cap on the questions; by default the number of pairs
        of variables, times three or half the number of other variables if `max_order`
        is not 0.
    n_blocks : int, optional
        For "chi2" and "g2" only: odd number of blocks; by default as many as the noise
        needs, but at most one per 50 records.
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
        The cap R in force; not for "chi2" and "g2".
    round_epsilons_ : tuple of (float, float)
        Epsilon of one sieve and of one examination; not for "chi2" and "g2".
    max_tests_, n_blocks_ : int
        Cap on the questions, and number of blocks; for "chi2" and "g2" only.
    composition_ : {"basic", "zcdp", "optimal"}
        How the rounds were composed.
    sample_size_ : int
        Records that a sieve looks at; not for "chi2" and "g2".
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
    discovery*, NeurIPS 2020, algorithm 2, with sensitivities proved for replace-one and
    the loss fixed beforehand.

    Examples
    --------
    >>> from skdp import PrivPC
    >>> from skdp.datasets import load_bayesian_network
    >>> network = load_bayesian_network("asia")
    >>> X = network.sample(100_000, random_state=0)
    >>> model = PrivPC(epsilon=1.0, schema=network.schema, random_state=0).fit(X)
    >>> model.skeleton_.number_of_nodes()
    8
    >>> bool(model.ledger_.total() <= 1.0)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCausalDiscovery._parameter_constraints,
        "independence_test": [StrOptions({*DEPENDENCE_QUERIES, *BLOCK_TESTS})],
        "max_deletions": [Interval(Integral, 1, None, closed="left"), None],
        "sieve_share": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        "subsample": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
        "threshold_tweak": [Interval(Real, None, None, closed="neither")],
        "max_tests": [Interval(Integral, 1, None, closed="left"), None],
        "n_blocks": [Interval(Integral, 1, None, closed="left"), None],
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
        sieve_share: float | str = "auto",
        subsample: float | str = 1.0,
        threshold_tweak: float = 0.0,
        max_tests: int | None = None,
        n_blocks: int | None = None,
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
        self.sieve_share = sieve_share
        self.subsample = subsample
        self.threshold_tweak = threshold_tweak
        self.max_tests = max_tests
        self.n_blocks = n_blocks
        self.schema = schema
        self.verbose = verbose
        self.random_state = random_state

    def _answerer(self, records: CountTable) -> MechanismAnswerer | NothingToAsk:
        if self.independence_test in BLOCK_TESTS:
            return self._median_answerer(records)
        curator = self._open_curator(records)
        self._plan(curator.public)
        if self.max_deletions_ == 0:
            return NothingToAsk()
        sieve_epsilon, examine_epsilon = self.round_epsilons_
        questions = Questions(
            DEPENDENCE_QUERIES[self.independence_test],
            curator.public,
            float(self.alpha),
            lambda unit: LaplaceNoise(unit / examine_epsilon),
        )
        if questions.are_hopeless():
            self._warn_of_noise(records.n_records, "cap max_deletions")
        mechanism = curator.sieve_and_examine(
            rounds=self.max_deletions_,
            sieve_epsilon=sieve_epsilon,
            examine_epsilon=examine_epsilon,
            sample_size=self.sample_size_,
        )
        return MechanismAnswerer(mechanism, questions, float(self.threshold_tweak))

    def _median_answerer(self, records: CountTable) -> MechanismAnswerer | NothingToAsk:
        self._refuse_pure(f"{self.independence_test!r} is a median over blocks")
        plan = self._median_plan(records)
        self.max_tests_, self.n_blocks_ = plan.cap, plan.n_blocks
        self.composition_ = plan.composition
        curator = self._open_curator(records, float(self.delta) / 2)
        if plan.cap == 0:
            return NothingToAsk()
        questions = MedianQuestions(self.independence_test, plan, float(self.alpha))
        if questions.are_hopeless():
            self._warn_of_noise(records.n_records, "cap max_tests")
        mechanism = curator.median_tests(
            n_tests=plan.cap,
            n_blocks=plan.n_blocks,
            epsilon=plan.epsilon,
            delta=plan.delta,
        )
        return MechanismAnswerer(mechanism, questions)

    def _median_plan(self, records: CountTable) -> MedianPlan:
        """Fix the number of medians and their price from public facts."""
        cap = default_tests(records.schema, self.max_order)
        if cap and self.max_tests is not None:
            cap = int(self.max_tests)
        budget = float(self.epsilon), float(self.delta)
        return plan_medians(records.n_records, budget, cap, self.n_blocks)

    def _plan(self, public: PublicFacts) -> None:
        """Fix the rounds and their price from public facts."""
        rounds = plan_rounds(
            public,
            DEPENDENCE_QUERIES[self.independence_test],
            (float(self.epsilon), float(self.delta)),
            None if self.max_deletions is None else int(self.max_deletions),
            self.sieve_share,
        )
        self.max_deletions_ = rounds.cap
        self.round_epsilons_ = (rounds.sieve_epsilon, rounds.examine_epsilon)
        self.composition_ = rounds.composition
        self.sample_size_ = public.n_records
        if rounds.cap:
            self.sample_size_ = self._sample_size(public.n_records)

    def _sample_size(self, n_records: int) -> int:
        if self.subsample == "auto":
            fraction = least_noise_fraction(self.round_epsilons_[0])
        else:
            fraction = float(self.subsample)
        return min(n_records, max(2, ceil(fraction * n_records)))

    def _cap(self) -> tuple[str, str]:
        if self.independence_test in BLOCK_TESTS:
            return "tests", "max_tests"
        return super()._cap()

    def _public_facts(self) -> tuple[str, ...]:
        facts = super()._public_facts()
        if self.independence_test in BLOCK_TESTS:
            return (
                *facts,
                f"cap on the tests: {self.max_tests_}, each the median over "
                f"{self.n_blocks_} blocks ({self.composition_} composition)",
            )
        sieve, examine = self.round_epsilons_
        return (
            *facts,
            f"cap on the rounds: {self.max_deletions_}, each epsilon {sieve:.4g} for "
            f"the sieve and {examine:.4g} for the examination ({self.composition_} "
            "composition)",
        )
