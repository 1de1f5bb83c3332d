"""Symmetric matrices by their eigenvalues: projections, floors and powers. Pure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["cap_diagonal", "floor_eigenvalues", "matrix_power", "project_to_psd"]


def _of_eigenvalues(
    matrix: NDArray[np.float64],
    change: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(matrix)
    product = (vectors * change(values)) @ vectors.T
    return (product + product.T) / 2


def project_to_psd(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest positive semi-definite matrix in the Frobenius norm.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric.

    Returns
    -------
    ndarray of shape (d, d)
        Its negative eigenvalues set to 0.
    """
    return _of_eigenvalues(matrix, lambda values: np.maximum(values, 0.0))


def floor_eigenvalues(
    matrix: NDArray[np.float64], least: float = 0.0
) -> NDArray[np.float64]:
    """Return a positive definite matrix: small eigenvalues are raised.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric.
    least : float, default=0.0
        The floor. It is at least a millionth of the largest eigenvalue, so that the
        inverse has some accuracy, and at least 1e-12.

    Returns
    -------
    ndarray of shape (d, d)
        Unchanged if no eigenvalue is below.

    Examples
    --------
    >>> floor_eigenvalues(np.diag([2.0, -1.0]), 0.5).diagonal()
    array([2. , 0.5])
    """
    values = np.linalg.eigvalsh(matrix)
    least = max(least, 1e-6 * float(values[-1]), 1e-12)
    if values[0] >= least:
        return matrix
    return _of_eigenvalues(matrix, lambda values: np.maximum(values, least))


def cap_diagonal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale columns and rows so that no diagonal entry exceeds 1.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric: moments of numbers in [-1, 1], plus noise.

    Returns
    -------
    ndarray of shape (d, d)
        Symmetric, and positive semi-definite if the matrix is.

    Examples
    --------
    >>> cap_diagonal(np.array([[4.0, 1.0], [1.0, 0.5]]))
    array([[1. , 0.5],
           [0.5, 0.5]])
    """
    scale = 1 / np.sqrt(np.maximum(matrix.diagonal(), 1.0))
    return matrix * np.outer(scale, scale)


def matrix_power(matrix: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Return a power of a positive definite matrix.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric; eigenvalues below a floor are raised to it, see `floor_eigenvalues`.
    power : float
        For instance -1/2, which whitens.

    Returns
    -------
    ndarray of shape (d, d)
        Symmetric.
    """
    floored = floor_eigenvalues(matrix)
    return _of_eigenvalues(floored, lambda values: np.maximum(values, 1e-300) ** power)
