"""Single queries, and the likelihood of drawing them, against literal readings."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import check_grad
from scipy.special import logsumexp

import skdp.graphical.draw_likelihood as module
from skdp.graphical import Domain, Identity, Kronecker, Matrix, fit_potentials, prefix
from skdp.graphical.draw_likelihood import DrawLikelihood
from skdp.graphical.single_queries import SingleQueries, row_ranges, row_scales

DOMAIN = Domain(tuple("abcd"), (2, 3, 4, 2))
RECORDS = np.array(list(product(*map(range, DOMAIN.sizes))))
N, ETA = 50.0, 0.7
CLIQUES = [("b", "a"), ("c", "d", "a"), ("d", "b"), ("a", "b"), ("c",)]
SORTED = list(dict.fromkeys(map(DOMAIN.sort, CLIQUES)))


@pytest.fixture
def queries():
    rng = np.random.default_rng(0)
    signed = np.vstack([rng.normal(size=(4, 6)), np.ones((1, 6))])
    linear = [
        Kronecker([prefix(3), Identity(2)]),
        Identity(16),
        Matrix(signed),
        Kronecker([rng.normal(size=(2, 2)), sp.csr_array(np.tri(3))]),
        Matrix(sp.csr_array([[0, 0, 3.0, 0], [0, 1, 1, 0]])),
    ]
    return SingleQueries(DOMAIN, CLIQUES, linear, [1.0, 0.5, 1.0, 0.2, 1.0])


def dense(query):
    """Apply a query to every cell."""
    return np.array([query.dot(cell) for cell in np.eye(query.shape[1])]).T


def literal_values(queries):
    """Read every row at every record: shape (n_records, n_queries), not scaled."""
    blocks = []
    for clique, query in zip(queries.cliques, queries.queries, strict=True):
        codes = [RECORDS[:, DOMAIN.axis(name)] for name in clique]
        cells = np.ravel_multi_index(codes, DOMAIN.shape(clique))
        blocks.append(dense(query)[:, cells].T)
    return np.hstack(blocks)


def tables_of(p):
    """Sum a distribution over all records to the cliques."""
    table, axes = p.reshape(DOMAIN.sizes), range(4)
    return {
        clique: table.sum(tuple(i for i in axes if DOMAIN.names[i] not in clique))
        for clique in SORTED
    }


def test_single_queries_are_the_rows(queries):
    values = literal_values(queries)
    assert values.shape == (len(RECORDS), len(queries))
    for record, expected in zip(RECORDS, values, strict=True):
        np.testing.assert_allclose(queries.of_record(record), expected, atol=1e-15)
    p = np.random.default_rng(1).dirichlet(np.ones(len(RECORDS)))
    np.testing.assert_allclose(queries.of_tables(tables_of(p)), p @ values)
    d = np.random.default_rng(2).normal(size=len(queries))
    adjoint = queries.adjoint(d)
    assert sum((adjoint[c] * t).sum() for c, t in tables_of(p).items()) == (
        pytest.approx(d @ (p @ values))
    )


def test_scales_bring_every_range_to_its_weight(queries):
    values = literal_values(queries)
    weights = np.concatenate(queries.split(np.zeros(len(queries)))) + np.repeat(
        queries.weights, [q.shape[0] for q in queries.queries]
    )
    spread = np.ptp(values, axis=0)
    scaled = queries.scales * spread
    np.testing.assert_allclose(scaled[spread > 0], weights[spread > 0], rtol=1e-10)
    assert (scaled <= weights).all()
    assert (queries.scales[spread == 0] == 0).all()
    assert (spread == 0).sum() == 1
    for query in queries.queries:
        low, high = row_ranges(query)
        np.testing.assert_allclose(low, dense(query).min(axis=1))
        np.testing.assert_allclose(high, dense(query).max(axis=1))
    assert row_scales(Identity(1)).tolist() == [0.0]
    assert row_scales(Identity(2)).tolist() == [1.0, 1.0]


def test_terms_are_the_rows(queries):
    values = literal_values(queries)
    for number in range(len(queries)):
        term = queries.term(number, -2.0)
        levels = {name: np.arange(DOMAIN.size(name)) for name in DOMAIN.names}
        table = term.at(levels)
        codes = tuple(RECORDS[:, DOMAIN.axis(name)] for name in term.columns)
        expected = -2.0 * queries.scales[number] * values[:, number]
        np.testing.assert_allclose(table[codes], expected, atol=1e-14)


def example(queries, n_rounds=6, n_draws=4, eta=ETA):
    rng = np.random.default_rng(3)
    draws = [rng.integers(0, 2 * len(queries), n_draws) for _ in range(n_rounds)]
    records = RECORDS[rng.integers(0, len(RECORDS), n_rounds)]
    return draws, records, DrawLikelihood(queries, N, eta, draws, records)


def test_its_memory_does_not_grow_with_the_rounds(monkeypatch):
    m, peaks = 2**13, []
    monkeypatch.setattr(module, "_BLOCK", m)
    monkeypatch.setattr(module, "_MAX_KEPT", 0)
    columns = Domain(("a", "b"), (2**7, 2**6))
    queries = SingleQueries(columns, [("a", "b")], [Identity(m)], [1.0])
    for n_rounds in (50, 100):
        draws, records = np.zeros((2, n_rounds, 2), dtype=np.intp)
        tracemalloc.start()
        DrawLikelihood(queries, N, ETA, list(draws), list(records))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] < 20 * 8 * m


def literal_loss(queries, p, draws, records, eta=ETA):
    """Add up -log Q^t of what was drawn, round by round."""
    values = literal_values(queries) * queries.scales
    at = {tuple(record): v for record, v in zip(RECORDS, values, strict=True)}
    loss = 0.0
    for t, drawn in enumerate(draws):
        ahead = sum((p @ values - at[tuple(r)] for r in records[:t]), 0 * values[0])
        exponents = eta * np.concatenate([ahead, -ahead])
        loss -= (exponents[drawn] - logsumexp(exponents)).sum()
    return loss


@pytest.mark.parametrize("eta", [ETA, 2000.0])
@pytest.mark.parametrize("block", [None, 1, 70])
def test_the_loss_is_the_literal_one(queries, eta, block, monkeypatch):
    if block:  # recomputed block by block, and not kept
        monkeypatch.setattr(module, "_BLOCK", block)
        monkeypatch.setattr(module, "_MAX_KEPT", 0)
    draws, records, loss = example(queries, eta=eta)
    for seed in range(3):
        p = np.random.default_rng(seed).dirichlet(np.ones(len(RECORDS)))
        expected = literal_loss(queries, p, draws, records, eta)
        assert loss(tables_of(N * p))[0] == pytest.approx(expected, rel=1e-12)


def test_the_gradient_is_that_of_finite_differences(queries):
    _, _, loss = example(queries)
    p = N * np.random.default_rng(0).dirichlet(np.ones(len(RECORDS)))
    tables = tables_of(p)
    shapes = {clique: table.shape for clique, table in tables.items()}

    def unravel(flat):
        ends = np.cumsum([np.prod(s) for s in shapes.values()])[:-1]
        parts = np.split(flat, ends)
        pairs = zip(shapes.items(), parts, strict=True)
        return {clique: part.reshape(shape) for (clique, shape), part in pairs}

    def ravel(parts):
        return np.concatenate([parts[clique].ravel() for clique in shapes])

    def value(flat):
        return loss(unravel(flat))[0]

    def gradient(flat):
        return ravel(loss(unravel(flat))[1])

    at = ravel(tables)
    size = np.linalg.norm(gradient(at))
    assert check_grad(value, gradient, at, epsilon=1e-5) < 1e-5 * size
    wrong = check_grad(value, lambda flat: 1.01 * gradient(flat), at, epsilon=1e-5)
    assert wrong > 5e-3 * size


def test_the_loss_is_convex(queries):
    _, _, loss = example(queries)
    rng = np.random.default_rng(5)
    for _ in range(20):
        p, q = N * rng.dirichlet(np.full(len(RECORDS), 0.1), size=2)
        middle = loss(tables_of((p + q) / 2))[0]
        ends = loss(tables_of(p))[0], loss(tables_of(q))[0]
        assert middle <= np.mean(ends) + 1e-9


def truth():
    p = np.random.default_rng(7).dirichlet(np.full(len(RECORDS), 0.3))
    return p


def drawn_from_the_truth(queries, p, n_rounds, n_draws, eta):
    rng = np.random.default_rng(8)
    values = literal_values(queries) * queries.scales
    records = RECORDS[rng.choice(len(RECORDS), n_rounds, p=p)]
    draws, ahead = [], 0 * values[0]
    for record in records:
        exponents = eta * np.concatenate([ahead, -ahead])
        law = np.exp(exponents - exponents.max())
        draws.append(rng.choice(len(law), n_draws, p=law / law.sum()))
        ahead = ahead + p @ values - queries.of_record(record) * queries.scales
    return draws, records


def test_many_draws_recover_the_truth(queries):
    p = truth()
    errors = []
    for n_draws in (100, 30_000):
        draws, records = drawn_from_the_truth(queries, p, 12, n_draws, 1.0)
        loss = DrawLikelihood(queries, N, 1.0, draws, records)
        options = {"tau": 1 / loss.sigma, "gap_tol": 1e-3 * n_draws}
        fit = fit_potentials([], DOMAIN, N, loss=loss, cliques=SORTED, **options)
        answers = queries.of_tables(fit.marginals) / N
        off = queries.scales * (answers - p @ literal_values(queries))
        errors.append(np.abs(off).mean())
    assert errors[1] < 0.004
    assert errors[1] < errors[0] / 5


def test_the_noise_of_a_count_is_that_of_the_gaussian_mechanism(queries):
    draws, records = drawn_from_the_truth(queries, truth(), 5, 3, 0.2)
    loss = DrawLikelihood(queries, N, 0.2, draws, records)
    rho = sum(3 * (2 * 0.2 * k / N) ** 2 / 8 for k in range(5))
    assert loss.sigma == pytest.approx(np.sqrt(len(queries) / (2 * rho)))
