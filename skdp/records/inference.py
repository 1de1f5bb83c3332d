"""A schema read off a table, for those who have none.

The levels of a pandas categorical (or of an Enum) are a declaration and taken over as
they are. Everything else that is read off private records leaks outside the guarantee;
one PrivacyLeakWarning names all such columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import PrivacyLeakWarning, SchemaError
from skdp.records.encoding import as_column, is_missing
from skdp.records.frames import CodedColumn, Values, read_table
from skdp.records.missing import missing_entries, select_entries
from skdp.records.schema import Categorical, Column, Numeric, Ordinal, Schema
from skdp.warn import warn_user

__all__ = ["infer_schema", "interval_of"]

_ORDINAL_SPAN = 64
_NARROWEST = 1e-12
_SMALLEST = 1e-300


def infer_schema(
    X: Any,
    names: Sequence[str] | None = None,
    warn: bool = True,
    missing: bool = False,
) -> Schema:
    """Read a schema off a table.

    A pandas categorical gives its categories (an ordered one an Ordinal column), an
    Enum likewise. Floats give Numeric(min, max); integers Ordinal(min..max) if
    max - min < 64, else Numeric(min, max); text Categorical of the sorted
    values; booleans Categorical((False, True)).

    Parameters
    ----------
    X : frame or array-like of shape (n, d)
        One row per record and one column per variable.
    names : sequence of str, optional
        Names of the d columns in place of the table's own.
    warn : bool, default=True
        Whether to warn of columns whose levels were read off the records.
    missing : bool, default=False
        Whether a column with missing values is declared with ``missing=True``; if not,
        it is refused.

    Returns
    -------
    Schema
        One declaration per column, in the order of the table.

    Raises
    ------
    SchemaError
        If the table is lazy, not 2-d or without columns, if the names are not d
        different strings, or if a column to be read off the records is empty or holds
        missing or infinite values, or values that are neither numbers nor text nor
        booleans.
    TypeError
        If the table is sparse.

    Warns
    -----
    PrivacyLeakWarning
        Once, naming every column that was read off the records.

    Examples
    --------
    >>> infer_schema(np.array([[0, 1], [3, 900]]), names=["a", "b"], warn=False)
    Schema(a: Ordinal(4), b: Numeric(10))
    """
    table = read_table(X)
    names = table.names if names is None else tuple(names)
    if len(names) != len(table.names):
        raise SchemaError(
            f"{len(names)} names were given for {len(table.names)} columns."
        )
    infer = _infer_known if missing else _infer
    schema = Schema(
        tuple(infer(n, v) for n, v in zip(names, table.columns, strict=True))
    )
    leaky = [
        repr(name)
        for name, values in zip(names, table.columns, strict=True)
        if not isinstance(values, CodedColumn)
    ]
    if warn and leaky:
        warn_user(
            f"The levels of {', '.join(leaky)} were read off the private records, "
            "which is outside the privacy guarantee. Pass schema= with levels that "
            "are public knowledge.",
            PrivacyLeakWarning,
        )
    return schema


def _infer_known(name: str, values: Values) -> Column:
    """Read a declaration off the entries that are not missing."""
    gone = missing_entries(values)
    if not gone.any():
        return _infer(name, values)
    return replace(_infer(name, select_entries(values, ~gone)), missing=True)


def _infer(name: str, values: Values) -> Column:
    if isinstance(values, CodedColumn):
        kind = Ordinal if values.ordered else Categorical
        return kind(name, tuple(values.categories.tolist()))
    array = as_column(values, name)
    if array.size == 0:
        raise SchemaError(
            "Found array with 0 sample(s) while a minimum of 1 is required to read a "
            f"schema off it (column {name!r}). Pass schema=."
        )
    if array.dtype.kind == "O":
        array = _typed(array, name)
    if array.dtype.kind == "b":
        return Categorical(name, (False, True))
    if array.dtype.kind in "UO":
        return Categorical(name, tuple(sorted(set(array.tolist()))))
    if array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low < _ORDINAL_SPAN:
            return Ordinal(name, tuple(range(low, high + 1)))
        return Numeric(name, *interval_of(low, high))
    _refuse_not_finite(array, name)
    return Numeric(name, *interval_of(float(array.min()), float(array.max())))


def _typed(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a column of objects as booleans, integers, floats or str objects."""
    listed = values.tolist()
    types = {type(value) for value in listed}
    if types == {str}:
        return values
    if any(is_missing(value) for value in listed):
        raise _has_nan(name)
    if all(issubclass(t, str) for t in types):
        return values
    if all(issubclass(t, bool | np.bool_) for t in types):
        return values.astype(np.bool_)
    numbers = (int, float, np.integer, np.floating)
    if all(issubclass(t, numbers) and not issubclass(t, bool) for t in types):
        try:
            if all(issubclass(t, int | np.integer) for t in types):
                return values.astype(np.int64)
            return values.astype(np.float64)
        except OverflowError:
            raise SchemaError(
                f"Column {name!r} holds integers that do not fit 64 bits."
            ) from None
    if any(issubclass(t, complex | np.complexfloating) for t in types):
        raise SchemaError(f"Complex data not supported: column {name!r}.")
    found = ", ".join(sorted(t.__name__ for t in types)[:4])
    raise SchemaError(
        f"Column {name!r} holds values of the types {found}. A column has to be all "
        "numbers, all text or all booleans for its levels to be read off; convert it, "
        "or pass schema=."
    )


def _has_nan(name: str) -> SchemaError:
    return SchemaError(
        f"Column {name!r} contains NaN or another missing value. Fill it in before, or "
        "pass schema= with missing=True for this column."
    )


def _refuse_not_finite(values: NDArray[Any], name: str) -> None:
    if np.isnan(values).any():
        raise _has_nan(name)
    if np.isinf(values).any():
        raise SchemaError(
            f"Column {name!r} contains infinity, so that no interval can be read off "
            "it. Pass schema= with Numeric(name, low, high)."
        )


def interval_of(low: float, high: float) -> tuple[float, float]:
    """Widen an interval that is too narrow to hold bins.

    Parameters
    ----------
    low, high : float
        Ends, with low <= high.

    Returns
    -------
    tuple of float
        The same ends, or ends further apart.

    Examples
    --------
    >>> interval_of(2.0, 2.0)
    (1.5, 2.5)
    """
    size = max(abs(low), abs(high))
    if high - low > max(_NARROWEST * size, _SMALLEST):
        return low, high
    margin = max(0.5, _NARROWEST * size)
    return low - margin, high + margin
