"""Potentials for marginals that an averaging solver found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.first_order import Iterate
from skdp.graphical.forest_program import is_forest
from skdp.graphical.linear_queries import Identity
from skdp.graphical.losses import Loss
from skdp.graphical.problem import Block, Problem
from skdp.graphical.products import product_potentials
from skdp.graphical.regularised_dual import solve_regularised_dual

__all__ = ["explicit_potentials", "polish"]

Array = NDArray[np.float64]

#: Most steps towards the marginals; one is enough unless the goal is tight.
_MAX_STEPS = 12
#: Strength of the pull to the last step, in 1/sigma.
_PULL = 0.3


def explicit_potentials(
    problem: Problem, found: Iterate, loss: Loss, goal: float
) -> tuple[Array, Array]:
    """Return potentials with (nearly) the marginals that were found.

    On forests in closed form. Otherwise of maximum entropy: each step is the
    distribution that trades distance from the marginals for divergence from the last
    step, the first being the last iterate of the solver.

    Parameters
    ----------
    problem : Problem
        Answers and queries.
    found : Iterate
        Marginals, and potentials close by.
    loss : Loss
        By which steps are compared.
    goal : float
        The loss may rise by a tenth of it.

    Returns
    -------
    tuple of (ndarray, ndarray)
        Potentials and their marginals, of the best step.
    """
    if found.exact:
        return found.potentials, found.marginals
    if is_forest(problem.layout):
        return _forest_potentials(problem, found)
    theta, mu = found.potentials, problem.oracle(found.potentials)[0]
    value = loss.value_and_gradient(mu)[0]
    sigma = problem.total / 3000.0
    if len(problem.sigma):
        sigma = float(np.median(problem.sigma))
    tolerance = min(1e-3, goal / 100.0)
    for _ in range(_MAX_STEPS):
        if value <= found.loss + goal / 10.0:
            break
        target = _target(problem, found.marginals, theta, sigma)
        closer = solve_regularised_dual(target, _PULL / sigma, gap_tol=tolerance)
        reached = loss.value_and_gradient(closer.marginals)[0]
        if reached >= value:
            break
        theta, mu, value = closer.potentials, closer.marginals, reached
    return theta, mu


def polish(
    problem: Problem, theta: Array, mu: Array, bound: float, goal: float
) -> tuple[Array, Array]:
    """Lower the L2 loss by penalised steps, each from where the last one ended.

    Parameters
    ----------
    problem : Problem
        Answers and queries.
    theta, mu : ndarray of shape (n_cells,)
        Potentials and their marginals.
    bound : float
        No distribution has a smaller loss.
    goal : float
        Stop when the loss is at most this far above the bound.

    Returns
    -------
    tuple of (ndarray, ndarray)
        Potentials and marginals that are no worse.
    """
    value = problem.loss(mu)
    pull = _PULL / float(np.median(problem.sigma))
    for _ in range(_MAX_STEPS):
        if value - bound <= goal:
            break
        step = solve_regularised_dual(
            problem.rebased(theta), pull, gap_tol=goal / 10.0, max_iter=20
        )
        reached = problem.loss(step.marginals)
        if reached > value - max(0.01 * goal, 1e-9 * value):
            break
        theta, mu, value = step.potentials, step.marginals, reached
    return theta, mu


def _forest_potentials(problem: Problem, found: Iterate) -> tuple[Array, Array]:
    layout = problem.layout
    tables = {
        clique: found.marginals[place].reshape(layout.domain.shape(clique))
        for clique, place in zip(layout.cliques, layout.slices(), strict=True)
    }
    singles = {clique[0]: table for clique, table in tables.items() if len(clique) == 1}
    joint = {clique: table for clique, table in tables.items() if len(clique) > 1}
    theta = product_potentials(layout, joint, singles)
    return theta, problem.oracle(theta)[0]


def _target(problem: Problem, marginals: Array, theta: Array, sigma: float) -> Problem:
    blocks = [
        Block(place, place, Identity(place.stop - place.start), (), None)
        for place in problem.layout.slices()
    ]
    noise = np.full(problem.layout.n_cells, sigma)
    return Problem(problem.oracle, blocks, marginals, noise, theta)
