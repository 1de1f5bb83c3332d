"""HDMM: what it buys, with which noise, and how well that serves the workload."""

from __future__ import annotations

import pickle
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import skdp.base
from skdp import Categorical, Ordinal, PGMEstimator, Schema
from skdp.exceptions import ModelTooLargeError, SchemaError
from skdp.graphical import Domain, Kronecker, Matrix, prefix
from skdp.graphical.least_squares import LeastSquaresModel
from skdp.pgm import Workload
from skdp.pgm.strategies import HDMM, FixedMarginals
from skdp.pgm.workload_terms import workload_terms
from skdp.privacy import Curator, zcdp_from_dp
from skdp.queries import PublicFacts
from skdp.records import CountTable

SCHEMA = Schema(
    [
        Ordinal("age", range(40)),
        Categorical("sex", ("f", "m")),
        Ordinal("hours", range(24)),
        Categorical("only", ("one",)),
    ]
)
N = 3000
CLIQUES = [("sex", "age"), ("hours",), ("hours", "sex")]
PREFIXES = Workload.prefixes(CLIQUES, SCHEMA)


def people(n=N, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.binomial(39, 0.4, n)
    hours = np.clip(age // 2 + rng.integers(-3, 4, n), 0, 23)
    sex = np.where(rng.random(n) < age / 40, "f", "m")
    return pd.DataFrame({"age": age, "sex": sex, "hours": hours, "only": "one"})


X = people()
PUBLIC = PublicFacts(N, SCHEMA)


def fitted(strategy, delta=0.0, epsilon=1.0, workload=PREFIXES, X=X, seed=0, **options):
    options = {"schema": SCHEMA, **options}
    return PGMEstimator(
        epsilon,
        delta,
        strategy=strategy,
        workload=workload,
        random_state=seed,
        **options,
    ).fit(X)


def mean_square(model, workload=PREFIXES):
    records = CountTable.from_frame(X, SCHEMA)
    pairs = zip(workload.answers(model), workload.answers(records), strict=True)
    return sum(((a - b) ** 2).sum() for a, b in pairs)


# Price and noise ------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["graphical_model", "least_squares"])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_the_whole_budget_buys_all_answers_at_once(delta, inference):
    model = fitted(HDMM(inference=inference), delta)
    (entry,) = model.ledger_
    assert model.ledger_.total() == pytest.approx(1.0, rel=1e-9)
    assert model.ledger_.total() <= 1.0
    price = zcdp_from_dp(1.0, delta) if delta else 1.0
    assert (entry.rho if delta else entry.epsilon) == pytest.approx(price, rel=1e-12)


@pytest.mark.parametrize("kind", ["union", "kronecker", "marginals"])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_the_noise_is_that_of_the_norm_of_the_strategy(delta, kind):
    workload = Workload.prefixes([("age", "sex"), ("sex", "hours")], SCHEMA)
    model = fitted(HDMM(kind), delta, workload=workload)
    ord, domain = (2 if delta else 1), Domain.from_schema(SCHEMA)
    # What was measured, in units in which the noise of all answers is the same.
    norms = [m.linear(domain).column_norm(ord) / m.sigma for m in model.measurements_]
    total = np.linalg.norm(norms, ord)
    rho = zcdp_from_dp(1.0, delta) if delta else None
    if all(len(m.columns) > 1 for m in model.measurements_):
        # Gaussian variance (sqrt(2) ||A||)^2/(2 rho), Laplace scale 2 ||A||/epsilon.
        expected = sqrt(rho) if delta else 1 / sqrt(8)
        assert total == pytest.approx(expected, rel=1e-6)
    plan = HDMM(kind).plan(PUBLIC, workload, is_pure=not delta)
    shares = np.array(norms) / total
    assert_allclose(shares, plan.weights, rtol=5e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_single_column_is_charged_for_its_true_sensitivity(delta):
    workload = Workload.prefixes([("age",)], SCHEMA)
    model = fitted(HDMM(), delta, workload=workload)
    (measured,), (entry,) = model.measurements_, model.ledger_
    matrix = measured.query.matrix
    ord = 2 if delta else 1
    distances = np.linalg.norm(matrix[:, :, None] - matrix[:, None, :], ord, axis=0)
    rho = zcdp_from_dp(1.0, delta) if delta else None
    scale = distances.max() * (1 / sqrt(2 * rho) if delta else sqrt(2))
    assert measured.sigma == pytest.approx(scale, rel=1e-6)
    assert distances.max() <= (sqrt(2) if delta else 2.0)
    assert entry.mechanism == ("gaussian" if delta else "laplace")


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_measured_noise_is_what_is_said(delta):
    records, domain = CountTable.from_frame(X, SCHEMA), Domain.from_schema(SCHEMA)
    errors = []
    for seed in range(5):
        for m in fitted(
            HDMM(inference="least_squares"), delta, seed=seed
        ).measurements_:
            truth = m.linear(domain).dot(records.marginal(m.columns).ravel() * 1.0)
            errors.append((m.answer.ravel() - truth) / m.sigma)
    errors = np.concatenate(errors)
    assert np.std(errors) == pytest.approx(1.0, abs=0.06)
    assert abs(np.mean(errors)) < 0.1


@pytest.mark.parametrize("epsilon", [1e-4, 1e4])
def test_extreme_prices(epsilon):
    model = fitted(HDMM(inference="least_squares"), epsilon=epsilon)
    assert model.ledger_.total() == pytest.approx(epsilon, rel=1e-9)
    if epsilon > 1:
        assert mean_square(model) < 1.0


# What it is good for --------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_the_error_is_the_expected_one(delta):
    workload = Workload.prefixes([("age", "sex")], SCHEMA)
    strategy = HDMM(inference="least_squares")
    plan = strategy.plan(PUBLIC, workload, is_pure=not delta)
    (product,) = plan.products
    inverses = [
        np.eye(n) if f is None else np.linalg.inv(f.T @ f)
        for f, n in zip(product.factors, product.sizes, strict=True)
    ]
    inverse, gram = np.kron(*inverses), workload.queries[0].gram()
    assert plan.error == pytest.approx(np.trace(gram @ inverse))
    # Least squares knows n besides, which takes away one direction.
    known = inverse.sum(axis=1)
    expected = plan.error - known @ gram @ known / known.sum()
    runs = [fitted(strategy, delta, workload=workload, seed=s) for s in range(40)]
    variance = 1 / zcdp_from_dp(1.0, delta) if delta else 8.0
    found = np.mean([mean_square(run, workload) for run in runs]) / variance
    assert found == pytest.approx(expected, rel=0.15)
    assert expected < plan.error


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_prefixes_are_better_served_than_by_counts(delta):
    strategy = HDMM(inference="least_squares")
    runs = [fitted(strategy, delta, seed=s) for s in range(4)]
    others = [
        fitted(HDMM("marginals", inference="least_squares"), delta, seed=s)
        for s in range(4)
    ]
    errors = [np.mean([mean_square(m) for m in ms]) for ms in (runs, others)]
    assert errors[0] < errors[1]
    plans = [
        HDMM(kind).plan(PUBLIC, PREFIXES, is_pure=not delta)
        for kind in ("auto", "marginals")
    ]
    assert plans[0].error < plans[1].error


@pytest.mark.parametrize("inference", ["graphical_model", "least_squares"])
def test_marginals_without_queries(inference):
    workload = Workload([("age", "sex"), ("sex", "hours")], weights=[1.0, 3.0])
    model = fitted(HDMM(inference=inference), 1e-9, workload=workload)
    assert all(m.query is None for m in model.measurements_)
    assert model.marginal(["sex"]).sum() == pytest.approx(N)
    errors = workload.errors(model, X)
    assert np.mean(errors.total_variation) < 0.5


def test_both_inferences_buy_the_same_answers():
    both = [fitted(HDMM(inference=i)) for i in ("graphical_model", "least_squares")]
    for one, other in zip(*(model.measurements_ for model in both), strict=True):
        assert one.columns == other.columns and one.sigma == other.sigma
        assert_array_equal(one.answer, other.answer)
    assert isinstance(both[1].model_, LeastSquaresModel)
    assert [len(model.ledger_) for model in both] == [1, 1]
    assert (both[1].marginal(["age", "sex"]) < 0).any()
    assert (both[0].marginal(["age", "sex"]) >= 0).all()


def test_without_a_workload_all_pairs_are_asked_for():
    model = fitted(HDMM(), workload=None)
    measured = {frozenset(m.columns) for m in model.measurements_}
    pairs = [{"age", "sex"}, {"age", "hours"}, {"sex", "hours"}]
    assert all(any(pair <= m for m in measured) for pair in pairs)
    assert not any("only" in m for m in measured)
    single = fitted(HDMM(), workload=None, X=X[["age"]], schema=SCHEMA.select(["age"]))
    assert [m.columns for m in single.measurements_] == [("age",)]


@pytest.mark.parametrize("inference", ["graphical_model", "least_squares"])
def test_nothing_to_measure(inference):
    strategy = HDMM(inference=inference)
    for workload in (None, Workload([("only",)])):
        model = fitted(
            strategy, workload=workload, X=X[["only"]], schema=SCHEMA.select(["only"])
        )
        assert model.ledger_.total() == 0
        assert model.marginal(["only"]).tolist() == [N]


def test_a_matrix_for_several_columns_together():
    matrix = np.tri(48)
    workload = Workload([("hours", "sex"), ("age",)], queries=[matrix, None])
    for inference in ("graphical_model", "least_squares"):
        model = fitted(HDMM(inference=inference), 1e-9, workload=workload, epsilon=20.0)
        found = workload.answers(model)[0]
        truth = workload.answers(CountTable.from_frame(X, SCHEMA))[0]
        assert np.abs(found - truth).max() < 20


# Refusals -------------------------------------------------------------------------


def refused(error, match, strategy, workload=PREFIXES, X=X, **options):
    model = PGMEstimator(
        strategy=strategy, workload=workload, **{"schema": SCHEMA, **options}
    )
    with pytest.raises(error, match=match):
        model.fit(X)
    assert not list(getattr(model, "ledger_", []))


def test_what_cannot_be_done_is_refused_before_it_costs():
    refused(ValueError, "inference", HDMM(inference="magic"))
    refused(ValueError, "strategies", HDMM("identity"))
    refused(ValueError, "strategies", HDMM([]))
    refused(ValueError, "n_restarts", HDMM(n_restarts=0))
    refused(ValueError, "random_state", HDMM(random_state=-1))
    refused(SchemaError, "nobody", HDMM(), Workload([("nobody",)]))
    refused(SchemaError, "shape", HDMM(), Workload([("age",)], queries=[prefix(3)]))
    joint = Workload([("hours", "sex")], queries=[np.tri(48)])
    refused(SchemaError, "strategies='auto'", HDMM("marginals"), joint)
    refused(SchemaError, "cells", HDMM("kronecker"), PREFIXES, max_model_size=1000)


@pytest.mark.parametrize("kind", ["union", "kronecker", "marginals"])
@pytest.mark.parametrize("inference", ["graphical_model", "least_squares"])
def test_columns_of_one_level_are_not_measured(kind, inference):
    workload = Workload.prefixes([("age", "only"), ("only", "sex")], SCHEMA)
    model = fitted(HDMM(kind, inference=inference), workload=workload)
    assert model.ledger_.total() == pytest.approx(1.0)
    assert model.measurements_
    assert not any("only" in m.columns for m in model.measurements_)
    assert model.marginal(["only"]).tolist() == [N]
    assert model.marginal(["only", "sex"]).shape == (1, 2)


def test_a_matrix_for_a_single_level_is_a_weight():
    domain = Domain.from_schema(SCHEMA)
    twice = Kronecker((prefix(40), np.array([[1.0], [2.0], [2.0]])))
    alone, repeated = Workload([("age",)], [3], [prefix(40)]), ("age", "only")
    found = workload_terms(Workload([repeated], queries=[twice]), domain)
    assert found == workload_terms(alone, domain)
    joint = Matrix(prefix(40).matrix)
    found = workload_terms(Workload([repeated], [3], [joint]), domain)
    assert found == workload_terms(Workload([("age",)], [3], [joint]), domain)
    nothing = Workload([("age",)], queries=[np.zeros((2, 40))])
    assert workload_terms(nothing, domain) == ()


@pytest.mark.parametrize("weights", [(1e300, 1, 1), (1, 1, 1e-320)])
def test_weights_whose_squares_are_no_numbers_are_refused(weights):
    workload = Workload(CLIQUES, weights)
    refused(ValueError, "from 1e-100 to 1e\\+100", HDMM(), workload)


def test_what_was_fitted_is_not_refused_afterwards():
    sizes = dict(zip("abcde", (9, 1, 3, 9, 2), strict=True))
    schema = Schema([Ordinal(name, range(size)) for name, size in sizes.items()])
    frame = pd.DataFrame({name: np.arange(10) % n for name, n in sizes.items()})
    options = {"workload": None, "schema": schema, "max_model_size": 1486.2}
    model = fitted(HDMM(n_restarts=1), X=frame, **options)
    assert model.marginals_
    for columns, table in model.marginals_.items():
        assert table.shape == tuple(map(schema.n_levels, columns))


def test_large_models_are_refused_with_a_remedy():
    schema = Schema([Ordinal(name, range(20)) for name in "abcdef"])
    frame = pd.DataFrame(dict.fromkeys("abcdef", np.arange(20)))
    options = {"workload": None, "schema": schema, "max_model_size": 1e6}
    refused(ModelTooLargeError, "all pairs are asked for", HDMM(), X=frame, **options)
    model = fitted(HDMM(inference="least_squares"), X=frame, **options)
    assert model.marginal(["f", "b"]).sum() == pytest.approx(20)
    with pytest.raises(ValueError, match="inference='graphical_model'"):
        model.marginal(["a", "b", "c"])


def test_matrices_on_too_many_levels_are_refused():
    wide = Schema([Ordinal("x", range(2001))])
    frame = pd.DataFrame({"x": [0, 1]})
    workload = Workload.prefixes([("x",)], wide)
    model = PGMEstimator(strategy=HDMM(), workload=workload, schema=wide)
    with pytest.raises(SchemaError, match="fewer levels"):
        model.fit(frame)


def test_what_least_squares_does_not_know():
    model = fitted(HDMM(inference="least_squares"))
    for ask in (
        lambda: model.sample(3),
        lambda: model.score_samples(X[:3]),
        lambda: model.marginal(["age"], return_std=True),
    ):
        with pytest.raises(ValueError, match="inference='graphical_model'"):
            ask()
    assert model.query({"age": (0, 20), "sex": "f"}) < N


# A strategy like all others ---------------------------------------------------------


def replay_of(answers):
    """A curator that gives recorded answers, whatever the records."""

    class Replay(Curator):
        def laplace(self, *args, **kwargs):
            super().laplace(*args, **kwargs)
            return answers[0]

        def gaussian(self, *args, **kwargs):
            super().gaussian(*args, **kwargs)
            return answers[0]

    return Replay


@pytest.mark.parametrize("inference", ["graphical_model", "least_squares"])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_all_but_the_answers_is_post_processing(delta, inference, monkeypatch):
    answers = []

    class Record(Curator):
        def laplace(self, *args, **kwargs):
            answers.append(super().laplace(*args, **kwargs))
            return answers[-1]

        def gaussian(self, *args, **kwargs):
            answers.append(super().gaussian(*args, **kwargs))
            return answers[-1]

    monkeypatch.setattr(skdp.base, "Curator", Record)
    first = fitted(HDMM(inference=inference), delta)
    monkeypatch.setattr(skdp.base, "Curator", replay_of(answers))
    others = people(seed=5)[::-1].assign(sex="m")
    second = fitted(HDMM(inference=inference), delta, X=others)
    assert pickle.dumps(first.model_) == pickle.dumps(second.model_)
    assert pickle.dumps(first.marginals_) == pickle.dumps(second.marginals_)


def test_parameters_are_scikit_learns():
    model = PGMEstimator(strategy=HDMM(("union", "kronecker"), n_restarts=2))
    copy = clone(model).set_params(strategy__inference="least_squares")
    assert copy.strategy.get_params() == {
        "strategies": ("union", "kronecker"),
        "inference": "least_squares",
        "n_restarts": 2,
        "random_state": 0,
    }
    assert model.strategy.inference == "graphical_model"
    before = copy.strategy.__dict__.copy()
    copy.set_params(schema=SCHEMA, workload=PREFIXES, random_state=0).fit(X)
    assert copy.strategy.__dict__ == before
    again = pickle.loads(pickle.dumps(copy))
    assert_array_equal(again.marginal(["age"]), copy.marginal(["age"]))


def test_verbose_names_the_choice(capsys):
    fitted(HDMM(), verbose=1)
    printed = capsys.readouterr().out
    assert "chose" in printed and "expected squared error" in printed
    assert "epsilon left: 0" in printed


def test_columns_in_any_order_are_the_same():
    factors = [prefix(40), np.eye(2)]
    workloads = [
        Workload([names], queries=[Kronecker(parts)])
        for names, parts in (
            (("age", "sex"), factors),
            (("sex", "age"), factors[::-1]),
        )
    ]
    plans = [HDMM().plan(PUBLIC, workload) for workload in workloads]
    assert plans[0] is plans[1]
    models = [fitted(HDMM(), workload=workload) for workload in workloads]
    tables = [model.marginal(["age", "sex"]) for model in models]
    assert_array_equal(*tables)


def test_counts_are_fixed_marginals():
    workload = Workload([("age",), ("sex",)])
    model = fitted(HDMM("union"), 1e-9, workload=workload)
    plain = fitted(FixedMarginals(), 1e-9, workload=workload)
    sigma = [m.sigma for m in model.measurements_]
    even = [m.sigma for m in plain.measurements_]
    # Same privacy, noise shared out as e^{1/4}.
    assert sum(s**-2 for s in sigma) == pytest.approx(sum(s**-2 for s in even))
    assert sigma[1] / sigma[0] == pytest.approx((40 / 2) ** 0.25, rel=1e-3)
