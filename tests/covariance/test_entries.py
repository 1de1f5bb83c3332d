"""How measurements of entries are combined, and noisy variances made positive."""

from __future__ import annotations

import numpy as np
import pytest

from skdp.covariance.entries import EntryMeasurements, shrunken_diagonal


def test_repeated_measurements_are_weighted_by_their_precision():
    measured = EntryMeasurements(3)
    measured.add([0, 1, 0], [0, 1, 0], [1.0, 5.0, 4.0], [1.0, 2.0, 0.5])
    measured.add([0], [2], [7.0], 0.25)
    measured.add([0], [2], [1.0], [0.5])
    mask = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 0]], bool)
    assert np.array_equal(measured.mask, mask)
    nan, inf = np.nan, np.inf
    expected = np.array([[3.0, nan, 5.0], [nan, 5.0, nan], [5.0, nan, nan]])
    variances = np.array([[1 / 3, inf, 1 / 6], [inf, 2.0, inf], [1 / 6, inf, inf]])
    assert np.allclose(measured.values, expected, equal_nan=True)
    assert np.allclose(measured.variances, variances)


def test_variances_without_noise_are_left_alone():
    values = np.array([0.1, 0.5, 0.9])
    shrunk, left = shrunken_diagonal(values, np.full(3, 1e-12))
    assert np.allclose(shrunk, values)
    assert np.allclose(left, 1e-12)


def test_variances_that_are_all_noise_become_their_mean():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(50) * 0.1
    shrunk, left = shrunken_diagonal(0.3 + noise, np.full(50, 0.01))
    assert np.abs(shrunk - 0.3).max() < 0.08
    assert (left < 0.005).all() and (left >= 0.01 / 50).all()


def test_shrinking_is_worth_it():
    rng = np.random.default_rng(1)
    truth = rng.uniform(0.1, 0.5, 200)
    noisy = truth + 0.2 * rng.standard_normal(200)
    shrunk, left = shrunken_diagonal(noisy, np.full(200, 0.04))
    errors = (shrunk - truth) ** 2
    assert errors.mean() < 0.6 * ((noisy - truth) ** 2).mean()
    assert left.mean() < 0.04


@pytest.mark.parametrize("values", [[-3.0], [0.5, -2.0], [9.0, -9.0, 0.0], [0.0] * 4])
def test_the_result_lies_in_the_cube(values):
    shrunk, left = shrunken_diagonal(np.array(values), np.full(len(values), 0.1))
    assert (shrunk >= 1e-4).all() and (shrunk <= 1).all()
    assert (left > 0).all() and np.isfinite(left).all()
