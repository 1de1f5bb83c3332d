"""The default solver: L + tau KL(p || base), by Newton's method on its dual.

The dual is smooth, strongly convex and lives on the measured answers; the duality gap
follows exactly from the gradient at hand. With d in the space of the answers and
potentials theta = base + Q'd::

    Psi(d) = n (log Z(theta) - log Z(base)) - y'd + (tau / 2) sum sigma_i^2 d_i^2
    g      = Q mu(d) - y + tau sigma^2 d
    gap    = (1 / 2) sum (g_i / sigma_i)^2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.problem import Problem

__all__ = ["DualSolution", "solve_regularised_dual"]

Array = NDArray[np.float64]

_CG_TOLERANCE = 0.3
_CG_STEPS = 60
#: Largest change of a log-potential in one Newton step.
_TRUST = 6.0


@dataclass(frozen=True)
class DualSolution:
    """Where a solver stopped.

    Parameters
    ----------
    potentials : ndarray of shape (n_cells,)
        Of all cliques of the layout.
    marginals : ndarray of shape (n_cells,)
        Their marginals.
    gap : float
        The objective is at most this far above its minimum.
    objective : float
        Loss plus penalty.
    dual : ndarray of shape (n_answers,) or None
        For warm starts.
    """

    potentials: Array
    marginals: Array
    gap: float
    objective: float
    dual: Array | None = None


@dataclass(frozen=True)
class _Point:
    d: Array
    theta: Array
    mu: Array
    log_ratio: float
    value: float


def solve_regularised_dual(
    problem: Problem,
    tau: float,
    *,
    gap_tol: float,
    max_iter: int = 50,
    start: Array | None = None,
) -> DualSolution:
    """Minimise the L2 loss plus tau KL(p || base), counted in records.

    Parameters
    ----------
    problem : Problem
        Answers, queries and base distribution.
    tau : float
        Strength of the penalty, positive.
    gap_tol : float
        Stop at this duality gap, in units of the loss.
    max_iter : int, default=50
        Largest number of Newton steps.
    start : ndarray of shape (n_answers,) or None, default=None
        Dual to start from.

    Returns
    -------
    DualSolution
        With the exact gap where it stopped, which may be above `gap_tol`.
    """
    ridge = tau * problem.sigma**2
    d = np.zeros(len(problem.answers)) if start is None else start
    point = _evaluate(problem, ridge, d)
    for _ in range(max_iter):
        gradient = _gradient(problem, ridge, point)
        if _gap(problem, gradient) <= gap_tol:
            break
        direction = _newton_direction(problem, ridge, point, gradient)
        moved = _line_search(problem, ridge, point, gradient, direction)
        if moved is None:  # the objective is flat to round-off
            break
        point = moved
    gradient = _gradient(problem, ridge, point)
    tilt = float(point.d @ problem.dot(point.mu))
    divergence = tilt - problem.total * point.log_ratio
    objective = problem.loss(point.mu) + tau * divergence
    gap = _gap(problem, gradient)
    return DualSolution(point.theta, point.mu, gap, objective, point.d)


def _evaluate(problem: Problem, ridge: Array, d: Array) -> _Point:
    theta = problem.base + problem.adjoint(d)
    mu, log_z = problem.oracle(theta)
    log_ratio = log_z - problem.base_log_z
    value = problem.total * log_ratio - problem.answers @ d + (ridge * d) @ d / 2.0
    return _Point(d, theta, mu, log_ratio, float(value))


def _gradient(problem: Problem, ridge: Array, point: _Point) -> Array:
    return problem.dot(point.mu) - problem.answers + ridge * point.d


def _gap(problem: Problem, gradient: Array) -> float:
    scaled = gradient / problem.sigma
    return float(scaled @ scaled) / 2.0


def _newton_direction(
    problem: Problem, ridge: Array, point: _Point, gradient: Array
) -> Array:
    answers = problem.dot(point.mu)

    def hessian(p: Array) -> Array:
        """Multiply with the Hessian: one oracle call and a difference quotient."""
        change = problem.adjoint(p)
        step = 1e-6 / np.abs(change).max()
        moved, _ = problem.oracle(point.theta + step * change)
        return (problem.dot(moved) - answers) / step + ridge * p

    diagonal = problem.squared_dot(point.mu) + ridge
    return conjugate_gradients(hessian, -gradient, diagonal, _CG_TOLERANCE, _CG_STEPS)


def conjugate_gradients(
    multiply: Callable[[Array], Array],
    right: Array,
    diagonal: Array,
    tolerance: float,
    max_iter: int,
) -> Array:
    """Solve H x = right roughly, preconditioned by a diagonal.

    Parameters
    ----------
    multiply : callable
        Multiplies a vector with the symmetric matrix H.
    right : ndarray of shape (m,)
        The right-hand side.
    diagonal : ndarray of shape (m,)
        About the diagonal of H, positive.
    tolerance : float
        Stop when the preconditioned residual norm is this part of its start.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    ndarray of shape (m,)
        A direction of descent; stops early where the curvature is not positive.
    """
    x = np.zeros_like(right)
    residual = right.copy()
    scaled = residual / diagonal
    direction = scaled.copy()
    norm = start = float(residual @ scaled)
    for _ in range(max_iter):
        image = multiply(direction)
        curvature = float(direction @ image)
        if curvature <= 0.0:
            break
        step = norm / curvature
        x += step * direction
        residual -= step * image
        scaled = residual / diagonal
        previous, norm = norm, float(residual @ scaled)
        if norm <= tolerance**2 * start:
            break
        direction = scaled + (norm / previous) * direction
    return x if x.any() else right / diagonal


def _line_search(
    problem: Problem, ridge: Array, point: _Point, gradient: Array, direction: Array
) -> _Point | None:
    slope = float(gradient @ direction)
    largest = float(np.abs(problem.adjoint(direction)).max())
    step = min(1.0, _TRUST / largest) if largest > 0.0 else 1.0
    for _ in range(30):
        moved = _evaluate(problem, ridge, point.d + step * direction)
        noise = 1e-13 * (abs(point.value) + abs(moved.value))
        if moved.value <= point.value + 1e-4 * step * slope + noise:
            return moved
        step /= 2.0
    return None
