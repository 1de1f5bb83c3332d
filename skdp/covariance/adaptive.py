"""A private radius, then the better of two mechanisms (Dong, Liang and Yi)."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from skdp.covariance.base import PrivateCovariance
from skdp.covariance.full_measurement import measure_apart, measure_moments
from skdp.covariance.plans import Estimate, Plan
from skdp.covariance.spectra import project_to_psd
from skdp.privacy import Curator
from skdp.queries import PublicFacts, SecondMoments, SquaredExcess, Trace
from skdp.records import Schema

__all__ = ["AdaptiveCovariance"]

_N_RADII = 10

#: Error of the eigenvectors in units of its bound's root.
_VECTORS = 0.5


class AdaptiveCovariance(PrivateCovariance):
    """Clip rows to a private radius, then take the better of two mechanisms.

    An eighth of the budget buys the trace, an eighth a sparse vector over radii: the
    first one at which what clipping takes away is less than the noise that it leaves.
    The rest buys either all second moments of the clipped rows, or their eigenvalues
    and eigenvectors apart, whichever has the smaller bound on its noise.

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
        Standard deviation of the noise in each entry, without the bias of clipping;
        nan after "separate".
    radius_ : float
        The norm that rows were clipped to, in units of the bounds.
    mechanism_ : {"gaussian", "separate"}
        Which mechanism was taken.
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
    algorithm AdaptiveCov, with rounded norms capped so that the query of the sparse
    vector has the sensitivity that is claimed.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import AdaptiveCovariance
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 3))
    >>> model = AdaptiveCovariance(2.0, bounds=1.0, random_state=0).fit(X)
    >>> bool(abs(model.covariance_ - np.eye(3) / 3).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCovariance._parameter_constraints,
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
        self.random_state = random_state

    def _estimate(self, curator: Curator, plan: Plan) -> Estimate:
        released, trace = self._trace(curator, plan)
        rest = 0.75 * plan.rho
        self.radius_ = self._radius(curator, plan, trace, rest)
        gaussian, separate = _noises(curator.public, plan, self.radius_, trace, rest)
        if gaussian > separate:
            self.mechanism_ = "separate"
            matrix = measure_apart(curator, plan, rest, self.radius_)
            return Estimate(matrix, clipped=released > 2 * np.trace(matrix))
        self.mechanism_ = "gaussian"
        measured = measure_moments(curator, plan, rho=rest, radius=self.radius_)
        floor = 0.3 * measured.noise * sqrt(plan.n_features)
        matrix = project_to_psd(measured.matrix)
        return Estimate(
            matrix,
            measured.standard_error,
            floor=floor,
            clipped=released > 2 * np.trace(matrix),
        )

    def _trace(self, curator: Curator, plan: Plan) -> tuple[float, float]:
        """Buy the mean squared norm of the rows; return it and an upper bound."""
        price = plan.rho / 8
        query = Trace(rows=plan.rows)
        trace = float(curator.gaussian(query, rho=price)) / plan.n_records
        noise = plan.noise(query.sensitivity(curator.public, 2), price)
        return trace, min(max(trace, 0.0) + 2 * noise, float(plan.n_features))

    def _radius(self, curator: Curator, plan: Plan, trace: float, rest: float) -> float:
        """Buy the first radius at which clipping does less harm than noise."""
        largest = sqrt(plan.n_features)
        radii = [largest * 2.0**-k for k in range(_N_RADII, 0, -1)]
        sieve = curator.sparse_vector(rounds=1, epsilon=sqrt(plan.rho) / 2)
        for radius in radii:
            query = SquaredExcess(radius**2, rows=plan.rows)
            harm = plan.n_records * min(
                _noises(curator.public, plan, radius, trace, rest)
            )
            if sieve.ask(query, harm):
                return radius
        return largest


def _noises(
    public: PublicFacts, plan: Plan, radius: float, trace: float, rho: float
) -> tuple[float, float]:
    """Expect the Frobenius errors of the two mechanisms, from released numbers."""
    d = plan.n_features
    query = SecondMoments(rows=replace(plan.rows, radius=radius))
    sensitivity = query.sensitivity(public, 2)
    gaussian = plan.noise(sensitivity, rho) * d
    vectors = sqrt(plan.noise(sensitivity, rho / 2) * sqrt(d) * trace)
    values = plan.noise(sqrt(2) * radius**2, rho / 2) * sqrt(d)
    return gaussian, _VECTORS * vectors + values
