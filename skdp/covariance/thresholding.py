"""Thresholding of a noisy matrix of second moments (Wang and Xu)."""

from __future__ import annotations

from math import log, sqrt
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval
from skdp.covariance.base import PrivateCovariance
from skdp.covariance.denoising import threshold
from skdp.covariance.full_measurement import measure_moments
from skdp.covariance.plans import Estimate, Plan
from skdp.privacy import Curator
from skdp.records import Schema

__all__ = ["ThresholdedCovariance"]


class ThresholdedCovariance(PrivateCovariance):
    """Set small entries of a noisy matrix to zero, where the truth is sparse.

    All second moments are measured as by `GaussianMechanismCovariance`; entries off the
    diagonal are kept where they exceed ``gamma sqrt(log(d)/n) + noise_multiple * sd *
    sqrt(log d)``, and the result is projected to a positive definite matrix.

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
    noise_multiple : float >= 0, default=1.5
        Threshold in units of the noise. Published is 4, which keeps next to nothing.
    gamma : float >= 0, default=0.0
        Threshold for the sampling error, in units of the squared bounds. At 0 the
        covariance of the records is the target, not that of a population.
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
        Standard deviation of the noise in each entry, before thresholding.
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
    Wang, Xu, *Differentially private high dimensional sparse covariance matrix
    estimation*, Theoretical Computer Science 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import ThresholdedCovariance
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 3))
    >>> model = ThresholdedCovariance(2.0, bounds=1.0, random_state=0).fit(X)
    >>> bool(abs(model.covariance_ - np.eye(3) / 3).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCovariance._parameter_constraints,
        "noise_multiple": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
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
        noise_multiple: float = 1.5,
        gamma: float = 0.0,
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
        self.noise_multiple = noise_multiple
        self.gamma = gamma
        self.random_state = random_state

    def _estimate(self, curator: Curator, plan: Plan) -> Estimate:
        measured = measure_moments(curator, plan)
        root = sqrt(log(max(plan.n_features, 2)))
        least = float(self.noise_multiple) * measured.noise * root
        least += float(self.gamma) * root / sqrt(plan.n_records)
        matrix = threshold(measured.matrix, least)
        floor = 0.3 * measured.diagonal_noise
        return Estimate(matrix, measured.standard_error, floor=floor)
