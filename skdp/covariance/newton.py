"""Newton's method for the dual of the maximum-entropy completion."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from .dual import Dual, Point

__all__ = ["minimise"]

_Vector = NDArray[np.float64]

#: With a smaller Newton decrement a full step converges quadratically.
_FULL_STEP = 0.25
_SUFFICIENT = 1e-4
_MAX_CONJUGATE_STEPS = 500
#: Up to so many unknowns a factorisation of the Hessian is as fast.
_SMALL = 150


def minimise(
    dual: Dual, start: _Vector | None, tol: float, max_iter: int
) -> tuple[Point, int]:
    """Solve the dual by Newton's method.

    Parameters
    ----------
    dual : Dual
        The problem.
    start : ndarray of shape (n_pairs,), optional
        Where to start; the solution of the diagonal if this is not positive definite.
    tol : float
        Bound on the violation of stationarity.
    max_iter : int
        Limit on the steps.

    Returns
    -------
    point : Point
        The best point found.
    n_steps : int
        Newton steps taken.
    """
    point = None if start is None else dual.at(start)
    if point is None:
        point = dual.at(dual.diagonal_solution())
    assert point is not None  # a positive diagonal is positive definite
    for step in range(max_iter):
        if point.residual <= tol:
            return point, step
        direction, decrement = _newton_direction(dual, point, tol)
        following = _next_point(dual, point, direction, decrement)
        stalled = decrement < _FULL_STEP and following.residual >= point.residual
        if stalled:  # at the limit of the arithmetic
            return point, step
        point = following
    return point, max_iter


def _newton_direction(dual: Dual, point: Point, tol: float) -> tuple[_Vector, float]:
    """Return the Newton direction, and the decrement that it stands for."""
    gradient = dual.weights * point.slack
    direction = None
    if len(gradient) <= _SMALL:
        direction = _direct(dual, point, gradient)
    if direction is None:
        direction = _by_conjugate_gradients(dual, point, gradient, tol)
    return direction, sqrt(max(float(-gradient @ direction), 0.0))


def _direct(dual: Dual, point: Point, gradient: _Vector) -> _Vector | None:
    """Solve for the direction by a factorisation, which bears ill conditioning."""
    scale = 1 / np.sqrt(dual.curvature_diagonal(point))
    hessian = dual.curvature_matrix(point) * np.outer(scale, scale)
    solution: _Vector
    _, solution, failure = dposv(hessian, -gradient * scale)
    return None if failure else solution * scale


def _by_conjugate_gradients(
    dual: Dual, point: Point, gradient: _Vector, tol: float
) -> _Vector:
    """Solve for the direction by preconditioned conjugate gradients.

    The decrement is exact for the direction that is returned, however early the
    iteration was stopped.
    """
    precondition = 1 / dual.curvature_diagonal(point)
    direction = np.zeros_like(gradient)
    rest = -gradient
    search = precondition * rest
    energy = first = float(rest @ search)
    # Tighter towards the solution, so that convergence is faster than linear, but no
    # tighter than the tolerance asks.
    forcing = max(min(0.1, sqrt(first)), 0.3 * tol / point.residual) ** 2
    for _ in range(_MAX_CONJUGATE_STEPS):
        image = dual.curvature(point, search)
        length = energy / float(search @ image)
        direction += length * search
        rest -= length * image
        scaled = precondition * rest
        energy, before = float(rest @ scaled), energy
        if energy <= forcing * first:
            break
        search = scaled + energy / before * search
    return direction


def _next_point(
    dual: Dual, point: Point, direction: _Vector, decrement: float
) -> Point:
    """Step along a Newton direction: fully where that is safe or pays."""
    safe = 1 / (1 + decrement)
    length, value = 1.0, dual.objective(point)
    while decrement > _FULL_STEP and length > safe:
        following = dual.at(point.precision + length * direction)
        gain = _SUFFICIENT * length * decrement**2
        if following is not None and dual.objective(following) <= value - gain:
            return following
        length /= 2
    following = dual.at(point.precision + max(length, safe) * direction)
    return point if following is None else following
