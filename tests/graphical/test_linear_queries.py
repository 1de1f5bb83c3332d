import numpy as np
import pytest
import scipy.sparse as sp

from skdp.exceptions import ModelTooLargeError
from skdp.graphical import Identity, Kronecker, Matrix, prefix, ranges, weighted
from skdp.graphical.linear_queries import as_linear_query

QUERIES = {
    "identity": Identity(4),
    "prefix": prefix(4),
    "all ranges": ranges(4),
    "some ranges": ranges(4, [(0, 2), (1, 1)]),
    "weighted": weighted(prefix(4), [1.0, 2.0, -3.0, 0.5]),
    "weighted identity": weighted(Identity(4), 2.0),
    "weighted sparse": weighted(ranges(4), np.arange(10.0)),
    "dense": Matrix([[1.0, -2.0, 0.0, 3.0]]),
    "sparse": Matrix(sp.csr_array(np.eye(4)[:2])),
    "Kronecker": Kronecker([prefix(2), Identity(1), [[1.0, 1.0], [0.0, 1.0], [1, 0]]]),
}


def dense(query):
    return np.array([query.dot(unit) for unit in np.eye(query.shape[1])]).T


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_all_that_is_known_of_a_query_follows_from_its_matrix(query):
    matrix, rng = dense(query), np.random.default_rng(0)
    cells, answers = rng.normal(size=query.shape[1]), rng.normal(size=query.shape[0])
    assert matrix.shape == query.shape
    assert np.allclose(query.dot(cells), matrix @ cells)
    assert np.allclose(query.adjoint(answers), matrix.T @ answers)
    assert np.allclose(query.squared_dot(cells), matrix**2 @ cells)
    assert query.column_norm(1) == pytest.approx(np.abs(matrix).sum(axis=0).max())
    assert query.column_norm(2) == pytest.approx(np.linalg.norm(matrix, axis=0).max())
    values = np.linalg.svd(matrix, compute_uv=False)
    kept = values[values > 1e-9]
    assert query.noise_gain() == pytest.approx(np.sqrt(np.mean(kept**-2.0)))
    assert np.allclose(query.gram(), matrix.T @ matrix)
    for index in (0, query.shape[0] - 1, -1):
        assert np.allclose(dense(query.row(index)), matrix[index])
    with pytest.raises(IndexError):
        query.row(query.shape[0])
    solution = query.least_squares(answers)
    if np.linalg.matrix_rank(matrix) == query.shape[1]:
        assert np.allclose(solution, np.linalg.lstsq(matrix, answers)[0])
    else:
        assert solution is None


def test_kronecker_is_the_kronecker_product():
    factors = [prefix(3), ranges(2), [[2.0, 1.0]]]
    parts = [dense(as_linear_query(factor)) for factor in factors]
    expected = np.kron(np.kron(parts[0], parts[1]), parts[2])
    assert np.allclose(dense(Kronecker(factors)), expected)


def test_ranges_count_what_lies_between():
    counts = np.array([1.0, 2.0, 4.0])
    assert ranges(3).dot(counts).tolist() == [1, 3, 7, 2, 6, 4]


def test_a_large_matrix_is_not_decomposed():
    wide = Matrix(sp.eye_array(3000))
    assert wide.least_squares(np.ones(3000)) is None
    assert wide.noise_gain() == 1.0


def test_bad_queries_are_refused():
    with pytest.raises(ValueError, match="two-dimensional"):
        Matrix([1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        Matrix([[np.inf]])
    with pytest.raises(ValueError, match="does not lie"):
        ranges(3, [(1, 3)])
    with pytest.raises(ValueError, match="Kronecker"):
        weighted(Kronecker([prefix(2)]), 1.0)


def repeated():
    """A row of twenty ones in one cell, as CSR may have it."""
    parts = (np.ones(20), np.zeros(20, dtype=int), [0, 20])
    return sp.csr_array(parts, shape=(1, 4))


@pytest.mark.parametrize("build", [repeated, lambda: repeated().tocsc()])
def test_repeated_entries_are_added_up(build):
    matrix = build()
    matrix.has_canonical_format = True  # a claim that is not believed
    query = Matrix(matrix)
    assert dense(query).tolist() == [[20, 0, 0, 0]]
    assert query.matrix.data.tolist() == [20.0]
    assert query.row(0).matrix.data.tolist() == [20.0]


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_a_query_is_a_copy_that_cannot_be_changed(form):
    given = form(np.eye(3))
    query = Matrix(given)
    given *= 100
    assert np.array_equal(dense(query), np.eye(3))
    values = query.matrix.data if sp.issparse(query.matrix) else query.matrix
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 7.0


def test_indices_outside_of_a_matrix_are_refused():
    outside = sp.csr_array(([1.0], [3], [0, 1]), shape=(1, 4))
    outside.indices[0] = 5
    with pytest.raises(ValueError, match="indices"):
        Matrix(outside)


def test_too_many_ranges_are_refused_before_they_are_listed():
    with pytest.raises(ModelTooLargeError, match="intervals="):
        ranges(5000)
