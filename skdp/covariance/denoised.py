"""A private radius, one full measurement, and the best of many denoisers."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skdp._sklearn import StrOptions
from skdp.covariance.adaptive_rounds import RoundSettings, adaptive_completion
from skdp.covariance.base import PrivateCovariance
from skdp.covariance.denoising import denoise
from skdp.covariance.entry_answers import CuratedEntries
from skdp.covariance.full_measurement import measure_moments
from skdp.covariance.measurement import Measurement
from skdp.covariance.plans import Estimate, Plan
from skdp.privacy import Curator
from skdp.queries import NormScores
from skdp.records import Schema

__all__ = ["DenoisedCovariance"]

#: Share of the budget that buys the radius.
_RADIUS_SHARE = 0.06

#: Share of the rest that buys all entries, where the others buy chosen ones.
_PROBE_SHARE = 0.5

#: Candidates r^2 = d 2^(-k/3) of the radius.
_N_RADII = 27


class DenoisedCovariance(PrivateCovariance):
    """Measure all second moments at once, then denoise them.

    A little of the budget buys the radius of a ball that holds most of the rows, the
    rest one Gaussian measurement of all second moments of the rows clipped to it.
    Everything after is post-processing: many denoisers (projection, eigenvalue
    shrinkage, graphical models, thresholding) are combined by their errors on random
    splits of the noisy matrix itself. No assumption has to be made about the truth.

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
    strategy : {"full", "pace"}, default="full"
        "full": one measurement of all entries. "pace": half of the budget buys that,
        the rest single entries as in `PaceGGMCovariance`, whose model joins the others;
        better for tight bounds, many columns and small budgets with sparse graphs.
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
        Standard deviation of the noise in each measured entry, before denoising.
    radius_ : float
        The norm that rows were clipped to, in units of the bounds.
    weights_ : dict of str to float
        What each denoiser contributes.
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
    The method is our own; see :mod:`skdp.covariance.denoising` for its parts.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DenoisedCovariance
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 3))
    >>> model = DenoisedCovariance(2.0, bounds=1.0, random_state=0).fit(X)
    >>> bool(abs(model.covariance_ - np.eye(3) / 3).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCovariance._parameter_constraints,
        "strategy": [StrOptions({"full", "pace"})],
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
        strategy: str = "full",
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
        self.strategy = strategy
        self.random_state = random_state

    def _estimate(self, curator: Curator, plan: Plan) -> Estimate:
        price = _RADIUS_SHARE * plan.rho
        self.radius_ = self._radius(curator, plan, price)
        rest = replace(plan, rho=plan.rho - price)
        measured, more = self._measure(curator, rest)
        matrix, self.weights_ = denoise(measured, more)
        floor = 0.3 * measured.noise * sqrt(plan.n_features)
        return Estimate(matrix, measured.standard_error, floor=floor)

    def _measure(
        self, curator: Curator, plan: Plan
    ) -> tuple[Measurement, dict[str, NDArray[np.float64]]]:
        """Buy all entries at once, or fewer of these and some entries again."""
        if self.strategy == "full" or plan.n_features == 1:
            return measure_moments(curator, plan, radius=self.radius_), {}
        price = _PROBE_SHARE * plan.rho
        measured = measure_moments(curator, plan, rho=price, radius=self.radius_)
        left = replace(plan, rho=plan.rho - price)
        rounds = adaptive_completion(
            CuratedEntries(curator, left), plan.n_features, left.rho, RoundSettings()
        )
        return measured, {"adaptive": rounds.completion.covariance}

    def _radius(self, curator: Curator, plan: Plan, price: float) -> float:
        """Buy a radius that few rows exceed, by the exponential mechanism."""
        n, d = plan.n_records, plan.n_features
        squares = d * 2.0 ** (-np.arange(_N_RADII) / 3)
        epsilon = sqrt(8 * price)
        target = min(max(8 / epsilon, d / sqrt(2 * plan.rho)), n / 3)
        # Without a price for each step up ties would return a huge radius.
        step = min(target, n / (2 * _N_RADII))
        prices = step * np.arange(_N_RADII)[::-1]
        query = NormScores(
            tuple(squares.tolist()), target, tuple(prices.tolist()), rows=plan.rows
        )
        return sqrt(squares[curator.exponential(query, epsilon=epsilon)])
