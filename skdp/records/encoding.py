"""From values of any kind to the codes of declared levels.

Pure functions under the columns of `skdp.records.schema`. Two values are the same
level when they are equal in Python's sense (``1 == 1.0 == True``, ``"1" != 1``);
each kind of array has a fast way to find that out:

- integers: a table indexed by the value, as long as the levels lie close together;
- other numbers and fixed-width strings: binary search in the sorted levels;
- Python objects: a dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import SchemaError

__all__ = [
    "MISSING",
    "UNSEEN",
    "Level",
    "as_column",
    "as_floats",
    "has_text_only",
    "is_missing",
    "match_levels",
    "nearest_levels",
    "some_values",
]

Level: TypeAlias = str | int | float | bool

UNSEEN = -1
MISSING = -2

_FEW_LEVELS = 6  # up to these a comparison with each is faster than a search
_TABLE_SPAN = 1 << 16
_EXACT_FLOAT = 1 << 53
_REFUSED_KINDS = {
    "c": "Complex data not supported: column {name!r} holds complex numbers. "
    "Give real and imaginary parts as two columns.",
    "M": "Column {name!r} holds dates. Give numbers (say, days since a public date) "
    "or declared levels (say, months) instead.",
    "m": "Column {name!r} holds time spans. Give numbers (say, seconds) instead.",
    "S": "Column {name!r} holds bytes. Decode it to text first: values.astype(str).",
    "V": "Column {name!r} holds structured records. Give one column per field.",
}


def is_missing(value: object) -> bool:
    """Say whether a value stands for nothing: None, NaN, NaT or pandas' NA.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), "nan", 0)]
    [True, True, False, False]
    """
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA has no truth value, nor has an array
        return type(value).__name__ == "NAType"


def as_column(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return the values as a 1-d array of numbers, booleans, text or objects.

    Parameters
    ----------
    values : array-like of shape (n,)
    name : str
        The column, for the messages.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    SchemaError
        If the values are not 1-d or of a kind that has no levels: complex numbers,
        dates, time spans, bytes, structured records.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise SchemaError(f"Column {name!r} is a masked array. Use filled() first.")
    if not isinstance(values, np.ndarray) and not hasattr(values, "__array__"):
        values = _objects(values, name)
    array = np.asarray(values)
    if array.ndim != 1:
        raise SchemaError(
            f"Column {name!r} must be 1-d, one value per record; "
            f"it has {array.ndim} dimensions."
        )
    if array.dtype.kind in _REFUSED_KINDS:
        raise SchemaError(_REFUSED_KINDS[array.dtype.kind].format(name=name))
    return array if array.dtype.kind in "biufUO" else array.astype(object)


def _objects(values: Any, name: str) -> NDArray[Any]:
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise SchemaError(f"Column {name!r} must be a 1-d array of values.")
    return np.fromiter(values, dtype=object, count=len(values))


def as_floats(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Return a column of numbers as floats, with NaN where a value is missing.

    Raises
    ------
    SchemaError
        If a value is not a real number. Text is never parsed.
    """
    if values.dtype.kind == "O":
        types = {type(v) for v in values.tolist() if not is_missing(v)}
        if all(issubclass(t, int | float | np.number | np.bool_) for t in types):
            numbers = [np.nan if is_missing(v) else v for v in values.tolist()]
            try:
                return np.array(numbers, dtype=np.float64)
            except (OverflowError, TypeError):  # an int of 400 digits, complex
                pass
    elif values.dtype.kind != "U":
        return values.astype(np.float64, copy=False)
    raise SchemaError(
        f"Column {name!r} is declared with numbers but holds other values. Convert "
        "it to numbers first, or declare it as Categorical."
    )


def some_values(values: NDArray[Any], where: NDArray[np.bool_], limit: int = 3) -> str:
    """Return a few offending values as text, each of them short.

    An error may show them to the curator; it must not print the data.
    """
    shown: list[str] = []
    for value in values[where][: 10 * limit].tolist():
        text = repr(value)
        text = text if len(text) <= 40 else text[:37] + "..."
        if text not in shown:
            shown.append(text)
    return ", ".join(shown[:limit])


def match_levels(
    values: NDArray[Any], categories: Sequence[Level], name: str
) -> NDArray[np.intp]:
    """Find each value among the categories.

    Parameters
    ----------
    values : ndarray of shape (n,)
        As returned by `as_column`.
    categories : sequence of str, int, float or bool
    name : str
        The column, for the messages.

    Returns
    -------
    ndarray of shape (n,)
        Positions in `categories`; `UNSEEN` for values that are not among them,
        `MISSING` for missing values.

    Raises
    ------
    SchemaError
        If a value cannot be compared with a level (it is not hashable).
    """
    kind = values.dtype.kind
    if values.size == 0:
        return np.empty(0, dtype=np.intp)
    if kind == "O":
        return _match_objects(values, categories, name)
    if kind == "U" and has_text_only(categories):
        if len(categories) <= _FEW_LEVELS:
            return _compare(categories, values)
        return _search(tuple(categories), str, values)
    if kind in "bi" or (kind == "u" and values.dtype.itemsize < 8):
        if all(isinstance(c, int) and abs(c) < 1 << 62 for c in categories):
            return _match_integers(values, categories)
    if kind == "f" and all(_is_exact_float(c) for c in categories):
        codes = _search(tuple(categories), float, values)
        codes[np.isnan(values)] = MISSING
        return codes
    distinct, inverse = np.unique(values, return_inverse=True)
    return _match_objects(distinct, categories, name)[inverse]


def has_text_only(categories: Sequence[Level]) -> bool:
    """Say whether NumPy's fixed-width strings can hold all categories."""
    # Fixed-width strings drop trailing NULs, which would make two levels equal.
    return all(isinstance(c, str) and not c.endswith("\0") for c in categories)


def _is_exact_float(category: Level) -> bool:
    if isinstance(category, int):
        return abs(category) <= _EXACT_FLOAT
    return isinstance(category, float)


# A column is encoded some rows at a time: what depends on its levels alone is kept.


@lru_cache(maxsize=8)
def _positions(categories: tuple[Level, ...]) -> dict[Level, int]:
    return {category: code for code, category in enumerate(categories)}


@lru_cache(maxsize=8)
def _in_order(
    categories: tuple[Level, ...], kind: type
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the levels in ascending order, and the position of each."""
    levels: NDArray[Any] = np.array(categories, dtype=kind)
    order = np.argsort(levels)
    return levels[order], order


def _match_objects(
    values: NDArray[Any], categories: Sequence[Level], name: str
) -> NDArray[np.intp]:
    position = _positions(tuple(categories))
    listed = values.tolist()
    try:
        found = map(position.get, listed, repeat(UNSEEN))
        codes = np.fromiter(found, dtype=np.intp, count=len(listed))
    except TypeError:
        raise SchemaError(
            f"Column {name!r} holds values that cannot be levels (lists, dictionaries "
            "or other containers). Levels are text, numbers or booleans."
        ) from None
    for row in np.flatnonzero(codes == UNSEEN):
        if is_missing(listed[row]):
            codes[row] = MISSING
    return codes


def _match_integers(
    values: NDArray[Any], categories: Sequence[Level]
) -> NDArray[np.intp]:
    levels = np.array([int(c) for c in categories], dtype=np.int64)
    low, high = int(levels.min()), int(levels.max())
    if high - low >= _TABLE_SPAN:
        return _search(tuple(categories), np.int64, values)
    # One spare place at each end takes everything below and above the levels.
    table = np.full(high - low + 3, UNSEEN, dtype=np.intp)
    table[levels - (low - 1)] = np.arange(len(levels))
    places = np.clip(values, np.int64(low - 1), np.int64(high + 1))
    places -= low - 1
    return table[places]


def _compare(categories: Sequence[Level], values: NDArray[Any]) -> NDArray[np.intp]:
    # One more than the code where a level is met, 0 where none is.
    place = np.zeros(len(values), dtype=np.int8)
    for code, category in enumerate(categories, start=1):
        place += (values == category).view(np.int8) * np.int8(code)
    return place.astype(np.intp) + UNSEEN


def _search(
    categories: tuple[Level, ...], kind: type, values: NDArray[Any]
) -> NDArray[np.intp]:
    ordered, order = _in_order(categories, kind)
    places = np.searchsorted(ordered, values)
    np.minimum(places, len(ordered) - 1, out=places)
    codes = order.take(places)
    codes[ordered.take(places) != values] = UNSEEN
    return codes


def nearest_levels(
    values: NDArray[np.float64], categories: Sequence[int | float]
) -> NDArray[np.intp]:
    """Return the position of the nearest category; halfway goes to the lower one.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Without NaN; infinite values go to the ends.
    categories : sequence of numbers
        In any order.

    Examples
    --------
    >>> nearest_levels(np.array([-9.0, 1.5, 1.6, 9.0]), (2, 1))
    array([1, 1, 0, 0])
    """
    levels = np.array(categories, dtype=np.float64)
    order = np.argsort(levels)
    ordered = levels[order]
    # Halves first: the sum of two large levels could overflow.
    halfway = ordered[:-1] / 2 + ordered[1:] / 2
    return order.take(np.searchsorted(halfway, values, side="left"))
