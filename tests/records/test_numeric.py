"""Columns of numbers: bins, ends, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.exceptions import SchemaError
from skdp.records import Numeric

repeatable = settings(derandomize=True, deadline=None, max_examples=60)


@repeatable
@given(
    st.floats(-1e9, 1e9),
    st.floats(1e-3, 1e9),
    st.integers(1, 40),
    st.lists(st.floats(allow_nan=False), max_size=20),
)
def test_numeric_bins(low, width, bins, values):
    column = Numeric("x", low, low + width, bins)
    values = np.array(values, dtype=float)
    codes = column.encode(values)
    edges = column.edges
    inside = (values >= column.low) & (values < column.high)
    assert (edges[codes[inside]] <= values[inside]).all()
    assert (values[inside] < edges[codes[inside] + 1]).all()
    assert (codes[values < column.low] == 0).all()
    assert (codes[values >= column.high] == bins - 1).all()
    every = np.repeat(np.arange(bins), 3)
    assert (column.encode(column.decode(every)) == every).all()
    drawn = column.decode(every, np.random.default_rng(0))
    assert (column.encode(drawn) == every).all()
    assert len(set(column.levels)) == bins


def test_numeric_reads_numbers_of_any_type():
    column = Numeric("x", 0, 4, bins=4)
    for dtype in ["i1", "u8", "f2", "f8", "O"]:
        assert column.encode(np.array([0, 3, 4]).astype(dtype)).tolist() == [0, 3, 3]
    assert column.encode(np.array([True, False])).tolist() == [1, 0]


@pytest.mark.parametrize("values", [["1"], [1, "2"], [1j], [[1]], [(1, 2)]])
def test_numeric_refuses_what_is_no_number(values):
    with pytest.raises(SchemaError, match="'x'"):
        Numeric("x", 0, 4).encode(np.fromiter(values, dtype=object, count=len(values)))


def test_numeric_outside_and_missing():
    refusing = Numeric("x", 0, 1, outside="refuse")
    with pytest.raises(SchemaError, match=r"'x' has values outside \[0, 1\].*1.5"):
        refusing.encode(np.array([0.5, 1.5]))
    column = Numeric("x", 0, 1, bins=2, missing=True)
    assert column.encode(np.array([np.nan, -np.inf, np.inf])).tolist() == [2, 0, 1]
    assert np.isnan(column.decode(np.array([2]))[0])
    assert column.levels == ("[0, 0.5)", "[0.5, 1]", None)


def test_narrow_intervals_have_labels_of_their_own():
    assert len(set(Numeric("x", 1, 1 + 1e-9).levels)) == 10
