"""What the strategies buy, with which noise, and what they choose."""

from __future__ import annotations

from itertools import combinations
from math import sqrt

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp import Categorical, Numeric, Ordinal, PGMEstimator, Schema
from skdp.exceptions import ModelTooLargeError, PrivacyBudgetWarning
from skdp.graphical import prefix
from skdp.pgm import Workload
from skdp.pgm.budget import Budget
from skdp.pgm.merging import Merging
from skdp.pgm.strategies import HDMM, MST, FixedMarginals, Independent, Strategy
from skdp.privacy import PrivacyLedger, zcdp_from_dp
from skdp.privacy.budget import as_typed
from skdp.queries import Marginal

SCHEMA = Schema([Ordinal(name, range(size)) for size, name in enumerate("abcd", 2)])


def chain(n=5000, seed=0):
    """A chain of columns, each a noisy copy of the one before."""
    rng = np.random.default_rng(seed)
    columns = {"a": rng.integers(0, 2, n)}
    for left, right in zip("abc", "bcd", strict=True):
        copied = rng.random(n) < 0.7
        size = SCHEMA.n_levels(right)
        columns[right] = np.where(copied, columns[left], rng.integers(0, size, n))
    return pd.DataFrame(columns)


def fitted(strategy, epsilon=1.0, delta=0.0, X=None, schema=SCHEMA, **parameters):
    model = PGMEstimator(
        epsilon, delta, strategy=strategy, schema=schema, random_state=0, **parameters
    )
    return model.fit(chain() if X is None else X)


# Prices and noise -------------------------------------------------------------


def test_mst_spends_epsilon_in_thirds():
    model = fitted("mst", 0.9)
    mechanisms = [entry.mechanism for entry in model.ledger_]
    assert mechanisms == ["laplace", *3 * ["exponential"], "laplace"]
    prices = [entry.epsilon for entry in model.ledger_]
    np.testing.assert_allclose(prices, [0.3, 0.1, 0.1, 0.1, 0.3], rtol=1e-12)
    assert [entry.scale for entry in model.ledger_][::4] == pytest.approx(
        [2 * 4 / 0.3, 2 * 3 / 0.3]
    )
    assert sum(map(as_typed, prices)) <= as_typed(0.9)
    assert sum(prices) == pytest.approx(0.9, rel=1e-14)


def test_mst_spends_rho_in_thirds():
    model = fitted("mst", 1.0, 1e-9)
    rho = zcdp_from_dp(1.0, 1e-9)
    prices = [entry.rho for entry in model.ledger_]
    thirds = [rho / 3, *3 * [rho / 9], rho / 3]
    np.testing.assert_allclose(prices, thirds, rtol=1e-12)
    one_way = [m.sigma for m in model.measurements_[:4]]
    pairs = [m.sigma for m in model.measurements_[4:]]
    assert one_way == pytest.approx(4 * [sqrt(3 / rho) * 2])
    assert pairs == pytest.approx(3 * [sqrt(3 / rho) * sqrt(3)])
    assert model.ledger_.total() == pytest.approx(1.0, rel=1e-9)


def test_independent_spends_all_at_once():
    (entry,) = fitted("independent", 0.5).ledger_
    assert (entry.epsilon, entry.scale) == (0.5, 2 * 4 / 0.5)
    (entry,) = fitted(Independent(), 1.0, 1e-6).ledger_
    assert entry.rho == pytest.approx(zcdp_from_dp(1.0, 1e-6), rel=1e-14)
    assert entry.scale == pytest.approx(sqrt(4 / entry.rho))


def test_fixed_marginals_take_queries_and_workloads():
    strategy = FixedMarginals([("a", "b"), ("c",)], [None, prefix(4)])
    model = fitted(strategy, 2.0)
    (entry,) = model.ledger_
    assert entry.scale == pytest.approx((2 + 3) / 2.0)
    assert [m.columns for m in model.measurements_] == [("a", "b"), ("c",)]
    assert model.measurements_[1].query is not None
    everything = Workload.all_marginals(SCHEMA.names, 2)
    model = fitted("fixed_marginals", workload=everything)
    assert list(model.marginals_) == list(combinations("abcd", 2))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("strategy", ["mst", "independent"])
def test_measured_noise_is_what_is_said(strategy, delta):
    frame, errors = chain(), []
    for seed in range(20):
        model = PGMEstimator(
            1.0, delta, strategy=strategy, schema=SCHEMA, random_state=seed
        ).fit(frame)
        for m in model.measurements_[:4]:
            counts = np.bincount(frame[m.columns[0]], minlength=m.answer.size)
            errors.append((m.answer - counts) / m.sigma)
    errors = np.concatenate(errors)
    assert np.std(errors) == pytest.approx(1.0, abs=0.15)
    assert abs(np.mean(errors)) < 0.2


def test_a_single_column_gets_everything():
    frame = chain()[["c"]]
    (entry,) = fitted("mst", X=frame, schema=SCHEMA.select("c")).ledger_
    assert entry.epsilon == 1.0
    with_constant = Schema([SCHEMA["c"], Categorical("only", ("one",))])
    model = fitted("mst", X=frame.assign(only="one"), schema=with_constant)
    assert [m.columns for m in model.measurements_] == [("c",)]
    assert model.marginal("only").tolist() == [5000.0]


def test_nothing_to_measure():
    frame = pd.DataFrame({"only": ["one"] * 5})
    for strategy in ("mst", "independent", FixedMarginals([("only",)])):
        schema = Schema([Categorical("only", ("one",))])
        model = fitted(strategy, X=frame, schema=schema)
        assert model.ledger_.total() == 0
        assert model.marginal(["only"], return_std=True)[0].tolist() == [5.0]
        assert model.sample(2)["only"].tolist() == ["one", "one"]


# The choice --------------------------------------------------------------------


def test_without_noise_the_tree_is_the_heaviest():
    frame = chain()
    model = fitted(MST(merge_below=0.0), 1e6, X=frame)
    weights = nx.Graph()
    for a, b in combinations("abcd", 2):
        table = pd.crosstab(frame[a], frame[b]).to_numpy()
        independent = np.outer(table.sum(1), table.sum(0)) / len(frame)
        weights.add_edge(a, b, weight=np.abs(table - independent).sum())
    expected = {frozenset(e) for e in nx.maximum_spanning_tree(weights).edges}
    found = {frozenset(m.columns) for m in model.measurements_ if len(m.columns) == 2}
    assert found == expected
    for a, b in found:
        table = pd.crosstab(frame[a], frame[b]).to_numpy()
        np.testing.assert_allclose(model.marginal([a, b]), table, atol=2)


def test_rare_levels_are_measured_together():
    n = 4000
    rng = np.random.default_rng(0)
    schema = Schema([Ordinal("a", range(30)), Ordinal("b", range(3))])
    frame = pd.DataFrame({"a": rng.integers(0, 3, n), "b": rng.integers(0, 3, n)})
    frame.loc[: n // 2, "b"] = frame["a"]
    frame.loc[:20, "a"] = np.arange(3, 24)
    model = fitted("mst", 2.0, X=frame, schema=schema)
    pair = model.measurements_[-1]
    assert pair.columns == ("a", "b")
    assert pair.answer.size == 4 * 3
    assert model.marginal(["a", "b"]).shape == (30, 3)
    unmerged = fitted(MST(merge_below=0.0), 2.0, X=frame, schema=schema)
    assert unmerged.measurements_[-1].answer.size > 30


def test_groups_of_rare_levels():
    counts = {"a": [5.0, 50.0, -2.0, 60.0], "b": [1.0, 70.0]}
    merging = Merging.of_rare_levels(counts, 10.0)
    assert merging.groups["a"].tolist() == [2, 0, 2, 1]
    assert merging.groups["b"].tolist() == [0, 1]  # a single one stays apart
    table = np.arange(8.0).reshape(4, 2)
    merged = merging.merge(table, ("a", "b")).reshape(3, 2)
    np.testing.assert_array_equal(merged, [table[1], table[3], table[0] + table[2]])
    everything_rare = Merging.of_rare_levels({"a": [1.0, 2.0]}, 10.0)
    assert everything_rare.merge([1.0, 2.0], ("a",)).tolist() == [3.0]


# Refusals ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (FixedMarginals(), "needs cliques="),
        (FixedMarginals([]), "at least one set"),
        (FixedMarginals("ab"), "list of lists"),
        (FixedMarginals([1, 2]), "list of lists"),
        (FixedMarginals([()]), "empty"),
        (FixedMarginals([("a", "z")]), "no column 'z'"),
        (FixedMarginals([("a", "a")]), "repeats"),
        (FixedMarginals(["a"], [None, None]), "1 sets, 1 weights and 2 queries"),
        (FixedMarginals(["a"], [prefix(3)]), "3 cells"),
        (MST(merge_below=-1), "merge_below"),
        ("best", "strategy"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(strategy, words):
    model = PGMEstimator(strategy=strategy, schema=SCHEMA)
    with pytest.raises(ValueError, match=words):
        model.fit(chain())
    assert not hasattr(model, "ledger_")


def test_models_too_large_are_refused_before_anything_is_spent():
    columns = [Numeric(v, 0.0, 1.0, bins=20_000) for v in "ab"]
    X = np.random.default_rng(0).random((50, 2))
    model = PGMEstimator(schema=Schema(columns))
    with pytest.raises(ModelTooLargeError, match=r"'a', 'b'.*4e\+08 cells"):
        model.fit(X)
    assert not hasattr(model, "ledger_")
    names = "abcdefghi"
    ring = Schema([Numeric(v, 0, 1, bins=100) for v in names])
    pairs = FixedMarginals(list(combinations(names, 2)))
    with pytest.raises(ModelTooLargeError, match=r"\('a', 'b'\)"):
        PGMEstimator(strategy=pairs, schema=ring).fit(np.tile(X[:, :1], (1, 9)))


TERNARY = Schema([Ordinal(f"x{i}", range(3)) for i in range(18)])
WIDE = Schema([Ordinal(name, range(90)) for name in "abcdefghijklm"])


@pytest.mark.parametrize(
    ("strategy", "schema", "limit"),
    [
        (HDMM("union", n_restarts=1), TERNARY, 1e9),
        (FixedMarginals(list(combinations(TERNARY.names, 2))), TERNARY, 1e9),
        (MST(), WIDE, 81_001),  # each pair has a tenth, but a tree has twelve
    ],
)
def test_the_check_is_that_of_the_fit(strategy, schema, limit):
    model = PGMEstimator(strategy=strategy, schema=schema, max_model_size=limit)
    with pytest.raises(ModelTooLargeError, match="too large|may be stored"):
        model.fit(np.zeros((10, len(schema.names)), dtype=int))
    assert not list(getattr(model, "ledger_", []))


class Impatient(Strategy):
    """Is interrupted in a round, before or after it has bought something."""

    def __init__(self, n_rounds=2):
        self.n_rounds = n_rounds

    def check(self, public, workload, max_model_size):
        """Accept everything."""

    def run(self, session):
        """Measure columns, until the user has enough."""
        with session.interruptible(session.measurements):
            for name in SCHEMA.names[: self.n_rounds]:
                session.measure([Marginal((name,))], session.budget.share(1, of=5))
            raise KeyboardInterrupt
        return session.fit_model()


def test_an_interruption_keeps_what_was_measured():
    model = PGMEstimator(strategy=Impatient(), schema=SCHEMA, random_state=0)
    with pytest.warns(PrivacyBudgetWarning, match=r"epsilon 0\.4 of 1\b"):
        model.fit(chain())
    assert len(model.marginals_) == 2
    assert model.ledger_.total() == pytest.approx(0.4)
    with pytest.raises(KeyboardInterrupt):
        PGMEstimator(strategy=Impatient(0), schema=SCHEMA).fit(chain())


# The budget ---------------------------------------------------------------------


@settings(max_examples=60)
@given(
    epsilon=st.floats(1e-6, 1e4),
    delta=st.sampled_from([0.0, 1e-9, 0.1]),
    of=st.integers(1, 60),
)
def test_shares_never_exceed_the_whole(epsilon, delta, of):
    budget = Budget(PrivacyLedger(epsilon, delta))
    prices = []
    for _ in range(of - 1):
        prices.append(budget.share(1, of=of))
        budget.spend(prices[-1])
    prices.append(budget.left)
    assert sum(map(as_typed, prices)) <= as_typed(budget.total)
    assert sum(prices) == pytest.approx(budget.total, rel=1e-12)
    assert min(prices) > 0
