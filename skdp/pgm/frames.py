"""From codes back to the table that a fit was given: its engine, names and types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from skdp.pgm.widths import Range, hull, value_range, wide_enough
from skdp.records import Column, Numeric, Schema
from skdp.records.frames import read_table

__all__ = ["Filling", "FrameForm", "decode", "fill", "middles"]

#: Which records, which column, and the values.
Filling: TypeAlias = tuple[NDArray[np.intp], int, NDArray[Any]]

#: The type of what has none: it follows from the schema.
_ANY = "any"


@dataclass(frozen=True)
class FrameForm:
    """What a table was, apart from its records.

    Parameters
    ----------
    engine : str
        "array", "pandas", or another engine that narwhals knows.
    types : tuple
        Type of each column, by its name for arrays and pandas; "any" for nested lists,
        whose values alone could tell. Categories are not kept: those of the schema
        take their place.
    """

    engine: str
    types: tuple[Any, ...]

    @classmethod
    def of(cls, X: Any) -> FrameForm:
        """Describe a table.

        Parameters
        ----------
        X : frame or array-like of shape (n, d)
            The table.

        Returns
        -------
        FrameForm
            Without any value of it.
        """
        table = read_table(X)
        if not table.named:
            # NumPy would find the type of nested lists by looking at private values.
            dtype = X.dtype if isinstance(X, np.ndarray) else None
            # The width of a text type is that of the longest private value.
            widthless = {"U": "str", "S": "bytes"}
            kind = _ANY if dtype is None else widthless.get(dtype.kind, str(dtype))
            return cls("array", (kind,) * len(table.columns))
        frame = nw.from_native(X, eager_only=True)
        engine = frame.implementation.value
        if engine == "pandas":
            return cls(engine, tuple(str(dtype) for dtype in X.dtypes))
        kinds = frame.schema.values()
        return cls(engine, tuple("category" if k == nw.Enum else k for k in kinds))

    def is_whole(self, place: int) -> bool:
        """Tell whether a column is of integers.

        Parameters
        ----------
        place : int
            Its position.

        Returns
        -------
        bool
            False for booleans.
        """
        kind = self.types[place]
        name = kind if isinstance(kind, str) else type(kind).__name__
        return "int" in name.lower()

    def build(self, schema: Schema, columns: Sequence[NDArray[Any]]) -> Any:
        """Make a table of this form.

        Parameters
        ----------
        schema : Schema
            Its columns.
        columns : sequence of ndarray, shape (n,)
            Their values.

        Returns
        -------
        frame or ndarray
            A column whose values do not fit its type, such as missing ones among
            integers, gets a type that holds them. One of integers gets a type that
            holds whatever the schema allows.
        """
        ranges = [_range(column) for column in schema]
        if self.engine == "array":
            return _as_array(columns, wide_enough(self.types[0], hull(ranges)))
        if self.engine == "pandas":
            types = tuple(map(wide_enough, self.types, ranges))
            return _as_pandas(schema, columns, types)
        data = {
            name: _plain(values)
            for name, values in zip(schema.names, columns, strict=True)
        }
        frame = nw.from_dict(data, backend=self.engine)  # type: ignore[arg-type]
        for column, kind, ends in zip(schema, self.types, ranges, strict=True):
            kind = _wide_native(kind, ends)
            if kind == "category":
                kind = nw.Enum([str(c) for c in column.levels if c is not None])
            # Each engine has its own errors for what a type cannot hold.
            with suppress(Exception):
                frame = frame.with_columns(nw.col(column.name).cast(kind))
        return frame.to_native()


def _range(column: Column) -> Range:
    """Return the smallest and the largest number that may be drawn; None for others."""
    if isinstance(column, Numeric):
        first, last = _whole_ends(column)
        return float(first.min()), float(last.max())
    return value_range(column.levels)


def _wide_native(kind: Any, ends: Range) -> Any:
    """Widen a type of narwhals."""
    name = type(kind).__name__
    wide = wide_enough(name, ends)
    return kind if wide == name else getattr(nw, wide.replace("float", "Float"))()


def decode(
    column: Column, codes: NDArray[np.intp], rng: np.random.Generator, whole: bool
) -> NDArray[Any]:
    """Turn codes into values, drawn within the bins of a numeric column.

    Parameters
    ----------
    column : Categorical, Ordinal or Numeric
        The declaration.
    codes : ndarray of int, shape (n,)
        Codes of levels.
    rng : numpy.random.Generator
        Draws within bins.
    whole : bool
        Whether numbers have to be integers; a bin that holds none gives the nearest.

    Returns
    -------
    ndarray, shape (n,)
        Values that the column would code alike.
    """
    if not (whole and isinstance(column, Numeric)):
        return column.decode(codes, rng)
    first, last = _whole_ends(column)
    bins = np.minimum(codes, column.bins - 1)
    values = np.floor(first[bins] + rng.random(len(codes)) * (last - first + 1)[bins])
    values = np.minimum(values, last[bins])
    values[codes == column.bins] = np.nan
    return values


def middles(column: Numeric, whole: bool) -> NDArray[np.float64]:
    """Return the number that stands for each bin.

    Parameters
    ----------
    column : Numeric
        The declaration.
    whole : bool
        Whether numbers have to be integers.

    Returns
    -------
    ndarray, shape (bins,)
        The middle, or the integer of the bin that is nearest to it.
    """
    middle = column.decode(np.arange(column.bins))
    return np.clip(np.rint(middle), *_whole_ends(column)) if whole else middle


def _whole_ends(column: Numeric) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first and last integer of each bin; the nearest one if it has none."""
    edges = column.edges
    first, last = np.ceil(edges[:-1]), np.ceil(edges[1:]) - 1
    last[-1] = np.floor(column.high)
    nearest = np.rint((edges[:-1] + edges[1:]) / 2)
    empty = last < first
    return np.where(empty, nearest, first), np.where(empty, nearest, last)


def fill(X: Any, fillings: Iterable[Filling]) -> Any:
    """Put values into the gaps of a copy of a table.

    Parameters
    ----------
    X : frame or array-like of shape (n, d)
        The table.
    fillings : iterable of (ndarray of int, int, ndarray)
        Which records, which column, and the values.

    Returns
    -------
    frame or ndarray
        Of the same engine and types.
    """
    if not read_table(X).named:
        return _fill_array(X, fillings)
    frame = nw.from_native(X, eager_only=True)
    if frame.implementation.value == "pandas":
        return _fill_pandas(X, fillings)
    for records, place, values in fillings:
        series = frame[frame.columns[place]]
        filled = series.to_list()
        dtype = _wide_native(series.dtype, value_range(values.tolist()))
        whole = dtype.is_integer()
        for record, value in zip(records.tolist(), values.tolist(), strict=True):
            filled[record] = int(value) if whole else value
        new = nw.new_series(series.name, filled, dtype, backend=frame.implementation)
        frame = frame.with_columns(new)
    return frame.to_native()


def _fill_array(X: Any, fillings: Iterable[Filling]) -> NDArray[Any]:
    array = np.array(X)
    if array.dtype.kind not in "fiub" and not isinstance(X, np.ndarray):
        array = np.array(X, dtype=object)  # rows of values of several kinds
    for records, place, values in fillings:
        array[records, place] = values
    return array


def _fill_pandas(X: Any, fillings: Iterable[Filling]) -> Any:
    frame = X.copy()
    for records, place, values in fillings:
        series, filled = frame.iloc[:, place].copy(), values.tolist()
        if series.dtype.name == "category":
            new = [v for v in dict.fromkeys(filled) if v not in series.cat.categories]
            series = series.cat.add_categories(new)
        else:
            series = series.astype(wide_enough(str(series.dtype), value_range(filled)))
        series.iloc[records] = filled
        frame.isetitem(place, series)
    return frame


def _as_array(columns: Sequence[NDArray[Any]], kind: str) -> NDArray[Any]:
    kinds = {values.dtype.kind for values in columns}
    if len(kinds) > 1 and not kinds <= set("fiu"):
        columns = [values.astype(object) for values in columns]
    table = np.column_stack(columns)
    return table if kind == _ANY or table.dtype.kind in "OU" else _cast(table, kind)


def _cast(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Cast where nothing is lost."""
    try:
        with np.errstate(invalid="ignore"):
            cast = values.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return values
    if values.dtype.kind in "fiu" and cast.dtype.kind in "iub":
        return cast if np.array_equal(cast, values) else values
    return cast


def _as_pandas(
    schema: Schema, columns: Sequence[NDArray[Any]], types: tuple[Any, ...]
) -> Any:
    import pandas as pd

    made = {}
    for column, values, dtype in zip(schema, columns, types, strict=True):
        if dtype == "category":
            levels = [level for level in column.levels if level is not None]
            made[column.name] = pd.Categorical(
                values, categories=levels, ordered=column.ordered
            )
        else:
            made[column.name] = _cast_series(pd.Series(values), dtype)
    return pd.DataFrame(made)


def _cast_series(series: Any, dtype: str) -> Any:
    """Cast where nothing is lost: not missing values, not words, to integers."""
    try:
        cast = series.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return series
    if series.dtype.kind in "iuf" and cast.dtype.kind in "iu":
        lost = (cast != series) & series.notna()
        return series if lost.any() else cast
    return cast if (cast.isna() == series.isna()).all() else series


def _plain(values: NDArray[Any]) -> list[Any]:
    """Return Python values, None for what is missing."""
    return [None if value != value else value for value in values.tolist()]
