"""How much more than its nominal variance the noise of a projected table adds.

The projection onto tables without negative counts shifts full cells and empty ones
differently, which looks like dependence: with nominal variances tests of independence
reject too often. How often depends on the margins. So the release is repeated, on
paper, for independent variables with the margins that were released.
"""

from __future__ import annotations

from itertools import combinations
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.stats.projections import project_to_simplex

__all__ = ["noise_inflation"]

Floats = NDArray[np.float64]

_SIMULATED_CELLS = 4_000_000
_REPETITIONS = (50, 400)
#: Below so many standard deviations of the noise in all cells the records are drowned.
_DROWNED = 6


def noise_inflation(
    counts: Floats, variance: float, total: int
) -> dict[tuple[int, int], float]:
    """Compare the variance of residuals of independence with its nominal value.

    Parameters
    ----------
    counts : ndarray of float64, one axis per column
        A table with Laplace noise, not projected.
    variance : float
        Variance of the noise in each cell.
    total : int
        Public number of records.

    Returns
    -------
    dict of (int, int) to float
        For axes i < j the factor by which the variance of the noise in their table
        has to be multiplied, if the nominal one is that of the raw noise times the
        share of cells that the projection leaves positive. Not below 1 where the noise
        of all cells together is not small against `total`.

    Notes
    -----
    Deterministic: the repetitions have a fixed seed, as they have nothing to hide.
    """
    margins = [_margin(counts, axis) for axis in range(counts.ndim)]
    tables, share = _repeated_releases(margins, variance, total)
    # Drowned in noise, the released margins are not those of the records, and a factor
    # below 1 would be no more than a guess.
    drowned = total < _DROWNED * sqrt(counts.size * variance)
    least = 1.0 if drowned else 0.0
    inflation = {}
    for i, j in combinations(range(counts.ndim), 2):
        others = tuple(a + 1 for a in range(counts.ndim) if a not in (i, j))
        merged = prod(counts.shape[a - 1] for a in others)
        nominal = merged * variance * share
        factor = _inflation(tables.sum(axis=others), nominal, total)
        inflation[i, j] = max(factor, least)
    return inflation


def _margin(counts: Floats, axis: int) -> Floats:
    others = tuple(a for a in range(counts.ndim) if a != axis)
    margin = np.maximum(counts.sum(axis=others), 0.5)
    return np.asarray(margin / margin.sum())


def _repeated_releases(
    margins: list[Floats], variance: float, total: int
) -> tuple[Floats, float]:
    """Release tables of independent variables; return them and the share positive."""
    shape = tuple(map(len, margins))
    joint = margins[0]
    for margin in margins[1:]:
        joint = np.multiply.outer(joint, margin)
    joint = joint.ravel() / joint.sum()
    n_repeats = int(np.clip(_SIMULATED_CELLS // joint.size, *_REPETITIONS))
    rng = np.random.default_rng(0)
    tables = rng.multinomial(total, joint, size=n_repeats).astype(np.float64)
    tables += rng.laplace(0.0, np.sqrt(variance / 2), tables.shape)
    projected = np.array([project_to_simplex(table, total) for table in tables])
    return projected.reshape(n_repeats, *shape), float(np.mean(projected > 0))


def _inflation(tables: Floats, nominal: float, total: int) -> float:
    """Compare the mean squared residual with sampling plus nominal noise."""
    p, q = tables.sum(axis=2) / total, tables.sum(axis=1) / total
    residuals = tables - total * p[:, :, None] * q[:, None, :]
    observed = (residuals**2).sum(axis=(1, 2)).mean()
    sampling = total * ((1 - (p**2).sum(axis=1)) * (1 - (q**2).sum(axis=1))).mean()
    noise = nominal * (_mixing_trace(p) * _mixing_trace(q)).mean()
    if noise == 0:
        return 1.0
    return float((observed - sampling) / noise)


def _mixing_trace(p: Floats) -> Floats:
    """Return tr (I - p1')(I - p1')' for every row of shares."""
    r = p.shape[1]
    return np.asarray(r - 2 + r * (p**2).sum(axis=1))
