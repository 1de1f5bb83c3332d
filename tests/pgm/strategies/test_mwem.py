"""MWEM: against a literal reading, prices, rounds, limits, interrupts, replay."""

from __future__ import annotations

import pickle
import re
from itertools import combinations
from math import log, sqrt

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare
from support.families import a_frame
from support.literal import exponential_law, multiplicative_weights

import skdp.base
from skdp import BudgetAccountant, Numeric, Ordinal, PGMEstimator, Schema
from skdp.exceptions import ModelTooLargeError, PrivacyBudgetWarning, SchemaError
from skdp.graphical import Kronecker
from skdp.pgm import Workload
from skdp.pgm.budget import Budget
from skdp.pgm.mwem_rounds import default_rounds
from skdp.pgm.strategies import MWEM
from skdp.privacy import Curator, PrivacyLedger, zcdp_from_dp
from skdp.privacy.budget import as_typed
from skdp.queries import PublicFacts

SCHEMA = Schema([Ordinal(name, range(size)) for size, name in enumerate("abcd", 2)])
PAIRS = Workload.all_marginals("abcd", 2)
SUMS = Workload.prefixes([("a", "b"), ("c",), ("b", "d")], SCHEMA)
ARMS = [
    (candidates, inference)
    for candidates in ("queries", "marginals")
    for inference in ("graphical_model", "multiplicative_weights")
]
each_arm = pytest.mark.parametrize(("candidates", "inference"), ARMS)


def chain(n=2000, seed=0):
    """A chain of columns, each a noisy copy of the one before."""
    rng = np.random.default_rng(seed)
    columns = {"a": rng.integers(0, 2, n)}
    for left, right in zip("abc", "bcd", strict=True):
        copied = rng.random(n) < 0.7
        size = SCHEMA.n_levels(right)
        columns[right] = np.where(copied, columns[left], rng.integers(0, size, n))
    return pd.DataFrame(columns)


def fitted(candidates, inference, epsilon=1.0, delta=0.0, X=None, **options):
    parameters = {"n_rounds": 4, "n_replays": 2}
    for name in ("n_rounds", "n_replays"):
        parameters[name] = options.pop(name, parameters[name])
    strategy = MWEM(candidates, inference=inference, **parameters)
    options = {"workload": SUMS, "schema": SCHEMA, "random_state": 0, **options}
    model = PGMEstimator(epsilon, delta, strategy=strategy, **options)
    return model.fit(chain() if X is None else X)


# A literal reading --------------------------------------------------------------


@pytest.fixture
def tape(monkeypatch):
    """What was chosen among, the choice, and the answers, round by round."""
    rounds: list = []

    class Spy(Curator):
        def exponential(self, query, *, epsilon):
            choice = super().exponential(query, epsilon=epsilon)
            rounds.append([query, choice, epsilon, self._records])
            return choice

        def laplace(self, query, **price):
            answer = super().laplace(query, **price)
            rounds[-1] += [query.queries[0], answer]
            return answer

    monkeypatch.setattr(skdp.base, "Curator", Spy)
    return rounds


def rows_of(clique, query):
    """Return the single queries on a clique as functions of a record."""
    sizes = [SCHEMA.n_levels(name) for name in clique]
    places = [SCHEMA.names.index(name) for name in clique]
    cells = np.eye(int(np.prod(sizes)))
    columns = [cell if query is None else query.dot(cell) for cell in cells]

    def weigh(weights):
        table = dict(zip(np.ndindex(*sizes), weights.tolist(), strict=True))
        return lambda x: table[tuple(x[i] for i in places)]

    return [weigh(weights) for weights in np.transpose(columns)]


def literal_scores(every, p, records, price):
    """Score single queries, but those that are constant, or whole tables."""
    n, single = len(records), price is None
    errors = [
        [abs(sum(map(q, records)) - n * sum(q(x) * p[x] for x in p)) for q in rows]
        for rows in every
    ]
    if single:
        return [e for rows in errors for e in rows]
    scale = 2 / price  # of the Laplace noise; about its mean size
    return [sum(rows) - scale * len(rows) for rows in errors]


@pytest.mark.parametrize("n_replays", [0, 3])
@pytest.mark.parametrize("candidates", ["queries", "marginals"])
def test_mwem_equals_a_literal_reading(candidates, n_replays, tape):
    X, n_rounds, epsilon = chain(300), 3, 6.0
    model = fitted(
        candidates, "multiplicative_weights", epsilon, X=X,
        n_rounds=n_rounds, n_replays=n_replays,
    )  # fmt: skip
    single, share = candidates == "queries", epsilon / (2 * n_rounds)
    universe = list(np.ndindex(*SCHEMA.shape))
    records = [tuple(x) for x in X.to_numpy()]
    every = [
        rows_of(clique, query if single else None)
        for clique, query in zip(SUMS.cliques, SUMS.queries, strict=True)
    ]
    if single:
        every = [[q for q in rows if len(set(map(q, universe))) > 1] for rows in every]
    past, updates, p = [], [], multiplicative_weights(universe, [], 300)
    for scores, choice, price, private, _, answer in tape:
        assert price == pytest.approx(share)
        expected = literal_scores(every, p, records, None if single else share)
        atol = 2.0**-10 if single else 0.5  # the mean size of discrete noise is smaller
        np.testing.assert_allclose(scores.evaluate(private), expected, atol=atol)
        asked_rows = [sum(every, [])[choice]] if single else every[choice]
        past.append(list(zip(asked_rows, map(float, np.ravel(answer)), strict=True)))
        updates += [past[-1], *n_replays * past]
        p = multiplicative_weights(universe, updates, 300)
    assert len(past) == n_rounds
    law = exponential_law(scores.evaluate(private), share, 1 if single else 2)
    assert_drawn_by(law, scores, share, private)
    got = model.model_.marginal(SCHEMA.names) / 300
    literal = np.reshape([p[x] for x in universe], SCHEMA.shape)
    np.testing.assert_allclose(got, literal, rtol=1e-12, atol=0)


def assert_drawn_by(law, scores, epsilon, records, n_draws=1000):
    """Compare draws with their law, rare candidates together."""
    curator, drawn = Curator(records, PrivacyLedger(1e9), 1), []
    for _ in range(n_draws):
        curator._ledger = PrivacyLedger(1e9)
        drawn.append(curator.exponential(scores, epsilon=epsilon))
    counts, expected = np.bincount(drawn, minlength=len(law)), n_draws * np.array(law)
    rare = expected < 10
    table = np.array([[*counts[~rare], counts[rare].sum()],
                      [*expected[~rare], expected[rare].sum()]])  # fmt: skip
    found, wanted = table[:, table[1] > 0]
    assert chisquare(found, wanted * found.sum() / wanted.sum()).pvalue > 1e-4


# Prices, noise, rounds ----------------------------------------------------------


@each_arm
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_budget_is_spent_in_equal_parts_to_the_last(candidates, inference, delta):
    model = fitted(candidates, inference, 0.9, delta)
    entries = list(model.ledger_)
    noise = "gaussian" if delta else "laplace"
    assert [e.mechanism for e in entries] == 4 * ["exponential", noise]
    total = zcdp_from_dp(0.9, delta) if delta else 0.9
    prices = [e.rho if delta else e.epsilon for e in entries]
    np.testing.assert_allclose(prices, total / 8, rtol=1e-12)
    assert sum(map(as_typed, prices)) <= as_typed(total)
    assert model.ledger_.total() == pytest.approx(0.9, rel=1e-9)
    assert model.ledger_.total() <= 0.9
    table = candidates == "marginals"
    if delta:
        expected = sqrt((2 if table else 1) / (2 * total / 8))
    else:
        expected = (2 if table else 1) / (total / 8)
    for entry in entries[1::2]:
        assert entry.scale == pytest.approx(expected, rel=1e-9)
    sizes = [m.answer.size for m in model.measurements_]
    assert all(size > 1 for size in sizes) if table else sizes == [1, 1, 1, 1]


def test_both_inferences_buy_at_the_same_price():
    for candidates in ("queries", "marginals"):
        ledgers = [
            [(e.mechanism, e.sensitivity, e.scale, e.epsilon) for e in model.ledger_]
            for model in (fitted(*arm) for arm in ARMS if arm[0] == candidates)
        ]
        np.testing.assert_equal(*ledgers)


def test_weights_count():
    workload = Workload(PAIRS.cliques, [1e-6] * 5 + [1.0])
    for candidates in ("queries", "marginals"):
        model = fitted(candidates, "graphical_model", 50.0, workload=workload)
        assert model.measurements_[0].columns == ("c", "d")
        for entry in list(model.ledger_)[::2]:
            assert entry.sensitivity == (1 if candidates == "queries" else 2)


@each_arm
def test_with_a_large_budget_the_answers_are_right(candidates, inference):
    X = chain()
    rounds = 15 if candidates == "queries" else 6
    options = {"n_rounds": rounds, "n_replays": 10, "workload": PAIRS}
    model = fitted(candidates, inference, 200.0, X=X, **options)
    uniform = fitted("queries", inference, 1e-5, X=X, n_rounds=1, n_replays=0)
    errors = [PAIRS.errors(m, X, SCHEMA).mean_absolute for m in (model, uniform)]
    assert errors[0] < (0.4 if candidates == "queries" else 0.15) * errors[1]


def budget(epsilon, delta=0.0):
    return Budget(PrivacyLedger(epsilon, delta))


def test_the_default_number_of_rounds():
    public = PublicFacts(2000, SCHEMA)
    log_x, log_q = log(2 * 3 * 4 * 5), log(6 + 4 + 15)
    published = (2000 * 0.1 * sqrt(log_x) / (10 * log_q)) ** (2 / 3)
    assert default_rounds(public, budget(0.1), SUMS, "queries") == int(published) == 5
    assert default_rounds(public, budget(100.0), SUMS, "queries") == 25  # as asked
    twice = SUMS + SUMS + SUMS
    assert default_rounds(public, budget(100.0), twice, "queries") == 50
    assert default_rounds(public, budget(1e-3), SUMS, "queries") == 1
    rho = zcdp_from_dp(0.1, 1e-6)
    concentrated = 2000 * sqrt(log_x * rho) / (2.5 * log_q)
    found = default_rounds(public, budget(0.1, 1e-6), SUMS, "queries")
    assert found == int(concentrated)
    # The third table has 15 cells, each with noise of mean size 4 T/epsilon.
    assert default_rounds(public, budget(1.0), SUMS, "marginals") == 3
    assert default_rounds(public, budget(0.08), SUMS, "marginals") == 2
    assert default_rounds(public, budget(1e-3), SUMS, "marginals") == 1
    pairs = Workload.all_marginals("abcd", 2) + PAIRS
    assert default_rounds(public, budget(50.0), pairs, "marginals") == 4  # columns
    model = fitted("marginals", "graphical_model", n_rounds="auto")
    assert len(model.measurements_) == 3


# What is refused, and what is left out --------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"candidates": "cells"}, "candidates"),
        ({"n_rounds": 0}, "n_rounds"),
        ({"inference": "magic"}, "inference"),
        ({"n_replays": -1}, "n_replays"),
    ],
)
def test_bad_parameters_are_named_before_anything_is_spent(parameters, words):
    model = PGMEstimator(strategy=MWEM(**parameters), schema=SCHEMA)
    with pytest.raises(ValueError, match=words):
        model.fit(chain())
    assert not hasattr(model, "ledger_")


@each_arm
def test_bad_workloads_are_refused_before_anything_is_spent(candidates, inference):
    strategy = MWEM(candidates, inference=inference)
    wide = Schema([Numeric(name, 0, 1, bins=20_000) for name in "ab"])
    for workload, schema, error, words in (
        (Workload([("a", "z")]), SCHEMA, SchemaError, "'z'"),
        (Workload([]), SCHEMA, SchemaError, "empty"),
        (Workload([("a", "b")]), wide, ModelTooLargeError, "4e.08 cells"),
    ):
        model = PGMEstimator(strategy=strategy, workload=workload, schema=schema)
        with pytest.raises(error, match=words):
            model.fit(chain()[list(schema.names)])
        assert not hasattr(model, "ledger_")


@each_arm
@pytest.mark.parametrize(
    ("epsilon", "query"),
    [
        (1e-15, None),
        (1e-7, [[1, 0, 1, 0], [0, 2.0**32 - 1, 0, 0]]),
        (1e-10, [[1, 0, 1, 0], [0, 0.7, 0.2, 0]]),
        (1e-6, [[1, 0, 1, 0], [1, 1 + 2.0**-45, 1, 1]]),
    ],
)
def test_prices_too_small_are_refused_before_the_first_round(
    candidates, inference, epsilon, query
):
    if candidates == "marginals" and query is not None:
        return  # tables of counts are measured
    workload = Workload([("c",)], queries=[query])
    strategy = MWEM(candidates, 3, inference)
    model = PGMEstimator(epsilon, strategy=strategy, schema=SCHEMA, workload=workload)
    with (
        BudgetAccountant(epsilon=5) as accountant,
        pytest.raises(ValueError, match="too small"),
    ):
        model.fit(chain())
    assert accountant.spent == (0.0, 0.0)


def test_numbers_that_could_overflow_are_refused_before_anything_is_spent():
    for query, weight in (([[1e300, 0, 0, 0]], 1.0), (None, 1e303)):
        workload = Workload([("c",)], [weight], [query])
        with (
            BudgetAccountant(epsilon=5) as accountant,
            pytest.raises(SchemaError, match="overflow|range of floats"),
        ):
            fitted("queries", "graphical_model", workload=workload)
        assert accountant.spent == (0.0, 0.0)


def test_too_many_single_queries_are_refused_before_anything_is_spent():
    schema = Schema([Numeric(name, 0, 1, bins=200) for name in "ab"])
    workload = Workload.ranges([("a", "b")], schema)
    X = pd.DataFrame(np.zeros((20, 2)), columns=["a", "b"])
    model = PGMEstimator(strategy=MWEM(), workload=workload, schema=schema)
    with pytest.raises(ModelTooLargeError, match=r"4\.04e\+08 single queries"):
        model.fit(X)
    assert not hasattr(model, "ledger_")


def test_by_default_all_pairs_are_asked():
    model = PGMEstimator(strategy=MWEM("marginals", 8), schema=SCHEMA).fit(chain())
    assert {m.columns for m in model.measurements_} <= set(combinations("abcd", 2))


@each_arm
def test_columns_of_one_level_cost_nothing(candidates, inference):
    schema = Schema([Ordinal("a", [0]), Ordinal("b", range(3))])
    X = pd.DataFrame({"a": np.zeros(50, int), "b": np.arange(50) % 3})
    workload = Workload.all_marginals("ab", 1) + Workload.all_marginals("ab", 2)
    model = fitted(candidates, inference, X=X, schema=schema, workload=workload)
    assert model.ledger_.total() == pytest.approx(1.0, rel=1e-9)
    assert all("b" in m.columns for m in model.measurements_)
    alone = fitted(candidates, inference, X=X[["a"]], schema=schema, workload=None)
    assert len(alone.ledger_) == 0
    assert alone.marginal("a") == pytest.approx([50])


@pytest.mark.parametrize("inference", ["graphical_model", "multiplicative_weights"])
def test_queries_that_no_record_can_change_cost_nothing(inference):
    constant = Kronecker([np.ones((2, 2)), np.ones((2, 3))])
    for clique, query in (("a", "b"), constant), (("c",), np.ones((2, 4))):
        workload = Workload([clique], queries=[query])
        model = fitted("queries", inference, workload=workload)
        assert len(model.ledger_) == 0
        assert model.marginal("a") == pytest.approx([1000, 1000])
        mixed = fitted("queries", inference, workload=workload + SUMS)
        without = fitted("queries", inference, workload=SUMS)
        assert mixed.ledger_.entries == without.ledger_.entries
    nearly = Workload([("c",)], queries=[[[1e7, 1e7 + 1, 1e7 + 2, 1e7]]])
    assert len(fitted("queries", inference, workload=nearly).measurements_) == 4


@each_arm
def test_a_model_never_grows_beyond_its_limit(candidates, inference):
    names = "abcdef"
    # Loops of columns have tables of 1000 cells, groups of two columns of 1600.
    n_levels, size = (10, 19_800.0) if inference == "graphical_model" else (40, 250e3)
    if n_levels == 40 and candidates == "marginals":
        size *= 100  # a thousandth of it counts, not a tenth
    schema = Schema([Ordinal(name, range(n_levels)) for name in names])
    X = pd.DataFrame(
        np.random.default_rng(0).integers(0, n_levels, (500, 6)), columns=list(names)
    )
    model = fitted(
        candidates, inference, 20.0, X=X, schema=schema, n_rounds=20,
        workload=Workload.all_marginals(names, 2), max_model_size=size,
    )  # fmt: skip
    assert len(model.measurements_) == 20
    measured = {m.columns for m in model.measurements_}
    if inference == "graphical_model":
        graph = nx.Graph(measured)
        assert nx.is_forest(graph) and len(measured) > 3
    else:
        assert len(measured) <= 3
        field = getattr(model.model_, "classes", model.model_)
        assert all(len(group) <= 2 for group in field.potentials)
    for pair in combinations(names, 2):
        assert model.marginal(pair).sum() == pytest.approx(500)


# Interrupts, replay, verbosity -----------------------------------------------------


def interrupt_after(monkeypatch, n_answers):
    """Interrupt at a later evaluation of a query."""
    evaluate, calls = Curator._evaluate, []

    def interrupted(self, query, *args, **kwargs):
        calls.append(query)
        if len(calls) > n_answers:
            raise KeyboardInterrupt
        return evaluate(self, query, *args, **kwargs)

    monkeypatch.setattr(Curator, "_evaluate", interrupted)


@each_arm
@pytest.mark.parametrize("n_answers", [4, 5])
def test_an_interrupted_run_leaves_a_valid_model(
    candidates, inference, n_answers, monkeypatch
):
    whole = fitted(candidates, inference)
    interrupt_after(monkeypatch, n_answers)
    with pytest.warns(PrivacyBudgetWarning, match="Interrupted"):
        model = fitted(candidates, inference)
    assert len(model.measurements_) == 2
    assert model.ledger_.entries == whole.ledger_.entries[: n_answers + 1]
    for mine, other in zip(model.measurements_, whole.measurements_, strict=False):
        np.testing.assert_array_equal(mine.answer, other.answer)
    assert model.marginal(["a"]).sum() == pytest.approx(2000)
    assert model.sample(10).shape == (10, 4)


def test_an_interrupt_before_the_first_answer_passes_through(monkeypatch):
    interrupt_after(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        fitted("queries", "graphical_model")


@each_arm
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_all_but_the_answers_is_post_processing(
    candidates, inference, delta, monkeypatch
):
    tape: list = []
    names = ("exponential", "gaussian", "laplace")

    class Recording(Curator):
        def __getattribute__(self, name):
            method = super().__getattribute__(name)
            if name not in names:
                return method
            return lambda *a, **kw: tape.append(method(*a, **kw)) or tape[-1]

    class Replaying(Curator):
        def _evaluate(self, query, *args, **kwargs):
            return np.zeros(query.shape(self.public), dtype=np.int64)

        def __getattribute__(self, name):
            method = super().__getattribute__(name)
            if name not in names:
                return method
            return lambda *a, **kw: (method(*a, **kw), tape.pop(0))[1]

    monkeypatch.setattr(skdp.base, "Curator", Recording)
    first = fitted(candidates, inference, delta=delta)
    monkeypatch.setattr(skdp.base, "Curator", Replaying)
    second = fitted(candidates, inference, delta=delta, X=chain(seed=9)[::-1] * 0)
    assert not tape
    assert pickle.dumps(second) == pickle.dumps(first)


@each_arm
def test_verbose_tells_of_the_rounds(candidates, inference, capsys):
    fitted(candidates, inference, verbose=1)
    said = capsys.readouterr().out
    assert re.search(r"round 1 of 4, model of \d+ cells: chose", said)
    assert "round 4 of 4" in said
    assert "cells" in said and "noise" in said
    assert "epsilon left: 0)" in said


def test_a_fit_does_not_change_the_strategy():
    strategy = MWEM("marginals", 2)
    before = dict(vars(strategy))
    frame = a_frame(200)
    with pytest.warns(skdp.exceptions.PrivacyLeakWarning):
        PGMEstimator(strategy=strategy, random_state=0).fit(frame)
    assert vars(strategy) == before
