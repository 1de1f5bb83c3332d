"""The completion against a generic solver, closed forms and its own certificate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from skdp.covariance import maximum_entropy_completion
from skdp.covariance.dual import Dual
from skdp.covariance.newton import minimise


def symmetric(rng, d, scale=1.0):
    noise = scale * rng.standard_normal((d, d))
    return np.triu(noise) + np.triu(noise, 1).T


def a_problem(d, n_pairs, noise, seed=0):
    """AR(1) of which the diagonal and some near entries were measured with noise."""
    rng = np.random.default_rng(seed)
    truth = 0.7 ** np.abs(np.subtract.outer(range(d), range(d)))
    i, j = np.triu_indices(d, 1)
    near = np.argsort(j - i + 3 * rng.random(len(i)))[:n_pairs]
    mask = np.eye(d, dtype=bool)
    mask[i[near], j[near]] = mask[j[near], i[near]] = True
    variances = noise**2 * np.exp(symmetric(rng, d, 0.5))
    values = truth + symmetric(rng, d) * np.sqrt(variances)
    return values, variances, mask


def primal(sigma, values, variances, mask, weight):
    upper = np.triu(mask)
    misfit = ((sigma - values) ** 2 / (2 * variances))[upper].sum()
    return misfit - weight * np.linalg.slogdet(sigma)[1]


def solve_primal(values, variances, mask, weight):
    """Minimise over a Cholesky factor with a generic quasi-Newton method."""
    d = len(values)
    lower = np.tril_indices(d)
    upper = np.triu(mask)

    def both(x):
        factor = np.zeros((d, d))
        factor[lower] = x
        sigma = factor @ factor.T
        pull = np.where(upper, (sigma - values) / variances, 0)
        gradient = (pull + pull.T) @ factor
        logs = np.log(np.abs(np.diag(factor)))
        gradient[np.diag_indices(d)] -= 2 * weight / np.diag(factor)
        misfit = (pull * (sigma - values)).sum() / 2
        return misfit - 2 * weight * logs.sum(), gradient[lower]

    start = np.diag(np.sqrt(np.maximum(np.diag(values), 0.1)))[lower]
    for _ in range(2):  # afresh, to be sure
        start = minimize(both, start, jac=True, method="BFGS", tol=1e-8).x
    factor = np.zeros((d, d))
    factor[lower] = start
    return factor @ factor.T


@pytest.mark.parametrize(("noise", "weight"), [(0.05, 1.0), (0.3, 1.0), (0.3, 0.02)])
def test_agrees_with_a_generic_solver_of_the_primal(noise, weight):
    problem = a_problem(8, 12, noise)
    found = maximum_entropy_completion(*problem, regularization=weight)
    best = primal(solve_primal(*problem, weight), *problem, weight)
    assert found.objective == pytest.approx(
        primal(found.covariance, *problem, weight), rel=1e-12
    )
    assert found.objective <= best + 1e-10 * abs(best)
    assert found.objective == pytest.approx(best, rel=1e-10)


@pytest.mark.parametrize("d", [1, 2, 8, 40])
@pytest.mark.parametrize("noise", [1e-4, 0.03, 1.0, 30.0])
def test_satisfies_the_stationarity_it_certifies(d, noise):
    values, variances, mask = a_problem(d, 3 * d, noise)
    found = maximum_entropy_completion(values, variances, mask)
    precision = found.precision.toarray()
    assert np.array_equal(precision != 0, mask)
    assert np.array_equal(precision, precision.T)
    assert np.array_equal(found.covariance, found.covariance.T)
    assert np.linalg.eigvalsh(found.covariance)[0] > 0
    assert np.allclose(found.covariance @ precision, np.eye(d), atol=1e-9)
    assert found.converged
    weights = 2 - np.eye(d)
    spread = np.sqrt(np.maximum(np.diag(values), np.sqrt(np.diag(variances)) / 2))
    slack = found.covariance - values - variances * weights * precision
    violation = np.abs(slack / np.outer(spread, spread))[mask].max()
    assert violation <= 1e-8
    assert found.kkt_residual == pytest.approx(violation, abs=1e-10)


def closed_form(truth, cliques):
    """Precision of a chain of cliques: those of cliques less those of separators."""
    precision = np.zeros_like(truth)
    for clique, before in zip(cliques, [(), *cliques], strict=False):
        separator = sorted(set(clique) & set(before))
        for block, sign in ((list(clique), 1), (separator, -1)):
            if block:
                at = np.ix_(block, block)
                precision[at] += sign * np.linalg.inv(truth[at])
    return precision


CHAINS = {
    "tree": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)],
    "triangles": [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6)],
    "blocks": [(0, 1, 2), (3, 4), (5, 6)],
    "cliques": [(0, 1, 2, 3), (2, 3, 4), (4, 5, 6)],
    "whole": [(0, 1, 2, 3, 4, 5, 6)],
}


@pytest.mark.parametrize("chain", CHAINS)
def test_becomes_the_closed_form_of_decomposable_models(chain):
    rng = np.random.default_rng(3)
    sample = rng.standard_normal((30, 7)) @ rng.standard_normal((7, 7))
    truth = sample.T @ sample / 30 + np.eye(7)
    mask = np.eye(7, dtype=bool)
    for clique in CHAINS[chain]:
        mask[np.ix_(clique, clique)] = True
    expected = closed_form(truth, CHAINS[chain])
    gaps = []
    for variance in (1e-4, 1e-6, 1e-8, 0.0):
        found = maximum_entropy_completion(truth, variance, mask)
        gaps.append(np.abs(found.precision.toarray() - expected).max())
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2]
    assert gaps[3] <= 1e-6 * np.abs(expected).max()
    assert np.allclose(found.covariance[mask], truth[mask], rtol=1e-7)


def test_a_diagonal_alone_has_a_closed_form():
    values = np.diag([2.0, 0.0, -3.0, 1e-3])
    variances = np.array([0.1, 0.2, 0.5, 1e-9])
    found = maximum_entropy_completion(
        values, np.diag(variances), np.eye(4, dtype=bool), regularization=0.7
    )
    y = np.diag(values)
    expected = (y + np.sqrt(y**2 + 4 * 0.7 * variances)) / 2
    assert np.allclose(found.covariance, np.diag(expected), rtol=1e-12)
    assert found.n_iterations <= 1
    assert found.precision.nnz == 4


def test_measurements_without_any_completion_still_have_a_solution():
    # Correlations of 1, 1 and -1: no positive semi-definite matrix comes near.
    values = np.array([[1.0, 1.0, -1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
    found = maximum_entropy_completion(values, 1e-4)
    assert found.converged
    assert np.linalg.eigvalsh(found.covariance)[0] > 0
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        assert not maximum_entropy_completion(values, 0.0).converged


def test_does_not_depend_on_the_units_of_the_features():
    values, variances, mask = a_problem(9, 15, 0.1)
    found = maximum_entropy_completion(values, variances, mask)
    units = np.logspace(-4, 4, 9)
    outer = np.outer(units, units)
    scaled = maximum_entropy_completion(values * outer, variances * outer**2, mask)
    assert np.allclose(scaled.covariance / outer, found.covariance, rtol=1e-7)


def test_what_was_not_measured_is_not_read():
    values, variances, mask = a_problem(9, 12, 0.1)
    found = maximum_entropy_completion(values, variances, mask)
    values[~mask] = variances[~mask] = np.nan
    blind = maximum_entropy_completion(values, variances, mask)
    assert np.array_equal(blind.covariance, found.covariance)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_warm_start_saves_steps_and_changes_nothing(sparse):
    values, variances, mask = a_problem(30, 60, 0.02)
    fewer = mask.copy()
    fewer[0, 1:] = fewer[1:, 0] = False
    before = maximum_entropy_completion(values, variances, fewer)
    start = before.precision if sparse else before.precision.toarray()
    cold = maximum_entropy_completion(values, variances, mask)
    warm = maximum_entropy_completion(values, variances, mask, initial=start)
    assert np.allclose(warm.covariance, cold.covariance, atol=1e-8)
    assert warm.n_iterations < cold.n_iterations
    again = maximum_entropy_completion(values, variances, mask, initial=cold.precision)
    assert again.n_iterations == 0
    bad = maximum_entropy_completion(values, variances, mask, initial=-np.eye(30))
    assert np.array_equal(bad.covariance, cold.covariance)


def test_derivatives_of_the_dual():
    values, variances, mask = a_problem(6, 7, 0.3)
    rows, columns = np.nonzero(np.triu(mask))
    order = np.argsort(rows != columns, kind="stable")
    rows, columns = rows[order], columns[order]
    dual = Dual(rows, columns, values[rows, columns], variances[rows, columns])
    rng = np.random.default_rng(0)
    x = dual.diagonal_solution() * (1 + 0.1 * rng.random(len(rows)))
    direction, step = rng.standard_normal(len(rows)), 1e-5
    here, up, down = (dual.at(x + s * step * direction) for s in (0, 1, -1))
    slope = (dual.objective(up) - dual.objective(down)) / (2 * step)
    assert slope == pytest.approx((dual.weights * here.slack) @ direction, rel=1e-8)
    change = dual.weights * (up.slack - down.slack) / (2 * step)
    assert np.allclose(dual.curvature(here, direction), change, rtol=1e-6)
    diagonal = [dual.curvature(here, e)[i] for i, e in enumerate(np.eye(len(rows)))]
    assert np.allclose(dual.curvature_diagonal(here), diagonal)
    point, n_steps = minimise(dual, None, 1e-12, 50)
    assert point.residual <= 1e-12 and n_steps <= 12


def test_limits_on_steps_are_kept_and_told():
    problem = a_problem(12, 30, 0.02)
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        found = maximum_entropy_completion(*problem, max_iter=2)
    assert not found.converged and found.n_iterations == 2
    assert np.linalg.eigvalsh(found.covariance)[0] > 0


BAD = {
    "square": ((np.ones((2, 3)), 1.0), {}),
    "mask has shape": ((np.eye(2), 1.0, np.eye(3)), {}),
    "variances must be a number": ((np.eye(2), np.ones(5)), {}),
    "mask must be symmetric": ((np.eye(2), 1.0, [[1, 1], [0, 1]]), {}),
    "diagonal entry 1": ((np.eye(2), 1.0, [[1, 0], [0, 0]]), {}),
    "values must be finite": (([[1, np.nan], [np.nan, 1]], 1.0), {}),
    "variances must be finite": ((np.eye(2), np.inf), {}),
    "values must be symmetric": (([[1, 0.1], [0.2, 1]], 1.0), {}),
    "must not be negative": ((np.eye(2), -1.0), {}),
    "known exactly": ((np.zeros((2, 2)), 0.0), {}),
    "regularization must be > 0": ((np.eye(2), 1.0), {"regularization": 0.0}),
}


@pytest.mark.parametrize("words", BAD)
def test_refusals(words):
    arguments, options = BAD[words]
    with pytest.raises(ValueError, match=words):
        maximum_entropy_completion(*arguments, **options)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.3, 0.03, 0.0005])
def test_five_hundred_features_and_three_thousand_entries(noise):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = maximum_entropy_completion(*a_problem(500, 3000, noise))
    assert found.kkt_residual <= 1e-8
    assert isinstance(found.precision, csr_array)
    assert found.precision.nnz == 500 + 2 * 3000
