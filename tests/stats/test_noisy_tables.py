"""Tests on noisy tables against literal formulas, other libraries and simulation."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skdp.stats.noisy_tables import (
    both_tests,
    cmh_test,
    kendall_test,
    strata_chi2_test,
    total_variation_test,
)

TESTS = [cmh_test, kendall_test, total_variation_test, strata_chi2_test, both_tests]
each_test = pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)


def random_strata(rng, shape=(4, 3, 4), n=2000, dependence=0.3):
    """Draw tables of strata of different sizes and margins."""
    k, r, c = shape
    x, y = rng.dirichlet(np.full(r, 3), k), rng.dirichlet(np.full(c, 3), k)
    law = x[:, :, None] * y[:, None, :]
    law *= np.exp(dependence * rng.normal(size=(r, c)))
    law *= rng.uniform(0.5, 2, (k, 1, 1))
    return rng.multinomial(n, (law / law.sum()).ravel()).reshape(shape).astype(float)


# Section 1.2 of the formulas, cell by cell --------------------------------------


def literal_stratum(table, noise):
    """Return D and its two covariances over all cells, by matrices as written."""
    r, c = table.shape
    total = table.sum()
    p, q = table.sum(axis=1) / total, table.sum(axis=0) / total
    A = np.eye(r) - np.outer(p, np.ones(r))
    B = np.eye(c) - np.outer(q, np.ones(c))
    P, Q = np.diag(p) - np.outer(p, p), np.diag(q) - np.outer(q, q)
    both = np.kron(A, B)  # vec by rows of A m B'
    D = (both @ table.ravel()).reshape(r, c)
    return D, total * np.kron(P, Q), noise * both @ both.T


def literal_pool(tables, noise, functional):
    """Add up a linear functional of D over the strata, weighted as they are told.

    `functional` gives a matrix L (entries of the statistic from cells of D).
    """
    parts = []
    for table in tables:
        D, sampling, added = literal_stratum(table, noise)
        L = functional(table)
        parts.append((L @ D.ravel(), L @ sampling @ L.T, L @ added @ L.T))
    return parts


def first_cells(table):
    """Keep the first r - 1 rows and c - 1 columns."""
    r, c = table.shape
    kept = [a * c + b for a in range(r - 1) for b in range(c - 1)]
    return np.eye(r * c)[kept]


def signs(table):
    """Weigh cell (a, b) by sgn(a - a') p_a' sgn(b - b') q_b', by loops."""
    r, c = table.shape
    p, q = table.sum(axis=1) / table.sum(), table.sum(axis=0) / table.sum()
    weights = np.zeros((r, c))
    for a, b, other_a, other_b in product(range(r), range(c), range(r), range(c)):
        sign = np.sign(a - other_a) * np.sign(b - other_b)
        weights[a, b] += sign * p[other_a] * q[other_b]
    return weights.reshape(1, -1)


def literal_traces(tables, noise):
    """Return V and C of each stratum: the traces over all cells."""
    found = [literal_stratum(table, noise) for table in tables]
    return np.array([[np.trace(S), np.trace(N)] for _, S, N in found]).T


def literal_statistic(parts, V, C):
    weights = V / (V + C)
    T = sum(w * part[0] for w, part in zip(weights, parts, strict=True))
    covariance = sum(
        w**2 * (S + N) for w, (_, S, N) in zip(weights, parts, strict=True)
    )
    return T @ np.linalg.solve(covariance, T)


@pytest.mark.parametrize("noise", [0.0, 3.0, 50.0])
@pytest.mark.parametrize("shape", [(1, 2, 2), (5, 2, 2), (3, 2, 4), (4, 3, 4)])
def test_cmh_is_the_formula(noise, shape):
    rng = np.random.default_rng(1)
    tables = random_strata(rng, shape)
    tables += rng.normal(0, sqrt(noise), shape)
    found = cmh_test(tables, noise)
    V, C = literal_traces(tables, noise)
    parts = literal_pool(tables, noise, first_cells)
    assert found.statistic == pytest.approx(literal_statistic(parts, V, C), rel=1e-9)
    assert found.degrees == (shape[1] - 1) * (shape[2] - 1)
    law = stats.chi2(found.degrees)
    assert found.p_value == pytest.approx(law.sf(found.statistic), rel=1e-9)
    assert_explained(found, V, C)


def assert_explained(found, V, C):
    """Check information and noise share by their definitions."""
    w = V / (V + C)
    variance = (w**2 * (V + C)).sum()
    assert found.information == pytest.approx((w * V).sum() ** 2 / variance, rel=1e-9)
    assert found.noise_share == pytest.approx((w**2 * C).sum() / variance, abs=1e-12)


@pytest.mark.parametrize("noise", [0.0, 3.0, 50.0])
@pytest.mark.parametrize("shape", [(1, 2, 2), (3, 2, 4), (4, 3, 4)])
def test_kendall_is_the_formula(noise, shape):
    rng = np.random.default_rng(2)
    tables = random_strata(rng, shape)
    tables += rng.normal(0, sqrt(noise), shape)
    parts = literal_pool(tables, noise, signs)
    V = np.array([part[1].item() for part in parts])
    C = np.array([part[2].item() for part in parts])
    found = kendall_test(tables, noise)
    assert found.statistic == pytest.approx(literal_statistic(parts, V, C), rel=1e-9)
    assert found.degrees == 1
    assert_explained(found, V, C)


@pytest.mark.parametrize("noise", [0.0, 4.0])
def test_strata_chi2_adds_the_strata_up(noise):
    tables = random_strata(np.random.default_rng(3))
    alone = [cmh_test(table[None], noise) for table in tables]
    found = strata_chi2_test(tables, noise)
    assert found.statistic == pytest.approx(sum(test.statistic for test in alone))
    assert found.degrees == sum(test.degrees for test in alone) == 4 * 6
    assert found.p_value == pytest.approx(stats.chi2(24).sf(found.statistic))
    assert_explained(found, *literal_traces(tables, noise))


def test_strata_chi2_without_noise_is_pearson_of_each_stratum():
    tables = random_strata(np.random.default_rng(4))
    pearson = sum(stats.chi2_contingency(t, correction=False)[0] for t in tables)
    assert strata_chi2_test(tables, 0.0).statistic == pytest.approx(pearson, rel=1e-9)


def test_both_takes_the_smaller_p_value_twice():
    rng = np.random.default_rng(5)
    for dependence in (0.0, 0.1, 0.3):
        tables = random_strata(rng, dependence=dependence)
        one, other = cmh_test(tables, 2.0), strata_chi2_test(tables, 2.0)
        expected = min(1, 2 * min(one.p_value, other.p_value))
        assert both_tests(tables, 2.0).p_value == expected
    assert both_tests(tables[:1], 2.0) == cmh_test(tables[:1], 2.0)


def test_dependence_that_cancels_is_seen_apart_and_not_pooled():
    one = np.array([[90.0, 10.0], [10.0, 90.0]])
    tables = np.array([one, one[::-1]])
    for test in (cmh_test, kendall_test):
        assert test(tables, 1.0).p_value > 0.9
    for test in (strata_chi2_test, total_variation_test, both_tests):
        assert test(tables, 1.0).p_value < 1e-10


# Other libraries and formulas, without noise --------------------------------------


def landis_heyman_koch(tables):
    """The statistic of general association, literally (Landis, Heyman, Koch 1978)."""
    _, r, c = tables.shape
    size = (r - 1) * (c - 1)
    G, V = np.zeros(size), np.zeros((size, size))
    for table in tables:
        N, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
        cells = list(product(range(r - 1), range(c - 1)))
        G += [table[a, b] - rows[a] * columns[b] / N for a, b in cells]
        for i, (a, b) in enumerate(cells):
            for j, (a2, b2) in enumerate(cells):
                left = rows[a] * ((a == a2) * N - rows[a2])
                right = columns[b] * ((b == b2) * N - columns[b2])
                V[i, j] += left * right / (N**2 * (N - 1))
    return G @ np.linalg.solve(V, G)


@pytest.mark.parametrize("shape", [(6, 2, 2), (3, 2, 4), (4, 3, 3)])
def test_cmh_without_noise_is_that_of_landis_heyman_and_koch(shape):
    # Theirs has N - 1 for N in the variance: the margins are fixed there.
    rng = np.random.default_rng(6)
    tables = random_strata(rng, shape, n=3000)
    found, theirs = cmh_test(tables, 0.0).statistic, landis_heyman_koch(tables)
    largest = tables.sum(axis=(1, 2)).min()
    assert theirs < found < theirs * largest / (largest - 1)
    law = rng.dirichlet(np.full(shape[1] * shape[2], 4))
    tables = rng.multinomial(300, law, shape[0]).reshape(shape).astype(float)
    found, theirs = cmh_test(tables, 0.0).statistic, landis_heyman_koch(tables)
    assert found == pytest.approx(theirs * 300 / 299, rel=1e-9)


def test_cmh_of_two_levels_is_that_of_statsmodels():
    module = pytest.importorskip("statsmodels.stats.contingency_tables")
    law = np.random.default_rng(7).dirichlet(np.full(4, 4), size=5)
    tables = np.array([np.random.default_rng(8).multinomial(200, p) for p in law])
    tables = tables.reshape(5, 2, 2)
    theirs = module.StratifiedTable(list(tables)).test_null_odds(correction=False)
    found = cmh_test(tables.astype(float), 0.0)
    assert found.statistic == pytest.approx(theirs.statistic * 200 / 199, rel=1e-9)


def test_one_table_without_noise_is_pearson():
    table = random_strata(np.random.default_rng(9), (1, 3, 4))
    pearson = stats.chi2_contingency(table[0], correction=False)
    found = cmh_test(table, 0.0)
    assert found.statistic == pytest.approx(pearson[0], rel=1e-9)
    assert found.p_value == pytest.approx(pearson[1], rel=1e-7)


def concordant_less_discordant(table):
    """Count over pairs of cells, by a double loop."""
    r, c = table.shape
    cells = list(product(range(r), range(c)))
    return sum(
        np.sign(a - a2) * np.sign(b - b2) * table[a, b] * table[a2, b2]
        for (a, b), (a2, b2) in product(cells, cells)
    ) / 2  # fmt: skip


def test_kendall_of_two_levels_is_concordance():
    table = np.array([[31.0, 12.0], [20.0, 44.0]])
    N, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
    variance = rows.prod() * columns.prod() / N**3  # of ad - bc over N
    score = concordant_less_discordant(table) / N
    found = kendall_test(table[None], 0.0)
    assert found.statistic == pytest.approx(score**2 / variance, rel=1e-12)
    assert found.statistic == pytest.approx(cmh_test(table[None], 0.0).statistic)


def test_kendall_is_concordance_to_first_order():
    rng = np.random.default_rng(10)
    p, q = rng.dirichlet(np.full(4, 3)), rng.dirichlet(np.full(3, 3))
    direction = literal_stratum(rng.normal(size=(4, 3)) + 5, 0.0)[0]
    for size in (1e-3, 1e-4):
        table = 1e5 * (np.outer(p, q) + size * 1e-2 * direction)
        D, sampling, _ = literal_stratum(table, 0.0)
        L = signs(table)
        score = concordant_less_discordant(table) / table.sum()
        variance = (L @ sampling @ L.T).item()
        found = kendall_test(table[None], 0.0)
        assert (L @ D.ravel()).item() == pytest.approx(score, rel=5 * size)
        assert found.statistic == pytest.approx(score**2 / variance, rel=10 * size)


# Total variation ------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 2.0, 40.0])
def test_total_variation_of_one_table_of_two_levels_is_exact(noise):
    table = np.array([[[310.0, 120.0], [250.0, 140.0]]])
    found, exact = total_variation_test(table, noise), cmh_test(table, noise)
    assert found.degrees == 1.0
    assert found.statistic == pytest.approx(exact.statistic, rel=1e-9)
    assert found.p_value == pytest.approx(exact.p_value, rel=1e-7)
    assert found.information == exact.information
    assert found.noise_share == exact.noise_share


@pytest.mark.parametrize("shape", [(3, 2, 2), (1, 3, 4), (3, 2, 4)])
def test_total_variation_has_the_moments_of_folded_normals(shape):
    rng = np.random.default_rng(11)
    noise = 9.0
    tables = random_strata(rng, shape)
    parts = [literal_stratum(table, noise) for table in tables]
    V, C = literal_traces(tables, noise)
    weights = V / (V + C)
    drawn = sum(
        w * abs(rng.multivariate_normal(0 * D.ravel(), S + N, 100_000)).sum(axis=1)
        for w, (D, S, N) in zip(weights, parts, strict=True)
    )
    observed = sum(
        w * abs(D).sum() for w, (D, _, _) in zip(weights, parts, strict=True)
    )
    found = total_variation_test(tables, noise)
    law = stats.chi(found.degrees, scale=observed / sqrt(found.statistic))
    assert law.mean() == pytest.approx(drawn.mean(), rel=5e-3)
    assert law.std() == pytest.approx(drawn.std(), rel=2e-2)
    assert found.p_value == pytest.approx(np.mean(drawn >= observed), abs=0.01)
    assert_explained(found, V, C)


# Simulation -----------------------------------------------------------------------


def null_draws(n_draws, noise, rng):
    """Draw three strata of independent variables with normal noise."""
    law = np.array([
        share * np.outer(p, q)
        for share, p, q in [
            (0.5, [0.2, 0.3, 0.5], [0.6, 0.4]),
            (0.3, [0.4, 0.2, 0.4], [0.3, 0.7]),
            (0.2, [0.25, 0.5, 0.25], [0.5, 0.5]),
        ]
    ])  # fmt: skip
    tables = rng.multinomial(4000, law.ravel(), n_draws).reshape(-1, 3, 3, 2)
    return tables + rng.normal(0, sqrt(noise), tables.shape), law


@pytest.mark.parametrize("noise", [0.0, 60.0, 600.0])
def test_the_covariance_of_the_residuals_is_that_of_simulated_ones(noise):
    tables, law = null_draws(6000, noise, np.random.default_rng(12))
    for stratum in range(3):
        m = tables[:, stratum]
        rows, columns = m.sum(axis=2)[:, :, None], m.sum(axis=1)[:, None, :]
        D = (m - rows * columns / m.sum(axis=(1, 2))[:, None, None]).reshape(-1, 6)
        _, sampling, added = literal_stratum(4000 * law[stratum], noise)
        expected = sampling + added
        spread = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        deviation = (np.cov(D.T) - expected) / spread
        assert abs(deviation).max() < 0.1


@pytest.mark.parametrize("noise", [0.0, 300.0])
@each_test
def test_p_values_of_independent_variables_are_uniform(test, noise):
    tables, _ = null_draws(500, noise, np.random.default_rng(13))
    p_values = np.array([test(table, noise).p_value for table in tables])
    if test is both_tests:  # Bonferroni's level is at most the nominal one
        assert 0.01 < np.mean(p_values <= 0.05) < 0.07
    else:
        assert stats.kstest(p_values, "uniform").pvalue > 1e-3


# Strata without evidence -----------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 25.0])
@each_test
def test_a_node_that_the_stratum_determines_gives_no_evidence(test, noise):
    # y = (x or z): given z the one or the other is constant.
    tables = np.zeros((2, 2, 2))
    tables[0] = [[800, 0], [0, 0]]
    tables[1] = [[0, 700], [0, 500]]
    tables += np.random.default_rng(14).normal(0, sqrt(noise), tables.shape)
    found = test(tables, noise)
    assert (found.statistic, found.degrees, found.p_value) == (0.0, 0.0, 1.0)
    assert (found.information, found.noise_share) == (0.0, 1.0)


@each_test
def test_strata_drowned_in_noise_change_nothing(test):
    rng = np.random.default_rng(15)
    tables = random_strata(rng, (3, 3, 3))
    small = rng.normal(0, 5, (4, 3, 3))  # nobody there
    rare = np.array([[[500, 400, 300], [2, 1, 1], [0, 1, 0]]])  # x is all but constant
    empty = np.zeros((1, 3, 3))
    more = np.concatenate([small, tables, rare, empty])
    alone, among = test(tables, 25.0), test(more, 25.0)
    assert among.statistic == pytest.approx(alone.statistic, rel=1e-12)
    assert among.p_value == pytest.approx(alone.p_value, rel=1e-9)
    assert among.information == pytest.approx(alone.information, rel=1e-12)


@each_test
def test_where_evidence_begins(test):
    # sizes > 3 sqrt(s2 r c), second sums > 2 sqrt(s2 c) + 1/2 = 20.5
    def evident(second, size=1000.0):
        rest = size - 2 * second
        strata = np.array([[[rest, second], [second, 0.0]], np.zeros((2, 2))])
        return test(strata, 50.0).degrees > 0

    assert evident(20.6) and not evident(20.4)
    assert evident(20.6, 43.0) and not evident(20.6, 42.0)


@each_test
def test_a_table_without_strata_is_tested_as_it_is(test):
    assert test(np.array([[[5.0, 1.0], [1.0, 0.0]]]), 50.0).degrees > 0
    assert test(np.array([[[5.0, 1.0], [1.0, 0.0]]]), 0.0).degrees > 0
    assert test(np.array([[[5.0, 1.0], [0.0, 0.0]]]), 0.0).degrees == 0


@each_test
def test_nothing_at_all_is_no_evidence(test):
    for tables in (np.zeros((3, 2, 2)), np.zeros((0, 2, 3)), -np.ones((1, 3, 2))):
        found = test(tables, 4.0)
        assert (found.degrees, found.p_value, found.information) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("test", [cmh_test, kendall_test, strata_chi2_test, both_tests])
def test_levels_that_do_not_occur_do_not_count(test):
    tables = random_strata(np.random.default_rng(16), (3, 3, 3))
    wider = np.zeros((3, 4, 5))
    wider[np.ix_(range(3), [0, 2, 3], [0, 1, 4])] = tables
    narrow, wide = test(tables, 0.0), test(wider, 0.0)
    assert wide.degrees == narrow.degrees
    assert wide.statistic == pytest.approx(narrow.statistic, rel=1e-9)
    assert wide.p_value == pytest.approx(narrow.p_value, rel=1e-7)


def test_total_variation_is_not_disturbed_by_levels_that_do_not_occur():
    tables = random_strata(np.random.default_rng(16), (3, 3, 3))
    wider = np.zeros((3, 4, 5))
    wider[np.ix_(range(3), [0, 2, 3], [0, 1, 4])] = tables
    narrow, wide = total_variation_test(tables, 0.0), total_variation_test(wider, 0.0)
    assert wide.degrees == pytest.approx(narrow.degrees, rel=1e-9)
    assert wide.statistic == pytest.approx(narrow.statistic, rel=1e-9)


def test_a_level_in_one_stratum_only_counts_there():
    tables = np.zeros((2, 3, 2))
    tables[0, :2] = [[30, 20], [25, 45]]
    tables[1] = [[30, 20], [25, 45], [11, 14]]
    assert cmh_test(tables, 0.0).degrees == 2
    assert strata_chi2_test(tables, 0.0).degrees == 1 + 2


# Symmetries and noise ---------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), noise=st.sampled_from([0.0, 1.0, 30.0]))
def test_the_order_of_strata_levels_and_variables_does_not_matter(seed, noise):
    rng = np.random.default_rng(seed)
    tables = random_strata(rng, tuple(rng.integers([1, 2, 2], [5, 5, 5])), n=500)
    tables += rng.normal(0, sqrt(noise), tables.shape)
    mixed = rng.permutation(tables).swapaxes(1, 2)
    for test in TESTS:
        found = test(tables, noise)
        orders = [mixed[:, ::-1]]
        if test is not kendall_test:
            orders.append(rng.permutation(rng.permutation(mixed, axis=1), axis=2))
        for other in orders:
            same = test(other, noise)
            assert same.degrees == pytest.approx(found.degrees, rel=1e-6)
            assert same.statistic == pytest.approx(found.statistic, rel=1e-6, abs=1e-9)
            assert same.noise_share == pytest.approx(found.noise_share, abs=1e-9)


@each_test
def test_noise_takes_weight_and_information_away(test):
    tables = random_strata(np.random.default_rng(17), (4, 3, 3), dependence=0.5)
    found = [test(tables, noise) for noise in (0.0, 10.0, 100.0)]
    assert found[0].noise_share == 0.0
    shares, information = (
        [getattr(one, name) for one in found] for name in ("noise_share", "information")
    )
    assert sorted(shares) == shares
    assert sorted(information, reverse=True) == information
