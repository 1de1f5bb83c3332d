"""Tables of all pairs at once, against counting one record after the other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from skdp.records import CountTable, Ordinal, Schema
from skdp.records.pairwise import pairwise_counts


def schema_of(*sizes):
    columns = zip("abcdefgh", sizes, strict=False)
    return Schema([Ordinal(name, range(size)) for name, size in columns])


def by_loops(codes, sizes, places):
    starts = np.cumsum([0, *(sizes[p] for p in places)])
    counts = np.zeros((starts[-1], starts[-1]), dtype=np.int64)
    for record in codes:
        at = [starts[i] + record[p] for i, p in enumerate(places)]
        for i, j in product(at, at):
            counts[i, j] += 1
    return counts


@pytest.mark.parametrize("names", ["abcd", "dba", "c", "ac"])
def test_every_block_is_a_contingency_table(names):
    sizes = (2, 1, 4, 3)
    codes = np.random.default_rng(0).integers(0, sizes, (300, 4))
    records = CountTable.from_codes(codes, schema_of(*sizes))
    places = ["abcd".index(name) for name in names]
    found = pairwise_counts(records, tuple(names))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, by_loops(codes, sizes, places))


def test_more_distinct_rows_than_a_block():
    sizes = (9, 9, 9, 9, 9)
    codes = np.random.default_rng(1).integers(0, sizes, (10_000, 5))
    records = CountTable.from_codes(codes, schema_of(*sizes))
    assert len(records.counts) > 2 * 4096
    found = pairwise_counts(records, "abcde")
    for i, j in ((0, 1), (1, 0), (2, 4), (3, 3)):
        block = found[9 * i : 9 * i + 9, 9 * j : 9 * j + 9]
        expected = np.zeros((9, 9), dtype=np.int64)
        np.add.at(expected, (codes[:, i], codes[:, j]), 1)
        np.testing.assert_array_equal(block, expected)


def test_many_equal_records_are_counted_exactly():
    counts = np.array([2**50 + 1, 3])
    rows = np.array([[0, 1], [1, 1]])
    found = pairwise_counts(CountTable(schema_of(2, 2), rows, counts), "ab")
    np.testing.assert_array_equal(found[:2, 2:], [[0, 2**50 + 1], [0, 3]])


def test_no_distinct_rows():
    records = CountTable(schema_of(2, 3), np.zeros((0, 2), int), np.zeros(0, int))
    np.testing.assert_array_equal(pairwise_counts(records, "ab"), np.zeros((5, 5)))
