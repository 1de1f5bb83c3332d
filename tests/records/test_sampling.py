"""Blocks of records: each record in one, and in any with equal chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from skdp.records import Categorical, CountTable, Schema

SCHEMA = Schema([Categorical("a", (0, 1, 2)), Categorical("b", (0, 1))])


def some_records(n: int) -> CountTable:
    rng = np.random.default_rng(0)
    return CountTable.from_codes(rng.integers(0, (3, 2), (n, 2)), SCHEMA)


@pytest.mark.parametrize(("n", "n_blocks"), [(1, 1), (7, 7), (100, 7), (90, 9)])
def test_every_record_is_in_one_block(n, n_blocks) -> None:
    records = some_records(n)
    blocks = records.partition(n_blocks, np.random.default_rng(1))
    sizes = [block.n_records for block in blocks]
    assert len(blocks) == n_blocks
    assert max(sizes) - min(sizes) <= 1
    together = sum(block.marginal(("a", "b")) for block in blocks)
    assert np.array_equal(together, records.marginal(("a", "b")))


def test_every_block_is_as_likely() -> None:
    codes = np.array([[2, 1]] + [[0, 0]] * 8)
    records = CountTable.from_codes(codes, SCHEMA)
    rng = np.random.default_rng(2)
    where = [
        [block.marginal(("a",))[2] for block in records.partition(3, rng)].index(1)
        for _ in range(3000)
    ]
    assert chisquare(np.bincount(where)).pvalue > 1e-3


@pytest.mark.parametrize("n_blocks", [0, -1, 11])
def test_refuses_other_numbers_of_blocks(n_blocks) -> None:
    with pytest.raises(ValueError, match="n_blocks"):
        some_records(10).partition(n_blocks, np.random.default_rng(0))


def test_refuses_more_records_than_can_be_sampled() -> None:
    many = CountTable(SCHEMA, np.zeros((1, 2), np.int64), np.array([2 * 10**9]))
    for draw in (many.subsample, many.partition):
        with pytest.raises(ValueError, match="1000000000 records"):
            draw(3, np.random.default_rng(0))
