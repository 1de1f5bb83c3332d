"""A table with the covariance of its cells, from one noisy answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.linear_queries import Identity, Kronecker, LinearQuery
from skdp.graphical.measurement import LinearMeasurement

__all__ = ["Estimate", "estimate_table"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """An unbiased estimate of the counts over some columns.

    Parameters
    ----------
    columns : tuple of str
        The axes of the table.
    table : ndarray, one axis per column
        Counts; some may be negative.
    sigma : float
        Standard deviation of the noise of the answers that it was made from.
    covariances : tuple of (ndarray or None)
        Covariance per axis, in units of sigma, their Kronecker product being that of
        the cells; None for the identity. A single one for all axes together is also
        allowed.
    """

    columns: tuple[str, ...]
    table: Array
    sigma: float
    covariances: tuple[Array | None, ...]

    def marginal(self, columns: Sequence[str]) -> Array:
        """Sum the table to some of its columns.

        Parameters
        ----------
        columns : sequence of str
            In the order of the result's axes.

        Returns
        -------
        ndarray
            Counts.
        """
        order = [self.columns.index(name) for name in columns]
        others = tuple(i for i in range(len(self.columns)) if i not in order)
        kept = sorted(order)
        return self.table.sum(axis=others).transpose([kept.index(i) for i in order])

    def variance(self, columns: Sequence[str]) -> float:
        """Return the mean variance of a cell of the marginal of some columns.

        Parameters
        ----------
        columns : sequence of str
            Some of the columns.

        Returns
        -------
        float
            In squared counts.
        """
        asked = [name in columns for name in self.columns]
        sizes = self.table.shape
        if len(self.covariances) != len(sizes):  # one for all axes
            covariance = self.covariances[0]
            return self.sigma**2 * _summed_variance(covariance, sizes, asked)
        parts = zip(self.covariances, sizes, asked, strict=True)
        return self.sigma**2 * prod(_summed_variance(c, (n,), [a]) for c, n, a in parts)

    def with_total(self, total: float) -> Estimate:
        """Return the best estimate among those that add up to a known total.

        Parameters
        ----------
        total : float
            Number of records.

        Returns
        -------
        Estimate
            The same, moved along the covariance of its cells with their sum.
        """
        sizes = self.table.shape
        if len(self.covariances) != len(sizes):
            sizes = (self.table.size,)
        sums = [
            np.ones(n) if c is None else c.sum(axis=1)
            for c, n in zip(self.covariances, sizes, strict=True)
        ]
        direction = reduce(np.multiply.outer, sums).reshape(self.table.shape)
        missing = total - self.table.sum()
        moved = self.table + direction * (missing / direction.sum())
        return Estimate(self.columns, moved, self.sigma, self.covariances)


def estimate_table(
    measurement: LinearMeasurement, domain: Domain, total: float
) -> Estimate:
    """Return the least-squares estimate of one measurement alone.

    Parameters
    ----------
    measurement : LinearMeasurement
        Its query must determine the cells.
    domain : Domain
        Columns and their numbers of levels.
    total : float
        Number of records.

    Returns
    -------
    Estimate
        With the columns in the order of the measurement.

    Raises
    ------
    ValueError
        If the query does not determine the cells.
    """
    query = measurement.linear(domain)
    cells = query.least_squares(measurement.answer.ravel())
    if cells is None:
        raise ValueError(
            f"The query on {measurement.columns} does not determine the cells, or is "
            "too large for least squares; use inference='graphical_model'."
        )
    shape = domain.shape(measurement.columns)
    covariances: tuple[Array | None, ...]
    if isinstance(query, Kronecker):
        covariances = tuple(map(_covariance, query.factors))
    elif isinstance(query, Identity):
        covariances = (None,) * len(shape)
    else:
        covariances = (_covariance(query),)
    found = Estimate(
        measurement.columns, cells.reshape(shape), measurement.sigma, covariances
    )
    return found.with_total(total)


def _covariance(query: LinearQuery) -> Array | None:
    if isinstance(query, Identity):
        return None
    return np.asarray(np.linalg.inv(query.gram()), dtype=np.float64)


def _summed_variance(
    covariance: Array | None, sizes: tuple[int, ...], asked: Sequence[bool]
) -> float:
    """Return the mean variance of the cells of a table summed over some axes."""
    if covariance is None:
        return float(prod(n for n, a in zip(sizes, asked, strict=True) if not a))
    others = tuple(i for i, a in enumerate(asked) if not a)
    twice = (*others, *(i + len(sizes) for i in others))
    summed = covariance.reshape(*sizes, *sizes).sum(axis=twice)
    n_cells = prod(n for n, a in zip(sizes, asked, strict=True) if a)
    return float(np.trace(summed.reshape(n_cells, n_cells)) / n_cells)
