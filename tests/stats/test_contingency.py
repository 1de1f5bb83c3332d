"""The chi-square tests against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from skdp.stats import chi2_pvalue, g2_pvalue

TESTS = pytest.mark.parametrize(
    "pvalue, power", [(chi2_pvalue, "pearson"), (g2_pvalue, "log-likelihood")]
)


def by_scipy(tables, power):
    """Sum statistics and degrees of freedom over strata, without their empty levels."""
    statistic = degrees = 0
    for table in tables:
        table = table[table.any(axis=1)][:, table.any(axis=0)]
        if min(table.shape) > 1:
            test = stats.chi2_contingency(table, correction=False, lambda_=power)
            statistic, degrees = statistic + test.statistic, degrees + test.dof
    return stats.chi2.sf(statistic, degrees) if degrees else 1.0


@TESTS
@pytest.mark.parametrize("shape", [(1, 2, 2), (1, 4, 3), (5, 3, 2), (40, 2, 2)])
@pytest.mark.parametrize("mean", [0.4, 2.0, 50.0])
def test_pvalues_agree_with_scipy(pvalue, power, shape, mean):
    rng = np.random.default_rng(0)
    for tables in rng.poisson(mean, size=(10, *shape)):
        expected = by_scipy(tables, power)
        assert pvalue(tables) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@TESTS
def test_strong_dependence_has_a_tiny_pvalue(pvalue, power):
    tables = np.array([[[400, 5], [3, 500]]])
    assert 0 < pvalue(tables) < 1e-100
    assert pvalue(tables) == pytest.approx(by_scipy(tables, power), rel=1e-6)


@TESTS
def test_tables_that_cannot_tell_have_pvalue_one(pvalue, power):
    for tables in (
        np.zeros((3, 2, 2), dtype=np.int64),
        np.array([[[4, 7]]]),
        np.array([[[4, 7], [0, 0]], [[0, 3], [0, 1]]]),
        np.array([[[10, 20], [30, 60]]]),  # proportional: the statistic is 0
    ):
        assert pvalue(tables) == pytest.approx(1.0)


@TESTS
def test_empty_levels_and_strata_do_not_count(pvalue, power):
    tables = np.array([[[5, 9], [8, 2]], [[3, 1], [1, 6]]])
    padded = np.zeros((3, 3, 4), dtype=np.int64)
    padded[:2, ::2, 1:3] = tables
    assert pvalue(padded) == pytest.approx(pvalue(tables), rel=1e-12)
