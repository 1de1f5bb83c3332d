"""A score of dependence for levels without an order, and its law under independence.

Sources: the total variation between a table and the product of its margins; the law of
the absolute values of correlated normal variables (Isserlis; Nabeya 1951).
"""

from __future__ import annotations

from functools import lru_cache
from math import asin, exp, lgamma, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

__all__ = ["total_variation_null", "total_variation_score"]


def total_variation_score(tables: NDArray[np.int64], n_records: int) -> float:
    r"""Return half the total variation from independence within strata, in records.

    .. math:: z = \frac{1}{4\sqrt n} \sum_{i, x, y}
              \Bigl|N_{xyi} - \frac{N_{xi} N_{yi}}{N_i}\Bigr|

    Parameters
    ----------
    tables : ndarray of int64, shape (n_strata, n_levels_x, n_levels_y)
        Counts per stratum; empty strata may be left out.
    n_records : int
        Number of records over all strata.

    Returns
    -------
    float
        The score, dimensionless; of order ``sqrt(n_records)`` under dependence of any
        kind.

    Examples
    --------
    >>> import numpy as np
    >>> total_variation_score(np.array([[[8, 0], [0, 8]]]), 16)
    1.0
    """
    sizes = tables.sum(axis=(1, 2))[:, None, None]
    products = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :]
    # The residual times the size of its stratum is an integer.
    residuals = np.abs(tables * sizes - products) / np.maximum(sizes, 1)
    return float(residuals.sum() / (4 * sqrt(n_records)))


@lru_cache(maxsize=1024)
def total_variation_null(
    r: int, c: int, n_strata: int, n_records: int
) -> tuple[float, float]:
    r"""Return the largest law of the score under independence, for a public shape.

    The residuals of one table are close to normal, those of a uniform table with
    correlations :math:`-1/(r-1)`, :math:`-1/(c-1)` and their product. Their absolute
    values have the mean and the covariances

    .. math:: \sigma\sqrt{2/\pi}, \qquad \frac{2\sigma^2}{\pi}
              \left(\sqrt{1-\rho^2} + \rho\arcsin\rho - 1\right) .

    By Cauchy's inequality, no margins have a larger mean than uniform ones, and no
    sizes of strata than equal ones:
    :math:`\mu = \sqrt{K (r-1)(c-1) / 8\pi}`. The variance is that of one uniform
    table, whatever K. The law is that of the scaled chi variable with this mean and
    variance: exactly so for one 2 x 2 table, whose score is half-normal, and close
    to a normal law for large ones.

    Parameters
    ----------
    r, c : int
        Declared numbers of levels, at least 2.
    n_strata : int
        Declared number of strata.
    n_records : int
        Number of records; a stratum of one record adds nothing.

    Returns
    -------
    scale, degrees : float
        The score is at most like `scale` times a chi variable of so many degrees.

    Examples
    --------
    >>> total_variation_null(2, 2, 1, 100)
    (0.25, 1.0)
    """
    if (r, c, n_strata) == (2, 2, 1):
        return 0.25, 1.0
    occupied = min(n_strata, max(n_records / 2, 1))
    mean = sqrt(occupied * (r - 1) * (c - 1) / (8 * pi))
    variance = _variance(r, c)
    ratio = mean**2 / (mean**2 + variance)
    degrees = exp(brentq(lambda d: _squared_mean_share(exp(d)) - ratio, -3.0, 30.0))
    return sqrt((mean**2 + variance) / degrees), degrees


def _variance(r: int, c: int) -> float:
    """Return the variance of the score of one uniform table."""
    cell = (1 - 1 / r) * (1 - 1 / c) / (r * c)
    covariances = (
        _absolute_covariance(1.0)
        + (c - 1) * _absolute_covariance(1 / (c - 1))
        + (r - 1) * _absolute_covariance(1 / (r - 1))
        + (r - 1) * (c - 1) * _absolute_covariance(1 / ((r - 1) * (c - 1)))
    )
    return r * c * cell * covariances / 16


def _absolute_covariance(correlation: float) -> float:
    """Return the covariance of the absolute values of two standard normals."""
    bent = sqrt(1 - correlation**2) + correlation * asin(correlation) - 1
    return 2 / pi * bent


def _squared_mean_share(degrees: float) -> float:
    """Return E[X]^2 / E[X^2] of a chi variable."""
    if degrees > 1e6:  # the difference below would cancel
        return 1 - 1 / (2 * degrees)
    gamma_ratio = lgamma((degrees + 1) / 2) - lgamma(degrees / 2)
    return exp(log(2 / degrees) + 2 * gamma_ratio)
