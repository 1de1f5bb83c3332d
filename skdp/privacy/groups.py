"""A choice among groups of equally good candidates, too many to be listed."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

__all__ = ["draw_group"]

_WORD = 64
_WORDS = 2  # that are always drawn


def draw_group(
    sizes: Sequence[int],
    gaps: Sequence[int],
    rate: Fraction,
    rng: np.random.Generator,
) -> int:
    """Choose group k with probability proportional to N_k exp(-rate gap_k), exactly.

    By inversion: random bits are drawn, and decimal digits computed, until it is
    certain in which group the point falls.

    Parameters
    ----------
    sizes : sequence of int
        The numbers N_k of candidates, at least 0; of any size.
    gaps : sequence of int
        How far the candidates of a group lie below the best one, at least 0; 0 for
        at least one group that is not empty.
    rate : Fraction
        Positive.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    int
        The chosen group.

    Raises
    ------
    ValueError
        If no group with a candidate has a gap of 0, or a gap is negative.

    Examples
    --------
    >>> import numpy as np
    >>> draw_group([1, 2**90], [0, 10**6], Fraction(1), np.random.default_rng(0))
    0
    """
    best = [gap for size, gap in zip(sizes, gaps, strict=True) if size]
    if not best or min(best) != 0 or min(gaps) < 0:
        raise ValueError("The best of the groups that are not empty must have gap 0.")
    bits = n_words = 0
    while True:
        for _ in range(_WORDS):
            bits = bits << _WORD | int(rng.integers(2**_WORD, dtype=np.uint64))
            n_words += 1
        chosen = _chosen(sizes, gaps, rate, bits, n_words * _WORD)
        if chosen is not None:
            return chosen


def _chosen(
    sizes: Sequence[int],
    gaps: Sequence[int],
    rate: Fraction,
    bits: int,
    n_bits: int,
) -> int | None:
    """Find the group of the points [bits, bits + 1)/2^n_bits, if it is one for all."""
    digits = n_bits // 3 + 20
    context = decimal.Context(
        prec=digits,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[],
    )
    with decimal.localcontext(context):
        weights, error = _weights(sizes, gaps, rate, digits)
        total = sum(weights, Decimal(0))
        low = total * bits / 2**n_bits - 2 * error
        high = total * (bits + 1) / 2**n_bits + 2 * error
        last = max(k for k, size in enumerate(sizes) if size)
        end = Decimal(0)
        for k, weight in enumerate(weights):
            start, end = end, end + weight
            if start <= max(low, Decimal(0)) and (k == last or high <= end):
                return k if weight else None
    return None


def _weights(
    sizes: Sequence[int], gaps: Sequence[int], rate: Fraction, digits: int
) -> tuple[list[Decimal], Decimal]:
    """Return the weights, and a bound on the error of every sum over them.

    The sum is at least 1, the weight of a best candidate.
    """
    numerator, denominator = Decimal(rate.numerator), Decimal(rate.denominator)
    exponents = [Decimal(gap) * numerator / denominator for gap in gaps]
    weights = [
        Decimal(size) * (-exponent).exp()
        for size, exponent in zip(sizes, exponents, strict=True)
    ]
    # An exponent x is off by some x 10^-digits, and every operation by one digit.
    relative = 10 * (len(weights) + 1) * Decimal(10) ** (1 - digits)
    off = ((x + 1) * w for x, w in zip(exponents, weights, strict=True))
    return weights, relative * (sum(off, Decimal(0)) + 1)
