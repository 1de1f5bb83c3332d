"""Queries that are asked often: prefix sums, ranges, weighted rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from skdp.exceptions import ModelTooLargeError
from skdp.graphical.linear_queries import Identity, Matrix, as_linear_query

__all__ = ["prefix", "ranges", "weighted"]

#: Entries of the largest matrix of ranges: 600 MB.
_MOST_ENTRIES = 50_000_000


def prefix(n_levels: int) -> Matrix:
    """Return all prefix sums: how many records lie at or below each level.

    Parameters
    ----------
    n_levels : int
        Number of levels, in their order.

    Returns
    -------
    Matrix
        Of shape (n_levels, n_levels).

    Examples
    --------
    >>> prefix(3).matrix
    array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]])
    """
    return Matrix(np.tri(n_levels))


def ranges(n_levels: int, intervals: Iterable[tuple[int, int]] | None = None) -> Matrix:
    """Return range queries: how many records lie between two levels.

    Parameters
    ----------
    n_levels : int
        Number of levels, in their order.
    intervals : iterable of (int, int) or None, default=None
        First and last level of each range, both inside; by default all ranges.

    Returns
    -------
    Matrix
        Sparse, one row per range.

    Raises
    ------
    ValueError
        If a range is empty or leaves the levels.
    ModelTooLargeError
        If the matrix would have more than 50 million entries.

    Examples
    --------
    >>> ranges(3, [(0, 1), (2, 2)]).matrix.toarray()
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """
    if intervals is None:
        _refuse_many(n_levels * (n_levels + 1) * (n_levels + 2) // 6)
        intervals = [(a, b) for a in range(n_levels) for b in range(a, n_levels)]
    pairs = [(int(a), int(b)) for a, b in intervals]
    for a, b in pairs:
        if not 0 <= a <= b < n_levels:
            raise ValueError(
                f"Range ({a}, {b}) does not lie in the levels 0 to {n_levels - 1}."
            )
    _refuse_many(sum(b + 1 - a for a, b in pairs))
    columns = [np.arange(a, b + 1) for a, b in pairs]
    ends = np.cumsum([0] + [len(c) for c in columns])
    indices = np.concatenate(columns) if columns else np.zeros(0, dtype=int)
    shape = (len(pairs), n_levels)
    return Matrix(sp.csr_array((np.ones(len(indices)), indices, ends), shape=shape))


def _refuse_many(n_entries: int) -> None:
    if n_entries > _MOST_ENTRIES:
        raise ModelTooLargeError(
            f"The ranges hold {n_entries:.3g} levels together, more than "
            f"{_MOST_ENTRIES:.3g}. Name fewer in intervals=, ask for prefixes, or "
            "declare the column with fewer levels or bins."
        )


def weighted(query: Any, weights: ArrayLike) -> Matrix:
    """Multiply the rows of a query with weights.

    Parameters
    ----------
    query : LinearQuery, array-like or sparse
        An `Identity` or a matrix.
    weights : array-like of shape (n_answers,) or float
        One factor per answer.

    Returns
    -------
    Matrix
        The weighted rows; sparse if the query was.

    Raises
    ------
    ValueError
        If the query is a `Kronecker` product: weight its factors instead.
    """
    linear = as_linear_query(query)
    scale = np.broadcast_to(np.asarray(weights, dtype=float), (linear.shape[0],))
    if isinstance(linear, Identity):
        return Matrix(sp.diags_array(scale))
    if not isinstance(linear, Matrix):
        raise ValueError("Weight the factors of a Kronecker product, not the product.")
    if sp.issparse(linear.matrix):
        return Matrix(sp.diags_array(scale) @ linear.matrix)
    return Matrix(scale[:, None] * linear.matrix)
