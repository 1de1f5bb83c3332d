r"""Smooth sensitivity of the median (Nissim, Raskhodnikova, Smith 2007).

The local sensitivity of a median can be far below its global one, but using it as it is
would leak: it depends on the data. A beta-smooth upper bound S changes by at most a
factor :math:`e^\beta` between neighbours, and noise proportional to S is private.
"""

from __future__ import annotations

from math import exp, expm1

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

__all__ = ["largest_smoothness", "smooth_sensitivity_of_median"]


def smooth_sensitivity_of_median(
    values: ArrayLike, low: float, high: float, beta: float
) -> float:
    r"""Return the smallest beta-smooth upper bound on the median's sensitivity.

    .. math:: S = \max_{k=0..n} e^{-k\beta}
              \max_{t=0..k+1} (x_{m+t} - x_{m+t-k-1}), \qquad m = \frac{n+1}{2}

    with :math:`x_i` = low for i < 1 and high for i > n. The exponent is beta; the
    Priv-PC paper (appendix F) writes epsilon, which is not private.

    Parameters
    ----------
    values : array-like of shape (n,)
        An odd number of values in [low, high], in any order; one record changes one.
    low, high : float
        Public bounds.
    beta : float > 0
        Smoothness.

    Returns
    -------
    float
        The bound, in units of the values; positive if low < high.

    Examples
    --------
    >>> smooth_sensitivity_of_median([0.0, 0.5, 1.0], 0.0, 1.0, beta=10.0)
    0.5
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    n = len(x)
    if n % 2 == 0:
        raise ValueError(f"The number of values must be odd, got {n}.")
    if n and not (low <= x[0] and x[-1] <= high):
        raise ValueError(f"Values must lie in [{low}, {high}].")
    padding = n // 2 + 1
    x = np.concatenate([np.full(padding, low), x, np.full(padding, high)])
    middle = padding + n // 2
    widest = []
    for gap in range(1, n + 2):
        starts = np.arange(max(middle - gap, 0), min(middle, len(x) - 1 - gap) + 1)
        widest.append((x[starts + gap] - x[starts]).max())
    return float(np.max(np.exp(-beta * np.arange(n + 1)) * widest))


def largest_smoothness(epsilon: float, delta: float) -> float:
    r"""Return the largest beta for which Laplace noise of scale 2S/epsilon is private.

    The largest :math:`\beta \le \epsilon/2` with
    :math:`(1 - e^{-\beta}) \exp(-(\epsilon/2 + \beta)/(e^\beta - 1)) \le \delta`.

    *Proof sketch.* Let neighbours x, y have scales s and :math:`s' = s e^{-\lambda}`,
    :math:`|\lambda| \le \beta`. Going from s to s' costs a factor
    :math:`e^{\epsilon/2}` except in the tail
    :math:`|z|/s > (\epsilon/2 + \lambda)/(e^\lambda - 1)`, whose excess mass is the
    left side above; shifting the median costs another
    :math:`e^{\epsilon/2}`, since it moves by at most S(y). For discrete Laplace noise
    the excess is at most :math:`2/(1 + e^{-1/s}) < 2` times as large, so ask for half
    the delta there. The Priv-PC paper has its logarithm on the wrong side.

    Parameters
    ----------
    epsilon : float > 0
        Privacy loss of the release.
    delta : float in (0, 1)
        Its delta.

    Returns
    -------
    float
        The smoothness beta.

    Examples
    --------
    >>> round(largest_smoothness(1.0, 1e-6), 4)
    0.0497
    """
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(
            f"epsilon must be positive and delta lie in (0, 1), got {epsilon}, {delta}."
        )

    def excess(beta: float) -> float:
        tail = exp(-(epsilon / 2 + beta) / expm1(beta))
        return -expm1(-beta) * tail - delta

    most = min(epsilon / 2, 700.0)  # a smaller one is valid too, and exp is finite
    if excess(most) <= 0:
        return most
    smallest = most * 1e-9
    while excess(smallest) > 0:
        smallest /= 1e3
    beta = float(brentq(excess, smallest, most, xtol=1e-15, rtol=1e-12))
    return beta * (1 - 1e-9)  # on the safe side of every rounding
