"""L1 loss + tau KL(p || base): the same dual with a box in place of the ridge.

With |d_i| <= 1 / (tau sigma_i) the dual is n (log Z - log Z(base)) - y'd, and the gap
at any feasible d is sum |r_i| / sigma_i + tau d'r with the residual r = Q mu - y.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from skdp.graphical.losses import L1Loss
from skdp.graphical.problem import Problem
from skdp.graphical.regularised_dual import DualSolution

__all__ = ["solve_l1", "solve_l1_dual"]

Array = NDArray[np.float64]


class _Close(Exception):
    """Raised inside the search when the gap is small enough."""


def solve_l1_dual(
    problem: Problem,
    tau: float,
    *,
    gap_tol: float,
    max_iter: int = 1000,
    start: Array | None = None,
) -> DualSolution:
    """Minimise the sum of absolute residuals over sigma plus tau KL(p || base).

    Parameters
    ----------
    problem : Problem
        Answers, queries and base distribution.
    tau : float
        Strength of the penalty, positive.
    gap_tol : float
        Stop at this duality gap, in units of the loss.
    max_iter : int, default=1000
        Largest number of oracle calls.
    start : ndarray of shape (n_answers,) or None, default=None
        Dual to start from.

    Returns
    -------
    DualSolution
        The point with the smallest gap, and that gap.
    """
    box = 1.0 / (tau * problem.sigma)
    best: list[DualSolution] = []

    def evaluate(scaled: Array) -> tuple[float, Array]:
        d = scaled * box
        theta = problem.base + problem.adjoint(d)
        mu, log_z = problem.oracle(theta)
        residual = problem.dot(mu) - problem.answers
        log_ratio = log_z - problem.base_log_z
        loss = float(np.abs(residual / problem.sigma).sum())
        gap = loss + tau * float(d @ residual)
        penalty = tau * float(d @ (residual + problem.answers))
        objective = loss + penalty - tau * problem.total * log_ratio
        if not best or gap < best[0].gap:
            best[:] = [DualSolution(theta, mu, gap, objective, d)]
        if gap <= gap_tol:
            raise _Close
        value = problem.total * log_ratio - float(problem.answers @ d)
        return value * tau, residual * box * tau

    first = np.zeros(len(box)) if start is None else np.clip(start / box, -1.0, 1.0)
    options = {"maxiter": max_iter, "maxfun": max_iter, "ftol": 0.0, "gtol": 0.0}
    try:
        minimize(
            evaluate,
            first,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-1.0, 1.0)] * len(box),
            options={**options, "maxcor": 20},
        )
    except (_Close, ValueError):  # ValueError: potentials beyond all numbers
        pass
    return best[0]


def solve_l1(problem: Problem, *, gap_tol: float, max_iter: int) -> DualSolution:
    """Minimise the L1 loss alone, by penalised steps from where the last one ended.

    The multipliers add up, and with the strengths tau_k and T = 1 / sum(1 / tau_k)
    they are a point of the dual with penalty T: it bounds the loss from below, up to T
    times the largest divergence from uniform.

    Parameters
    ----------
    problem : Problem
        Answers and queries; its base is uniform but for structural zeros.
    gap_tol : float
        Stop at this certified gap.
    max_iter : int
        Largest number of oracle calls.

    Returns
    -------
    DualSolution
        The best step, without multipliers.
    """
    layout, n, loss = problem.layout, problem.total, L1Loss(problem)
    used = {name for clique in layout.cliques for name in clique}
    largest = n * sum(np.log(layout.domain.size(name)) for name in used)
    tau = 1.0 / float(np.median(problem.sigma))
    allowed = problem.oracle.n_calls + max_iter
    dual, inverse, step, bound = np.zeros(len(problem.answers)), 0.0, problem, 0.0
    best: DualSolution | None = None
    while best is None or best.gap > gap_tol and problem.oracle.n_calls < allowed:
        left = max(allowed - problem.oracle.n_calls, 1)
        found = solve_l1_dual(step, tau, gap_tol=gap_tol / 4.0, max_iter=left)
        assert found.dual is not None
        dual, inverse = dual + found.dual, inverse + 1.0 / tau
        step = problem.rebased(found.potentials)
        log_ratio = step.base_log_z - problem.base_log_z
        value = n * log_ratio - float(problem.answers @ dual)
        bound = max(bound, -(value + largest) / inverse)
        reached = loss.value_and_gradient(found.marginals)[0]
        if best is None or reached < best.objective:
            best = replace(found, objective=reached, dual=None)
        best = replace(best, gap=max(best.objective - bound, 0.0))
        tau /= 2.0
    return best
