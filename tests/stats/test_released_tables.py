"""Marginals of a released table, and what its post-processing says of the noise."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from skdp.stats.null_calibration import noise_inflation
from skdp.stats.projections import project_to_simplex
from skdp.stats.released_tables import ReleasedTable

SHAPE = {"a": 2, "b": 3, "c": 4, "d": 2}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, tuple(SHAPE.values())) + rng.normal(0, 2, (2, 3, 4, 2))
    return ReleasedTable(tuple(SHAPE), counts, 4.0)


def by_loops(table, x, y, given):
    """Add every cell up where it belongs."""
    names = (*given, x, y)
    sums = np.zeros([SHAPE[name] for name in names])
    for cell in product(*map(range, SHAPE.values())):
        at = dict(zip(SHAPE, cell, strict=True))
        sums[tuple(at[name] for name in names)] += table.counts[cell]
    return sums.reshape(-1, SHAPE[x], SHAPE[y])


def test_strata_are_sums_of_cells_in_every_order_of_the_names(table):
    for x, y, *others in permutations(SHAPE):
        for k in range(3):
            given = tuple(others[:k])
            tables, noise = table.strata(x, y, given)
            np.testing.assert_allclose(tables, by_loops(table, x, y, given))
            cells = np.prod([SHAPE[name] for name in others[k:]])
            assert noise == 4.0 * cells


def test_the_noise_of_merged_cells_is_that_of_their_sum():
    rng = np.random.default_rng(1)
    drawn = rng.normal(0, 3, (4000, 2, 3, 2))
    sums = [ReleasedTable(("a", "b", "c"), d, 9.0).strata("c", "a") for d in drawn]
    observed = np.var([tables for tables, _ in sums])
    assert observed == pytest.approx(sums[0][1], rel=0.05)


def test_projected(table):
    projected = table.projected(100)
    np.testing.assert_array_equal(
        projected.counts, project_to_simplex(table.counts, 100)
    )
    positive = (projected.counts > 0).mean()
    assert 0 < positive < 1
    assert projected.variance == pytest.approx(4.0 * positive)
    assert projected.names == table.names
    assert table.variance == 4.0


def test_calibrated_inflates_each_pair_by_its_factor(table):
    calibrated, projected = table.calibrated(120), table.projected(120)
    np.testing.assert_array_equal(calibrated.counts, projected.counts)
    factors = noise_inflation(table.counts, 4.0, 120)
    names = tuple(SHAPE)
    for (i, j), factor in factors.items():
        plain = projected.strata(names[i], names[j])[1]
        for x, y in permutations((names[i], names[j])):
            assert calibrated.strata(x, y)[1] == pytest.approx(plain * factor)


def test_a_factor_is_that_of_its_pair_whatever_is_given(table):
    inflated = ReleasedTable(
        table.names, table.counts, 4.0, {frozenset(("a", "b")): 1.5}
    )
    assert (
        inflated.strata("b", "a", ("c",))[1] == 1.5 * table.strata("b", "a", ("c",))[1]
    )
    assert inflated.strata("a", "c", ("b",))[1] == table.strata("a", "c", ("b",))[1]
