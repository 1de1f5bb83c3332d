"""What is asked of a column, as one weight per level."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import SchemaError
from skdp.records import Column, Numeric

__all__ = ["level_weights"]


def level_weights(column: Column, condition: Any) -> NDArray[np.float64]:
    """Translate a condition on a column.

    Parameters
    ----------
    column : Categorical, Ordinal or Numeric
        The declaration.
    condition : object
        An array of weights of shape (n_levels,) or (k, n_levels); a tuple (low, high),
        both ends included, on a column with an order (of a bin that is cut, the share
        inside counts); a list or set of levels; or a single level.

    Returns
    -------
    ndarray
        The weights.

    Raises
    ------
    SchemaError
        If the column has no such level, or no order for a range.

    Examples
    --------
    >>> level_weights(Numeric("age", 0, 100, bins=4), (0, 30))
    array([1. , 0.2, 0. , 0. ])
    """
    if isinstance(condition, np.ndarray):
        return condition.astype(np.float64)
    if isinstance(condition, tuple):
        return _between(column, condition)
    if isinstance(condition, list | set | frozenset):
        return np.clip(sum(_at(column, level) for level in condition), 0, 1) + np.zeros(
            column.n_levels
        )
    return _at(column, condition)


def _at(column: Column, level: Any) -> NDArray[np.float64]:
    if isinstance(column, Numeric) and level is not None:
        raise SchemaError(
            f"Column {column.name!r} is numeric: ask for a range, a tuple (low, high)."
        )
    if level not in column.levels:
        raise SchemaError(
            f"Column {column.name!r} has no level {level!r}; its levels are "
            f"{', '.join(map(repr, column.levels[:20]))}."
        )
    weights = np.zeros(column.n_levels)
    weights[column.levels.index(level)] = 1.0
    return weights


def _between(column: Column, ends: tuple[Any, ...]) -> NDArray[np.float64]:
    if not column.ordered or len(ends) != 2:
        raise SchemaError(
            f"Column {column.name!r}: a range is a tuple (low, high) on a column with "
            "an order; give a list for several levels."
        )
    low, high = ends
    weights = np.zeros(column.n_levels)
    if isinstance(column, Numeric):
        if not all(isinstance(end, Real) for end in ends):
            raise SchemaError(
                f"Column {column.name!r}: the ends of a range must be numbers, not "
                f"{ends}."
            )
        edges = column.edges
        inside = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
        weights[: column.bins] = np.clip(inside / np.diff(edges), 0.0, 1.0)
        return weights
    first, last = (int(_at(column, end).argmax()) for end in ends)
    weights[first : last + 1] = 1.0
    return weights
