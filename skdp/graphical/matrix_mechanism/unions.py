"""One product per set of columns, and how the budget is shared among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.graphical.matrix_mechanism.strategy import (
    Axes,
    Search,
    Strategy,
    Term,
    optimal_product,
)

__all__ = ["grouped", "grouped_by_largest", "optimal_union", "optimal_weights"]


def optimal_weights(errors: ArrayLike, ord: int) -> NDArray[np.float64]:
    """Share out a sensitivity of 1 among strategies that serve different queries.

    A part that is measured with weight w has the error e/w^2. With Laplace noise the
    weights add up to 1, so the least sum of errors has w ~ e^{1/3}; with Gaussian noise
    their squares do, and w ~ e^{1/4}.

    Parameters
    ----------
    errors : array-like of shape (k,)
        Squared errors at weight 1; positive.
    ord : {1, 2}
        1 for Laplace, 2 for Gaussian noise.

    Returns
    -------
    ndarray of shape (k,)
        The weights.

    Examples
    --------
    >>> optimal_weights([1.0, 8.0], 1).round(3)
    array([0.333, 0.667])
    """
    weights = np.asarray(errors, dtype=np.float64) ** (1.0 / (2.0 + ord))
    return np.asarray(weights / np.linalg.norm(weights, ord))


def grouped(terms: Sequence[Term]) -> dict[Axes, list[Term]]:
    """Put together the terms on the same axes.

    Parameters
    ----------
    terms : sequence of Term
        A workload.

    Returns
    -------
    dict of tuple to list of Term
        By axes, in order of appearance.
    """
    groups: dict[Axes, list[Term]] = {}
    for term in terms:
        groups.setdefault(term.axes, []).append(term)
    return groups


def grouped_by_largest(terms: Sequence[Term]) -> dict[Axes, list[Term]]:
    """Put each term to those on a largest set of axes that holds its own.

    Parameters
    ----------
    terms : sequence of Term
        A workload.

    Returns
    -------
    dict of tuple to list of Term
        By the axes of the largest.
    """
    groups = grouped(terms)
    for axes in sorted(groups, key=len):
        larger = [other for other in groups if set(axes) < set(other)]
        if larger:
            moved = groups.pop(axes)
            groups[max(larger, key=len)] += moved
    return groups


def optimal_union(
    groups: Mapping[Axes, Sequence[Term]],
    sizes: Mapping[tuple[str, ...], int],
    search: Search,
    kind: str = "union",
) -> Strategy:
    """Return the best product for every group, with the best weights.

    Parameters
    ----------
    groups : mapping of tuple to sequence of Term
        Terms by the axes on which they are to be answered.
    sizes : mapping of tuple of str to int
        Numbers of cells of the axes.
    search : Search
        How to look.
    kind : str, default="union"
        What to call it.

    Returns
    -------
    Strategy
        Its error counts every term as answered from its own group alone.
    """
    products = [
        optimal_product(axes, tuple(sizes[axis] for axis in axes), terms, search)
        for axes, terms in groups.items()
    ]
    errors = np.array([product.error for product in products])
    weights = optimal_weights(errors, search.ord)
    error = float((errors / weights**2).sum())
    return Strategy(kind, tuple(products), tuple(map(float, weights)), error)
