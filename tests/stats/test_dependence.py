"""The scores against slow definitions over pairs of records, and against SciPy."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from skdp.stats import (
    concordance,
    kendall_score,
    normalized_kendall_score,
    spearman_score,
)
from skdp.stats.dependence import kendall_weights

# Slow definitions -------------------------------------------------------------


def records_of(table):
    """Return the levels (x, y) of every record of one table."""
    cells = np.argwhere(table > 0)
    return np.repeat(cells, table[table > 0], axis=0).tolist()


def sign(a, b):
    return (a > b) - (a < b)


def slow_concordance(pairs):
    """Concordant minus discordant pairs, one pair of records after the other."""
    return sum(
        sign(pairs[i][0], pairs[j][0]) * sign(pairs[i][1], pairs[j][1])
        for i in range(len(pairs))
        for j in range(i)
    )


def slow_kendall(tables, n):
    strata = [records_of(t) for t in tables if t.any()]
    total = sum(Fraction(2 * slow_concordance(p), len(p)) for p in strata)
    return 1.5 * abs(float(total)) / sqrt(n)


def slow_normalized(tables, n):
    """Weighted taus over the root of the summed weights (definition D.2)."""
    total = weights = 0.0
    for pairs in (records_of(t) for t in tables):
        m = len(pairs)
        if m > 1:
            tau = 2 * slow_concordance(pairs) / (m * (m - 1))
            weight = 1 / (2 * (2 * m + 5) / (9 * m * (m - 1)))
            total, weights = total + weight * tau, weights + weight
    return abs(total) / sqrt(weights) if weights else 0.0


def slow_spearman(tables, n):
    """(m - 1) rho_i from mid-ranks, as a covariance over that without ties."""
    total = 0.0
    for pairs in (np.array(records_of(t)) for t in tables if t.any()):
        m = len(pairs)
        x, y = (stats.rankdata(column) - (m + 1) / 2 for column in pairs.T)
        total += (m - 1) * 12 * (x @ y) / (m * (m * m - 1)) if m > 1 else 0.0
    return abs(total) / sqrt(n)


SCORES = {
    "kendall": (kendall_score, slow_kendall),
    "normalized": (lambda t, n: normalized_kendall_score(t), slow_normalized),
    "spearman": (spearman_score, slow_spearman),
}
SCORE = pytest.mark.parametrize("score, slow", SCORES.values(), ids=SCORES)


def tables_without_ties(n, rng):
    """Return one table of n records that differ in both variables, and its ranks."""
    ranks = rng.permutation(n)
    table = np.zeros((1, n, n), dtype=np.int64)
    table[0, np.arange(n), ranks] = 1
    return table, ranks


# Against the definitions ------------------------------------------------------


@SCORE
@pytest.mark.parametrize("shape", [(1, 2, 2), (1, 4, 3), (3, 3, 3), (6, 2, 5)])
@pytest.mark.parametrize("mean", [0.1, 0.5, 2.0])
def test_scores_agree_with_the_slow_definitions(score, slow, shape, mean):
    rng = np.random.default_rng(5)
    for tables in rng.poisson(mean, size=(8, *shape)):
        n = max(int(tables.sum()), 1)
        assert score(tables, n) == pytest.approx(slow(tables, n), abs=1e-12)


def test_concordance_agrees_with_the_slow_definition():
    tables = np.random.default_rng(1).poisson(1.0, size=(20, 3, 4))
    expected = [slow_concordance(records_of(table)) for table in tables]
    assert concordance(tables).tolist() == expected


@SCORE
def test_empty_strata_and_single_records_add_nothing(score, slow):
    tables = np.random.default_rng(2).poisson(2.0, size=(2, 3, 3))
    single = np.zeros((2, 3, 3), dtype=np.int64)
    single[0, 1, 2] = 1
    n = int(tables.sum())
    padded = np.concatenate([single[1:], tables, single])
    assert score(padded, n) == pytest.approx(score(tables, n), rel=1e-14)
    assert score(single, 1) == 0
    assert score(single[:0], 1) == 0


@SCORE
def test_one_level_scores_zero(score, slow):
    assert score(np.array([[[3, 5, 1]], [[0, 2, 2]]]), 13) == 0


@SCORE
def test_scores_ignore_the_order_of_strata_and_the_direction(score, slow):
    tables = np.random.default_rng(3).poisson(1.5, size=(4, 3, 5))
    n = int(tables.sum())
    value = score(tables, n)
    for same in (
        tables[::-1],
        tables[:, ::-1],
        tables[:, :, ::-1],
        tables.transpose(0, 2, 1),
    ):
        assert score(same, n) == pytest.approx(value, rel=1e-12)


# Against SciPy, without ties --------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_one_stratum_without_ties_agrees_with_scipy(n):
    table, ranks = tables_without_ties(n, np.random.default_rng(n))
    x = np.arange(n)
    tau = stats.kendalltau(x, ranks).statistic
    rho = stats.spearmanr(x, ranks).statistic

    assert concordance(table)[0] == pytest.approx(tau * n * (n - 1) / 2)
    kendall = 1.5 * (n - 1) * abs(tau) / sqrt(n)
    assert kendall_score(table, n) == pytest.approx(kendall, abs=1e-12)
    normalized = abs(tau) * sqrt(9 * n * (n - 1) / (2 * (2 * n + 5)))
    assert normalized_kendall_score(table) == pytest.approx(normalized, abs=1e-12)
    spearman = (n - 1) * abs(rho) / sqrt(n)
    assert spearman_score(table, n) == pytest.approx(spearman, abs=1e-12)


def test_weights_are_inverse_null_variances_of_tau():
    # Var tau = 2(2m + 5)/(9m(m - 1)), here by enumeration of all orders of four.
    orders = permutations(range(4))
    taus = [stats.kendalltau(range(4), order).statistic for order in orders]
    assert kendall_weights(np.array([4]))[0] == pytest.approx(1 / np.var(taus))
    assert kendall_weights(np.array([0, 1])).tolist() == [0, 0]


# Exact integers ---------------------------------------------------------------


def exact_concordance(table):
    """Concordant minus discordant pairs in Python's integers, cell by cell."""
    cells = [(i, j, int(k)) for (i, j), k in np.ndenumerate(table)]
    return sum(
        p * q * sign(a, c) * sign(b, d)
        for place, (a, b, p) in enumerate(cells)
        for c, d, q in cells[:place]
    )


def exact_ranks(sizes):
    """Records below minus records above, for each level."""
    levels = range(len(sizes))
    return [sum(sign(i, j) * sizes[j] for j in levels) for i in levels]


LARGE = [
    [[1_000_000_007, 0], [0, 999_999_993]],
    [[0, 1_000_000_007], [999_999_993, 0]],
    [[999_999_937, 3], [5, 999_999_929]],
    [[500_000_003, 499_999_993], [500_000_009, 499_999_979]],
    [[666_666_667, 1, 0], [2, 666_666_671, 3], [0, 7, 666_666_649]],
    [[1_999_999_973, 0], [0, 0]],
]


@pytest.mark.parametrize("table", LARGE)
def test_concordance_is_exact_for_two_thousand_million_records(table):
    table = np.array(table)
    assert concordance(table[None]).tolist() == [exact_concordance(table)]


@pytest.mark.parametrize("table", LARGE)
def test_scores_of_many_records_keep_their_precision(table):
    tables = np.array([table])
    n = int(tables.sum())
    error = 3 * sqrt(n) * 20 * 2.0**-52  # what the query claims, for four cells

    kendall = float(Fraction(3 * abs(exact_concordance(tables[0])), n)) / sqrt(n)
    assert abs(kendall_score(tables, n) - kendall) < error
    x, y = (exact_ranks(tables[0].sum(axis=axis).tolist()) for axis in (1, 0))
    moment = sum(int(k) * x[i] * y[j] for (i, j), k in np.ndenumerate(tables[0]))
    spearman = float(Fraction(3 * abs(moment), n * (n + 1))) / sqrt(n)
    assert abs(spearman_score(tables, n) - spearman) < error
