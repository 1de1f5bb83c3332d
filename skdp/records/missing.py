"""Missing entries of a table's columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skdp.records.encoding import is_missing
from skdp.records.frames import CodedColumn, Values

__all__ = ["missing_entries", "select_entries"]


def missing_entries(values: Values) -> NDArray[np.bool_]:
    """Find the missing entries of a column.

    Parameters
    ----------
    values : ndarray of shape (n,) or CodedColumn
        As `skdp.records.frames.read_table` gives it.

    Returns
    -------
    ndarray of bool, shape (n,)
        True for None, NaN, NaT and pandas' NA.
    """
    if isinstance(values, CodedColumn):
        return np.asarray(values.codes) < 0
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    return np.fromiter(map(is_missing, values), dtype=np.bool_, count=len(values))


def select_entries(values: Values, chosen: NDArray[np.bool_]) -> Values:
    """Return some entries of a column.

    Parameters
    ----------
    values : ndarray of shape (n,) or CodedColumn
        The column.
    chosen : ndarray of bool, shape (n,)
        Which entries.

    Returns
    -------
    ndarray or CodedColumn
        Of the kind of the column.
    """
    if isinstance(values, CodedColumn):
        return CodedColumn(values.codes[chosen], values.categories, values.ordered)
    return values[chosen]
