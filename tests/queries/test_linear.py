"""Weighted sums of cells: when they may be added as integers."""

from __future__ import annotations

import numpy as np
import pytest

from skdp.exceptions import ModelTooLargeError, SchemaError
from skdp.graphical import Identity, Kronecker, Matrix
from skdp.privacy import Curator, PrivacyLedger
from skdp.queries import LinearMarginal, Marginal, PublicFacts
from skdp.records import CountTable, Ordinal, Schema

SCHEMA = Schema([Ordinal(name, (0, 1)) for name in "abc"])
N = 4096


def product(m):
    """Weigh the records with three ones by the cube of m; a second answer is 0."""
    row = Matrix([[0, m]])
    factors = [Matrix([[0, m], [0, 0]]), row, row]
    return LinearMarginal(("a", "b", "c"), Kronecker(factors))


def test_integral_weights_are_bounded_over_all_factors():
    assert product(2.0**10).integral
    assert not product(2.0**11).integral
    assert not product(2.0**17).integral


def test_a_zero_factor_hides_no_large_partial_sum():
    factors = [Matrix([[0, 2.0**40]]), Matrix([[0, 0]])]
    assert not LinearMarginal(("a", "b"), Kronecker(factors)).integral


@pytest.mark.parametrize("m", [2.0**6, 2.0**17])
def test_large_weights_do_not_overflow(m):
    records = CountTable.from_codes(np.ones((N, 3), dtype=int), SCHEMA)
    query = product(m)
    np.testing.assert_array_equal(query.evaluate(records), [N * m**3, 0])
    curator = Curator(records, PrivacyLedger(1.0, 0.0), 0)
    assert curator.exponential(query, epsilon=1.0) == 0


def test_sums_that_are_not_exact_are_refused():
    query = product(2.0**6)
    query.check(PublicFacts(2**34, SCHEMA))
    with pytest.raises(SchemaError, match="not exact"):
        query.check(PublicFacts(2**35, SCHEMA))


@pytest.mark.parametrize(
    "weights",
    [
        [[0.0, 3e307]],
        [[0.0, 1.5e-162]],
        Kronecker([[[-1.5e308, 1e155]], [[-9.3e-239, 0.0]]]),
    ],
)
def test_weights_whose_sums_or_squares_leave_the_range_of_floats(weights):
    names = ("a", "b") if isinstance(weights, Kronecker) else "a"
    curator = Curator(
        CountTable.from_codes(np.ones((9, 3), dtype=int), SCHEMA), PrivacyLedger(1.0), 0
    )
    with pytest.raises(SchemaError, match="Scale it"):
        curator.laplace(LinearMarginal(names, weights), epsilon=1.0)
    assert len(curator.ledger) == 0


def test_other_classes_of_queries_are_refused():
    class Loud(Identity):
        def dot(self, cells):
            return 1000 * cells

    nested = Kronecker([Kronecker([np.eye(2), np.eye(2)]), np.eye(2)])
    for query in (Loud(2), nested):
        with pytest.raises(TypeError, match="matrix"):
            LinearMarginal(("a", "b"), query)


def test_tables_too_large_to_be_counted_are_refused_before_they_cost_anything():
    schema = Schema([Ordinal(name, range(700)) for name in "abc"])
    records = CountTable.from_codes(np.zeros((2, 3), dtype=int), schema)
    curator = Curator(records, PrivacyLedger(1.0), 0)
    row = Kronecker([np.ones((1, 700))] * 2 + [np.eye(700)[:1]])
    for query in (Marginal(tuple("abc")), LinearMarginal(tuple("abc"), row)):
        with pytest.raises(ModelTooLargeError, match="343000000|3.43e"):
            curator.laplace(query, epsilon=1.0)
    assert len(curator.ledger) == 0
