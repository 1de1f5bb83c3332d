"""Bayesian networks of noisy tables against the joint table, written out."""

import numpy as np
import pytest

from skdp.graphical import Domain
from skdp.graphical.bayesian_network import BayesianNetwork, conditional_table

DOMAIN = Domain(("a", "b", "c", "only", "d"), (2, 3, 2, 1, 2))
FAMILIES = [("c",), ("c", "a"), ("a", "c", "b"), ("d",)]


@pytest.fixture(scope="module")
def network():
    rng = np.random.default_rng(0)
    noisy = [rng.normal(2, 3, DOMAIN.shape(family)) for family in FAMILIES]
    return BayesianNetwork.from_noisy_tables(DOMAIN, FAMILIES, noisy)


def joint(network):
    """Multiply the conditional tables over all cells."""
    table = np.ones(DOMAIN.sizes)
    for cell in np.ndindex(*DOMAIN.sizes):
        for family, p in network.tables.items():
            table[cell] *= p[tuple(cell[DOMAIN.axis(name)] for name in family)]
    return table


def test_tables_are_conditional_distributions():
    noisy = np.array([[[-5.0, 15.0], [1.0, 3.0]], [[-1.0, 0.0], [-1.0, -2.0]]])
    found = conditional_table(noisy)
    assert np.array_equal(found, [[[0, 1], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]])
    assert noisy[0, 0, 0] == -5.0


def test_the_distribution_is_the_product(network):
    expected = joint(network)
    assert expected.sum() == pytest.approx(1)
    model = network.distribution(100)
    assert np.allclose(model.marginal(DOMAIN.names), 100 * expected)
    assert np.allclose(model.marginal(("b", "d")), 100 * expected.sum((0, 2, 3)))


def test_samples_follow_the_distribution(network):
    n = 40_000
    codes = network.sample(n, random_state=0)
    assert codes.shape == (n, 5)
    counts = np.zeros(DOMAIN.sizes)
    np.add.at(counts, tuple(codes.T), 1)
    expected = n * joint(network)
    assert (counts[expected == 0] == 0).all()
    cells = expected > 0
    assert (expected == 0).any()
    chi2 = ((counts - expected)[cells] ** 2 / expected[cells]).sum()
    assert chi2 < 60  # of at most 23 degrees of freedom
    assert np.array_equal(codes, network.sample(n, random_state=0))
    # Independent: sums of halves vary as sums of independent records do.
    halves = codes[: n // 2, 2].mean() - codes[n // 2 :, 2].mean()
    assert 0 < abs(halves) < 5 / np.sqrt(n)


def test_what_is_no_network_is_refused():
    table, pair = np.array([0.5, 0.5]), np.full((2, 2), 0.5)
    with pytest.raises(ValueError, match="come before"):
        BayesianNetwork(DOMAIN, {("a", "c"): pair, ("a",): table})
    with pytest.raises(ValueError, match="it once"):
        BayesianNetwork(DOMAIN, {("a",): table, ("c",): table, ("c", "a"): pair})
    with pytest.raises(ValueError, match="shape"):
        BayesianNetwork(DOMAIN, {("b",): table})
