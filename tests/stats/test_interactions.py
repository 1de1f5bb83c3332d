"""Tests on two-way interactions against full tables, regression and simulation."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from skdp.stats.interactions import InteractionMoments, InteractionTests, places_of
from skdp.stats.simplex_codes import (
    interaction_sensitivity,
    main_effect_weight,
    simplex_code,
)

LEVELS = {"x": 3, "y": 4, "z": 3, "w": 2}


def dependent_table(rng, shape=(3, 4, 3, 2), n=5000):
    """Draw counts over all variables, everything dependent on everything."""
    law = rng.dirichlet(np.full(np.prod(shape), 2.0))
    return (rng.multinomial(n, law) + 1).reshape(shape)


def sums_of(counts, levels):
    """Add codes and their products up over the cells of the full table."""
    effects, interactions, names = {}, {}, list(levels)
    for i, v in enumerate(names):
        others = tuple(a for a in range(counts.ndim) if a != i)
        effects[v] = counts.sum(axis=others) @ simplex_code(levels[v])
    for (i, v), (j, w) in combinations(enumerate(names), 2):
        others = tuple(a for a in range(counts.ndim) if a not in (i, j))
        table = counts.sum(axis=others)
        interactions[v, w] = simplex_code(levels[v]).T @ table @ simplex_code(levels[w])
    return effects, interactions


def moments_of(counts, levels, effect_noise=0.0, noise=0.0, rng=None):
    """Make moments, with drawn noise of these variances if there is an `rng`."""
    effects, interactions = sums_of(counts, levels)
    if rng is not None:
        for sums, variance in ((effects, effect_noise), (interactions, noise)):
            for key, value in sums.items():
                sums[key] = value + rng.normal(0, np.sqrt(variance), value.shape)
    variances = dict.fromkeys(interactions, noise)
    n = round(counts.sum())
    return InteractionMoments.from_sums(
        levels, n, effects, interactions, (effect_noise, variances)
    )


def within(table, levels_x, levels_y):
    """Return E[Cov(x, y | z)] and the mean variances in codes, of tables (k, r, c)."""
    F, G = simplex_code(levels_x), simplex_code(levels_y)
    n, parts = table.sum(), [0.0, 0.0, 0.0]
    for stratum in table:
        N, rows, columns = stratum.sum(), stratum.sum(axis=1), stratum.sum(axis=0)
        D = stratum - np.outer(rows, columns) / N
        P = np.diag(rows) - np.outer(rows, rows) / N
        Q = np.diag(columns) - np.outer(columns, columns) / N
        for i, part in enumerate((F.T @ D @ G, F.T @ P @ F, G.T @ Q @ G)):
            parts[i] = parts[i] + part / n
    return parts


# Without noise -----------------------------------------------------------------------


def test_order_0_is_pearson():
    counts = dependent_table(np.random.default_rng(0))
    tests = InteractionTests(moments_of(counts, LEVELS))
    names = list(LEVELS)
    for i, j in combinations(range(4), 2):
        others = tuple(a for a in range(4) if a not in (i, j))
        pearson = stats.chi2_contingency(counts.sum(axis=others), correction=False)
        found = tests(names[i], names[j])
        assert found.statistic == pytest.approx(pearson[0], rel=1e-9)
        assert found.degrees == pearson[2]
        assert found.p_value == pytest.approx(pearson[1], rel=1e-6)
        assert found.noise_share == pytest.approx(0.0, abs=1e-12)
        assert found.tolerance == 1.0


@pytest.mark.parametrize("z", ["z", "w"])
def test_order_1_is_the_numerator_of_the_full_table(z):
    counts = dependent_table(np.random.default_rng(1))
    tests = InteractionTests(moments_of(counts, LEVELS))
    other = ({"z", "w"} - {z}).pop()
    table = counts.sum(axis=list(LEVELS).index(other)).transpose(2, 0, 1)
    T, P, Q = within(table, 3, 4)
    n = counts.sum()
    expected = n * T.ravel() @ np.linalg.solve(np.kron(P, Q), T.ravel())
    found = tests("x", "y", (z,))
    assert found.statistic == pytest.approx(expected, rel=1e-9)
    assert found.degrees == 6
    spread = np.trace(P) * np.trace(Q)
    assert found.information == pytest.approx(n * spread / 6, rel=1e-9)
    whole = within(table.sum(axis=0, keepdims=True), 3, 4)
    shares = [np.trace(a) / np.trace(b) for a, b in zip((P, Q), whole[1:], strict=True)]
    assert found.tolerance == pytest.approx(min(shares), rel=1e-9)


def test_order_2_is_the_additive_regression():
    counts = dependent_table(np.random.default_rng(2))
    cells = np.array(list(product(*map(range, counts.shape))))
    codes = [simplex_code(r)[cells[:, i]] for i, r in enumerate(LEVELS.values())]
    root = np.sqrt(counts.reshape(-1, 1))
    design = root * np.hstack([np.ones((len(cells), 1)), codes[2], codes[3]])
    left, right = (
        root * code - design @ np.linalg.lstsq(design, root * code)[0]
        for code in codes[:2]
    )
    n = counts.sum()
    T, P, Q = left.T @ right / n, left.T @ left / n, right.T @ right / n
    expected = n * T.ravel() @ np.linalg.solve(np.kron(P, Q), T.ravel())
    found = InteractionTests(moments_of(counts, LEVELS))("x", "y", ("z", "w"))
    assert found.statistic == pytest.approx(expected, rel=1e-8)


def test_the_order_of_the_question_does_not_matter():
    moments = moments_of(dependent_table(np.random.default_rng(3)), LEVELS, 4.0, 9.0)
    one = InteractionTests(moments)("x", "y", ("z", "w"))
    other = InteractionTests(moments)("y", "x", ("w", "z"))
    for name in ("statistic", "degrees", "information", "noise_share", "tolerance"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9)


def test_a_variable_that_z_determines_leaves_no_tolerance():
    counts = np.zeros((2, 2, 3), dtype=int)
    counts[0, :, 0], counts[1, :, 1], counts[0, :, 2] = 300, 200, 400  # x = f(z)
    counts[:, 0] //= 2
    tests = InteractionTests(moments_of(counts, {"x": 2, "y": 2, "z": 3}, 1.0, 1.0))
    assert tests("x", "y", ("z",)).tolerance < 0.01
    assert tests("x", "y").tolerance == 1.0


# The noise ---------------------------------------------------------------------------


def residual(effects, interactions, n, x, y, given, diagonals):
    """Compute T from sums as written; second moments within a variable stay fixed."""
    names = sorted({x, y, *given}, key=list(LEVELS).index)
    means = {v: effects[v] / n for v in names}

    def block(u, v):
        if u == v:
            return diagonals[u] - np.outer(means[u], means[u])
        if (u, v) not in interactions:
            return block(v, u).T
        return interactions[u, v] / n - np.outer(means[u], means[v])

    T = block(x, y)
    if given:
        C_xz = np.hstack([block(x, z) for z in given])
        C_zy = np.vstack([block(z, y) for z in given])
        C_zz = np.block([[block(u, v) for v in given] for u in given])
        T = T - C_xz @ np.linalg.solve(C_zz, C_zy)
    return T.ravel()


def conditionally_independent(rng, levels, n):
    """Draw expected counts: x and y are children of z alone, w of y."""
    px, py = (rng.dirichlet(np.full(levels[v], 3), levels["z"]) for v in "xy")
    pw = rng.dirichlet(np.full(levels["w"], 3), levels["y"])
    pz = rng.dirichlet(np.full(levels["z"], 5))
    return n * np.einsum("za,zb,z,bw->abzw", px, py, pz, pw)


def carried_noise(counts, effect_noise, noise, given):
    """Carry the noise of each sum through the derivatives of T, numerically."""
    effects, interactions = sums_of(counts, LEVELS)
    n, members = counts.sum(), {"x", "y", *given}
    diagonals = {}
    for i, (v, r) in enumerate(LEVELS.items()):
        margin = counts.sum(axis=tuple({0, 1, 2, 3} - {i}))
        diagonals[v] = simplex_code(r).T @ np.diag(margin) @ simplex_code(r) / n
    total, step = np.zeros((6, 6)), 1e-6 * n
    for sums, variance in ((effects, effect_noise), (interactions, noise)):
        for key, value in sums.items():
            if not members.issuperset(key):
                continue
            for place in np.ndindex(value.shape):
                ends = []
                for sign in (1, -1):
                    value[place] += sign * step
                    ends.append(
                        residual(effects, interactions, n, "x", "y", given, diagonals)
                    )
                    value[place] -= sign * step
                slope = (ends[0] - ends[1]) / (2 * step)
                total += variance * np.outer(slope, slope)
    return total


# The means of z are on both sides; what that adds is left out, so they are not exact.
@pytest.mark.parametrize(
    ("effect_noise", "noise", "tolerance"), [(0.0, 2e5, 1e-6), (2e6, 1e4, 0.02)]
)
@pytest.mark.parametrize("given", [("z",), ("z", "w")])
def test_the_noise_is_carried_through_the_derivatives(
    given, effect_noise, noise, tolerance
):
    # Where T = 0 in the population, T is linear in the noise to first order.
    rng, n = np.random.default_rng(4), 1e6
    counts = conditionally_independent(rng, LEVELS, n)
    moments = moments_of(counts, LEVELS, effect_noise, noise)
    found = InteractionTests(moments)("x", "y", given)
    expected = carried_noise(counts, effect_noise, noise, given)
    # information = spread^2/(df tr Cov), noise share = 1 - spread/n/tr Cov
    total = 6 * found.information / (n * (1 - found.noise_share)) ** 2
    trace = found.noise_share * total
    assert trace == pytest.approx(np.trace(expected), rel=tolerance)
    if given == ("z",):
        _, P, Q = within(counts.sum(axis=3).transpose(2, 0, 1), 3, 4)
        whole = np.kron(P, Q) / n + expected
        vector = rng.normal(size=6) * 1e-4
        statistic = InteractionTests(shift(moments, vector))("x", "y", given).statistic
        literal = vector @ np.linalg.solve(whole, vector)
        assert statistic == pytest.approx(literal, rel=max(tolerance, 1e-5))


def shift(moments, vector):
    """Move the covariance of x and y."""
    places, covariances = places_of(moments.levels), moments.covariances.copy()
    block = vector.reshape(2, 3)
    covariances[places["x"], places["y"]] += block
    covariances[places["y"], places["x"]] += block.T
    return InteractionMoments(
        moments.levels, moments.n_records, moments.means, covariances,
        moments.mean_variance, moments.variances,
    )  # fmt: skip


@pytest.mark.parametrize("noise", [1e2, 3e5])
@pytest.mark.parametrize("given", [(), ("z",), ("z", "w")])
def test_p_values_under_independence_are_uniform(given, noise):
    rng, n = np.random.default_rng(5), 100_000
    law = conditionally_independent(rng, LEVELS, 1.0)
    x, y = ("x", "y") if given else ("x", "w")
    if not given:
        law = np.multiply.outer(law.sum(axis=(1, 2, 3)), law.sum(axis=0))
    p_values = []
    for _ in range(250):
        counts = rng.multinomial(n, law.ravel()).reshape(law.shape)
        moments = moments_of(counts, LEVELS, 2 * noise, noise, rng)
        p_values.append(InteractionTests(moments)(x, y, given).p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


# Second looks ------------------------------------------------------------------------


def test_a_second_look_is_weighted_by_inverse_variances():
    counts = dependent_table(np.random.default_rng(6))
    rng, n = np.random.default_rng(7), counts.sum()
    moments = moments_of(counts, LEVELS, 5.0, 300.0, rng)
    _, exact = sums_of(counts, LEVELS)
    look = {pair: exact[pair] + rng.normal(0, 10, exact[pair].shape)
            for pair in (("x", "z"), ("y", "w"))}  # fmt: skip
    averaged = moments.averaged(look, 100.0)
    places, order = places_of(LEVELS), list(LEVELS).index
    expected, variances = moments.covariances.copy(), moments.variances.copy()
    for (u, v), block in look.items():
        a, b = places[u], places[v]
        new = block / n - np.outer(moments.means[a], moments.means[b])
        mean = (moments.covariances[a, b] / 300 + new / 100) / (1 / 300 + 1 / 100)
        expected[a, b], expected[b, a] = mean, mean.T
        variance = 1 / (1 / 300 + 1 / 100) / n**2
        variances[order(u), order(v)] = variances[order(v), order(u)] = variance
    np.testing.assert_allclose(averaged.covariances, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(averaged.variances, variances, rtol=1e-12)
    assert not np.array_equal(moments.covariances, expected)  # the first is as it was
    assert averaged.mean_variance == moments.mean_variance
    np.testing.assert_array_equal(averaged.means, moments.means)


# Moments -----------------------------------------------------------------------------


def test_moments_without_noise_are_those_of_the_records():
    counts = dependent_table(np.random.default_rng(8))
    cells = np.array(list(product(*map(range, counts.shape))))
    codes = np.hstack(
        [simplex_code(r)[cells[:, i]] for i, r in enumerate(LEVELS.values())]
    )
    weights = counts.ravel()
    moments = moments_of(counts, LEVELS, 2.0, 3.0)
    np.testing.assert_allclose(
        moments.means, np.average(codes, axis=0, weights=weights)
    )
    expected = np.cov(codes.T, fweights=weights, ddof=0)
    np.testing.assert_allclose(moments.covariances, expected, atol=1e-12)
    n = counts.sum()
    assert moments.mean_variance == pytest.approx(2.0 / n**2)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(moments.variances[off], 3.0 / n**2)


def test_shares_are_positive_whatever_the_noise():
    effects = {"x": np.array([-3000.0, 500.0]), "y": np.array([5000.0])}
    interactions = {("x", "y"): np.full((2, 1), 4e3)}
    moments = InteractionMoments.from_sums(
        {"x": 3, "y": 2}, 1000, effects, interactions, (1.0, {("x", "y"): 1.0})
    )
    places = places_of({"x": 3, "y": 2})
    for v, r in (("x", 3), ("y", 2)):
        shares = (1 + (r - 1) * simplex_code(r) @ moments.means[places[v]]) / r
        assert shares.sum() == pytest.approx(1.0)
        assert shares.min() > 0
    found = InteractionTests(moments)("x", "y")
    assert np.isfinite(found.statistic) and 0 <= found.p_value <= 1


def test_extreme_noise_gives_numbers():
    rng = np.random.default_rng(9)
    counts = dependent_table(rng, n=100)
    tests = InteractionTests(moments_of(counts, LEVELS, 1e8, 1e8, rng))
    for x, y in combinations(LEVELS, 2):
        others = [v for v in LEVELS if v not in (x, y)]
        for given in [(), *((v,) for v in others), tuple(others)]:
            found = tests(x, y, given)
            assert found.statistic >= 0 and 0 <= found.p_value <= 1
            assert found.information >= 0
            assert 0 <= found.noise_share <= 1 + 1e-12


def test_places():
    found = places_of({"a": 3, "b": 2, "c": 5})
    assert found == {"a": slice(0, 2), "b": slice(2, 3), "c": slice(3, 7)}


# The level of the whole release ------------------------------------------------------

MIXED = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 3, "f": 2}
MARGINS = [
    [0.5, 0.5], [0.6, 0.3, 0.1], [0.25, 0.25, 0.25, 0.25],
    [0.02, 0.98], [0.9, 0.08, 0.02], [0.85, 0.15],
]  # fmt: skip


def rejection_rates(n, rho, n_releases, seed=0):
    """Return the share of p-values below .05 by order, of independent variables."""
    rng = np.random.default_rng(seed)
    weight = main_effect_weight(len(MIXED))
    noise = interaction_sensitivity(list(MIXED.values()), weight) ** 2 / (2 * rho)
    questions = [
        (x, y, given)
        for x, y in combinations(MIXED, 2)
        for k in range(3)
        for given in list(combinations([v for v in MIXED if v not in (x, y)], k))[:3]
    ]
    rejected = {}
    for _ in range(n_releases):
        columns = [rng.choice(len(m), n, p=m) for m in MARGINS]
        codes = [simplex_code(len(m))[c] for m, c in zip(MARGINS, columns, strict=True)]
        effects = {v: f.sum(axis=0) for v, f in zip(MIXED, codes, strict=True)}
        coded = dict(zip(MIXED, codes, strict=True))
        products = {(x, y): coded[x].T @ coded[y] for x, y in combinations(MIXED, 2)}
        for sums, variance in ((effects, noise / weight**2), (products, noise)):
            for key, value in sums.items():
                sums[key] = value + rng.normal(0, np.sqrt(variance), value.shape)
        moments = InteractionMoments.from_sums(
            MIXED, n, effects, products,
            (noise / weight**2, dict.fromkeys(products, noise)),
        )  # fmt: skip
        tests = InteractionTests(moments)
        for x, y, given in questions:
            found = rejected.setdefault(len(given), [])
            found.append(tests(x, y, given).p_value <= 0.05)
    return {order: float(np.mean(values)) for order, values in rejected.items()}


@pytest.mark.parametrize(("n", "rho"), [(1000, 0.1), (10_000, 0.01)])
def test_the_level_is_kept(n, rho):
    for order, rate in rejection_rates(n, rho, 25).items():
        assert rate <= 0.08, f"order {order}"


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 10_000, 100_000])
@pytest.mark.parametrize("rho", [0.003, 0.1, 3.0])
def test_the_level_is_kept_in_many_releases(n, rho):
    for order, rate in rejection_rates(n, rho, 150).items():
        assert 0.005 <= rate <= 0.065, f"order {order}"
