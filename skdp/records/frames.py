"""Tables of any kind, read column by column.

A pandas frame is read natively, a NumPy array or a list of rows by position, and
other eager frames (Polars, PyArrow, ...) through narwhals. A categorical column keeps
its codes and its categories; no column is turned into objects unless it is of
mixed or of nullable type.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skdp.exceptions import SchemaError
from skdp.records.schema import duplicates

__all__ = ["CodedColumn", "Table", "Values", "column_names", "columns", "read_table"]


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    """A categorical column as its engine keeps it.

    Parameters
    ----------
    codes : ndarray of shape (n,), integer
        Positions in `categories`; -1 where the value is missing.
    categories : ndarray of shape (k,)
        The declared levels, in their order; some may not occur.
    ordered : bool
        Whether the order of the categories has a meaning.
    """

    codes: NDArray[Any]
    categories: NDArray[Any]
    ordered: bool

    def __len__(self) -> int:
        return len(self.codes)

    def values(self, rows: slice) -> NDArray[Any]:
        """Return the values of some rows as objects, None where one is missing.

        Parameters
        ----------
        rows : slice
            Which of the n rows.

        Returns
        -------
        ndarray of object, shape (n_selected,)
            The category of each selected row.
        """
        with_none = np.empty(len(self.categories) + 1, dtype=object)
        with_none[:-1] = self.categories
        return with_none.take(self.codes[rows])


Values: TypeAlias = NDArray[Any] | CodedColumn


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """The columns of a table.

    Parameters
    ----------
    names : tuple of str
        "x0", "x1", ... if the table has none.
    columns : tuple of ndarray or CodedColumn
        1-d and of equal length; views wherever possible.
    n_records : int
    named : bool
        Whether the names are the table's own.
    """

    names: tuple[str, ...]
    columns: tuple[Values, ...]
    n_records: int
    named: bool


def column_names(X: Any) -> list[str]:
    """Return the names of the columns; "x0", "x1", ... for an array.

    Parameters
    ----------
    X : frame or array-like of shape (n, d)
        One row per record and one column per variable.

    Returns
    -------
    list of str
        The d names, in the order of the table.

    Raises
    ------
    SchemaError
        If the table is lazy, not 2-d, without columns, or its column names are not
        strings or not unique.
    TypeError
        If it is sparse.
    """
    return list(read_table(X).names)


def columns(X: Any) -> Iterator[Values]:
    """Iterate over the columns as 1-d arrays, or CodedColumn for categorical ones.

    Parameters
    ----------
    X : frame or array-like of shape (n, d)
        One row per record and one column per variable.

    Yields
    ------
    ndarray of shape (n,) or CodedColumn
        The values of the next column, a view wherever possible.

    Raises
    ------
    SchemaError
        If the table is lazy, not 2-d, without columns, or its column names are not
        strings or not unique.
    TypeError
        If it is sparse.
    """
    yield from read_table(X).columns


def read_table(X: Any) -> Table:
    """Read a table of any kind.

    Parameters
    ----------
    X : frame or array-like of shape (n, d)
        A Table is returned as it is.

    Returns
    -------
    Table

    Raises
    ------
    SchemaError
        If the table is lazy, not 2-d, without columns, or its column names are not
        strings or not unique.
    TypeError
        If it is sparse.
    """
    if isinstance(X, Table):
        return X
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed, but dense data is required. "
            "Use X.toarray() to convert to a dense array."
        )
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        names = _checked_names(list(X.columns))
        read = tuple(_pandas_column(X.iloc[:, j]) for j in range(X.shape[1]))
        return _table(names, read, X.shape[0], named=True)
    frame = None if isinstance(X, np.ndarray | Sequence) else _narwhals_frame(X)
    if frame is not None:
        names = _checked_names(frame.columns)
        read = tuple(_narwhals_column(column) for column in frame.iter_columns())
        return _table(names, read, frame.shape[0], named=True)
    array = _array(X)
    names = tuple(f"x{j}" for j in range(array.shape[1]))
    return _table(names, tuple(array.T), array.shape[0], named=False)


def _table(
    names: tuple[str, ...], read: tuple[Values, ...], n: int, *, named: bool
) -> Table:
    if not names:
        raise SchemaError(
            f"Found array with 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is "
            "required."
        )
    return Table(names, read, n, named)


def _checked_names(names: list[Any]) -> tuple[str, ...]:
    for name in names:
        if not isinstance(name, str):
            raise SchemaError(
                f"Column names must be strings, but one is {name!r} "
                f"({type(name).__name__}). Rename the columns: "
                "X.columns = [str(name) for name in X.columns]."
            )
    if twice := duplicates(names):
        raise SchemaError(
            f"Duplicate column names: {', '.join(map(repr, twice))}. "
            "Give every column a name of its own."
        )
    return tuple(str(name) for name in names)


def _array(X: Any) -> NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):
        raise SchemaError("Masked arrays are not supported. Use X.filled() first.")
    # Nested lists keep the type of each entry, where NumPy would make all of it text.
    dtype = object if isinstance(X, Sequence) else None
    try:
        array = np.asarray(X, dtype=dtype)
    except ValueError:
        raise SchemaError("The rows of the table differ in length.") from None
    if array.ndim != 2:
        raise SchemaError(
            f"Expected 2D array, got {array.ndim}D array instead: a table has a row "
            "per record and a column per variable. Reshape your data: "
            "X.reshape(-1, 1) if it has a single column, X.reshape(1, -1) if it has a "
            "single record."
        )
    return array


def _pandas_column(series: Any) -> Values:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return np.asarray(series.to_numpy())
    if dtype.name == "category":
        values = series.array
        return CodedColumn(
            np.asarray(values.codes), _pandas_levels(values.categories), values.ordered
        )
    if type(dtype).__name__ == "SparseDtype":
        raise TypeError(
            f"Sparse data was passed in column {series.name!r}, but dense data is "
            "required. Use X.sparse.to_dense() to convert it."
        )
    if dtype.kind in "Mm":
        return np.asarray(series.to_numpy(dtype=f"{dtype.kind}8[ns]"))
    if dtype.kind in "biuf" and not series.isna().any():
        return np.asarray(series.to_numpy(dtype=dtype.numpy_dtype))
    return np.asarray(series.to_numpy(dtype=object))


def _pandas_levels(index: Any) -> NDArray[Any]:
    if isinstance(index.dtype, np.dtype):
        return np.asarray(index)
    return np.asarray(index.to_numpy(dtype=object))


def _narwhals_frame(X: Any) -> Any:
    """Return the table as an eager narwhals frame; None if it is no frame."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise SchemaError(
            "The frame is lazy: its records are not in memory. Collect it first, "
            "X.collect() or X.compute()."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def _narwhals_column(series: Any) -> Values:
    # Only an Enum declares its categories; the dictionary of a Polars Categorical is
    # filled from the data, so that it is read as the text that it holds.
    if series.dtype == nw.Enum:
        levels = list(series.dtype.categories)
        position = {level: code for code, level in enumerate(levels)}
        text = series.cast(nw.String).to_list()
        codes = np.array([position.get(value, -1) for value in text], dtype=np.intp)
        return CodedColumn(codes, np.array(levels, dtype=object), ordered=True)
    if series.dtype == nw.Categorical:
        series = series.cast(nw.String)
    if series.dtype.is_float() or (
        series.null_count() == 0 and series.dtype != nw.String
    ):
        return np.asarray(series.to_numpy())
    array = np.empty(len(series), dtype=object)
    array[:] = series.to_list()
    return array
