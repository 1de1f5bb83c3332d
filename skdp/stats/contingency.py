"""Chi-square tests of conditional independence from exact contingency tables.

Both statistics have unbounded sensitivity: for use without privacy, or as the median of
many blocks of records (:class:`skdp.queries.DependenceEvidence`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, xlogy

__all__ = ["chi2_pvalue", "g2_pvalue"]

Tables = NDArray[np.int64]
Floats = NDArray[np.float64]


def chi2_pvalue(tables: Tables) -> float:
    """Test conditional independence by Pearson's statistic.

    Parameters
    ----------
    tables : ndarray of int64, shape (n_strata, n_levels_x, n_levels_y)
        Counts per stratum.

    Returns
    -------
    float
        The p-value of the summed statistic, with the degrees of freedom of the
        levels that occur in each stratum; 1 if there are none. Without
        continuity correction.
    """
    return _pvalue(tables, lambda n, e: (n - e) ** 2 / np.where(e > 0, e, 1.0))


def g2_pvalue(tables: Tables) -> float:
    """Test conditional independence by the likelihood-ratio statistic G.

    Parameters
    ----------
    tables : ndarray of int64, shape (n_strata, n_levels_x, n_levels_y)
        Counts per stratum.

    Returns
    -------
    float
        The p-value; see `chi2_pvalue`.
    """
    return _pvalue(tables, lambda n, e: 2 * xlogy(n, n / np.where(e > 0, e, 1.0)))


def _pvalue(tables: Tables, cell: Callable[[Floats, Floats], Floats]) -> float:
    counts = tables.astype(np.float64)
    rows = counts.sum(axis=2)
    columns = counts.sum(axis=1)
    sizes = rows.sum(axis=1)
    expected = (
        rows[:, :, None] * columns[:, None, :] / np.maximum(sizes, 1)[:, None, None]
    )
    statistic = cell(counts, expected).sum()
    free_rows, free_columns = ((m > 0).sum(axis=1) - 1 for m in (rows, columns))
    # An empty stratum has -1 x -1; it is free in nothing.
    degrees = int((free_rows * free_columns)[sizes > 0].sum())
    return float(chdtrc(degrees, statistic)) if degrees else 1.0
