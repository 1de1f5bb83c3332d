"""Which solver is run, and how averaged marginals become potentials."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from skdp.graphical.first_order import (
    Iterate,
    accelerated,
    dual_averaging,
    mirror_descent,
)
from skdp.graphical.forest_program import (
    is_exact,
    is_forest,
    measures_tables,
    solve_forest_program,
)
from skdp.graphical.l1_dual import solve_l1_dual
from skdp.graphical.linear_queries import Identity
from skdp.graphical.losses import (
    CustomLoss,
    HuberLoss,
    L1Loss,
    L2Loss,
    Loss,
    LossFunction,
)
from skdp.graphical.problem import Block, Problem
from skdp.graphical.products import product_potentials
from skdp.graphical.regularised_dual import DualSolution, solve_regularised_dual

__all__ = ["UNPENALISED", "Found", "solve"]

Array = NDArray[np.float64]

#: Solvers of the loss alone.
UNPENALISED = ("forest", "accelerated", "mirror_descent", "dual_averaging")
_FIRST_ORDER = {
    "accelerated": accelerated,
    "mirror_descent": mirror_descent,
    "dual_averaging": dual_averaging,
}
#: Of the smooth losses on the way to L1, in sigma.
_HUBER_WIDTHS = (1.0, 0.1, 0.01)


@dataclass(frozen=True)
class Found:
    """What a solver hands over.

    Parameters
    ----------
    potentials, marginals : ndarray of shape (n_cells,)
        Of all cliques; they belong to each other.
    loss, objective, gap : float
        Loss, loss plus penalty, and how far that can be above its minimum.
    solver : str
        Which one it was.
    dual : ndarray of shape (n_answers,) or None
        Multipliers, if the solver has any.
    """

    potentials: Array
    marginals: Array
    loss: float
    objective: float
    gap: float
    solver: str
    dual: Array | None = None


def solve(
    problem: Problem,
    tau: float,
    solver: str,
    loss: str | LossFunction,
    goal: float,
    max_iter: int | None,
    start: Array | None,
) -> Found:
    """Run a solver on one BLAS thread: the matrices are small.

    Parameters
    ----------
    problem : Problem
        Answers, queries and base distribution.
    tau : float
        Strength of the penalty.
    solver : str
        Name of the solver, or "auto".
    loss : {"l2", "l1"} or callable
        What to minimise.
    goal : float
        Certified gap to stop at.
    max_iter : int or None
        Largest number of steps; None for the solver's own.
    start : ndarray of shape (n_answers,) or None
        Multipliers to start from.

    Returns
    -------
    Found
        Potentials, marginals and gap.
    """
    with _controller().limit(limits=1, user_api="blas"):
        if tau > 0.0:
            return _penalised(problem, tau, solver, loss, goal, max_iter, start)
        exact = loss == "l2" and is_exact(problem)
        if solver == "forest" and not exact:
            raise ValueError(
                'solver="forest" needs the L2 loss and measured tables that form a '
                'forest joined in single columns; use solver="auto".'
            )
        if solver in ("auto", "forest") and exact:
            return _forest(problem)
        if solver == "auto" and loss == "l1":
            return _l1_path(problem, goal, max_iter or 2000)
        name = "accelerated" if solver == "auto" else solver
        return _first_order(problem, name, loss, goal, max_iter or 2000)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _penalised(
    problem: Problem,
    tau: float,
    solver: str,
    loss: str | LossFunction,
    goal: float,
    max_iter: int | None,
    start: Array | None,
) -> Found:
    name = "newton" if loss == "l2" else "lbfgs"
    if solver not in ("auto", name):
        raise ValueError(f"loss={loss!r} with tau > 0 needs solver={name!r}.")
    if name == "newton":
        found = solve_regularised_dual(
            problem, tau, gap_tol=goal, max_iter=max_iter or 50, start=start
        )
        value = problem.loss(found.marginals)
    else:
        found = solve_l1_dual(
            problem, tau, gap_tol=goal, max_iter=max_iter or 2000, start=start
        )
        value = L1Loss(problem).value_and_gradient(found.marginals)[0]
    return _dual_found(found, value, name)


def _dual_found(found: DualSolution, value: float, name: str) -> Found:
    return Found(
        found.potentials,
        found.marginals,
        value,
        found.objective,
        found.gap,
        name,
        found.dual,
    )


def _l1_path(problem: Problem, goal: float, max_iter: int) -> Found:
    """Let the penalty fade until it is worth less than half the goal."""
    layout, n = problem.layout, problem.total
    used = {name for clique in layout.cliques for name in clique}
    largest = n * sum(np.log(layout.domain.size(name)) for name in used)
    tau, last, start = 0.1 / float(np.median(problem.sigma)), goal / (2 * largest), None
    allowed = problem.oracle.n_calls + max_iter
    while True:
        tau, left = max(tau, last), allowed - problem.oracle.n_calls
        found = solve_l1_dual(
            problem, tau, gap_tol=goal / 2, max_iter=left, start=start
        )
        value = L1Loss(problem).value_and_gradient(found.marginals)[0]
        gap = value - (found.objective - found.gap - tau * largest)
        if gap <= goal or tau <= last or problem.oracle.n_calls >= allowed:
            return Found(found.potentials, found.marginals, value, value, gap, "lbfgs")
        tau, start = tau / 4.0, found.dual


def _forest(problem: Problem) -> Found:
    solution = solve_forest_program(problem)
    marginals, _ = problem.oracle(solution.potentials)
    value = problem.loss(marginals)
    gap = max(value - solution.bound, 0.0)
    return Found(solution.potentials, marginals, value, value, gap, "forest")


class _Stop:
    """Ends a search at the goal, or when it has almost stopped to move."""

    def __init__(self, goal: float, bound: float) -> None:
        self.goal, self.bound = goal, bound
        self.checked, self.then = 0, np.inf

    def __call__(self, value: float, gap: float, n_calls: int) -> bool:
        if min(gap, value - self.bound) <= self.goal:
            return True
        if n_calls < self.checked + 50:
            return False
        slow = self.then - value < 1e-5 * abs(value)
        self.checked, self.then = n_calls, value
        return slow


def _first_order(
    problem: Problem,
    name: str,
    loss: str | LossFunction,
    goal: float,
    max_iter: int,
) -> Found:
    theta, bound = problem.base, 0.0 if isinstance(loss, str) else -np.inf
    if loss == "l2" and measures_tables(problem):
        floor = 1e-6 * float(np.median(problem.sigma))
        relaxed = solve_forest_program(problem, floor)
        bound = relaxed.bound
        theta = relaxed.potentials if name == "accelerated" else theta
    final, stages = _losses(problem, loss)
    for stage in stages:
        stop = _Stop(goal, bound)
        found = _FIRST_ORDER[name](problem.oracle, stage, theta, stop, max_iter)
        theta = found.potentials
        bound = max(bound, found.loss - found.gap)
    potentials, marginals = _explicit(problem, found, final)
    value = final.value_and_gradient(marginals)[0]
    gap = max(value - bound, 0.0)
    return Found(potentials, marginals, value, value, gap, name)


def _losses(problem: Problem, loss: str | LossFunction) -> tuple[Loss, list[Loss]]:
    """Return the loss, and the smooth ones that lead to it."""
    if loss == "l2":
        return L2Loss(problem), [L2Loss(problem)]
    if loss == "l1":
        return L1Loss(problem), [HuberLoss(problem, width) for width in _HUBER_WIDTHS]
    assert not isinstance(loss, str)
    mu, _ = problem.oracle(problem.base)
    slope = CustomLoss(problem.layout, loss, 1.0).value_and_gradient(mu)[1]
    guess = float(np.abs(slope).max()) / problem.total
    custom = CustomLoss(problem.layout, loss, guess or 1.0)
    return custom, [custom]


def _explicit(problem: Problem, found: Iterate, loss: Loss) -> tuple[Array, Array]:
    """Return potentials with (nearly) the marginals that were found.

    On forests in closed form. Otherwise by maximum entropy: Newton on the distribution
    closest to the last iterate with these marginals, up to a small ridge; the last
    iterate itself if it is better.
    """
    if found.exact:
        return found.potentials, found.marginals
    layout = problem.layout
    if is_forest(layout):
        tables = {
            c: found.marginals[place].reshape(layout.domain.shape(c))
            for c, place in zip(layout.cliques, layout.slices(), strict=True)
        }
        singles = {c[0]: table for c, table in tables.items() if len(c) == 1}
        joint = {c: table for c, table in tables.items() if len(c) > 1}
        theta = product_potentials(layout, joint, singles)
        return theta, problem.oracle(theta)[0]
    last = (found.potentials, problem.oracle(found.potentials)[0])
    sigma = problem.total / 3000.0
    if len(problem.sigma):
        sigma = float(np.median(problem.sigma))
    target = _target(problem, found, sigma)
    closest = solve_regularised_dual(target, 0.3 / sigma, gap_tol=1e-3, max_iter=30)
    near = (closest.potentials, closest.marginals)
    values = [loss.value_and_gradient(mu)[0] for _, mu in (last, near)]
    return near if values[1] < values[0] else last


def _target(problem: Problem, found: Iterate, sigma: float) -> Problem:
    layout = problem.layout
    blocks = [
        Block(place, place, Identity(place.stop - place.start), (), None)
        for place in layout.slices()
    ]
    noise = np.full(layout.n_cells, sigma)
    return Problem(problem.oracle, blocks, found.marginals, noise, found.potentials)
