"""Linear queries on one marginal: what was asked of its cells.

A query is a matrix with one row per answer and one column per cell of the marginal
(in C order). Matrices of several columns are kept as Kronecker products of a matrix
per column and never multiplied out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skdp.graphical.own_copies import own_copy

__all__ = [
    "Identity",
    "Kronecker",
    "LinearQuery",
    "Matrix",
    "as_linear_query",
]

Array = NDArray[np.float64]

#: Matrices with more columns are not decomposed.
_MAX_DECOMPOSED = 2000


class LinearQuery(ABC):
    """A matrix that is known by what it does."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""

    @abstractmethod
    def dot(self, cells: Array) -> Array:
        """Answer the query.

        Parameters
        ----------
        cells : ndarray of shape (n_cells,)
            A marginal.

        Returns
        -------
        ndarray of shape (n_answers,)
            Its answers Q mu.
        """

    @abstractmethod
    def adjoint(self, answers: Array) -> Array:
        """Multiply with the transposed matrix.

        Parameters
        ----------
        answers : ndarray of shape (n_answers,)
            One number per answer.

        Returns
        -------
        ndarray of shape (n_cells,)
            The product Q' d.
        """

    @abstractmethod
    def squared_dot(self, cells: Array) -> Array:
        """Multiply with the matrix of squared entries.

        Parameters
        ----------
        cells : ndarray of shape (n_cells,)
            A marginal.

        Returns
        -------
        ndarray of shape (n_answers,)
            The diagonal of Q diag(mu) Q'.
        """

    @abstractmethod
    def column_norm(self, ord: int = 2) -> float:
        """Return the largest norm of a column.

        Parameters
        ----------
        ord : {1, 2}, default=2
            Which norm.

        Returns
        -------
        float
            By how much, at most, one record more moves the answers.
        """

    @abstractmethod
    def row(self, index: int) -> LinearQuery:
        """Return a query with a single answer.

        Parameters
        ----------
        index : int
            Which of the answers.

        Returns
        -------
        LinearQuery
            With one row; of a Kronecker product one row per factor.
        """

    @abstractmethod
    def gram(self) -> Array:
        """Return Q'Q, which says how the errors of cells become errors of answers.

        Returns
        -------
        ndarray of shape (n_cells, n_cells)
            Dense; of a Kronecker product it is the product of its factors' ones.
        """

    @abstractmethod
    def least_squares(self, answers: Array) -> Array | None:
        """Solve Q mu = y in the sense of least squares.

        Parameters
        ----------
        answers : ndarray of shape (n_answers,)
            The right-hand side.

        Returns
        -------
        ndarray of shape (n_cells,) or None
            None where the answers do not determine the cells, or the matrix is too
            large to decompose.
        """

    @abstractmethod
    def noise_gain(self) -> float:
        """Return the noise of a cell in units of the noise of an answer.

        Returns
        -------
        float
            Root mean square over the directions that the answers determine; 1 for the
            identity, sqrt(2 - 1/n) for prefix sums.
        """


@dataclass(frozen=True)
class Identity(LinearQuery):
    """The cells themselves.

    Parameters
    ----------
    n_cells : int
        Number of cells.
    """

    n_cells: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""
        return self.n_cells, self.n_cells

    def dot(self, cells: Array) -> Array:
        """Return the cells; see `LinearQuery.dot`."""
        return cells

    def adjoint(self, answers: Array) -> Array:
        """Return the answers; see `LinearQuery.adjoint`."""
        return answers

    def squared_dot(self, cells: Array) -> Array:
        """Return the cells; see `LinearQuery.squared_dot`."""
        return cells

    def column_norm(self, ord: int = 2) -> float:
        """Return 1; see `LinearQuery.column_norm`."""
        return 1.0

    def row(self, index: int) -> LinearQuery:
        """Return the indicator of a cell; see `LinearQuery.row`."""
        cell = ([1.0], ([0], [range(self.n_cells)[index]]))
        return Matrix(sp.csr_array(cell, shape=(1, self.n_cells)))

    def gram(self) -> Array:
        """Return the identity matrix; see `LinearQuery.gram`."""
        return np.eye(self.n_cells)

    def least_squares(self, answers: Array) -> Array | None:
        """Return the answers; see `LinearQuery.least_squares`."""
        return answers

    def noise_gain(self) -> float:
        """Return 1; see `LinearQuery.noise_gain`."""
        return 1.0


@dataclass(frozen=True, eq=False)
class Matrix(LinearQuery):
    """A query given by its matrix.

    Parameters
    ----------
    matrix : array-like or scipy sparse of shape (n_answers, n_cells)
        Dense or sparse; sparse ones are kept as CSR.

    Raises
    ------
    ValueError
        If it is not a finite matrix with at least one row.

    Examples
    --------
    >>> import numpy as np
    >>> Matrix([[1.0, 1.0, 0.0]]).dot(np.array([3.0, 4.0, 5.0]))
    array([7.])
    """

    matrix: Any
    _squared: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        matrix = own_copy(self.matrix)
        sparse = sp.issparse(matrix)
        values = matrix.data if sparse else matrix
        with np.errstate(over="ignore"):
            squared = matrix.multiply(matrix).tocsr() if sparse else matrix**2
        if matrix.ndim != 2 or min(matrix.shape) < 1 or not np.isfinite(values).all():
            raise ValueError(
                "The matrix of a linear query must be two-dimensional, finite and not "
                f"empty; its shape is {matrix.shape}."
            )
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "_squared", squared)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    def dot(self, cells: Array) -> Array:
        """Multiply with the matrix; see `LinearQuery.dot`."""
        return self.matrix @ cells

    def adjoint(self, answers: Array) -> Array:
        """Multiply with the transpose; see `LinearQuery.adjoint`."""
        return self.matrix.T @ answers

    def squared_dot(self, cells: Array) -> Array:
        """Multiply with the squared entries; see `LinearQuery.squared_dot`."""
        return self._squared @ cells

    def column_norm(self, ord: int = 2) -> float:
        """Return the largest column norm; see `LinearQuery.column_norm`."""
        if ord == 1:
            return float(abs(self.matrix).sum(axis=0).max())
        return float(np.sqrt(self._squared.sum(axis=0).max()))

    def row(self, index: int) -> LinearQuery:
        """Return one row of the matrix; see `LinearQuery.row`."""
        at = range(self.shape[0])[index]
        return Matrix(self.matrix[at : at + 1])

    def gram(self) -> Array:
        """Return the products of the columns; see `LinearQuery.gram`."""
        products = self.matrix.T @ self.matrix
        return np.asarray(products.toarray() if sp.issparse(products) else products)

    def least_squares(self, answers: Array) -> Array | None:
        """Solve by singular values; see `LinearQuery.least_squares`."""
        if self.shape[1] > _MAX_DECOMPOSED:
            return None
        solution, _, rank, _ = np.linalg.lstsq(self._dense(), answers, rcond=None)
        return np.asarray(solution, dtype=float) if rank == self.shape[1] else None

    def noise_gain(self) -> float:
        """Return it from the singular values; see `LinearQuery.noise_gain`."""
        if max(self.shape) > _MAX_DECOMPOSED:
            return 1.0 / max(self.column_norm(), np.finfo(float).tiny)
        values = np.linalg.svd(self._dense(), compute_uv=False)
        kept = values[values > 1e-10 * values[0]]
        return float(np.sqrt(np.mean(kept**-2.0))) if len(kept) else 1.0

    def _dense(self) -> Array:
        return self.matrix.toarray() if sp.issparse(self.matrix) else self.matrix


@dataclass(frozen=True, eq=False)
class Kronecker(LinearQuery):
    """One query per column of the marginal, every combination of their rows.

    Parameters
    ----------
    factors : sequence of LinearQuery, array-like or sparse
        One per column, in the order of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> rectangles = Kronecker([[[1.0, 0.0], [1.0, 1.0]], Identity(3)])
    >>> rectangles.dot(np.arange(6.0))
    array([0., 1., 2., 3., 5., 7.])
    """

    factors: tuple[LinearQuery, ...]

    def __post_init__(self) -> None:
        factors = tuple(as_linear_query(factor) for factor in self.factors)
        object.__setattr__(self, "factors", factors)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""
        shapes = np.array([factor.shape for factor in self.factors], dtype=object)
        rows, columns = shapes.prod(axis=0)
        return int(rows), int(columns)

    def dot(self, cells: Array) -> Array:
        """Apply every factor along its axis; see `LinearQuery.dot`."""
        return self._along(cells, 1, "dot")

    def adjoint(self, answers: Array) -> Array:
        """Apply every transpose along its axis; see `LinearQuery.adjoint`."""
        return self._along(answers, 0, "adjoint")

    def squared_dot(self, cells: Array) -> Array:
        """Apply the squared factors; see `LinearQuery.squared_dot`."""
        return self._along(cells, 1, "squared_dot")

    def column_norm(self, ord: int = 2) -> float:
        """Return the product of the factors' norms; see `LinearQuery.column_norm`."""
        return float(np.prod([factor.column_norm(ord) for factor in self.factors]))

    def row(self, index: int) -> LinearQuery:
        """Return the product of a row of each factor; see `LinearQuery.row`."""
        sizes = [factor.shape[0] for factor in self.factors]
        places = np.unravel_index(range(self.shape[0])[index], sizes)
        rows = zip(self.factors, places, strict=True)
        return Kronecker(tuple(factor.row(int(place)) for factor, place in rows))

    def gram(self) -> Array:
        """Return the product of the factors' ones; see `LinearQuery.gram`."""
        product: Array = np.ones((1, 1))
        for factor in self.factors:
            product = np.asarray(np.kron(product, factor.gram()), dtype=float)
        return product

    def least_squares(self, answers: Array) -> Array | None:
        """Solve factor by factor; see `LinearQuery.least_squares`."""
        table = answers.reshape([factor.shape[0] for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            if isinstance(factor, Identity):
                continue
            rows = np.moveaxis(table, axis, 0)
            solution = factor.least_squares(rows.reshape(rows.shape[0], -1))
            if solution is None:
                return None
            table = np.moveaxis(solution.reshape(-1, *rows.shape[1:]), 0, axis)
        return table.ravel()

    def noise_gain(self) -> float:
        """Return the product over the factors; see `LinearQuery.noise_gain`."""
        return float(np.prod([factor.noise_gain() for factor in self.factors]))

    def _along(self, values: Array, side: int, method: str) -> Array:
        table = values.reshape([factor.shape[side] for factor in self.factors])
        for axis, factor in enumerate(self.factors):
            if isinstance(factor, Identity):
                continue
            rows = np.moveaxis(table, axis, 0)
            result = getattr(factor, method)(rows.reshape(rows.shape[0], -1))
            table = np.moveaxis(result.reshape(-1, *rows.shape[1:]), 0, axis)
        return table.ravel()


def as_linear_query(query: Any) -> LinearQuery:
    """Return a query as a `LinearQuery`; arrays become a `Matrix`.

    Parameters
    ----------
    query : LinearQuery, array-like or scipy sparse
        A matrix in any form.

    Returns
    -------
    LinearQuery
        The same query.
    """
    return query if isinstance(query, LinearQuery) else Matrix(query)
