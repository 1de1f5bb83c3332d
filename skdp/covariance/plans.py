"""What a private covariance hands to its method, and what it gets back."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.records import RowGrid

__all__ = ["Estimate", "Plan"]


@dataclass(frozen=True)
class Plan:
    """What an estimator of second moments may spend, and on which grid it asks.

    Parameters
    ----------
    rho : float
        The budget that is left to it, in zCDP.
    rows : RowGrid
        The unit cube on a grid that fits the number of records and the noise.
    n_records, n_features : int
        Public.
    mean : ndarray of shape (d,)
        The released mean in the unit cube; zeros if the data are taken as centred.
    mean_error : float
        Standard deviation of the noise in each coordinate of the mean.
    """

    rho: float
    rows: RowGrid
    n_records: int
    n_features: int
    mean: NDArray[np.float64]
    mean_error: float = 0.0

    def noise(self, sensitivity: float, rho: float | None = None) -> float:
        """Return the standard deviation of the noise in an average over the records.

        Parameters
        ----------
        sensitivity : float
            L2 sensitivity of the sum.
        rho : float, optional
            The price of the answer; by default the whole budget.

        Returns
        -------
        float
            In units of the average.
        """
        price = self.rho if rho is None else rho
        return sensitivity / (self.n_records * sqrt(2 * price))


@dataclass(frozen=True)
class Estimate:
    """Second moments in the unit cube.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Average of x x', or the covariance itself.
    standard_error : ndarray of shape (d, d), optional
        Of the noise, nan where it is not known.
    centred : bool, default=False
        Whether the matrix is a covariance already, so that no mean is subtracted.
    precision : ndarray of shape (d, d), optional
        Inverse of `matrix`, with its exact zeros; used where nothing is subtracted.
    floor : float or None, default=0.0
        Smallest eigenvalue that is believed; None: leave the matrix as it is, positive
        definite or not.
    clipped : bool, default=False
        Whether clipping is known to have taken away most of it.
    """

    matrix: NDArray[np.float64]
    standard_error: NDArray[np.float64] | None = None
    centred: bool = False
    precision: NDArray[np.float64] | None = None
    floor: float | None = 0.0
    clipped: bool = False
