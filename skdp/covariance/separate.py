"""Eigenvalues and eigenvectors measured apart (Dong, Liang and Yi)."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval
from skdp.covariance.base import PrivateCovariance
from skdp.covariance.full_measurement import measure_apart
from skdp.covariance.plans import Estimate, Plan
from skdp.privacy import Curator
from skdp.records import Schema
from skdp.records.row_grid import LARGEST_LENGTH, SMALLEST_LENGTH

__all__ = ["SeparateCovariance"]


class SeparateCovariance(PrivateCovariance):
    """Measure the eigenvalues apart from the eigenvectors.

    Half the budget buys a noisy matrix of second moments, of which only the
    eigenvectors are used; the other half the eigenvalues, whose L2 sensitivity
    sqrt(2) d / n does not grow with the number of entries.

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
        norm is sqrt(d)).
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
        All nan: the errors of eigenvectors are not known entry by entry.
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
    Dong, Liang, Yi, *Differentially private covariance revisited*, NeurIPS 2022,
    algorithm SeparateCov.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import SeparateCovariance
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 3))
    >>> model = SeparateCovariance(2.0, bounds=1.0, random_state=0).fit(X)
    >>> bool(abs(model.covariance_ - np.eye(3) / 3).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCovariance._parameter_constraints,
        "radius": [
            Interval(Real, SMALLEST_LENGTH, LARGEST_LENGTH, closed="both"),
            None,
        ],
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
        self.random_state = random_state

    def _estimate(self, curator: Curator, plan: Plan) -> Estimate:
        radius = None if self.radius is None else float(self.radius)
        return Estimate(measure_apart(curator, plan, plan.rho, radius))
