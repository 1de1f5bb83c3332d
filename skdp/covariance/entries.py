"""Noisy measurements of single entries of a moment matrix, gathered and prepared."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["EntryMeasurements", "shrunken_diagonal"]

#: A variance is taken to be at least this share of the mean of all,
_LEAST_SHARE = 0.05
#: and at least this, in units of the squared bound.
_LEAST_VARIANCE = 1e-4
#: What is known to be positive is believed to be off by a quarter at most: a completion
#: would raise it, the more the less it is believed.
_LARGEST_ERROR = 0.25


class EntryMeasurements:
    """Measurements of the entries of a symmetric matrix.

    Repeated measurements of an entry are combined by their inverse variances.

    Parameters
    ----------
    n_features : int
        Side of the matrix.
    """

    def __init__(self, n_features: int) -> None:
        self._weights = np.zeros((n_features, n_features))
        self._sums = np.zeros((n_features, n_features))

    def add(
        self, i: ArrayLike, j: ArrayLike, values: ArrayLike, variances: ArrayLike
    ) -> None:
        """Add measurements of the entries (i, j) with i <= j.

        Parameters
        ----------
        i, j : array-like of int, shape (n_measured,)
            The entries; one may occur several times.
        values : array-like of shape (n_measured,)
            What was measured.
        variances : float or array-like of shape (n_measured,)
            Variances of the noise, independent between measurements.
        """
        entries = np.asarray(i, np.intp), np.asarray(j, np.intp)
        weights = np.broadcast_to(1 / np.asarray(variances, float), np.shape(values))
        np.add.at(self._weights, entries, weights)
        np.add.at(self._sums, entries, weights * np.asarray(values, float))

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which entries were measured; symmetric."""
        return _mirrored(self._weights) > 0

    @property
    def values(self) -> NDArray[np.float64]:
        """The combined values, nan where nothing was measured; symmetric."""
        with np.errstate(invalid="ignore"):
            return _mirrored(self._sums) / _mirrored(self._weights)

    @property
    def variances(self) -> NDArray[np.float64]:
        """Variances of the combined noise, inf where nothing was measured."""
        with np.errstate(divide="ignore"):
            return 1 / _mirrored(self._weights)


def _mirrored(upper: NDArray[np.float64]) -> NDArray[np.float64]:
    return upper + np.triu(upper, 1).T


def shrunken_diagonal(
    values: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make noisy variances of features positive, by empirical Bayes.

    They are shrunk to their mean, by as much as noise makes up their spread, and
    clipped to what the unit cube allows.

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        Measured second moments of features within [-1, 1].
    variances : ndarray of shape (n_features,)
        Variances of their noise.

    Returns
    -------
    values : ndarray of shape (n_features,)
        Within (0, 1].
    variances : ndarray of shape (n_features,)
        What is left of the variances of the noise, in proportion at most.
    """
    n_features = len(values)
    mean = float(values.mean())
    spread = float(((values - mean) ** 2).sum()) / max(n_features - 1, 1)
    true_spread = max(spread - float(variances.mean()), 0.0)
    if n_features == 1:
        trust = np.ones(1)
    else:
        trust = true_spread / (true_spread + variances)
    of_the_mean = variances.mean() / n_features
    least = max(_LEAST_SHARE * mean, _LEAST_VARIANCE)
    shrunken = np.clip(mean + trust * (values - mean), least, 1.0)
    left = trust * variances + (1 - trust) ** 2 * of_the_mean
    return shrunken, np.minimum(left, (_LARGEST_ERROR * shrunken) ** 2)
