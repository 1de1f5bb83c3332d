"""Solvers that need only a gradient: the paper's two algorithms, and a faster one.

Each step is one call of the oracle. Entropy is strongly convex in the L1 norm, so
steps are 1/(K n) with K the smoothness of the loss in that norm. A step is accepted
by an exact test with the joint KL divergence, which follows from log Z; the accepted
steps bound the loss of every distribution from below (Tseng 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.losses import Loss
from skdp.graphical.oracle import MarginalOracle

__all__ = ["Iterate", "Stop", "accelerated", "dual_averaging", "mirror_descent"]

Array = NDArray[np.float64]
#: Told loss, certified gap and number of oracle calls; True ends the search.
Stop = Callable[[float, float, int], bool]


@dataclass(frozen=True)
class Iterate:
    """Where a solver stopped.

    Parameters
    ----------
    marginals : ndarray of shape (n_cells,)
        The marginals it found.
    potentials : ndarray of shape (n_cells,)
        Of a distribution close by; that of `marginals` itself if `exact`.
    loss : float
        Of `marginals`.
    gap : float
        `loss` is at most this far above the minimum.
    exact : bool
        Whether `potentials` have these marginals.
    """

    marginals: Array
    potentials: Array
    loss: float
    gap: float
    exact: bool


def mirror_descent(
    oracle: MarginalOracle, loss: Loss, theta: Array, stop: Stop, max_iter: int
) -> Iterate:
    """Entropic mirror descent with a search of the step (the paper's Algorithm 1).

    Parameters
    ----------
    oracle : MarginalOracle
        From potentials to marginals.
    loss : Loss
        What to minimise; smooth.
    theta : ndarray of shape (n_cells,)
        Potentials to start from.
    stop : callable
        Asked after each accepted step.
    max_iter : int
        Largest number of oracle calls.

    Returns
    -------
    Iterate
        Exact.
    """
    mu, log_z = oracle(theta)
    distance = _distance(oracle, theta, log_z)
    value, gradient = loss.value_and_gradient(mu)
    smallest = 1.0 / (loss.smoothness * oracle.total)
    step, travelled = smallest, 0.0
    for t in range(max_iter):
        change = -step * gradient
        try:
            moved, moved_log_z = oracle(theta + change)
        except ValueError:  # potentials so large that nothing is left of them
            break
        kl = float(change @ moved) - oracle.total * (moved_log_z - log_z)
        refused = not step * loss.divergence(moved, mu) <= kl
        if refused and (step > smallest or not loss.proven):
            step = max(step / 2.0, smallest) if loss.proven else step / 2.0
            if step < 1e-30 * smallest:
                break
            continue
        theta, mu, log_z = theta + change, moved, moved_log_z
        value, gradient = loss.value_and_gradient(mu)
        travelled += step
        step *= 1.2
        if stop(value, distance / travelled, t + 1):
            break
    gap = distance / travelled if travelled else np.inf
    return Iterate(mu, theta, value, gap, True)


def dual_averaging(
    oracle: MarginalOracle, loss: Loss, theta: Array, stop: Stop, max_iter: int
) -> Iterate:
    """Accelerated dual averaging with a fixed K (the paper's Algorithm 2).

    Parameters
    ----------
    oracle : MarginalOracle
        From potentials to marginals.
    loss : Loss
        What to minimise; smooth.
    theta : ndarray of shape (n_cells,)
        Potentials to start from.
    stop : callable
        Asked after each accepted step.
    max_iter : int
        Largest number of oracle calls.

    Returns
    -------
    Iterate
        Averaged marginals, which belong to a distribution that has other potentials.
    """
    return accelerated(oracle, loss, theta, stop, max_iter, shrink=1.0)


def accelerated(
    oracle: MarginalOracle,
    loss: Loss,
    theta: Array,
    stop: Stop,
    max_iter: int,
    shrink: float = 0.7,
) -> Iterate:
    """Accelerated mirror descent whose K adapts.

    Parameters
    ----------
    oracle : MarginalOracle
        From potentials to marginals.
    loss : Loss
        What to minimise; smooth.
    theta : ndarray of shape (n_cells,)
        Potentials to start from.
    stop : callable
        Asked after each accepted step.
    max_iter : int
        Largest number of oracle calls.
    shrink : float, default=0.7
        Factor on K after a step that was accepted.

    Returns
    -------
    Iterate
        Averaged marginals, which belong to a distribution that has other potentials.
    """
    z, log_z = oracle(theta)
    distance, total = _distance(oracle, theta, log_z), oracle.total
    bound = smoothness = loss.smoothness
    weight = 0.0
    best = Iterate(z, theta, loss.value_and_gradient(z)[0], np.inf, False)
    x = z
    for t in range(max_iter):
        a = (1.0 + sqrt(1.0 + 4.0 * smoothness * weight)) / (2.0 * smoothness)
        c = a / (weight + a)
        u = (1.0 - c) * x + c * z
        change = -(a / total) * loss.value_and_gradient(u)[1]
        try:
            moved, moved_log_z = oracle(theta + change)
        except ValueError:  # potentials so large that nothing is left of them
            break
        kl = float(change @ moved) - total * (moved_log_z - log_z)
        new = (1.0 - c) * x + c * moved
        refused = not loss.divergence(new, u) <= c**2 * smoothness * total * kl
        if refused and (smoothness < bound or not loss.proven):
            smoothness *= 2.0
            if loss.proven:
                smoothness = min(smoothness, bound)
            elif smoothness > 1e30 * bound:
                break
            continue
        if kl < -1e-6 * total:  # potentials so large that the oracle cuts too much
            break
        theta, z, log_z, x = theta + change, moved, moved_log_z, new
        weight += a
        smoothness *= shrink
        value, gap = loss.value_and_gradient(x)[0], total * distance / weight
        if value <= best.loss:
            best = Iterate(x, theta, value, gap, False)
        if stop(best.loss, best.gap, t + 1):
            break
    return best


def _distance(oracle: MarginalOracle, theta: Array, log_z: float) -> float:
    """Bound n KL(p || p_theta) over all distributions p on its support."""
    lowest = 0.0
    for place in oracle.layout.slices():
        lowest += float(np.min(theta[place], initial=0.0, where=theta[place] > -np.inf))
    return oracle.total * (log_z - lowest)
