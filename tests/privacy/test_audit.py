"""Statistical audits: no mechanism loses more privacy than its ledger says.

Each case runs a mechanism thousands of times on two neighbouring records, chosen
where its sensitivity is attained. Half of the runs choose an event; the other half
bound its two probabilities (Clopper, Pearson 1934), and with them the privacy loss,
from below with confidence 99.9 %. The bound must not exceed what the ledger was
charged. That such an audit can fail is shown by breaking the mechanisms in the ways
in which such mechanisms have been broken: half the noise, the published sensitivity
of Kendall's tau, and a sparse vector whose noise, cap or bill is missing (Lyu, Su, Li
2017, describe the published ones).
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import skdp.privacy.additive
import skdp.privacy.choice
import skdp.privacy.gaussian_tests
import skdp.privacy.sieve_and_examine
import skdp.queries.parent_scores
from skdp import EMPC, GaussianPC, MarginalPC, PrivPC
from skdp.base import PrivateEstimator
from skdp.exceptions import BudgetExceededError
from skdp.graphical import Domain, MarkovRandomField
from skdp.pgm import Session, Workload
from skdp.pgm.strategies import (
    AIM,
    HDMM,
    MST,
    MWEM,
    FixedMarginals,
    Independent,
    PrivBayes,
)
from skdp.privacy import (
    Curator,
    LedgerEntry,
    PrivacyLedger,
    SieveAndExamine,
    SparseVector,
    dp_from_zcdp,
)
from skdp.queries import (
    FREE_WEIGHT,
    AnswerGaps,
    CrossMoments,
    IndependenceMargins,
    Interactions,
    KendallDependence,
    LinearMarginal,
    Marginal,
    MarginalDistances,
    ModelDistances,
    MomentErrors,
    NormScores,
    PairInteractions,
    ParentInformation,
    ParentVariation,
    PublicFacts,
    QueryErrors,
    Question,
    SecondMoments,
)
from skdp.records import (
    BoundedMatrix,
    Categorical,
    CountTable,
    Numeric,
    Ordinal,
    Schema,
)

ERROR = 1e-3  # one minus the confidence of a bound
# An event is chosen by a stricter bound, so that luck in few runs does not choose it.
ERROR_OF_CHOICE = 1e-6
MOST_THRESHOLDS = 400


# --- the audit ----------------------------------------------------------------------


def interval(hits, others, n, error):
    """Bound two probabilities: the first from below, the second from above."""
    low = np.nan_to_num(beta.ppf(error / 2, hits, n - hits + 1))
    high = np.nan_to_num(beta.ppf(1 - error / 2, others + 1, n - others), nan=1.0)
    return low, high


def pure_loss(low, high, delta=0.0):
    """Return the epsilon that two probabilities of an event prove."""
    return np.log(np.maximum(low - delta, 1e-300) / high)


def concentrated_loss(low, high):
    """Return the rho that two probabilities of an event prove, by Renyi divergences."""
    # No loss is proved where the bounds cross.
    low, high = np.where(low > high, (low, high), 0.5)
    order = np.geomspace(1.01, 50, 40)[:, None]
    log_both = order * np.log(low) + (1 - order) * np.log(high)
    log_neither = order * np.log1p(-low) + (1 - order) * np.log1p(-high)
    divergence = np.logaddexp(log_both, log_neither) / (order - 1)
    return (divergence / order).max(axis=0)


def log_ratios(first, second):
    """Learn which outputs speak for the first records, from runs on both."""
    counts = Counter(first), Counter(second)
    return {x: log((counts[0][x] + 1) / (counts[1][x] + 1)) for x in first + second}


def loss_bound(first, second, loss=pure_loss, **options):
    """Bound the privacy loss of a mechanism from below, given its outputs.

    Outputs are numbers, or any public outcome, which is then scored by the logarithm
    of its frequencies' ratio in the first half. The event is a tail of the score.
    """
    n = len(first) // 2
    if isinstance(first[0], tuple):
        learned = log_ratios(first[:n], second[:n])
        first, second = ([learned.get(x, 0.0) for x in run] for run in (first, second))
    runs = np.array([first, second], dtype=float)
    choices = []
    for sign in (1, -1):
        for role in (1, -1):
            chosen, proving = np.split(sign * runs[::role], [n], axis=1)
            thresholds = np.unique(chosen)
            if len(thresholds) > MOST_THRESHOLDS:
                thresholds = np.quantile(chosen, np.linspace(0, 1, MOST_THRESHOLDS))
            hits = (chosen[:, None, :] >= thresholds[:, None]).sum(axis=2)
            promise = loss(*interval(*hits, n, ERROR_OF_CHOICE), **options)
            best = promise.argmax()
            hits = (proving >= thresholds[best]).sum(axis=1)[:, None]
            proved = loss(*interval(*hits, proving.shape[1], ERROR), **options)
            choices.append((promise[best], proved[0]))
    return float(max(choices)[1])


# --- mechanisms on neighbouring records -----------------------------------------------


@dataclass(frozen=True)
class Case:
    """A mechanism with a budget of its own, and neighbours that are hard for it."""

    worlds: tuple[CountTable, CountTable]
    run: Callable[[Curator], Any]
    power: float  # share of the declared loss that the audit has to find
    n_runs: int = 4000
    loss: Callable = pure_loss
    n_broken_runs: int = 2000

    def outputs(self, n_runs):
        """Run on both worlds; return the outputs and what the ledger charged."""
        both = []
        for seed, world in enumerate(self.worlds):
            # Each run has a ledger of its own; the noise goes on where it was.
            curator, outputs = Curator(world, PrivacyLedger(9.0, 1e-3), seed), []
            for _ in range(n_runs):
                curator._ledger = PrivacyLedger(9.0, 1e-3)
                outputs.append(self.run(curator))
            both.append(outputs)
        (entry,) = curator.ledger
        charged = entry.epsilon if self.loss is pure_loss else entry.rho
        return *both, charged

    def audit(self, n_runs=None):
        """Return a lower bound on the loss, and the loss that was charged."""
        first, second, charged = self.outputs(n_runs or self.n_runs)
        return loss_bound(first, second, self.loss), charged


def table(rows, *columns):
    return CountTable.from_codes(np.array(rows), Schema(columns))


def counts(*worlds):
    """Make records of one binary column from the counts of its two levels."""
    column = Categorical("a", ("no", "yes"))
    return tuple(table([[0]] * no + [[1]] * yes, column) for no, yes in worlds)


def one_stratum(n=8):
    """Attain 6 (n - 1)/n^1.5: a record on top in x and at the bottom in y moves up."""
    columns = [Ordinal(name, range(n + 1)) for name in "xy"]
    others = [[i, i] for i in range(1, n)]
    return tuple(table([*others, [n, y]], *columns) for y in (0, n))


def two_strata(a=22, b=18):
    """Attain 1.5 (6 - 16/(n + 1))/sqrt n: a record leaves one stratum for the other."""
    levels = range(a + 1)
    columns = [Ordinal("x", levels), Ordinal("y", levels), Categorical("z", (0, 1))]
    concordant = [[i, i, 0] for i in range(1, a)]
    discordant = [[i, b - i, 1] for i in range(b)]
    odd = ([a, 0, 0], [a, a, 1])
    return tuple(table([*concordant, *discordant, last], *columns) for last in odd)


def two_columns(n=4, names="ab"):
    """Let a record that is "no" twice become "yes" twice; or in more columns."""
    columns = [Categorical(name, ("no", "yes")) for name in names]
    no, yes = ([level] * len(names) for level in (0, 1))
    return tuple(table([no] * (n - 1) + [last], *columns) for last in (no, yes))


def two_pairs(n=4):
    """Raise the score of a, b by its sensitivity and lower that of c, d, or reverse."""
    columns = [Categorical(name, ("no", "yes")) for name in "abcd"]
    odd = ([1, 1, 0, 0], [0, 0, 1, 1])
    return tuple(table([[0] * 4] * (n - 1) + [last], *columns) for last in odd)


def parent_worlds(n_levels, n=9):
    """Raise the score of b given a by its sensitivity and lower that of d given c.

    With two levels all other records are equal; with three, half of them agree with
    the odd one in one column each, which is the worst case of mutual information.
    """
    if n_levels == 2:
        common = [[0, 0, 0, 0]] * (n - 1)
        odd = ([1, 1, 1, 0], [1, 0, 1, 1])
    else:
        common = [[0, 2, 0, 2], [2, 0, 2, 0]] * (n // 2)
        odd = ([1, 1, 0, 0], [0, 0, 1, 1])
    columns = [Ordinal(name, range(n_levels)) for name in "abcd"]
    return tuple(table([*common, last], *columns) for last in odd)


def parents(kind):
    """Choose among candidates of which the second one stands there many times."""
    query = kind([("b", "a"), *6 * [("d", "c")]])
    return lambda curator: float(curator.exponential(query, epsilon=2.0) == 0)


def moments(first, second, common=0.0):
    """Add a row, one or the other, to a row of one number."""
    schema = Schema([Numeric(f"x{j}", -1, 1) for j in range(len(first))])
    return tuple(
        BoundedMatrix(schema, np.array([[common] * len(first), row], dtype=float))
        for row in (first, second)
    )


def free_diagonal(curator):
    answer = curator.gaussian(SecondMoments(free_diagonal=True), rho=2.0)
    weights = np.array([1.0 if i < j else sqrt(2) for i, j in TRIANGLE])
    return answer @ weights  # along the largest change, from 0 to (1, 1, 1)


TRIANGLE = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


def an_entry_and_its_diagonals(curator):
    query = CrossMoments([(0, 1)], with_diagonals=True)
    return curator.gaussian(query, rho=2.0)[0] @ [1.0, FREE_WEIGHT, FREE_WEIGHT]


def farthest_entry(curator):
    # One entry comes as near to its estimate as another goes away from its own.
    estimate = np.zeros((3, 3))
    for (i, j), value in {(0, 1): -0.5, (0, 2): 0.5, (1, 2): 1.5}.items():
        estimate[i, j] = estimate[j, i] = value
    return int(curator.top_k(MomentErrors(estimate), 1, epsilon=3.0)[0])


def radius(curator):
    # One count leaves the target and the other reaches it.
    query = NormScores((0.5, 1.5), 1.0, (0.0, 2.0))
    return curator.exponential(query, epsilon=2.0)


def drawn_gaps(curator):
    # One synthetic record agrees with all records of the one world.
    gaps = AnswerGaps([LinearMarginal("a", [[1, 0]])], [[1]], 1)
    return int(curator.exponential(gaps, epsilon=2.0, size=1)[0])


def laplace_counts(curator):
    no, yes = curator.laplace(Marginal("a"), epsilon=2.0)
    return np.clip(no, 1, 2) - np.clip(yes, 0, 1)  # a function of the likelihood


def gaussian_counts(curator):
    no, yes = curator.gaussian(Marginal("a"), rho=2.0)
    return no - yes


AB, CD = KendallDependence("a", "b"), KendallDependence("c", "d")
UNIT = AB.sensitivity(PublicFacts(4, two_pairs()[0].schema))


def adversarial(n_negative):
    """Ask for answers "no", then for a "yes", each likelier on the first records."""
    return [(AB, -UNIT)] * n_negative + [(CD, 0.0)]


def transcript(mechanism, questions):
    """Ask until data access ends; return all that an observer sees."""
    seen = []
    for query, threshold in questions:
        if mechanism.rounds_left == 0:
            break
        # The sieve is asked where it tells most, the examination where that does.
        answer = mechanism.ask(query, threshold, tweak=UNIT)
        seen.append((answer, mechanism.rounds_left))
    return tuple(seen)


def sparse_vector(curator):
    return transcript(curator.sparse_vector(rounds=1, epsilon=2.0), adversarial(6))


def sieve_and_examine(curator, sample_size=None):
    mechanism = curator.sieve_and_examine(
        rounds=1, sieve_epsilon=0.5, examine_epsilon=1.2, sample_size=sample_size
    )
    return transcript(mechanism, adversarial(1))


def chosen_set(curator):
    query = IndependenceMargins([[Question(AB, UNIT)]])
    return tuple(curator.subset(query, epsilon=2.0).tolist())


def chosen_size(curator):
    query = IndependenceMargins([[Question(AB, UNIT)]])
    return curator.subset_size(query, epsilon=2.0)


def chosen_set_of_one(curator):
    query = IndependenceMargins([[Question(AB, UNIT)], [Question(CD, 0.0)]])
    return tuple(curator.subset(query, epsilon=2.0, size=1).tolist())


def gaussian_tests(curator):
    mechanism = curator.gaussian_tests(n_tests=2, epsilon=7.0, delta=5e-4)
    questions = (AB, UNIT / 2), (CD, UNIT / 2)
    return tuple(mechanism.ask(query, threshold) for query, threshold in questions)


A_IS_NO = ModelDistances(
    ["a", "b"],
    MarkovRandomField(
        Domain(("a", "b"), (2, 2)), {("a",): np.array([0, -np.inf])}, n_records=4
    ),
)

CASES = {
    "laplace, counts": Case(counts((2, 0), (1, 1)), laplace_counts, 0.8, 5000),
    "laplace, one stratum": Case(
        one_stratum(),
        lambda c: c.laplace(KendallDependence("x", "y"), epsilon=2.0),
        0.8,
    ),
    "laplace, two strata": Case(
        two_strata(),
        lambda c: c.laplace(KendallDependence("x", "y", "z"), epsilon=2.0),
        0.8,
        n_broken_runs=3000,
    ),
    "gaussian, counts": Case(
        counts((2, 0), (1, 1)), gaussian_counts, 0.45, 3000, concentrated_loss
    ),
    "gaussian, one stratum": Case(
        one_stratum(),
        lambda c: c.gaussian(KendallDependence("x", "y"), rho=2.0),
        0.45,
        3000,
        concentrated_loss,
    ),
    "exponential": Case(
        counts((1, 2), (0, 3)),
        lambda c: c.exponential(Marginal("a"), epsilon=2.0),
        0.55,
        n_broken_runs=3000,
    ),
    "gaussian, free diagonal": Case(
        moments([0, 0, 0], [1, 1, 1]), free_diagonal, 0.4, 3000, concentrated_loss
    ),
    "gaussian, an entry and its diagonals": Case(
        moments([0, 0], [1, 1]),
        an_entry_and_its_diagonals,
        0.45,
        3000,
        concentrated_loss,
    ),
    "top k, entries": Case(
        moments([1, 1, 1], [1, -1, 1]), farthest_entry, 0.5, n_broken_runs=4000
    ),
    "exponential, radius": Case(
        moments([0, 0], [1, 1], common=0.75), radius, 0.4, n_broken_runs=4000
    ),
    "exponential, draws for gaps": Case(counts((4, 0), (3, 1)), drawn_gaps, 0.55),
    "noisy max": Case(
        counts((1, 1), (0, 2)), lambda c: c.noisy_max(Marginal("a"), epsilon=2.0), 0.8
    ),
    "exponential, distances": Case(
        two_columns(),
        lambda c: c.exponential(
            MarginalDistances([Marginal("a"), Marginal("b")], [[4, 0], [3, 3]]),
            epsilon=2.0,
        ),
        0.5,
        3000,
        n_broken_runs=2000,
    ),
    "exponential, weighted distances less the noise": Case(
        two_columns(),
        lambda c: c.exponential(
            MarginalDistances(
                [Marginal("a"), Marginal("b")], [[4, 0], [3, 3]], [2, 2], [9, 9]
            ),
            epsilon=2.0,
        ),
        0.5,
        3000,
        n_broken_runs=2000,
    ),
    "exponential, errors of single queries": Case(
        two_columns(),
        lambda c: c.exponential(
            QueryErrors(
                [LinearMarginal(name, [[1, 0]]) for name in "ab"], [[4], [2]], [3, 3]
            ),
            epsilon=2.0,
        ),
        0.5,
        3000,
        n_broken_runs=2000,
    ),
    "exponential, model distances": Case(
        two_columns(),
        lambda c: c.exponential(A_IS_NO, epsilon=2.0),
        0.5,
        3000,
        n_broken_runs=1500,
    ),
    "exponential, parents by variation": Case(
        parent_worlds(2), parents(ParentVariation), 0.55, n_broken_runs=1200
    ),
    "exponential, parents by information": Case(
        parent_worlds(2), parents(ParentInformation), 0.55, n_broken_runs=1200
    ),
    "exponential, parents of three levels": Case(
        parent_worlds(3), parents(ParentInformation), 0.55, n_broken_runs=1200
    ),
    "gaussian, prefix sums": Case(
        counts((2, 0), (1, 1)),
        lambda c: c.gaussian(LinearMarginal("a", [[1, 0], [1, 1]]), rho=2.0)[0],
        0.45,
        3000,
        concentrated_loss,
    ),
    "subset": Case(two_pairs(), chosen_set, 0.55, n_broken_runs=3000),
    "subset size": Case(two_pairs(), chosen_size, 0.55, n_broken_runs=3000),
    "subset of one": Case(two_pairs(), chosen_set_of_one, 0.55, n_broken_runs=3000),
    "gaussian tests": Case(
        two_pairs(), gaussian_tests, 0.3, 3000, concentrated_loss, 3000
    ),
    "sparse vector": Case(two_pairs(), sparse_vector, 0.3, n_broken_runs=4000),
    "sieve and examine": Case(
        two_pairs(), sieve_and_examine, 0.3, 3000, n_broken_runs=3000
    ),
    "sieve and examine, sub-sampled": Case(
        two_pairs(),
        lambda c: sieve_and_examine(c, sample_size=2),
        0.3,
        3000,
        n_broken_runs=3000,
    ),
}
each_case = pytest.mark.parametrize("name", CASES)


def halve_the_noise(monkeypatch):
    """Draw all noise from half its scale, and select at twice the epsilon."""

    def rescale(module, name, position, factor):
        draw = getattr(module, name)

        def broken(*args):
            args = list(args)
            args[position] = Fraction(args[position]) * factor
            return draw(*args)

        monkeypatch.setattr(module, name, broken)

    rescale(skdp.privacy.additive, "discrete_laplace", 0, Fraction(1, 2))
    rescale(skdp.privacy.additive, "discrete_gaussian", 0, Fraction(1, 4))
    rescale(skdp.privacy.choice, "exponential_mechanism", 1, 2)
    rescale(skdp.privacy.choice, "independent_exponential", 1, 2)
    rescale(skdp.privacy.choice, "permute_and_flip", 1, 2)
    rescale(skdp.privacy.choice, "draw_subset", 1, 2)
    rescale(skdp.privacy.choice, "draw_subset_of_size", 2, 2)
    rescale(skdp.privacy.gaussian_tests, "discrete_gaussian", 0, Fraction(1, 4))
    rescale(skdp.privacy.sieve_and_examine, "discrete_laplace", 0, Fraction(1, 2))


@pytest.mark.slow
@each_case
def test_no_more_is_lost_than_the_ledger_says(name):
    found, charged = CASES[name].audit()
    assert CASES[name].power * charged <= found <= charged


@each_case
def test_half_the_noise_is_found_out(name, monkeypatch):
    halve_the_noise(monkeypatch)
    found, charged = CASES[name].audit(CASES[name].n_broken_runs)
    assert found > charged


def test_half_the_sensitivity_of_information_is_found_out(monkeypatch):
    growth = skdp.queries.parent_scores._growth
    monkeypatch.setattr(skdp.queries.parent_scores, "_growth", lambda m: growth(m) / 2)
    found, charged = CASES["exponential, parents of three levels"].audit(1200)
    assert found > charged


def test_half_the_sensitivity_of_variation_is_found_out(monkeypatch):
    bound = ParentVariation._bound
    halved = staticmethod(lambda *args: bound(*args) / 2)
    monkeypatch.setattr(ParentVariation, "_bound", halved)
    found, charged = CASES["exponential, parents by variation"].audit(1200)
    assert found > charged


def test_a_gaussian_keeps_to_its_curve():
    first, second, rho = CASES["gaussian, counts"].outputs(2000)
    for delta, power in ((1e-6, 0.2), (0.1, 0.4)):
        found = loss_bound(first, second, delta=delta)
        declared = dp_from_zcdp(rho, delta)
        assert power * declared <= found <= declared


def test_the_published_sensitivity_is_found_out(monkeypatch):
    published = staticmethod(lambda n, n_strata, r, c: 4.5 / sqrt(n))
    monkeypatch.setattr(KendallDependence, "_bound", published)
    found, charged = CASES["laplace, two strata"].audit(3000)
    assert found > 1.3 * charged


def test_half_the_sensitivity_of_model_distances_is_found_out(monkeypatch):
    whole = ModelDistances.sensitivity
    half = lambda self, public, ord=1: whole(self, public, ord) / 2  # noqa: E731
    monkeypatch.setattr(ModelDistances, "sensitivity", half)
    found, charged = CASES["exponential, model distances"].audit(1500)
    assert found > charged


# --- broken sparse vectors ------------------------------------------------------------


def no_question_noise(monkeypatch):
    """Compare the questions' bare answers (Stoddard et al. 2014)."""
    noise = SparseVector._noise
    monkeypatch.setattr(
        SparseVector,
        "_noise",
        lambda self, sensitivity, epsilon: (
            noise(self, 1, epsilon) if sensitivity == 1 else 0
        ),
    )


def no_end(monkeypatch):
    """Let every firing pass, count none, keep the threshold (Chen et al. 2015)."""

    def ask(self, query, threshold, *, tweak=0.0):
        self._sieve = self._sieve or self._start_sieve()
        return self._passes_sieve(self._sieve, query, threshold + tweak)

    monkeypatch.setattr(SparseVector, "ask", ask)


def no_bill(monkeypatch):
    """Charge the examination alone, as if the sieve were for nothing."""

    def purchase(self, epsilon):
        charged = self._examine_epsilon
        return LedgerEntry("sieve", "questions", 1.0, "L1", 1.0, charged, charged**2)

    monkeypatch.setattr(SieveAndExamine, "_purchase", purchase)


def matches(curator):
    """Alternate two questions, and count the answers the first records make likely."""
    mechanism = curator.sparse_vector(rounds=1, epsilon=2.5)
    questions = [(AB, -UNIT / 2), (CD, -UNIT / 2)] * 8
    seen = transcript(mechanism, questions)
    return sum(answer == (i % 2) for i, (answer, _) in enumerate(seen))


def unpaid(curator):
    mechanism = curator.sieve_and_examine(
        rounds=1, sieve_epsilon=3.0, examine_epsilon=0.5
    )
    return transcript(mechanism, adversarial(6))


@pytest.mark.parametrize(
    ("break_it", "run"),
    [
        (no_question_noise, sparse_vector),
        (no_bill, unpaid),
        pytest.param(no_end, matches, marks=pytest.mark.slow),
    ],
)
def test_a_broken_sparse_vector_is_found_out(break_it, run, monkeypatch):
    break_it(monkeypatch)
    n_runs = 4000 if break_it is no_end else 1500
    found, charged = Case(two_pairs(), run, 0).audit(n_runs)
    assert found > charged


# --- Priv-PC --------------------------------------------------------------------------


class PrivPCCase(Case):
    """Whole fits; `run` is given the records as an array and a seed."""

    def outputs(self, n_runs):
        both = [
            [self.run(X, seed + n_runs * world) for seed in range(n_runs)]
            for world, X in enumerate(self.worlds)
        ]
        return *both, 2.0


def everything_public(model):
    """Return all that a fit publishes about the records."""
    return (
        tuple(model.skeleton_.edges),
        tuple(model.adjacency_matrix_.ravel()),
        tuple(sorted((*sorted(k), *v) for k, v in model.separating_sets_.items())),
        (model.n_tests_, model.n_deletions_, model.is_complete_),
    )


def fit(X, seed, **parameters):
    names = "abcd"[: X.shape[1]]
    schema = Schema([Categorical(name, ("no", "yes")) for name in names])
    parameters = {"epsilon": 2.0, "alpha": 0.78, "sieve_share": 0.05, **parameters}
    model = PrivPC(schema=schema, random_state=seed, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def graph_worlds(n_columns, n=4):
    """Turn a record that agrees with all others into one that differs in everything."""
    agreed = np.full((n, n_columns), "no", dtype=object)
    other = agreed.copy()
    other[-1] = "yes"
    return agreed, other


PRIV_PC = PrivPCCase(
    graph_worlds(2), lambda X, seed: everything_public(fit(X, seed)), 0.4, 1600
)


@pytest.mark.slow
def test_priv_pc_loses_no_more_than_its_epsilon():
    found, charged = PRIV_PC.audit()
    assert PRIV_PC.power * charged <= found <= charged


def test_priv_pc_with_half_the_noise_is_found_out(monkeypatch):
    halve_the_noise(monkeypatch)
    found, charged = PRIV_PC.audit()
    assert found > charged


def fit_em(X, seed, **parameters):
    names = "abcd"[: X.shape[1]]
    schema = Schema([Categorical(name, ("no", "yes")) for name in names])
    model = EMPC(2.0, schema=schema, random_state=seed, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


# The level puts the threshold where the score of the second records is.
EM_PC = PrivPCCase(
    graph_worlds(2), lambda X, s: everything_public(fit_em(X, s, alpha=0.4)), 0.3, 700
)


@pytest.mark.slow
def test_em_pc_loses_no_more_than_its_epsilon():
    found, charged = EM_PC.audit()
    assert EM_PC.power * charged <= found <= charged


@pytest.mark.slow
def test_em_pc_with_half_the_noise_is_found_out(monkeypatch):
    halve_the_noise(monkeypatch)
    found, charged = EM_PC.audit(3000)
    assert found > charged


@pytest.mark.slow
@pytest.mark.parametrize("selection", ["joint", "edges", "count_then_edges"])
def test_em_pc_on_three_variables(selection):
    options = {"selection": selection, "alpha": 0.3}
    run = lambda X, seed: everything_public(fit_em(X, seed, **options))  # noqa: E731
    found, charged = PrivPCCase(graph_worlds(3), run, 0, 3000).audit()
    assert found <= charged


@pytest.mark.slow
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_priv_pc_on_three_variables(subsample):
    def run(X, seed):
        model = fit(X, seed, subsample=subsample, max_deletions=1)
        return everything_public(model)

    case = PrivPCCase(graph_worlds(3), run, 0.3, 3000)
    found, charged = case.audit()
    assert case.power * charged <= found <= charged


@pytest.mark.slow
@each_case
def test_no_more_is_lost_in_many_more_runs(name):
    found, charged = CASES[name].audit(16_000)
    assert CASES[name].power * charged <= found <= charged


# --- strategies of PGMEstimator -------------------------------------------------------


@dataclass(frozen=True)
class StrategyCase(Case):
    """Whole runs of a strategy, with a model that does not depend on the answers."""

    budget: tuple[float, float] = (2.0, 0.0)
    workload: Workload | None = None

    def outputs(self, n_runs):
        both = []
        for seed, world in enumerate(self.worlds):
            curator, outputs = Curator(world, PrivacyLedger(*self.budget), seed), []
            for _ in range(n_runs):
                curator._ledger = PrivacyLedger(*self.budget)
                session = Session(curator, self.workload, UniformFitter())
                self.run(session)
                outputs.append(log_ratio(session.measurements, self.worlds))
            both.append(outputs)
        return *both, curator.ledger.total()


UNIFORM = MarkovRandomField(Domain(("a", "b"), (2, 2)), {}, 200)


class UniformFitter:
    """Gives out the same model whatever was measured."""

    max_model_size = 1e9

    def __call__(self, measurements, warm_start=None):
        return None

    def model(self, fit):
        return UNIFORM

    compact_model = model


def log_ratio(measurements, worlds):
    """Return how much likelier some noisy tables are for the first records."""
    total, domain = 0.0, Domain.from_schema(worlds[0].schema)
    for m in measurements:
        query = m.linear(domain)
        answer = m.answer.ravel()
        first, second = (query.dot(w.marginal(m.columns).ravel()) for w in worlds)
        total += (np.abs(answer - second) - np.abs(answer - first)).sum() / m.sigma
    return total


# So many records that no levels are merged.
WORLDS = two_columns(200)
# Sums weigh so much that they are measured beside the cells.
SUMS = Workload([("a",), ("b",)], queries=[[[1, 0], [9, 9]], None])
STRATEGY_CASES = {
    "independent": StrategyCase(WORLDS, Independent().run, 0.5, 2000),
    "fixed": StrategyCase(WORLDS, FixedMarginals([("a", "b"), ("b",)]).run, 0.4, 2000),
    "hdmm": StrategyCase(WORLDS, HDMM("union").run, 0.4, 2000, workload=SUMS),
    "mst": StrategyCase(WORLDS, MST().run, 0.15, 6000),
    "mwem, queries": StrategyCase(WORLDS, MWEM("queries", 2).run, 0.2, 4000),
    "mwem, marginals": StrategyCase(WORLDS, MWEM("marginals", 2).run, 0.2, 8000),
    "aim": StrategyCase(WORLDS, AIM(n_rounds=3).run, 0.15, 4000),
    "priv_bayes": StrategyCase(two_columns(200, "abc"), PrivBayes().run, 0.3, 3000),
}
slow = list(STRATEGY_CASES)[3:]
strategies = [
    *list(STRATEGY_CASES)[:3],
    *(pytest.param(name, marks=pytest.mark.slow) for name in slow),
]


@pytest.mark.parametrize("name", strategies)
def test_strategies_lose_no_more_than_their_epsilon(name):
    found, charged = STRATEGY_CASES[name].audit()
    assert STRATEGY_CASES[name].power * charged <= found <= charged <= 2.0


@pytest.mark.parametrize("name", ["independent", "fixed", "hdmm"])
def test_strategies_with_half_the_noise_are_found_out(name, monkeypatch):
    halve_the_noise(monkeypatch)
    found, charged = STRATEGY_CASES[name].audit()
    assert found > charged


# --- MarginalPC -----------------------------------------------------------------------

MIXED = Schema([Ordinal(f"x{i}", range(r)) for i, r in enumerate((2, 3, 4))])


def farthest(query, schema, n=4):
    """Replace one of equal records by that which changes the answer most."""
    rows, one = np.array(list(np.ndindex(*schema.shape))), np.array([1])
    alone = [query.evaluate(CountTable(schema, row[None], one)) for row in rows]
    changes = [np.linalg.norm(answer - alone[0]) for answer in alone]
    odd = (rows[0], rows[int(np.argmax(changes))])
    return tuple(table([rows[0]] * (n - 1) + [last], *schema) for last in odd)


def gaussian_case(query, schema=MIXED):
    """Score noisy answers along the line between the exact ones, which tells most."""
    worlds = farthest(query, schema)
    first, second = (query.evaluate(world) for world in worlds)
    line = (first - second) / np.linalg.norm(first - second)
    return Case(
        worlds,
        lambda c: float(line @ (c.gaussian(query, rho=2.0) - second)),
        0.35,
        1500,
        concentrated_loss,
        n_broken_runs=1200,
    )


def moving_cells(n=4):
    """Move a record to another cell of a table."""
    columns = [Categorical(name, ("no", "yes")) for name in "ab"]
    return tuple(
        table([[0, 0]] * (n - 1) + [last], *columns) for last in ([0, 0], [1, 1])
    )


def moved(counts):
    """Score a table of four equal records, one of which may have moved."""
    return np.clip(counts[0, 0], 3, 4) - np.clip(counts[1, 1], 0, 1)


class MarginalPCCase(Case):
    """Whole fits; `run` is given records and a seed, returns a score and a model."""

    def outputs(self, n_runs):
        both = []
        for world, X in enumerate(self.worlds):
            runs = [self.run(X, seed + n_runs * world) for seed in range(n_runs)]
            both.append([float(score) for score, _ in runs])
        (_, model) = runs[-1]
        ledger = model.ledger_
        if self.loss is pure_loss:
            return *both, ledger.total(0.0)
        return *both, sum(entry.rho for entry in ledger)


def marginal_fit(X, seed, **parameters):
    schema = Schema([Categorical(name, ("no", "yes")) for name in "ab"])
    model = MarginalPC(schema=schema, random_state=seed, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def fit_of_a_table(X, seed):
    model = marginal_fit(X, seed, epsilon=2.0)
    return moved(model.tables_["a", "b"]), model


def fit_of_pairs(X, seed):
    """Score what is kept of the sums of a's code, and of the products of a's and b's.

    The first stage holds both, the second the products again.
    """
    model = marginal_fit(X, seed, source="pairs", epsilon=8.0, delta=1e-3)
    gram = model.gram_
    product = gram.covariances[0, 1] + gram.means[0] * gram.means[1]
    return -(product + gram.means[0] / 8), model


def one_flip(n=40):
    """Let b be a, but for a record: a flip moves the products and one of the sums."""
    agreed = np.full((n, 2), "no", dtype=object)
    agreed[: n // 2] = "yes"
    other = agreed.copy()
    other[-1, 0] = "yes"
    return other, agreed


TABLE = Marginal(("a", "b"))
RELEASES = {
    "table": Case(
        moving_cells(),
        lambda c: moved(c.laplace(TABLE, epsilon=2.0)),
        0.7,
        3000,
    ),
    "all pairs": gaussian_case(Interactions(MIXED.names)),
    "second look": gaussian_case(PairInteractions((("x0", "x1"), ("x2", "x0")))),
    "fit of a table": MarginalPCCase(graph_worlds(2), fit_of_a_table, 0.7, 1500),
    "fit of pairs": MarginalPCCase(
        one_flip(), fit_of_pairs, 0.25, 1000, concentrated_loss, 800
    ),
}
each_release = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if "fit" in name else ())
        for name in RELEASES
    ],
)


@each_release
def test_a_release_of_marginal_pc_loses_no_more_than_it_costs(name):
    found, charged = RELEASES[name].audit()
    assert RELEASES[name].power * charged <= found <= charged


@each_release
def test_a_release_of_marginal_pc_with_half_the_noise_is_found_out(name, monkeypatch):
    halve_the_noise(monkeypatch)
    found, charged = RELEASES[name].audit(RELEASES[name].n_broken_runs)
    assert found > charged


# --- the curator's trace --------------------------------------------------------------


@pytest.fixture
def curators(monkeypatch):
    """Collect the curators that estimators open."""
    opened = []
    open_curator = PrivateEstimator._open_curator

    def spy(self, records, *args):
        opened.append(open_curator(self, records, *args))
        return opened[-1]

    monkeypatch.setattr(PrivateEstimator, "_open_curator", spy)
    return opened


@pytest.mark.parametrize("rounds", [1, 2, 6])
@pytest.mark.parametrize("alpha", [0.001, 0.3, 0.95])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_every_look_of_priv_pc_is_paid_for(curators, rounds, alpha, subsample):
    X = np.random.default_rng(1).choice(["no", "yes"], (200, 4))
    model = fit(X, 1, max_deletions=rounds, alpha=alpha, subsample=subsample)
    (curator,) = curators
    assert [e.mechanism for e in model.ledger_] == ["sieve_and_examine"]
    assert {access.entry for access in curator.trace} == {0}
    steps = [access.step for access in curator.trace]
    # A sieve is a run of questions. An examination ends it, and the R-th ends all.
    word = "".join(step[0] for step in steps)
    assert set(steps) <= {"sieve", "examine"}
    assert re.fullmatch(rf"(s+e){{0,{rounds - 1}}}(s*|s+e)", word)
    assert word.count("s") == model.n_tests_
    for before, after in zip(curator.trace, curator.trace[1:], strict=False):
        assert after.step == "sieve" or after.query == before.query
    assert model.n_deletions_ <= word.count("e") <= rounds


@pytest.mark.parametrize("opener", ["sparse_vector", "sieve_and_examine"])
def test_the_last_firing_ends_data_access(opener):
    curator = Curator(two_pairs()[0], PrivacyLedger(9.0), 0)
    if opener == "sparse_vector":
        mechanism = curator.sparse_vector(rounds=3, epsilon=1.0)
    else:
        mechanism = curator.sieve_and_examine(
            rounds=3, sieve_epsilon=1.0, examine_epsilon=1.0
        )
    while mechanism.rounds_left:
        mechanism.ask(AB, UNIT)
    looked = len(curator.trace)
    for query in (AB, CD):
        with pytest.raises(BudgetExceededError, match="data access has ended"):
            mechanism.ask(query, UNIT)
    assert len(curator.trace) == looked
    assert len(curator.ledger) == 1


@pytest.mark.parametrize("selection", ["joint", "edges", "count_then_edges"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_look_of_em_pc_is_paid_for(curators, selection, delta):
    X = np.random.default_rng(1).choice(["no", "yes"], (200, 4))
    model = fit_em(X, 1, selection=selection, delta=delta, max_order=2)
    (curator,) = curators
    # Each entry pays for one look, in order.
    assert [access.entry for access in curator.trace] == list(range(len(model.ledger_)))
    names = [entry.mechanism for entry in model.ledger_]
    assert [access.step for access in curator.trace] == names
    assert names[0] in ("subset", "subset_size")
    assert model.ledger_.total() <= 2.0
    if delta == 0:
        charged = sum(entry.epsilon for entry in model.ledger_)
        assert charged == pytest.approx(model.ledger_.total())


@pytest.mark.parametrize("max_tests", [1, 4, 50])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_every_look_of_gaussian_pc_is_paid_for(curators, max_tests, subsample):
    X = np.random.default_rng(1).choice(["no", "yes"], (200, 4))
    schema = Schema([Categorical(name, ("no", "yes")) for name in "abcd"])
    options = {"max_tests": max_tests, "subsample": subsample, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianPC(schema=schema, **options).fit(X)
    (curator,) = curators
    assert {access.entry for access in curator.trace} == {0}
    assert len(curator.trace) == model.n_tests_ <= max_tests
    assert model.ledger_.total() <= 1.0
