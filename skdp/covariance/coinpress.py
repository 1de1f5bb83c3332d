"""Clipping in ever better units (CoinPress)."""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skdp._sklearn import Interval
from skdp.covariance.base import PrivateCovariance
from skdp.covariance.plans import Estimate, Plan
from skdp.covariance.spectra import cap_diagonal, matrix_power, project_to_psd
from skdp.privacy import Curator
from skdp.queries import SecondMoments
from skdp.records import Schema

__all__ = ["CoinPressCovariance"]

#: Probability with which a Gaussian row is clipped.
_CLIPPED = 0.1


class CoinPressCovariance(PrivateCovariance):
    """Clip rows in ever better units, for Gaussian data of unknown scale.

    Each step measures all second moments of rows that are clipped in units in which
    their covariance is at most the identity, and makes better units of the noisy
    result; the last step, with three quarters of the budget, is the estimate.

    Parameters
    ----------
    epsilon : float > 0, default=1.0
        Total privacy loss of one `fit`.
    delta : float in (0, 1), default=1e-6
        Gaussian noise has no pure form, so that 0 is refused.
    schema : Schema, optional
        Public bounds as Numeric columns.
    bounds : float or (low, high), optional
        The shorthand: b for [-b, b], or numbers or arrays low and high. With neither,
        the bounds are read off the records, with a `PrivacyLeakWarning`.
    outside : {"clip", "refuse"}, default="clip"
        What becomes of values outside `bounds`.
    assume_centered : bool, default=False
        If True the second moment about the middle of the bounds is estimated, and
        nothing is subtracted.
    mean_share : float in [1e-6, 1 - 1e-6], default=0.1
        Share of the budget that buys the mean, unless `assume_centered`.
    store_precision : bool, default=True
        Whether the inverse is kept.
    n_steps : int, default=3
        Number of steps; all but the last share a quarter of the budget.
    largest_eigenvalue : float in [1e-100, 1e100], default=1.0
        Prior bound on the eigenvalues of the second moments, in units of the bounds.
        Rows are clipped more than they should be where it is too small.
    random_state : int, RandomState or None, default=None
        None: cryptographic noise. An int makes the fit reproducible, for tests and
        papers; a known seed voids the guarantee.

    Attributes
    ----------
    covariance_, precision_ : ndarray of shape (n_features, n_features)
        The estimate, in the units of the data, and its inverse.
    location_ : ndarray of shape (n_features,)
        The private mean; the middle of the bounds if `assume_centered`.
    standard_error_ : ndarray of shape (n_features, n_features)
        All nan: the last units mix the entries.
    ledger_ : PrivacyLedger
        What the fit bought; survives a failed fit.
    rho_ : float
        The budget in zCDP.
    schema_ : Schema
        Bounds of the columns.
    inferred_columns_ : tuple of str
        Columns whose bounds were read off the records.
    n_records_ : int
        Number of records; public.

    References
    ----------
    Biswas, Dong, Kamath, Ullman, *CoinPress: practical private mean and covariance
    estimation*, NeurIPS 2020. Their code multiplies units on the wrong side beyond two
    steps, and leaves the privacy noise out of the margin; both are corrected here.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import CoinPressCovariance
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 3))
    >>> model = CoinPressCovariance(2.0, bounds=1.0, random_state=0).fit(X)
    >>> bool(abs(model.covariance_ - np.eye(3) / 3).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCovariance._parameter_constraints,
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "largest_eigenvalue": [Interval(Real, 1e-100, 1e100, closed="both")],
    }

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        schema: Schema | None = None,
        bounds: Any = None,
        outside: str = "clip",
        assume_centered: bool = False,
        mean_share: float = 0.1,
        store_precision: bool = True,
        n_steps: int = 3,
        largest_eigenvalue: float = 1.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.bounds = bounds
        self.outside = outside
        self.assume_centered = assume_centered
        self.mean_share = mean_share
        self.store_precision = store_precision
        self.n_steps = n_steps
        self.largest_eigenvalue = largest_eigenvalue
        self.random_state = random_state

    def _estimate(self, curator: Curator, plan: Plan) -> Estimate:
        d, n_steps = plan.n_features, int(self.n_steps)
        units = np.eye(d) / sqrt(float(self.largest_eigenvalue))
        for _ in range(n_steps - 1):
            price = plan.rho / 4 / (n_steps - 1)
            _, moments, noise = _measure_in_units(curator, plan, units, price)
            sampling = 2 * sqrt(d / plan.n_records) + d / plan.n_records
            margin = 0.5 * sampling + 2 * noise * sqrt(d)
            upper = moments + margin * np.eye(d)
            # Eigenvalues are at most 1 in these units, which stays true in the next.
            capped = np.eye(d) - project_to_psd(np.eye(d) - upper)
            units = units @ matrix_power(capped, -0.5)
        price = plan.rho * (0.75 if n_steps > 1 else 1.0)
        units, moments, _ = _measure_in_units(curator, plan, units, price)
        back = np.linalg.inv(units)
        matrix = back.T @ moments @ back
        return Estimate(cap_diagonal((matrix + matrix.T) / 2))


def _measure_in_units(
    curator: Curator, plan: Plan, units: NDArray[np.float64], price: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Measure the second moments of rows x A that are clipped to a ball.

    Returns A as it was rounded, the projected moments of x A, and their noise.
    """
    d = plan.n_features
    tail = log(1 / _CLIPPED)
    radius = sqrt(d + 2 * sqrt(d * tail) + 2 * tail)
    radius = min(radius, sqrt(d) * float(np.linalg.norm(units, 2)))
    factor = float(units[0, 0])
    if np.allclose(units, factor * np.eye(d), rtol=1e-6, atol=1e-9 * factor):
        # The cube is still a cube, in which the sensitivity is up to sqrt(2) less.
        units = factor * np.eye(d)
        rows, scale = replace(plan.rows, radius=radius / factor), factor**2
    else:
        rows, scale = replace(plan.rows, radius=radius, transform=units), radius**2
        units = np.asarray(rows.transform)
    query = SecondMoments(rows=rows)
    answer = query.to_matrix(curator.gaussian(query, rho=price), curator.public)
    moments = project_to_psd(answer * (scale / plan.n_records))
    noise = scale * plan.noise(query.sensitivity(curator.public, 2), price)
    return units, moments, noise
