"""The sieve follows its law, starts afresh after every firing, and then ends."""

from __future__ import annotations

import copy
import threading
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log, nan, tanh

import numpy as np
import pytest
from scipy import stats

import skdp.privacy.sieve_and_examine as module
from skdp.exceptions import BudgetExceededError, SchemaError
from skdp.privacy import Curator, PrivacyLedger
from skdp.privacy.grid import MARGIN_SENSITIVITY
from skdp.queries import KendallDependence, Marginal, PublicFacts, Query
from skdp.records import Categorical, CountTable, Ordinal, Schema

SPLIT = 1 / (1 + 2 ** (2 / 3))  # the threshold's share
FAR = 1e6


def opened(records, seed=0, epsilon=1e6):
    return Curator(records, PrivacyLedger(epsilon), seed)


def open_both(records, rounds=3, sample_size=None, **budget):
    """Open a mechanism of either kind, each with a curator of its own."""
    return [
        opened(records, **budget).sparse_vector(
            rounds=rounds, epsilon=1.0, sample_size=sample_size
        ),
        opened(records, **budget).sieve_and_examine(
            rounds=rounds,
            sieve_epsilon=1.0,
            examine_epsilon=0.5,
            sample_size=sample_size,
        ),
    ]


# --- the law --------------------------------------------------------------------------


def firing_law(margins, epsilon, fraction=1.0, split=SPLIT, factor=2.0):
    """Integrate the law of the first firing over a continuous Laplace threshold."""
    base = log(1 + (exp(epsilon) - 1) / fraction)
    threshold = stats.laplace(scale=1 / (base * split))
    question = stats.laplace(scale=factor / (base * (1 - split)))
    t, dt = np.linspace(-60 / base, 60 / base, 40_001, retstep=True)
    silent = threshold.pdf(t) * dt
    law = []
    for margin in margins:
        law.append((silent * question.sf(t - margin)).sum())
        silent = silent * question.cdf(t - margin)
    return np.array([*law, silent.sum()])


def first_firings(records, query_class, margins, sample_size, n_runs=4000):
    """Count which question fires first."""
    curator, counts = opened(records), np.zeros(len(margins) + 1, int)
    questions = [query_class(-2.0 * margin, bound=2.0) for margin in margins]
    for _ in range(n_runs):
        curator._ledger = PrivacyLedger(10.0)
        mechanism = curator.sparse_vector(
            rounds=1, epsilon=1.3, sample_size=sample_size
        )
        answers = (mechanism.ask(query, 0.0) for query in questions)
        counts[next((i for i, a in enumerate(answers) if a), len(margins))] += 1
    return counts


@pytest.mark.parametrize("sample_size", [None, 8])
def test_the_first_firing_follows_its_law(sample_size, records, score_query):
    margins = (-1.5, 0.5, -1.0, 1.0, -0.25)
    fraction = (sample_size or 20) / 20
    counts = first_firings(records, score_query, margins, sample_size)

    def p_value(**options):
        law = firing_law(margins, 1.3, fraction, **options)
        return stats.chisquare(counts, law / law.sum() * counts.sum()).pvalue

    assert p_value() > 1e-2
    # The count tells the law from its neighbours: half the noise on the questions, and
    # all the budget for one side.
    assert p_value(factor=1.0) < 1e-6
    assert p_value(split=0.7) < 1e-6


def test_an_examination_follows_its_law(records, score_query):
    sieve_epsilon, examine_epsilon, margin, tweak = 1.0, 0.7, 0.6, 1.0
    curator, counts = opened(records), Counter()
    for _ in range(4000):
        curator._ledger = PrivacyLedger(10.0)
        mechanism = curator.sieve_and_examine(
            rounds=1, sieve_epsilon=sieve_epsilon, examine_epsilon=examine_epsilon
        )
        answer = mechanism.ask(score_query(-margin), 0.0, tweak=tweak)
        counts[answer, mechanism.rounds_left] += 1
    fires = firing_law([margin + tweak], sieve_epsilon)[0]
    confirms = stats.laplace(scale=1 / examine_epsilon).sf(-margin)
    law = [fires * confirms, fires * (1 - confirms), 1 - fires]
    seen = [counts[True, 0], counts[False, 0], counts[False, 1]]
    assert sum(seen) == 4000
    assert stats.chisquare(seen, np.array(law) * 4000).pvalue > 1e-2


# --- the noise, draw by draw ----------------------------------------------------------


@pytest.fixture
def draws(monkeypatch):
    """Collect the (scale, generator) of every draw of noise."""
    seen = []
    draw = module.discrete_laplace

    def spy(scale, size, rng):
        seen.append((scale, rng))
        return draw(scale, size, rng)

    monkeypatch.setattr(module, "discrete_laplace", spy)
    return seen


def words(draws, scales):
    """Spell draws by the letters of their scales."""
    return "".join(
        next(k for k, v in scales.items() if float(scale) == pytest.approx(float(v)))
        for scale, _ in draws
    )


@pytest.mark.parametrize("sample_size", [None, 5])
def test_every_firing_refreshes_the_threshold(sample_size, records, score_query, draws):
    curator = opened(records)
    mechanism = curator.sieve_and_examine(
        rounds=3, sieve_epsilon=0.4, examine_epsilon=0.1, sample_size=sample_size
    )
    # No, no; let through and kept; no, let through and deleted; let through.
    kept, deleted = score_query(FAR / 2), score_query(-FAR)
    for query, tweak in (
        [(deleted, -3 * FAR)] * 2 + [(kept, FAR), (kept, 0.0)] + [(deleted, 0.0)] * 2
    ):
        mechanism.ask(query, 0.0, tweak=tweak)
    assert mechanism.rounds_left == 0
    base = log(1 + 20 / (sample_size or 20) * (exp(0.4) - 1))
    scales = {
        "t": MARGIN_SENSITIVITY / (base * SPLIT),
        "q": 2 * MARGIN_SENSITIVITY / (base * (1 - SPLIT)),
        "x": MARGIN_SENSITIVITY / Fraction(0.1),
    }
    assert words(draws, scales) == "tqqqx" + "tqqx" + "tqx"
    assert all(rng is curator._streams.noise for _, rng in draws)


def test_the_budget_of_a_sieve_is_split_as_declared(records):
    for sample_size, fraction in ((None, 1.0), (5, 0.25)):
        for mechanism in open_both(records, sample_size=sample_size):
            parts = mechanism._threshold_epsilon, mechanism._question_epsilon
            assert parts[1] / parts[0] == pytest.approx(2 ** (2 / 3), rel=1e-12)
            amplified = log(1 + fraction * (exp(sum(parts)) - 1))
            assert amplified == pytest.approx(1.0, rel=1e-12)


# --- sub-samples ----------------------------------------------------------------------


@dataclass(frozen=True)
class Watch(Query):
    """A query that keeps the records that it was evaluated on."""

    seen: list
    value: float = 0.0
    columns: tuple[str, ...] = ()

    def evaluate(self, records):
        self.seen.append(records)
        return np.asarray(self.value)

    def shape(self, public: PublicFacts):
        return ()

    def sensitivity(self, public, ord=1):
        return 1 / public.n_records


def test_a_sub_sample_serves_one_run_and_an_examination_sees_all():
    schema = Schema([Ordinal("row", range(40)), Categorical("a", (0, 1))])
    codes = np.column_stack([np.arange(40), np.zeros(40, int)])
    records = CountTable.from_codes(codes, schema)
    curator, watch = opened(records), Watch([])
    mechanism = curator.sieve_and_examine(
        rounds=3, sieve_epsilon=1.0, examine_epsilon=1.0, sample_size=10
    )
    for _ in range(3):
        for tweak in (-FAR, -FAR, FAR):
            mechanism.ask(watch, 0.0, tweak=tweak)
    assert [r.n_records for r in watch.seen] == ([10] * 3 + [40]) * 3
    runs = [watch.seen[4 * i : 4 * i + 4] for i in range(3)]
    for first, second, third, examined in runs:
        assert first is second is third
        assert examined is records
    samples = {tuple(run[0].rows[:, 0]) for run in runs}
    assert len(samples) == 3
    assert all(len(set(sample)) == 10 for sample in samples)


def test_a_question_is_divided_by_its_sensitivity_at_the_size_at_hand(
    records, monkeypatch
):
    sizes = []
    margin = module.margin_in_steps

    def spy(value, query, threshold, public):
        sizes.append((public.n_records, threshold))
        return margin(value, query, threshold, public)

    monkeypatch.setattr(module, "margin_in_steps", spy)
    mechanism = opened(records).sieve_and_examine(
        rounds=1, sieve_epsilon=1.0, examine_epsilon=1.0, sample_size=5
    )
    mechanism.ask(Watch([]), 0.5, tweak=FAR)
    assert sizes == [(5, 0.5 + FAR), (20, 0.5)]


def test_sub_samples_do_not_touch_the_noise(records, score_query):
    """The same noise, whether or not records are sub-sampled in between."""
    answers = []
    for fraction in (1.0, 0.5):
        curator = opened(records, seed=3)
        mechanism = curator.sparse_vector(
            # The same budget on the sub-sample.
            rounds=9,
            epsilon=log(1 + fraction * (exp(1.0) - 1)),
            sample_size=int(20 * fraction),
        )
        answers.append([mechanism.ask(score_query(0.5), 0.0) for _ in range(8)])
    assert answers[0] == answers[1]


# --- answers and rounds ---------------------------------------------------------------


def test_a_small_score_is_a_yes_and_a_round(records, score_query):
    for mechanism in open_both(records):
        assert mechanism.rounds == mechanism.rounds_left == 3
        assert mechanism.ask(score_query(FAR), 0.0) is False
        assert mechanism.rounds_left == 3
        assert mechanism.ask(score_query(0.0), FAR) is True
        assert mechanism.rounds_left == 2


def test_a_tweak_opens_the_sieve_and_not_the_examination(records, score_query):
    vector, both = open_both(records)
    for mechanism in (vector, both):
        assert mechanism.ask(score_query(0.0), FAR, tweak=-2 * FAR) is False
        assert mechanism.rounds_left == 3
    assert vector.ask(score_query(FAR), 0.0, tweak=2 * FAR) is True
    assert both.ask(score_query(FAR), 0.0, tweak=2 * FAR) is False
    assert vector.rounds_left == both.rounds_left == 2


def test_the_last_firing_closes_also_if_the_examination_says_no(records, score_query):
    for mechanism in open_both(records, rounds=2):
        for _ in range(2):
            mechanism.ask(score_query(FAR), 0.0, tweak=2 * FAR)
        assert mechanism.rounds_left == 0
        looked = len(mechanism._curator.trace)
        with pytest.raises(BudgetExceededError, match="data access has ended"):
            mechanism.ask(score_query(0.0), 0.0)
        assert len(mechanism._curator.trace) == looked


def test_what_no_record_can_change_is_free_for_ever(records, score_query):
    for mechanism in open_both(records, rounds=1):
        mechanism.ask(score_query(0.0), FAR)
        assert mechanism.rounds_left == 0
        looked = len(mechanism._curator.trace)
        assert mechanism.ask(score_query(0.5, bound=0.0), 0.5) is True
        assert mechanism.ask(score_query(0.5, bound=0.0), 0.4) is False
        assert len(mechanism._curator.trace) == looked


def test_an_interrupted_examination_has_used_its_round(records, score_query):
    _, mechanism = open_both(records)

    class Interrupted(score_query):
        def evaluate(self, table):
            if self.value is nan:
                raise KeyboardInterrupt
            return super().evaluate(table)

    confirms = mechanism._confirms
    mechanism._confirms = lambda query, t: confirms(Interrupted(nan), t)
    with pytest.raises(KeyboardInterrupt):
        mechanism.ask(score_query(0.0), FAR)
    assert mechanism.rounds_left == 2


def test_an_interrupted_sieve_costs_its_round(records, score_query):
    # An interruption between firing and bookkeeping could else let a sieve fire twice.
    for mechanism in open_both(records):
        with pytest.raises(KeyboardInterrupt):
            mechanism.ask(score_query(KeyboardInterrupt()), 0.0)
        assert mechanism.rounds_left == 2
        assert mechanism._sieve is None
        assert len(mechanism._curator.ledger) == 1


# --- refusals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "tweak"),
    [(inf, 0.0), (-inf, 0.0), (nan, 0.0), (0.0, inf), (0.0, nan), (1e308, 1e308)],
)
def test_a_threshold_that_is_not_finite_is_refused(threshold, tweak, poisoned):
    for mechanism in open_both(poisoned):
        with pytest.raises(ValueError, match="finite threshold"):
            mechanism.ask(KendallDependence("a", "b"), threshold, tweak=tweak)
        assert mechanism._curator.trace == []
        assert mechanism.rounds_left == 3


def test_a_question_that_cannot_be_answered_is_refused(poisoned, score_query):
    for mechanism in open_both(poisoned):
        with pytest.raises(ValueError, match="scalar"):
            mechanism.ask(Marginal("a"), 0.0)
        with pytest.raises(ValueError, match="no noise makes it private"):
            mechanism.ask(score_query(0.0, inf), 0.0)
        with pytest.raises(SchemaError, match="age"):
            mechanism.ask(KendallDependence("a", "age"), 0.0)
        assert mechanism._curator.trace == []
        assert mechanism.rounds_left == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": 0},
        {"rounds": -1},
        {"rounds": 1.5},
        {"rounds": nan},
        {"sample_size": 0},
        {"sample_size": 21},
        {"sample_size": 2.5},
    ],
)
def test_a_wrong_plan_is_refused_before_it_is_paid_for(wrong, poisoned):
    curator = opened(poisoned)
    for opener, prices in (
        (curator.sparse_vector, {"epsilon": 1.0}),
        (curator.sieve_and_examine, {"sieve_epsilon": 1.0, "examine_epsilon": 1.0}),
    ):
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            opener(**{"rounds": 2, **prices, **wrong})
    assert len(curator.ledger) == 0


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_rounds_cannot_be_doubled_by_copying(copier, records):
    for mechanism in open_both(records):
        with pytest.raises(TypeError, match="copied"):
            copier(mechanism)


# --- the price ------------------------------------------------------------------------


@pytest.mark.parametrize("sample_size", [None, 5])
def test_the_price_is_that_of_the_theorem(sample_size, poisoned):
    curator = opened(poisoned)
    curator.sieve_and_examine(
        rounds=7, sieve_epsilon=0.3, examine_epsilon=0.2, sample_size=sample_size
    )
    curator.sparse_vector(rounds=7, epsilon=0.3, sample_size=sample_size)
    both, vector = curator.ledger
    assert both.epsilon == pytest.approx(7 * (0.3 + 0.2), rel=1e-15)
    assert both.rho == pytest.approx(7 * (0.3 * tanh(0.15) + 0.2 * tanh(0.1)))
    assert both.parts == ((0.3, 7), (0.2, 7))
    assert both.scale == pytest.approx(1 / 0.2)
    assert vector.epsilon == pytest.approx(7 * 0.3, rel=1e-15)
    assert vector.rho == pytest.approx(7 * 0.3 * tanh(0.15))
    assert vector.parts == ((0.3, 7),)
    assert [e.mechanism for e in curator.ledger] == [
        "sieve_and_examine",
        "sparse_vector",
    ]
    assert both.sensitivity == vector.sensitivity == 1.0


def test_the_whole_run_is_paid_for_at_once_or_not_at_all(poisoned):
    curator = opened(poisoned, epsilon=1.0)
    with pytest.raises(BudgetExceededError):
        curator.sieve_and_examine(rounds=3, sieve_epsilon=0.2, examine_epsilon=0.2)
    curator.sieve_and_examine(rounds=2, sieve_epsilon=0.2, examine_epsilon=0.3)
    assert len(curator.ledger) == 1
    assert curator.ledger.total() == 1.0


def test_threads_cannot_fire_more_than_the_rounds(records, score_query):
    (mechanism, *_) = open_both(records)
    fired = []

    def ask_often():
        for _ in range(20):
            try:
                fired.append(mechanism.ask(score_query(-1e6), 0.0))
            except BudgetExceededError:
                return

    threads = [threading.Thread(target=ask_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(fired) == mechanism.rounds == 3
    assert mechanism.rounds_left == 0


def test_nothing_of_a_paid_plan_can_be_changed(records):
    for mechanism in open_both(records):
        for name in ("rounds", "rounds_left", "sample_size"):
            with pytest.raises(AttributeError):
                setattr(mechanism, name, 10**6)


def test_a_question_within_a_question_is_refused(records, score_query):
    def ask_within(mechanism):
        class Asking(type(score_query(0.0))):
            def evaluate(self, records):
                mechanism.ask(score_query(0.0), 0.0)

        query = score_query(0.0)
        object.__setattr__(query, "__class__", Asking)
        mechanism.ask(query, 0.0)

    for mechanism in open_both(records):
        with pytest.raises(RuntimeError, match="while another"):
            ask_within(mechanism)
        assert mechanism.rounds_left == 2
