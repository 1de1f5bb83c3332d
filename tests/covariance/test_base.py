"""What all private covariances share: units, mean, whitening, downstream, ugly data."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import EmpiricalCovariance
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from support.families import COVARIANCE, build, numbers

from skdp import GaussianMechanismCovariance, Numeric, Schema
from skdp.covariance.spectra import floor_eigenvalues
from skdp.exceptions import (
    ClippedValuesWarning,
    PrivacyBudgetWarning,
    PrivacyLeakWarning,
    SchemaError,
)
from skdp.privacy import zcdp_from_dp

each = pytest.mark.parametrize("name", COVARIANCE.builders)
HUGE = {"epsilon": 1e5, "delta": 0.5}  # next to no noise


def relative_error(model, truth):
    width = np.array([(c.high - c.low) / 2 for c in model.schema_])
    scale = np.outer(width, width)
    error = (model.covariance_ - truth) / scale
    return np.linalg.norm(error) / np.linalg.norm(truth / scale)


@each
def test_with_a_huge_budget_it_is_the_empirical_covariance(name):
    frame = numbers(20_000)
    truth = EmpiricalCovariance().fit(frame)
    model = build(name, **HUGE).fit(frame)
    assert relative_error(model, truth.covariance_) < 0.1
    width = [50, 1e-3, 1, 1]
    np.testing.assert_allclose(
        (model.location_ - truth.location_) / width, 0, atol=0.002
    )
    centred = build(name, **HUGE, assume_centered=True).fit(frame)
    middle = [50, 0, 1, 0]
    np.testing.assert_array_equal(centred.location_, middle)
    moments = (frame - middle).T @ (frame - middle) / 20_000
    assert relative_error(centred, moments.to_numpy()) < 0.1


@each
def test_the_whole_budget_is_spent_and_no_more(name):
    for centred in (False, True):
        model = build(name, epsilon=0.5, assume_centered=centred).fit(numbers())
        spent = sum(entry.rho for entry in model.ledger_)
        rho = zcdp_from_dp(0.5, 1e-6)
        assert model.rho_ == pytest.approx(rho, rel=1e-9)
        assert spent <= rho
        assert spent >= 0.97 * rho  # a sparse vector is cheaper than its share
        assert model.ledger_.total() <= 0.5


@each
def test_covariance_and_precision_belong_together(name):
    model = build(name).fit(numbers())
    width = np.array([50, 1e-3, 1, 1])
    scale = np.outer(width, width)
    product = (model.covariance_ / scale) @ (model.precision_ * scale)
    np.testing.assert_allclose(product, np.eye(4), atol=1e-5)
    assert np.linalg.eigvalsh(model.covariance_ / scale)[0] > 0
    np.testing.assert_array_equal(model.covariance_, model.covariance_.T)
    plain = build(name, store_precision=False).fit(numbers())
    assert plain.precision_ is None
    np.testing.assert_allclose(
        plain.get_precision() * scale, model.precision_ * scale, rtol=1e-4, atol=1e-9
    )
    assert np.isfinite(model.score(numbers()))
    assert np.isfinite(model.error_norm(model.covariance_ * 2))


@each
def test_whitening_and_back(name):
    frame = numbers(20_000)
    model = build(name, **HUGE).fit(frame)
    white = model.transform(frame)
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(4), atol=0.3)
    back = model.inverse_transform(white)
    np.testing.assert_allclose(back, frame, rtol=1e-6, atol=1e-9)
    assert list(model.set_output(transform="pandas").transform(frame)) == list("abcd")
    assert list(model.get_feature_names_out()) == list("abcd")


def test_principal_components():
    frame = numbers(5000)[["c", "d"]]
    model = GaussianMechanismCovariance(**HUGE, bounds=2.0).fit(frame)
    truth = PCA().fit(frame)
    found = model.to_pca()
    np.testing.assert_allclose(
        np.abs(found.components_), np.abs(truth.components_), atol=0.02
    )
    np.testing.assert_allclose(
        found.explained_variance_, truth.explained_variance_, rtol=0.02
    )
    assert model.to_pca(1).transform(frame).shape == (5000, 1)
    with pytest.raises(ValueError, match="from 1 to 2"):
        model.to_pca(3)


def test_ridge_regression():
    frame = numbers(5000)
    model = build("GaussianMechanismCovariance", **HUGE).fit(frame)
    truth = Ridge(alpha=1e-9).fit(frame[["a", "c", "d"]], frame["b"])
    found = model.to_ridge("b")
    np.testing.assert_allclose(found.coef_, truth.coef_, rtol=0.02, atol=1e-5)
    np.testing.assert_allclose(
        found.predict(frame[["a", "c", "d"]]),
        truth.predict(frame[["a", "c", "d"]]),
        atol=5e-5,
    )
    assert list(found.feature_names_in_) == ["a", "c", "d"]
    noisy = build("GaussianMechanismCovariance", epsilon=0.05).fit(frame)
    assert noisy.to_ridge("b").alpha > found.alpha
    assert noisy.to_ridge("b", alpha=0.5).alpha == 0.5
    with pytest.raises(SchemaError, match="'z'"):
        model.to_ridge("z")
    alone = build("GaussianMechanismCovariance", schema=model.schema_.select(("a",)))
    with pytest.raises(ValueError, match="no column besides 'a'"):
        alone.fit(frame[["a"]]).to_ridge("a")


@each
def test_the_graph_has_an_edge_for_each_partial_correlation(name):
    model = build(name).fit(numbers())
    assert list(model.graph_) == list("abcd")
    assert model.graph_.number_of_edges() <= 6
    for i, j, weight in model.graph_.edges(data="weight"):
        assert i != j and -1 <= weight <= 1
    with pytest.raises(NotFittedError):
        _ = build(name).graph_


def test_the_standard_error_is_that_of_the_noise():
    frame = numbers(500)
    models = [
        GaussianMechanismCovariance(
            0.5, bounds=([0, -1e-3, 0, -1], [100, 1e-3, 2, 1]), psd=False,
            assume_centered=True, random_state=seed,
        ).fit(frame)
        for seed in range(200)
    ]  # fmt: skip
    spread = np.std([m.covariance_ for m in models], axis=0)
    np.testing.assert_allclose(spread, models[0].standard_error_, rtol=0.25)


# --- ugly but lawful data -------------------------------------------------------------


@each
@pytest.mark.parametrize("centred", [False, True])
def test_ugly_data_give_a_positive_definite_matrix(name, centred):
    rng = np.random.default_rng(0)
    tables = {
        "one column": rng.uniform(-1, 1, (50, 1)),
        "two records": rng.uniform(-1, 1, (2, 3)),
        "more columns than records": rng.uniform(-1, 1, (5, 12)),
        "constant columns": np.column_stack([np.zeros(40), np.ones(40), -np.ones(40)]),
        "all zero": np.zeros((30, 4)),
        "duplicated columns": np.repeat(rng.uniform(-1, 1, (90, 1)), 4, axis=1),
    }
    for table in tables.values():
        model = build(name, schema=None, bounds=1.0, assume_centered=centred)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyBudgetWarning)
            model.fit(table)
        assert np.isfinite(model.covariance_).all()
        assert np.linalg.eigvalsh(model.covariance_)[0] > 0
        assert np.isfinite(model.score(table))


@each
def test_all_noise_is_said_and_still_a_covariance(name):
    with pytest.warns(PrivacyBudgetWarning, match="mostly noise"):
        model = build(name, epsilon=1e-4).fit(numbers(50))
    assert np.linalg.eigvalsh(model._in_cube())[0] > 0


@each
def test_a_warning_as_an_error_does_not_undo_a_fit(name):
    model = build(name, epsilon=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyBudgetWarning)
        with pytest.raises(PrivacyBudgetWarning):
            model.fit(numbers(50))
    assert model.covariance_.shape == (4, 4)
    assert "Spent" in str(model.privacy_report())


@each
def test_delta_zero_is_refused_with_the_remedy(name):
    with pytest.raises(ValueError, match="delta=1e-6"):
        build(name, delta=0.0).fit(numbers())


def test_where_bounds_come_from_is_said():
    frame = numbers()
    with pytest.warns(PrivacyLeakWarning, match="'a', 'b', 'c', 'd'"):
        model = GaussianMechanismCovariance().fit(frame)
    assert model.inferred_columns_ == tuple("abcd")
    assert "bounds of 'a', 'b', 'c', 'd' were read off" in str(model.privacy_report())
    with pytest.warns(ClippedValuesWarning):
        model = GaussianMechanismCovariance(bounds=1.0).fit(frame)
    assert "a [-1, 1]" in str(model.privacy_report())
    with pytest.raises(SchemaError, match="'a', 'c'"):
        GaussianMechanismCovariance(bounds=1.0, outside="refuse").fit(frame)
    schema = Schema([Numeric("a", 0, 1), Numeric("b", 0, 1)])
    with pytest.raises(SchemaError, match="not both"):
        GaussianMechanismCovariance(bounds=1.0, schema=schema).fit(frame)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("bounds", -1.0),
        ("bounds", "wide"),
        ("bounds", 0.0),
        ("outside", "ignore"),
        ("mean_share", 0.0),
        ("mean_share", 1.0),
        ("assume_centered", "yes"),
        ("radius", 0.0),
    ],
)
def test_bad_parameters_are_named(parameter, value):
    model = GaussianMechanismCovariance(**{parameter: value})
    with pytest.raises(ValueError, match=parameter):
        model.fit(numbers())
    assert not hasattr(model, "ledger_")


def test_bounds_as_arrays_survive_clones_and_reports():
    from sklearn.base import clone

    low, high = np.array([0, -1e-3, 0, -1]), np.array([100, 1e-3, 2, 1])
    model = clone(GaussianMechanismCovariance(bounds=(low, high), random_state=0))
    model.fit(numbers())
    assert "b [-0.001, 0.001]" in str(model.privacy_report())
    framed = build("GaussianMechanismCovariance").fit(numbers())
    np.testing.assert_allclose(model.covariance_, framed.covariance_)
    assert isinstance(model.transform(numbers()), np.ndarray)
    assert isinstance(numbers(), pd.DataFrame)


def test_floored_eigenvalues():
    matrix = np.diag([3.0, 1.0])
    assert floor_eigenvalues(matrix) is matrix
    floored = floor_eigenvalues(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.25)
    np.testing.assert_allclose(np.linalg.eigvalsh(floored), [0.25, 3.0])
    assert np.linalg.eigvalsh(floor_eigenvalues(np.zeros((2, 2))))[0] > 0


@each
@pytest.mark.parametrize(
    "extreme", [{"mean_share": 1e-300}, {"mean_share": 1 - 1e-16}, {"radius": 1e-170}]
)
def test_extreme_parameters_are_refused_before_anything_is_spent(name, extreme):
    model = build(name)
    if not extreme.keys() <= model.get_params().keys():
        pytest.skip("without a radius")
    with pytest.raises(ValueError, match=next(iter(extreme))):
        model.set_params(**extreme).fit(numbers())
    assert not vars(model).get("ledger_")


@each
def test_the_smallest_and_largest_mean_shares_fit(name):
    for share in (1e-6, 1 - 1e-6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = build(name, mean_share=share).fit(numbers(200))
        assert np.isfinite(model.covariance_).all()
