"""What many pure mechanisms, fixed in advance, cost together.

A plan is a tuple of (epsilon, count) pairs: how many mechanisms of which pure
epsilon will run. Their order and their questions may depend on earlier answers,
their number and their epsilons may not. Three bounds on the total are known: the
sum (basic), the sum in zCDP, and the optimal composition of Kairouz, Oh and
Viswanath ("The Composition Theorem for Differential Privacy", 2015; unequal
epsilons: Murtagh and Vadhan, "The Complexity of Computing the Optimal Composition
of Differential Privacy", 2016), which randomised response attains. `plans` takes
the best of the three.

Rounding is kept on the safe side: every delta is rounded up by more than its error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln

from .accounting import zcdp_from_pure

__all__ = [
    "PureParts",
    "basic_composition_epsilon",
    "n_outcomes",
    "optimal_composition_delta",
    "optimal_composition_epsilon",
    "zcdp_composition",
]

PureParts = tuple[tuple[float, int], ...]

MAX_TERMS = 4_000_000


def basic_composition_epsilon(parts: PureParts) -> float:
    """Sum the epsilons of a plan.

    Parameters
    ----------
    parts : tuple of (epsilon, count)
        Pure mechanisms fixed in advance.

    Returns
    -------
    float
        The total epsilon at delta = 0.

    Raises
    ------
    ValueError
        If an epsilon is negative or not finite, or a count is not a whole number.

    Examples
    --------
    >>> basic_composition_epsilon(((0.5, 4), (0.25, 2)))
    2.5
    """
    return math.fsum(epsilon * count for epsilon, count in _merged(parts))


def zcdp_composition(parts: PureParts) -> float:
    """Sum the zCDP losses of a plan of pure mechanisms.

    Parameters
    ----------
    parts : tuple of (epsilon, count)
        Pure mechanisms fixed in advance.

    Returns
    -------
    float
        rho, the sum of ``count * epsilon * tanh(epsilon / 2)``.

    Raises
    ------
    ValueError
        If an epsilon is negative or not finite, or a count is not a whole number.

    Examples
    --------
    >>> round(zcdp_composition(((0.05, 100),)), 5)
    0.12497
    """
    merged = _merged(parts)
    return math.fsum(count * zcdp_from_pure(epsilon) for epsilon, count in merged)


def optimal_composition_delta(parts: PureParts, epsilon: float) -> float:
    """Give the smallest delta at which a plan is (epsilon, delta)-DP.

    Parameters
    ----------
    parts : tuple of (epsilon, count)
        Pure mechanisms fixed in advance. Pairs of equal epsilon are merged.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        delta, rounded up.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the sum over all outcomes has more
        than 4 000 000 terms.

    References
    ----------
    Murtagh and Vadhan 2016, Theorem 1.5; for equal epsilons Kairouz, Oh and
    Viswanath 2015, Theorem 3.3.

    Examples
    --------
    >>> bool(optimal_composition_delta(((0.05, 100),), 2.21) < 1e-6)
    True
    """
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise ValueError(f"epsilon must be finite and at least 0, got {epsilon}.")
    return _Losses.of(_merged(parts)).delta(epsilon)


def optimal_composition_epsilon(parts: PureParts, delta: float) -> float:
    """Give the smallest epsilon at which a plan is (epsilon, delta)-DP.

    Parameters
    ----------
    parts : tuple of (epsilon, count)
        Pure mechanisms fixed in advance. Pairs of equal epsilon are merged.
    delta : float
        In [0, 1); 0 gives the sum of the epsilons.

    Returns
    -------
    float
        epsilon, for which ``optimal_composition_delta`` is at most `delta`.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the sum over all outcomes has more
        than 4 000 000 terms.

    Examples
    --------
    >>> round(optimal_composition_epsilon(((0.05, 100),), 1e-6), 2)
    2.21
    """
    check_delta(delta)
    merged = _merged(parts)
    total = basic_composition_epsilon(merged)
    if delta == 0:
        return total
    return _Losses.of(merged).epsilon(delta, total)


def n_outcomes(parts: PureParts) -> int:
    """Count the terms of the sum that gives the optimal composition.

    Parameters
    ----------
    parts : tuple of (epsilon, count)
        Pure mechanisms fixed in advance.

    Returns
    -------
    int
        The product of count + 1 over the distinct epsilons.

    Examples
    --------
    >>> n_outcomes(((0.5, 2), (0.25, 1), (0.5, 3)))
    12
    """
    return math.prod(count + 1 for _, count in _merged(parts))


@dataclass(frozen=True)
class _Losses:
    """Positive privacy losses of randomised response, with their probabilities.

    A mechanism of pure epsilon is at worst randomised response: its loss is epsilon
    with probability e^epsilon / (1 + e^epsilon), -epsilon otherwise. The losses of
    a plan add up, which gives delta(eps) = E[1 - exp(eps - loss)]_+ .
    """

    loss: NDArray[np.float64]
    log_probability: NDArray[np.float64]
    total: float
    rounding: float  # bounds the relative error of a probability

    @classmethod
    def of(cls, merged: PureParts) -> _Losses:
        """Enumerate the outcomes of a plan of distinct epsilons."""
        if n_outcomes(merged) > MAX_TERMS:
            raise ValueError(
                f"parts have {n_outcomes(merged)} combined outcomes, more than "
                f"{MAX_TERMS}: the optimal composition is too large to compute. Use "
                "fewer distinct epsilons or smaller counts, or the zCDP bound."
            )
        loss, log_probability, magnitude = np.zeros(1), np.zeros(1), 1.0
        for epsilon, count in merged:
            more, log_more, size = _binomial_losses(epsilon, count)
            loss = np.add.outer(loss, more).ravel()
            log_probability = np.add.outer(log_probability, log_more).ravel()
            magnitude += size
        total = math.fsum(epsilon * count for epsilon, count in merged)
        positive = loss > 0
        return cls(
            loss[positive], log_probability[positive], total, magnitude * 2.0**-48
        )

    def delta(self, epsilon: float) -> float:
        """Return delta at an epsilon, rounded up."""
        if epsilon >= self.total:
            return 0.0
        above = self.loss > epsilon
        # Losses are sums of rounded products: raise them by more than their error.
        gap = self.loss[above] - epsilon + (self.total + epsilon) * 2.0**-49
        terms = np.exp(self.log_probability[above]) * -np.expm1(-gap)
        return min(1.0, float(terms.sum()) * (1 + self.rounding))

    def epsilon(self, delta: float, total: float) -> float:
        """Return an epsilon at which `delta` suffices, hardly above the least."""
        if self.delta(0.0) <= delta:
            return 0.0
        root = float(
            brentq(lambda e: self.delta(e) - delta, 0.0, total, xtol=1e-15 * total)
        )
        found, step = root, 2.0**-50 * total
        while self.delta(found) > delta:
            found, step = min(root + step, total), 2 * step
        return found


def _binomial_losses(
    epsilon: float, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the losses of `count` randomised responses and log probabilities.

    The third value bounds the magnitudes that were added up to the logarithms.
    """
    negative = np.arange(count + 1.0)
    positive = count - negative
    constant = gammaln(count + 1) - count * math.log1p(math.exp(-epsilon))
    log_probability = (
        constant - gammaln(negative + 1) - gammaln(positive + 1) - epsilon * negative
    )
    size = float(4 * gammaln(count + 2) + count * (1 + epsilon))
    return (positive - negative) * epsilon, log_probability, size


def _merged(parts: PureParts) -> PureParts:
    """Check a plan, merge equal epsilons and drop what costs nothing."""
    counts: dict[float, int] = {}
    for epsilon, count in parts:
        if not (math.isfinite(epsilon) and epsilon >= 0):
            raise ValueError(
                f"every epsilon must be finite and at least 0, got {epsilon}."
            )
        if not isinstance(count, Integral) or count < 0:
            raise ValueError(f"every count must be a whole number, got {count!r}.")
        if epsilon > 0 and count > 0:
            counts[float(epsilon)] = counts.get(float(epsilon), 0) + int(count)
    return tuple(counts.items())


def check_delta(delta: float) -> None:
    """Refuse a delta outside [0, 1).

    Parameters
    ----------
    delta : float
        Where 0 asks for pure privacy.

    Raises
    ------
    ValueError
        If `delta` is outside [0, 1) or NaN.
    """
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be in [0, 1), got {delta}.")
