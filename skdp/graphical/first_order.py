"""Solvers that need only a gradient: the paper's two algorithms, and a faster one.

They start from potentials and look for marginals; each step is one call of the
oracle. Entropy is strongly convex in the L1 norm, so steps are 1/(K n) with K the
smoothness of the loss in that norm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.losses import Loss
from skdp.graphical.oracle import MarginalOracle

__all__ = ["Iterate", "accelerated", "dual_averaging", "mirror_descent"]

Array = NDArray[np.float64]
#: Told loss and number of iterations; True ends the search.
Stop = Callable[[float, int], bool]


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
    exact : bool
        Whether `potentials` have these marginals.
    """

    marginals: Array
    potentials: Array
    loss: float
    exact: bool


def mirror_descent(
    oracle: MarginalOracle, loss: Loss, theta: Array, stop: Stop, max_iter: int
) -> Iterate:
    """Entropic mirror descent with an Armijo search (the paper's Algorithm 1).

    Parameters
    ----------
    oracle : MarginalOracle
        From potentials to marginals.
    loss : Loss
        What to minimise; a loss that is not smooth gets decaying steps.
    theta : ndarray of shape (n_cells,)
        Potentials to start from.
    stop : callable
        Told the loss after each step.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    Iterate
        Exact.
    """
    mu, _ = oracle(theta)
    value, gradient = loss.value_and_gradient(mu)
    best = (value, theta, mu)
    smooth = np.isfinite(loss.smoothness)
    scale = float(np.abs(gradient).max()) or 1.0
    step = 1.0 / (loss.smoothness * oracle.total) if smooth else 1.0 / scale
    for t in range(max_iter):
        size = step if smooth else step / sqrt(t + 1.0)
        trial = theta - size * gradient
        moved, _ = oracle(trial)
        found, next_gradient = loss.value_and_gradient(moved)
        if smooth:
            enough = float(gradient @ (mu - moved)) / 2.0
            if found > value - enough + 1e-12 * abs(value):
                step /= 2.0
                if step * scale < 1e-14:
                    break
                continue
            step *= 1.2
        theta, mu, value, gradient = trial, moved, found, next_gradient
        if value < best[0]:
            best = (value, theta, mu)
        if stop(best[0], t + 1):
            break
    return Iterate(best[2], best[1], best[0], True)


def dual_averaging(
    oracle: MarginalOracle, loss: Loss, theta: Array, stop: Stop, max_iter: int
) -> Iterate:
    """Accelerated dual averaging (the paper's Algorithm 2), with backtracking on K.

    Parameters
    ----------
    oracle : MarginalOracle
        From potentials to marginals.
    loss : Loss
        What to minimise.
    theta : ndarray of shape (n_cells,)
        Potentials to start from.
    stop : callable
        Told the loss after each step.
    max_iter : int
        Largest number of steps.

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
    """Accelerated mirror descent; K adapts by an exact test with the joint KL.

    Parameters
    ----------
    oracle : MarginalOracle
        From potentials to marginals.
    loss : Loss
        What to minimise; smooth.
    theta : ndarray of shape (n_cells,)
        Potentials to start from.
    stop : callable
        Told the loss after each step.
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
    x, weight = z, 0.0
    bound = smoothness = loss.smoothness
    value = loss.value_and_gradient(x)[0]
    for t in range(max_iter):
        a = (1.0 + sqrt(1.0 + 4.0 * smoothness * weight)) / (2.0 * smoothness)
        c = a / (weight + a)
        u = (1.0 - c) * x + c * z
        change = -(a / oracle.total) * loss.value_and_gradient(u)[1]
        moved, moved_log_z = oracle(theta + change)
        kl = float(change @ moved) - oracle.total * (moved_log_z - log_z)
        new = (1.0 - c) * x + c * moved
        excess = loss.divergence(new, u) / c**2
        may_grow = smoothness < bound if loss.proven else smoothness < 1e30
        if not excess <= smoothness * oracle.total * kl and may_grow:
            smoothness = min(2.0 * smoothness, bound) if loss.proven else 2 * smoothness
            continue
        theta, z, log_z, x = theta + change, moved, moved_log_z, new
        weight += a
        smoothness *= shrink
        value = loss.value_and_gradient(x)[0]
        if stop(value, t + 1):
            break
    return Iterate(x, theta, value, False)
