"""One Gaussian measurement of all second moments: what most of the estimators buy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skdp.covariance.measurement import Measurement
from skdp.covariance.plans import Plan
from skdp.covariance.spectra import cap_diagonal
from skdp.privacy import Curator
from skdp.queries import Eigenvalues, SecondMoments

__all__ = ["measure_apart", "measure_moments"]


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


def measure_apart(
    curator: Curator, plan: Plan, rho: float, radius: float | None
) -> NDArray[np.float64]:
    """Buy eigenvectors, by a noisy matrix, and eigenvalues, for half the price each.

    Parameters
    ----------
    curator : Curator
        Who answers.
    plan : Plan
        The grid.
    rho : float
        Price of both.
    radius : float or None
        Rows are clipped to this L2 norm.

    Returns
    -------
    ndarray of shape (d, d)
        Positive semi-definite averages over the records.
    """
    measured = measure_moments(
        curator, plan, rho=rho / 2, radius=radius, free_diagonal=False
    )
    _, vectors = np.linalg.eigh(measured.matrix)
    rows = replace(plan.rows, radius=radius)
    values = curator.gaussian(Eigenvalues(rows=rows), rho=rho / 2) / plan.n_records
    values = np.clip(values, 0, rows.largest_norm2(plan.n_features))
    matrix = (vectors * values) @ vectors.T
    return cap_diagonal((matrix + matrix.T) / 2)
