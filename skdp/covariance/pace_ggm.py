"""PACE-GGM: measure the informative entries only, and complete by maximum entropy."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval
from skdp.covariance.adaptive_rounds import RoundSettings, adaptive_completion
from skdp.covariance.base import PrivateCovariance
from skdp.covariance.entry_answers import CuratedEntries
from skdp.covariance.plans import Estimate, Plan
from skdp.privacy import Curator
from skdp.records import Schema

__all__ = ["PaceGGMCovariance"]


class PaceGGMCovariance(PrivateCovariance):
    """Estimate a covariance from the entries that are worth measuring.

    Where every column has its own bounds, one entry of the matrix of second moments is
    cheaper to measure than all of them. After a look at the variances, rounds of the
    exponential mechanism choose the entries that the estimate gets most wrong, the
    Gaussian mechanism measures them, and the matrix of maximum entropy with these
    entries is the next estimate: a Gaussian graphical model, whose precision matrix is
    zero wherever nothing was measured. Best with many columns, little budget and tight
    bounds; for large budgets see `GaussianMechanismCovariance`.

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
    product_clip : float > 0 or None, default=None
        Clip the product of two columns to so many times the product of their (private)
        standard deviations; 4 is a good number where bounds are loose. It buys less
        noise for a bias that a large budget may make felt, and costs time in the number
        of records. None clips to the bounds only, as the paper does.
    diagonal_share : float in (0, 1), default=0.1
        Share of the budget for all variances, measured first.
    selection_share : float in (0, 1), default=0.45
        Share of a round's budget for choosing its entries.
    n_entries : int, optional
        The budget is divided among so many entries at first; by default 4 times the
        number of columns. An entry may be measured again.
    batch_size : int, optional
        Entries in a round; by default 1 below 20 columns, else the larger of 8 and a
        tenth of the columns.
    annealing : float > 0 or None, default=0.8
        The budget of an entry is doubled when measurements have moved their estimates
        by less than so many standard deviations of the noise on average; None: never.
    regularization : float > 0, default=1.0
        Weight of the entropy in the completion, see `maximum_entropy_completion`.
    random_state : int, RandomState or None, default=None
        None: cryptographic noise. An int makes the fit reproducible, for tests and
        papers; a known seed voids the guarantee.

    Attributes
    ----------
    covariance_, precision_ : ndarray of shape (n_features, n_features)
        The estimate, in the units of the data, and its inverse: exactly zero where
        nothing was measured.
    location_ : ndarray of shape (n_features,)
        The private mean; the middle of the bounds if `assume_centered`.
    measured_ : ndarray of bool, shape (n_features, n_features)
        Which entries were measured.
    standard_error_ : ndarray of shape (n_features, n_features)
        Standard deviation of the privacy noise in each measured entry; elsewhere nan.
    graph_ : networkx.Graph
        The graphical model, with partial correlations as weights.
    n_rounds_ : int
        Rounds of choosing and measuring.
    kkt_residual_ : float
        Certificate of the completion, see `Completion`.
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

    Notes
    -----
    The paper's text fixes neither the objective of its reconstruction nor the shares,
    rounds and scores; these are ours, see the user guide.

    References
    ----------
    Ferrando, Fuentes, Mullins, Musco, Sheldon, *Private adaptive covariance estimation
    via Gaussian graphical models*, 2026 (arXiv 2605.24295).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PaceGGMCovariance
    >>> rng = np.random.default_rng(0)
    >>> X = np.sign(rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 5000))
    >>> model = PaceGGMCovariance(1.0, bounds=1.0, random_state=0).fit(X)
    >>> model.covariance_.round(1)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateCovariance._parameter_constraints,
        "product_clip": [Interval(Real, 0, None, closed="neither"), None],
        "diagonal_share": [Interval(Real, 0, 1, closed="neither")],
        "selection_share": [Interval(Real, 0, 1, closed="neither")],
        "n_entries": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "annealing": [Interval(Real, 0, None, closed="neither"), None],
        "regularization": [Interval(Real, 0, None, closed="neither")],
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
        product_clip: float | None = None,
        diagonal_share: float = 0.1,
        selection_share: float = 0.45,
        n_entries: int | None = None,
        batch_size: int | None = None,
        annealing: float | None = 0.8,
        regularization: float = 1.0,
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
        self.product_clip = product_clip
        self.diagonal_share = diagonal_share
        self.selection_share = selection_share
        self.n_entries = n_entries
        self.batch_size = batch_size
        self.annealing = annealing
        self.regularization = regularization
        self.random_state = random_state

    def _estimate(self, curator: Curator, plan: Plan) -> Estimate:
        result = adaptive_completion(
            CuratedEntries(curator, plan),
            plan.n_features,
            plan.rho,
            self._settings(plan),
        )
        mask = result.measured.mask
        self.measured_, self.n_rounds_ = mask, result.n_rounds
        self.kkt_residual_ = result.completion.kkt_residual
        return Estimate(
            result.completion.covariance,
            np.sqrt(np.where(mask, result.measured.variances, np.nan)),
            centred=True,
            precision=result.completion.precision.toarray(),
        )

    def _settings(self, plan: Plan) -> RoundSettings:
        return RoundSettings(
            diagonal_share=float(self.diagonal_share),
            selection_share=float(self.selection_share),
            n_entries=self.n_entries,
            batch_size=self.batch_size,
            annealing=self.annealing,
            product_clip=self.product_clip,
            regularization=float(self.regularization),
            mean=plan.mean,
            mean_variance=plan.mean_error**2,
        )
