"""Least squares without a model, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skdp.graphical import Domain, Identity, Kronecker, LinearMeasurement, prefix
from skdp.graphical.least_squares import solve_least_squares

DOMAIN = Domain(("a", "b", "c", "d"), (2, 3, 4, 2))
TOTAL = 100.0


def noisy(columns, sigma, query=None, seed=0):
    """Draw an answer; it need not be near any truth."""
    n = DOMAIN.n_cells(columns)
    n_answers = n if query is None else query.shape[0]
    answer = np.random.default_rng(seed).normal(TOTAL / n, 3 * sigma, n_answers)
    return LinearMeasurement(columns, answer, sigma, query)


def summing(columns):
    """The matrix that sums the table over all columns to some, in their order."""
    cells = np.eye(DOMAIN.n_cells(DOMAIN.names)).reshape(*DOMAIN.sizes, -1)
    others = tuple(i for i, n in enumerate(DOMAIN.names) if n not in columns)
    kept = [n for n in DOMAIN.names if n in columns]
    order = [kept.index(n) for n in columns]
    table = cells.sum(axis=others).transpose([*order, len(kept)])
    return table.reshape(-1, table.shape[-1])


def dense_solution(measurements):
    """Least squares over all cells with the total fixed; of least norm."""
    rows, right = [], []
    for m in measurements:
        query = m.linear(DOMAIN)
        matrix = np.array([query.dot(column) for column in summing(m.columns).T]).T
        rows.append(matrix / m.sigma)
        right.append(m.answer.ravel() / m.sigma)
    matrix, target = np.vstack(rows), np.concatenate(right)
    n = matrix.shape[1]
    centre = np.eye(n) - 1.0 / n
    uniform = np.full(n, TOTAL / n)
    found = np.linalg.lstsq(matrix @ centre, target - matrix @ uniform, rcond=1e-10)[0]
    return (uniform + centre @ found).reshape(DOMAIN.sizes)


def marginal(table, columns):
    return (summing(columns) @ table.ravel()).reshape(DOMAIN.shape(columns))


MARGINALS = [
    noisy(("b", "a"), 2.0, seed=1),
    noisy(("b", "c"), 1.0, seed=2),
    noisy(("c",), 0.5, seed=3),
    noisy(("a", "c"), 3.0, seed=4),
    noisy(("b", "c"), 4.0, seed=5),
]
QUERIES = [
    noisy(("c", "a"), 2.0, Kronecker([prefix(4), Identity(2)]), seed=6),
    noisy(("b",), 1.0, prefix(3), seed=7),
    noisy(("b", "c"), 1.5, seed=8),
]


def test_marginals_are_solved_as_over_all_cells():
    model = solve_least_squares(MARGINALS, DOMAIN, TOTAL)
    dense = dense_solution(MARGINALS)
    for columns in ("a", "b", "c", "ab", "ca", "cb"):
        columns = tuple(columns)
        assert_allclose(model.marginal(columns), marginal(dense, columns), atol=1e-8)
    with pytest.raises(ValueError, match="inference='graphical_model'"):
        model.marginal(("a", "b", "c"))


def test_queries_are_solved_over_all_cells():
    model = solve_least_squares(QUERIES, DOMAIN, TOTAL)
    dense = dense_solution(QUERIES)
    for columns in ("a", "ab", "abc", "ca", "cb"):
        columns = tuple(columns)
        assert_allclose(model.marginal(columns), marginal(dense, columns), atol=1e-6)


@pytest.mark.parametrize("measured", [MARGINALS[:1], QUERIES[:1], QUERIES[1:2]])
def test_a_single_measurement_is_solved_with_the_total(measured):
    model = solve_least_squares(measured, DOMAIN, TOTAL)
    columns = measured[0].columns
    dense = marginal(dense_solution(measured), columns)
    assert_allclose(model.marginal(columns), dense, atol=1e-8)
    assert model.marginal(()) == TOTAL


def test_a_matrix_for_several_columns_together():
    matrix = np.random.default_rng(0).random((9, 6))
    answer = matrix @ np.arange(6.0) + 1.0
    measured = [LinearMeasurement(("b", "a"), answer, 2.0, matrix)]
    model = solve_least_squares(measured, DOMAIN, TOTAL)
    dense = dense_solution(measured)
    assert_allclose(model.marginal(("a",)), marginal(dense, ("a",)), atol=1e-8)
    (estimate,) = model.estimates
    covariance = 4.0 * np.linalg.inv(matrix.T @ matrix).reshape(3, 2, 3, 2)
    summed = covariance.sum(axis=(0, 2))
    assert estimate.variance(("a",)) == pytest.approx(np.trace(summed) / 2)


def test_local_answers_are_weighted_by_their_variances():
    model = solve_least_squares(QUERIES, DOMAIN, TOTAL, max_full=10)
    assert len(model.estimates) == len(QUERIES)
    ones = [e for e in model.estimates if "c" in e.columns]
    # Sums of two cells with variance 4 (A'A)^-1, and of three with 2.25.
    inverse = np.linalg.inv(prefix(4).gram())
    variances = [4 * 2 * np.trace(inverse) / 4, 2.25 * 3]
    assert [e.variance(("c",)) for e in ones] == pytest.approx(variances)
    tables = [e.marginal(("c",)) for e in ones]
    mean = np.average(tables, axis=0, weights=1 / np.array(variances))
    assert_allclose(model.marginal("c"), mean)


def test_measurements_that_share_nothing_are_apart():
    apart = [noisy(("a",), 1.0), noisy(("b", "c"), 1.0), noisy(("c",), 1.0)]
    model = solve_least_squares(apart, DOMAIN, TOTAL)
    assert sorted(e.columns for e in model.estimates) == [("a",), ("b", "c")]
    with pytest.raises(ValueError, match="no measured table"):
        model.marginal(("a", "b"))


def test_queries_on_the_tables():
    model = solve_least_squares(QUERIES, DOMAIN, TOTAL)
    rows = np.array([[1.0, 1, 0, 0], [0, 0, 2, 0]])
    table = model.marginal(("c", "a"))
    found = model.query({"c": rows, "a": [1.0, -1.0]})
    assert_allclose(found, rows @ table @ [1.0, -1.0])
    assert model.query({"a": [1.0, 1.0]}) == pytest.approx(TOTAL)
    assert set(model.marginals([("a",), ("a", "b")])) == {("a",), ("a", "b")}


def test_what_needs_a_distribution_is_refused():
    model = solve_least_squares(QUERIES, DOMAIN, TOTAL)
    for ask in (
        lambda: model.sample(3),
        lambda: model.conditional(("a",), {"b": 0}),
        lambda: model.log_probability([[0, 0, 0, 0]]),
        lambda: model.entropy,
    ):
        with pytest.raises(ValueError, match="inference='graphical_model'"):
            ask()
    with pytest.raises(ValueError, match="no column"):
        model.marginal("nobody")


def test_queries_that_leave_cells_open_are_refused():
    with pytest.raises(ValueError, match="does not determine"):
        solve_least_squares([noisy(("b",), 1.0, prefix(3).row(1))], DOMAIN, TOTAL)
