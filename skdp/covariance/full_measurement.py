"""One Gaussian measurement of all second moments: what most of the estimators buy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skdp.covariance.plans import Plan
from skdp.privacy import Curator
from skdp.queries import SecondMoments

__all__ = ["Measurement", "measure_moments"]


@dataclass(frozen=True)
class Measurement:
    """A noisy matrix of second moments.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Averages over the records; symmetric, maybe not positive definite.
    noise : float
        Standard deviation of the noise in an entry off the diagonal.
    diagonal_noise : float
        The same on the diagonal.
    """

    matrix: NDArray[np.float64]
    noise: float
    diagonal_noise: float

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard deviation of the noise in each entry, shape (d, d)."""
        errors = np.full(self.matrix.shape, self.noise)
        np.fill_diagonal(errors, self.diagonal_noise)
        return errors


def measure_moments(
    curator: Curator,
    plan: Plan,
    *,
    rho: float | None = None,
    radius: float | None = None,
    free_diagonal: bool = True,
) -> Measurement:
    """Buy one measurement of all second moments.

    Parameters
    ----------
    curator : Curator
        Who answers.
    plan : Plan
        Budget and grid.
    rho : float, optional
        Price; by default all that the plan has.
    radius : float, optional
        Rows are clipped to this L2 norm.
    free_diagonal : bool, default=True
        Whether the diagonal is measured more precisely, where that is free.

    Returns
    -------
    Measurement
        Averages over the records, and their noise.
    """
    price = plan.rho if rho is None else rho
    rows = replace(plan.rows, radius=radius)
    query = SecondMoments(rows=rows, free_diagonal=free_diagonal)
    answer = curator.gaussian(query, rho=price)
    noise = plan.noise(query.sensitivity(curator.public, 2), price)
    return Measurement(
        query.to_matrix(answer, curator.public) / plan.n_records,
        noise,
        noise / query.diagonal_weight(curator.public),
    )
