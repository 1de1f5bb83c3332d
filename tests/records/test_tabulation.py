"""Tables served from wider passes equal those counted one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import skdp.records.tabulation as module
from skdp.records.tabulation import Tabulator

SHAPE = (2, 3, 1, 4, 2, 5, 3)


def brute(rows, counts, places):
    if not places:
        return np.array(counts.sum())
    table = np.zeros([SHAPE[p] for p in places], dtype=np.int64)
    np.add.at(table, tuple(rows[:, p] for p in places), counts)
    return table


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cells", [1, 24, 1 << 12])
def test_every_table_is_right_whatever_was_asked_before(
    weighted, cells, monkeypatch
) -> None:
    monkeypatch.setattr(module, "_FEW_ROWS", 0)
    monkeypatch.setattr(module, "_CACHED_CELLS", cells)
    rng = np.random.default_rng(cells)
    rows = rng.integers(0, SHAPE, (300, len(SHAPE))).astype(np.int8)
    counts = rng.integers(1, 9, 300) if weighted else np.ones(300, dtype=np.int64)
    tabulator = Tabulator(rows, counts, SHAPE)
    asked = [p for size in range(5) for p in combinations(range(len(SHAPE)), size)]
    for k in rng.permutation(2 * len(asked)):
        places = asked[k % len(asked)]
        found = tabulator.table(places, int(rng.integers(0, len(SHAPE))))
        assert found.dtype == np.int64
        assert np.array_equal(found, brute(rows, counts, places))


def test_one_pass_serves_a_search(monkeypatch) -> None:
    monkeypatch.setattr(module, "_FEW_ROWS", 0)
    rows = np.random.default_rng(0).integers(0, 2, (100, 9)).astype(np.int8)
    tabulator = Tabulator(rows, np.ones(100, dtype=np.int64), (2,) * 9)
    passes = []
    tally = tabulator.tally
    monkeypatch.setattr(
        tabulator,
        "tally",
        lambda columns, shape: passes.append(1) or tally(columns, shape),
    )
    for z in range(2, 9):
        tabulator.table((0, 1, z), z)
    assert len(passes) == 1


def test_what_is_remembered_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(module, "_CACHED_TABLES", 10)
    rows = np.zeros((1, 9), dtype=np.int8)
    tabulator = Tabulator(rows, np.ones(1, dtype=np.int64), (2,) * 9)
    for places in combinations(range(9), 3):
        tabulator.table(places, 0)
    assert len(tabulator._tables) <= 10


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scanned", [0, 8, 1 << 20])
def test_occupied_cells_are_those_of_the_table(weighted, scanned, monkeypatch) -> None:
    monkeypatch.setattr(module, "_SCANNED_CELLS", scanned)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, SHAPE, (30, len(SHAPE))).astype(np.int8)
    counts = rng.integers(1, 9, 30) if weighted else np.ones(30, dtype=np.int64)
    tabulator = Tabulator(rows, counts, SHAPE)
    for places in ((), (2,), (1,), (4, 1), (6, 2, 5), (5, 3, 6, 1, 0)):
        cells, found = tabulator.occupied(places)
        table = brute(rows, counts, places).ravel()
        assert np.array_equal(cells, np.flatnonzero(table))
        assert np.array_equal(found, table[cells])
        assert found.dtype == np.int64
        assert tabulator.occupied(places)[0] is cells


def test_only_so_many_occupied_cells_are_remembered(monkeypatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED_OCCUPIED", 5)
    rows = np.arange(4, dtype=np.int8)[:, None] % SHAPE
    tabulator = Tabulator(rows, np.ones(4, dtype=np.int64), SHAPE)
    first = tabulator.occupied((5,))[0]
    assert tabulator.occupied((5,))[0] is first
    second = tabulator.occupied((3,))[0]
    assert tabulator.occupied((3,))[0] is not second
    assert np.array_equal(second, tabulator.occupied((3,))[0])
