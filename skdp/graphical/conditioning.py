"""Distributions of some columns for many records at once, given the others' levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.factor import Factor
from skdp.graphical.inference import (
    Columns,
    Sizes,
    batches,
    n_cells,
    plan_elimination,
)
from skdp.graphical.sum_product import sum_out

__all__ = ["conditionals", "normalised"]

#: Name of the axis along which the records lie; no column can have it.
_RECORDS = "\0records"


def conditionals(
    factors: Sequence[Factor],
    columns: Columns,
    evidence: Mapping[str, NDArray[np.intp]],
    sizes: Sizes,
    max_cells: float,
) -> NDArray[np.float64]:
    """Return the distribution of some columns for each of many records.

    The factors are taken at the evidence of all records of a batch, which gives them an
    axis of records; the other columns are summed out once for all.

    Parameters
    ----------
    factors : sequence of Factor
        The model.
    columns : tuple of str
        What is asked.
    evidence : mapping of str to ndarray of int, shape (n,)
        Codes of other columns. Not empty.
    sizes : mapping of str to int
        Numbers of levels.
    max_cells : float
        Largest table that may be stored.

    Returns
    -------
    ndarray, n then one axis per column
        nan where the evidence has probability zero.

    Raises
    ------
    ModelTooLargeError
        If a larger table would be needed; nothing was allocated.
    """
    keep, n = (_RECORDS, *columns), len(next(iter(evidence.values())))
    result = np.empty((n, *(sizes[c] for c in columns)))
    for rows in batches(
        n, _cells_per_record(factors, evidence, keep, sizes, max_cells)
    ):
        part = {name: codes[rows] for name, codes in evidence.items()}
        given = [factor.at(part, _RECORDS) for factor in factors]
        batch = {**sizes, _RECORDS: rows.stop - rows.start}
        result[rows] = normalised(sum_out(given, keep, batch, max_cells), len(columns))
    return result


def _cells_per_record(
    factors: Iterable[Factor],
    evidence: Iterable[str],
    keep: Columns,
    sizes: Sizes,
    max_cells: float,
) -> int:
    """Count the cells of the largest table that grows with the records."""
    given = set(evidence)
    scopes = []
    for factor in factors:
        left = tuple(c for c in factor.columns if c not in given)
        scopes.append(left if len(left) == len(factor.columns) else (_RECORDS, *left))
    one = {**sizes, _RECORDS: 1}
    plan = plan_elimination(scopes, keep, one)
    plan.refuse_beyond(max_cells, one)
    return max(n_cells(table, one) for table in plan.stored if _RECORDS in table)


def normalised(factor: Factor, n_axes: int) -> NDArray[np.float64]:
    """Return the last axes of a factor as distributions.

    Parameters
    ----------
    factor : Factor
        Logarithms of weights.
    n_axes : int
        Number of axes of one distribution.

    Returns
    -------
    ndarray
        Of the factor's shape; nan where all weights are zero.
    """
    n_all = factor.log_values.ndim
    axes = tuple(range(n_all - n_axes, n_all))
    top = factor.log_values.max(axis=axes, keepdims=True)
    values = np.exp(factor.log_values - np.where(top > -np.inf, top, 0.0))
    with np.errstate(invalid="ignore"):
        return np.asarray(values / values.sum(axis=axes, keepdims=True))
