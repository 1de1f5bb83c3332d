"""Count tables against brute force over the records."""

from __future__ import annotations

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.exceptions import SchemaError
from skdp.records import Categorical, CountTable, Numeric, Ordinal, Schema

repeatable = settings(derandomize=True, deadline=None, max_examples=50)


@st.composite
def coded_records(draw, max_columns=5):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=max_columns))
    rows = draw(
        st.lists(st.tuples(*(st.integers(0, r - 1) for r in shape)), max_size=30)
    )
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(shape))
    schema = Schema(Categorical(f"c{j}", range(r)) for j, r in enumerate(shape))
    return codes, schema


def brute_marginal(codes, schema, names):
    counts = np.zeros([schema.n_levels(name) for name in names], dtype=np.int64)
    places = [schema.names.index(name) for name in names]
    for row in codes:
        counts[tuple(row[places])] += 1
    return counts


@repeatable
@given(coded_records(), st.data())
def test_marginals(case, data):
    codes, schema = case
    records = CountTable.from_codes(codes, schema)
    assert records.n_records == len(codes) == records.counts.sum()
    names = data.draw(st.permutations(schema.names))
    names = names[: data.draw(st.integers(0, len(names)))]
    for _ in range(2):  # the second answer comes from the cache
        answer = records.marginal(names)
        assert answer.dtype == np.int64
        np.testing.assert_array_equal(answer, brute_marginal(codes, schema, names))
        cells, counts = records.occupied(names)
        np.testing.assert_array_equal(cells, np.flatnonzero(answer))
        np.testing.assert_array_equal(counts, answer.ravel()[cells])
        answer += 1  # the caller's own


@repeatable
@given(coded_records(), st.data())
def test_strata(case, data):
    codes, schema = case
    if len(schema) < 2:
        return
    records = CountTable.from_codes(codes, schema)
    x, y, *given = data.draw(st.permutations(schema.names))
    strata = records.strata(x, y, given)
    expected = brute_marginal(codes, schema, [*given, x, y])
    table = schema.select([x, y]).shape
    np.testing.assert_array_equal(strata, expected.reshape(-1, *table))


@repeatable
@given(coded_records(max_columns=4), st.integers(2, 40))
def test_many_strata_are_given_where_they_hold_records(case, wide):
    codes, narrow = case
    if len(narrow) < 2:
        return
    # The same records, with columns that have many more levels than are used.
    x, y, *given = narrow.names
    schema = Schema(
        Numeric(c.name, 0, 1, bins=2**wide) if c.name in given else c for c in narrow
    )
    strata = CountTable.from_codes(codes, schema).strata(x, y, given)
    expected = brute_marginal(codes, narrow, [*given, x, y])
    expected = expected.reshape(-1, *narrow.select([x, y]).shape)
    if schema.size > 2**16:
        expected = expected[expected.sum(axis=(1, 2)) > 0]
        np.testing.assert_array_equal(strata, expected)
    else:
        assert strata.sum() == len(codes)


def test_strata_without_a_condition():
    codes = np.array([[0, 1], [1, 1]])
    schema = Schema([Categorical("a", (0, 1)), Categorical("b", (0, 1, 2))])
    assert CountTable.from_codes(codes, schema).strata("a", "b").shape == (1, 2, 3)


def test_names_are_checked():
    schema = Schema([Categorical(name, (0, 1)) for name in ("a", "b", "ab")])
    records = CountTable.from_codes(np.zeros((1, 3), int), schema)
    with pytest.raises(SchemaError, match="'a'"):
        records.marginal(["a", "a"])
    with pytest.raises(SchemaError, match="'z'"):
        records.marginal(["z"])
    with pytest.raises(SchemaError, match="'z'"):
        records.occupied(["z"])
    with pytest.raises(SchemaError, match=r"\['ab'\]"):
        records.marginal("ab")
    with pytest.raises(SchemaError, match="Duplicate"):
        records.strata("a", "b", ["a"])
    with pytest.raises(SchemaError, match="Duplicate"):
        records.strata("a", "a")


def test_a_marginal_too_large_for_memory_is_refused():
    schema = Schema(Numeric(f"x{j}", 0, 1, bins=1000) for j in range(4))
    records = CountTable.from_codes(np.zeros((1, 4), int), schema)
    with pytest.raises(ValueError, match="1000000000000 cells"):
        records.marginal(schema.names)
    cells, counts = records.occupied(schema.names)
    assert (cells.tolist(), counts.tolist()) == ([0], [1])


def test_domains_beyond_64_bits():
    rng = np.random.default_rng(0)
    shape = [2, 3] + [1000] * 38
    schema = Schema(Numeric(f"x{j}", 0, 1, bins=r) for j, r in enumerate(shape))
    assert schema.size > 2**62
    distinct = rng.integers(0, shape, (50, 40))
    codes = distinct[rng.integers(0, 50, 500)]
    records = CountTable.from_codes(codes, schema)
    rows, counts = np.unique(codes, axis=0, return_counts=True)
    np.testing.assert_array_equal(records.rows, rows)
    np.testing.assert_array_equal(records.counts, counts)
    with pytest.raises(ValueError, match="2\\*\\*62 cells"):
        records.occupied(schema.names)
    given = schema.names[2:]
    strata = records.strata("x0", "x1", given)
    occupied = np.unique(codes[:, 2:], axis=0)
    assert strata.shape == (len(occupied), 2, 3)
    table = np.zeros((2, 3), dtype=int)
    inside = (codes[:, 2:] == occupied[7]).all(axis=1)
    np.add.at(table, tuple(codes[inside, :2].T), 1)
    np.testing.assert_array_equal(strata[7], table)
    pair = records.marginal(["x7", "x3"])
    assert pair.sum() == 500
    assert pair[codes[0, 7], codes[0, 3]] > 0


class TestSubsample:
    schema = Schema([Ordinal("a", (0, 1, 2))])

    def test_law_is_that_of_all_subsets(self):
        values = np.array([0, 0, 0, 1, 1, 2])
        records = CountTable.from_codes(values[:, None], self.schema)
        rng = np.random.default_rng(0)
        n_draws = 6000
        seen: dict[tuple[int, ...], int] = {}
        for _ in range(n_draws):
            counts = tuple(records.subsample(3, rng).marginal(["a"]).tolist())
            seen[counts] = seen.get(counts, 0) + 1
        subsets = list(itertools.combinations(range(6), 3))
        law: dict[tuple[int, ...], float] = {}
        for subset in subsets:
            key = tuple(np.bincount(values[list(subset)], minlength=3).tolist())
            law[key] = law.get(key, 0) + 1 / len(subsets)
        assert seen.keys() == law.keys()
        statistic = sum(
            (seen[k] - n_draws * p) ** 2 / (n_draws * p) for k, p in law.items()
        )
        assert statistic < 3 * len(law)  # chi-square with len(law) - 1 degrees

    @repeatable
    @given(coded_records(), st.data())
    def test_totals_and_bounds(self, case, data):
        codes, schema = case
        records = CountTable.from_codes(codes, schema)
        size = data.draw(st.integers(0, len(codes)))
        sample = records.subsample(size, np.random.default_rng(1))
        assert sample.n_records == size
        assert sample.schema == schema
        assert (sample.counts > 0).all()
        whole = {tuple(r): c for r, c in zip(records.rows, records.counts, strict=True)}
        for row, count in zip(sample.rows, sample.counts, strict=True):
            assert count <= whole[tuple(row)]
        if size == len(codes):
            np.testing.assert_array_equal(sample.rows, records.rows)
            np.testing.assert_array_equal(sample.counts, records.counts)

    @pytest.mark.parametrize("size", [-1, 4, 1.0, True, None])
    def test_other_sizes_are_refused(self, size):
        records = CountTable.from_codes(np.zeros((3, 1), int), self.schema)
        with pytest.raises(ValueError, match="size.*n_records = 3"):
            records.subsample(size, np.random.default_rng(0))


class TestFromCodes:
    schema = Schema([Categorical("a", (0, 1)), Categorical("b", (0, 1, 2))])

    @pytest.mark.parametrize("codes", [[[0, 3]], [[-1, 0]], [[2, 0]], [[0.0, 1.0]]])
    def test_codes_of_no_level_are_refused(self, codes):
        with pytest.raises(SchemaError, match="codes must be integers"):
            CountTable.from_codes(np.array(codes), self.schema)

    @pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 3), (1, 3, 2)])
    def test_other_shapes_are_refused(self, shape):
        with pytest.raises(SchemaError, match=r"\(n, 2\)"):
            CountTable.from_codes(np.zeros(shape, int), self.schema)

    def test_no_records(self):
        records = CountTable.from_codes(np.zeros((0, 2), int), self.schema)
        assert records.n_records == 0
        assert records.marginal(["a", "b"]).tolist() == [[0] * 3] * 2
        assert records.marginal(()) == 0
        assert records.subsample(0, np.random.default_rng(0)).n_records == 0


def test_tables_are_frozen_picklable_and_silent():
    codes = np.array([[1], [1], [0]])
    schema = Schema([Categorical("a", ("no", "secret"))])
    records = CountTable.from_codes(codes, schema)
    before = pickle.dumps(records)
    records.marginal(["a"])
    records.occupied(["a"])
    assert pickle.dumps(records) == before
    copy = pickle.loads(before)
    assert copy.marginal(["a"]).tolist() == [1, 2]
    assert copy.n_records == 3
    with pytest.raises(AttributeError):
        records.counts = None
    with pytest.raises(ValueError, match="read-only"):
        records.counts[0] = 9
    with pytest.raises(ValueError, match="read-only"):
        records.rows[0] = 0
    assert repr(records) == "CountTable(n_records=3, Schema(a: Categorical(2)))"


def test_wrong_parts_are_refused():
    schema = Schema([Categorical("a", (0, 1))])
    with pytest.raises(ValueError, match="shape"):
        CountTable(schema, np.zeros((2, 2), int), np.ones(2, int))


def test_little_is_made_next_to_the_input():
    n, d = 1_500_000, 8
    X = np.random.default_rng(0).integers(0, 4, (n, d), dtype=np.int8)
    X[:, 4:] = X[:, :4]
    schema = Schema(Ordinal(f"x{j}", range(30)) for j in range(d))
    assert math.prod(schema.shape) > n  # one key per record is kept
    tracemalloc.start()
    CountTable.from_frame(X, schema)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * X.nbytes
