"""The sensitivities of parents' scores: over all neighbours, and where they are met."""

from math import inf, log2

import numpy as np
import pytest

from skdp.exceptions import SchemaError
from skdp.queries import ParentInformation, ParentVariation, PublicFacts
from skdp.records import CountTable, Ordinal, Schema
from skdp.stats.parent_scores import information_of_table, variation_of_table

KINDS = [ParentInformation, ParentVariation]


def facts(n, *sizes):
    schema = Schema([Ordinal(c, range(k)) for c, k in zip("xyz", sizes, strict=False)])
    return PublicFacts(n, schema)


def count_tables(n, n_cells):
    """Yield every way to put n records into the cells."""
    if n_cells == 1:
        yield [n]
        return
    for first in range(n + 1):
        for rest in count_tables(n - first, n_cells - 1):
            yield [first, *rest]


def scores(kind, tables, n):
    """Score many tables (axes 0: table) by formulas of their own."""
    rows, columns = (tables.sum(axis=axis, keepdims=True) for axis in (2, 1))
    if kind is ParentVariation:
        return abs(n * tables - rows * columns).sum(axis=(1, 2)) * 1.0
    product = np.where(tables > 0, rows * columns, 1)
    ratio = np.where(tables > 0, n * tables, 1) / product
    return (tables * np.log2(ratio)).sum(axis=(1, 2)) / n


def largest_change(kind, n, shape):
    n_cells = int(np.prod(shape))
    common = np.array(list(count_tables(n - 1, n_cells)))
    tables = (common[:, None] + np.eye(n_cells, dtype=int)).reshape(-1, *shape)
    return np.ptp(scores(kind, tables, n).reshape(-1, n_cells), axis=1).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "most"),
    [((2, 2), 14), ((2, 3), 9), ((2, 4), 7), ((3, 3), 7), ((3, 4), 5)],
)
def test_no_neighbours_exceed_the_bound(kind, shape, most):
    for n in range(1, most + 1):
        public, query = facts(n, *shape), kind([("x", "y")])
        bound = query.sensitivity(public, inf)
        found = largest_change(kind, n, shape)
        assert found <= bound + 1e-12
        # Attained; by the variation of larger tables in the limit only, see below.
        if (kind is ParentInformation or shape[0] == 2) and n > 1:
            assert found == pytest.approx(bound, rel=1e-12)


def published(n, is_binary):
    """Return the bound of Zhang et al. on the mutual information, in bits."""
    if is_binary:
        return log2(n) / n + (n - 1) / n * log2(n / (n - 1))
    return 2 / n * log2((n + 1) / 2) + (n - 1) / n * log2((n + 1) / (n - 1))


def test_the_published_bounds():
    query = ParentInformation([("x", "y")])
    for n in (3, 101, 48_843):
        assert query.sensitivity(facts(n, 3, 3)) == pytest.approx(published(n, False))
        assert query.sensitivity(facts(n, 2, 3)) == pytest.approx(published(n, True))
        assert query.sensitivity(facts(n, 5, 2)) == pytest.approx(published(n, True))
        assert query.sensitivity(facts(n + 1, 3, 3)) < published(n + 1, False)
        variation = ParentVariation([("x", "y")]).sensitivity(facts(n, 3, 3))
        assert variation / (2 * n * n) == pytest.approx(3 * (n - 1) / n**2)
        assert variation / (2 * n * n) < 3 / n < 3 / n + 2 / n**2


def test_the_bound_of_the_variation_is_met_in_the_limit():
    n, share = 10**7, 0.004
    block = round(share * n)
    table = np.zeros((3, 3), dtype=np.int64)  # levels: a block, one that avoids, rest
    table[0, 0] = block
    table[1, 2] = table[2, 1] = block
    table[2, 2] = n - 1 - table.sum()
    first, second = table.copy(), table.copy()
    first[0, 0] += 1
    second[1, 1] += 1
    change = variation_of_table(first) - variation_of_table(second)
    bound = ParentVariation([("x", "y")]).sensitivity(facts(n, 3, 3))
    assert 0.97 < change / bound <= 1


def test_many_records_attain_the_bound_of_the_information():
    n = 48_842
    table = np.zeros((3, 3), dtype=np.int64)
    table[0, 2], table[2, 0] = (n - 1) // 2, n // 2
    first, second = table.copy(), table.copy()
    first[0, 0] += 1
    second[1, 1] += 1
    change = information_of_table(second) - information_of_table(first)
    query, public = ParentInformation([("x", "y")]), facts(n, 3, 3)
    assert change == pytest.approx(query.sensitivity(public), rel=1e-9)
    # Half of the proved bound is less than what happens.
    assert change > query.sensitivity(public) / 2 + 2 * query.evaluation_error(public)


@pytest.mark.parametrize("kind", KINDS)
def test_joint_levels_of_parents_are_those_of_one_variable(kind):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, (3, 2, 4), size=(50, 3))
    public = facts(50, 3, 2, 4)
    records = CountTable.from_codes(codes, public.schema)
    joint = Schema([Ordinal("x", range(3)), Ordinal("yz", range(8))])
    joined = CountTable.from_codes(
        np.c_[codes[:, 0], codes[:, 1] * 4 + codes[:, 2]], joint
    )
    query = kind([("x", "yz"), ("x", ()), ("y", "x")])
    found = query.evaluate(records)
    assert found.shape == query.shape(public) == (3,)
    assert found[0] == kind([("x", ("yz",))]).evaluate(joined)[0]
    assert found[1] == pytest.approx(0, abs=1e-12)
    assert query.n_affected(public) == 2
    wide, narrow = (kind([c]).sensitivity(public) for c in query.candidates[::2])
    assert query.sensitivity(public, 1) == wide + narrow
    assert query.sensitivity(public, 2) == pytest.approx((wide**2 + narrow**2) ** 0.5)
    assert query.sensitivity(public, inf) == wide > narrow


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused(kind):
    with pytest.raises(ValueError, match="at least one candidate"):
        kind([])
    with pytest.raises(ValueError, match="twice"):
        kind([("x", ("y", "x"))])
    with pytest.raises(SchemaError, match="'w'"):
        kind([("x", "w")]).check(facts(5, 2, 2))
    with pytest.raises(ValueError, match="64 bits"):
        kind([("x", "y")]).check(facts(2**30, 2, 2))
    with pytest.raises(ValueError, match="ord must be"):
        kind([("x", "y")]).sensitivity(facts(5, 2, 2), 3)
