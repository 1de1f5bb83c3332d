"""Linear queries on the cells of a contingency table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from skdp.exceptions import SchemaError
from skdp.graphical.linear_queries import (
    Identity,
    Kronecker,
    LinearQuery,
    Matrix,
    as_linear_query,
)

from .base import LARGEST_SUM, Norm, PublicFacts, Query, check_norm
from .marginals import check_cells

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["LinearMarginal"]

#: Matrices of so many columns have these compared pair by pair.
_MAX_EXACT = 1024
_METRICS = {1: "cityblock", 2: "euclidean", inf: "chebyshev"}
#: Integer weights below this are added as integers.
_MAX_WEIGHT = 2.0**32
#: Integers below this are exact in double precision.
_MAX_SUM = 2.0**53
#: More than the relative rounding error of a norm.
_UP = 1 + 1e-12
#: Squares of smaller numbers vanish.
_LEAST = 2.0**-400


@dataclass(frozen=True, eq=False)
class LinearMarginal(Query):
    """Weighted sums of the cells of the table over some columns.

    The answer is Q mu, mu being the counts. Replacing a record takes one from a cell i
    and adds one to a cell j, so the answer changes by q_j - q_i, two columns of Q. The
    largest norm of such a difference is the sensitivity, and it is computed for a
    matrix of at most 1024 columns.

    For larger ones and for Kronecker products it is bounded: by twice the largest
    norm of a column. If no entry of Q is negative, by sqrt(2) times that in L2, since
    ``|q_j - q_i|^2 = |q_j|^2 + |q_i|^2 - 2 q_i q_j`` with ``q_i q_j >= 0``, and by
    once that in Linf, since the entries lie between 0 and the largest. The largest norm
    of a column of a Kronecker product is the product of its factors' largest norms.

    A single answer changes by the difference of two entries of its row, at most the
    largest less the smallest. In a Kronecker product of rows, both are products of
    largest and smallest entries of the factors.

    Parameters
    ----------
    names : tuple of str
        The columns of the table.
    query : LinearQuery, array-like or sparse
        The matrix Q, with one column per cell in C order; a Kronecker product of one
        matrix per column is never multiplied out. Public.

    Examples
    --------
    >>> from skdp.graphical import prefix
    >>> from skdp.records import Ordinal, Schema
    >>> public = PublicFacts(10, Schema([Ordinal("rooms", (1, 2, 3))]))
    >>> LinearMarginal("rooms", prefix(3)).sensitivity(public, 1)
    2.0
    """

    names: tuple[str, ...]
    query: LinearQuery

    def __init__(self, names: str | tuple[str, ...], query: Any) -> None:
        names = (names,) if isinstance(names, str) else tuple(names)
        if len(set(names)) < len(names):
            raise ValueError(f"A marginal names a column twice: {names}.")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "query", as_linear_query(query))
        for part in _parts(self.query):
            # What another class does to the counts is not what its entries say.
            if type(part) not in (Identity, Matrix):
                raise TypeError(
                    f"A query is a matrix, or a Kronecker product of matrices, not "
                    f"{type(part).__name__}."
                )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearMarginal) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[Any, ...]:
        return self.names, tuple(map(_content, _parts(self.query)))

    def __repr__(self) -> str:
        n_answers = self.query.shape[0]
        return f"LinearMarginal(names={self.names!r}, {n_answers} answers)"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return self.names

    @cached_property
    def integral(self) -> bool:  # type: ignore[override]
        """True if all entries are integers, small enough to be added exactly.

        The entries of a Kronecker product are products over all of its factors, and
        so are the partial sums: their bound is the product of the factors' bounds.
        """
        entries = map(_entries, _parts(self.query))
        whole = all(bool((part == np.rint(part)).all()) for part in entries)
        return whole and self._bound < _MAX_WEIGHT

    @cached_property
    def _bound(self) -> float:
        """No product of entries of some of the factors is larger."""
        parts = _parts(self.query)
        return prod(max(1.0, _largest(part)) for part in parts)

    @property
    def largest_weight(self) -> float:
        """No entry of the matrix is larger in magnitude; at least 1."""
        return self._bound

    @cached_property
    def _spread(self) -> float:
        """The largest less the smallest entry of a single row."""
        low = high = 1.0
        parts = _parts(self.query)
        for part in parts:
            entries = _entries(part)
            ends = [a * b for a in (low, high) for b in (entries.min(), entries.max())]
            low, high = min(ends), max(ends)
        if self.integral:
            return float(high - low)
        rounding = (len(parts) - 1) * 2.0**-50 * max(abs(low), abs(high))
        return float((high - low) * _UP + rounding)

    @cached_property
    def _is_negative_somewhere(self) -> bool:
        return any((_entries(part) < 0).any() for part in _parts(self.query))

    def check(self, public: PublicFacts) -> None:
        """Refuse columns or cells that the schema does not have.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column is missing, its number of levels is not that of the matrix, or
            there are too many records for the sums of integers to be exact.
        """
        check_cells(self.names, public)
        shape = tuple(public.schema.n_levels(name) for name in self.names)
        asked = self.query.shape[1]
        if isinstance(self.query, Kronecker):
            parts = tuple(part.shape[1] for part in self.query.factors)
            fits = parts == shape
        else:
            fits = asked == prod(shape)
        if not fits:
            raise SchemaError(
                f"The query on {self.names} is for {asked} cells, but the schema gives "
                f"the table the shape {shape}."
            )
        largest = [_largest(part) for part in _parts(self.query)]
        if not public.n_records * self._bound < LARGEST_SUM or any(
            0 < entry < _LEAST for entry in largest
        ):
            raise SchemaError(
                f"The query on {self.names} has weights too large, or all so small, "
                "that sums or squares leave the range of floats. Scale it."
            )
        if self.integral and public.n_records * self._bound >= _MAX_SUM:
            raise SchemaError(
                f"The query on {self.names} has weights up to {self._bound:g}: sums of "
                f"{public.n_records} of them are not exact. Use smaller weights."
            )

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (n_answers,)."""
        return (self.query.shape[0],)

    def evaluate(self, records: CountTable) -> NDArray:
        """Add up the counts. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray, shape (n_answers,)
            int64 if all weights are integers.
        """
        counts = records.marginal(self.names).ravel().astype(np.float64)
        answer = self.query.dot(counts)
        return np.rint(answer).astype(np.int64) if self.integral else answer

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the answers by the differences of the columns of Q.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound, in units of the answer; 0 for a table of one cell.
        """
        check_norm(ord)
        if self.query.shape[1] == 1:
            return 0.0
        if self.query.shape[0] == 1:
            return self._spread
        if not isinstance(self.query, Kronecker) and self.query.shape[1] <= _MAX_EXACT:
            return self._largest_differences[ord]
        if ord == inf:
            norm = prod(map(_largest, _parts(self.query)))
        else:
            norm = self.query.column_norm(int(ord))
        factor = {1: 2.0, 2: sqrt(2.0), inf: 1.0}[ord]
        up = 1.0 if self.integral and ord != 2 else _UP
        return norm * (2.0 if self._is_negative_somewhere else factor) * up

    @cached_property
    def _largest_differences(self) -> dict[float, float]:
        """The largest norms of a difference of two columns."""
        if isinstance(self.query, Identity):
            return {1: 2.0, 2: sqrt(2.0), inf: 1.0}
        matrix = self.query.matrix  # type: ignore[attr-defined]
        columns = np.unique(
            matrix.T.toarray() if sp.issparse(matrix) else matrix.T, axis=0
        )
        up = 1.0 if self.integral else _UP
        return {
            ord: up * float(pdist(columns, metric).max(initial=0.0))
            for ord, metric in _METRICS.items()
        }

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the rounding of the sums; 0 if all weights are integers.

        Each answer adds up, factor by factor, products of weights and counts whose
        absolute values add up to at most n times the largest weight.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Largest absolute error, in units of the answer.
        """
        if self.integral:
            return 0.0
        parts = _parts(self.query)
        largest = prod(map(_largest, parts))
        n_operations = sum(2 * part.shape[1] for part in parts)
        return n_operations * 2.0**-52 * public.n_records * largest


def _parts(query: LinearQuery) -> tuple[LinearQuery, ...]:
    return query.factors if isinstance(query, Kronecker) else (query,)


def _content(query: LinearQuery) -> tuple[Any, ...]:
    """Return what tells a matrix from others, and can be hashed."""
    if isinstance(query, Identity):
        return query.shape
    matrix = query.matrix  # type: ignore[attr-defined]
    if not sp.issparse(matrix):
        return query.shape, matrix.tobytes()
    parts = (matrix.data, matrix.indices, matrix.indptr)
    return query.shape, *(part.tobytes() for part in parts)


def _entries(query: LinearQuery) -> NDArray[np.float64]:
    """Return the entries of a matrix that are stored; an identity has 0 and 1."""
    if isinstance(query, Identity):
        return np.ones(1)
    matrix = query.matrix  # type: ignore[attr-defined]
    if not sp.issparse(matrix):
        return np.asarray(matrix).ravel()
    return np.append(matrix.data, 0.0)


def _largest(query: LinearQuery) -> float:
    return float(np.abs(_entries(query)).max(initial=0.0))
