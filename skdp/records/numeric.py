"""Columns of numbers, coded by bins of equal width on a public interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import SchemaError
from skdp.records.checks import (
    check_declaration,
    checked_codes,
    is_whole,
    missing_error,
)
from skdp.records.encoding import as_column, as_floats, some_values

__all__ = ["Numeric"]


@dataclass(frozen=True)
class Numeric:
    """A column of numbers, coded by bins of equal width on a public interval.

    Bin j is ``[edges[j], edges[j + 1])``; the last bin includes `high`.

    Parameters
    ----------
    name : str
        Name of the column in the table.
    low, high : float
        Ends of the interval, in the units of the column. Finite, low < high.
    bins : int, default=10
        Number of bins, at least 1.
    outside : {"clip", "refuse"}, default="clip"
        What becomes of a number outside the interval (infinite ones too): the nearest
        bin, or an error.
    missing : bool, default=False
        Whether a missing value is a level of its own, the last one. If not, it is an
        error.

    Attributes
    ----------
    n_levels : int
        Number of codes: the bins, and the missing level where declared.
    levels : tuple of str
        One interval per code; None for the missing level.
    ordered : bool
        True.

    Examples
    --------
    >>> age = Numeric("age", 0, 100, bins=4)
    >>> age.encode(np.array([-3, 25, 99.9, 200]))
    array([0, 1, 3, 3])
    >>> age.decode(np.array([0, 3]))
    array([12.5, 87.5])
    >>> age.levels
    ('[0, 25)', '[25, 50)', '[50, 75)', '[75, 100]')
    """

    name: str
    low: float
    high: float
    bins: int = 10
    outside: str = field(default="clip", kw_only=True)
    missing: bool = field(default=False, kw_only=True)

    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_declaration(self.name, self.outside, ("clip", "refuse"))
        low, high = _finite(self.low), _finite(self.high)
        if not (low < high and math.isfinite(high - low)):
            raise SchemaError(
                f"Column {self.name!r}: low and high must be finite numbers with "
                f"low < high, not {self.low!r} and {self.high!r}."
            )
        if not is_whole(self.bins) or self.bins < 1:
            raise SchemaError(
                f"Column {self.name!r}: bins must be an integer >= 1, "
                f"not {self.bins!r}."
            )
        bins = int(self.bins)
        if (high - low) / bins < 4 * np.spacing(max(abs(low), abs(high))):
            raise SchemaError(
                f"Column {self.name!r}: {bins} bins between {low!r} and {high!r} are "
                "narrower than floating-point numbers resolve. Use fewer bins."
            )
        for key, value in {"low": low, "high": high, "bins": bins}.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "missing", bool(self.missing))

    @property
    def n_levels(self) -> int:
        """Number of codes: the bins, and the missing level where declared."""
        return self.bins + self.missing

    @property
    def edges(self) -> NDArray[np.float64]:
        """Ends of the bins, shape (bins + 1,)."""
        return np.linspace(self.low, self.high, self.bins + 1)

    @property
    def levels(self) -> tuple[str | None, ...]:
        """One interval per code; None labels the missing level."""
        edges = self.edges.tolist()
        ends = [f"{edge:g}" for edge in edges]
        if len(set(ends)) < len(ends):
            ends = [repr(edge) for edge in edges]
        labels = [f"[{a}, {b})" for a, b in zip(ends[:-1], ends[1:], strict=True)]
        labels[-1] = labels[-1][:-1] + "]"
        return (*labels, None) if self.missing else tuple(labels)

    def encode(self, values: ArrayLike) -> NDArray[np.intp]:
        """Turn numbers into codes of bins.

        Parameters
        ----------
        values : array-like of shape (n,)
            One number per record, in the units of `low` and `high`. None, NaN, NaT and
            pandas' NA count as missing; text is never parsed.

        Returns
        -------
        ndarray of shape (n,), integer
            One code per record: its bin, from 0 to bins - 1, or `bins` for a missing
            value.

        Raises
        ------
        SchemaError
            If the values are not 1-d, or if a value is not a number, or is missing or
            outside and the declaration does not say where it goes. The message depends
            on private records.
        """
        numbers = as_floats(as_column(values, self.name), self.name)
        missing = np.isnan(numbers)
        if missing.any() and not self.missing:
            raise missing_error(self.name)
        outside = (numbers < self.low) | (numbers > self.high)
        if self.outside == "refuse" and outside.any():
            raise SchemaError(
                f"Column {self.name!r} has values outside [{self.low:g}, "
                f"{self.high:g}], such as {some_values(numbers, outside)}. Declare a "
                "wider interval, or use outside='clip'."
            )
        codes = np.searchsorted(self.edges[1:-1], numbers, side="right")
        codes[missing] = self.bins
        return codes

    def decode(
        self, codes: ArrayLike, rng: np.random.Generator | None = None
    ) -> NDArray[np.float64]:
        """Turn codes into numbers.

        Parameters
        ----------
        codes : array-like of int of shape (n,)
            One code per record, from 0 to n_levels - 1.
        rng : numpy.random.Generator, optional
            Draws uniformly within each bin. Without it: the middle of the bin.

        Returns
        -------
        ndarray of shape (n,), float
            One number per record, inside its bin and in the units of `low` and `high`;
            NaN for the missing level.

        Raises
        ------
        SchemaError
            If a code is not an integer from 0 to n_levels - 1.
        """
        array = checked_codes(codes, self.n_levels, self.name)
        bins = np.minimum(array, self.bins - 1)
        start, stop = self.edges[bins], self.edges[bins + 1]
        share = 0.5 if rng is None else rng.random(array.shape)
        # Rounding may reach the open end, which belongs to the next bin.
        values: NDArray[np.float64]
        values = np.minimum(start + share * (stop - start), np.nextafter(stop, start))
        values[array == self.bins] = np.nan
        return values


def _finite(value: object) -> float:
    """Return a finite real number as a float, NaN for anything else."""
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan
