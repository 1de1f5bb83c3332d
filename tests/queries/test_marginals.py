"""Contingency tables as queries."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest

from skdp.queries import Marginal, PublicFacts
from skdp.records import CountTable, Ordinal, Schema

SCHEMA = Schema([Ordinal("a", range(2)), Ordinal("b", range(3)), Ordinal("c", [1])])
PUBLIC = PublicFacts(50, SCHEMA)
CODES = np.random.default_rng(0).integers(0, SCHEMA.shape, size=(50, 3))


@pytest.mark.parametrize("names", [(), ("a",), ("b", "a"), ("c", "a", "b")])
def test_a_marginal_counts_records(names):
    query = Marginal(names)
    answer = query.evaluate(CountTable.from_codes(CODES, SCHEMA))
    expected = np.zeros(query.shape(PUBLIC), dtype=np.int64)
    for row in CODES[:, ["abc".index(name) for name in names]]:
        expected[tuple(row)] += 1
    np.testing.assert_array_equal(answer, expected)
    assert answer.dtype == np.int64


def test_a_single_name_is_a_marginal_of_one_column():
    assert Marginal("a") == Marginal(("a",)) == Marginal(["a"])
    assert Marginal("a").columns == ("a",)


def test_a_replaced_record_changes_two_cells():
    query = Marginal(("a", "b"))
    found = [query.sensitivity(PUBLIC, ord) for ord in (1, 2, inf)]
    assert found == [2, sqrt(2), 1]
    assert query.n_affected(PUBLIC) == 2
    assert query.evaluation_error(PUBLIC) == 0
    assert query.integral


@pytest.mark.parametrize("names", [(), ("c",)])
def test_a_table_of_one_cell_is_public(names):
    assert [Marginal(names).sensitivity(PUBLIC, ord) for ord in (1, 2, inf)] == [0] * 3


def test_a_column_named_twice_is_refused():
    with pytest.raises(ValueError, match="names a column twice"):
        Marginal(("a", "b", "a"))
