"""The curator pays first, looks once, and says what it did."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, fields
from fractions import Fraction
from math import inf, isnan, nan, sqrt, tanh

import numpy as np
import pytest

from skdp.exceptions import BudgetExceededError, SchemaError
from skdp.privacy import Access, Curator, PrivacyLedger
from skdp.queries import Batch, KendallDependence, Marginal, PublicFacts, Query
from skdp.records import Categorical, CountTable, Schema

KENDALL = KendallDependence("a", "b")


def ask_laplace(curator, query, price=0.5):
    return curator.laplace(query, epsilon=price)


def ask_gaussian(curator, query, price=0.5):
    return curator.gaussian(query, rho=price)


def ask_exponential(curator, query, price=0.5):
    return curator.exponential(query, epsilon=price)


def ask_noisy_max(curator, query, price=0.5):
    return curator.noisy_max(query, epsilon=price)


ANSWERS = (ask_laplace, ask_gaussian)
SINGLE = (*ANSWERS, ask_exponential, ask_noisy_max)


def ask_sparse_vector(curator, query, price=0.5):
    return curator.sparse_vector(rounds=3, epsilon=price)


def ask_sieve_and_examine(curator, query, price=0.5):
    return curator.sieve_and_examine(
        rounds=3, sieve_epsilon=price, examine_epsilon=price
    )


ALL = (*SINGLE, ask_sparse_vector, ask_sieve_and_examine)


def opened(records, epsilon=10.0, delta=1e-6, seed=0):
    return Curator(records, PrivacyLedger(epsilon, delta), seed)


# --- refused before a record is touched -----------------------------------------------


@pytest.mark.parametrize("ask", ALL)
def test_nothing_is_touched_when_the_budget_is_too_small(ask, poisoned):
    curator = opened(poisoned, 0.01, 0.0)
    with pytest.raises(BudgetExceededError, match="No record was touched"):
        ask(curator, Marginal("a"))
    assert len(curator.ledger) == len(curator.trace) == 0


@pytest.mark.parametrize("ask", SINGLE)
def test_records_are_touched_only_after_paying(ask, poisoned):
    curator = opened(poisoned)
    with pytest.raises(AssertionError, match="touched"):
        ask(curator, Marginal("a"))
    assert len(curator.ledger) == len(curator.trace) == 1


@pytest.mark.parametrize("ask", (ask_sparse_vector, ask_sieve_and_examine))
def test_opening_a_mechanism_pays_and_touches_nothing(ask, poisoned):
    curator = opened(poisoned)
    ask(curator, None)
    assert len(curator.ledger) == 1
    assert curator.trace == []


def test_a_spent_budget_stays_spent(poisoned):
    curator = opened(poisoned, 1.0, 0.0)
    with pytest.raises(AssertionError, match="touched"):
        ask_laplace(curator, Marginal("a"), 1.0)
    with pytest.raises(BudgetExceededError):
        ask_laplace(curator, Marginal("a"), 1e-3)
    assert len(curator.trace) == 1


@pytest.mark.parametrize("ask", SINGLE)
@pytest.mark.parametrize("bound", [inf, nan, -1.0])
def test_a_query_that_no_noise_hides_is_refused(ask, bound, poisoned, score_query):
    curator = opened(poisoned)
    with pytest.raises(ValueError, match="no noise makes it private"):
        ask(curator, score_query(0.0, bound))
    assert len(curator.ledger) == len(curator.trace) == 0


@pytest.mark.parametrize("ask", SINGLE)
def test_an_unknown_column_is_refused(ask, poisoned):
    curator = opened(poisoned)
    with pytest.raises(SchemaError, match="age"):
        ask(curator, Marginal("age"))
    assert len(curator.ledger) == len(curator.trace) == 0


@pytest.mark.parametrize("ask", ALL)
@pytest.mark.parametrize("price", [0.0, -1.0, inf, nan])
def test_a_price_that_is_no_price_is_refused(ask, price, poisoned):
    curator = opened(poisoned)
    with pytest.raises(ValueError, match="must be"):
        ask(curator, Marginal("a"), price)
    assert len(curator.ledger) == len(curator.trace) == 0


@pytest.mark.parametrize("ask", (*ANSWERS, ask_sparse_vector, ask_sieve_and_examine))
def test_a_price_too_small_for_its_noise_is_refused(ask, poisoned):
    price = 1e-40 if ask is ask_gaussian else 1e-12
    curator = opened(poisoned)
    with pytest.raises(ValueError, match=r"scale|sigma2|noise"):
        ask(curator, KENDALL, price)
    assert len(curator.ledger) == len(curator.trace) == 0


# --- what cannot change costs nothing -------------------------------------------------


@pytest.mark.parametrize("ask", SINGLE)
def test_what_no_record_can_change_is_free(ask, poisoned):
    schema = Schema([Categorical("constant", ("only",)), Categorical("a", (0, 1))])
    codes = np.column_stack([np.zeros(20, int), np.arange(20) % 2])
    curator = opened(CountTable.from_codes(codes, schema), 1e-9, 0.0)
    free = (Marginal("constant"), Marginal(()))
    if ask in ANSWERS:
        free = (*free, KendallDependence("constant", "a"))
    for query in free:
        answer = ask(curator, query, 1e6)
        expected = 20 if isinstance(query, Marginal) else 0
        assert np.ravel(answer).tolist() == [expected if ask in ANSWERS else 0]
    assert len(curator.ledger) == 0


# --- what the ledger says is what was done --------------------------------------------


def kendall_sensitivity(n):
    return 3 * (n - 1) / n**1.5


@pytest.mark.parametrize(
    ("query", "bound", "norm_bound"),
    [(Marginal("a"), 2.0, sqrt(2)), (KENDALL, *[kendall_sensitivity(20)] * 2)],
)
def test_entries_say_what_was_bought(query, bound, norm_bound, records):
    curator = opened(records)
    curator.laplace(query, epsilon=0.8)
    curator.gaussian(query, rho=0.3)
    laplace, gaussian = curator.ledger
    assert (laplace.mechanism, gaussian.mechanism) == ("laplace", "gaussian")
    assert laplace.query == gaussian.query == str(query)
    assert (laplace.norm, gaussian.norm) == ("L1", "L2")
    assert laplace.sensitivity == pytest.approx(bound, rel=1e-12)
    assert gaussian.sensitivity == pytest.approx(norm_bound, rel=1e-12)
    assert laplace.scale == pytest.approx(bound / 0.8, rel=1e-5)
    assert gaussian.scale == pytest.approx(norm_bound / sqrt(0.6), rel=1e-5)
    assert (laplace.epsilon, laplace.parts) == (0.8, ((0.8, 1),))
    assert laplace.rho == pytest.approx(0.8 * tanh(0.4))
    assert (gaussian.epsilon, gaussian.rho, gaussian.parts) == (inf, 0.3, ())


@pytest.mark.parametrize(
    ("ask", "rho"), [(ask_exponential, 0.5**2 / 8), (ask_noisy_max, 0.5 * tanh(0.25))]
)
def test_entries_of_choices(ask, rho, records):
    curator = opened(records)
    assert type(ask(curator, Marginal("a"))) is int
    (entry,) = curator.ledger
    assert (entry.norm, entry.sensitivity, entry.epsilon) == ("Linf", 1.0, 0.5)
    assert isnan(entry.scale)
    assert entry.rho == pytest.approx(rho)
    assert entry.parts == ((0.5, 1),)


@pytest.mark.parametrize("ask", ANSWERS)
@pytest.mark.parametrize("query", [Marginal("a"), KENDALL])
def test_the_noise_has_the_scale_in_the_ledger(ask, query, records):
    errors = []
    curator = opened(records, 1e9)
    truth = query.evaluate(records)
    for _ in range(3000):
        curator._ledger = PrivacyLedger(10.0, 1e-6)
        errors.append(np.ravel(ask(curator, query) - truth))
    (entry,) = curator.ledger
    variance = entry.scale**2 * (2 if ask is ask_laplace else 1)
    if query.integral and ask is ask_laplace:
        a = np.exp(-1 / entry.scale)
        variance = 2 * a / (1 - a) ** 2
    errors = np.concatenate(errors)
    kurtosis = 6 if ask is ask_laplace else 3
    spread = sqrt((kurtosis - 1) / errors.size)
    assert errors.var() / variance == pytest.approx(1, abs=4 * spread)
    assert abs(errors.mean()) < 4 * sqrt(variance / errors.size)


@pytest.mark.parametrize("ask", ANSWERS)
def test_integers_stay_integers_and_scores_floats(ask, records):
    curator = opened(records)
    counts = ask(curator, Marginal(("a", "b")))
    assert (counts.dtype, counts.shape) == (np.int64, (2, 2))
    score = ask(curator, KENDALL)
    assert (np.asarray(score).dtype, np.shape(score)) == (np.float64, ())


@pytest.mark.parametrize("ask", ANSWERS)
@pytest.mark.parametrize(
    "parts", [(Marginal("a"), Marginal(("b", "c"))), (Marginal(("b", "c")), KENDALL)]
)
def test_the_answer_to_a_batch_splits(ask, parts, records):
    curator, batch = opened(records, 1e9), Batch(parts)
    split = batch.split(ask(curator, batch, 1e5), curator.public)
    for query, answer in zip(parts, split, strict=True):
        truth = query.evaluate(records)
        assert answer.shape == truth.shape
        assert np.abs(answer - truth).max() < 0.1
    assert len(curator.ledger) == len(curator.trace) == 1
    assert curator.ledger.entries[0].sensitivity == batch.sensitivity(
        curator.public, 1 if ask is ask_laplace else 2
    )


def test_answers_repeat_with_the_seed_and_only_with_it(records):
    asked = [ask_laplace(opened(records, seed=s), KENDALL) for s in (1, 1, 2, None)]
    assert asked[0] == asked[1]
    assert len(set(map(float, asked))) == 3
    curator = opened(records, seed=1)
    assert ask_laplace(curator, KENDALL) != ask_laplace(curator, KENDALL)


# --- failures and copies --------------------------------------------------------------


@pytest.mark.parametrize("ask", SINGLE)
@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt()])
def test_a_failing_query_is_paid_for_once(ask, error, records, score_query):
    curator = opened(records, 2.0, 1e-6)
    with pytest.raises(type(error)):
        ask(curator, score_query(error), 0.03)
    assert len(curator.ledger) == len(curator.trace) == 1
    spent = curator.ledger.total()
    assert spent > 0
    ask(curator, Marginal("a"), 0.01)
    assert len(curator.ledger) == len(curator.trace) == 2
    assert curator.ledger.total() > spent


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_curator_cannot_be_copied(copier, records):
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        copier(opened(records))


@dataclass(frozen=True)
class Spy(Query):
    """A query that keeps what it answered to tell it from the trace."""

    answers: list
    columns: tuple[str, ...] = ()

    def evaluate(self, records):
        self.answers.append(np.asarray(0.123456))
        return self.answers[-1]

    def shape(self, public: PublicFacts):
        return ()

    def sensitivity(self, public, ord=1):
        return 1.0


def test_the_trace_says_who_looked_and_not_what_was_seen(records):
    curator = opened(records, 100.0)
    for ask in SINGLE:
        ask(curator, Marginal("a"))
    mechanism = curator.sieve_and_examine(
        rounds=1, sieve_epsilon=0.5, examine_epsilon=0.5
    )
    mechanism.ask(KENDALL, 1e6)
    steps = ["laplace", "gaussian", "exponential", "noisy_max", "sieve", "examine"]
    assert [access.step for access in curator.trace] == steps
    assert [access.entry for access in curator.trace] == [0, 1, 2, 3, 4, 4]
    assert [field.name for field in fields(Access)] == ["entry", "step", "query"]
    for access in curator.trace:
        assert isinstance(access.query, Query)
        assert not any(isinstance(v, np.ndarray) for v in vars(access).values())


def test_each_question_is_evaluated_once(records):
    curator, spy = opened(records), Spy([])
    ask_laplace(curator, spy)
    assert len(spy.answers) == 1


def test_an_exact_price_may_be_a_fraction(records):
    curator = opened(records, 1.0, 0.0)
    curator.laplace(Marginal("a"), epsilon=Fraction(1, 2))
    assert curator.ledger.total() == 0.5
