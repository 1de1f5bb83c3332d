"""Numeric arguments: a float is the fraction that it is, a count a whole number."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Rational, Real

__all__ = ["Number", "exact_fraction", "whole_number"]

Number = Fraction | int | float


def exact_fraction(value: Number, name: str) -> Fraction:
    """Take a number at its exact value.

    Parameters
    ----------
    value : Fraction, int or float
        The number.
    name : str
        What to call it in an error.

    Returns
    -------
    Fraction
        The same number.

    Raises
    ------
    TypeError
        If `value` is no real number.
    ValueError
        If it is infinite or NaN.

    Examples
    --------
    >>> exact_fraction(0.75, "scale")
    Fraction(3, 4)
    """
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(value)
    if not isinstance(value, Real):
        kind = type(value).__name__
        raise TypeError(f"{name} must be a Fraction, an int or a float, got {kind}.")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}.")
    return Fraction(float(value))


def whole_number(number: int, name: str, most: int | None = None) -> int:
    """Check a count: a half of a round would never be used up.

    Parameters
    ----------
    number : int
        The count, at least 1.
    name : str
        What to call it in an error.
    most : int, optional
        The largest count allowed.

    Returns
    -------
    int
        The same number.

    Raises
    ------
    ValueError
        If it is no whole number, or out of range.

    Examples
    --------
    >>> whole_number(3, "rounds")
    3
    """
    whole = isinstance(number, Integral) and not isinstance(number, bool)
    if not whole or number < 1 or (most is not None and number > most):
        bound = "" if most is None else f" and at most {most}"
        raise ValueError(
            f"{name} must be a whole number of at least 1{bound}, got {number!r}."
        )
    return int(number)
