"""EMPC: its plan, its draws against a literal reading, its separating sets."""

from __future__ import annotations

import warnings
from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from support.families import a_frame, build
from support.literal import best_margins

import skdp.privacy.choice
from skdp import EMPC, PC, Ordinal, Schema
from skdp.datasets import NETWORK_NAMES, load_bayesian_network
from skdp.exceptions import ModelTooLargeError, PrivacyBudgetWarning
from skdp.metrics import skeleton_f1_score
from skdp.privacy import Curator, zcdp_from_dp
from skdp.queries import KendallDependence, PublicFacts
from skdp.stats import noise_aware_threshold

SELECTIONS = ("joint", "edges", "count_then_edges")
SCHEMA = Schema(
    [Ordinal(v, range(k)) for v, k in zip("abcd", (2, 3, 2, 3), strict=True)]
)
LEVELS = {column.name: column.n_levels for column in SCHEMA}
N = 40


def tiny(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, SCHEMA.shape, (N, 4))
    X[:, 1] = np.where(rng.random(N) < 0.7, 2 * X[:, 0], X[:, 1])
    return X, [dict(zip("abcd", map(int, row), strict=True)) for row in X]


def thresholds(epsilon):
    public = PublicFacts(N, SCHEMA)

    def of(x, y, given):
        query = KendallDependence(x, y, given)
        noise = 2 * query.sensitivity(public) / epsilon
        return noise_aware_threshold(0.1, query.null_scale(public), noise)

    return of


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("seed", range(4))
def test_the_margins_are_those_of_the_definition(selection, seed, monkeypatch):
    """Follow a fit stage by stage: candidates, margins, price."""
    X, records = tiny(seed)
    stages = []

    def noted(name):
        method = getattr(Curator, name)

        def wrapped(self, query, **kw):
            answer = method(self, query, **kw)
            stages.append((name, query, kw, answer, self))
            return answer

        monkeypatch.setattr(Curator, name, wrapped)

    for name in ("subset", "subset_size", "noisy_max"):
        noted(name)
    model = EMPC(
        9.0, schema=SCHEMA, max_order=2, selection=selection, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    edges = list(combinations("abcd", 2))
    of = thresholds(model.plan_.choices[-1])
    for stage, price in enumerate(model.plan_.choices):
        orders = range(3) if selection == "joint" else [stage]
        neighbours = {v: {w for e in edges if v in e for w in e} - {v} for v in "abcd"}
        candidates = {}
        for x, y in edges:
            sets = [
                s
                for order in orders
                for s in combinations([z for z in "abcd" if z not in (x, y)], order)
                if selection == "joint"
                or set(s) <= neighbours[x]
                or set(s) <= neighbours[y]
            ]
            if sets:
                candidates[x, y] = sets
        if not candidates:
            break
        name, query, kw, answer, curator = stages.pop(0)
        steps = 1
        if selection == "count_then_edges":
            assert name == "subset_size"
            size, steps = answer, 2
            name, query, kw, answer, curator = stages.pop(0)
            assert kw["size"] == size == answer.sum()
        assert name == "subset"
        assert kw["epsilon"] == pytest.approx(price / steps)
        found = query.evaluate(curator._records)
        expected = best_margins(records, LEVELS, of, candidates)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        deleted = [e for e, out in zip(candidates, answer, strict=True) if out]
        draws = [e for e in deleted if len(candidates[e]) > 1]
        for edge in deleted:
            chosen = candidates[edge][0]
            if edge in draws:
                name, query, kw, place, _ = stages.pop(0)
                assert name == "noisy_max"
                share = model.plan_.separations[stage] / len(draws)
                assert kw["epsilon"] == pytest.approx(share, rel=1e-9)
                sets = [q.query.given for (q,) in query.edges]
                assert set(sets) == set(candidates[edge])
                chosen = sets[place]
            assert model.separating_sets_[frozenset(edge)] == chosen
        edges = [e for e in edges if e not in deleted]
    assert not stages
    assert {tuple(sorted(e)) for e in model.skeleton_.edges} == set(edges)


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("max_order", [0, 1, 2, None])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-2])
def test_budgets_are_fixed_beforehand(selection, max_order, delta):
    options = {"selection": selection, "max_order": max_order, "epsilon": 0.8}
    model = build("EMPC", delta=delta, separating_share=0.3, **options).fit(a_frame())
    other = build("EMPC", delta=delta, separating_share=0.3, **options)
    assert other.fit(a_frame(seed=5)).plan_ == model.plan_
    plan, steps = model.plan_, 2 if selection == "count_then_edges" else 1
    assert plan.in_two_steps == (steps == 2)
    stages = 1 if selection == "joint" else 1 + (2 if max_order is None else max_order)
    assert len(plan.choices) == len(plan.separations) == stages
    separated = [s > 0 for s in plan.separations]
    if selection == "joint":
        assert separated == [max_order != 0]
    else:
        assert separated == [order > 0 for order in range(stages)]
    if plan.composition == "basic":
        total = sum(plan.choices) + sum(plan.separations)
        assert total == pytest.approx(0.8, rel=1e-9)
    else:
        rho = sum(e**2 / steps for e in plan.choices) / 8
        rho += sum(e**2 for e in plan.separations) / 8
        assert rho == pytest.approx(zcdp_from_dp(0.8, delta), rel=1e-9)
    assert model.ledger_.total() <= 0.8


def test_zcdp_buys_more_where_draws_are_many():
    options = {"epsilon": 0.5, "delta": 1e-2, "selection": "edges", "max_order": None}
    model = build("EMPC", **options).fit(a_frame())
    assert model.plan_.composition == "zcdp"
    assert {e.mechanism for e in model.ledger_} <= {"subset", "exponential"}
    assert sum(e.epsilon for e in model.ledger_) > 0.5 / 2
    n_draws = sum(e.mechanism == "exponential" for e in model.ledger_)
    shares = {e.epsilon for e in model.ledger_ if e.mechanism == "exponential"}
    if n_draws:
        assert max(shares) * sqrt(n_draws) >= min(model.plan_.separations[1:])


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("name", ["earthquake", "cancer"])
def test_converges_to_pc(name, selection):
    network = load_bayesian_network(name)
    data = network.sample(100_000, random_state=2)
    truth = PC(schema=network.schema, alpha=0.1, max_order=1).fit(data).skeleton_
    options = {"selection": selection, "schema": network.schema, "random_state": 0}
    model = EMPC(1e4, **options).fit(data)
    assert skeleton_f1_score(truth, model.skeleton_) == 1.0
    assert model.ledger_.total() <= 1e4


@pytest.mark.parametrize(
    ("name", "least"), zip(NETWORK_NAMES, (0.95, 0.90, 0.74, 0.95), strict=True)
)
@pytest.mark.filterwarnings("ignore::skdp.exceptions.UnorderedLevelsWarning")
def test_accuracy_at_epsilon_one(name, least):
    network = load_bayesian_network(name)
    f1 = []
    for seed in range(3):
        data = network.sample(100_000, random_state=1000 + seed, as_frame=True)
        model = EMPC(1.0, schema=network.schema, random_state=seed).fit(data)
        f1.append(skeleton_f1_score(network.skeleton, model.skeleton_))
    assert np.mean(f1) >= least


def test_orientation_uses_the_chosen_sets_only(monkeypatch):
    monkeypatch.setattr(
        Curator, "noisy_max", lambda self, query, epsilon: len(query.edges) - 1
    )
    monkeypatch.setattr(
        skdp.privacy.choice,
        "draw_subset",
        lambda margins, *args: np.array([False, True, True, False, True, False]),
    )
    model = build("EMPC").fit(a_frame())
    assert model.separating_sets_ == {
        frozenset("ac"): ("d",), frozenset("ad"): ("c",), frozenset("bd"): ("c",),
    }  # fmt: skip
    # a - b - c without b in the set of a, c; b - c - d with c in the set of b, d.
    assert model.causal_graph_.has_edge("a", "b")
    assert not model.causal_graph_.has_edge("b", "a")


def test_many_edges_are_counted_first():
    """One draw needs margins of 2 m ln 2 / epsilon, and thresholds are public."""
    schema = Schema([Ordinal(f"v{i}", range(2)) for i in range(12)])
    X = np.random.default_rng(0).integers(0, 2, (5000, 12))
    for epsilon, counted in ((0.3, True), (10.0, False)):
        model = EMPC(epsilon, schema=schema, random_state=0).fit(X)
        assert model.plan_.in_two_steps is counted
        mechanisms = [entry.mechanism for entry in model.ledger_][:2]
        assert ("subset_size" in mechanisms) is counted
        assert model.ledger_.total() <= epsilon
    kept = model.skeleton_.number_of_edges()
    assert kept <= 0.1 * 66 + 2 * sqrt(0.09 * 66)


def test_too_many_questions_are_refused_before_anything_is_spent():
    schema = Schema([Ordinal(f"v{i}", range(2)) for i in range(24)])
    X = np.random.default_rng(0).integers(0, 2, (50, 24))
    model = EMPC(schema=schema, max_order=None)
    with pytest.raises(ModelTooLargeError, match="selection='edges'"):
        model.fit(X)
    assert not hasattr(model, "ledger_")


def test_a_hopeless_budget_is_named():
    with pytest.warns(PrivacyBudgetWarning, match="perfect dependence"):
        build("EMPC", epsilon=0.01).fit(a_frame(100))


@pytest.mark.parametrize("test", ["kendall_normalized", "spearman", "total_variation"])
def test_every_score_finds_the_chain(test):
    model = build("EMPC", epsilon=20.0, independence_test=test).fit(a_frame(20_000))
    edges = {tuple(sorted(edge)) for edge in model.skeleton_.edges}
    assert edges == {("a", "b"), ("b", "c")}


def test_progress(capsys):
    build("EMPC").fit(a_frame())
    assert capsys.readouterr() == ("", "")
    build("EMPC", verbose=1).fit(a_frame())
    assert "EMPC" in "".join(capsys.readouterr())
