"""Dependence scores as queries: what they read, and their bounds in closed form."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from skdp.queries import (
    KendallDependence,
    NormalizedKendallDependence,
    PublicFacts,
    SpearmanDependence,
)
from skdp.records import Categorical, CountTable, Numeric, Schema
from skdp.stats import null_scale

KINDS = [KendallDependence, NormalizedKendallDependence, SpearmanDependence]
KIND = pytest.mark.parametrize("kind", KINDS)


def facts(n, x, y=None, z=1, w=1):
    """Return public facts for columns x, y, z, w of so many levels."""
    sizes = {"x": x, "y": y or x, "z": z, "w": w}
    return PublicFacts(n, Schema([Numeric(s, 0, 1, k) for s, k in sizes.items()]))


def bound(kind, n, levels, n_strata=1):
    return kind("x", "y", ("z",)).sensitivity(facts(n, levels, z=n_strata))


# What is read -----------------------------------------------------------------


@KIND
def test_the_score_is_that_of_the_strata(kind):
    public = facts(80, 3, 4, z=2, w=3)
    codes = np.random.default_rng(0).integers(0, public.schema.shape, size=(80, 4))
    records = CountTable.from_codes(codes, public.schema)
    query = kind("y", "x", ("w", "z"))
    tables = np.zeros((6, 4, 3), dtype=np.int64)
    np.add.at(tables, (codes[:, 3] * 2 + codes[:, 2], codes[:, 1], codes[:, 0]), 1)
    assert query.n_strata(public) == 6
    assert query.levels(public) == (4, 3)
    assert query.evaluate(records) == kind.score(tables, 80)
    assert query.evaluate(records).shape == query.shape(public) == ()


@KIND
def test_more_strata_than_records_do_not_matter_to_the_score(kind):
    public = facts(30, 3, 3, z=200, w=300)  # too many cells for a dense stack
    codes = np.random.default_rng(1).integers(0, (3, 3, 4, 2), size=(30, 4))
    few = facts(30, 3, 3, z=4, w=2)
    query = kind("x", "y", ("z", "w"))
    large, small = (
        query.evaluate(CountTable.from_codes(codes, p.schema)) for p in (public, few)
    )
    assert large == pytest.approx(float(small), rel=1e-12)
    assert query.n_strata(public) == 60_000


@KIND
def test_a_single_conditioning_column_may_be_a_string(kind):
    assert kind("x", "y", "z") == kind("x", "y", ["z"]) == kind("x", "y", ("z",))
    assert kind("x", "y", "z").columns == ("x", "y", "z")


@KIND
@pytest.mark.parametrize("names", ["xx", "xyx", "xyzz"])
def test_columns_named_twice_are_refused(kind, names):
    with pytest.raises(ValueError, match="named twice"):
        kind(names[0], names[1], tuple(names[2:]))


# Bounds -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_kendall_in_closed_form(n):
    root = sqrt(n)
    kendall = KendallDependence
    assert bound(kind=kendall, n=n, levels=3) == pytest.approx(6 * (n - 1) / n / root)
    assert bound(kendall, n, 2) == pytest.approx(3 * (n - 1) / n / root)
    any_levels = 1.5 * max(6 - 16 / (n + 1), 4 - 4 / n) / root
    assert bound(kendall, n, 10**6, 5) == pytest.approx(any_levels)
    assert bound(kendall, n, 3, 5) == pytest.approx(min(any_levels, 7.5 / root))
    assert bound(kendall, n, 2, 5) == pytest.approx(min(any_levels, 6 / root))


def test_normalized_kendall_in_closed_form():
    kind = NormalizedKendallDependence
    n = 100
    one = 6 * sqrt(2) * sqrt((n - 1) / (n * (2 * n + 5)))
    assert bound(kind, n, 7) == pytest.approx(one)
    assert bound(kind, n, 2) == pytest.approx(one / 2)

    def weight(m):
        return 9 * m * (m - 1) / (2 * (2 * m + 5))

    spread = sqrt(2 * weight(33) + weight(34))
    assert bound(kind, n, 10**6, 3) == pytest.approx(13.5 / spread, rel=1e-5)
    assert bound(kind, n, 2, 3) == pytest.approx(9 / spread)
    assert bound(kind, n, 3, 3) == pytest.approx(11.25 / spread)
    assert bound(kind, n, 3, 100) == 2.0887
    assert bound(kind, 3, 3, 100) == pytest.approx(sqrt(weight(3)))
    assert bound(kind, 2, 3, 10**12) == pytest.approx(1.0)
    countless = kind("x", "y", ("z", "w")).sensitivity(facts(9, 3, z=10**12, w=10**12))
    assert countless == 2.0887


@pytest.mark.parametrize("n", [2, 10, 1000])
def test_spearman_in_closed_form(n):
    within = 6 * (n - 1) / (n + 1) / sqrt(n)
    assert bound(SpearmanDependence, n, 3) == pytest.approx(within)
    assert bound(SpearmanDependence, n, 2) == pytest.approx(within / 2)
    between = max(within, (10 - 48 / (n + 3)) / sqrt(n))
    assert bound(SpearmanDependence, n, 3, 2) == pytest.approx(between)
    binary = max(within / 2, 6 * (n - 1) / (n + 3) / sqrt(n))
    assert bound(SpearmanDependence, n, 2, 2) == pytest.approx(binary)


@KIND
def test_only_the_schema_decides(kind):
    # Declared strata count whether they are filled or not, and so do levels.
    query = kind("x", "y", ("z", "w"))
    assert query.sensitivity(facts(50, 2)) < query.sensitivity(facts(50, 2, z=2))
    assert query.sensitivity(facts(50, 2, z=2)) <= query.sensitivity(facts(50, 3, z=2))
    assert query.sensitivity(facts(50, 2, 9)) >= query.sensitivity(facts(50, 2, 2))


@KIND
def test_what_is_constant_has_no_sensitivity(kind):
    query = kind("x", "y", ("z",))
    assert query.sensitivity(facts(50, 1, 5, z=3)) == 0
    assert query.sensitivity(facts(1, 3, z=3)) == 0


# Scale under independence -----------------------------------------------------


@KIND
def test_the_null_scale_comes_from_the_schema(kind):
    public = facts(40, 2, 3, z=8)
    per_record = 8 / 40 if kind is KendallDependence else 0.0
    expected = null_scale(2, 3, per_record)
    assert kind("x", "y", ("z",)).null_scale(public) == pytest.approx(expected)


def test_more_records_than_pairs_can_count_are_refused() -> None:
    schema = Schema([Categorical("a", (0, 1)), Categorical("b", (0, 1))])
    query = KendallDependence("a", "b")
    query.check(PublicFacts(3_000_000_000, schema))
    with pytest.raises(ValueError, match="64 bits"):
        query.check(PublicFacts(3_000_000_001, schema))
