"""What PrivBayes chooses and with which law, what it pays, what it makes of answers."""

from __future__ import annotations

import pickle
from itertools import chain, combinations
from math import inf, pi, prod, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import skdp.base
from skdp import Categorical, Ordinal, PGMEstimator, Schema
from skdp.exceptions import ModelTooLargeError
from skdp.graphical import Domain, EmpiricalDistribution, MarkovRandomField
from skdp.graphical.bayesian_network import conditional_table
from skdp.graphical.elimination import best_elimination
from skdp.graphical.network_rules import NetworkRules
from skdp.pgm.session import ModelFitter, Session
from skdp.pgm.strategies import PrivBayes
from skdp.privacy import Curator, PrivacyLedger, zcdp_from_dp
from skdp.privacy.budget import as_typed
from skdp.records import CountTable

SCHEMA = Schema([Ordinal(name, range(size)) for size, name in enumerate("abcde", 2)])
SCORES = ("total_variation", "mutual_information")
INFERENCES = {
    "graphical_model": MarkovRandomField,
    "bayesian_network": EmpiricalDistribution,
}
each_score = pytest.mark.parametrize("score", SCORES)
each_inference = pytest.mark.parametrize("inference", INFERENCES)
each_delta = pytest.mark.parametrize("delta", [0.0, 1e-6])


def records(n=4000, seed=0, schema=SCHEMA):
    """Each column is a noisy copy of the one before."""
    rng = np.random.default_rng(seed)
    columns = {"a": rng.integers(0, 2, n)}
    for left, right in zip(schema.names, schema.names[1:], strict=False):
        copied = rng.random(n) < 0.7
        size = schema.n_levels(right)
        drawn = rng.integers(0, size, n)
        columns[right] = np.where(copied, columns[left] % size, drawn)
    return pd.DataFrame(columns)


def estimator(epsilon=1.0, delta=0.0, schema=SCHEMA, **parameters):
    return PGMEstimator(
        epsilon, delta, strategy=PrivBayes(**parameters), schema=schema, random_state=0
    )


def families_of(model):
    return [m.columns for m in model.measurements_]


# The law of the network --------------------------------------------------------

TINY = Schema([Ordinal("w", range(3)), Ordinal("x", range(2)), Ordinal("y", range(2)),
               Ordinal("z", range(3))])  # fmt: skip
TINY_CODES = np.random.default_rng(3).integers(0, TINY.shape, size=(14, 4))
TINY_CODES[:, 3] = (TINY_CODES[:, 1] + TINY_CODES[:, 2]) % 3
TINY_RECORDS = CountTable.from_codes(TINY_CODES, TINY)
TINY_EPSILON = 30.0


def unordered(families):
    """Return a network without an order among the parents."""
    return tuple((frozenset(f[:-1]), f[-1]) for f in families)


def literal_sets(chosen, room):
    """List the maximal sets of columns with so many joint levels."""
    subsets = chain.from_iterable(
        combinations(chosen, k) for k in range(len(chosen) + 1)
    )
    fit = [s for s in subsets if prod(TINY.n_levels(c) for c in s) <= room]
    return [s for s in fit if not any(set(s) < set(t) for t in fit)] or [()]


def literal_score(child, parents, score):
    """Score by sums over the levels, as the paper writes it."""
    columns = [TINY.names.index(c) for c in parents]
    x = TINY_CODES[:, TINY.names.index(child)]
    joint = [tuple(row) for row in TINY_CODES[:, columns]]
    total, n = 0.0, len(x)
    for level in set(x):
        for row in set(joint):
            both = np.mean(
                [a == level and b == row for a, b in zip(x, joint, strict=True)]
            )
            apart = np.mean(x == level) * np.mean([b == row for b in joint])
            if score == "total_variation":
                total += abs(both - apart) / 2
            elif both > 0:
                total += both * np.log2(both / apart)
    binary = TINY.n_levels(child) == 2 or prod(TINY.n_levels(c) for c in parents) == 2
    return total, (binary, n, bool(parents))


def literal_sensitivity(kinds, score):
    """Return the largest bound of some candidates."""
    bounds = [0.0]
    for binary, n, has_parents in kinds:
        if not has_parents:
            continue
        if score == "total_variation":
            bounds.append((2 if binary else 3) * (n - 1) / n**2)
        else:

            def g(m):
                return (m + 1) * np.log2(m + 1) - (m * np.log2(m) if m else 0)

            halves = (n - 1) // 2, n // 2
            bounds.append((g(n - 1) if binary else g(halves[0]) + g(halves[1])) / n)
    return max(bounds)


def literal_law(score, share=0.3, theta=3.0):
    """Return the probability of every network, as products of softmaxes."""
    n, d = len(TINY_CODES), len(TINY)
    max_cells = n * (1 - share) * TINY_EPSILON / (2 * d * theta)
    epsilon = share * TINY_EPSILON / (d - 1)
    law = {}

    def grow(families, p):
        chosen = [f[-1] for f in families]
        rest = [c for c in TINY.names if c not in chosen]
        if not rest:
            law[unordered(families)] = p
            return
        pairs = [
            (c, s)
            for c in rest
            for s in literal_sets(chosen, max_cells // TINY.n_levels(c))
        ]
        scored = [literal_score(c, s, score) for c, s in pairs]
        delta = literal_sensitivity([kind for _, kind in scored], score)
        weights = np.exp([epsilon * value / (2 * delta) for value, _ in scored])
        for (c, s), weight in zip(pairs, weights / weights.sum(), strict=True):
            grow([*families, (*s, c)], p * weight)

    grow([("x",)], 1.0)
    return law


class EveryChoice(Session):
    """Takes given choices, and notes how likely each of them is."""

    def start(self, choices):
        self.choices, self.p, self.sizes = list(choices), 1.0, []
        return self

    def choose(self, scores, price):
        """Take the next choice; the first, if there is none."""
        self.budget.spend(price)
        values = scores.evaluate(TINY_RECORDS).astype(float)
        rate = price / (2 * scores.sensitivity(self.public, inf))
        weights = np.exp(rate * (values - values.max()))
        index = self.choices.pop(0) if self.choices else 0
        self.p *= weights[index] / weights.sum()
        self.sizes.append(len(values))
        return index


def session(kind=Session, seed=0, schema=TINY, epsilon=TINY_EPSILON, of=TINY_RECORDS):
    curator = Curator(of, PrivacyLedger(epsilon), seed)
    fitter = ModelFitter(schema, of.n_records, "auto", "auto", 1e-3, 1e9)
    return kind(curator, None, fitter)


def network(strategy, run):
    return tuple(strategy._network(run, strategy._rules(run)))


@each_score
def test_the_probability_of_every_network_is_a_product_of_softmaxes(score):
    strategy = PrivBayes(score, usefulness=3.0)
    expected, found = literal_law(score), {}
    pending = [()]
    while pending:
        choices = pending.pop()
        run = session(EveryChoice).start(choices)
        families = network(strategy, run)
        # A child's probability is spelled out once: by the last of its prefixes.
        found[families] = run.p
        pending += [
            (*choices, *(0,) * (k - len(choices)), other)
            for k in range(len(choices), len(run.sizes))
            for other in range(1, run.sizes[k])
        ]
    assert len(found) == 16
    assert sum(found.values()) == pytest.approx(1, rel=1e-9)
    assert {unordered(families) for families in found} == set(expected)
    for families, p in found.items():
        assert p == pytest.approx(expected[unordered(families)], rel=1e-9)


@each_score
def test_networks_are_drawn_with_these_probabilities(score):
    strategy, n_runs = PrivBayes(score, usefulness=3.0), 600
    law = literal_law(score)
    run, counts = session(), dict.fromkeys(law, 0)
    for _ in range(n_runs):
        run.curator._ledger = PrivacyLedger(TINY_EPSILON)
        fresh = Session(run.curator, None, run.fitter)
        families = network(strategy, fresh)
        counts[unordered(families)] += 1
    expected = np.array([n_runs * p for p in law.values()])
    seen = np.array(list(counts.values()))
    large = expected >= 5
    expected = np.append(expected[large], expected[~large].sum())
    seen = np.append(seen[large], seen[~large].sum())
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert len(expected) > 5
    assert statistic < chi2.isf(1e-4, len(expected) - 1)


# Prices, noise and usefulness -------------------------------------------------


@each_score
@each_inference
def test_it_spends_epsilon_in_the_given_shares(score, inference):
    model = estimator(0.9, score=score, inference=inference).fit(records())
    mechanisms = [entry.mechanism for entry in model.ledger_]
    assert mechanisms == [*4 * ["exponential"], "laplace"]
    prices = [entry.epsilon for entry in model.ledger_]
    np.testing.assert_allclose(prices, [*4 * [0.27 / 4], 0.63], rtol=1e-12)
    assert model.ledger_.entries[-1].scale == pytest.approx(2 * 5 / 0.63)
    assert sum(map(as_typed, prices)) <= as_typed(0.9)
    assert model.ledger_.total() == pytest.approx(0.9, rel=1e-12)


@each_inference
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_it_spends_rho_in_the_given_shares(inference, share):
    strategy = {"inference": inference, "structure_share": share}
    model = estimator(1.0, 1e-9, **strategy).fit(records())
    rho = zcdp_from_dp(1.0, 1e-9)
    prices = [entry.rho for entry in model.ledger_]
    parts = [*4 * [rho * share / 4], rho * (1 - share)]
    np.testing.assert_allclose(prices, parts, rtol=1e-10)
    sigma = sqrt(5 / (rho * (1 - share)))
    assert [m.sigma for m in model.measurements_] == pytest.approx(5 * [sigma])
    assert model.ledger_.total() == pytest.approx(1.0, rel=1e-9)
    assert model.ledger_.total() <= 1.0


@each_delta
@pytest.mark.parametrize("theta", [0.5, 4.0, 30.0])
def test_tables_are_useful_by_the_stated_formula(delta, theta):
    frame = records(800)
    model = estimator(1.0, delta, usefulness=theta).fit(frame)
    n, d = len(frame), 5
    if delta == 0:
        most = n * 0.7 / (2 * d * theta)
    else:
        rho = 0.7 * zcdp_from_dp(1.0, delta)
        most = n / theta * sqrt(pi * rho / (2 * d))
    cells = [m.answer.size for m in model.measurements_ if len(m.columns) > 1]
    assert all(size <= most for size in cells)
    assert theta < 30 or not cells
    # Maximal: with any other column that was there before, a table would be too large.
    seen = []
    for *parents, child in families_of(model):
        for other in set(seen) - set(parents):
            size = prod(SCHEMA.n_levels(c) for c in (*parents, child, other))
            assert size > most
        seen.append(child)


def test_what_is_public_costs_nothing():
    frame = records()[["b", "d"]]
    model = estimator(schema=SCHEMA.select(["b", "d"])).fit(frame)
    (entry,) = model.ledger_  # one candidate: nothing to draw
    assert entry.epsilon == 1.0
    assert families_of(model) == [("b",), ("b", "d")]
    useless = estimator(1e-3).fit(records(100))
    assert families_of(useless) == [(c,) for c in "abcde"]
    assert [e.mechanism for e in useless.ledger_] == ["laplace"]
    assert useless.ledger_.total() == pytest.approx(1e-3, rel=1e-12)


@each_inference
def test_columns_of_one_level_and_single_columns(inference):
    frame = records()[["c"]].assign(only="one")
    schema = Schema([SCHEMA["c"], Categorical("only", ("one",))])
    model = estimator(schema=schema, inference=inference).fit(frame)
    assert families_of(model) == [("c",)]
    assert model.marginal("only").tolist() == [4000.0]
    nothing = estimator(schema=schema.select(["only"]), inference=inference)
    nothing.fit(frame[["only"]])
    assert nothing.ledger_.total() == 0
    assert nothing.sample(3)["only"].tolist() == ["one"] * 3


def test_the_first_column_is_the_smallest_and_parents_are_limited():
    model = estimator(1e4, max_parents=1).fit(records())
    families = families_of(model)
    assert families[0] == ("a",)
    assert max(map(len, families)) == 2
    # Almost without noise: the chain itself.
    assert {frozenset(f) for f in families[1:]} == {
        frozenset(pair) for pair in ("ab", "bc", "cd", "de")
    }
    none = estimator(1.0, max_parents=0).fit(records())
    assert [len(f) for f in families_of(none)] == 5 * [1]


# The two inferences ----------------------------------------------------------


@each_score
@each_delta
def test_both_inferences_buy_the_same_answers(score, delta):
    models = [
        estimator(1.0, delta, score=score, inference=inference).fit(records())
        for inference in INFERENCES
    ]
    first, second = (model.measurements_ for model in models)
    for one, other in zip(first, second, strict=True):
        assert (one.columns, one.sigma) == (other.columns, other.sigma)
        np.testing.assert_array_equal(one.answer, other.answer)
    assert models[0].ledger_.entries == models[1].ledger_.entries
    for model, kind in zip(models, INFERENCES.values(), strict=True):
        assert isinstance(model.model_, kind)
        assert model.marginal("e").sum() == pytest.approx(4000)


def test_synthetic_records_follow_the_normalised_tables():
    frame = records(20_000)
    model = estimator(5.0, inference="bayesian_network").fit(frame)
    assert len(model.model_.codes) == 20_000
    domain = Domain.from_schema(SCHEMA)
    table = np.ones(domain.sizes)
    for m in model.measurements_:
        p = conditional_table(m.answer)
        table = table * domain.broadcast(p, m.columns, domain.names)
    assert table.sum() == pytest.approx(1)
    for pair in combinations(range(5), 2):
        others = tuple(i for i in range(5) if i not in pair)
        expected = 20_000 * table.sum(axis=others)
        found = model.marginal([SCHEMA.names[i] for i in pair])
        assert np.abs(found - expected).max() < 6 * sqrt(expected.max())


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_the_graphical_model_is_nearer_to_the_records(epsilon):
    frame, errors = records(), dict.fromkeys(INFERENCES, 0.0)
    for seed in range(3):
        for inference in INFERENCES:
            model = estimator(epsilon, inference=inference)
            model.set_params(random_state=seed).fit(frame)
            for pair in combinations("abcde", 2):
                true = pd.crosstab(*(frame[c] for c in pair)).to_numpy()
                errors[inference] += np.abs(model.marginal(pair) - true).sum()
    assert errors["graphical_model"] < errors["bayesian_network"]


# The size of the model ------------------------------------------------------------


def test_networks_whose_model_would_be_too_large_are_not_chosen():
    names = [f"v{i}" for i in range(12)]
    schema = Schema([Ordinal(name, range(5)) for name in names])
    rng = np.random.default_rng(0)
    common = rng.integers(0, 5, 3000)
    frame = pd.DataFrame(
        {
            v: np.where(rng.random(3000) < 0.5, common, rng.integers(0, 5, 3000))
            for v in names
        }
    )
    domain, works = Domain.from_schema(schema), {}
    for size in (1e9, 1e5):
        model = estimator(50.0, schema=schema, usefulness=0.5)
        model.set_params(max_model_size=size, gap_tol=1.0).fit(frame)
        works[size] = best_elimination(domain, families_of(model)).work
        assert model.ledger_.total() == pytest.approx(50.0, rel=1e-12)
    assert works[1e5] <= 1e4 < works[1e9]


@pytest.mark.parametrize("max_work", [50, 200, 1000, 1e4])
def test_admissible_candidates_and_what_becomes_of_the_others(max_work):
    domain = Domain("abcdefgh", (4, 5, 3, 4, 5, 2, 6, 4))
    rules = NetworkRules(domain, 200, 8, 4000, max_work)
    rng, families = np.random.default_rng(0), [("f",)]
    while len(families) < 8:
        candidates = rules.candidates(families)
        chosen = [f[-1] for f in families]
        assert {c for c, _ in candidates} <= set(domain.names) - set(chosen)
        for child, parents in candidates:
            assert set(parents) <= set(chosen)
            size = domain.n_cells((*parents, child))
            assert size <= 200
            assert not parents or rules.work([*families, (*parents, child)]) <= max_work
        pick = candidates[rng.integers(len(candidates))]
        families.append(rules.fitting(families, pick))
        assert families[-1] == (*pick[1], pick[0])
    assert rules.work(families) <= max(max_work, sum(domain.sizes))
    assert max(map(len, families)) > 1 or max_work == 50


def test_a_choice_that_would_not_fit_loses_parents():
    domain = Domain("abcd", (5, 5, 5, 5))
    rules = NetworkRules(domain, 10**4, 4, 100, 200.0)
    assert rules.fitting([("a",), ("b",), ("c",)], ("d", ("a", "b", "c"))) == tuple(
        "bcd"
    )


def test_too_many_levels_are_refused_before_anything_is_spent():
    schema = Schema([Ordinal("a", range(2)), Ordinal("b", range(2000))])
    model = estimator(schema=schema).set_params(max_model_size=1000)
    with pytest.raises(ModelTooLargeError, match="'b'"):
        model.fit(np.zeros((10, 2), dtype=int))
    assert not hasattr(model, "ledger_")


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 0.0), (1e-17, 1e-40)])
def test_tables_of_too_much_noise_are_refused_before_the_draws(epsilon, delta):
    model = estimator(epsilon, delta, structure_share=1 - 1e-6)
    with pytest.raises(ValueError, match="for measurements is too small"):
        model.fit(records(50))
    assert not list(getattr(model, "ledger_", []))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("score", "chi2"),
        ("usefulness", 0.0),
        ("structure_share", 1.0),
        ("structure_share", 0.0),
        ("inference", "least_squares"),
        ("max_parents", -1),
        ("max_candidates", 0),
    ],
)
def test_bad_parameters_are_named(parameter, value):
    model = estimator(**{parameter: value})
    with pytest.raises(ValueError, match=f"'{parameter}'"):
        model.fit(records())
    assert not hasattr(model, "ledger_")


# Privacy of all that follows the answers -------------------------------------------


def taped(tape, replay):
    """Make a curator that writes its answers down, or gives out those written down."""

    class Taped(Curator):
        def _evaluate(self, query, *args, **kwargs):
            if not replay:
                return super()._evaluate(query, *args, **kwargs)
            kind = np.int64 if query.integral else np.float64
            return np.zeros(query.shape(self.public), dtype=kind)

        def _answer(self, answer):
            tape.append(answer) if not replay else None
            return tape.pop(0) if replay else answer

        def laplace(self, *args, **kwargs):
            return self._answer(super().laplace(*args, **kwargs))

        def gaussian(self, *args, **kwargs):
            return self._answer(super().gaussian(*args, **kwargs))

        def exponential(self, *args, **kwargs):
            return self._answer(super().exponential(*args, **kwargs))

    return Taped


@each_inference
@each_delta
@each_score
def test_replay_on_other_records_gives_the_same_pickle(
    score, delta, inference, monkeypatch
):
    tape = []
    monkeypatch.setattr(skdp.base, "Curator", taped(tape, replay=False))
    model = estimator(1.0, delta, score=score, inference=inference)
    first = clone(model).fit(records())
    others = records(seed=5)[::-1].assign(b=0)
    monkeypatch.setattr(skdp.base, "Curator", Curator)
    assert families_of(clone(model).fit(others)) != families_of(first)
    monkeypatch.setattr(skdp.base, "Curator", taped(tape, replay=True))
    second = clone(model).fit(others)
    assert not tape
    assert pickle.dumps(first) == pickle.dumps(second)


@each_inference
@pytest.mark.parametrize("n_draws", [1, 3])
def test_an_interrupted_search_leaves_an_exact_ledger(inference, n_draws, monkeypatch):
    model = estimator(inference=inference).fit(records(seed=3))
    before = {k: v for k, v in vars(model).items() if k != "ledger_"}
    choose = Session.choose

    def impatient(self, scores, price):
        if len(self.curator.ledger) == n_draws:
            raise KeyboardInterrupt
        return choose(self, scores, price)

    monkeypatch.setattr(Session, "choose", impatient)
    with pytest.raises(KeyboardInterrupt):
        model.fit(records())
    assert {k: v for k, v in vars(model).items() if k != "ledger_"} == before
    assert [e.mechanism for e in model.ledger_] == n_draws * ["exponential"]
    assert model.ledger_.total() == pytest.approx(n_draws * 0.3 / 4)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [PGMEstimator(strategy=PrivBayes(inference=i), random_state=0) for i in INFERENCES]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_progress_is_shown(capsys):
    estimator(inference="bayesian_network").set_params(verbose=1).fit(records())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert "column 2 of 5" in lines[0] and "epsilon left: 0.925" in lines[0]
    assert "given" in lines[1] and "model of" in lines[1]
    assert "drew 4000 records" in lines[-1]


def test_synthetic_records_need_no_further_randomness():
    frame = records()
    unseeded = estimator(inference="bayesian_network").set_params(random_state=None)
    first, second = (clone(unseeded).fit(frame).model_.codes for _ in range(2))
    assert not np.array_equal(first, second)  # other answers, other records
