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
from skdp.privacy.noise import (
    bernoulli_exp,
    bernoulli_exp_multiples,
    discrete_gaussian,
    discrete_laplace,
)

MILLION = 10**6
SCALES = (0.3, 1.0, Fraction(7, 3), 20, 1000.0)
SIGMAS = (0.3, 0.8, 1.0, 2.5, 31.7, 1000.0)


class Script:
    """A generator that answers with prepared words of 16 bits, then with zeros."""

    def __init__(self, *limbs: int) -> None:
        self.limbs = list(limbs)

    def integers(self, low, high, size, dtype):
        """Return the next words of 64 bits, one prepared word of 16 bits in each."""
        assert (low, high, dtype) == (0, 2**64, np.uint64)
        taken, self.limbs = self.limbs[: 4 * size], self.limbs[4 * size :]
        taken += [0] * (4 * size - len(taken))
        return np.array(taken, dtype=np.uint16).view(np.uint64)


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


def mpmath():
    """Return mpmath at 100 digits, the referee of the decimal arithmetic."""
    module = pytest.importorskip("mpmath", reason="mpmath is the referee here")
    module.mp.dps = 100
    return module


def thresholds(scale: Fraction) -> list[int]:
    """Read a digit table back as integers of 128 bits."""
    return [
        sum(int(limb) << 16 * (7 - k) for k, limb in enumerate(row))
        for row in noise._digit_table(scale)
    ]


@pytest.mark.parametrize(
    "scale", [Fraction(1, 100), Fraction(0.3), Fraction(7, 3), 1, 1000, 2**46, 2**50]
)
def test_digit_probabilities_are_right_to_128_bits(scale):
    mp = mpmath()
    scale = Fraction(scale)
    found = thresholds(scale)
    for j in range(len(found) + 1):
        weight = mp.mpf(scale.denominator) * 2**j / scale.numerator
        truth = 2**128 * mp.exp(-weight) / (1 + mp.exp(-weight))
        mine = found[j] if j < len(found) else 0
        assert abs(mine - truth) <= 0.5 + 1e-30


@pytest.mark.parametrize("scale", [Fraction(0.3), Fraction(0.7), Fraction(3, 2)])
def test_the_laplace_law_follows_from_the_digits(scale):
    mp = mpmath()
    geometric, found = [1], thresholds(scale)
    for t in found:  # in units of 2^-128 a digit
        geometric = [p * (2**128 - t) for p in geometric] + [p * t for p in geometric]
    unit = mp.mpf(2) ** (-2 * 128 * len(found))
    a = mp.exp(-mp.mpf(scale.denominator) / scale.numerator)
    distance = mp.mpf(0)
    for k in range(-len(geometric) + 1, len(geometric)):
        pairs = zip(geometric[max(k, 0) :], geometric[max(-k, 0) :], strict=False)
        truth = (1 - a) / (1 + a) * a ** abs(k)
        distance += abs(sum(p * q for p, q in pairs) * unit - truth)
    assert distance / 2 < mp.mpf(2) ** -122


@pytest.mark.parametrize(
    "sigma2", [Fraction(1, 9), Fraction(1), Fraction(49, 4), 10**6]
)
def test_the_gaussian_law_follows_from_proposal_and_acceptance(sigma2):
    mp = mpmath()
    plan = noise._gaussian_plan(Fraction(sigma2))
    assert (plan.scale - 1) ** 2 <= sigma2 < plan.scale**2
    for k in (0, 1, -1, 2, 5, -17, 1234):
        gamma = plan.gamma(k)
        assert gamma >= 0
        # log of proposal times acceptance, against log of the target, relative to k=0
        mine = Fraction(-abs(k), plan.scale) - gamma + plan.gamma(0)
        assert mine == Fraction(-(k**2)) / (2 * Fraction(sigma2))
    table = noise._digit_table(Fraction(plan.scale))
    assert (plan.table[: len(table)] == table).all()
    assert (plan.table[len(table) : 2 * len(table)] == table).all()
    coarse = thresholds(Fraction(2**8))
    assert len(plan.table) == 2 * len(table) + len(coarse)
    assert float(mp.mpf(coarse[0]) / 2**128) == pytest.approx(0.5 - 2**-10, abs=1e-6)


@given(st.integers(0, 2**57 - 1))
@settings(derandomize=True, max_examples=50, deadline=None)
def test_digits_are_read_as_binary_numbers(value):
    digits = np.array([[value >> j & 1] for j in range(57)], dtype=bool)
    assert noise._integers(digits).tolist() == [value]


def test_no_digits_are_read_as_zeros():
    assert noise._integers(np.zeros((0, 3), dtype=bool)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("limbs", "digit"),
    [
        ((4,), True),
        ((6,), False),
        ((5, 6), True),
        ((5, 8), False),
        ((5, 7, 0, 0, 0, 0, 0, 8), True),
        ((5, 7, 0, 0, 0, 0, 0, 10), False),
        ((5, 7, 0, 0, 0, 0, 0, 9), False),  # 128 equal bits: not below
    ],
)
def test_ties_draw_further_bits(limbs, digit):
    table = np.array([[5, 7, 0, 0, 0, 0, 0, 9]], dtype=np.uint16)
    script = Script(*(x for limb in limbs for x in (limb, 0, 0, 0)))
    assert noise._digits(table, 1, script)[0, 0] == digit


def test_ties_go_back_to_their_own_place():
    table = np.array([[5] * 8, [9] * 8], dtype=np.uint16)
    # Row 0: 1 is below 5, 5 ties, 8 is above. Row 1: 9 ties, 5 is below, 10 above.
    first = (1, 5, 8, 9, 5, 10, 0, 0)
    low_digits = noise._digits(table, 3, Script(*first, 0, 0))
    assert low_digits.tolist() == [[True, True, False], [True, True, False]]
    high_digits = noise._digits(table, 3, Script(*first, 6, 10))
    assert high_digits.tolist() == [[True, False, False], [False, True, False]]
    mixed_digits = noise._digits(table, 3, Script(*first, 6, 0))
    assert mixed_digits.tolist() == [[True, False, False], [True, True, False]]


def test_the_largest_noise_fits_64_bits():
    biggest = noise._geometric(noise._digit_table(Fraction(2**50)), 1, Script())
    assert biggest.tolist() == [2**57 - 1]
    wide = discrete_laplace(2**50, 1000, np.random.default_rng(0))
    assert 2**49 < np.abs(wide).mean() < 2**51


# --- coins ------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0, 0.001, Fraction(1, 3), 1.0, 3, 9.5])
def test_coins_have_the_right_probability(gamma):
    n = 30_000
    heads = bernoulli_exp([gamma] * n, np.random.default_rng(1)).sum()
    assert stats.binomtest(int(heads), n, math.exp(-gamma)).pvalue > 1e-3


@pytest.mark.parametrize(
    "rate", [Fraction(1, 512), Fraction(1, 300), Fraction(3, 1024)]
)
def test_exponents_inside_a_coarse_cell_are_resolved(rate):
    multiples = np.ones(MILLION, dtype=np.int64)
    heads = int(
        bernoulli_exp_multiples(rate, multiples, np.random.default_rng(4)).sum()
    )
    assert stats.binomtest(heads, MILLION, math.exp(-rate)).pvalue > 1e-3


def test_coarse_and_fine_places_are_consecutive():
    coarse, fine = noise._exponential_tables()
    assert (coarse == noise._digit_table(Fraction(2**8))).all()
    assert len(fine) == 38
    assert (fine == noise._digit_table(Fraction(2**46))[:38]).all()


def test_impossible_coins_never_show_heads():
    rng = np.random.default_rng(0)
    assert not any(bernoulli_exp([10**400, Fraction(10**30), 1e300, 200.0], rng))
    assert bernoulli_exp(0, rng) is True


@pytest.mark.parametrize("exact_path", [False, True])
def test_multiples_have_the_right_probability(exact_path):
    multiples = np.repeat(np.arange(8), 300 if exact_path else 50_000)
    rng = np.random.default_rng(2)
    if exact_path:  # an error bound so large that every coin is decided exactly
        unsure = np.full(multiples.size, 1e3)
        rate = Fraction(2, 5)
        heads = noise._exceeds(
            0.4 * multiples, unsure, lambda i: rate * int(multiples[i]), rng
        )
    else:
        heads = bernoulli_exp_multiples(Fraction(2, 5), multiples, rng)
    for k in range(8):
        tosses = heads[multiples == k]
        chance = math.exp(-0.4 * k)
        assert stats.binomtest(int(tosses.sum()), tosses.size, chance).pvalue > 1e-3


def test_multiples_survive_extremes():
    rng = np.random.default_rng(0)
    multiples = np.array([0, 1, 2**62])
    assert bernoulli_exp_multiples(1e308, multiples, rng).tolist() == [
        True,
        False,
        False,
    ]
    assert bernoulli_exp_multiples(0, multiples, rng).all()
    assert bernoulli_exp_multiples(5e-324, multiples, rng).all()
    assert bernoulli_exp_multiples(1.0, multiples[:0], rng).size == 0


@pytest.mark.parametrize(
    ("gamma", "heads"),
    [
        (Fraction(12345, 2**46), True),  # on the lower end of the cell
        (Fraction(12346, 2**46), False),  # on its upper end
        (Fraction(1, 10), False),
        (Fraction(0), True),
    ],
)
def test_exact_comparison_needs_no_further_digit_outside_the_cell(gamma, heads):
    assert noise._exceeds_exactly(12345, 46, gamma, rng=None) is heads


@pytest.mark.parametrize("inside", [Fraction(1, 3), Fraction(3, 4), Fraction(1, 2**70)])
def test_near_ties_are_decided_by_further_digits(inside):
    rng = np.random.default_rng(3)
    gamma = Fraction(2**50 + inside, 2**46)
    n = 1000
    heads = sum(noise._exceeds_exactly(2**50, 46, gamma, rng) for _ in range(n))
    assert stats.binomtest(heads, n, float(1 - inside)).pvalue > 1e-3


def test_a_near_tie_reaches_the_exact_comparison():
    # Coarse places 1 and fine places 0 put E in [2^-8, 2^-8 + 2^-46).
    cells = np.array([1, 1, 1])
    gamma = np.full(3, 2.0**-8)
    asked = []

    def exact(i):
        asked.append(i)
        return Fraction(1, 2**8) + (Fraction(1, 2**200) if i == 1 else 0)

    fine_zero = Script(*[65535] * (38 * 3 + 2))
    heads = noise._settle(cells, gamma, gamma * 2.0**-50, exact, fine_zero)
    assert asked == [0, 1, 2]
    assert heads[0] and heads[2]


def test_an_uncertain_comparison_is_never_called_certain():
    cells, width = np.array([3, 3, 3, 3]), 0.25
    gamma, error = np.array([0.7, 0.8, 1.0, 1.1]), np.full(4, 0.06)
    above, unsure = noise._compare(cells, width, gamma, error)
    assert above.tolist() == [False, False, False, False]
    assert unsure.tolist() == [0, 1, 2]


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


@pytest.mark.parametrize("bad", [-1e-9, math.nan])
def test_impossible_exponents_are_refused(bad):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="must be"):
        bernoulli_exp([0.5, bad], rng)
    with pytest.raises(ValueError, match="must be"):
        bernoulli_exp_multiples(bad, np.array([1]), rng)


def test_negative_multiples_are_refused():
    with pytest.raises(ValueError, match="multiples must be at least 0"):
        bernoulli_exp_multiples(1.0, np.array([-1]), np.random.default_rng(0))


def test_vanishing_scales_give_no_noise():
    rng = np.random.default_rng(0)
    assert not discrete_laplace(1e-300, 100, rng).any()
    assert not discrete_gaussian(1e-300, 100, rng).any()
    assert not discrete_gaussian(0.0057, 10_000, rng).any()
