"""The Gaussian mechanism on all second moments (sufficient statistics perturbation)."""

from __future__ import annotations

from math import sqrt
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval
from skdp.covariance.base import PrivateCovariance
from skdp.covariance.full_measurement import measure_moments
from skdp.covariance.plans import Estimate, Plan
from skdp.covariance.spectra import project_to_psd
from skdp.privacy import Curator
from skdp.records import Schema
from skdp.records.row_grid import LARGEST_LENGTH, SMALLEST_LENGTH

__all__ = ["GaussianMechanismCovariance"]


class GaussianMechanismCovariance(PrivateCovariance):
    """Add Gaussian noise to every entry of the matrix of second moments.

    The baseline: blind to the data, cheap, unbiased before the projection. Under bounds
    for each of d columns the upper triangle has the L2 sensitivity d / n in units of
    the bounds; a bound on the norm of the rows makes it smaller.

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
    radius : float, optional
        Rows are clipped to this L2 norm, in units of the bounds (in which the largest
        norm is sqrt(d)). If only a bound r on the norm is known, use ``bounds=r`` and
        ``radius=1``: the sensitivity is then sqrt(2) r^2.
    free_diagonal : bool, default=True
        Whether the diagonal is measured sqrt((d + 1)/2) times more precisely, which
        costs nothing (only without `radius`).
    psd : bool, default=True
        Whether the matrix is projected to a positive definite one.
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
        Standard deviation of the noise in each entry, before any projection.
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
    Dwork, Talwar, Thakurta, Zhang, *Analyze Gauss*, STOC 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import GaussianMechanismCovariance
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 3))
    >>> model = GaussianMechanismCovariance(1.0, bounds=1.0, random_state=0).fit(X)
    >>> bool(abs(model.covariance_ - np.eye(3) / 3).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCovariance._parameter_constraints,
        "radius": [
            Interval(Real, SMALLEST_LENGTH, LARGEST_LENGTH, closed="both"),
            None,
        ],
        "free_diagonal": ["boolean"],
        "psd": ["boolean"],
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
        radius: float | None = None,
        free_diagonal: bool = True,
        psd: bool = True,
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
        self.radius = radius
        self.free_diagonal = free_diagonal
        self.psd = psd
        self.random_state = random_state

    def _estimate(self, curator: Curator, plan: Plan) -> Estimate:
        radius = None if self.radius is None else float(self.radius)
        measured = measure_moments(
            curator, plan, radius=radius, free_diagonal=self.free_diagonal
        )
        if not self.psd:
            return Estimate(measured.matrix, measured.standard_error, floor=None)
        floor = 0.3 * measured.noise * sqrt(plan.n_features)
        return Estimate(
            project_to_psd(measured.matrix), measured.standard_error, floor=floor
        )
