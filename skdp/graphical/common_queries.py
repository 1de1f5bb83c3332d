"""Queries that are asked often: prefix sums, ranges, weighted rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from skdp.graphical.linear_queries import Identity, Matrix, as_linear_query

__all__ = ["prefix", "ranges", "weighted"]


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

    Examples
    --------
    >>> ranges(3, [(0, 1), (2, 2)]).matrix.toarray()
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """
    if intervals is None:
        intervals = [(a, b) for a in range(n_levels) for b in range(a, n_levels)]
    pairs = [(int(a), int(b)) for a, b in intervals]
    for a, b in pairs:
        if not 0 <= a <= b < n_levels:
            raise ValueError(
                f"Range ({a}, {b}) does not lie in the levels 0 to {n_levels - 1}."
            )
    columns = [np.arange(a, b + 1) for a, b in pairs]
    ends = np.cumsum([0] + [len(c) for c in columns])
    indices = np.concatenate(columns) if columns else np.zeros(0, dtype=int)
    shape = (len(pairs), n_levels)
    return Matrix(sp.csr_array((np.ones(len(indices)), indices, ends), shape=shape))


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
