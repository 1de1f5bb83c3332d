"""AIM against a literal reading, what it buys, and what it refuses."""

from __future__ import annotations

import pickle
from itertools import combinations
from math import log, log1p, pi, prod, sqrt

import numpy as np
import pandas as pd
import pytest

import skdp.base
from skdp import Categorical, Ordinal, PGMEstimator, Schema
from skdp.exceptions import (
    ModelTooLargeError,
    PrivacyBudgetWarning,
    SchemaError,
)
from skdp.graphical import LinearMeasurement, fit_potentials
from skdp.pgm import Workload
from skdp.pgm.session import Session
from skdp.pgm.strategies import AIM
from skdp.pgm.strategies.candidates import Candidates
from skdp.privacy import Curator, zcdp_from_dp
from skdp.privacy.budget import as_typed
from skdp.queries import ModelDistances, PublicFacts
from skdp.records import CountTable

# Sizes without ties: any order of equal scores would do.
SIZES = {"a": 2, "b": 3, "c": 5, "d": 7}
SCHEMA = Schema([Ordinal(name, range(size)) for name, size in SIZES.items()])
PURE, CONCENTRATED = (2.0, 0.0), (1.0, 1e-6)


def a_frame(n=3000, seed=0):
    """A chain of columns, each a noisy copy of the one before."""
    rng = np.random.default_rng(seed)
    columns = {"a": rng.integers(0, 2, n)}
    for left, right in zip("abc", "bcd", strict=True):
        copied = rng.random(n) < 0.6
        columns[right] = np.where(
            copied, columns[left], rng.integers(0, SIZES[right], n)
        )
    return pd.DataFrame(columns)


def fitted(strategy=None, budget=CONCENTRATED, X=None, schema=SCHEMA, **parameters):
    strategy = AIM() if strategy is None else strategy
    model = PGMEstimator(
        *budget, strategy=strategy, schema=schema, random_state=0, **parameters
    )
    return model.fit(a_frame() if X is None else X)


class Listening(Curator):
    """Writes down every answer with its question and its price."""

    heard: list

    def laplace(self, query, *, epsilon):
        return self._heard(query, epsilon, super().laplace(query, epsilon=epsilon))

    def gaussian(self, query, *, rho):
        return self._heard(query, rho, super().gaussian(query, rho=rho))

    def exponential(self, query, *, epsilon):
        return self._heard(query, epsilon, super().exponential(query, epsilon=epsilon))

    def _heard(self, query, price, answer):
        self.heard.append((query, price, answer))
        return answer


class Replaying(Listening):
    """Pays as a curator does, looks at no record, and repeats the answers."""

    def _evaluate(self, query, *args, **kwargs):
        kind = np.int64 if query.integral else np.float64
        return np.zeros(query.shape(self.public), dtype=kind)

    def _heard(self, query, price, answer):
        return self.heard.pop(0)[2]


@pytest.fixture
def heard(monkeypatch):
    """The answers of all fits so far."""
    monkeypatch.setattr(Listening, "heard", [], raising=False)
    monkeypatch.setattr(skdp.base, "Curator", Listening)
    return Listening.heard


# A literal reading ------------------------------------------------------------------


def tree_of(cliques):
    """Eliminate by weighted min-fill, and return the maximal cliques."""
    near = {name: set() for name in SIZES}
    for a, b in (pair for c in cliques for pair in combinations(c, 2)):
        near[a].add(b)
        near[b].add(a)
    found = []
    while near:

        def score(name):
            pairs = combinations(near[name], 2)
            fill = sum(SIZES[a] * SIZES[b] for a, b in pairs if b not in near[a])
            cells = SIZES[name] * prod(SIZES[other] for other in near[name])
            return log1p(fill) + 1e-9 * log(cells)

        name = min(near, key=score)
        neighbours = near.pop(name)
        found.append({name, *neighbours})
        for other in neighbours:
            near[other] |= neighbours
            near[other] -= {name, other}
    return [c for c in found if not any(c < other for other in found)]


def cells_of(cliques):
    return sum(prod(SIZES[name] for name in c) for c in tree_of(cliques))


def literal_aim(heard, workload, weights, budget, total, max_cells, T, X):
    """Follow the published pseudocode, with the answers that were heard.

    Costs for replacement of a record: 1/sigma^2 and eps^2/8 of rho, or 2/scale and eps.
    """
    is_pure, heard, n = budget[1] == 0, list(heard), len(X)
    candidates = {c for s in workload for k in (1, 2, 3) for c in combinations(s, k)}
    weight = {
        r: sum(c * len({*r} & {*s}) for s, c in zip(workload, weights, strict=True))
        / max(weights)  # only ratios matter
        for r in candidates
    }
    if is_pure:
        scale, eps = 2 * T / (0.9 * total), 0.1 * total / T
    else:
        scale, eps = sqrt(T / (0.9 * total)), sqrt(0.8 * total / T)
    cost = lambda: 2 / scale + eps if is_pure else 1 / scale**2 + eps**2 / 8  # noqa: E731
    noise = lambda: scale if is_pure else sqrt(2 / pi) * scale  # noqa: E731
    deviation = lambda: sqrt(2) * scale if is_pure else scale  # noqa: E731

    def fit():
        made = [LinearMeasurement(*m) for m in measured]
        return fit_potentials(made, SCHEMA, n, gap_tol=1e-9).model()

    query, price, answer = heard.pop(0)
    one_way = [part.names for part in query.queries]
    assert sorted(one_way) == sorted(c for c in candidates if len(c) == 1)
    d = len(one_way)
    assert price == pytest.approx(d * (2 / scale if is_pure else 1 / scale**2))
    parts = query.split(answer, PublicFacts(n, SCHEMA))
    measured = [(c, y, deviation()) for c, y in zip(one_way, parts, strict=True)]
    used = price
    model, is_last, chosen = fit(), False, []
    while not is_last:
        left = total - used
        if left < 2 * cost():
            is_last = True
            scale = 2 / (0.9 * left) if is_pure else sqrt(1 / (0.9 * left))
            eps = 0.1 * left if is_pure else sqrt(0.8 * left)
        used += cost()
        limit = max_cells * used / total
        tree = tree_of([c for c, _, _ in measured])
        fits = {
            r
            for r in candidates
            if any(clique.issuperset(r) for clique in tree)
            or cells_of([*(c for c, _, _ in measured), r]) <= limit * (1 + 1e-12)
        }
        scores, price, answer = heard.pop(0)
        assert price == pytest.approx(eps)
        assert set(scores.marginals) == fits
        records = CountTable.from_frame(X, SCHEMA)
        expected = []
        for r in scores.marginals:
            off = np.abs(records.marginal(r) - model.marginal(r)).sum()
            n_cells = prod(SIZES[name] for name in r)
            expected.append(weight[r] * (off - noise() * n_cells))
        found = scores.evaluate(records)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=0.5)
        assert scores.sensitivity(PublicFacts(n, SCHEMA), np.inf) == 2 * max(
            weight[r] for r in fits
        )
        r = scores.marginals[answer]
        query, price, answer = heard.pop(0)
        assert query.queries[0].names == r
        assert price == pytest.approx(2 / scale if is_pure else 1 / scale**2)
        before = model.marginal(r)
        measured.append((r, answer.reshape(before.shape), deviation()))
        model = fit()
        chosen.append((r, deviation()))
        if np.abs(model.marginal(r) - before).sum() <= noise() * before.size:
            scale, eps = scale / 2, 2 * eps
    assert not heard
    return chosen, model


# Little budget: noise on integers of small scale is less than its continuous limit.
@pytest.mark.parametrize("budget", [(0.3, 0.0), (1.0, 1e-6)])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 4.0)])
@pytest.mark.parametrize("max_cells", [60, 1e6])
def test_aim_is_what_a_literal_reading_says(budget, weights, max_cells, heard):
    X, workload = a_frame(), (("a", "b", "c"), ("c", "d"))
    model = fitted(
        AIM(n_rounds=20, max_size=8e-6 * max_cells),
        budget,
        workload=Workload(workload, weights),
        gap_tol=1e-9,
    )
    total = budget[0] if budget[1] == 0 else zcdp_from_dp(*budget)
    chosen, expected = literal_aim(
        heard, workload, weights, budget, total, max_cells, 20, X
    )
    found = [(m.columns, m.sigma) for m in model.measurements_[4:]]
    assert [c for c, _ in found] == [c for c, _ in chosen]
    np.testing.assert_allclose([s for _, s in found], [s for _, s in chosen], rtol=0.01)
    assert len({sigma for _, sigma in found}) > 1  # it was halved, or the last
    for pair in combinations("abcd", 2):
        np.testing.assert_allclose(
            model.marginal(pair), expected.marginal(pair), atol=1.0
        )


def test_candidates_are_the_subsets_of_the_workload():
    schema = Schema([*SCHEMA, Categorical("only", ("one",))])
    public = PublicFacts(10, schema)
    found = Candidates.of(Workload([("c", "a"), ("a", "only", "b")], [2, 4]), public)
    assert found.domain.names == ("a", "b", "c")
    by_clique = dict(zip(found.cliques, found.weights, strict=True))
    assert by_clique == {
        ("a",): 1.5, ("b",): 1.0, ("c",): 0.5, ("a", "b"): 2.5, ("a", "c"): 2.0,
    }  # fmt: skip
    everything = Candidates.of(None, public)
    assert len(everything.cliques) == 4 + 6 + 4
    assert Candidates.of(None, PublicFacts(5, SCHEMA.select("ab"))).cliques == (
        ("a",), ("b",), ("a", "b"),
    )  # fmt: skip


# Prices -----------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED, (0.01, 0.0), (30.0, 1e-3)])
@pytest.mark.parametrize("n_rounds", [4, 5, 17, None])
def test_the_budget_is_spent_exactly(budget, n_rounds):
    model = fitted(AIM(n_rounds), budget)
    is_pure = budget[1] == 0
    prices = [entry.epsilon if is_pure else entry.rho for entry in model.ledger_]
    total = budget[0] if is_pure else zcdp_from_dp(*budget)
    assert sum(map(as_typed, prices)) <= as_typed(total)
    assert sum(prices) == pytest.approx(total, rel=1e-12)
    assert model.ledger_.total() <= budget[0]
    assert model.ledger_.total(budget[1]) == pytest.approx(budget[0], rel=1e-9)


def test_what_was_bought_is_what_the_mechanisms_say(heard):
    model = fitted(AIM(n_rounds=30), PURE)
    mechanisms = [entry.mechanism for entry in model.ledger_]
    n_rounds = (len(mechanisms) - 1) // 2
    assert mechanisms == ["laplace", *n_rounds * ["exponential", "laplace"]]
    assert len(heard) == len(mechanisms)
    first, choice, measured = model.ledger_.entries[:3]
    assert first.epsilon == pytest.approx(4 * 0.9 * 2.0 / 30)
    assert choice.epsilon == pytest.approx(0.1 * 2.0 / 30)
    assert measured.epsilon == pytest.approx(0.9 * 2.0 / 30)


def test_with_much_budget_the_model_is_the_records():
    X = a_frame()
    model = fitted(AIM(), (1e5, 0.0))
    for triple in combinations("abcd", 3):
        expected = CountTable.from_frame(X, SCHEMA).marginal(triple)
        assert np.abs(model.marginal(triple) - expected).sum() < 0.02 * len(X)


@pytest.mark.parametrize("columns", ["c", "ab"])
def test_few_columns(columns):
    schema = SCHEMA.select(columns)
    model = fitted(X=a_frame()[list(columns)], schema=schema)
    assert model.ledger_.total(1e-6) == pytest.approx(1.0)
    assert {m.columns for m in model.measurements_} >= {(c,) for c in columns}


@pytest.mark.parametrize("weights", [(1e308, 1e308, 1e-308), (5e-324, 1, 1)])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_records_and_wild_weights(weights, n):
    workload = Workload([("a", "b"), ("b", "c"), ("c", "d")], weights)
    X = a_frame().iloc[:n]
    if n == 1:
        with pytest.raises(ValueError, match="1 sample"):
            fitted(X=X, workload=workload)
        return
    model = fitted(AIM(n_rounds=8), X=X, workload=workload)
    assert model.ledger_.total(1e-6) == pytest.approx(1.0)
    assert model.marginal(["a", "d"]).sum() == pytest.approx(n)


@pytest.mark.parametrize("weights", [(1, 1e-320, 1e-320), (1e308, 1e-308, 1)])
def test_weights_of_what_cannot_vary_do_not_matter(weights):
    schema = Schema([*SCHEMA, Categorical("only", ("one",))])
    workload = Workload([("only",), ("a", "b"), ("c", "only")], weights)
    X = a_frame(300).assign(only="one")
    model = fitted(AIM(n_rounds=8), X=X, schema=schema, workload=workload)
    assert model.ledger_.total(1e-6) == pytest.approx(1.0)


def test_columns_that_cannot_vary_cost_nothing():
    schema = Schema([SCHEMA["c"], Categorical("only", ("one",))])
    model = fitted(X=a_frame()[["c"]].assign(only="one"), schema=schema)
    assert {m.columns for m in model.measurements_} == {("c",)}
    constant = Schema([Categorical("only", ("one",))])
    model = fitted(X=pd.DataFrame({"only": ["one"] * 9}), schema=constant)
    assert model.ledger_.total() == 0
    assert model.marginal(["only"]).tolist() == [9.0]


def test_columns_outside_the_workload_are_not_measured():
    model = fitted(workload=Workload([("a", "b")]))
    measured = {name for m in model.measurements_ for name in m.columns}
    assert measured == {"a", "b"}
    np.testing.assert_allclose(model.marginal("c"), 600.0)


# What it must not do ----------------------------------------------------------------


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED])
def test_replay_on_other_records_gives_the_same_pickle(budget, heard, monkeypatch):
    first = fitted(AIM(n_rounds=20), budget)
    others = a_frame(seed=1)[::-1].assign(a=0, d=6)
    monkeypatch.setattr(Replaying, "heard", list(heard))
    monkeypatch.setattr(skdp.base, "Curator", Replaying)
    second = fitted(AIM(n_rounds=20), budget, others)
    assert not Replaying.heard
    assert pickle.dumps(second) == pickle.dumps(first)


@pytest.mark.parametrize("n_answers", [2, 3, 6])
def test_an_interruption_keeps_what_was_measured(n_answers, heard, monkeypatch):
    def interrupted(self, query, price, answer):
        self.heard.append((query, price, answer))
        if len(self.heard) == n_answers:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(Listening, "_heard", interrupted)
    with pytest.warns(PrivacyBudgetWarning, match="unspent"):
        model = fitted(AIM(n_rounds=20))
    assert len(model.measurements_) == 4 + (n_answers - 2) // 2
    assert len(model.ledger_) == n_answers
    assert model.marginal(["a", "b"]).sum() == pytest.approx(3000)
    assert model.sample(5).shape == (5, 4)


def test_an_interruption_before_the_fit_uses_the_last_measurement(monkeypatch):
    fit_model, calls = Session.fit_model, []

    def interrupted(self):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit_model(self)

    monkeypatch.setattr(Session, "fit_model", interrupted)
    with pytest.warns(PrivacyBudgetWarning, match="unspent"):
        model = fitted(AIM(n_rounds=20))
    assert len(model.measurements_) == 4 + 2
    last = model.measurements_[-1].columns
    refitted = fit_potentials(model.measurements_, SCHEMA, 3000, gap_tol=1e-6).model()
    np.testing.assert_allclose(model.marginal(last), refitted.marginal(last), atol=3.0)


@pytest.mark.parametrize(
    ("strategy", "workload", "error", "words"),
    [
        (AIM(n_rounds=3), None, ValueError, "at least the number of columns, 4"),
        (AIM(n_rounds=0), None, ValueError, "n_rounds"),
        (AIM(max_size=0), None, ValueError, "max_size"),
        (AIM(max_size=8e-6 * 16), None, ModelTooLargeError, r"\('a', 'b'\), it has 18"),
        (AIM(), Workload([("a", "z")]), SchemaError, "no column 'z'"),
        (AIM(), Workload([]), SchemaError, "empty"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_spent(
    strategy, workload, error, words
):
    model = PGMEstimator(strategy=strategy, workload=workload, schema=SCHEMA)
    with pytest.raises(error, match=words):
        model.fit(a_frame())
    assert not hasattr(model, "ledger_")


def test_columns_outside_the_workload_are_checked():
    schema = Schema([*SCHEMA, Ordinal("wide", range(99))])
    model = PGMEstimator(
        strategy=AIM(),
        workload=Workload([("a", "b")]),
        schema=schema,
        max_model_size=900,
    )
    with pytest.raises(ModelTooLargeError, match="'wide'"):
        model.fit(a_frame().assign(wide=0))
    assert not hasattr(model, "ledger_")


def test_too_many_candidates_are_refused():
    schema = Schema([Categorical(f"x{i}", ("no", "yes")) for i in range(90)])
    frame = pd.DataFrame({name: ["no", "yes"] for name in schema.names})
    with pytest.raises(ModelTooLargeError, match="workload="):
        PGMEstimator(strategy=AIM(), schema=schema).fit(frame)


def test_the_limits_of_the_model_hold():
    # A ring of all pairs: whatever is chosen, the tree stays within both limits.
    model = fitted(AIM(max_size=8e-6 * 50), (50.0, 0.0))
    assert cells_of([m.columns for m in model.measurements_]) <= 50
    model = fitted(AIM(), (50.0, 0.0), max_model_size=20 * 50)
    assert cells_of([m.columns for m in model.measurements_]) <= 50


def test_a_score_that_is_too_large_leaves_what_the_model_has(monkeypatch):
    check, refused = ModelDistances.check, []

    def checked(self, public):
        if any(len(names) > 2 for names in self.marginals):
            refused.append(self)
            raise ModelTooLargeError("The answer needs a table of 1e+09 cells.")
        check(self, public)

    monkeypatch.setattr(ModelDistances, "check", checked)
    model = fitted()
    assert refused
    assert all(len(m.columns) == 1 for m in model.measurements_)
    assert model.ledger_.total(1e-6) == pytest.approx(1.0)


def test_progress_is_shown(capsys):
    model = fitted(AIM(n_rounds=8), verbose=1)
    shown = capsys.readouterr().out
    assert "round 1, model of " in shown and " cells: chose " in shown
    assert "noise" in shown
    assert "(rho left: 0)" in shown
    assert "2.5e+05 cells" not in shown
    assert len(model.measurements_) > 4


def test_parameters_are_nested():
    estimator = PGMEstimator(strategy=AIM())
    estimator.set_params(strategy__n_rounds=50, strategy__max_size=1.0)
    assert estimator.strategy.get_params() == {"n_rounds": 50, "max_size": 1.0}
