"""Levels as the corners of a regular simplex, so that interactions carry no margins.

A variable of r levels becomes one of r unit vectors in R^(r - 1) that add up to 0 and
have the inner products -1/(r - 1); two levels become +1 and -1. The sum of f_i f_j'
over the records holds what the table of variables i and j tells beyond its margins.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

__all__ = ["interaction_sensitivity", "main_effect_weight", "simplex_code"]

_MOST_COMBINATIONS = 10_000_000


@lru_cache(maxsize=256)
def simplex_code(n_levels: int) -> NDArray[np.float64]:
    """Return the corners of a regular simplex around the origin.

    Parameters
    ----------
    n_levels : int >= 1
        Number r of corners.

    Returns
    -------
    ndarray of float64, shape (r, r - 1)
        A unit vector for each level; not to be changed.

    Examples
    --------
    >>> code = simplex_code(3)
    >>> (code @ code.T).round(12)
    array([[ 1. , -0.5, -0.5],
           [-0.5,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """
    if n_levels == 1:
        return np.zeros((1, 0))
    code = helmert(n_levels).T * sqrt(n_levels / (n_levels - 1))
    code.setflags(write=False)
    return np.asarray(code)


def main_effect_weight(n_variables: int) -> float:
    """Return the weight of the main effects beside all interactions.

    Parameters
    ----------
    n_variables : int
        Number d of variables.

    Returns
    -------
    float
        sqrt(d/8): a small part of the sensitivity, which d - 1 interactions of each
        variable make.
    """
    return sqrt(n_variables / 8)


def interaction_sensitivity(levels: Sequence[int], weight: float) -> float:
    r"""Return the L2 sensitivity of all interactions and weighted main effects.

    Parameters
    ----------
    levels : sequence of int >= 2
        Numbers of levels of the d variables.
    weight : float >= 0
        Factor w of the main effects.

    Returns
    -------
    float
        How far sum f f' (upper blocks) and w sum f can move together, in the Euclidean
        norm, when a record is replaced. Exact up to :math:`10^7` combinations.

    Notes
    -----
    If a record changes from f to g, let :math:`s_i = \langle f_i, g_i\rangle`, which is
    1 where the level stays and :math:`-1/(r_i - 1)` where it changes. As
    :math:`|f_i f_j' - g_i g_j'|^2 = 2 - 2 s_i s_j`, the squared change is

    .. math:: d(d-1) - (S_1^2 - S_2) + w^2 (2d - 2 S_1),
        \quad S_1 = \sum s_i,\ S_2 = \sum s_i^2,

    which depends on how many variables of each number of levels change, and is
    maximal over these numbers. Always :math:`d^2 + 4 w^2 d` is enough.

    Examples
    --------
    >>> interaction_sensitivity([2, 2, 2, 2], 0.0)  # the root of 4 k (d - k), k = 2
    4.0
    """
    d = len(levels)
    if d == 0:
        return 0.0
    kinds, counts = np.unique(np.asarray(levels, dtype=np.int64), return_counts=True)
    if prod(int(count) + 1 for count in counts) > _MOST_COMBINATIONS:
        return sqrt(d**2 + 4 * weight**2 * d)
    s1, s2 = np.array([float(d)]), np.array([float(d)])
    for r, count in zip(kinds, counts, strict=True):
        changed = np.arange(count + 1)
        s1 = np.add.outer(s1, -changed * (r / (r - 1))).ravel()
        s2 = np.add.outer(s2, -changed * (1 - 1 / (r - 1) ** 2)).ravel()
    squared = d * (d - 1) - (s1**2 - s2) + weight**2 * (2 * d - 2 * s1)
    return sqrt(max(float(squared.max()), 0.0))
