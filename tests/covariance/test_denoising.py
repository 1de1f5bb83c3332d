"""Denoisers of one noisy matrix, their combination, and the estimator on top."""

from __future__ import annotations

import warnings
from math import sqrt

import numpy as np
import pytest

from skdp import AdaptiveCovariance, DenoisedCovariance, GaussianMechanismCovariance
from skdp.covariance.denoising import (
    candidates,
    denoise,
    diagonal_only,
    graphical,
    shrink_residual,
    shrink_spectrum,
    threshold,
)
from skdp.covariance.measurement import Measurement
from skdp.covariance.spectra import project_to_psd
from skdp.exceptions import PrivacyBudgetWarning
from skdp.privacy import dp_from_zcdp


def chain(d=40, correlation=0.7):
    return correlation ** np.abs(np.subtract.outer(range(d), range(d))) / 4


def spikes(d=40):
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    return (basis * [3.0, 1.5]) @ basis.T + np.eye(d) * 0.05


def measure(truth, noise, seed=0, diagonal_noise=None):
    rng = np.random.default_rng(seed)
    diagonal_noise = noise if diagonal_noise is None else diagonal_noise
    added = np.triu(rng.standard_normal(truth.shape), 1) * noise
    added = added + added.T + np.diag(rng.standard_normal(len(truth)) * diagonal_noise)
    return Measurement(truth + added, noise, diagonal_noise)


TRUTHS = {"chain": chain(), "spikes": spikes(), "independent": np.eye(40) / 4}


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
@pytest.mark.parametrize("noise", [0.001, 0.02, 0.1, 1.0])
def test_the_combination_is_about_as_good_as_the_best(truth, noise):
    measured = measure(truth, noise)
    errors = [np.linalg.norm(f - truth) for f in candidates(measured).values()]
    matrix, weights = denoise(measured)
    assert np.linalg.norm(matrix - truth) < 1.15 * min(errors) + 1e-9
    assert sum(weights.values()) == pytest.approx(1)
    assert min(weights.values()) >= 0
    assert np.linalg.eigvalsh(matrix)[0] > -1e-9
    again, same = denoise(measured)
    np.testing.assert_array_equal(matrix, again)
    assert weights == same


def test_each_truth_has_its_denoiser():
    found = candidates(measure(chain(), 0.02))
    plain = np.linalg.norm(found["projection"] - chain())
    assert np.linalg.norm(found["graphical"] - chain()) < 0.9 * plain
    found = candidates(measure(spikes(), 0.1))
    plain = np.linalg.norm(found["projection"] - spikes())
    assert np.linalg.norm(found["diagonal + spectral"] - spikes()) < plain
    found = candidates(measure(np.eye(40) / 4, 0.1))
    assert np.linalg.norm(found["diagonal"] - np.eye(40) / 4) < 0.2


def test_pure_noise_is_taken_away():
    measured = measure(np.eye(60) / 4, 0.05)
    model = np.eye(60) / 4
    assert np.linalg.norm(shrink_spectrum(measured, model) - model) < 0.3
    assert np.linalg.norm(shrink_residual(measured, model) - model) < 1.0
    assert np.linalg.norm(measured.matrix - model) > 2.5


def test_a_spike_is_shrunk_as_theory_says():
    d, noise, size = 400, 0.05, 3.0
    direction = np.full((d, 1), 1 / sqrt(d))
    measured = measure(size * direction @ direction.T, noise)
    found = np.linalg.eigvalsh(shrink_spectrum(measured, np.zeros((d, d))))[-1]
    # The eigenvalue is l + d sigma^2/l and comes back as l - d sigma^2/l.
    assert found == pytest.approx(size - d * noise**2 / size, rel=0.03)


def test_thresholds():
    matrix = np.array([[1.0, 0.2, -0.4], [0.2, 1.0, 0.0], [-0.4, 0.0, 1.0]])
    np.testing.assert_allclose(
        threshold(matrix, 0.3), [[1, 0, -0.4], [0, 1, 0], [-0.4, 0, 1]], atol=1e-12
    )


def test_graphical_models_hold_what_stands_out():
    measured = measure(chain(), 0.005)
    model = graphical(measured, 4.0)
    precision = np.linalg.inv(model)
    far = np.abs(np.subtract.outer(range(40), range(40))) > 12
    assert np.abs(precision[far]).max() < 1e-3 * np.abs(precision).max()
    np.testing.assert_allclose(model, chain(), atol=0.05)
    alone = graphical(measure(chain(), 10.0), 5.0)
    np.testing.assert_array_equal(alone, np.diag(alone.diagonal()))


def test_splits_are_independent_and_of_the_size_they_say():
    rng, truth = np.random.default_rng(0), chain(2)
    first, second = [], []
    for seed in range(4000):
        a, b = measure(truth, 0.1, seed, diagonal_noise=0.05).split(0.7, rng)
        first.append(a.matrix[np.triu_indices(2)])
        second.append(b.matrix[np.triu_indices(2)])
    first, second = np.array(first), np.array(second)
    growth = np.array([sqrt(1 + 0.49), sqrt(1 + 1 / 0.49)])
    noises = np.array([0.05, 0.1, 0.05])
    np.testing.assert_allclose(first.std(axis=0), growth[0] * noises, rtol=0.05)
    np.testing.assert_allclose(second.std(axis=0), growth[1] * noises, rtol=0.05)
    for j in range(3):
        assert abs(np.corrcoef(first[:, j], second[:, j])[0, 1]) < 0.06
    assert a.noise == pytest.approx(growth[0] * 0.1)
    assert b.diagonal_noise == pytest.approx(growth[1] * 0.05)


def test_measurements_are_combined_by_inverse_variance():
    one, two = measure(chain(3), 0.1, 1, 0.2), measure(chain(3), 0.2, 2, 0.1)
    both = one.combined(two)
    expected = 0.8 * one.matrix[0, 1] + 0.2 * two.matrix[0, 1]
    assert both.matrix[0, 1] == pytest.approx(expected)
    assert both.noise == pytest.approx(1 / sqrt(100 + 25))
    assert both.diagonal_noise == pytest.approx(both.noise)


def test_a_single_column():
    matrix, weights = denoise(Measurement(np.array([[-0.1]]), 0.5, 0.5))
    assert matrix[0, 0] > 0
    assert weights == {"diagonal": 1.0}
    assert diagonal_only(Measurement(np.eye(2), 0.1, 0.1)).shape == (2, 2)


# The estimator ----------------------------------------------------------------


def records(truth, n=5000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(truth))) @ np.linalg.cholesky(truth).T
    return np.clip(X / 8, -1, 1)


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
@pytest.mark.parametrize("rho", [0.005, 0.5])
def test_it_beats_the_baselines(truth, rho):
    X = records(truth)
    S = X.T @ X / len(X)
    options = {"bounds": 1.0, "assume_centered": True, "random_state": 0}

    def error(kind, **more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(dp_from_zcdp(rho, 1e-6), **options, **more).fit(X)
        return np.linalg.norm(project_to_psd(model.covariance_) - S)

    found = error(DenoisedCovariance)
    assert found < 0.25 * error(GaussianMechanismCovariance)
    assert found < 0.95 * error(AdaptiveCovariance)


def test_the_radius_is_private_and_paid_for():
    X = records(chain())
    model = DenoisedCovariance(
        1.0, bounds=1.0, assume_centered=True, random_state=0
    ).fit(X)
    radius, moments = model.ledger_
    assert radius.mechanism == "exponential"
    assert radius.rho == pytest.approx(0.06 * model.rho_)
    assert radius.rho == pytest.approx(radius.epsilon**2 / 8)
    assert moments.rho == pytest.approx(0.94 * model.rho_)
    norms = np.linalg.norm(X, axis=1)
    assert np.median(norms) < model.radius_ < 1.5 * norms.max()
    assert sum(model.weights_.values()) == pytest.approx(1)


def test_ties_do_not_return_a_huge_radius():
    # Every row is at the origin: all radii are alike but for their price.
    with pytest.warns(PrivacyBudgetWarning):
        model = DenoisedCovariance(
            1.0, bounds=1.0, assume_centered=True, random_state=0
        ).fit(np.zeros((5000, 40)))
    assert model.radius_ < 0.5


def test_single_entries_may_join():
    X = records(chain())
    options = {"bounds": 1.0, "assume_centered": True, "random_state": 0}
    model = DenoisedCovariance(1.0, strategy="pace", **options).fit(X)
    mechanisms = [entry.mechanism for entry in model.ledger_]
    assert mechanisms[:3] == ["exponential", "gaussian", "gaussian"]
    assert "top_k" in mechanisms
    assert "adaptive" in model.weights_
    assert model.ledger_.entries[1].rho == pytest.approx(0.47 * model.rho_)
    assert model.ledger_.total() == pytest.approx(1.0, rel=1e-6)
    alone = DenoisedCovariance(1.0, strategy="pace", **options).fit(X[:, :1])
    assert len(alone.ledger_) == 2
