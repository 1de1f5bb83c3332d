"""Products of per-column queries, attached to a model as factors of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.factor import Factor
from skdp.graphical.inference import Sizes
from skdp.graphical.sum_product import sum_out

__all__ = ["weighted_sums"]


def weighted_sums(
    factors: Sequence[Factor],
    weights: Mapping[str, NDArray[np.float64]],
    log_partition: float,
    sizes: Sizes,
    max_cells: float,
) -> NDArray[np.float64]:
    """Return expectations of products of weights.

    Parameters
    ----------
    factors : sequence of Factor
        The model.
    weights : mapping of str to ndarray, shape (k, n_levels)
        Rows of weights per column, of any sign.
    log_partition : float
        Logarithm of the sum of the product of the factors, over their columns and those
        of the weights.
    sizes : mapping of str to int
        Numbers of levels.
    max_cells : float
        Largest table that may be stored.

    Returns
    -------
    ndarray, one axis of length k per column
        The expectations.

    Raises
    ------
    ModelTooLargeError
        If a larger table would be needed; nothing was allocated.
    """
    answers, attached, all_sizes = [], [], dict(sizes)
    for name, table in weights.items():
        parts = _positive_parts(table)
        answers.append(f"\0{name}")  # no column has this name
        all_sizes[answers[-1]] = len(parts)
        with np.errstate(divide="ignore"):
            attached.append(Factor((answers[-1], name), np.log(parts)))
    summed = sum_out([*factors, *attached], tuple(answers), all_sizes, max_cells)
    result = np.exp(summed.log_values - log_partition)
    for axis, table in enumerate(weights.values()):
        if result.shape[axis] > len(table):
            positive, negative = np.split(result, 2, axis=axis)
            result = positive - negative
    return result


def _positive_parts(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positive and negative parts below each other; one if it is enough."""
    if (table >= 0).all():
        return table
    return np.concatenate([np.maximum(table, 0), np.maximum(-table, 0)])
