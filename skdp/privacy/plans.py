"""The cheapest proof for a plan of pure mechanisms, and the plan a budget affords.

A plan is what `composition` prices in three ways: a tuple of (epsilon, count) pairs
of mechanisms fixed in advance. Which bound is used does not depend on the records,
so the best may be taken. A scaled plan, priced again, costs at most its budget.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq

from .accounting import dp_from_zcdp, largest_argument, zcdp_from_dp
from .composition import (
    MAX_TERMS,
    PureParts,
    basic_composition_epsilon,
    check_delta,
    n_outcomes,
    optimal_composition_delta,
    optimal_composition_epsilon,
    zcdp_composition,
)

__all__ = ["best_composition_epsilon", "scale_parts", "scale_parts_to"]


def best_composition_epsilon(parts: PureParts, delta: float) -> tuple[float, str]:
    """Give the smallest epsilon that any of the three compositions proves.

    Parameters
    ----------
    parts : tuple of (epsilon, count)
        Pure mechanisms fixed in advance.
    delta : float
        In [0, 1).

    Returns
    -------
    epsilon : float
        The total loss at `delta`.
    composition : {"basic", "zcdp", "optimal"}
        The composition that proves it; of equals, the simplest.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Examples
    --------
    >>> best_composition_epsilon(((0.5, 2),), 0.0)
    (1.0, 'basic')
    """
    check_delta(delta)
    bounds = [(basic_composition_epsilon(parts), "basic")]
    if delta > 0:
        bounds.append((dp_from_zcdp(zcdp_composition(parts), delta), "zcdp"))
        if n_outcomes(parts) <= MAX_TERMS:
            bounds.append((optimal_composition_epsilon(parts, delta), "optimal"))
    return min(bounds, key=lambda bound: bound[0])


def scale_parts(parts: PureParts, factor: float) -> PureParts:
    """Multiply every epsilon of a plan by the same factor.

    Parameters
    ----------
    parts : tuple of (epsilon, count)
        Pure mechanisms fixed in advance.
    factor : float
        At least 0.

    Returns
    -------
    tuple of (epsilon, count)
        The scaled plan.

    Examples
    --------
    >>> scale_parts(((1.0, 3), (0.5, 2)), 0.5)
    ((0.5, 3), (0.25, 2))
    """
    return tuple((factor * epsilon, count) for epsilon, count in parts)


def scale_parts_to(epsilon: float, delta: float, parts: PureParts) -> tuple[float, str]:
    """Find how large a plan of given proportions may be within a budget.

    Parameters
    ----------
    epsilon : float
        The budget, positive.
    delta : float
        In [0, 1); 0 leaves only the sum of the epsilons.
    parts : tuple of (epsilon, count)
        The proportions: pure mechanisms fixed in advance, in any unit.

    Returns
    -------
    factor : float
        The largest factor for which ``scale_parts(parts, factor)`` costs at most
        (`epsilon`, `delta`) by the best composition, up to one part in 10^11.
    composition : {"basic", "zcdp", "optimal"}
        The composition that proves it: evaluated on the scaled plan it gives at
        most `epsilon` exactly.

    Raises
    ------
    ValueError
        If an argument is outside its range or the plan is empty.

    Examples
    --------
    >>> factor, composition = scale_parts_to(2.21, 1e-6, ((0.5, 50), (0.5, 50)))
    >>> round(factor * 0.5, 3), composition
    (0.05, 'optimal')
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be finite and positive, got {epsilon}.")
    check_delta(delta)
    total = basic_composition_epsilon(parts)
    if total == 0:
        raise ValueError("parts must hold a mechanism with a positive epsilon.")
    basic = _largest_basic(epsilon, total, parts)
    if delta == 0:
        return basic, "basic"
    factors = [(basic, "basic"), (_largest_zcdp(epsilon, delta, parts), "zcdp")]
    if n_outcomes(parts) <= MAX_TERMS:
        factors.append((_largest_optimal(epsilon, delta, parts, basic), "optimal"))
    return max(factors, key=lambda found: found[0])


def _largest_basic(epsilon: float, total: float, parts: PureParts) -> float:
    """Scale a plan so that the sum of its epsilons is the budget."""
    factor = epsilon / total
    while basic_composition_epsilon(scale_parts(parts, factor)) > epsilon:
        factor = math.nextafter(factor, 0.0)
    return factor


def _largest_zcdp(epsilon: float, delta: float, parts: PureParts) -> float:
    """Scale a plan so that its zCDP loss is what the budget buys."""
    rho = zcdp_from_dp(epsilon, delta)
    factor = largest_argument(lambda s: zcdp_composition(scale_parts(parts, s)) <= rho)
    # dp_from_zcdp is rounded: make sure of the promise in its own terms.
    while dp_from_zcdp(zcdp_composition(scale_parts(parts, factor)), delta) > epsilon:
        factor *= 1 - 2.0**-50
    return factor


def _largest_optimal(
    epsilon: float, delta: float, parts: PureParts, safe: float
) -> float:
    """Scale a plan so that its optimal composition is the budget.

    `safe` is a factor that is known to be within the budget.
    """

    def excess(factor: float) -> float:
        return optimal_composition_delta(scale_parts(parts, factor), epsilon) - delta

    high = 2 * safe
    while excess(high) <= 0:
        high *= 2
    found = float(brentq(excess, safe, high, xtol=1e-300, rtol=1e-12))
    step = 2.0**-39
    factor = max(safe, found * (1 - step))
    while (
        factor > safe
        and optimal_composition_epsilon(scale_parts(parts, factor), delta) > epsilon
    ):
        step *= 2
        factor = max(safe, found * (1 - step))
    return factor
