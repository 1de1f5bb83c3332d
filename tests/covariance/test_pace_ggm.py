"""PaceGGMCovariance: what it gives, what it says, and what it does with ugly data."""

from __future__ import annotations

import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skdp.base
from skdp import Numeric, PaceGGMCovariance, Schema
from skdp.exceptions import PrivacyBudgetWarning, PrivacyLeakWarning
from skdp.privacy import Curator, dp_from_zcdp


def chain(d, n, seed=0, weight=0.7):
    """Signs of an AR(1) sequence: every column within its tight bounds of 1."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random((n, d)) < (1 + weight) / 2, 1.0, -1.0)
    steps[:, 0] = rng.choice([-1.0, 1.0], n)
    return np.cumprod(steps, axis=1)


def fitted(X, epsilon=1.0, **options):
    options = {"bounds": 1.0, "assume_centered": True, "random_state": 0} | options
    return PaceGGMCovariance(epsilon, **options).fit(X)


def relative_error(model, X):
    truth = np.cov(X.T, bias=True)
    return np.linalg.norm(model.covariance_ - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("clip", [None, 4.0])
@pytest.mark.parametrize("centred", [True, False])
def test_estimates_a_chain(clip, centred):
    X = chain(25, 20_000)
    model = fitted(X, 2.0, product_clip=clip, assume_centered=centred)
    assert relative_error(model, X) < 0.15
    # An edge in each pair of neighbours, and they weigh most.
    weights = {frozenset(e[:2]): abs(e[2]) for e in model.graph_.edges.data("weight")}
    strongest = sorted(weights, key=weights.__getitem__)[-24:]
    assert set(strongest) == {frozenset((f"x{i}", f"x{i + 1}")) for i in range(24)}
    assert model.location_.shape == (25,)
    assert np.abs(model.location_).max() < 0.1
    assert (model.location_ == 0).all() == centred


@pytest.mark.parametrize("centred", [True, False])
def test_the_precision_is_zero_where_nothing_was_measured(centred):
    model = fitted(chain(25, 5000), 0.5, assume_centered=centred)
    assert np.array_equal(model.precision_ != 0, model.measured_)
    assert not model.measured_.all() and model.measured_.diagonal().all()
    assert np.array_equal(np.isnan(model.standard_error_), ~model.measured_)
    assert np.allclose(model.precision_ @ model.covariance_, np.eye(25), atol=1e-8)
    assert np.linalg.eigvalsh(model.covariance_)[0] > 0
    assert model.kkt_residual_ <= 1e-8
    edges = set(model.graph_.edges)
    assert len(edges) == (model.measured_.sum() - 25) // 2
    assert isinstance(model.graph_, nx.Graph)


def test_the_standard_errors_are_those_of_the_measurements():
    X = chain(6, 500)
    errors, stated = [], []
    for seed in range(20):
        model = fitted(X, 0.3, random_state=seed)
        off = model.measured_ & ~np.eye(6, dtype=bool)
        errors += list((model.covariance_ - X.T @ X / 500)[off])
        stated += list(model.standard_error_[off])
    # Completion and clipped diagonals make errors smaller, not larger.
    assert 0.2 * np.mean(stated) < np.std(errors) < 1.2 * np.mean(stated)


@pytest.mark.parametrize("clip", [None, 4.0])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3, 25])
def test_the_ledger_ends_just_below_the_budget(clip, centred, d):
    model = fitted(chain(d, 1000), 0.7, product_clip=clip, assume_centered=centred)
    entries = model.ledger_.entries
    assert 0.7 * (1 - 1e-6) < model.ledger_.total() <= 0.7
    assert sum(e.rho for e in entries) == pytest.approx(model.rho_, rel=1e-6)
    n_mean = 0 if centred else 1
    if d > 2:
        assert len(entries) == n_mean + 1 + 2 * model.n_rounds_
    mechanisms = {e.mechanism for e in entries}
    assert mechanisms == ({"gaussian", "top_k"} if d > 2 else {"gaussian"})


def test_units_are_those_of_the_data():
    X = chain(5, 4000)
    low, high = np.array([-3.0, 0, 10, -1, 5]), np.array([3.0, 1, 30, 1, 5.5])
    scaled = (low + high) / 2 + X * (high - low) / 2
    one = fitted(X, assume_centered=False)
    two = fitted(scaled, bounds=(low, high), assume_centered=False)
    width = (high - low) / 2
    assert np.allclose(two.covariance_, one.covariance_ * np.outer(width, width))
    assert np.allclose(two.location_, (low + high) / 2 + one.location_ * width)
    assert np.allclose(
        two.standard_error_,
        one.standard_error_ * np.outer(width, width),
        equal_nan=True,
    )
    columns = [
        Numeric(f"x{i}", a, b) for i, (a, b) in enumerate(zip(low, high, strict=True))
    ]
    three = fitted(scaled, bounds=None, schema=Schema(columns), assume_centered=False)
    assert np.allclose(three.covariance_, two.covariance_)


def test_clipped_products_help_where_bounds_are_loose():
    rng = np.random.default_rng(0)
    covariance = 0.7 ** np.abs(np.subtract.outer(range(30), range(30)))
    X = rng.multivariate_normal(np.zeros(30), covariance, 5000)

    def error(clip):
        options = {"bounds": 6.0, "product_clip": clip}
        models = [fitted(X, 1.0, random_state=s, **options) for s in range(3)]
        return np.mean([relative_error(model, X) for model in models])

    assert error(4.0) < 0.5 * error(None)


# --- replay --------------------------------------------------------------------------

ANSWERS = ("gaussian", "top_k")


def taped(tape, replay):
    class TapedCurator(Curator):
        def _evaluate(self, *args, **kwargs):
            assert not replay, "a replay must not look at records"
            return super()._evaluate(*args, **kwargs)

        def __getattribute__(self, name):
            method = super().__getattribute__(name)
            if name not in ANSWERS:
                return method
            if replay:
                return lambda *a, **kw: tape.pop(0)
            return lambda *a, **kw: tape.append(method(*a, **kw)) or tape[-1]

    return TapedCurator


@pytest.mark.parametrize("clip", [None, 4.0])
@pytest.mark.parametrize("centred", [True, False])
def test_all_but_the_answers_is_post_processing(clip, centred, monkeypatch):
    options = {"product_clip": clip, "assume_centered": centred}
    tape: list = []
    monkeypatch.setattr(skdp.base, "Curator", taped(tape, replay=False))
    first = fitted(chain(22, 500), 0.5, **options)
    monkeypatch.setattr(skdp.base, "Curator", taped(tape, replay=True))
    second = fitted(np.ones((500, 22)), 0.5, **options)
    assert not tape
    same = {k for k in vars(first) if k != "ledger_"}  # limits and prices: see below
    for name in same - {"_report"}:
        assert pickle.dumps(vars(first)[name]) == pickle.dumps(vars(second)[name])
    prices = [[e.rho for e in m.ledger_.entries] for m in (first, second)]
    assert len(prices[0]) == 2 * first.n_rounds_ + (1 if centred else 2)
    assert prices[1] == [] or prices[0] == prices[1]


# --- ugly but lawful data ------------------------------------------------------------

UGLY = {
    "constant": lambda rng: np.ones((50, 4)),
    "all zero": lambda rng: np.zeros((50, 4)),
    "copies": lambda rng: np.repeat(rng.uniform(-1, 1, (50, 1)), 4, axis=1),
    "more columns than rows": lambda rng: rng.uniform(-1, 1, (5, 30)),
    "one column": lambda rng: rng.uniform(-1, 1, (50, 1)),
    "two rows": lambda rng: rng.uniform(-1, 1, (2, 4)),
    "far outside": lambda rng: 1e6 * rng.standard_normal((50, 4)),
    "one constant column": lambda rng: np.column_stack(
        [np.full(50, 0.3), rng.uniform(-1, 1, (50, 3))]
    ),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", UGLY)
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("clip", [None, 4.0])
def test_ugly_data_have_a_positive_definite_covariance(case, epsilon, clip):
    X = UGLY[case](np.random.default_rng(0))
    for centred in (True, False):
        model = fitted(X, epsilon, product_clip=clip, assume_centered=centred)
        assert np.isfinite(model.covariance_).all()
        assert np.isfinite(model.precision_).all()
        assert np.linalg.eigvalsh(model.covariance_)[0] > 0
        assert np.abs(model.covariance_).max() <= 1.5
        assert np.isfinite(model.score(np.clip(X, -1, 1)))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_a_tiny_budget_warns_that_all_is_noise(epsilon):
    with pytest.warns(PrivacyBudgetWarning, match="mostly noise"):
        model = fitted(chain(25, 500), epsilon)
    assert np.linalg.eigvalsh(model.covariance_)[0] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(chain(25, 20_000), 1.0)


def test_without_bounds_it_warns_of_a_leak():
    with pytest.warns(PrivacyLeakWarning, match="'x0'"):
        model = fitted(chain(3, 100), bounds=None)
    assert model.inferred_columns_ == ("x0", "x1", "x2")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("product_clip", 0.0), ("product_clip", "some"), ("diagonal_share", 1.0),
        ("selection_share", 0.0), ("n_entries", 0), ("n_entries", 2.5),
        ("batch_size", 0), ("annealing", -1.0), ("regularization", 0.0),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(parameter, value):
    model = PaceGGMCovariance(bounds=1.0, **{parameter: value})
    with pytest.raises(ValueError, match=f"'{parameter}'"):
        model.fit(chain(3, 50))
    assert not hasattr(model, "ledger_")


# --- in place of EmpiricalCovariance -----------------------------------------------


def test_is_an_empirical_covariance():
    X = chain(6, 20_000)
    model, plain = fitted(X, 3.0), EmpiricalCovariance(assume_centered=True).fit(X)
    assert isinstance(model, EmpiricalCovariance)
    assert model.error_norm(plain.covariance_, norm="spectral") < 0.2
    assert model.score(X) == pytest.approx(plain.score(X), abs=0.1)
    assert np.allclose(model.mahalanobis(X), plain.mahalanobis(X), rtol=0.3)
    whitened = model.transform(X)
    assert np.allclose(np.cov(whitened.T), np.eye(6), atol=0.3)
    assert np.allclose(model.inverse_transform(whitened), X)


def test_works_in_pipelines_searches_and_discriminants():
    X = chain(4, 3000)
    y = (X[:, 0] > 0).astype(int)
    piped = make_pipeline(fitted(X)).fit(X)
    assert np.array_equal(piped[-1].covariance_, fitted(X).covariance_)
    grid = {"epsilon": [0.01, 10.0], "product_clip": [None, 4.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        warnings.simplefilter("ignore", PrivacyBudgetWarning)
        search = GridSearchCV(clone(fitted(X)), grid, cv=2).fit(X)
        assert search.best_params_["epsilon"] == 10.0
        lda = LinearDiscriminantAnalysis(
            solver="lsqr", covariance_estimator=clone(fitted(X))
        ).fit(X[:, 1:], y)
    assert lda.score(X[:, 1:], y) > 0.8


def test_frames_have_names():
    frame = pd.DataFrame(chain(3, 2000), columns=["a", "b", "c"])
    model = fitted(frame)
    assert list(model.graph_) == ["a", "b", "c"]
    assert list(model.get_feature_names_out()) == ["a", "b", "c"]
    assert "PaceGGMCovariance" in str(model.privacy_report())


def test_epsilon_and_rho_are_one_guarantee():
    model = fitted(chain(3, 100), 2.0, delta=1e-5)
    assert dp_from_zcdp(model.rho_, 1e-5) == pytest.approx(2.0, rel=1e-9)
