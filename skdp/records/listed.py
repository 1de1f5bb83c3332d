"""Columns whose levels are listed one by one: Categorical and Ordinal.

A column turns values into codes ``0, ..., n_levels - 1`` and back. Its declaration
is public; it must be written down without looking at the private records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import SchemaError
from skdp.records.checks import check_declaration, checked_codes, missing_error
from skdp.records.encoding import (
    MISSING,
    UNSEEN,
    Level,
    as_column,
    as_floats,
    has_text_only,
    match_levels,
    nearest_levels,
    some_values,
)

__all__ = ["Categorical", "Ordinal"]


@dataclass(frozen=True)
class _Listed:
    """A column whose levels are listed one by one."""

    name: str
    categories: tuple[Level, ...]
    outside: str = field(default="refuse", kw_only=True)
    missing: bool = field(default=False, kw_only=True)

    ordered: ClassVar[bool]
    _ways_out: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        check_declaration(self.name, self.outside, self._ways_out)
        categories = _as_categories(self.categories, self.name)
        object.__setattr__(self, "categories", categories)
        object.__setattr__(self, "missing", bool(self.missing))
        numeric = all(
            isinstance(c, int | float) and not isinstance(c, bool) for c in categories
        )
        if self.outside == "clip" and not numeric:
            raise SchemaError(
                f"Column {self.name!r}: outside='clip' needs numbers as categories, "
                "since a value goes to the nearest one. Use 'refuse' or 'other'."
            )

    @property
    def n_levels(self) -> int:
        """Number of codes, with the levels "other" and missing where declared."""
        return len(self.categories) + (self.outside == "other") + self.missing

    @property
    def levels(self) -> tuple[Level | None, ...]:
        """One label per code; None labels the missing level."""
        levels: tuple[Level | None, ...] = self.categories
        if self.outside == "other":
            label = "other"
            while label in self.categories:
                label += "_"
            levels += (label,)
        return (*levels, None) if self.missing else levels

    def encode(self, values: ArrayLike) -> NDArray[np.intp]:
        """Turn values into codes.

        Parameters
        ----------
        values : array-like of shape (n,)
            One value per record: text, numbers or booleans. None, NaN, NaT and
            pandas' NA count as missing.

        Returns
        -------
        ndarray of shape (n,), integer
            One code per record, from 0 to n_levels - 1: the position of the value in
            `levels`.

        Raises
        ------
        SchemaError
            If the values are not 1-d or of a kind that has no levels (dates, bytes,
            ...), or if a value is missing or outside the categories and the
            declaration does not say where it goes. The message depends on private
            records.
        """
        array = as_column(values, self.name)
        codes = match_levels(array, self.categories, self.name)
        if codes.size == 0 or codes.min() >= 0:
            return codes
        missing = codes == MISSING
        if missing.any() and not self.missing:
            raise missing_error(self.name)
        codes[missing] = self.n_levels - 1
        unseen = codes == UNSEEN
        if unseen.any():
            codes[unseen] = self._place(array, unseen)
        return codes

    def _place(
        self, values: NDArray[Any], unseen: NDArray[np.bool_]
    ) -> NDArray[np.intp] | int:
        if self.outside == "other":
            return len(self.categories)
        if self.outside == "clip":
            numbers = as_floats(values[unseen], self.name)
            return nearest_levels(numbers, self.categories)  # type: ignore[arg-type]
        raise SchemaError(
            f"Column {self.name!r} has values that are not among its categories, such "
            f"as {some_values(values, unseen)}. Declare them as categories, or say "
            f"where they go with outside={self._ways_out[-1]!r}."
        )

    def decode(
        self, codes: ArrayLike, rng: np.random.Generator | None = None
    ) -> NDArray[Any]:
        """Turn codes into values.

        Parameters
        ----------
        codes : array-like of int of shape (n,)
            One code per record, from 0 to n_levels - 1.
        rng : numpy.random.Generator, optional
            Not used; it is there so that all columns decode alike.

        Returns
        -------
        ndarray of shape (n,)
            The level of each code. Of the type of the categories; of dtype object if
            the types of the levels differ (None is the missing level).

        Raises
        ------
        SchemaError
            If a code is not an integer from 0 to n_levels - 1.
        """
        return _as_array(self.levels)[checked_codes(codes, self.n_levels, self.name)]


def _as_categories(categories: Iterable[Any], name: str) -> tuple[Level, ...]:
    if isinstance(categories, str | bytes) or not isinstance(categories, Iterable):
        raise SchemaError(
            f"Column {name!r}: categories must be a list of levels, "
            f"not {type(categories).__name__}."
        )
    if isinstance(categories, Set):
        raise SchemaError(
            f"Column {name!r}: categories must have an order that is the same in every "
            "process; give a list, say sorted(categories), instead of a set."
        )
    levels = tuple(c.item() if isinstance(c, np.generic) else c for c in categories)
    if not levels:
        raise SchemaError(f"Column {name!r} needs at least one category.")
    for level in levels:
        if not isinstance(level, str | int | float):
            raise SchemaError(
                f"Column {name!r}: a category must be text, a number or a boolean, not "
                f"{type(level).__name__}. Rename the categories, say with str; a "
                "missing value is declared with missing=True."
            )
        if isinstance(level, float) and not math.isfinite(level):
            raise SchemaError(
                f"Column {name!r}: NaN and infinity cannot be categories. A missing "
                "value is declared with missing=True."
            )
    if len(set(levels)) < len(levels):
        twice = next(c for i, c in enumerate(levels) if c in levels[:i])
        raise SchemaError(f"Column {name!r}: category {twice!r} is there twice.")
    return levels


def _as_array(levels: tuple[Level | None, ...]) -> NDArray[Any]:
    alike = len({type(level) for level in levels}) == 1
    if alike and (not isinstance(levels[0], str) or has_text_only(levels)):  # type: ignore[arg-type]
        return np.array(levels)
    array = np.empty(len(levels), dtype=object)
    array[:] = levels
    return array


@dataclass(frozen=True)
class Categorical(_Listed):
    """A column of levels without an order.

    Parameters
    ----------
    name : str
        Name of the column in the table.
    categories : iterable of str, int, float or bool
        Not empty, without duplicates (``1``, ``1.0`` and ``True`` are equal).
    outside : {"refuse", "other"}, default="refuse"
        What becomes of a value that is not a category: an error, or a level "other"
        after the categories.
    missing : bool, default=False
        Whether a missing value is a level of its own, the last one. If not, it is an
        error.

    Attributes
    ----------
    n_levels : int
        Number of codes, with the levels "other" and missing where declared.
    levels : tuple
        One label per code.
    ordered : bool
        False.

    Examples
    --------
    >>> smoker = Categorical("smoker", ("no", "yes"), outside="other", missing=True)
    >>> smoker.encode(np.array(["yes", "pipe", None, "no"], dtype=object))
    array([1, 2, 3, 0])
    >>> smoker.levels
    ('no', 'yes', 'other', None)
    """

    ordered: ClassVar[bool] = False
    _ways_out: ClassVar[tuple[str, ...]] = ("refuse", "other")


@dataclass(frozen=True)
class Ordinal(_Listed):
    """A column of levels in their order.

    Parameters
    ----------
    name : str
        Name of the column in the table.
    categories : iterable of str, int, float or bool
        In their order; not empty, without duplicates.
    outside : {"refuse", "clip", "other"}, default="refuse"
        What becomes of a value that is not a category: an error, the nearest category
        (numbers only; halfway goes down), or a level "other" after the categories.
    missing : bool, default=False
        Whether a missing value is a level of its own, the last one. If not, it is an
        error.

    Attributes
    ----------
    n_levels : int
        Number of codes, with the levels "other" and missing where declared.
    levels : tuple
        One label per code.
    ordered : bool
        True.

    Examples
    --------
    >>> Ordinal("rooms", range(1, 5), outside="clip").encode(np.array([0, 2, 2.6, 9]))
    array([0, 1, 2, 3])
    """

    ordered: ClassVar[bool] = True
    _ways_out: ClassVar[tuple[str, ...]] = ("refuse", "clip", "other")
