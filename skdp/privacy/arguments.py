"""Numeric arguments, taken at their exact value: a float is the fraction it is."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Rational, Real

__all__ = ["Number", "exact_fraction"]

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
