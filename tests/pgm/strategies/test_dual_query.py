"""DualQuery: its budget, the law of its draws, and what becomes of them."""

from __future__ import annotations

import pickle
from itertools import product
from math import exp

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.utils.estimator_checks import parametrize_with_checks

from skdp import BudgetAccountant, Ordinal, PGMEstimator, Schema
from skdp.exceptions import ModelTooLargeError, PrivacyBudgetWarning, SchemaError
from skdp.graphical import EmpiricalDistribution, MarkovRandomField
from skdp.pgm import Workload
from skdp.pgm.budget import Budget
from skdp.pgm.draw_schedule import plan_draws
from skdp.pgm.strategies import DualQuery
from skdp.privacy import Curator, PrivacyLedger, zcdp_from_dp
from skdp.privacy.budget import as_typed
from skdp.queries import AnswerGaps, LinearMarginal
from skdp.records import CountTable

SCHEMA = Schema([Ordinal(name, range(size)) for size, name in enumerate("abcd", 2)])
PAIRS = Workload.all_marginals(SCHEMA.names, 2)


def chain(n=3000, seed=0):
    """A chain of columns, each a noisy copy of the one before."""
    rng = np.random.default_rng(seed)
    columns = {"a": (rng.random(n) < 0.2) * 1}
    for left, right in zip("abc", "bcd", strict=True):
        copied = rng.random(n) < 0.8
        size = SCHEMA.n_levels(right)
        columns[right] = np.where(copied, columns[left], rng.integers(0, size, n))
    return pd.DataFrame(columns)


def fitted(strategy=None, epsilon=1.0, delta=0.0, X=None, **parameters):
    options = {"schema": SCHEMA, "random_state": 0, **parameters}
    model = PGMEstimator(epsilon, delta, strategy=strategy or DualQuery(), **options)
    return model.fit(chain() if X is None else X)


# The budget ---------------------------------------------------------------------


@settings(max_examples=40)
@given(
    epsilon=st.floats(0.01, 10.0),
    delta=st.sampled_from([0.0, 1e-9, 1e-3]),
    n=st.integers(10, 10**5),
    given_=st.sampled_from(
        [
            ("auto", "auto", "auto"),
            (7, "auto", "auto"),
            ("auto", 4, "auto"),
            (7, 4, "auto"),
            ("auto", 4, 0.5),
            (3, "auto", 0.5),
            ("auto", "auto", 0.5),
        ]
    ),
)
def test_a_schedule_spends_the_budget_exactly(epsilon, delta, n, given_):
    budget = Budget(PrivacyLedger(epsilon, delta))
    try:
        plan = plan_draws(budget, n, *given_)
    except ValueError:
        assert given_[2] != "auto"
        return
    t, s = plan.n_rounds, plan.n_draws
    if delta == 0:
        cost = plan.eta * s * t * (t - 1) / n
    else:
        cost = plan.eta**2 * s * (t - 1) * t * (2 * t - 1) / (12 * n**2)
    assert cost == pytest.approx(budget.total, rel=1e-12)
    for asked, found in zip(given_[:2], (t, s), strict=True):
        assert asked in ("auto", found)
    if given_[2] != "auto":
        assert plan.eta >= given_[2]
    prices = []
    for k in range(1, t):
        prices.append(plan.price(k, budget))
        each = 2 * plan.eta * k / n  # the loss of one draw, by its exponent
        price = s * each if delta == 0 else s * each**2 / 8
        assert prices[-1] == pytest.approx(price, rel=1e-9)
        budget.spend(prices[-1])
    assert sum(map(as_typed, prices)) <= as_typed(budget.total)
    assert sum(prices) == pytest.approx(budget.total, rel=1e-12)


def test_a_given_rate_is_hardly_raised():
    budget = Budget(PrivacyLedger(1.0))
    for asked in [("auto", 5), (40, "auto"), ("auto", "auto")]:
        assert 0.5 <= plan_draws(budget, 50_000, *asked, 0.5).eta < 0.53


@pytest.mark.parametrize("inference", ["graphical_model", "synthetic_records"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.7, 0.0), (0.7, 1e-6)])
def test_the_ledger_adds_up_to_the_declared_total(inference, epsilon, delta):
    strategy = DualQuery(8, 3, inference=inference)
    model = fitted(strategy, epsilon, delta)
    ledger = model.ledger_
    assert len(ledger) == 7  # the first round is free
    assert {entry.mechanism for entry in ledger} == {"exponential"}
    assert ledger.total() == pytest.approx(epsilon, rel=1e-9)
    assert ledger.total() <= epsilon * (1 + 1e-12)
    eta = 3000 * epsilon / (3 * 8 * 7)
    if delta:
        rho = zcdp_from_dp(epsilon, delta)
        eta = 3000 * np.sqrt(12 * rho / (3 * 7 * 8 * 15))
        assert sum(entry.rho for entry in ledger) == pytest.approx(rho, rel=1e-12)
    for k, entry in enumerate(ledger, 1):
        ((each, count),) = entry.parts
        assert (count, entry.sensitivity) == (3, k)
        assert each == pytest.approx(2 * eta * k / 3000)


def test_both_arms_buy_the_same_draws():
    arms = [
        fitted(DualQuery(6, 2, inference=inference))
        for inference in ("graphical_model", "synthetic_records")
    ]
    assert arms[0].ledger_.to_json() == arms[1].ledger_.to_json()
    assert isinstance(arms[0].model_, MarkovRandomField)
    assert isinstance(arms[1].model_, EmpiricalDistribution)
    assert arms[1].model_.codes.shape == (6, 4)


# The law of the draws -----------------------------------------------------------

TINY = Schema([Ordinal("x", range(2)), Ordinal("y", range(3))])
TINY_WORKLOAD = Workload.prefixes(["y", ("x", "y")], TINY)


def tiny_values():
    """Read every query of the tiny workload at every record, by hand."""
    records = list(product(range(2), range(3)))
    prefixes = [[float(y <= b) for b in range(3)] for _, y in records]
    boxes = [
        [float(x <= a and y <= b) for a in range(2) for b in range(3)]
        for x, y in records
    ]
    return records, np.hstack([prefixes, boxes])


def literal_law(counts, synthetic, eta):
    """Return Q^t for queries and negations, from probabilities."""
    records, values = tiny_values()
    mean = np.array(counts) @ values / np.sum(counts)
    weights = np.ones(2 * values.shape[1])
    for record in synthetic:
        at = values[records.index(record)]
        weights[: len(mean)] *= np.exp(eta * (mean - at))
        weights[len(mean) :] *= np.exp(eta * ((1 - mean) - (1 - at)))
    return weights / weights.sum()


def gaps_of(synthetic):
    records, values = tiny_values()
    total = sum(values[records.index(record)] for record in synthetic)
    queries = [
        LinearMarginal(clique, query)
        for clique, query in zip(
            TINY_WORKLOAD.cliques, TINY_WORKLOAD.linear(TINY), strict=True
        )
    ]
    return AnswerGaps(queries, [total[:3], total[3:]], len(synthetic))


def table_of(counts):
    records, _ = tiny_values()
    return CountTable.from_codes(np.repeat(records, counts, axis=0), TINY)


COUNTS = (3, 0, 1, 2, 4, 0)
SYNTHETIC = [(0, 0), (1, 2), (1, 2), (0, 1)]


def test_the_draws_have_the_literal_law():
    eta, n, n_draws = 1.5, sum(COUNTS), 20_000
    each = 2 * eta * len(SYNTHETIC) / n
    curator = Curator(table_of(COUNTS), PrivacyLedger(1e9), 0)
    drawn = curator.exponential(
        gaps_of(SYNTHETIC), epsilon=n_draws * each, size=n_draws
    )
    law = literal_law(COUNTS, SYNTHETIC, eta)
    seen = np.bincount(drawn, minlength=len(law))
    assert chisquare(seen, n_draws * law).pvalue > 1e-3
    for wrong in (literal_law(COUNTS, SYNTHETIC, -eta), np.full_like(law, 1 / 18)):
        assert chisquare(seen, n_draws * wrong).pvalue < 1e-6


@pytest.mark.parametrize("eta", [0.3, 5.0])
def test_no_neighbours_lose_more_than_a_draw_costs(eta):
    # Every pair of neighbours with four records, by the literal law.
    n, k = 4, len(SYNTHETIC)
    epsilon = 2 * eta * k / n
    tables = [c for c in product(range(n + 1), repeat=6) if sum(c) == n - 1]
    worst = 0.0
    for common in tables[:: 1 if eta < 1 else 3]:
        laws = [
            literal_law(np.add(common, row), SYNTHETIC, eta)
            for row in np.eye(6, dtype=int)
        ]
        logs = np.log(laws)
        worst = max(worst, np.ptp(logs, axis=0).max())
    assert 0.5 * epsilon < worst <= epsilon * (1 + 1e-12)


def test_records_approach_the_answers_as_published():
    # Little noise and many rounds: the average record answers all queries.
    strategies = [DualQuery(t, 400, inference="synthetic_records") for t in (10, 160)]
    few, many = (
        PAIRS.errors(fitted(strategy, 1000.0), chain()).max_absolute / 3000
        for strategy in strategies
    )
    assert many < 0.03 < 0.1 < few


# The two inferences -------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_model_uses_the_draws_better_than_the_records(delta):
    strategies = [
        DualQuery(inference=i) for i in ("graphical_model", "synthetic_records")
    ]
    means = []
    for strategy in strategies:
        errors = [
            PAIRS.errors(
                fitted(strategy, 1.0, delta, random_state=seed), chain()
            ).total_variation
            for seed in range(3)
        ]
        means.append(np.mean(errors))
    assert means[0] < 0.75 * means[1]


def test_much_money_recovers_the_marginals():
    model = fitted(DualQuery(30, 500), epsilon=300.0)
    assert PAIRS.errors(model, chain()).total_variation < 0.03


def test_fitted_attributes():
    model = fitted(DualQuery(10, 5), workload=Workload([("b", "a"), "d"]))
    assert list(model.marginals_) == [("b", "a"), ("d",)]
    assert model.marginals_["b", "a"].shape == (3, 2)
    assert model.measurements_ == ()
    assert model.loss_ > 0
    assert 0 <= model.gap_ <= 1e-3 * 50 * np.log(2 * 11)
    assert model.tau_ > 0
    assert model.n_oracle_calls_ > 0
    plain = fitted(DualQuery(10, 5), tau=0.0)
    assert plain.tau_ == 0.0
    assert fitted(DualQuery(10, 5), tau=0.5).tau_ == 0.5
    assert fitted(DualQuery(4, 2), solver="mirror_descent", gap_tol=1.0).tau_ == 0.0


@pytest.mark.parametrize("inference", ["graphical_model", "synthetic_records"])
def test_deviations_are_refused(inference):
    model = fitted(DualQuery(4, 2, inference=inference))
    with pytest.raises(ValueError, match="made in another way"):
        model.marginal(["a"], return_std=True)
    assert model.marginal(["a"]).sum() == pytest.approx(3000)


def test_weights_draw_attention():
    workload = Workload(["a", "d"], weights=[1.0, 1e-3])
    model = fitted(DualQuery(20, 10), epsilon=5.0, workload=workload)
    assert abs(model.marginal("a") - [2400, 600]).max() < 300
    assert np.ptp(model.marginal("d")) < 60  # hardly anything is known of it


def test_matrices_of_any_entries():
    rng = np.random.default_rng(0)
    workload = Workload(
        [("b", "a"), "d"], queries=[rng.normal(size=(5, 6)), -3.0 * np.eye(5)]
    )
    model = fitted(DualQuery(10, 4), workload=workload)
    assert model.ledger_.total() == pytest.approx(1.0, rel=1e-9)
    assert model.sample(5).shape == (5, 4)


# Refusals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "options", "words"),
    [
        (DualQuery(1), {}, "n_rounds"),
        (DualQuery(samples_per_round=0), {}, "samples_per_round"),
        (DualQuery(learning_rate=0), {}, "learning_rate"),
        (DualQuery(inference="records"), {}, "inference"),
        (DualQuery(5, 5, 1.0), {}, "one of them at 'auto'"),
        (DualQuery(learning_rate=1e6), {}, "too large for this budget"),
        (DualQuery(50, learning_rate=100.0), {}, "too large for this budget"),
        (DualQuery(), {"solver": "newton", "tau": 1.0}, "solver='auto'"),
        (DualQuery(), {"workload": Workload([("a", "z")])}, "'z'"),
        (DualQuery(), {"workload": Workload(["a"], queries=[np.eye(3)])}, "shape"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(
    strategy, options, words
):
    with (
        BudgetAccountant(epsilon=5) as accountant,
        pytest.raises(ValueError, match=words),
    ):
        fitted(strategy, **options)
    assert accountant.spent == (0.0, 0.0)


def test_models_too_large_are_refused_before_anything_is_spent():
    names = [f"v{i}" for i in range(12)]
    schema = Schema([Ordinal(name, range(20)) for name in names])
    X = pd.DataFrame(dict.fromkeys(names, [0, 1, 2]))
    with (
        BudgetAccountant(epsilon=5) as accountant,
        pytest.raises(ModelTooLargeError, match="v0"),
    ):
        fitted(X=X, schema=schema)
    assert accountant.spent == (0.0, 0.0)
    records = DualQuery(4, 2, inference="synthetic_records")
    assert fitted(records, X=X, schema=schema).model_.codes.shape == (4, 12)
    with pytest.raises(ModelTooLargeError, match="single queries"):
        fitted(records, X=X, schema=schema, max_model_size=2e5)
    with pytest.raises(SchemaError, match="empty"):
        fitted(workload=Workload([]))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("rate", [5e-324, 1e-200, 1e-12, 1e4, 1e200, 1e308])
@pytest.mark.parametrize("given_", [{}, {"n_rounds": 4}, {"samples_per_round": 4}])
def test_extreme_learning_rates_are_refused(rate, delta, given_):
    words = "learning_rate=.* is too " + ("small" if rate < 1 else "large")
    strategy = DualQuery(learning_rate=rate, **given_)
    model = PGMEstimator(1.0, delta, strategy=strategy, schema=SCHEMA)
    with (
        BudgetAccountant(epsilon=5, delta=1e-3) as accountant,
        pytest.raises(ValueError, match=words),
    ):
        model.fit(chain(100))
    assert accountant.spent == (0.0, 0.0)


def test_more_draws_than_can_be_bought_at_once_are_refused():
    with pytest.raises(ValueError, match="samples_per_round"):
        fitted(DualQuery(2, 2**20 + 1))


def test_nothing_to_ask():
    schema = Schema([Ordinal("one", [1])])
    model = fitted(X=pd.DataFrame({"one": [1] * 5}), schema=schema)
    assert model.ledger_.total() == 0
    assert model.marginal("one").tolist() == [5.0]


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyLeakWarning")
@parametrize_with_checks(
    [
        PGMEstimator(
            strategy=DualQuery(4, 2, inference="synthetic_records"), random_state=0
        )
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Interruptions, progress, replay ---------------------------------------------------


@pytest.mark.parametrize("inference", ["graphical_model", "synthetic_records"])
def test_an_interruption_leaves_a_model_of_the_draws_so_far(inference, monkeypatch):
    evaluate, calls = Curator._evaluate, []

    def impatient(self, *args, **kwargs):
        calls.append(args)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return evaluate(self, *args, **kwargs)

    monkeypatch.setattr(Curator, "_evaluate", impatient)
    with pytest.warns(PrivacyBudgetWarning, match="Interrupted"):
        model = fitted(DualQuery(8, 3, inference=inference))
    assert len(model.ledger_) == 5
    assert model.ledger_.total() < 0.6
    assert model.marginal(["a", "d"]).sum() == pytest.approx(3000)
    if inference == "synthetic_records":
        assert len(model.model_.codes) == 5


def test_an_interruption_in_the_free_round(monkeypatch):
    from skdp.pgm import Session

    def impatient(self, *args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "draw", impatient)
    with pytest.warns(PrivacyBudgetWarning, match="Interrupted"):
        model = fitted(DualQuery(8, 3))
    np.testing.assert_allclose(model.marginal("a"), [1500, 1500])


def test_progress_is_shown(capsys):
    fitted(DualQuery(3, 2), verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert "round 2 of 3: drew 2 of 142 queries and added the best record" in lines[1]
    assert "epsilon left: 0)" in lines[2]
    assert "fitted a model by the likelihood" in lines[3]


@pytest.mark.parametrize("inference", ["graphical_model", "synthetic_records"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_replay_on_other_records_gives_the_same_pickle(inference, delta, monkeypatch):
    tape = []
    draw = Curator.exponential

    def recorded(self, *args, **kwargs):
        tape.append(draw(self, *args, **kwargs))
        return tape[-1]

    strategy = DualQuery(6, 3, inference=inference)
    monkeypatch.setattr(Curator, "exponential", recorded)
    first = fitted(strategy, delta=delta)
    answers = iter(list(tape))

    def replayed(self, *args, **kwargs):
        draw(self, *args, **kwargs)
        return next(answers)

    monkeypatch.setattr(Curator, "exponential", replayed)
    second = fitted(strategy, delta=delta, X=chain(seed=1)[::-1])
    assert next(answers, None) is None
    assert pickle.dumps(second) == pickle.dumps(first)


def test_the_loss_of_a_draw_by_hand():
    # One query, one synthetic record: exp(+-eta (q(D) - q(x))) / Z.
    law = literal_law((1, 0, 0, 0, 0, 3), [(0, 0)], 2.0)
    records, values = tiny_values()
    gap = values[0] * 0.25 + values[5] * 0.75 - values[0]
    z = sum(exp(2 * g) + exp(-2 * g) for g in gap)
    np.testing.assert_allclose(law[:9], [exp(2 * g) / z for g in gap])


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_large_budgets_buy_more_draws_rather_than_a_steeper_rate(delta):
    rates = [
        plan_draws(
            Budget(PrivacyLedger(epsilon, delta)), 100_000, "auto", "auto", "auto"
        ).eta
        for epsilon in (0.1, 1.0, 10.0)
    ]
    assert max(rates) < 4
