"""The tables of all pairs of columns at once, as one matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["pairwise_counts"]

_BLOCK = 1 << 12  # rows; their indicators stay in the cache


def pairwise_counts(records: CountTable, names: Sequence[str]) -> NDArray[np.int64]:
    """Count every pair of levels of some columns.

    Parameters
    ----------
    records : CountTable
        The records.
    names : sequence of str
        Columns of r_1, ..., r_d levels.

    Returns
    -------
    ndarray of int64, shape (sum of levels, sum of levels)
        X'X of the indicators of all levels, columns in the order given: the block of
        two columns is their contingency table.
    """
    places = [records.schema.names.index(name) for name in names]
    levels = [records.schema.n_levels(name) for name in names]
    starts = np.cumsum([0, *levels[:-1]])
    # Sums of counts in float64 are exact below 2^53 records.
    total = np.zeros((sum(levels), sum(levels)))
    for first in range(0, len(records.counts), _BLOCK):
        rows = records.rows[first : first + _BLOCK][:, places]
        weights = records.counts[first : first + _BLOCK]
        indicators = np.zeros((len(rows), sum(levels)))
        np.put_along_axis(indicators, rows.astype(np.intp) + starts, 1.0, axis=1)
        total += (indicators * weights[:, None]).T @ indicators
    return total.astype(np.int64)
