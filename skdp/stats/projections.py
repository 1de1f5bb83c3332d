"""The nearest table of counts to a noisy one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["project_to_simplex"]


def project_to_simplex(values: ArrayLike, total: float = 1.0) -> NDArray[np.float64]:
    """Return the nearest table without negative entries that has a given total.

    Parameters
    ----------
    values : array-like
        Of any shape, finite.
    total : float >= 0, default=1.0
        What the entries of the result add up to.

    Returns
    -------
    ndarray of float64
        ``max(values - t, 0)`` for the one t that gives the total; of the same shape.

    Raises
    ------
    ValueError
        If there are no values or `total` is negative.

    Notes
    -----
    The common shift t is found on the sorted values (Held, Wolfe, Crowder 1974).

    Examples
    --------
    >>> project_to_simplex([6.0, 3.0, -2.0], 7.0)
    array([5., 2., 0.])
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise ValueError("There are no values to project.")
    if not total >= 0:
        raise ValueError(f"total must not be negative, got {total!r}.")
    descending = np.sort(array, axis=None)[::-1]
    shifts = (np.cumsum(descending) - total) / np.arange(1, array.size + 1)
    # The largest entries stay positive; at least one does unless the total is 0.
    positive = np.flatnonzero(descending > shifts)
    shift = shifts[positive[-1]] if len(positive) else descending[0]
    return np.asarray(np.maximum(array - shift, 0.0))
