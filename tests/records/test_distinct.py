"""Distinct rows against NumPy's own, in narrow and wide domains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.records.distinct import distinct_rows, row_keys, row_ranks, rows_of_keys

repeatable = settings(derandomize=True, deadline=None, max_examples=60)


def readers_of(codes):
    return [codes[:, j].__getitem__ for j in range(codes.shape[1])]


@st.composite
def coded_rows(draw):
    radix = st.sampled_from([1, 2, 3, 200, 2**20, 2**40])
    shape = draw(st.lists(radix, max_size=6))
    # Few distinct rows, so that some repeat.
    row = st.tuples(*(st.integers(0, min(r - 1, 2)) for r in shape))
    rows = draw(st.lists(row, max_size=30))
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(shape))
    # The upper end of every domain as well.
    top = np.array(shape, dtype=np.int64) - 1
    return np.where(codes == 2, top, codes), tuple(shape)


@repeatable
@given(coded_rows())
def test_distinct_rows_agree_with_numpy(case):
    codes, shape = case
    rows, counts = distinct_rows(readers_of(codes), shape, len(codes))
    if len(codes) == 0:
        assert rows.shape == (0, len(shape))
        assert counts.shape == (0,)
    elif not shape:
        assert rows.shape == (1, 0)
        assert counts.tolist() == [len(codes)]
    else:
        expected, expected_counts = np.unique(codes, axis=0, return_counts=True)
        np.testing.assert_array_equal(rows, expected)
        np.testing.assert_array_equal(counts, expected_counts)
    assert counts.dtype == np.int64


@repeatable
@given(coded_rows())
def test_ranks_number_the_rows_in_order(case):
    codes, shape = case
    ranks, rows = row_ranks(readers_of(codes), shape, len(codes))
    np.testing.assert_array_equal(rows[ranks], codes)
    listed = [tuple(row) for row in rows.tolist()]
    assert listed == sorted(set(listed))
    assert set(ranks.tolist()) == set(range(len(rows)))


@repeatable
@given(coded_rows())
def test_keys_round_trip(case):
    codes, shape = case
    if math.prod(shape) <= 2**62:
        keys = row_keys(list(codes.T), shape, len(codes))
        np.testing.assert_array_equal(rows_of_keys(keys, shape), codes)


@pytest.mark.parametrize("shape", [(2, 3, 4), (300, 400), (2**31, 2**31, 5)])
@pytest.mark.parametrize("n", [32_767, 32_768, 32_769, 100_000])
def test_chunks_of_rows_meet(shape, n):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, min(r, 20), n) for r in shape], axis=1)
    rows, counts = distinct_rows(readers_of(codes), shape, n)
    expected, expected_counts = np.unique(codes, axis=0, return_counts=True)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(counts, expected_counts)


def test_more_columns_than_numpy_has_axes():
    codes = np.zeros((3, 100), dtype=np.int64)
    codes[1, 99] = 1
    rows, counts = distinct_rows(readers_of(codes), (2,) * 100, 3)
    assert rows.shape == (2, 100)
    assert counts.tolist() == [2, 1]


def test_codes_are_32_bit_where_they_fit():
    keys = np.array([0, 1])
    assert rows_of_keys(keys, (127,)).dtype == np.int8
    assert rows_of_keys(keys, (2**31 - 1,)).dtype == np.int32
    assert rows_of_keys(keys, (2**31,)).dtype == np.int64
