"""Multiplicative weights against a literal reading, and what they converge to."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.literal import multiplicative_weights

from skdp.exceptions import ModelTooLargeError
from skdp.graphical import Domain, Kronecker, LinearMeasurement, estimate, prefix
from skdp.graphical.multiplicative_weights import MultiplicativeWeights

DOMAIN = Domain(("a", "b", "c", "d"), (2, 3, 4, 2))
RECORDS = list(product(*map(range, DOMAIN.sizes)))


def row(columns, levels):
    """Ask how many records have levels at or below these."""
    sizes = DOMAIN.shape(columns)
    pairs = zip(sizes, levels, strict=True)
    return Kronecker([prefix(size).row(level) for size, level in pairs])


def literally(measurement):
    """Return a measurement as (function of a record, answer) pairs, one per update."""
    axes = [DOMAIN.axis(name) for name in measurement.columns]
    query = measurement.linear(DOMAIN)
    n_cells = query.shape[1]
    rows = np.array([query.dot(np.eye(n_cells)[j]) for j in range(n_cells)]).T
    sizes = DOMAIN.shape(measurement.columns)

    def of_record(weights):
        return lambda x: weights[
            np.ravel_multi_index(tuple(x[axis] for axis in axes), sizes)
        ]

    return [
        (of_record(weights), answer)
        for weights, answer in zip(rows, measurement.answer.ravel(), strict=True)
    ]


MEASUREMENTS = [
    LinearMeasurement(("b", "a"), [31.0], 1.0, row(("b", "a"), (1, 0))),
    LinearMeasurement(("c",), [20.5, 3.25, 60.0, 14.0], 1.0),
    LinearMeasurement(("c", "b"), [44.0], 1.0, row(("c", "b"), (2, 1))),
    LinearMeasurement(("d", "a"), [[-3.0, 50.0], [12.0, 30.0]], 1.0),
    LinearMeasurement(("b", "a"), [31.0], 1.0, row(("b", "a"), (1, 0))),
]


@pytest.mark.parametrize("n_measured", range(1, len(MEASUREMENTS) + 1))
def test_updates_are_those_of_a_literal_reading(n_measured):
    measured = MEASUREMENTS[:n_measured]
    expected = multiplicative_weights(RECORDS, map(literally, measured), 100)
    weights = MultiplicativeWeights(DOMAIN, 100.0).absorb(measured)
    found = weights.model().marginal(DOMAIN.names) / 100
    expected = np.reshape([expected[x] for x in RECORDS], DOMAIN.sizes)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)
    direct = weights.marginal(("d", "b", "a")) / 100
    np.testing.assert_allclose(
        direct, expected.sum(axis=2).transpose(2, 1, 0), rtol=1e-12
    )


def test_groups_are_joined_by_what_is_measured():
    weights = MultiplicativeWeights(DOMAIN, 100.0)
    assert weights.group(("c", "a")) == ("a", "c")
    weights = weights.absorb(MEASUREMENTS[:2])
    assert set(weights.tables) == {("a", "b"), ("c",)}
    assert weights.group(("c", "b")) == ("a", "b", "c")
    assert weights.group(("d",)) == ("d",)
    weights = weights.absorb(MEASUREMENTS[2:3])
    assert set(weights.tables) == {("a", "b", "c")}
    assert set(weights.model().potentials) == {("a", "b", "c")}


def test_factored_and_full_tables_are_the_same_distribution():
    measured = [MEASUREMENTS[0], MEASUREMENTS[1]]
    uniform = np.full(DOMAIN.sizes, 1 / DOMAIN.n_cells(DOMAIN.names))
    full = MultiplicativeWeights(DOMAIN, 100.0, tables={DOMAIN.names: uniform})
    factored = MultiplicativeWeights(DOMAIN, 100.0)
    tables = [w.absorb(measured).marginal(DOMAIN.names) for w in (full, factored)]
    np.testing.assert_allclose(*tables, rtol=1e-12)


def test_many_passes_reach_the_distribution_of_largest_entropy():
    truth = np.random.default_rng(0).dirichlet(np.ones(48)).reshape(DOMAIN.sizes)
    exact = MultiplicativeWeights(DOMAIN, 100.0, tables={DOMAIN.names: truth})
    measured = []
    for m in MEASUREMENTS[:4]:
        counts = exact.marginal(m.columns).ravel()
        answer = m.linear(DOMAIN).dot(counts).reshape(m.answer.shape)
        measured.append(LinearMeasurement(m.columns, answer, 1.0, m.query))
    weights = MultiplicativeWeights(DOMAIN, 100.0).absorb(1000 * measured)
    model = estimate(measured, DOMAIN, 100, tau=1e-3, base="uniform", gap_tol=1e-6)
    np.testing.assert_allclose(
        weights.marginal(DOMAIN.names), model.marginal(DOMAIN.names), atol=0.02
    )


def test_wild_answers_and_large_weights_leave_a_distribution():
    wild = LinearMeasurement(("a",), [1e9, -1e9], 1.0)
    large = LinearMeasurement(("b",), [[30_000.0]], 1.0, [[1000.0, -500.0, 0.0]])
    weights = MultiplicativeWeights(DOMAIN, 100.0).absorb([wild, wild, wild, large])
    assert weights.marginal(("a",)) == pytest.approx([100, 0], abs=1e-9)
    assert np.isfinite(weights.model().marginal(DOMAIN.names)).all()
    weights = weights.absorb(2000 * [large])
    assert np.dot([1000, -500, 0], weights.marginal(("b",))) == pytest.approx(30_000)


def test_too_large_a_group_is_refused_before_it_is_made():
    domain = Domain(tuple("abcdef"), (100,) * 6)
    weights = MultiplicativeWeights(domain, 100.0)
    with pytest.raises(ModelTooLargeError, match="'a', 'b', 'c', 'd', 'e'"):
        weights.absorb([LinearMeasurement(tuple("abcde"), [3.0], 1.0, FirstCell(5))])


class FirstCell(Kronecker):
    """The first cell of a table of columns with 100 levels."""

    def __init__(self, n_columns):
        super().__init__(n_columns * (np.eye(1, 100),))
