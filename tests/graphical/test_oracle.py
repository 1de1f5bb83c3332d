import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.graphical.domain import Domain
from skdp.graphical.oracle import MarginalOracle
from skdp.graphical.plan import make_layout, make_plan


def brute_force(layout, theta, total):
    """All marginals and log Z from the table over all columns of the cliques."""
    domain = layout.domain
    names = domain.sort(name for clique in layout.cliques for name in clique)
    log_p = np.zeros(domain.shape(names))
    for clique, place in zip(layout.cliques, layout.slices(), strict=True):
        table = theta[place].reshape(domain.shape(clique))
        log_p = log_p + domain.broadcast(table, clique, names)
    top = log_p.max()
    p = np.exp(log_p - top)
    log_z = top + np.log(p.sum())
    p *= total / p.sum()
    marginals = [
        p.sum(axis=tuple(i for i, a in enumerate(names) if a not in clique)).ravel()
        for clique in layout.cliques
    ]
    return np.concatenate(marginals), log_z


@st.composite
def models(draw):
    n = draw(st.integers(1, 7))
    sizes = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    domain = Domain(tuple(f"v{i}" for i in range(n)), tuple(sizes))
    clique = st.lists(
        st.sampled_from(domain.names), min_size=1, max_size=4, unique=True
    )
    cliques = draw(st.lists(clique.map(tuple), min_size=1, max_size=13))
    scale = draw(st.sampled_from([0.1, 1.0, 5.0, 20.0, 80.0]))
    zeros = draw(st.sampled_from([0.0, 0.05]))
    return domain, cliques, scale, zeros, draw(st.integers(0, 2**32 - 1))


@given(models())
@settings(max_examples=200, deadline=None)
def test_marginals_are_those_of_the_full_table(model):
    domain, cliques, scale, zeros, seed = model
    oracle = MarginalOracle(make_plan(domain, cliques), 100.0)
    rng = np.random.default_rng(seed)
    theta = scale * rng.normal(size=oracle.layout.n_cells)
    theta[rng.random(len(theta)) < zeros] = -np.inf
    with np.errstate(invalid="ignore", divide="ignore"):
        expected, log_z = brute_force(oracle.layout, theta, 100.0)
    if np.isnan(expected).any():
        with pytest.raises(ValueError, match="no record possible"):
            oracle(theta)
        return
    marginals, found = oracle(theta)
    assert found == pytest.approx(log_z, rel=1e-10, abs=1e-10)
    assert np.abs(marginals - expected).max() <= 1e-8
    assert (marginals[np.isneginf(theta)] == 0.0).all()


def test_many_tables_at_one_column():
    """More factors than splits are tried for."""
    names = tuple(f"v{i}" for i in range(13))
    domain = Domain(names, (3,) + (2,) * 12)
    cliques = [(names[0], name) for name in names[1:]] + [names[1:4]]
    oracle = MarginalOracle(make_plan(domain, cliques), 1.0)
    theta = np.random.default_rng(0).normal(size=oracle.layout.n_cells)
    expected, log_z = brute_force(oracle.layout, theta, 1.0)
    marginals, found = oracle(theta)
    assert np.abs(marginals - expected).max() < 1e-12
    assert found == pytest.approx(log_z)


def test_potentials_that_cancel_do_no_harm():
    """Overlapping tables with potentials of +-1000, as at tau = 0."""
    domain = Domain(("a", "b", "c"), (4, 4, 4))
    oracle = MarginalOracle(make_plan(domain, [("a", "b"), ("b", "c")]), 1.0)
    rng = np.random.default_rng(1)
    theta = rng.normal(size=32)
    expected, log_z = oracle(theta)
    shift = 1000.0 * rng.normal(size=4)
    moved = theta.reshape(2, 4, 4).copy()
    moved[0] += shift[None, :]
    moved[1] -= shift[:, None]
    marginals, found = oracle(moved.ravel())
    assert np.abs(marginals - expected).max() < 1e-10
    assert found == pytest.approx(log_z, abs=1e-9)


def test_the_layout_puts_maximal_cliques_first():
    domain = Domain(("a", "b", "c"), (2, 3, 4))
    layout = make_layout(domain, [("a",), ("b", "a"), ("c",), ("a", "b")])
    assert layout.cliques == (("a", "b"), ("c",), ("a",))
    assert layout.homes == (0, 1, 0)
    assert layout.offsets == (0, 6, 10, 12)
    assert layout.place(("b", "a")) == slice(0, 6)


def test_the_plan_never_stores_a_clique_of_the_junction_tree():
    """A grid: the tree has a clique of 10^5 cells, the tables stay at 10^4."""
    names = tuple("abcdef")
    domain = Domain(names, (10,) * 6)
    cycle = [(names[i], names[(i + 1) % 6]) for i in range(6)]
    plan = make_plan(domain, cycle)
    assert plan.work >= 4 * 1000
    assert plan.largest_table <= 100
