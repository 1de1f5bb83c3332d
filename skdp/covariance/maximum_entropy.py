r"""Maximum-entropy completion of a covariance of which some entries were measured.

Of a covariance matrix only the entries of a set :math:`G` are known, each with noise of
known variance :math:`v_{ij}`. The completion is the solution of

.. math:: \min_{\Sigma \succ 0} \sum_{(i, j) \in G, i \le j}
          \frac{(\Sigma_{ij} - y_{ij})^2}{2 v_{ij}} - \lambda \log\det\Sigma .

Its precision matrix is zero outside of :math:`G`: a Gaussian graphical model. Where no
variance is left it is Dempster's covariance selection, the maximum-likelihood estimate
under that graph. We solve the dual, a log-likelihood with a ridge that knows the noise,

.. math:: \min_{\Theta \succ 0,\ \Theta_{\bar G} = 0} -\log\det\Theta
          + \sum_{i \le j} w_{ij} y_{ij} \Theta_{ij}
          + \frac\lambda 2 \sum_{i \le j} w_{ij}^2 v_{ij} \Theta_{ij}^2 ,
          \qquad w_{ij} = 2 - [i = j],

by Newton's method with directions by conjugate gradients. The objective is
self-concordant, so that a step of 1/(1 + decrement) is always safe and needs no search.

Nothing here sees records: numbers go in, a matrix comes out.

References
----------
Dempster, *Covariance selection*, Biometrics 28, 1972. Lauritzen, *Graphical models*,
1996, section 5.2. Ferrando, Fuentes, Mullins, Musco, Sheldon, *Private adaptive
covariance estimation via Gaussian graphical models*, 2026, section 4.2 (arXiv
2605.24295), whose exact objective is not published.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.exceptions import ConvergenceWarning

from .dual import Dual
from .newton import minimise

__all__ = ["Completion", "maximum_entropy_completion"]


@dataclass(frozen=True)
class Completion:
    """A completed covariance matrix, with the certificate that it is the solution.

    Parameters
    ----------
    covariance : ndarray of shape (n_features, n_features)
        Positive definite.
    precision : scipy.sparse.csr_array of shape (n_features, n_features)
        Its inverse; has entries where something was measured, and nowhere else.
    objective : float
        The minimised sum; entries of variance 0 count as met.
    kkt_residual : float
        Largest violation of the stationarity
        ``covariance - values = regularization * variances * (2 - [i = j]) *
        precision`` over the measured entries, in units of the standard deviations of
        the two features.
    n_iterations : int
        Newton steps.
    converged : bool
        Whether `kkt_residual` came below the tolerance.
    """

    covariance: NDArray[np.float64]
    precision: csr_array
    objective: float
    kkt_residual: float
    n_iterations: int
    converged: bool


def maximum_entropy_completion(
    values: ArrayLike,
    variances: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    regularization: float = 1.0,
    initial: Any = None,
    tol: float = 1e-9,
    max_iter: int = 200,
) -> Completion:
    """Complete a covariance matrix from noisy measurements of some of its entries.

    Parameters
    ----------
    values : array-like of shape (n_features, n_features)
        The measured entries, symmetric. What stands elsewhere is not read.
    variances : float or array-like of shape (n_features, n_features)
        Variances of their noise, symmetric; 0 asks for the exact value.
    mask : array-like of bool, shape (n_features, n_features), optional
        Which entries were measured, symmetric; the whole diagonal must be. By default
        all of them.
    regularization : float > 0, default=1.0
        Weight of the entropy against the squared errors. 1 weighs the measurements as
        the log-likelihood of a single record would; towards 0 they are met ever more
        closely, which only has a solution if some positive definite matrix meets them.
    initial : array or sparse array of shape (n_features, n_features), optional
        A precision matrix to start from, as of a completion of fewer entries.
    tol : float, default=1e-9
        Bound on `Completion.kkt_residual`.
    max_iter : int, default=200
        Limit on the Newton steps.

    Returns
    -------
    Completion
        The matrix, its sparse inverse and the certificate.

    Raises
    ------
    ValueError
        If shapes disagree, a measured value or variance is not finite or not
        symmetric, a variance is negative, a diagonal entry was not measured, or one
        that is known exactly is not positive.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not reached.

    Examples
    --------
    The entry (0, 2) was not measured: given feature 1, the two are independent.

    >>> import numpy as np
    >>> from skdp.covariance import maximum_entropy_completion
    >>> values = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
    >>> found = maximum_entropy_completion(values, 1e-12, values != 0)
    >>> found.covariance.round(4)
    array([[1.  , 0.5 , 0.25],
           [0.5 , 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    >>> found.precision.nnz
    7
    """
    values, variances, mask = _checked(values, variances, mask)
    if not (np.isfinite(regularization) and regularization > 0):
        raise ValueError(f"regularization must be > 0, got {regularization!r}.")
    rows, columns = _pairs(mask)
    values, variances = values[rows, columns], variances[rows, columns]
    spread = _spread(values, variances, len(mask))
    unit = spread[rows] * spread[columns]
    dual = Dual(rows, columns, values / unit, regularization * variances / unit**2)
    start = None if initial is None else _entries(initial, rows, columns) * unit
    point, n_iterations = minimise(dual, start, tol, max_iter)
    if not point.residual <= tol:
        warnings.warn(
            f"The completion stopped after {n_iterations} steps with a residual of "
            f"{point.residual:.1e} above the tolerance {tol:.1e}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    covariance = point.covariance * np.outer(spread, spread)
    log_determinant = point.log_determinant + 2 * np.log(spread).sum()
    misfit = _misfit(covariance[rows, columns], values, variances)
    return Completion(
        covariance=covariance,
        precision=_symmetric(point.precision / unit, rows, columns),
        objective=float(misfit - regularization * log_determinant),
        kkt_residual=point.residual,
        n_iterations=n_iterations,
        converged=point.residual <= tol,
    )


def _checked(
    values: ArrayLike, variances: ArrayLike, mask: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the measurements as matrices, refusing what has no solution."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or len(values) != values.shape[-1] or not len(values):
        raise ValueError(f"values must be a square matrix, got shape {values.shape}.")
    shape = values.shape
    mask = np.ones(shape, bool) if mask is None else np.asarray(mask, dtype=bool)
    if mask.shape != shape:
        raise ValueError(f"mask has shape {mask.shape}, values have {shape}.")
    try:
        variances = np.broadcast_to(np.asarray(variances, dtype=np.float64), shape)
    except ValueError:
        raise ValueError(
            f"variances must be a number or have the shape {shape} of the values."
        ) from None
    if not np.array_equal(mask, mask.T):
        raise ValueError("mask must be symmetric.")
    if not np.diag(mask).all():
        feature = int(np.argmin(np.diag(mask)))
        raise ValueError(
            f"The diagonal entry {feature} was not measured: the variance of that "
            "feature is then unbounded. Measure the whole diagonal."
        )
    for name, matrix in (("values", values), ("variances", variances)):
        if not np.isfinite(matrix[mask]).all():
            raise ValueError(f"Measured {name} must be finite.")
        if not np.allclose(matrix[mask], matrix.T[mask], rtol=1e-9, atol=0):
            raise ValueError(f"Measured {name} must be symmetric.")
    if (variances[mask] < 0).any():
        raise ValueError("variances must not be negative.")
    if (np.diag(values)[np.diag(variances) == 0] <= 0).any():
        raise ValueError("A variance of a feature that is known exactly must be > 0.")
    return values, variances, mask


def _pairs(mask: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the measured pairs i <= j, those of the diagonal first."""
    diagonal = np.arange(len(mask))
    i, j = np.nonzero(np.triu(mask, 1))
    return np.concatenate([diagonal, i]), np.concatenate([diagonal, j])


def _spread(
    values: NDArray[np.float64], variances: NDArray[np.float64], n_features: int
) -> NDArray[np.float64]:
    """Return a positive guess of each feature's standard deviation."""
    noise = np.sqrt(variances[:n_features])
    return np.sqrt(np.maximum(values[:n_features], noise / 2))


def _misfit(
    found: NDArray[np.float64],
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
) -> float:
    """Return half the sum of the squared errors in units of their variances."""
    noisy = variances > 0
    errors = (found - values)[noisy]
    return float((errors**2 / variances[noisy]).sum() / 2)


def _entries(
    matrix: Any, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Read some entries of a dense or sparse matrix."""
    if issparse(matrix):
        matrix = matrix.toarray()
    return np.asarray(matrix, dtype=np.float64)[rows, columns]


def _symmetric(
    entries: NDArray[np.float64],
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
) -> csr_array:
    """Return the sparse symmetric matrix with these entries at the pairs i <= j."""
    off, n_features = rows != columns, int(rows.max()) + 1
    return coo_array(
        (
            np.concatenate([entries, entries[off]]),
            (
                np.concatenate([rows, columns[off]]),
                np.concatenate([columns, rows[off]]),
            ),
        ),
        shape=(n_features, n_features),
    ).tocsr()
