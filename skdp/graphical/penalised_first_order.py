"""A custom loss with a pull towards the base distribution, by an accelerated method.

Minimises F(p) = L(p) + tau D(p) with D(p) = n KL(p || base). Steps are measured with D
too, so that the penalty enters them in closed form: after steps of weights a and
gradients g, with G = sum a g and A = sum a, the potentials are base - G/(n + tau A),
where the plain method has base - G/n. As n + tau A grows, steps may grow with it, and
the gap shrinks geometrically (Nesterov 2013, here with a Bregman divergence).

The certificate is the tangent of L at a point u: as L is above it, the minimum of
L(u) + <g, p - u> + tau D(p) over all p, which is that of potentials base - g/tau, is
below the minimum of F.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.first_order import Iterate
from skdp.graphical.losses import Loss
from skdp.graphical.oracle import MarginalOracle

__all__ = ["penalised"]

Array = NDArray[np.float64]
_SHRINK = 0.7
#: Steps from one certificate to the next.
_STEPS = 10


@dataclass
class _Point:
    """A distribution with potentials base + shift."""

    shift: Array
    marginals: Array
    log_z: float
    divergence: float


def penalised(
    oracle: MarginalOracle,
    loss: Loss,
    base: Array,
    tau: float,
    goal: float,
    max_iter: int,
) -> tuple[Iterate, float]:
    """Minimise a loss plus tau times the divergence from a base.

    Parameters
    ----------
    oracle : MarginalOracle
        From potentials to marginals.
    loss : Loss
        Smooth; a guess of its smoothness is corrected on the way.
    base : ndarray of shape (n_cells,)
        Potentials of the base distribution.
    tau : float > 0
        Strength of the penalty.
    goal : float
        Certified gap to stop at.
    max_iter : int
        Largest number of oracle calls.

    Returns
    -------
    tuple of (Iterate, float)
        The best distribution, with its own potentials, and its objective.
    """
    search = _Search(oracle, loss, base, tau)
    best, objective, gap = search.at(search.z), search.loss_at_z, np.inf
    for _ in range(max_iter):
        try:
            accepted = search.step()
        except ValueError:  # potentials so large that nothing is left of them
            break
        if search.is_lost:
            break
        if not accepted:
            continue
        value = search.loss_at_z + tau * search.z.divergence
        if value < objective:
            best, objective = search.at(search.z), value
        gap = objective - search.bound
        if gap <= goal:
            break
    found = Iterate(best[0], best[1], best[2], max(gap, 0.0), True)
    return found, objective


@dataclass
class _Search:
    """The state between two steps."""

    oracle: MarginalOracle
    loss: Loss
    base: Array
    tau: float
    weight: float = 0.0
    bound: float = -np.inf
    n_steps: int = 0
    smoothness: float = field(init=False)

    def __post_init__(self) -> None:
        marginals, log_z = self.oracle(self.base)
        zero = np.zeros_like(self.base)
        self.base_log_z, self.smoothness = log_z, self.loss.smoothness
        self.z = _Point(zero, marginals, log_z, 0.0)
        self.x, self.pulled = marginals, zero

    @property
    def loss_at_z(self) -> float:
        return self.loss.value_and_gradient(self.z.marginals)[0]

    @property
    def is_lost(self) -> bool:
        return self.smoothness > 1e30 * self.loss.smoothness

    def at(self, point: _Point) -> tuple[Array, Array, float]:
        value = self.loss.value_and_gradient(point.marginals)[0]
        return point.marginals, self.base + point.shift, value

    def step(self) -> bool:
        """Take a step, or refuse it and shorten the next one."""
        total, smoothness = self.oracle.total, self.smoothness
        strength = 1.0 + self.tau * self.weight / total
        root = sqrt(strength**2 + 4.0 * smoothness * self.weight * strength)
        a = (strength + root) / (2.0 * smoothness)
        c = a / (self.weight + a)
        u = (1.0 - c) * self.x + c * self.z.marginals
        value, gradient = self.loss.value_and_gradient(u)
        pulled = self.pulled + a * gradient
        moved = self._point(-pulled / (total + self.tau * (self.weight + a)))
        change = moved.shift - self.z.shift
        kl = float(change @ moved.marginals) - total * (moved.log_z - self.z.log_z)
        x = (1.0 - c) * self.x + c * moved.marginals
        if not self.loss.divergence(x, u) <= c**2 * smoothness * total * max(kl, 0.0):
            self.smoothness *= 2.0
            return False
        self.pulled, self.x, self.z = pulled, x, moved
        self.weight += a
        self.smoothness *= _SHRINK
        self.n_steps += 1
        if self.n_steps % _STEPS == 0:
            self._raise_bound(value - float(gradient @ u), gradient)
        return True

    def _point(self, shift: Array) -> _Point:
        marginals, log_z = self.oracle(self.base + shift)
        rise = self.oracle.total * (log_z - self.base_log_z)
        return _Point(shift, marginals, log_z, float(shift @ marginals) - rise)

    def _raise_bound(self, constant: float, slope: Array) -> None:
        """Minimise a tangent plus the penalty."""
        _, log_z = self.oracle(self.base - slope / self.tau)
        rise = self.oracle.total * (log_z - self.base_log_z)
        self.bound = max(self.bound, constant - self.tau * rise)
