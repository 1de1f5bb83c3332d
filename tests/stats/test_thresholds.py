"""Thresholds against numerical integration and simulation, and in their limits."""

from __future__ import annotations

from itertools import pairwise
from math import inf, log, sqrt

import numpy as np
import pytest
from scipy import integrate, stats

from skdp.stats import concordance, noise_aware_threshold, null_scale

ALPHAS = (1e-9, 1e-3, 0.05, 0.5, 0.9, 0.999)
SCALES = (1e-4, 0.03, 0.3, 1.0, 3.0, 100.0)


def exceedance(threshold, score_scale, noise_scale):
    """P(s|Z| + Lap(b) > T), by integrating over Z."""

    def integrand(z):
        tail = stats.laplace.sf(threshold, loc=score_scale * z, scale=noise_scale)
        return 2 * stats.norm.pdf(z) * tail

    kink, width = threshold / score_scale, noise_scale / score_scale
    around = kink + width * np.arange(-30, 31, 5)  # where the integrand bends
    ends = np.unique(np.clip([0, *around, 4, 40], 0, 40))
    return sum(
        integrate.quad(integrand, low, high, epsabs=0, epsrel=1e-11, limit=200)[0]
        for low, high in pairwise(ends)
    )


@pytest.mark.parametrize("noise_scale", SCALES)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_thresholds_agree_with_numerical_integration(alpha, noise_scale):
    threshold = noise_aware_threshold(alpha, 0.75, noise_scale)
    assert exceedance(threshold, 0.75, noise_scale) == pytest.approx(alpha, rel=1e-7)


@pytest.mark.parametrize("noise_scale", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.5, 0.95])
def test_thresholds_have_their_level_in_simulation(alpha, noise_scale):
    rng = np.random.default_rng(0)
    size = 400_000
    score = 0.8 * abs(rng.standard_normal(size))
    score += noise_scale * rng.laplace(size=size)
    level = (score > noise_aware_threshold(alpha, 0.8, noise_scale)).mean()
    assert abs(level - alpha) < 4.5 * sqrt(alpha * (1 - alpha) / size)


# Limits -----------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-12, 0.05, 0.5, 1 - 1e-9])
def test_without_noise_it_is_the_quantile_of_a_normal_variable(alpha):
    expected = 1.3 * stats.norm.isf(alpha / 2)
    assert noise_aware_threshold(alpha, 1.3, 0.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("alpha", [1e-6, 0.05, 0.5, 0.95])
@pytest.mark.parametrize("noise_scale", [1e-4, 1e-5, 1.1e-6, 0.9e-6, 1e-9])
def test_tiny_noise_changes_the_threshold_little(alpha, noise_scale):
    quiet = noise_aware_threshold(alpha, 1.0, 0.0)
    assert noise_aware_threshold(alpha, 1.0, noise_scale) == pytest.approx(
        quiet, abs=3 * noise_scale**2 * (1 + quiet) + 1e-8
    )


@pytest.mark.parametrize("alpha", [1e-12, 0.05, 0.5, 0.95, 1 - 1e-9])
def test_without_a_score_it_is_the_quantile_of_the_noise(alpha):
    expected = stats.laplace.isf(alpha, scale=2.0)
    found = noise_aware_threshold(alpha, 0.0, 2.0)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert noise_aware_threshold(alpha, 0.0, 0.0) == 0


@pytest.mark.parametrize("noise_scale", [1e4, 1e8])
def test_huge_noise_hides_the_score(noise_scale):
    for alpha in (1e-6, 0.05, 0.9):
        expected = stats.laplace.isf(alpha, scale=noise_scale)
        found = noise_aware_threshold(alpha, 1.0, noise_scale)
        # The score adds its mean, sqrt(2/pi), to the noise.
        assert found - expected == pytest.approx(sqrt(2 / np.pi), rel=0.01)


@pytest.mark.parametrize("ratio", [1e-8, 1e-3, 1.0, 1e3])
def test_levels_near_zero_and_one(ratio):
    tiny, huge = (noise_aware_threshold(a, 1.0, ratio) for a in (1e-300, 1 - 1e-15))
    assert np.isfinite([tiny, huge]).all()
    # At a level near 0 the heavier tail decides, at a level near 1 the noise alone.
    assert tiny >= max(stats.norm.isf(1e-300), -ratio * log(2e-300)) * (1 - 1e-9)
    assert -40 * ratio < huge < 1


def test_thresholds_fall_with_the_level_and_grow_with_the_scales():
    levels = np.linspace(0.01, 0.99, 25)
    thresholds = [noise_aware_threshold(alpha, 1.0, 0.5) for alpha in levels]
    assert (np.diff(thresholds) < 0).all()
    for alpha in (0.01, 0.05, 0.3):
        by_noise = [noise_aware_threshold(alpha, 1.0, b) for b in SCALES]
        by_score = [noise_aware_threshold(alpha, s, 1.0) for s in SCALES]
        assert (np.diff(by_noise) > 0).all()
        assert (np.diff(by_score) > 0).all()


def test_thresholds_scale_with_the_units():
    for factor in (1e-3, 1e4):
        scaled = noise_aware_threshold(0.05, factor * 0.7, factor * 0.2)
        assert scaled == pytest.approx(factor * noise_aware_threshold(0.05, 0.7, 0.2))


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, float("nan")])
def test_impossible_levels_are_refused(alpha):
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        noise_aware_threshold(alpha, 1.0, 1.0)


# The scale under independence -------------------------------------------------


def test_null_scale_in_closed_form():
    assert null_scale(inf, inf) == 1
    assert null_scale(2, 2) == 0.75
    assert null_scale(1, 5) == 0
    assert null_scale(2, 3) == pytest.approx(sqrt(3 / 4 * 8 / 9))
    assert null_scale(inf, inf, 0.1) == pytest.approx(sqrt(1.15))
    assert null_scale(inf, inf, 1e6) == pytest.approx(sqrt(11 / 9))


def rejection(x, y, n_strata=1, n=1000, size=20_000):
    """Return how often independence is rejected at the level .05 where it holds.

    x and y are the probabilities of the levels in every stratum.
    """
    rng = np.random.default_rng(0)
    shape = (n_strata, len(x), len(y))
    cells = np.broadcast_to(np.outer(x, y) / n_strata, shape).ravel()
    tables = rng.multinomial(n, cells / cells.sum(), size=size).reshape(size, *shape)
    sizes = np.maximum(tables.sum(axis=(2, 3)), 1)
    s = concordance(tables.reshape(-1, *shape[1:])).reshape(size, n_strata)
    scores = 1.5 * abs((2 * s / sizes).sum(axis=1)) / sqrt(n)
    scale = null_scale(len(x), len(y), n_strata / n)
    return (scores > noise_aware_threshold(0.05, scale, 0.0)).mean()


def balanced(n_levels):
    return np.full(n_levels, 1 / n_levels)


@pytest.mark.parametrize("r, c", [(2, 2), (2, 3), (3, 3), (5, 5), (10, 2)])
def test_balanced_levels_have_the_level_of_the_test(r, c):
    assert 0.044 <= rejection(balanced(r), balanced(c)) <= 0.055


@pytest.mark.parametrize("n_strata", [4, 20, 200])
@pytest.mark.parametrize("levels", [2, 3])
def test_strata_make_the_test_careful(levels, n_strata):
    probabilities = balanced(levels)
    level = rejection(probabilities, probabilities, n_strata, n=200, size=3000)
    assert (0.03 if n_strata == 4 else 0) <= level <= 0.055


@pytest.mark.parametrize("x", [(0.9, 0.1), (0.98, 0.01, 0.01), (0.1, 0.8, 0.1)])
def test_unequal_levels_make_the_test_careful(x):
    assert rejection(x, balanced(3)) <= 0.052
    assert rejection(x, x) <= 0.05


def test_without_declared_levels_a_binary_test_would_hardly_reject():
    threshold = noise_aware_threshold(0.05, null_scale(inf, inf), 0.0)
    share = 2 * stats.norm.sf(threshold / null_scale(2, 2))
    assert share == pytest.approx(0.009, abs=1e-3)
