"""The noise has the law it claims: by exact arithmetic, by counting, by a peer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skdp.privacy import noise
from skdp.privacy.coins import exponential_tables
from skdp.privacy.digits import digit_table
from skdp.privacy.noise import discrete_gaussian, discrete_laplace

MILLION = 10**6
SCALES = (0.3, 1.0, Fraction(7, 3), 20, 1000.0)
SIGMAS = (0.3, 0.8, 1.0, 2.5, 31.7, 1000.0)


def laplace_pmf(k: np.ndarray, scale: float) -> np.ndarray:
    """Evaluate the closed form of the discrete Laplace law."""
    return math.tanh(0.5 / float(scale)) * np.exp(-np.abs(k) / float(scale))


def gaussian_pmf(k: np.ndarray, sigma: float) -> np.ndarray:
    """Evaluate the discrete Gaussian law, normalised by summation."""
    reach = np.arange(-int(40 * sigma) - 40, int(40 * sigma) + 41)
    total = np.exp(-(reach**2) / (2 * sigma**2)).sum()
    return np.exp(-(k**2) / (2 * sigma**2)) / total


def merged(expected: np.ndarray, *observed: np.ndarray) -> list[np.ndarray]:
    """Join neighbouring cells until every cell expects at least 10."""
    starts, size = [0], 0.0
    for k, value in enumerate(expected):
        if size >= 10 and expected[k:].sum() >= 10:
            starts.append(k)
            size = 0.0
        size += value
    return [np.add.reduceat(row, starts) for row in (expected, *observed)]


def goodness_of_fit(draws: np.ndarray, pmf, reach: int) -> float:
    """Return the p-value of draws against a law, with one open cell per tail."""
    k = np.arange(-reach, reach + 1)
    probability = pmf(k)
    tail = max(0.0, (1 - probability.sum()) / 2)
    probability[[0, -1]] += tail
    counts = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=k.size)
    width = max(1, k.size // 2000)  # wide laws are compared on a coarser grid
    cut = np.arange(0, k.size, width)
    expected = np.add.reduceat(probability, cut) * draws.size
    expected, counts = merged(expected, np.add.reduceat(counts, cut))
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue


# --- by exact arithmetic ----------------------------------------------------


@pytest.mark.parametrize(
    "sigma2", [Fraction(1, 9), Fraction(1), Fraction(49, 4), 10**6]
)
def test_the_gaussian_law_follows_from_proposal_and_acceptance(sigma2):
    plan = noise._gaussian_plan(Fraction(sigma2))
    assert (plan.scale - 1) ** 2 <= sigma2 < plan.scale**2
    for k in (0, 1, -1, 2, 5, -17, 1234):
        gamma = plan.gamma(k)
        assert gamma >= 0
        # log of proposal times acceptance, against log of the target, relative to k=0
        mine = Fraction(-abs(k), plan.scale) - gamma + plan.gamma(0)
        assert mine == Fraction(-(k**2)) / (2 * Fraction(sigma2))
    table = digit_table(Fraction(plan.scale))
    coarse, _ = exponential_tables()
    assert plan.n_digits == len(table)
    assert plan.table.tolist() == [*table.tolist(), *table.tolist(), *coarse.tolist()]


@given(
    st.integers(-(2**57), 2**57),
    st.fractions(Fraction(1, 170), 2**100).filter(lambda s: s > 0),
)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_floating_gamma_is_within_its_error_bound(proposal, sigma2):
    plan = noise._gaussian_plan(sigma2)
    size = np.abs(np.array([proposal]))
    gamma = (size - plan.centre) ** 2 / plan.twice
    error = (size + plan.centre) ** 2 * (2.0**-49 / plan.twice)
    assert abs(Fraction(float(gamma[0])) - plan.gamma(proposal)) <= Fraction(
        float(error[0])
    )


# --- by counting ------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_draws_follow_their_law(scale):
    draws = discrete_laplace(scale, MILLION, np.random.default_rng(10))
    reach = int(16 * scale) + 3
    p = goodness_of_fit(draws, lambda k: laplace_pmf(k, scale), reach)
    assert p > 1e-3
    assert np.abs(draws).max() > 9 * scale  # the tail is there


@pytest.mark.parametrize("sigma", SIGMAS)
def test_gaussian_draws_follow_their_law(sigma):
    draws = discrete_gaussian(sigma**2, MILLION, np.random.default_rng(11))
    reach = int(6 * sigma) + 3
    p = goodness_of_fit(draws, lambda k: gaussian_pmf(k, sigma), reach)
    assert p > 1e-3
    assert np.abs(draws).max() > 4 * sigma or sigma < 0.5


def test_large_scales_follow_the_continuous_law():
    rng = np.random.default_rng(12)
    laplace = discrete_laplace(2.0**40, 200_000, rng)
    assert stats.kstest(laplace, stats.laplace(scale=2.0**40).cdf).pvalue > 1e-3
    gaussian = discrete_gaussian(Fraction(2**80), 200_000, rng)
    assert stats.kstest(gaussian, stats.norm(scale=2.0**40).cdf).pvalue > 1e-3


def test_the_largest_noise_fits_64_bits():
    wide = discrete_laplace(2**50, 1000, np.random.default_rng(0))
    assert 2**49 < np.abs(wide).mean() < 2**51


@pytest.mark.parametrize("scale", [0.3, 20.0])
@pytest.mark.parametrize("off", [0.97, 1.03])
def test_counting_notices_a_laplace_scale_that_is_off(scale, off):
    draws = discrete_laplace(scale * off, MILLION, np.random.default_rng(10))
    reach = int(16 * scale) + 3
    assert goodness_of_fit(draws, lambda k: laplace_pmf(k, scale), reach) < 1e-6


@pytest.mark.parametrize("sigma", [0.8, 31.7])
@pytest.mark.parametrize("off", [0.98, 1.02])
def test_counting_notices_a_gaussian_scale_that_is_off(sigma, off):
    draws = discrete_gaussian((sigma * off) ** 2, MILLION, np.random.default_rng(11))
    reach = int(6 * sigma) + 3
    assert goodness_of_fit(draws, lambda k: gaussian_pmf(k, sigma), reach) < 1e-6


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
def test_draws_are_independent_of_their_neighbours(draw):
    draws = draw(4.0, 200_000, np.random.default_rng(13)).astype(float)
    for lag in (1, 2, 2**15):
        assert abs(np.corrcoef(draws[:-lag], draws[lag:])[0, 1]) < 0.01


def test_scalar_draws_follow_the_law_too():
    rng = np.random.default_rng(14)
    draws = np.array([int(discrete_gaussian(6.25, (), rng)) for _ in range(8_000)])
    assert goodness_of_fit(draws, lambda k: gaussian_pmf(k, 2.5), 12) > 1e-3
    draws = np.array([int(discrete_laplace(2.5, (), rng)) for _ in range(8_000)])
    assert goodness_of_fit(draws, lambda k: laplace_pmf(k, 2.5), 30) > 1e-3


# --- by a peer --------------------------------------------------------------


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.7, 6.0])
def test_draws_agree_with_opendp(law, scale):
    dp = pytest.importorskip("opendp.prelude", reason="OpenDP is a referee of tests")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    distance = dp.l1_distance(T=int) if law == "laplace" else dp.l2_distance(T=float)
    make = dp.m.make_laplace if law == "laplace" else dp.m.make_gaussian
    theirs = np.array(make(domain, distance, scale)([0] * 40_000))
    rng = np.random.default_rng(15)
    if law == "laplace":
        ours = discrete_laplace(scale, 160_000, rng)
    else:
        ours = discrete_gaussian(scale**2, 160_000, rng)
    reach = int(12 * scale) + 2
    counts = [
        np.bincount(np.clip(x, -reach, reach) + reach, minlength=2 * reach + 1)
        for x in (theirs, ours)
    ]
    _, *cells = merged(counts[1] / 4.0, *counts)
    # OpenDP cannot be seeded: one run in a million may fail by chance.
    assert stats.chi2_contingency(np.array(cells)).pvalue > 1e-6


# --- arguments --------------------------------------------------------------


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
def test_shapes_and_types(draw):
    rng = np.random.default_rng(0)
    for size, shape in ((3, (3,)), ((2, 3), (2, 3)), ((), ()), (0, (0,))):
        made = draw(2.0, size, rng)
        assert made.shape == shape
        assert made.dtype == np.int64
    assert draw(np.int64(4), np.int64(5), rng).shape == (5,)


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
def test_equal_numbers_of_any_type_draw_the_same(draw):
    made = [
        draw(scale, 5, np.random.default_rng(1)).tolist()
        for scale in (2, 2.0, Fraction(2), np.float64(2), np.float32(2), np.int32(2))
    ]
    assert all(row == made[0] for row in made)


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
@pytest.mark.parametrize(
    "bad", [0, -1.0, math.nan, math.inf, 2.0**101, Fraction(-1, 3)]
)
def test_impossible_scales_are_refused(draw, bad):
    with pytest.raises(ValueError, match="must be"):
        draw(bad, 1, np.random.default_rng(0))


@pytest.mark.parametrize("bad", ["1", None, 1j])
def test_other_types_are_refused(bad):
    with pytest.raises(TypeError, match="must be a Fraction"):
        discrete_laplace(bad, 1, np.random.default_rng(0))


def test_limits_are_allowed_and_more_is_not():
    rng = np.random.default_rng(0)
    discrete_gaussian(2**100, 3, rng)
    with pytest.raises(ValueError, match=r"scale must be at most 2\*\*50"):
        discrete_laplace(2**50 + 1, 1, rng)


def test_vanishing_scales_give_no_noise():
    rng = np.random.default_rng(0)
    assert not discrete_laplace(1e-300, 100, rng).any()
    assert not discrete_gaussian(1e-300, 100, rng).any()
    assert not discrete_gaussian(0.0057, 10_000, rng).any()
