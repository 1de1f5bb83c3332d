"""The binary digits of geometric variables, by exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy.digits import digit_table, draw_digits, draw_geometric, to_integers


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


def mpmath():
    """Return mpmath at 100 digits, the referee of the decimal arithmetic."""
    module = pytest.importorskip("mpmath", reason="mpmath is the referee here")
    module.mp.dps = 100
    return module


def thresholds(scale: Fraction) -> list[int]:
    """Read a digit table back as integers of 128 bits."""
    return [
        sum(int(limb) << 16 * (7 - k) for k, limb in enumerate(row))
        for row in digit_table(scale)
    ]


@pytest.mark.parametrize(
    "scale",
    [Fraction(1, 100), Fraction(0.3), Fraction(7, 3), 1, 2**8, 1000, 2**46, 2**50],
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


@given(st.integers(0, 2**57 - 1))
@settings(derandomize=True, max_examples=50, deadline=None)
def test_digits_are_read_as_binary_numbers(value):
    digits = np.array([[value >> j & 1] for j in range(57)], dtype=bool)
    assert to_integers(digits).tolist() == [value]


def test_no_digits_are_read_as_zeros():
    assert to_integers(np.zeros((0, 3), dtype=bool)).tolist() == [0, 0, 0]


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
    assert draw_digits(table, 1, script)[0, 0] == digit


def test_ties_go_back_to_their_own_place():
    table = np.array([[5] * 8, [9] * 8], dtype=np.uint16)
    # Row 0: 1 is below 5, 5 ties, 8 is above. Row 1: 9 ties, 5 is below, 10 above.
    first = (1, 5, 8, 9, 5, 10, 0, 0)
    low_digits = draw_digits(table, 3, Script(*first, 0, 0))
    assert low_digits.tolist() == [[True, True, False], [True, True, False]]
    high_digits = draw_digits(table, 3, Script(*first, 6, 10))
    assert high_digits.tolist() == [[True, False, False], [False, True, False]]
    mixed_digits = draw_digits(table, 3, Script(*first, 6, 0))
    assert mixed_digits.tolist() == [[True, False, False], [True, True, False]]


def test_the_largest_variable_fits_64_bits():
    biggest = draw_geometric(digit_table(Fraction(2**50)), 1, Script())
    assert biggest.tolist() == [2**57 - 1]
