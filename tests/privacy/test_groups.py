"""The exact choice among groups: its law, huge sizes, and odd random bits."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy import stats

from skdp.privacy.groups import draw_group


class Bits:
    """A generator of chosen 64-bit words."""

    def __init__(self, *words):
        self.words = list(words)

    def integers(self, *args, **kwargs):
        return self.words.pop(0)


def test_groups_are_drawn_with_their_probabilities():
    sizes, gaps, rate = [1, 0, 5, 2**20, 3], [0, 4, 2, 30, 1], Fraction(1, 2)
    weights = [n * exp(-g / 2) for n, g in zip(sizes, gaps, strict=True)]
    expected = np.array(weights) / sum(weights)
    rng = np.random.default_rng(0)
    drawn = [draw_group(sizes, gaps, rate, rng) for _ in range(4000)]
    counts = np.bincount(drawn, minlength=5)
    kept = expected > 0
    assert counts[~kept].sum() == 0
    assert stats.chisquare(counts[kept], 4000 * expected[kept]).pvalue > 1e-3


def test_sizes_and_gaps_may_be_astronomical():
    rng = np.random.default_rng(0)
    size, gap = 2**5000, 3466  # 5000 ln 2 = 3465.7
    drawn = [draw_group([1, size], [0, gap], Fraction(1), rng) for _ in range(300)]
    expected = 1 / (1 + exp(gap - 3465.7359027997))
    assert np.mean(drawn) == pytest.approx(expected, abs=0.1)
    assert draw_group([1, 2**5000], [0, 10**9], Fraction(1), rng) == 0


def test_uncertain_bits_are_followed_by_more():
    # The halves meet at 1/2: 2^127 - 1 and 2^127 leave the side open for 128 bits.
    low, high = 2**63 - 1, 2**63
    ones, zero = 2**64 - 1, 0
    draw = lambda *words: draw_group([1, 1], [0, 0], Fraction(1), Bits(*words))  # noqa: E731
    assert draw(low, ones, 1, 0) == 0
    assert draw(high, zero, 1, 0) == 1
    assert draw(0, 0) == 0
    assert draw(ones, ones) == 1
    with pytest.raises(IndexError):  # it asked for more
        draw(low, ones)


@pytest.mark.parametrize(
    ("sizes", "gaps"), [([0, 0], [0, 0]), ([1, 1], [1, 2]), ([1, 1], [0, -1])]
)
def test_groups_without_a_best_one_are_refused(sizes, gaps):
    with pytest.raises(ValueError, match="gap 0"):
        draw_group(sizes, gaps, Fraction(1), np.random.default_rng(0))
