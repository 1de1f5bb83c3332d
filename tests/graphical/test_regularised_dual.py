import numpy as np
import pytest

from skdp.graphical import Domain, Identity, Kronecker, LinearMeasurement, prefix
from skdp.graphical.problem import make_problem
from skdp.graphical.regularised_dual import solve_regularised_dual

DOMAIN = Domain(("a", "b", "c"), (2, 3, 4))
N, TAU = 150.0, 0.07


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    measurements = [
        LinearMeasurement(("a",), 75 + 9 * rng.normal(size=2), 9.0),
        LinearMeasurement(("b", "a"), 25 + 5 * rng.normal(size=(3, 2)), 5.0),
        LinearMeasurement(
            ("b", "c"),
            50 * rng.random(12),
            3.0,
            Kronecker([Identity(3), prefix(4)]),
        ),
    ]
    return make_problem(DOMAIN, measurements, N, max_model_size=1e9)


def table(problem, theta):
    """The distribution over all columns, in counts, and log Z."""
    logs = np.zeros(DOMAIN.sizes)
    layout = problem.layout
    for clique, place in zip(layout.cliques, layout.slices(), strict=True):
        part = theta[place].reshape(DOMAIN.shape(clique))
        logs = logs + DOMAIN.broadcast(part, clique, DOMAIN.names)
    weights = np.exp(logs)
    return N * weights / weights.sum(), np.log(weights.sum())


@pytest.mark.parametrize("max_iter", [1, 2, 50])
def test_the_gap_is_primal_minus_dual_by_brute_force(problem, max_iter):
    found = solve_regularised_dual(problem, TAU, gap_tol=1e-8, max_iter=max_iter)
    p, log_z = table(problem, found.potentials)
    base, base_log_z = table(problem, problem.base)
    divergence = float(np.sum(p * np.log(p / base)))
    primal = problem.loss(found.marginals) + TAU * divergence
    d = found.dual
    dual = -TAU * (
        N * (log_z - base_log_z)
        - problem.answers @ d
        + TAU / 2 * np.sum(problem.sigma**2 * d**2)
    )
    assert found.objective == pytest.approx(primal, rel=1e-10)
    assert found.gap == pytest.approx(primal - dual, rel=1e-6, abs=1e-9 * primal)


def test_multipliers_are_scaled_residuals_at_the_optimum(problem):
    found = solve_regularised_dual(problem, TAU, gap_tol=1e-10)
    residual = problem.answers - problem.dot(found.marginals)
    assert np.allclose(found.dual, residual / (TAU * problem.sigma**2), atol=1e-4)
