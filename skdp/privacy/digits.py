"""The binary digits of geometric variables, each drawn with its exact probability.

A geometric variable of ratio a has independent binary digits, digit j being 1 with
probability a^(2^j) / (1 + a^(2^j)).

What "exact" means here: every digit compares 128 random bits with its probability
rounded to 128 bits, and digits of probability below 2^-129 are left out. A variable
is therefore within a total variation of 2^-119 of its law.
"""

from __future__ import annotations

import decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["digit_table", "draw_digits", "draw_geometric", "to_integers"]

BLOCK = 2**15  # variables drawn at a time, so that the work stays in the cache

_LIMB, _LIMBS = 16, 8  # a probability is 8 limbs of 16 bits, drawn one at a time
_BITS = _LIMB * _LIMBS


@lru_cache(maxsize=1024)
def digit_table(scale: Fraction) -> NDArray[np.uint16]:
    """Tabulate the probabilities of the binary digits of a geometric variable.

    Parameters
    ----------
    scale : Fraction
        Positive; the ratio of the variable is a = exp(-1 / scale).

    Returns
    -------
    ndarray of uint16, shape (n_digits, 8)
        Row j holds round(2^128 a^(2^j) / (1 + a^(2^j))) as limbs from the most
        significant on; the rows end where that is 0. Kept, hence read-only.

    Examples
    --------
    >>> table = digit_table(Fraction(1))
    >>> table.shape
    (7, 8)
    >>> round(float(table[0, 0]) / 2**16, 3)  # e^-1 / (1 + e^-1)
    0.269
    """
    rows: list[list[int]] = []
    while threshold := _threshold(Fraction(2 ** len(rows)) / scale):
        limbs = [threshold >> _LIMB * k & 2**_LIMB - 1 for k in range(_LIMBS)]
        rows.append(limbs[::-1])
    table = np.array(rows, dtype=np.uint16).reshape(-1, _LIMBS)
    table.flags.writeable = False
    return table


def _threshold(weight: Fraction) -> int:
    """Round 2^128 / (1 + exp(weight)) to the nearest integer."""
    # 80 digits are 40 more than 2^128 has; traps are off so that exp underflows to 0.
    with decimal.localcontext(decimal.Context(prec=80, traps=[])):
        exponent = decimal.Decimal(weight.numerator) / weight.denominator
        odds = (-exponent).exp()
        return int((2**_BITS * (odds / (1 + odds))).to_integral_value())


def draw_digits(
    table: NDArray[np.uint16], n: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw independent binary digits with the probabilities of a table.

    The first limb settles all but one digit in 65 536; more are drawn on a tie.

    Parameters
    ----------
    table : ndarray of uint16, shape (n_digits, 8)
        Rows of digit tables.
    n : int
        How many columns to draw.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    ndarray of bool, shape (n_digits, n)
        One row for every row of the table.
    """
    drawn = _limbs(len(table) * n, rng).reshape(len(table), n)
    digits = drawn < table[:, :1]
    tied = np.flatnonzero(drawn == table[:, :1])
    flat = digits.reshape(-1)
    for limb in range(1, _LIMBS):
        if not tied.size:
            break
        wanted = table[tied // n, limb]
        more = _limbs(tied.size, rng)
        flat[tied] = more < wanted
        tied = tied[more == wanted]
    return digits


def _limbs(n: int, rng: np.random.Generator) -> NDArray[np.uint16]:
    """Draw n uniform integers of 16 bits."""
    words = rng.integers(0, 2**64, size=-(-n // 4), dtype=np.uint64)
    return words.view(np.uint16)[:n]


def to_integers(digits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Read columns of binary digits as integers.

    Parameters
    ----------
    digits : ndarray of bool, shape (n_digits, n)
        At most 63 digits a column, the least significant first.

    Returns
    -------
    ndarray of int64, shape (n,)
        The integers.

    Examples
    --------
    >>> to_integers(np.array([[True, False], [True, True]]))
    array([3, 2])
    """
    packed = np.packbits(digits, axis=0, bitorder="little")
    columns = np.zeros((digits.shape[1], 8), dtype=np.uint8)
    columns[:, : len(packed)] = packed.T
    return columns.view("<i8").reshape(-1).astype(np.int64, copy=False)


def draw_geometric(
    table: NDArray[np.uint16], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw geometric variables, P(g) = (1 - a) a^g, from their digit table.

    Parameters
    ----------
    table : ndarray of uint16, shape (n_digits, 8)
        What `digit_table` returns, or some of its rows: then only those digits.
    n : int
        How many variables to draw.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    ndarray of int64, shape (n,)
        Independent draws.

    Examples
    --------
    >>> table = digit_table(Fraction(5))
    >>> draw_geometric(table, 3, np.random.default_rng(0)).shape
    (3,)
    """
    if n <= BLOCK:
        return to_integers(draw_digits(table, n, rng))
    sizes = [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
    return np.concatenate(
        [to_integers(draw_digits(table, size, rng)) for size in sizes]
    )
