"""Types of integers that hold what a schema allows, not just what records had."""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

__all__ = ["Range", "hull", "value_range", "wide_enough"]

#: The smallest and the largest of some numbers; None if they are no numbers.
Range: TypeAlias = tuple[float, float] | None


def value_range(values: Iterable[Any]) -> Range:
    """Return the range of some values.

    Parameters
    ----------
    values : iterable
        None and NaN are left out.

    Returns
    -------
    tuple of two numbers or None
        None if there are none, or not only numbers.
    """
    known = [value for value in values if value is not None and value == value]
    if not known or not all(isinstance(value, Real) for value in known):
        return None
    return min(known), max(known)


def hull(ranges: Iterable[Range]) -> Range:
    """Return the range that holds several ones.

    Parameters
    ----------
    ranges : iterable of (tuple of two numbers or None)
        Nothing is known of None.

    Returns
    -------
    tuple of two numbers or None
        From the smallest number to the largest.
    """
    return value_range(end for ends in ranges if ends is not None for end in ends)


def wide_enough(kind: str, ends: Range) -> str:
    """Return a type of integers that holds a range.

    Parameters
    ----------
    kind : str
        Name of a type as NumPy, pandas, PyArrow or narwhals spell it.
    ends : tuple of two numbers or None
        The smallest and the largest value.

    Returns
    -------
    str
        The type itself if it holds them or is not one of integers; else the next wider
        one, with a sign if there are negative numbers; "float64" if there is none.

    Examples
    --------
    >>> wide_enough("int8", (0, 1000)), wide_enough("UInt8", (-1, 9))
    ('int16', 'Int8')
    """
    found = re.fullmatch(r"(u?int)(8|16|32|64)(\[.*\])?", kind, re.IGNORECASE)
    if found is None or ends is None:
        return kind
    name, bits, backend = found[1], int(found[2]), found[3] or ""
    if ends[0] < 0 and name[0] in "uU":
        name = name[1:].capitalize() if name[0] == "U" else name[1:]
    for width in (8, 16, 32, 64):
        limits = np.iinfo(f"{name.lower()}{width}")
        if width >= bits and limits.min <= ends[0] and ends[1] <= limits.max:
            return f"{name}{width}{backend}"
    return "float64"
