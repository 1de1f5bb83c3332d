"""From the averages of a solver back to potentials, and what bounds the loss."""

import numpy as np
import pytest

from skdp.graphical import Domain, LinearMeasurement, forest_program
from skdp.graphical.first_order import Iterate
from skdp.graphical.forest_program import is_exact, solve_forest_program
from skdp.graphical.losses import L2Loss
from skdp.graphical.problem import make_problem
from skdp.graphical.recovery import explicit_potentials

DOMAIN = Domain(("a", "b", "c"), (3, 4, 2))
N = 200.0


def problem_of(cliques):
    rng = np.random.default_rng(3)
    measurements = []
    for clique in cliques:
        shape = DOMAIN.shape(clique)
        exact = N * rng.dirichlet(np.full(np.prod(shape), 0.5)).reshape(shape)
        noisy = exact + 5 * rng.normal(size=shape)
        measurements.append(LinearMeasurement(clique, noisy, 5.0))
    return make_problem(DOMAIN, measurements, N, base="uniform", max_model_size=1e9)


@pytest.mark.parametrize(
    "cliques",
    [[("a", "b"), ("b", "c")], [("a", "b"), ("b", "c"), ("a", "c"), ("b",)]],
    ids=["forest", "loop"],
)
def test_potentials_have_the_averaged_marginals(cliques):
    problem = problem_of(cliques)
    rng = np.random.default_rng(0)
    thetas = rng.normal(size=(2, len(problem.base)))
    average = np.mean([problem.oracle(theta)[0] for theta in thetas], axis=0)
    problem.answers = problem.dot(average)  # so that the average has loss 0
    found = Iterate(average, thetas[0], 0.0, np.inf, False)
    theta, mu = explicit_potentials(problem, found, L2Loss(problem), goal=1e-4)
    assert np.allclose(problem.oracle(theta)[0], mu)
    assert np.abs(mu - average).max() < 0.05
    assert np.abs(problem.oracle(thetas[0])[0] - average).max() > 1.0


@pytest.mark.parametrize("faint", [1e-6, 1e-3, 0.1])
def test_the_bound_does_not_lean_on_columns_without_answer(monkeypatch, faint):
    """No one-way answers: the bound is that of the program without faint weights."""
    problem = problem_of([("a", "b"), ("b", "c")])
    assert is_exact(problem)
    exact = solve_forest_program(problem)
    optimum = problem.loss(problem.oracle(exact.potentials)[0])
    monkeypatch.setattr(forest_program, "_FAINT", faint)
    bound = solve_forest_program(problem).bound
    assert bound <= optimum * (1 + 1e-9)
    assert bound >= optimum * (1 - 20 * faint) - 1e-6
