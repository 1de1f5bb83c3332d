"""The level of every test on noisy tables, and the factor that keeps it.

All variables are independent, with mixed numbers of levels and rare ones, so that every
rejection is a false one.
"""

from __future__ import annotations

from itertools import combinations
from math import exp

import numpy as np
import pytest

from skdp.stats.noisy_tables import (
    both_tests,
    cmh_test,
    kendall_test,
    strata_chi2_test,
    total_variation_test,
)
from skdp.stats.null_calibration import noise_inflation
from skdp.stats.projections import project_to_simplex
from skdp.stats.released_tables import ReleasedTable

TESTS = {
    "cmh": cmh_test,
    "kendall": kendall_test,
    "total_variation": total_variation_test,
    "strata_chi2": strata_chi2_test,
    "both": both_tests,
}

#: Shares of the levels: common and rare ones, of two, three and four.
MARGINS = [
    [0.5, 0.5],
    [0.02, 0.98],
    [0.6, 0.3, 0.1],
    [0.25, 0.25, 0.25, 0.25],
    [0.9, 0.08, 0.02],
]
NAMES = tuple("abcde")


def independent(margins):
    """Return the joint law of independent variables."""
    joint = np.array(1.0)
    for margin in margins:
        joint = np.multiply.outer(joint, margin)
    return joint


def laplace_noise(epsilon, shape, rng):
    """Draw discrete Laplace noise; return it and its variance."""
    a = exp(-epsilon / 2)
    noise = rng.geometric(1 - a, shape) - rng.geometric(1 - a, shape)
    return noise, 2 * a / (1 - a) ** 2


def released(joint, n, epsilon, rng, names=NAMES):
    counts = rng.multinomial(n, joint.ravel()).reshape(joint.shape)
    noise, variance = laplace_noise(epsilon, joint.shape, rng)
    return ReleasedTable(names, (counts + noise).astype(float), variance)


DENOISE = {
    None: lambda table, n: table,
    "full": lambda table, n: table.projected(n),
    "calibrated": lambda table, n: table.calibrated(n),
}


def rejection_rates(n, epsilon, n_releases, seed=0, denoise=tuple(DENOISE)):
    """Return the share of p-values below .05, by (denoise, test, order)."""
    joint, rng = independent(MARGINS), np.random.default_rng(seed)
    questions = [
        (x, y, given)
        for x, y in combinations(NAMES, 2)
        for given in [(), *((z,) for z in NAMES if z not in (x, y))]
    ]
    rejected = {}
    for _ in range(n_releases):
        table = released(joint, n, epsilon, rng)
        for how in denoise:
            clean = DENOISE[how](table, n)
            for x, y, given in questions:
                strata = clean.strata(x, y, given)
                for name, test in TESTS.items():
                    found = rejected.setdefault((how, name, len(given)), [])
                    found.append(test(*strata).p_value <= 0.05)
    return {key: float(np.mean(values)) for key, values in rejected.items()}


# The level ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "epsilon"), [(1000, 3.0), (10_000, 0.3)])
def test_the_level_of_every_test(n, epsilon):
    for (how, test, order), rate in rejection_rates(n, epsilon, 10).items():
        # 100 dependent p-values of order 0, 300 of order 1.
        most = 0.18 if how == "full" else 0.12
        assert rate <= most, (how, test, order)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1000, 10_000, 100_000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_level_of_every_test_in_many_releases(n, epsilon):
    for (how, test, order), rate in rejection_rates(n, epsilon, 80).items():
        most = {None: 0.075, "full": 0.18, "calibrated": 0.075}[how]
        if how == "calibrated" and n * epsilon < 3000:
            most = 0.13  # the noise in all cells is as large as the table
        assert rate <= most, (how, test, order)
        if n * epsilon >= 10_000:  # below, many strata hold no evidence
            assert rate >= 0.02, (how, test, order)


# The factor --------------------------------------------------------------------------


def test_the_factor_is_that_of_other_repetitions():
    margins, n, epsilon = [[0.9, 0.1], [0.6, 0.3, 0.1], [0.97, 0.03]], 2000, 0.2
    joint, rng = independent(margins), np.random.default_rng(3)
    table = released(joint, n, epsilon, rng, "abc")
    found = noise_inflation(table.counts, table.variance, n)
    assert set(found) == {(0, 1), (0, 2), (1, 2)}
    residuals, positive = {pair: [] for pair in found}, []
    for _ in range(1500):
        again = released(joint, n, epsilon, rng, "abc")
        projected = project_to_simplex(again.counts, n)
        positive.append((projected > 0).mean())
        for i, j in found:
            (other,) = {0, 1, 2} - {i, j}
            m = projected.sum(axis=other)
            p, q = m.sum(axis=1) / n, m.sum(axis=0) / n
            D = m - n * np.outer(p, q)
            mixing = [np.eye(len(s)) - np.outer(s, np.ones(len(s))) for s in (p, q)]
            noise = np.prod([np.trace(A @ A.T) for A in mixing]) * joint.shape[other]
            sampling = n * (1 - (p**2).sum()) * (1 - (q**2).sum())
            residuals[i, j].append(((D**2).sum() - sampling, noise))
    for pair, factor in found.items():
        observed, noise = np.mean(residuals[pair], axis=0)
        expected = observed / (noise * table.variance * np.mean(positive))
        assert factor == pytest.approx(expected, rel=0.25), pair


def test_where_no_cell_is_empty_there_is_nothing_to_inflate():
    joint = independent([[0.4, 0.6], [0.3, 0.3, 0.4], [0.5, 0.5]])
    counts = np.random.default_rng(4).multinomial(100_000, joint.ravel())
    counts = counts.reshape(joint.shape).astype(float)
    for factor in noise_inflation(counts, 1e5, 100_000).values():
        assert factor == pytest.approx(1.0, abs=0.25)


def test_a_sparse_table_has_more_noise_than_its_positive_cells_say():
    joint, rng = independent(MARGINS), np.random.default_rng(5)
    table = released(joint, 10_000, 0.1, rng)
    factors = noise_inflation(table.counts, table.variance, 10_000)
    assert all(factor >= 0 for factor in factors.values())
    assert max(factors.values()) > 1.2


def test_it_repeats_itself_and_leaves_other_random_numbers_alone():
    table = released(
        independent(MARGINS[:3]), 500, 1.0, np.random.default_rng(6), "abc"
    )
    state = np.random.get_state()[1].copy()
    one, two = (noise_inflation(table.counts, table.variance, 500) for _ in "ab")
    assert one == two
    np.testing.assert_array_equal(np.random.get_state()[1], state)
