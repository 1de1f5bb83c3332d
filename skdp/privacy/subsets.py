r"""A private choice of a whole set, by the exponential mechanism over all 2^m sets.

m edges have margins h, each of which changes by at most Delta when a record is
replaced. The right set is the one of the positive margins, and the utility of a set B
is minus the largest margin on its wrong side (or the smallest one, if none is):

.. math:: u(B) = \min\bigl(\min_{e \in B} h_e, \min_{e \notin B} -h_e\bigr) .

It changes by at most Delta too, so that to draw B with probability proportional to
:math:`e^{\varepsilon u(B) / 2\Delta}` is epsilon-DP and :math:`\varepsilon^2/8`-zCDP.
With the magnitudes sorted, :math:`t_1 \le \dots \le t_m`, one set has the utility
:math:`t_1`, and :math:`2^{k-1}` sets have :math:`-t_k`: those whose largest wrong edge
is k. So k is drawn first, in O(m log m); edge k is then wrong, the larger ones are
right, and the smaller ones fair coins.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from .groups import draw_group

__all__ = ["draw_subset", "draw_subset_of_size", "size_utilities"]

Margins = NDArray[np.int64]

_BEYOND = np.iinfo(np.int64).max  # the utility of what does not bind


def draw_subset(
    margins: Margins, epsilon: float, sensitivity: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw a set with probability proportional to exp(eps u(B) / (2 Delta)), exactly.

    Parameters
    ----------
    margins : ndarray of int64, shape (m,)
        The margins h, in steps.
    epsilon : float
        Privacy loss of the choice; taken at its exact value.
    sensitivity : int
        Delta: how far one record can move any one margin, in steps.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    ndarray of bool, shape (m,)
        Which elements are in the set.

    Examples
    --------
    >>> import numpy as np
    >>> draw_subset(np.array([90, -80]), 1.0, 1, np.random.default_rng(0))
    array([ True, False])
    """
    order = np.argsort(np.abs(margins), kind="stable")
    sizes = [1, *(1 << k for k in range(len(margins)))]
    worst, wrong = _draw_worst(margins[order], sizes, epsilon, sensitivity, rng)
    if worst:
        wrong[: worst - 1] = rng.integers(0, 2, worst - 1) > 0
    return _unsorted((margins[order] > 0) ^ wrong, order)


def draw_subset_of_size(
    margins: Margins,
    size: int,
    epsilon: float,
    sensitivity: int,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Draw one of the sets of a given size, as `draw_subset` does.

    Parameters
    ----------
    margins : ndarray of int64, shape (m,)
        The margins h, in steps.
    size : int
        Number of elements of the set.
    epsilon : float
        Privacy loss of the choice; taken at its exact value.
    sensitivity : int
        Delta: how far one record can move any one margin, in steps.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    ndarray of bool, shape (m,)
        Which elements are in the set.

    Examples
    --------
    >>> import numpy as np
    >>> draw_subset_of_size(np.array([90, -80]), 1, 1.0, 1, np.random.default_rng(0))
    array([ True, False])
    """
    order = np.argsort(np.abs(margins), kind="stable")
    right = margins[order] > 0
    # Of the elements below k, so many are in the set if k is the largest wrong one.
    below = size - (right.sum() - np.cumsum(right)) - ~right
    sizes = [int(right.sum() == size)]
    sizes += [comb(k, int(b)) if b >= 0 else 0 for k, b in enumerate(below)]
    worst, wrong = _draw_worst(margins[order], sizes, epsilon, sensitivity, rng)
    chosen = right ^ wrong
    if worst:
        free = rng.permutation(worst - 1)
        chosen[: worst - 1] = False
        chosen[free[: int(below[worst - 1])]] = True
    return _unsorted(chosen, order)


def size_utilities(margins: Margins) -> Margins:
    """Return, for each number of elements, the utility of the best set of that size.

    Parameters
    ----------
    margins : ndarray of int64, shape (m,)
        The margins h, in steps.

    Returns
    -------
    ndarray of int64, shape (m + 1,)
        Each changes by no more than the margins do.

    Examples
    --------
    >>> import numpy as np
    >>> size_utilities(np.array([90, -80, 70]))
    array([-90, -70,  70, -80])
    """
    falling = -np.sort(-margins)
    all_in, all_out = np.append(_BEYOND, falling), np.append(-falling, _BEYOND)
    return np.minimum(all_in, all_out)


def _draw_worst(
    margins: Margins,
    sizes: Sequence[int],
    epsilon: float,
    sensitivity: int,
    rng: np.random.Generator,
) -> tuple[int, NDArray[np.bool_]]:
    """Draw which of the sorted elements is the largest wrong one, 0 for none.

    Returns it with the elements that are wrong for certain.
    """
    magnitudes = [abs(int(h)) for h in margins]
    losses = [-magnitudes[0], *magnitudes]
    best = min(loss for loss, size in zip(losses, sizes, strict=True) if size)
    gaps = [max(loss - best, 0) for loss in losses]
    rate = Fraction(epsilon) / (2 * sensitivity)
    worst = draw_group(sizes, gaps, rate, rng)
    wrong = np.zeros(len(margins), dtype=bool)
    if worst:
        wrong[worst - 1] = True
    return worst, wrong


def _unsorted(chosen: NDArray[np.bool_], order: NDArray[np.intp]) -> NDArray[np.bool_]:
    found = np.empty_like(chosen)
    found[order] = chosen
    return found
