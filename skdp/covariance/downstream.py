"""What is made of a released covariance: components, regressions, graphs. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

__all__ = ["fitted_pca", "fitted_ridge", "partial_correlations"]


def partial_correlations(precision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the partial correlations of a precision matrix.

    Parameters
    ----------
    precision : ndarray of shape (d, d)
        Positive definite.

    Returns
    -------
    ndarray of shape (d, d)
        0 exactly where the precision is; 1 on the diagonal.

    Examples
    --------
    >>> float(partial_correlations(np.array([[1.0, -0.5], [-0.5, 4.0]]))[0, 1])
    0.25
    """
    roots = np.sqrt(np.maximum(precision.diagonal(), 1e-300))
    correlations = -precision / np.outer(roots, roots)
    np.fill_diagonal(correlations, 1.0)
    return correlations


def fitted_pca(
    covariance: NDArray[np.float64],
    location: NDArray[np.float64],
    n_records: int,
    n_components: int | None = None,
    names: Any = None,
) -> PCA:
    """Make a fitted PCA of a covariance.

    Parameters
    ----------
    covariance : ndarray of shape (d, d)
        Positive semi-definite.
    location : ndarray of shape (d,)
        The mean.
    n_records : int
        Number of records.
    n_components : int, optional
        How many components to keep; by default all.
    names : array-like of str, optional
        Names of the columns.

    Returns
    -------
    sklearn.decomposition.PCA
        With the signs that scikit-learn gives: the largest loading is positive.
    """
    d = len(covariance)
    k = d if n_components is None else int(n_components)
    if not 1 <= k <= d:
        raise ValueError(f"n_components must be from 1 to {d}, got {n_components}.")
    values, vectors = np.linalg.eigh(covariance)
    values, components = np.maximum(values[::-1], 0), vectors.T[::-1][:k].copy()
    largest = np.abs(components).argmax(axis=1)
    components *= np.where(components[np.arange(k), largest] < 0, -1.0, 1.0)[:, None]
    pca = PCA(n_components=k)
    pca.components_, pca.mean_ = components, np.array(location)
    pca.explained_variance_ = values[:k]
    pca.explained_variance_ratio_ = values[:k] / max(values.sum(), 1e-300)
    pca.singular_values_ = np.sqrt(values[:k] * max(n_records - 1, 1))
    pca.noise_variance_ = float(values[k:].mean()) if k < d else 0.0
    pca.n_components_, pca.n_samples_, pca.n_features_in_ = k, n_records, d
    if names is not None:
        pca.feature_names_in_ = np.asarray(names, dtype=object)
    return pca


def fitted_ridge(model: Any, target: int, alpha: float | None = None) -> Ridge:
    """Make a fitted Ridge of a covariance: the regression of a column on the others.

    Parameters
    ----------
    model : PrivateCovariance
        Fitted, with the target among its columns.
    target : int
        Position of the target.
    alpha : float, optional
        Penalty relative to the number of records, on coefficients in the units of the
        bounds. By default the spectral norm of the noise where its size is known (as
        AdaSSP does), else 0.

    Returns
    -------
    sklearn.linear_model.Ridge
        With `coef_` and `intercept_` in the units of the data.

    References
    ----------
    Wang, "Revisiting differentially private linear regression", 2018 (AdaSSP).
    """
    _, width = model._units()
    others = np.delete(np.arange(len(width)), target)
    matrix = model._in_cube()
    if alpha is None:
        error = model.standard_error_ / np.outer(width, width)
        known = error[np.ix_(others, others)]
        known = known[np.isfinite(known)]
        size = float(np.sqrt(np.mean(known**2))) if known.size else 0.0
        # AdaSSP: a penalty that lifts the smallest eigenvalue to the noise's norm.
        noise = size * np.sqrt(len(others))
        least = float(np.linalg.eigvalsh(matrix[np.ix_(others, others)])[0])
        alpha = max(0.0, noise - max(least, 0.0))
    penalised = matrix[np.ix_(others, others)] + alpha * np.eye(len(others))
    slopes = np.linalg.solve(penalised, matrix[others, target])
    ridge = Ridge(alpha=alpha)
    ridge.coef_ = slopes * width[target] / width[others]
    location = model.location_
    ridge.intercept_ = float(location[target] - ridge.coef_ @ location[others])
    ridge.n_features_in_ = len(others)
    if "feature_names_in_" in vars(model):
        ridge.feature_names_in_ = model.feature_names_in_[others]
    return ridge
