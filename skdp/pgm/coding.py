"""Codes of records that may have gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skdp.records import Column, Schema
from skdp.records.frames import Table, Values
from skdp.records.missing import missing_entries, select_entries
from skdp.records.readers import value_reader

__all__ = ["GAP", "codes_of", "codes_with_gaps", "gap_patterns"]

#: The code of an entry that is not known.
GAP = -1


def codes_of(table: Table, schema: Schema) -> NDArray[np.intp]:
    """Code records; a missing value is a level where the schema has one, else refused.

    Parameters
    ----------
    table : Table
        With the columns of the schema, in its order.
    schema : Schema
        Their levels.

    Returns
    -------
    ndarray of int, shape (n, d)
        Codes.

    Raises
    ------
    SchemaError
        If a value does not fit its column.
    """
    columns = [_codes(c, v) for c, v in zip(schema, table.columns, strict=True)]
    return np.column_stack(columns)


def codes_with_gaps(table: Table, schema: Schema) -> NDArray[np.intp]:
    """Code records; missing values, declared or not, are gaps.

    Parameters
    ----------
    table : Table
        With the columns of the schema, in its order.
    schema : Schema
        Their levels.

    Returns
    -------
    ndarray of int, shape (n, d)
        Codes, `GAP` where a value is missing.

    Raises
    ------
    SchemaError
        If a value does not fit its column.
    """
    codes = np.full((table.n_records, len(schema)), GAP, dtype=np.intp)
    for j, (column, values) in enumerate(zip(schema, table.columns, strict=True)):
        known = ~missing_entries(values)
        codes[known, j] = _codes(column, select_entries(values, known))
    return codes


def _codes(column: Column, values: Values) -> NDArray[np.intp]:
    return np.asarray(value_reader(column, values)(slice(None)), dtype=np.intp)


def gap_patterns(
    codes: NDArray[np.intp],
) -> list[tuple[tuple[int, ...], NDArray[np.intp]]]:
    """Group records by which of their entries are missing.

    Parameters
    ----------
    codes : ndarray of int, shape (n, d)
        With gaps.

    Returns
    -------
    list of (tuple of int, ndarray of int)
        Positions of the gaps, and the records that have just these.
    """
    patterns, group = np.unique(codes == GAP, axis=0, return_inverse=True)
    group = group.ravel()
    return [
        (tuple(np.flatnonzero(pattern).tolist()), np.flatnonzero(group == k))
        for k, pattern in enumerate(patterns)
    ]
