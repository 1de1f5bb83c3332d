"""Scores of conditional dependence between two ordered variables.

Each score is a function of a stack of contingency tables, one per stratum of the
conditioning variables, and measures how far the two variables are from
independence *within* the strata. Ties count zero. How much a score can change
when one record is replaced is the business of :mod:`skdp.queries.dependence`.

Sources: Priv-PC (Wang, Pang, Song 2020), appendices D and E, for the two
normalised forms; the default score has a normaliser that does not depend on the
data, so that it needs no minimum size of a stratum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "concordance",
    "kendall_score",
    "normalized_kendall_score",
    "spearman_score",
]

IntTables = NDArray[np.int64]


def _signed_sums(counts: IntTables, axis: int) -> IntTables:
    """Return, per level, the number of entries below it minus those above it."""
    total = counts.sum(axis=axis, keepdims=True)
    return 2 * np.cumsum(counts, axis=axis) - counts - total


def concordance(tables: IntTables) -> IntTables:
    """Count concordant minus discordant pairs in each table.

    Parameters
    ----------
    tables : ndarray of int64, shape (n_strata, n_levels_x, n_levels_y)
        Counts of records; a table may hold at most 3e9 of them (the sum over
        ordered pairs has to fit in 64 bits).

    Returns
    -------
    ndarray of int64, shape (n_strata,)
        Concordant minus discordant pairs; a pair tied in x or in y counts 0.

    Examples
    --------
    >>> import numpy as np
    >>> concordance(np.array([[[2, 0], [0, 3]], [[1, 1], [1, 1]]]))
    array([6, 0])
    """
    ordered_pairs = tables * _signed_sums(_signed_sums(tables, axis=1), axis=2)
    return np.asarray(ordered_pairs.sum(axis=(1, 2)) // 2)


def kendall_score(tables: IntTables, n_records: int) -> float:
    r"""Return Kendall's score with a normaliser that no record can change.

    .. math:: z = \frac{3}{2\sqrt n} \left|\sum_i \frac{2 S_i}{n_i}\right|

    with :math:`S_i` the concordant minus discordant pairs of stratum i and
    :math:`n_i` its size; strata of fewer than two records add nothing.

    Parameters
    ----------
    tables : ndarray of int64, shape (n_strata, n_levels_x, n_levels_y)
        Counts per stratum; empty strata may be left out.
    n_records : int
        Number of records over all strata.

    Returns
    -------
    float
        The score, dimensionless; about the size of a half-normal variable under
        independence, of order ``sqrt(n_records)`` under dependence.
    """
    sizes = tables.sum(axis=(1, 2))
    terms = 2.0 * concordance(tables) / np.maximum(sizes, 1)
    return float(1.5 * abs(terms.sum()) / np.sqrt(n_records))


def kendall_weights(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the inverse null variance of Kendall's tau for samples of these sizes."""
    m = sizes.astype(np.float64)
    return 9.0 * m * (m - 1.0) / (2.0 * (2.0 * m + 5.0))


def normalized_kendall_score(tables: IntTables) -> float:
    r"""Return Kendall's score as the paper defines it (Priv-PC, definition D.2).

    .. math:: z = \frac{|\sum_i w_i \tau_i|}{\sqrt{\sum_i w_i}}, \qquad
              w_i = \frac{9 n_i (n_i - 1)}{2 (2 n_i + 5)}

    Parameters
    ----------
    tables : ndarray of int64, shape (n_strata, n_levels_x, n_levels_y)
        Counts per stratum; empty strata may be left out.

    Returns
    -------
    float
        The score, dimensionless; 0 if no stratum holds two records.
    """
    sizes = tables.sum(axis=(1, 2))
    normaliser = kendall_weights(sizes).sum()
    if normaliser == 0:
        return 0.0
    terms = 9.0 * concordance(tables) / (2.0 * sizes + 5.0)
    return float(abs(terms.sum()) / np.sqrt(normaliser))


def spearman_score(tables: IntTables, n_records: int) -> float:
    r"""Return Spearman's score in covariance form with mid-ranks.

    .. math:: z = \frac{1}{\sqrt n}\Bigl|\sum_i (n_i - 1) \rho_i\Bigr|, \qquad
              \rho_i = \frac{3 \sum_j \alpha_j \beta_j}{n_i (n_i^2 - 1)}

    with :math:`\alpha_j = \sum_l \mathrm{sgn}(a_j - a_l)`, and :math:`\beta_j`
    likewise, within stratum i. The textbook form with squared rank differences is
    biased under ties and is not used.

    Parameters
    ----------
    tables : ndarray of int64, shape (n_strata, n_levels_x, n_levels_y)
        Counts per stratum; empty strata may be left out.
    n_records : int
        Number of records over all strata.

    Returns
    -------
    float
        The score, dimensionless.
    """
    sizes = tables.sum(axis=(1, 2)).astype(np.float64)
    x_ranks = _signed_sums(tables.sum(axis=2), axis=1)[:, :, None]
    y_ranks = _signed_sums(tables.sum(axis=1), axis=1)[:, None, :]
    # In floating point: the products reach n^3, beyond 64-bit integers.
    moments = (tables * x_ranks.astype(np.float64) * y_ranks).sum(axis=(1, 2))
    # (n_i - 1) rho_i = 3 M_i / (n_i (n_i + 1)); a single record has M_i = 0.
    terms = 3.0 * moments / np.maximum(sizes * (sizes + 1.0), 1.0)
    return float(abs(terms.sum()) / np.sqrt(n_records))
