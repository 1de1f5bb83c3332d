"""The coins show heads with the probability they claim, by counting and near ties."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from skdp.privacy import coins
from skdp.privacy.coins import bernoulli_exp, bernoulli_exp_multiples
from skdp.privacy.digits import digit_table

MILLION = 10**6


class AllOnes:
    """A generator whose words are as large as can be, so that every digit is 0."""

    def integers(self, low, high, size, dtype):
        """Return words of 64 ones."""
        assert (low, high, dtype) == (0, 2**64, np.uint64)
        return np.full(size, 2**64 - 1, dtype=np.uint64)


# --- by counting ------------------------------------------------------------


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


@pytest.mark.parametrize("exact_path", [False, True])
def test_multiples_have_the_right_probability(exact_path):
    multiples = np.repeat(np.arange(8), 300 if exact_path else 50_000)
    rng = np.random.default_rng(2)
    if exact_path:  # an error bound so large that every coin is decided exactly
        unsure = np.full(multiples.size, 1e3)
        rate = Fraction(2, 5)
        heads = coins._exceeds(
            0.4 * multiples, unsure, lambda i: rate * int(multiples[i]), rng
        )
    else:
        heads = bernoulli_exp_multiples(Fraction(2, 5), multiples, rng)
    for k in range(8):
        tosses = heads[multiples == k]
        chance = math.exp(-0.4 * k)
        assert stats.binomtest(int(tosses.sum()), tosses.size, chance).pvalue > 1e-3


def test_impossible_coins_never_show_heads():
    rng = np.random.default_rng(0)
    assert not any(bernoulli_exp([10**400, Fraction(10**30), 1e300, 200.0], rng))
    assert bernoulli_exp(0, rng) is True


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


# --- near ties --------------------------------------------------------------


def test_coarse_and_fine_places_are_consecutive():
    coarse, fine = coins.exponential_tables()
    assert (coarse == digit_table(Fraction(2**8))).all()
    assert len(fine) == 38
    assert (fine == digit_table(Fraction(2**46))[:38]).all()


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
    assert coins._exceeds_exactly(12345, 46, gamma, rng=None) is heads


@pytest.mark.parametrize("inside", [Fraction(1, 3), Fraction(3, 4), Fraction(1, 2**70)])
def test_near_ties_are_decided_by_further_digits(inside):
    rng = np.random.default_rng(3)
    gamma = Fraction(2**50 + inside, 2**46)
    n = 1000
    heads = sum(coins._exceeds_exactly(2**50, 46, gamma, rng) for _ in range(n))
    assert stats.binomtest(heads, n, float(1 - inside)).pvalue > 1e-3


def test_a_near_tie_reaches_the_exact_comparison():
    # Coarse places 1 and fine places 0 put E in [2^-8, 2^-8 + 2^-46).
    cells = np.array([1, 1, 1])
    gamma = np.full(3, 2.0**-8)
    asked = []

    def exact(i):
        asked.append(i)
        return Fraction(1, 2**8) + (Fraction(1, 2**200) if i == 1 else 0)

    heads = coins.settle(cells, gamma, gamma * 2.0**-50, exact, AllOnes())
    assert asked == [0, 1, 2]
    assert heads.tolist() == [True, False, True]  # the second gamma is out of reach


def test_an_uncertain_comparison_is_never_called_certain():
    cells, width = np.array([3, 3, 3, 3]), 0.25
    gamma, error = np.array([0.7, 0.8, 1.0, 1.1]), np.full(4, 0.06)
    above, unsure = coins._compare(cells, width, gamma, error)
    assert above.tolist() == [False, False, False, False]
    assert unsure.tolist() == [0, 1, 2]


# --- arguments --------------------------------------------------------------


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


@pytest.mark.parametrize("bad", ["1", None, 1j])
def test_other_types_are_refused(bad):
    rng = np.random.default_rng(0)
    with pytest.raises(TypeError, match="gamma must be a Fraction"):
        bernoulli_exp([bad], rng)
    with pytest.raises(TypeError, match="rate must be a Fraction"):
        bernoulli_exp_multiples(bad, np.array([1]), rng)
