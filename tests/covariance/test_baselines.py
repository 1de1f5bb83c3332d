"""The baselines: what they buy, at what price, and where each is good."""

from __future__ import annotations

import warnings
from math import sqrt

import numpy as np
import pytest

from skdp import (
    AdaptiveCovariance,
    CoinPressCovariance,
    GaussianMechanismCovariance,
    SeparateCovariance,
    ThresholdedCovariance,
)
from skdp.exceptions import PrivacyBudgetWarning
from skdp.privacy import dp_from_zcdp


def gaussian(n=5000, d=10, scale=0.25, seed=0):
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(range(d), range(d))))
    return np.clip(rng.standard_normal((n, d)) @ root.T * scale, -1, 1)


def fit(kind, X, rho=0.5, **options):
    options = {"bounds": 1.0, "assume_centered": True, "random_state": 0, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(dp_from_zcdp(rho, 1e-6), **options).fit(X)


def error(kind, X, rho=0.5, **options):
    truth = X.T @ X / len(X)
    errors = [
        np.linalg.norm(fit(kind, X, rho, random_state=s, **options).covariance_ - truth)
        for s in range(3)
    ]
    return np.median(errors) / np.linalg.norm(truth)


def bought(model):
    return [(e.query, round(e.rho / model.rho_, 4)) for e in model.ledger_]


# The Gaussian mechanism -------------------------------------------------------


def test_the_gaussian_mechanism_buys_one_answer():
    model = fit(GaussianMechanismCovariance, gaussian())
    assert bought(model) == [("SecondMoments()", 1.0)]
    (entry,) = model.ledger_
    assert (entry.sensitivity, entry.norm) == (10.0, "L2")
    noise = 10 / (5000 * sqrt(2 * model.rho_))
    off = model.standard_error_[0, 1]
    assert off == pytest.approx(noise, rel=1e-9)
    assert model.standard_error_[0, 0] == pytest.approx(noise / sqrt(5.5), rel=0.02)
    plain = fit(GaussianMechanismCovariance, gaussian(), free_diagonal=False)
    assert plain.standard_error_[0, 0] == pytest.approx(noise, rel=1e-9)


def test_a_radius_makes_it_less_sensitive():
    X = gaussian(scale=0.1)
    model = fit(GaussianMechanismCovariance, X, radius=0.5)
    assert model.ledger_.entries[0].sensitivity == pytest.approx(sqrt(2) * 0.25)
    loose = error(GaussianMechanismCovariance, X)
    assert error(GaussianMechanismCovariance, X, radius=0.7) < loose / 5


def test_a_bound_on_the_norm_alone():
    X = gaussian(scale=0.1)
    r = 0.7
    model = fit(GaussianMechanismCovariance, X, bounds=r, radius=1.0, psd=False)
    assert model.standard_error_[0, 1] == pytest.approx(
        sqrt(2) * r**2 / (5000 * sqrt(2 * model.rho_)), rel=1e-6
    )


def test_without_projection_it_is_unbiased():
    X = gaussian(300, 3)
    truth = X.T @ X / 300
    found = [
        fit(GaussianMechanismCovariance, X, psd=False, random_state=s).covariance_
        for s in range(300)
    ]
    spread = fit(GaussianMechanismCovariance, X, psd=False).standard_error_
    np.testing.assert_array_less(
        np.abs(np.mean(found, axis=0) - truth), 4 * spread / sqrt(300) + 1e-4
    )
    noisy = fit(GaussianMechanismCovariance, X, rho=1e-4, psd=False).covariance_
    assert np.linalg.eigvalsh(noisy)[0] < 0


# Thresholding -----------------------------------------------------------------


def test_thresholding_keeps_what_stands_out():
    X = np.random.default_rng(0).choice([-1.0, 1.0], (20_000, 30))
    X[:, 1] = X[:, 0]
    model = fit(ThresholdedCovariance, X)
    off = model.covariance_ - np.diag(model.covariance_.diagonal())
    assert off[0, 1] > 0.8
    off[0, 1] = off[1, 0] = 0
    assert np.abs(off).max() < 0.1
    everything = fit(ThresholdedCovariance, X, gamma=1e6)
    np.testing.assert_allclose(
        everything.covariance_, np.diag(everything.covariance_.diagonal()), atol=1e-9
    )
    plain = error(GaussianMechanismCovariance, X, rho=0.005)
    assert error(ThresholdedCovariance, X, rho=0.005) < 0.9 * plain


# SeparateCov and AdaptiveCov --------------------------------------------------


def test_eigenvalues_and_vectors_are_bought_apart():
    X = gaussian()
    model = fit(SeparateCovariance, X)
    assert bought(model) == [("SecondMoments()", 0.5), ("Eigenvalues()", 0.5)]
    assert model.ledger_.entries[1].sensitivity == pytest.approx(sqrt(2) * 10)
    smaller = fit(SeparateCovariance, X, radius=2.0)
    assert smaller.ledger_.entries[1].sensitivity == pytest.approx(sqrt(2) * 4)
    truth = np.linalg.eigvalsh(X.T @ X / len(X))
    found = np.linalg.eigvalsh(fit(SeparateCovariance, X, rho=1e4).covariance_)
    np.testing.assert_allclose(found, truth, atol=1e-3)


def test_the_radius_follows_the_data():
    X = gaussian(20_000, 20, scale=0.05)
    model = fit(AdaptiveCovariance, X)
    norms = np.linalg.norm(X, axis=1)
    assert np.quantile(norms, 0.5) < model.radius_ < 3 * np.quantile(norms, 0.99)
    shares = [share for _, share in bought(model)]
    assert shares[0] == 0.125
    assert 0.08 < shares[1] <= 0.125  # a pure mechanism is a little cheaper in zCDP
    assert sum(shares[2:]) == pytest.approx(0.75)
    assert error(AdaptiveCovariance, X) < error(GaussianMechanismCovariance, X) / 3


def test_the_sparse_vector_asks_less_sensitive_questions_for_larger_radii():
    model = fit(AdaptiveCovariance, gaussian())
    (sieve,) = (e for e in model.ledger_ if e.mechanism == "sparse_vector")
    assert sieve.epsilon == pytest.approx(sqrt(model.rho_) / 2)
    assert model.mechanism_ in ("gaussian", "separate")


def test_many_columns_and_few_records_are_measured_apart():
    X = np.random.default_rng(0).choice([-1.0, 1.0], (300, 200))
    assert fit(AdaptiveCovariance, X, rho=0.01).mechanism_ == "separate"
    assert fit(AdaptiveCovariance, gaussian(50_000, 5), rho=5).mechanism_ == "gaussian"


# CoinPress --------------------------------------------------------------------


def test_coinpress_finds_the_scale():
    X = gaussian(50_000, 5, scale=0.01)
    blind = error(GaussianMechanismCovariance, X)
    one, two, three = (error(CoinPressCovariance, X, n_steps=t) for t in (1, 2, 3))
    assert three < two < one
    assert three < 0.01 < blind / 20


@pytest.mark.parametrize(
    ("n_steps", "shares"), [(1, [1.0]), (2, [0.25, 0.75]), (3, [0.125, 0.125, 0.75])]
)
def test_the_budgets_of_the_steps(n_steps, shares):
    model = fit(CoinPressCovariance, gaussian(), n_steps=n_steps)
    assert [share for _, share in bought(model)] == shares


def test_units_are_multiplied_on_the_right_side():
    # Strongly correlated columns of unlike scale: a wrong order shows from step 3 on.
    rng = np.random.default_rng(0)
    common = rng.standard_normal((50_000, 1))
    X = common * [0.2, 0.01, 0.05] + rng.standard_normal((50_000, 3)) * [
        0.01,
        0.005,
        0.03,
    ]
    X = np.clip(X, -1, 1)
    truth = X.T @ X / len(X)
    scale = np.sqrt(np.outer(truth.diagonal(), truth.diagonal()))
    for n_steps in (3, 4, 6):
        found = fit(CoinPressCovariance, X, rho=50.0, n_steps=n_steps).covariance_
        np.testing.assert_allclose(found / scale, truth / scale, atol=0.1)


def test_a_collapse_by_clipping_is_not_silent():
    X = np.random.default_rng(0).standard_normal((500, 3))
    n_collapsed = 0
    for seed in range(10):
        model = AdaptiveCovariance(1.0, bounds=4.0, random_state=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X)
        warned = any(w.category is PrivacyBudgetWarning for w in caught)
        collapsed = np.trace(model.covariance_) < 0.3
        n_collapsed += collapsed
        assert warned or not collapsed
    assert n_collapsed


def test_a_good_radius_brings_no_warning():
    X = gaussian(20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyBudgetWarning)
        for seed in range(3):
            model = AdaptiveCovariance(
                2.0, bounds=1.0, assume_centered=True, random_state=seed
            ).fit(X)
            assert model.ledger_.total() <= 2.0


@pytest.mark.parametrize("kind", [CoinPressCovariance, SeparateCovariance])
def test_no_variance_exceeds_what_the_bounds_allow(kind):
    model = fit(kind, gaussian(100, 6), rho=1e-3, bounds=3.0)
    # A floor under the eigenvalues lifts it a little.
    assert model.covariance_.diagonal().max() <= 9 * (1 + 1e-5)
    assert np.linalg.eigvalsh(model.covariance_).min() >= -1e-9
