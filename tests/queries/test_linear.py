"""Weighted sums of cells: when they may be added as integers."""

from __future__ import annotations

import numpy as np
import pytest

from skdp.exceptions import SchemaError
from skdp.graphical.linear_queries import Kronecker, Matrix
from skdp.privacy import Curator, PrivacyLedger
from skdp.queries import LinearMarginal, PublicFacts
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
