"""Queries about the L2 norms of rows, from which a radius to clip at is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .base import Norm, PublicFacts, check_norm
from .moments import MomentQuery

if TYPE_CHECKING:
    from skdp.records import BoundedMatrix

__all__ = ["NormScores", "SquaredExcess"]

_COUNT_STEP = 2.0**-10


@dataclass(frozen=True, eq=False)
class NormScores(MomentQuery):
    """Scores of radii: how close the number of rows above it is to a target.

    Minus the distance, minus a price. A record is one row, above a radius or not: every
    score changes by at most 1.

    Parameters
    ----------
    squared_radii : tuple of float
        The candidates r^2.
    target : float
        How many rows should be above.
    prices : tuple of float
        A data-independent price of each candidate, in rows, by which ties are broken.
    rows : RowGrid
        How the rows are rounded.
    """

    squared_radii: tuple[float, ...]
    target: float
    prices: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.squared_radii) != len(self.prices) or not self.prices:
            raise ValueError("There must be one price for each of the squared radii.")

    @property
    def unit(self) -> float:  # type: ignore[override]
        """1/1024 of a row, to which target and prices are rounded."""
        return _COUNT_STEP

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (n_candidates,)."""
        return (len(self.squared_radii),)

    def evaluate(self, records: BoundedMatrix) -> NDArray:
        """Count the rows above. For the curator alone.

        Parameters
        ----------
        records : BoundedMatrix
            The private records.

        Returns
        -------
        ndarray of int64, shape (n_candidates,)
            In units of 1/1024 of a row.
        """
        norms = np.sort(records.squared_norms(self.rows)) * self.rows.unit**2
        above = len(norms) - np.searchsorted(norms, self.squared_radii, side="right")
        target, prices = (
            np.rint(np.asarray(x) / self.unit).astype(np.int64)
            for x in (self.target, self.prices)
        )
        return -np.abs(above * round(1 / self.unit) - target) - prices

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the scores: 1 each.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound.
        """
        m = len(self.squared_radii)
        return {1: float(m), 2: sqrt(m), inf: 1.0}[check_norm(ord)]


@dataclass(frozen=True, eq=False)
class SquaredExcess(MomentQuery):
    """The sum over rows of what the squared norm exceeds r^2 by.

    Every term lies between 0 and R - r^2.

    Parameters
    ----------
    squared_radius : float
        r^2, in [0, R).
    rows : RowGrid
        How the rows are rounded.
    """

    squared_radius: float

    def check(self, public: PublicFacts) -> None:
        """Refuse also what could overflow the sum of the squared norms.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        ValueError
            If the sums would not be exact, or the shapes do not fit.
        TypeError
            If a column of the schema is no Numeric.
        """
        super().check(public)
        self._check_norms(public)

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return ()."""
        return ()

    def evaluate(self, records: BoundedMatrix) -> NDArray:
        """Sum the excesses. For the curator alone.

        Parameters
        ----------
        records : BoundedMatrix
            The private records.

        Returns
        -------
        ndarray of int64, shape ()
            In squared steps of the grid.
        """
        norms = records.squared_norms(self.rows)
        limit = int(self.squared_radius / self.unit)
        return np.asarray(np.maximum(norms - limit, 0).sum())

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Return R - r^2, in every norm, and one step for the rounding of r^2.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound.
        """
        check_norm(ord)
        return max(0.0, self._size(public)[1] - self.squared_radius) + self.unit
