"""What the private covariances share: bounds, a private mean, units, whitening."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from math import ceil, sqrt
from numbers import Real
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.covariance import EmpiricalCovariance
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._sklearn import Interval, StrOptions, fit_context
from skdp.base import PrivateEstimator, all_or_nothing
from skdp.covariance.downstream import fitted_pca, fitted_ridge, partial_correlations
from skdp.covariance.plans import Estimate, Plan
from skdp.covariance.spectra import floor_eigenvalues, matrix_power
from skdp.exceptions import PrivacyBudgetWarning
from skdp.privacy import Curator, zcdp_from_dp
from skdp.queries import Sums
from skdp.records import RowGrid, Schema, read_bounded
from skdp.records.bounded import bounds_of
from skdp.records.row_grid import fitting_bits
from skdp.warn import warn_user

__all__ = ["PrivateCovariance"]


class PrivateCovariance(
    OneToOneFeatureMixin, TransformerMixin, PrivateEstimator, EmpiricalCovariance
):
    """Base of the covariances with a differential-privacy guarantee.

    A subclass implements `_estimate`: it asks the curator for second moments of rows in
    the unit cube, to which the columns are clipped and rescaled by public bounds.

    Attributes
    ----------
    covariance_ : ndarray of shape (n_features, n_features)
        The estimate, in the units of the data.
    precision_ : ndarray of shape (n_features, n_features) or None
        Its inverse, if `store_precision`.
    location_ : ndarray of shape (n_features,)
        The private mean; the middle of the bounds if `assume_centered`.
    standard_error_ : ndarray of shape (n_features, n_features)
        Standard deviation of the privacy noise in each entry, nan where not known.
    rho_ : float
        The budget in zCDP.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateEstimator._parameter_constraints,
        "schema": [Schema, None],
        "bounds": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "outside": [StrOptions({"clip", "refuse"})],
        "assume_centered": ["boolean"],
        "mean_share": [Interval(Real, 1e-6, 1 - 1e-6, closed="both")],
        "store_precision": ["boolean"],
    }

    _frame_categories: tuple[str, ...] = ()

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate the covariance of the columns.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Numbers; at least two records.
        y : None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        SchemaError
            If the records do not fit the schema or the bounds; nothing was spent.
        ValueError
            If delta is 0; nothing was spent.
        BudgetExceededError
            If an active `BudgetAccountant` has too little left; nothing was spent.
        """
        with all_or_nothing(self):
            if self.delta == 0:
                raise ValueError(
                    f"delta must be positive for {type(self).__name__}, whose Gaussian "
                    "noise has no pure form: pass delta=1e-6, or another number well "
                    "below 1 / n_samples."
                )
            found = read_bounded(
                self, X, schema=self.schema, bounds=self.bounds, outside=self.outside
            )
            self.schema_, self.inferred_columns_ = found.records.schema, found.inferred
            curator = self._open_curator(found.records)
            plan = self._plan(curator)
            estimate = self._estimate(curator, plan)
            self._set_estimate(estimate, plan)
            self._write_report()
        if self._is_noise(estimate, plan):
            self._warn_of_noise(plan)
        elif estimate.clipped:
            self._warn_of_clipping(plan)
        return self

    @abstractmethod
    def _estimate(self, curator: Curator, plan: Plan) -> Estimate:
        """Ask the curator, and make second moments of the answers."""

    def _plan(self, curator: Curator) -> Plan:
        """Split the budget, and buy the mean if one is wanted."""
        n, d = curator.public.n_records, len(curator.public.schema)
        # A little less, so that no sum of rounded shares exceeds it.
        rho = zcdp_from_dp(float(self.epsilon), float(self.delta)) * (1 - 2.0**-40)
        self.rho_ = rho
        # The grid fits the noise of both parts; and as if there were more records where
        # squared norms would overflow 64 bits.
        part = 1.0 if self.assume_centered else self._smaller_part()
        rows = RowGrid(fitting_bits(n * ceil(d / 2048), d / sqrt(2 * rho * part)))
        if self.assume_centered:
            return Plan(rho, rows, n, d, np.zeros(d))
        share = rho * float(self.mean_share)
        sums = Sums(rows=rows)
        mean = np.clip(curator.gaussian(sums, rho=share) / n, -1, 1)
        error = sums.sensitivity(curator.public, 2) / (n * sqrt(2 * share))
        if d > 2:  # James and Stein: towards the middle of the bounds
            length2 = float(mean @ mean)
            mean = mean * max(0.0, 1 - (d - 2) * error**2 / max(length2, error**2))
        return Plan(rho - share, rows, n, d, mean, error)

    def _smaller_part(self) -> float:
        """Return the smaller share of the budget in tenths, and 1 from a tenth on."""
        share = float(self.mean_share)
        return min(1.0, 10 * share, 10 * (1 - share))

    def _set_estimate(self, estimate: Estimate, plan: Plan) -> None:
        """Subtract the mean, and go back to the units of the data."""
        matrix, error = estimate.matrix, estimate.standard_error
        inverse = estimate.precision
        if not estimate.centred and plan.mean.any():
            matrix = matrix - np.outer(plan.mean, plan.mean)
            inverse = None
            if error is not None:
                squares = plan.mean**2
                error = np.hypot(
                    error, plan.mean_error * np.sqrt(squares[:, None] + squares)
                )
        if inverse is None:
            if estimate.floor is not None:
                matrix = floor_eigenvalues(matrix, estimate.floor)
            inverse = np.asarray(np.linalg.pinv(matrix, hermitian=True))
        centre, width = self._units()
        scale = np.outer(width, width)
        self.location_ = centre + width * plan.mean
        self.covariance_ = matrix * scale
        self.precision_ = inverse / scale if self.store_precision else None
        unknown = np.full(matrix.shape, np.nan)
        self.standard_error_ = (unknown if error is None else error) * scale

    def _units(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the middle and half the width of the bounds."""
        low, high = bounds_of(self.schema_)
        return low + (high - low) / 2, (high - low) / 2

    def _in_cube(self) -> NDArray[np.float64]:
        """Return the covariance in the unit cube, whose units are comparable."""
        _, width = self._units()
        return self.covariance_ / np.outer(width, width)

    def _is_noise(self, estimate: Estimate, plan: Plan) -> bool:
        """Return whether the noise is expected to be as large as the estimate."""
        error = estimate.standard_error
        if error is None or np.isnan(error).all():
            noise = plan.noise(plan.n_features)  # of the diagonal alone
        else:
            noise = float(np.sqrt(np.nansum(error**2)))
        # Second moments in the cube have a norm of at most d.
        return noise >= min(float(np.linalg.norm(estimate.matrix)), plan.n_features)

    def _warn_of_noise(self, plan: Plan) -> None:
        # Only now: as an error, it must not undo a fit that has been paid for.
        warn_user(
            f"With epsilon={self.epsilon}, delta={self.delta}, {plan.n_records} "
            f"records and {plan.n_features} columns the noise is as large as the "
            "covariance: covariance_ is mostly noise. Spend more, ask about fewer "
            "columns, or declare tighter bounds.",
            PrivacyBudgetWarning,
        )

    def _warn_of_clipping(self, plan: Plan) -> None:
        warn_user(
            f"With epsilon={self.epsilon}, delta={self.delta}, {plan.n_records} "
            f"records and {plan.n_features} columns rows were clipped so much that "
            "covariance_ has less than half of the trace that was released: it is "
            "biased towards zero. Spend more, or declare tighter bounds.",
            PrivacyBudgetWarning,
        )

    def get_precision(self) -> NDArray[np.float64]:
        """Return the precision matrix.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            The inverse of ``covariance_``.
        """
        check_is_fitted(self)
        if self.precision_ is not None:
            return self.precision_
        _, width = self._units()
        inverse = np.linalg.pinv(self._in_cube(), hermitian=True)
        return inverse / np.outer(width, width)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Whiten: subtract the mean, and make the covariance the identity.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers in the units of the data.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            (x - location) times the symmetric root of the precision in the units of
            the bounds, so that each coordinate is close to its own column.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        _, width = self._units()
        return (X - self.location_) / width @ matrix_power(self._in_cube(), -0.5)

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        """Undo `transform`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Whitened.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In the units of the data.
        """
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64)
        _, width = self._units()
        return X @ matrix_power(self._in_cube(), 0.5) * width + self.location_

    @property
    def graph_(self) -> nx.Graph:
        """Graph of the nonzero precisions, with partial correlations as weights."""
        check_is_fitted(self)
        graph = nx.Graph()
        graph.add_nodes_from(self.schema_.names)
        weights = partial_correlations(self.get_precision())
        for i, j in zip(*np.nonzero(np.triu(weights, 1)), strict=True):
            names = self.schema_.names[i], self.schema_.names[j]
            graph.add_edge(*names, weight=float(weights[i, j]))
        return graph

    def to_pca(self, n_components: int | None = None) -> PCA:
        """Return the principal components as a fitted PCA of scikit-learn.

        Parameters
        ----------
        n_components : int, optional
            How many; by default all.

        Returns
        -------
        sklearn.decomposition.PCA
            Post-processing: it may be published like ``covariance_``.
        """
        check_is_fitted(self)
        names = vars(self).get("feature_names_in_")
        return fitted_pca(
            self.covariance_, self.location_, self.n_records_, n_components, names
        )

    def to_ridge(self, target: str, *, alpha: float | None = None) -> Ridge:
        """Return the regression of one column on the others, as a fitted Ridge.

        Parameters
        ----------
        target : str
            Name of the column in ``schema_``; in the data that `fit` was given, so that
            its moments with the others are part of the release.
        alpha : float, optional
            Ridge penalty on coefficients in the units of the bounds, relative to the
            number of records. By default as much as the noise asks for.

        Returns
        -------
        sklearn.linear_model.Ridge
            For the other columns, in their order. Post-processing.

        Raises
        ------
        ValueError
            If there is no such column, or no other.
        """
        check_is_fitted(self)
        names = list(self.schema_.names)
        self.schema_[target]  # raises, naming the columns
        if len(names) == 1:
            raise ValueError(f"There is no column besides {target!r} to regress it on.")
        return fitted_ridge(self, names.index(target), alpha)

    def _public_facts(self) -> tuple[str, ...]:
        ends = zip(self.schema_.names, *bounds_of(self.schema_), strict=True)
        bounds = [f"{name} [{low:g}, {high:g}]" for name, low, high in ends]
        if len(bounds) > 8:
            bounds = [*bounds[:7], f"... {len(bounds) - 7} more"]
        _, parameters = super()._public_facts()
        return f"bounds: {', '.join(bounds)}", parameters

    def _privacy_warnings(self) -> Iterator[str]:
        for warning in super()._privacy_warnings():
            yield warning.replace("levels", "bounds")
