"""Coins of probability exp(-gamma), tossed exactly.

A coin shows heads when an exponential variable exceeds gamma. Its binary places are
those of a geometric variable (`digits`), and as many are drawn as the comparison
needs: few mostly, more where a floating-point gamma leaves the answer uncertain, and
at last any number of them against the exact gamma.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import cast

import numpy as np
from numpy.typing import NDArray

from .arguments import Number, exact_fraction
from .digits import digit_table, draw_digits, draw_geometric

__all__ = ["bernoulli_exp", "bernoulli_exp_multiples"]

TINY = 2.0**-1000  # covers underflow in a floating-point comparison

_FINE = 46  # binary places of an exponential variable before the exact comparison
_COARSE = 8  # of these, the places that are always drawn
_FAR = Fraction(4096)  # no exponential variable gets there: larger exponents are cut


def bernoulli_exp(
    gamma: Number | Sequence[Number], rng: np.random.Generator
) -> bool | NDArray[np.bool_]:
    """Toss coins that show heads with probability exp(-gamma) exactly.

    Parameters
    ----------
    gamma : Fraction, int or float, or a sequence of them
        Exponents, at least 0; floats are taken at their exact value.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    bool or ndarray of bool
        One toss for every exponent.

    Raises
    ------
    ValueError
        If an exponent is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> bernoulli_exp(0, np.random.default_rng(0))
    True
    """
    scalar = isinstance(gamma, Real)
    given = cast("Sequence[Number]", [gamma] if scalar else gamma)
    exact = [exact_fraction(g, "gamma") for g in given]
    if any(g < 0 for g in exact):
        raise ValueError(
            "gamma must be at least 0 for exp(-gamma) to be a probability."
        )
    approximate = np.array([float(min(g, _FAR)) for g in exact])
    heads = _exceeds(approximate, approximate * 2.0**-50 + TINY, exact.__getitem__, rng)
    return bool(heads[0]) if scalar else heads


def bernoulli_exp_multiples(
    rate: Number, multiples: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Toss one coin of probability exp(-rate * k) for every integer k, exactly.

    Parameters
    ----------
    rate : Fraction, int or float
        At least 0; a float is taken at its exact value.
    multiples : ndarray of int64, shape (n,)
        The integers k, at least 0.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    ndarray of bool, shape (n,)
        True with probability exp(-rate * k).

    Raises
    ------
    ValueError
        If `rate` or one of `multiples` is negative, or `rate` is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> bernoulli_exp_multiples(0.1, np.array([0, 10**9]), np.random.default_rng(0))
    array([ True, False])
    """
    exact_rate = exact_fraction(rate, "rate")
    if exact_rate < 0 or (multiples.size and multiples.min() < 0):
        raise ValueError("rate and multiples must be at least 0.")
    slope = float(min(exact_rate, _FAR))
    approximate = np.minimum(multiples * slope, float(_FAR))
    error = approximate * 2.0**-50 + TINY
    return _exceeds(approximate, error, lambda i: exact_rate * int(multiples[i]), rng)


def _exceeds(
    gamma: NDArray[np.float64],
    error: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Tell whether exponential variables exceed gamma; see `settle`."""
    cells = draw_geometric(exponential_tables()[0], gamma.size, rng)
    return settle(cells, gamma, error, exact, rng)


@lru_cache(maxsize=1)
def exponential_tables() -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the digit tables of an exponential variable's binary places.

    Returns
    -------
    coarse : ndarray of uint16, shape (n_coarse, 8)
        For the places that are always drawn: those down to 2^-8.
    fine : ndarray of uint16, shape (38, 8)
        For the places from 2^-9 to 2^-46.
    """
    table = digit_table(Fraction(2**_FINE))
    return table[_FINE - _COARSE :], table[: _FINE - _COARSE]


def settle(
    cells: NDArray[np.int64],
    gamma: NDArray[np.float64],
    error: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Tell whether exponential variables of known coarse places exceed gamma.

    Where that is uncertain the fine places are drawn, and where it still is, the
    exact gamma decides: about once in 2^45 times.

    Parameters
    ----------
    cells : ndarray of int64, shape (n,)
        The coarse places, drawn already, in units of 2^-8.
    gamma : ndarray of float64, shape (n,)
        What to compare with, at least 0.
    error : ndarray of float64, shape (n,)
        Bounds on the errors of `gamma`.
    exact : callable
        Returns the exact gamma of an index as a Fraction.
    rng : numpy.random.Generator
        Where further random bits come from.

    Returns
    -------
    ndarray of bool, shape (n,)
        True with probability exp(-gamma) over `cells` and the bits drawn here.
    """
    heads, unsure = _compare(cells, 2.0**-_COARSE, gamma, error)
    if unsure.size:
        fine = draw_geometric(exponential_tables()[1], unsure.size, rng)
        cells = (cells[unsure] << (_FINE - _COARSE)) | fine
        finer = gamma[unsure], error[unsure]
        heads[unsure], close = _compare(cells, 2.0**-_FINE, *finer)
        for k in close:
            at = int(unsure[k])
            heads[at] = _exceeds_exactly(int(cells[k]), _FINE, exact(at), rng)
    return heads


def _compare(
    cells: NDArray[np.int64],
    width: float,
    gamma: NDArray[np.float64],
    error: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Compare variables in [cells, cells + 1) * width with gamma +- error.

    Returns which are certainly above, and the indices of the uncertain ones.
    """
    low = cells * width  # exact: cells has at most 53 bits and width is a power of 2
    above = low >= gamma + error
    below = low + width <= gamma - error
    return above, np.flatnonzero(above == below)


def _exceeds_exactly(
    cell: int, places: int, gamma: Fraction, rng: np.random.Generator
) -> bool:
    """Decide E > gamma for E in [cell, cell + 1) / 2^places in exact arithmetic.

    Further binary digits of E are drawn until the interval lies on one side.
    """
    while True:
        if Fraction(cell, 2**places) >= gamma:
            return True
        if Fraction(cell + 1, 2**places) <= gamma:
            return False
        places += 1
        digit = draw_digits(digit_table(Fraction(2**places))[:1], 1, rng)
        cell = 2 * cell + int(digit[0, 0])
