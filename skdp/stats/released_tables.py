"""A noisy contingency table after its release: post-processing and marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from skdp.stats.null_calibration import noise_inflation
from skdp.stats.projections import project_to_simplex

__all__ = ["ReleasedTable"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReleasedTable:
    """Noisy counts over some columns.

    Parameters
    ----------
    names : tuple of str
        The columns, in the order of the axes.
    counts : ndarray of float64, one axis per column
        Noisy counts.
    variance : float
        Variance of the noise in each cell; all independent.
    inflation : mapping of (str, str) to float, optional
        Factor on the variance in tables of two columns, 1 for pairs not named.
    """

    names: tuple[str, ...]
    counts: Floats
    variance: float
    inflation: Mapping[frozenset[str], float] = field(default_factory=dict)

    def projected(self, total: float) -> ReleasedTable:
        """Return the nearest table without negative counts.

        Most cells of a sparse table are empty, and most of the noise sits there: what
        the projection sets to 0 has no noise left. So the variance is multiplied by the
        share of positive cells, which is right on average, and too small for tables of
        two columns whose cells are fuller than the average; see `calibrated`.

        Parameters
        ----------
        total : float
            Public number of records.

        Returns
        -------
        ReleasedTable
            Of the same columns.
        """
        counts = project_to_simplex(self.counts, total)
        share = np.count_nonzero(counts) / counts.size
        return replace(self, counts=counts, variance=self.variance * share)

    def calibrated(self, total: int) -> ReleasedTable:
        """Project, and inflate the variance so that tests keep their level.

        Parameters
        ----------
        total : int
            Public number of records.

        Returns
        -------
        ReleasedTable
            Of the same columns; see `noise_inflation`.
        """
        factors = noise_inflation(self.counts, self.variance, total)
        inflation = {
            frozenset((self.names[i], self.names[j])): factor
            for (i, j), factor in factors.items()
        }
        return replace(self.projected(total), inflation=inflation)

    def strata(self, x: str, y: str, given: Sequence[str] = ()) -> tuple[Floats, float]:
        """Return the table of two columns in every stratum of others.

        Parameters
        ----------
        x, y : str
            Columns of r and c levels.
        given : sequence of str
            The columns that make the strata.

        Returns
        -------
        tables : ndarray of float64, shape (n_strata, r, c)
            Sums of noisy counts.
        noise : float
            Variance of the noise in each of their entries.
        """
        axes = [self.names.index(name) for name in (*given, x, y)]
        shape = [self.counts.shape[axis] for axis in axes]
        others = tuple(a for a in range(len(self.names)) if a not in axes)
        merged = prod(self.counts.shape[axis] for axis in others)
        order = np.argsort(np.argsort(axes))
        tables = self.counts.sum(axis=others).transpose(order)
        factor = self.inflation.get(frozenset((x, y)), 1.0)
        return tables.reshape(-1, *shape[-2:]), merged * self.variance * factor
