"""Conversions between the currencies of privacy, and amplification by sub-sampling.

Pure epsilon, approximate (epsilon, delta) and zero-concentrated rho (zCDP) buy the
same thing at different rates; these functions change one into another by the
tightest proved formula. Rounding is kept on the safe side. How costs add up is in
`composition`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

__all__ = [
    "amplified_epsilon",
    "base_epsilon",
    "dp_from_zcdp",
    "zcdp_from_dp",
    "zcdp_from_pure",
]


def dp_from_zcdp(rho: float, delta: float) -> float:
    """Give the epsilon at which rho-zCDP implies (epsilon, delta)-DP.

    Parameters
    ----------
    rho : float
        Zero-concentrated privacy loss, at least 0.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        The smallest epsilon >= 0 of
        ``delta = min_{a > 1} exp((a-1)(a rho - epsilon)) (1-1/a)^a / (a-1)``.

    Raises
    ------
    ValueError
        If `rho` is negative or not finite, or `delta` is not in (0, 1).

    References
    ----------
    Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy",
    2020, Proposition 12 and Corollary 13.

    Examples
    --------
    >>> round(dp_from_zcdp(0.024356, 1e-6), 4)
    1.0
    """
    _check_loss(rho, "rho")
    _check_delta(delta)
    if rho == 0:
        return 0.0
    log_delta = math.log(delta)

    # With a = 1 + b the optimal order solves rho b^2 = -log(a delta), which has one
    # root; any order gives a valid epsilon, so its rounding costs nothing.
    def slope(b: float) -> float:
        return rho * b * b + math.log1p(b) + log_delta

    largest = min(math.sqrt(-log_delta / rho), math.expm1(min(-log_delta, 700.0)))
    b = float(brentq(slope, 0.0, largest * (1 + 1e-9), xtol=1e-300, maxiter=1000))
    return max(0.0, _epsilon_at_order(b, rho, log_delta))


def _epsilon_at_order(b: float, rho: float, log_delta: float) -> float:
    """Return the epsilon of order 1 + b, rounded up."""
    terms = (
        (1 + b) * rho,
        -math.log1p(1 / b),
        -log_delta / b,
        -math.log1p(b) / b,
    )
    return math.fsum(terms) + 2.0**-50 * math.fsum(map(abs, terms))


def zcdp_from_dp(epsilon: float, delta: float) -> float:
    """Give the largest rho whose zCDP implies (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        The largest rho with ``dp_from_zcdp(rho, delta) <= epsilon``.

    Raises
    ------
    ValueError
        If `epsilon` is negative or not finite, or `delta` is not in (0, 1).

    Examples
    --------
    >>> round(zcdp_from_dp(1.0, 1e-6), 6)
    0.024356
    """
    _check_loss(epsilon, "epsilon")
    _check_delta(delta)
    return largest_argument(lambda rho: dp_from_zcdp(rho, delta) <= epsilon)


def largest_argument(allowed: Callable[[float], bool], start: float = 1.0) -> float:
    """Find the largest positive float that an ever stricter condition allows.

    Parameters
    ----------
    allowed : callable
        A condition that holds for small arguments and fails for large ones.
    start : float, default=1.0
        Where the search begins.

    Returns
    -------
    float
        An argument for which the condition was seen to hold, within one part in
        2^51 of the largest; 0 if no positive float is allowed.

    Examples
    --------
    >>> largest_argument(lambda x: x <= 3)
    3.0
    """
    low = start
    while low > 0 and not allowed(low):
        low /= 2
    if low == 0:
        return 0.0
    high = 2 * low
    while allowed(high):
        low, high = high, 2 * high
    for _ in range(52):  # the bounds are a factor 2 apart
        middle = (low + high) / 2
        if allowed(middle):
            low = middle
        else:
            high = middle
    return low


def zcdp_from_pure(epsilon: float) -> float:
    """Give the zCDP loss of any epsilon-DP mechanism, epsilon tanh(epsilon / 2).

    Parameters
    ----------
    epsilon : float
        At least 0.

    Returns
    -------
    float
        rho, at most epsilon^2 / 2; randomised response attains it.

    Raises
    ------
    ValueError
        If `epsilon` is negative or not finite.

    Examples
    --------
    >>> round(zcdp_from_pure(1.0), 4)
    0.4621
    """
    _check_loss(epsilon, "epsilon")
    return epsilon * math.tanh(epsilon / 2)


def amplified_epsilon(epsilon: float, fraction: float) -> float:
    """Give what an epsilon-DP mechanism costs when it sees a random sub-sample.

    Parameters
    ----------
    epsilon : float
        The loss of the mechanism on its sub-sample, at least 0.
    fraction : float
        m / n for m of n records drawn without replacement, in (0, 1].

    Returns
    -------
    float
        ln(1 + fraction (e^epsilon - 1)), the loss on all records when one of them
        is replaced.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    References
    ----------
    Balle, Barthe and Gaboardi, "Privacy Amplification by Subsampling", 2018,
    Theorem 9.

    Examples
    --------
    >>> round(amplified_epsilon(1.0, 0.1), 4)
    0.1586
    """
    _check_loss(epsilon, "epsilon")
    _check_fraction(fraction)
    if fraction == 1:
        return float(epsilon)
    if epsilon < 700:  # e^epsilon is finite
        return math.log1p(fraction * math.expm1(epsilon))
    rest = (1 - fraction) / fraction * math.exp(-epsilon)
    return epsilon + math.log(fraction) + math.log1p(rest)


def base_epsilon(amplified: float, fraction: float) -> float:
    """Give the epsilon a mechanism may spend on a sub-sample; the inverse.

    Parameters
    ----------
    amplified : float
        The loss on all records that is allowed, at least 0.
    fraction : float
        m / n for m of n records drawn without replacement, in (0, 1].

    Returns
    -------
    float
        The epsilon for which `amplified_epsilon` gives `amplified`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> round(base_epsilon(amplified_epsilon(1.0, 0.1), 0.1), 12)
    1.0
    """
    _check_loss(amplified, "amplified")
    _check_fraction(fraction)
    if fraction == 1:
        return float(amplified)
    if amplified < 30:
        return math.log1p(math.expm1(amplified) / fraction)
    rest = -(1 - fraction) * math.exp(-amplified)
    return amplified - math.log(fraction) + math.log1p(rest)


def _check_loss(value: float, name: str) -> None:
    """Refuse a privacy loss that is negative, infinite or NaN."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and at least 0, got {value}.")


def _check_delta(delta: float) -> None:
    """Refuse a delta outside (0, 1)."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1), got {delta}.")


def _check_fraction(fraction: float) -> None:
    """Refuse a sampling fraction outside (0, 1]."""
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must be in (0, 1], got {fraction}.")
