"""The single queries of a workload: what each says of one record, and in which range.

A linear query on a marginal is many single ones, one per row. On one record a single
query has the value that its row has in the record's cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.linear_queries import Identity, Kronecker, LinearQuery
from skdp.graphical.max_sum import Term

__all__ = ["SingleQueries", "row_ranges", "row_scales"]

Array = NDArray[np.float64]

#: More than the relative rounding error of a product of matrix entries.
_ROUNDING = 2.0**-44
#: Products of integers below this are exact.
_MAX_WHOLE = 2.0**53


def row_ranges(query: LinearQuery) -> tuple[Array, Array]:
    """Return the smallest and the largest entry of every row.

    Those of a Kronecker product are products of entries that are chosen independently,
    so that its extremes are among the products of the factors' extremes.

    Parameters
    ----------
    query : LinearQuery
        A matrix Q of any kind.

    Returns
    -------
    tuple of (ndarray, ndarray), each of shape (n_answers,)
        Bounds on the value of each single query on a record; attained.

    Examples
    --------
    >>> from skdp.graphical import prefix
    >>> row_ranges(prefix(3))
    (array([0., 0., 1.]), array([1., 1., 1.]))
    """
    if isinstance(query, Kronecker):
        return reduce(_range_of_products, map(row_ranges, query.factors))
    if isinstance(query, Identity):
        n_cells = query.n_cells
        return np.full(n_cells, float(n_cells == 1)), np.ones(n_cells)
    matrix: Any = query.matrix  # type: ignore[attr-defined]
    low, high = matrix.min(axis=1), matrix.max(axis=1)
    if sp.issparse(matrix):
        low, high = low.toarray(), high.toarray()
    return np.ravel(low), np.ravel(high)


def _range_of_products(
    left: tuple[Array, Array], right: tuple[Array, Array]
) -> tuple[Array, Array]:
    corners = np.stack([np.multiply.outer(a, b).ravel() for a in left for b in right])
    return corners.min(axis=0), corners.max(axis=0)


def row_scales(query: LinearQuery, weight: float = 1.0) -> Array:
    """Return the factor that brings the range of every row to a length `weight`.

    Parameters
    ----------
    query : LinearQuery
        A matrix Q of any kind.
    weight : float, default=1.0
        Largest difference between the values of a single query on two records.

    Returns
    -------
    ndarray of shape (n_answers,)
        0 for a row of equal entries, which tells no records apart.
    """
    low, high = row_ranges(query)
    varies, length = high > low, high - low
    largest = np.maximum(np.abs(low), np.abs(high))
    if not (_is_whole(query) and largest.max() < _MAX_WHOLE):
        length = length + _ROUNDING * largest  # products were rounded: never too short
    return np.where(varies, weight / np.where(varies, length, 1.0), 0.0)


def _is_whole(query: LinearQuery) -> bool:
    if isinstance(query, Kronecker):
        return all(map(_is_whole, query.factors))
    if isinstance(query, Identity):
        return True
    matrix: Any = query.matrix  # type: ignore[attr-defined]
    entries = matrix.data if sp.issparse(matrix) else matrix
    return bool((entries == np.rint(entries)).all())


@dataclass(frozen=True, eq=False)
class SingleQueries:
    """All rows of some linear queries on marginals, one after the other.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : sequence of tuple of str
        The columns of each marginal.
    queries : sequence of LinearQuery
        One matrix each.
    weights : sequence of float
        What the range of each row is scaled to.
    """

    domain: Domain
    cliques: Sequence[tuple[str, ...]]
    queries: Sequence[LinearQuery]
    weights: Sequence[float]

    @cached_property
    def scales(self) -> Array:
        """Factor of every single query, shape (n_queries,)."""
        pairs = zip(self.queries, self.weights, strict=True)
        return np.concatenate([row_scales(query, weight) for query, weight in pairs])

    @cached_property
    def _ends(self) -> NDArray[np.intp]:
        return np.cumsum([query.shape[0] for query in self.queries])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def split(self, values: Array) -> list[Array]:
        """Cut numbers, one per single query, into those of each marginal.

        Parameters
        ----------
        values : ndarray of shape (n_queries,)
            The numbers.

        Returns
        -------
        list of ndarray
            Views.
        """
        return np.split(values, self._ends[:-1])

    def of_tables(self, tables: Mapping[tuple[str, ...], Array]) -> Array:
        """Answer all queries from marginals.

        Parameters
        ----------
        tables : mapping of tuple of str to ndarray
            Per clique, in the order of the domain, its table.

        Returns
        -------
        ndarray of shape (n_queries,)
            Not scaled.
        """
        answers = []
        for clique, query in zip(self.cliques, self.queries, strict=True):
            ordered = self.domain.sort(clique)
            axes = [ordered.index(name) for name in clique]
            answers.append(query.dot(tables[ordered].transpose(axes).ravel()))
        return np.concatenate(answers)

    def adjoint(self, values: Array) -> dict[tuple[str, ...], Array]:
        """Multiply with the transposed queries.

        Parameters
        ----------
        values : ndarray of shape (n_queries,)
            One number per single query.

        Returns
        -------
        dict of tuple of str to ndarray
            Per clique, in the order of the domain, a table.
        """
        found: dict[tuple[str, ...], Array] = {}
        parts = zip(self.cliques, self.queries, self.split(values), strict=True)
        for clique, query, part in parts:
            ordered = self.domain.sort(clique)
            table = query.adjoint(part).reshape(self.domain.shape(clique))
            table = table.transpose([clique.index(name) for name in ordered])
            found[ordered] = found[ordered] + table if ordered in found else table
        return found

    def of_record(self, codes: NDArray[np.intp]) -> Array:
        """Evaluate all queries on one record.

        Parameters
        ----------
        codes : ndarray of int, shape (n_columns,)
            Level of each column of the domain.

        Returns
        -------
        ndarray of shape (n_queries,)
            Not scaled.
        """
        parts = []
        for clique, query in zip(self.cliques, self.queries, strict=True):
            levels = [int(codes[self.domain.axis(name)]) for name in clique]
            parts.append(_entry_of_rows(query, levels, self.domain.shape(clique)))
        return np.concatenate(parts)

    def term(self, number: int, weight: float) -> Term:
        """Return one query, times a weight, as a function of its columns.

        Parameters
        ----------
        number : int
            From 0 to n_queries - 1.
        weight : float
            A factor, besides the scale of the query.

        Returns
        -------
        Term
            For `max_sum`.
        """
        k = int(np.searchsorted(self._ends, number, side="right"))
        row = number - (int(self._ends[k - 1]) if k else 0)
        clique, query = self.cliques[k], self.queries[k]
        shape = self.domain.shape(clique)
        factor = weight * float(self.scales[number])
        if isinstance(query, Kronecker):
            rows = np.unravel_index(row, [part.shape[0] for part in query.factors])
            pairs = zip(query.factors, rows, strict=True)
            return Term(clique, tuple(_row(part, int(r)) for part, r in pairs), factor)
        if isinstance(query, Identity):
            levels = np.unravel_index(row, shape)
            pairs_of_levels = zip(levels, shape, strict=True)
            cell = tuple(np.eye(n)[int(level)] for level, n in pairs_of_levels)
            return Term(clique, cell, factor)
        return Term(clique, _row(query, row).reshape(shape), factor)


def _row(query: LinearQuery, row: int) -> Array:
    if isinstance(query, Identity):
        return np.eye(1, query.n_cells, row)[0]
    matrix: Any = query.matrix  # type: ignore[attr-defined]
    return np.ravel(matrix[[row]].toarray() if sp.issparse(matrix) else matrix[row])


def _entry_of_rows(
    query: LinearQuery, levels: Sequence[int], shape: tuple[int, ...]
) -> Array:
    """Return the column of a matrix that belongs to a cell."""
    if isinstance(query, Kronecker):
        parts = zip(query.factors, levels, strict=True)
        columns = [_entry_of_rows(part, [c], (part.shape[1],)) for part, c in parts]
        return reduce(lambda a, b: np.multiply.outer(a, b).ravel(), columns)
    cell = int(np.ravel_multi_index(tuple(levels), shape))
    if isinstance(query, Identity):
        return np.eye(1, query.n_cells, cell)[0]
    matrix: Any = query.matrix  # type: ignore[attr-defined]
    column = matrix[:, [cell]]
    return np.ravel(column.toarray() if sp.issparse(matrix) else column)
