"""A custom loss with a penalty: the certificate, and Newton's solution of the same."""

from __future__ import annotations

import numpy as np
import pytest

from skdp.graphical import Domain, LinearMeasurement, fit_potentials

DOMAIN = Domain(tuple("abcd"), (3, 4, 2, 3))
CLIQUES = [("a", "b"), ("b", "c"), ("a", "c"), ("d",)]  # a loop, and a lone column
SIGMA, N = 4.0, 300.0


def measurements():
    rng = np.random.default_rng(0)
    table = N * rng.dirichlet(np.full(72, 0.3)).reshape(DOMAIN.sizes)
    found = []
    for clique in CLIQUES:
        others = tuple(i for i, name in enumerate(DOMAIN.names) if name not in clique)
        counts = table.sum(axis=others)
        noisy = counts + SIGMA * rng.normal(size=counts.shape)
        found.append(LinearMeasurement(clique, noisy, SIGMA))
    return found


def squared(tables):
    residuals = {m.columns: tables[m.columns] - m.answer for m in measurements()}
    value = sum((r**2).sum() for r in residuals.values()) / (2 * SIGMA**2)
    return value, {clique: r / SIGMA**2 for clique, r in residuals.items()}


def fitted(tau, **options):
    return fit_potentials(
        [], DOMAIN, N, loss=squared, cliques=CLIQUES, tau=tau, **options
    )


@pytest.mark.parametrize("tau", [0.003, 0.25, 30.0])
def test_the_minimum_is_that_of_newton(tau):
    exact = fit_potentials(
        measurements(), DOMAIN, N, tau=tau, base="uniform", gap_tol=1e-9
    )
    found = fitted(tau, gap_tol=1e-5)
    assert found.solver == "accelerated"
    assert found.tau == tau
    assert 0 <= found.gap <= 0.5e-5
    assert found.objective == pytest.approx(exact.objective, abs=1e-5)
    assert found.objective >= exact.objective - 1e-7
    for clique in CLIQUES:
        np.testing.assert_allclose(
            found.marginals[clique], exact.marginals[clique], atol=0.05
        )
        np.testing.assert_allclose(
            found.model().marginal(clique), found.marginals[clique], atol=1e-8
        )


def test_the_gap_is_certified_at_every_tolerance():
    best = fitted(0.05, gap_tol=1e-8).objective
    for gap_tol in (100.0, 1.0, 1e-2, 1e-4):
        found = fitted(0.05, gap_tol=gap_tol)
        assert found.objective - best <= found.gap <= gap_tol / 2


def test_structural_zeros_stay_zero():
    impossible = np.zeros((3, 4), dtype=bool)
    impossible[0, 1] = impossible[2, 3] = True
    found = fitted(0.1, structural_zeros={("a", "b"): impossible})
    assert (found.marginals["a", "b"][impossible] == 0).all()
    assert found.gap < 1e-3


def test_what_cannot_penalise_a_custom_loss_is_refused():
    for solver in ("newton", "lbfgs", "mirror_descent", "dual_averaging", "forest"):
        with pytest.raises(ValueError, match="tau|custom loss"):
            fitted(0.1, solver=solver)
    with pytest.raises(ValueError, match="needs tau=0"):
        fit_potentials(measurements(), DOMAIN, N, tau=0.1, solver="accelerated")
