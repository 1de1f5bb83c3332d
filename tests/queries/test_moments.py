"""The sensitivities of moment queries, by exhaustive search over {-1, 0, 1}^d.

All answers but the scores and the eigenvalues are sums over the records, so that the
change is the difference of what two records contribute.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from math import inf, sqrt

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from skdp.privacy import Curator, PrivacyLedger
from skdp.queries import (
    FREE_WEIGHT,
    CrossMoments,
    Diagonal,
    Eigenvalues,
    MomentErrors,
    PublicFacts,
    SecondMoments,
    SquaredExcess,
    Sums,
    Trace,
)
from skdp.records import BoundedMatrix, Categorical, Numeric, RowGrid, Schema

METRICS = {1: "cityblock", 2: "euclidean", inf: "chebyshev"}


def columns(d):
    return Schema([Numeric(f"x{j}", -1, 1) for j in range(d)])


@cache
def one_record_each(d):
    """Return a matrix of one record for every vector of {-1, 0, 1}^d."""
    vectors = np.array(list(product((-1.0, 0.0, 1.0), repeat=d)))
    return [BoundedMatrix(columns(d), vector[None]) for vector in vectors]


def largest_changes(query, d):
    """Return the largest change of a sum over records, and the bound, in each norm."""
    public = PublicFacts(1, columns(d))
    answers = [np.ravel(query.evaluate(one)) for one in one_record_each(d)]
    answers = np.array(answers) * query.unit
    return {
        ord: (pdist(answers, metric).max(), query.sensitivity(public, ord))
        for ord, metric in METRICS.items()
    }


def assert_bounded(query, d):
    for found, bound in largest_changes(query, d).values():
        assert found <= bound * (1 + 1e-12)


DIMENSIONS = (1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_upper_triangle(d):
    found, bound = largest_changes(SecondMoments(), d)[2]
    assert bound == d
    assert found <= d
    if d % 2 == 0 or d == 1:
        assert found == pytest.approx(d)  # not sqrt(2) d, and not less
    assert_bounded(SecondMoments(), d)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_free_diagonal_of_the_upper_triangle(d):
    query = SecondMoments(free_diagonal=True)
    weight = query.diagonal_weight(PublicFacts(1, columns(d)))
    assert sqrt((d + 1) / 2) - 1 / 64 < weight <= sqrt((d + 1) / 2)
    assert query.sensitivity(PublicFacts(1, columns(d)), 2) == d
    assert_bounded(query, d)
    if d > 1:  # a little more would be too much
        assert largest_changes(query, d)[2][0] > 0.98 * d


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("radius", [0.3, 1.0, 1.2, 1.5, 2.0, 9.0])
def test_rows_in_a_ball(d, radius):
    rows = RowGrid(radius=radius)
    for free in (False, True):
        assert_bounded(SecondMoments(free_diagonal=free, rows=rows), d)
    for kind in (Diagonal, Sums, Trace):
        assert_bounded(kind(rows=rows), d)
    squares = min(d, radius**2)
    bound = min(d, sqrt(squares**2 + squares * min(1, squares)))
    claimed = SecondMoments(rows=rows).sensitivity(PublicFacts(1, columns(d)), 2)
    assert claimed <= bound * (1 + 1e-15)


def test_a_bound_on_the_norm_alone():
    # Coordinates within +-r, rows in the ball of radius r: the unit ball of the cube.
    query = SecondMoments(rows=RowGrid(radius=1.0))
    found, bound = largest_changes(query, 4)[2]
    assert bound == pytest.approx(sqrt(2))
    assert found == pytest.approx(bound)


@pytest.mark.parametrize("d", (2, 3, 4, 5, 6))
def test_chosen_entries(d):
    above = list(combinations(range(d), 2))
    for k in (1, 2, len(above)):
        found, bound = largest_changes(CrossMoments(above[:k]), d)[2]
        assert found <= bound == pytest.approx(min(2 * sqrt(k), d))
        assert_bounded(CrossMoments(above[:k]), d)
    everything = [*above, *((j, j) for j in range(d))]
    assert_bounded(CrossMoments(everything), d)
    found, bound = largest_changes(CrossMoments([(0, 0)]), d)[2]
    assert found == bound == 1
    found, bound = largest_changes(CrossMoments([(0, 1)]), d)[2]
    assert found == bound == 2


@pytest.mark.parametrize("d", (2, 3, 4, 5, 6))
def test_an_entry_brings_its_diagonals_for_free(d):
    above = list(combinations(range(d), 2))
    for k in (1, 2, 5, len(above)):
        query = CrossMoments(above[:k], with_diagonals=True)
        assert query.sensitivity(PublicFacts(1, columns(d)), 2) == 2 * sqrt(
            len(above[:k])
        )
        assert_bounded(query, d)
    assert FREE_WEIGHT <= sqrt(1.5)
    found, _ = largest_changes(CrossMoments([(0, 1)], with_diagonals=True), d)[2]
    assert found == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_diagonal_sums_and_trace(d):
    for query, norms in (
        (Diagonal(), {1: d, 2: sqrt(d), inf: 1}),
        (Sums(), {1: 2 * d, 2: 2 * sqrt(d), inf: 2}),
        (Trace(), {1: d, 2: d, inf: d}),
        (SquaredExcess(0.5), {1: d - 0.5}),
    ):
        changes = largest_changes(query, d)
        for ord, value in norms.items():
            found, bound = changes[ord]
            assert found == pytest.approx(value)
            assert found <= bound == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("c", [0.1, 0.5, 1.0])
def test_clipped_products(d, c):
    clip = np.full((d, d), c)
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    assert_bounded(CrossMoments(pairs, clip=clip), d)
    found, bound = largest_changes(CrossMoments(pairs[:1], clip=clip), d)[2]
    assert found == bound == 1


def test_clipped_products_have_no_diagonals_for_free():
    t = 0.02
    contributions = [
        np.array([np.clip(x * y, -t, t) / t, sqrt(1.5) * x * x, sqrt(1.5) * y * y])
        for x, y in ((1, -t), (t, 1))
    ]
    change = np.linalg.norm(contributions[0] - contributions[1])
    assert change == pytest.approx(sqrt(7), rel=1e-3)
    with pytest.raises(ValueError, match="diagonals for free"):
        CrossMoments([(0, 1)], clip=np.full((2, 2), t), with_diagonals=True)


def test_clipped_columns_have_them_again():
    # The same two records, their coordinates clipped instead of their product.
    rows = RowGrid(limits=[sqrt(0.02)] * 2)
    query = CrossMoments([(0, 1)], with_diagonals=True, rows=rows)
    answers = [
        query.evaluate(BoundedMatrix(columns(2), np.array([record])))
        for record in ([1.0, -0.02], [0.02, 1.0])
    ]
    assert np.linalg.norm((answers[1] - answers[0]) * query.unit) <= 2


@pytest.mark.parametrize("d", (1, 2, 3, 5))
def test_eigenvalues_of_neighbours(d):
    rng = np.random.default_rng(d)
    query, public = Eigenvalues(), PublicFacts(4, columns(d))
    for _ in range(200):
        common = rng.choice([-1.0, 0.0, 1.0], (3, d)) * (rng.random() < 0.7)
        left, right = (
            query.evaluate(
                BoundedMatrix(columns(d), np.vstack([common, rng.choice([-1, 1], d)]))
            )
            for _ in range(2)
        )
        for ord in METRICS:
            change = np.linalg.norm(left - right, ord)
            assert change <= query.sensitivity(public, ord) + 1e-12


def test_scores_are_distances_from_the_estimate():
    X = np.array([[1.0, 0.5, -1.0], [1.0, -0.5, 0.25]])
    records = BoundedMatrix(columns(3), X)
    estimate = np.array([[9.0, 0.5, 0.0], [0.5, 9.0, -0.25], [0.0, -0.25, 9.0]])
    query = MomentErrors(estimate)
    scores = query.evaluate(records) * query.unit
    S = X.T @ X
    expected = [abs(S[i, j] - 2 * estimate[i, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_array_equal(scores, expected)


def test_answers_are_the_sums():
    X = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    records, public = BoundedMatrix(columns(3), X), PublicFacts(40, columns(3))
    for free in (False, True):
        query = SecondMoments(free_diagonal=free)
        matrix = query.to_matrix(query.evaluate(records) * query.unit, public)
        np.testing.assert_allclose(matrix, X.T @ X, atol=1e-3)
    answer = CrossMoments([(0, 2)], with_diagonals=True).evaluate(records)
    answer = answer * CrossMoments([(0, 2)], with_diagonals=True).unit
    S = X.T @ X
    expected = [S[0, 2], FREE_WEIGHT * S[0, 0], FREE_WEIGHT * S[2, 2]]
    np.testing.assert_allclose(answer[0], expected, atol=1e-3)
    clip = np.full((3, 3), 0.25)
    query = CrossMoments([(0, 1)], clip=clip)
    clipped = np.clip(X[:, 0] * X[:, 1], -0.25, 0.25).sum() / 0.25
    np.testing.assert_allclose(query.evaluate(records) * query.unit, clipped, atol=1e-3)
    query = Sums()
    np.testing.assert_allclose(
        query.evaluate(records) * query.unit, X.sum(axis=0), atol=1e-3
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: CrossMoments([]),
        lambda: CrossMoments([(0, 1), (0, 1)]),
        lambda: CrossMoments([(1, 0)]),
        lambda: CrossMoments([(0, 0)], with_diagonals=True),
        lambda: CrossMoments([(0, 1)], clip=np.array([[1, 0.5], [0.4, 1]])),
        lambda: CrossMoments([(0, 1)], clip=np.zeros((2, 2))),
        lambda: MomentErrors(np.full((2, 2), np.nan)),
    ],
)
def test_queries_that_make_no_sense_are_refused(make):
    with pytest.raises(ValueError):
        make()


@pytest.mark.parametrize(
    ("query", "schema", "n", "error"),
    [
        (CrossMoments([(0, 5)]), columns(3), 9, ValueError),
        (CrossMoments([(0, 1)], clip=np.ones((2, 2))), columns(3), 9, ValueError),
        (MomentErrors(np.eye(2)), columns(3), 9, ValueError),
        (MomentErrors(np.eye(1)), columns(1), 9, ValueError),
        (Trace(), columns(3), 10**9, ValueError),
        (Trace(rows=RowGrid(limits=[1.0])), columns(3), 9, ValueError),
        (Trace(), Schema([Categorical("a", ("x",))]), 9, TypeError),
    ],
)
def test_a_curator_refuses_them_before_anything_is_spent(query, schema, n, error):
    class Untouchable:
        n_records = n

    records = Untouchable()
    records.schema = schema
    curator = Curator(records, PrivacyLedger(1.0, 1e-6))
    with pytest.raises(error):
        curator.gaussian(query, rho=0.01)
    assert len(curator.ledger) == 0


def test_every_mechanism_answers_in_units_of_one_not_of_a_step():
    X = np.full((9, 2), 0.5)
    records = BoundedMatrix(columns(2), X)
    curator = Curator(records, PrivacyLedger(1e6, 0.5, failure=0.4), random_state=0)
    query, truth = Trace(), 4.5
    assert curator.laplace(query, epsilon=1e3) == pytest.approx(truth, abs=0.1)
    assert curator.gaussian(query, rho=1e3) == pytest.approx(truth, abs=0.5)
    sieve = curator.sparse_vector(rounds=2, epsilon=1e3)
    assert not sieve.ask(query, truth - 1)
    assert sieve.ask(query, truth + 1)
    examined = curator.sieve_and_examine(
        rounds=1, sieve_epsilon=1e3, examine_epsilon=1e3
    )
    assert not examined.ask(query, truth - 1, tweak=-1.0)
    assert examined.ask(query, truth + 1, tweak=1.0)
    tests = curator.gaussian_tests(n_tests=2, epsilon=1e3, delta=0.1)
    assert not tests.ask(query, truth - 1)
    assert tests.ask(query, truth + 1)
    noisy = curator.median(query, n_blocks=3, low=0, high=9, epsilon=1e3, delta=0.1)
    assert noisy == pytest.approx(1.5, abs=0.1)


@pytest.mark.parametrize("query", [Trace(), SquaredExcess(0.5)])
def test_sums_of_squared_norms_that_could_overflow_are_refused(query):
    schema = columns(8192)
    query.check(PublicFacts(2**17 - 1, schema))
    with pytest.raises(ValueError, match="squared norms could overflow"):
        query.check(PublicFacts(2**17, schema))
