"""From the columns of a table to codes, some rows at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import SchemaError
from skdp.records.checks import checked_codes
from skdp.records.distinct import Codes, Reader
from skdp.records.encoding import as_column
from skdp.records.frames import CodedColumn, Values
from skdp.records.schema import Column

__all__ = ["code_reader", "value_reader"]


def value_reader(column: Column, values: Values) -> Reader:
    """Return the function that encodes a slice of a column's values.

    The categories of a categorical column are encoded once, whatever the number of
    records.

    Parameters
    ----------
    column : Categorical, Ordinal or Numeric
    values : ndarray of shape (n,) or CodedColumn

    Returns
    -------
    function
        From a slice of rows to their codes.
    """
    if isinstance(values, CodedColumn):
        lookup = _lookup(column, values.categories)
        return partial(_recode, column, values, lookup)
    array = as_column(values, column.name)
    return lambda rows: column.encode(array[rows])


def code_reader(column: Column, codes: NDArray[Any]) -> Reader:
    """Return the function that checks a slice of a column's codes.

    Parameters
    ----------
    column : Categorical, Ordinal or Numeric
    codes : ndarray of int of shape (n,)

    Returns
    -------
    function
        From a slice of rows to their codes.
    """
    return lambda rows: checked_codes(codes[rows], column.n_levels, column.name)


def _lookup(column: Column, categories: NDArray[Any]) -> NDArray[np.intp]:
    """Return the code of each category, then of a missing value; -1 if refused."""

    def encode_or_refuse(values: NDArray[Any]) -> NDArray[np.intp]:
        try:
            return column.encode(values)
        except SchemaError:
            if len(values) == 1:
                return np.array([-1])
            return np.concatenate([encode_or_refuse(v) for v in _halves(values)])

    missing = encode_or_refuse(np.array([None]))
    if not len(categories):
        return missing
    return np.append(encode_or_refuse(categories), missing)


def _halves(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    middle = len(values) // 2
    return values[:middle], values[middle:]


def _recode(
    column: Column, coded: CodedColumn, lookup: NDArray[np.intp], rows: slice
) -> Codes:
    codes = lookup.take(coded.codes[rows])
    if len(codes) and codes.min() < 0:
        return column.encode(coded.values(rows))  # raises, naming the values
    return codes
