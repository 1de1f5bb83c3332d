"""Which solver is run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from skdp.graphical.first_order import accelerated, dual_averaging, mirror_descent
from skdp.graphical.forest_program import (
    is_exact,
    measures_tables,
    solve_forest_program,
)
from skdp.graphical.l1_dual import solve_l1, solve_l1_dual
from skdp.graphical.losses import (
    CustomLoss,
    HuberLoss,
    L1Loss,
    L2Loss,
    Loss,
    LossFunction,
)
from skdp.graphical.penalised_first_order import penalised
from skdp.graphical.problem import Problem
from skdp.graphical.recovery import explicit_potentials, polish
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
            return _forest(problem, goal)
        if solver == "auto" and loss == "l1":
            found = solve_l1(problem, gap_tol=goal, max_iter=max_iter or 2000)
            return _dual_found(found, found.objective, "lbfgs")
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
    if not isinstance(loss, str):
        return _penalised_custom(problem, tau, solver, loss, goal, max_iter or 2000)
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


def _penalised_custom(
    problem: Problem,
    tau: float,
    solver: str,
    loss: LossFunction,
    goal: float,
    max_iter: int,
) -> Found:
    if solver not in ("auto", "accelerated"):
        raise ValueError(f"A custom loss with tau > 0 cannot use solver={solver!r}.")
    custom, _ = _losses(problem, loss)
    found, objective = penalised(
        problem.oracle, custom, problem.base, tau, goal, max_iter
    )
    return Found(
        found.potentials,
        found.marginals,
        found.loss,
        objective,
        found.gap,
        "accelerated",
    )


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


def _forest(problem: Problem, goal: float) -> Found:
    solution = solve_forest_program(problem)
    potentials, bound = solution.potentials, solution.bound
    marginals, _ = problem.oracle(potentials)
    # Only where the precisions are so unequal that the program stops early.
    potentials, marginals = polish(problem, potentials, marginals, bound, goal)
    value = problem.loss(marginals)
    return Found(potentials, marginals, value, value, max(value - bound, 0.0), "forest")


class _Stop:
    """Ends a search at the goal, or when twice the calls bring hardly anything."""

    def __init__(self, goal: float, bound: float) -> None:
        self.goal, self.bound = goal, bound
        self.next_check, self.then = 50, np.inf

    def __call__(self, value: float, gap: float, n_calls: int) -> bool:
        if min(gap, value - self.bound) <= self.goal:
            return True
        if n_calls < self.next_check:
            return False
        slow = self.then - value < max(0.1 * self.goal, 1e-9 * abs(value))
        self.next_check, self.then = 2 * n_calls, value
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
    potentials, marginals = explicit_potentials(problem, found, final, goal)
    if loss == "l2" and name == "accelerated":
        potentials, marginals = polish(problem, potentials, marginals, bound, goal)
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
