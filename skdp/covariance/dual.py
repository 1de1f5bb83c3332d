"""The dual of the maximum-entropy completion, and its derivatives.

The unknowns are the entries of a sparse precision matrix on a fixed set of pairs
i <= j, in units in which the features have variances near 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import coo_array, csr_array

__all__ = ["Dual", "Point"]

_Vector = NDArray[np.float64]

#: Numbers in a block of rows.
_BLOCK = 2**15


@dataclass(frozen=True)
class Point:
    """A feasible precision matrix and what follows from it.

    Parameters
    ----------
    precision : ndarray of shape (n_pairs,)
        The entries of the precision matrix.
    covariance : ndarray of shape (n_features, n_features)
        Its inverse.
    log_determinant : float
        Of the covariance.
    slack : ndarray of shape (n_pairs,)
        The violation of stationarity; times the weights, the gradient.
    """

    precision: _Vector
    covariance: _Vector
    log_determinant: float
    slack: _Vector

    @property
    def residual(self) -> float:
        """The largest violation of stationarity."""
        return float(np.abs(self.slack).max())


@dataclass(frozen=True)
class Dual:
    """The dual problem.

    Parameters
    ----------
    rows, columns : ndarray of int, shape (n_pairs,)
        The pairs i <= j, the diagonal ones first.
    values : ndarray of shape (n_pairs,)
        The measured covariances.
    penalties : ndarray of shape (n_pairs,)
        Their variances times the weight of the entropy.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    values: _Vector
    penalties: _Vector

    @cached_property
    def n_features(self) -> int:
        """Side of the matrix."""
        return int(self.rows.max()) + 1

    @cached_property
    def weights(self) -> _Vector:
        """How often a pair occurs in the matrix: 1 on the diagonal, else 2."""
        return np.where(self.rows == self.columns, 1.0, 2.0)

    @cached_property
    def _pattern(self) -> tuple[csr_array, NDArray[np.intp]]:
        """A sparse matrix of the pairs, and the pair that each stored entry is of."""
        pairs = np.arange(len(self.rows))
        twins = pairs[self.n_features :]
        matrix = coo_array(
            (
                np.concatenate([pairs, twins]) + 1.0,
                (
                    np.concatenate([self.rows, self.columns[twins]]),
                    np.concatenate([self.columns, self.rows[twins]]),
                ),
            ),
            shape=(self.n_features, self.n_features),
        ).tocsr()
        return matrix, matrix.data.astype(np.intp) - 1

    def matrix(self, entries: _Vector) -> csr_array:
        """Return the symmetric matrix with these entries; the next call reuses it."""
        matrix, pair = self._pattern
        matrix.data[:] = entries[pair]
        return matrix

    def diagonal_solution(self) -> _Vector:
        """Return the solution if only the diagonal had been measured."""
        precision = np.zeros(len(self.values))
        y, v = self.values[: self.n_features], self.penalties[: self.n_features]
        root = np.sqrt(y**2 + 4 * v)
        # The larger root of t^2 - y t - v, without cancellation where y < 0.
        precision[: self.n_features] = np.where(
            y >= 0,
            2 / (y + root),
            np.divide(root - y, 2 * v, out=np.ones_like(v), where=v > 0),
        )
        return precision

    def at(self, precision: _Vector) -> Point | None:
        """Return the point of a precision matrix; None if not positive definite."""
        factor, failure = dpotrf(self.matrix(precision).toarray(order="F"), lower=1)
        if failure or not np.isfinite(factor).all():
            return None
        log_determinant = -2 * float(np.log(np.diag(factor)).sum())
        lower, _ = dpotri(factor, lower=1, overwrite_c=1)
        covariance = np.tril(lower) + np.tril(lower, -1).T
        slack = (
            self.values
            + self.penalties * self.weights * precision
            - covariance[self.rows, self.columns]
        )
        return Point(precision, covariance, log_determinant, slack)

    def objective(self, point: Point) -> float:
        """Return the dual objective."""
        x = self.weights * point.precision
        return point.log_determinant + float(
            x @ self.values + (self.penalties * x) @ x / 2
        )

    def curvature(self, point: Point, direction: _Vector) -> _Vector:
        """Return the Hessian at a point times a direction."""
        left = np.ascontiguousarray((self.matrix(direction) @ point.covariance).T)
        inner = np.empty_like(direction)
        # Only the pairs are needed of the product of two dense matrices; by blocks of
        # rows that stay in the cache.
        block = max(1, _BLOCK // self.n_features)
        for start in range(0, len(inner), block):
            pairs = slice(start, start + block)
            inner[pairs] = np.vecdot(
                point.covariance.take(self.rows[pairs], axis=0),
                left.take(self.columns[pairs], axis=0),
            )
        return self.weights * (inner + self.penalties * self.weights * direction)

    def curvature_matrix(self, point: Point) -> _Vector:
        """Return the whole Hessian at a point."""
        S, i, j = point.covariance, self.rows, self.columns
        inner = S[np.ix_(i, i)] * S[np.ix_(j, j)] + S[np.ix_(i, j)] * S[np.ix_(j, i)]
        hessian = np.outer(self.weights, self.weights) / 2 * inner
        hessian[np.diag_indices_from(hessian)] += self.weights**2 * self.penalties
        return hessian

    def curvature_diagonal(self, point: Point) -> _Vector:
        """Return the diagonal of the Hessian at a point."""
        variance = np.diag(point.covariance)
        entries = point.covariance[self.rows, self.columns]
        product = variance[self.rows] * variance[self.columns]
        inner = np.where(self.weights == 1, product, product + entries**2)
        return self.weights * (inner + self.weights * self.penalties)
