"""The curator as the one who answers questions about single entries."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.covariance.plans import Plan
from skdp.privacy import Curator
from skdp.queries import FREE_WEIGHT, CrossMoments, Diagonal, MomentErrors

__all__ = ["CuratedEntries"]


class CuratedEntries:
    """Answers the questions of `adaptive_completion` by the curator's mechanisms.

    Parameters
    ----------
    curator : Curator
        Holds the records.
    plan : Plan
        Number of records and grid.
    """

    def __init__(self, curator: Curator, plan: Plan) -> None:
        self._curator, self._plan = curator, plan

    def diagonal(self, rho: float) -> tuple[NDArray, NDArray]:
        """Measure all diagonal entries.

        Parameters
        ----------
        rho : float
            Price.

        Returns
        -------
        values, variances : ndarray of shape (d,)
            Means of squares, and the variances of their noise.
        """
        query = Diagonal(rows=self._plan.rows)
        values = self._curator.gaussian(query, rho=rho) / self._plan.n_records
        return values, np.full(len(values), self._variance(query, rho))

    def worst(
        self, expected: NDArray, k: int, rho: float, limits: NDArray | None
    ) -> NDArray[np.intp]:
        """Choose k pairs i < j whose moments are far from what is expected.

        Parameters
        ----------
        expected : ndarray of shape (d, d)
            Second moments.
        k : int
            How many.
        rho : float
            Price of all k.
        limits : ndarray of shape (d, d), optional
            Products are clipped to these, and distances in units of them.

        Returns
        -------
        ndarray of int, shape (k,)
            In the order of ``numpy.triu_indices(d, 1)``.
        """
        query = MomentErrors(expected, rows=self._plan.rows, clip=limits)
        # k exponential mechanisms of epsilon each cost k epsilon^2 / 8.
        return self._curator.top_k(query, k, epsilon=sqrt(8 * rho * k))

    def pairs(
        self,
        i: NDArray[np.intp],
        j: NDArray[np.intp],
        rho: float,
        limits: NDArray | None,
    ) -> tuple[NDArray, NDArray]:
        """Measure pairs, with their diagonal entries where these are free.

        Parameters
        ----------
        i, j : ndarray of int, shape (k,)
            The pairs, i < j.
        rho : float
            Price of all.
        limits : ndarray of shape (d, d), optional
            Products are clipped to these.

        Returns
        -------
        values, variances : ndarray of shape (k, 1) or (k, 3)
            Of (i, j), and without limits of (i, i) and (j, j).
        """
        query = CrossMoments(
            tuple(zip(i.tolist(), j.tolist(), strict=True)),
            rows=self._plan.rows,
            with_diagonals=limits is None,
            clip=limits,
        )
        answer = self._curator.gaussian(query, rho=rho) / self._plan.n_records
        variance = self._variance(query, rho)
        if limits is None:
            units = np.array([1.0, 1 / FREE_WEIGHT, 1 / FREE_WEIGHT])
            return answer * units, np.tile(variance * units**2, (len(i), 1))
        scale = limits[i, j][:, None]
        return answer[:, None] * scale, variance * scale**2

    def _variance(self, query: CrossMoments | Diagonal, rho: float) -> float:
        sensitivity = query.sensitivity(self._curator.public, 2)
        return self._plan.noise(sensitivity, rho) ** 2
