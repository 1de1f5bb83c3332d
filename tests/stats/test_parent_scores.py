"""The scores of parents against other implementations and exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from skdp.stats.parent_scores import information_of_table, variation_of_table

SHAPES = [(1, 1), (1, 4), (2, 2), (3, 5), (40, 7)]


def some_table(shape, seed=0, mean=3.0):
    return np.random.default_rng(seed).poisson(mean, shape) + (np.indices(shape) == 0)[
        0
    ].astype(np.int64)


@pytest.mark.parametrize("shape", SHAPES)
def test_variation_is_exact(shape):
    table = some_table(shape)
    n = int(table.sum())
    p = [[Fraction(int(count), n) for count in row] for row in table]
    columns = [sum(column) for column in zip(*p, strict=True)]
    half = sum(
        abs(p[x][y] - sum(p[x]) * columns[y])
        for x in range(shape[0])
        for y in range(shape[1])
    )
    assert variation_of_table(table) == n * n * half  # 2 n^2 R


def test_variation_of_very_many_records_does_not_overflow():
    half = 2**29 - 1
    table = np.array([[half, 0], [0, half]])
    assert variation_of_table(table) == 4 * half**2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mean", [0.1, 3.0, 1e5])
def test_information_is_that_of_other_packages(shape, mean):
    table = some_table(shape, mean=mean)
    nats = mutual_info_score(None, None, contingency=table)
    found = information_of_table(table)
    assert found == pytest.approx(nats / np.log(2), rel=1e-9, abs=1e-12)
    p = table / table.sum()
    parts = entropy(p.sum(0), base=2) + entropy(p.sum(1), base=2)
    assert found == pytest.approx(parts - entropy(p.ravel(), base=2), abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mean", [0.1, 3.0, 1e4])
def test_information_is_within_its_stated_error(shape, mean):
    mp = pytest.importorskip("mpmath", reason="mpmath is not installed")
    mp.mp.dps = 50

    def exact(counts):
        return mp.fsum(int(m) * mp.log(int(m), 2) for m in np.ravel(counts) if m)

    table = some_table(shape, 1, mean)
    n = int(table.sum())
    sums = exact(table) - exact(table.sum(0)) - exact(table.sum(1)) + exact(n)
    error = (table.size + 16) * 2.0**-51 * max(np.log2(n), 1e-300)
    assert abs(information_of_table(table) - sums / n) <= error
