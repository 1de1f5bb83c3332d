"""Schemas: lookup, selection, JSON."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.exceptions import SchemaError
from skdp.records import Categorical, Numeric, Ordinal, Schema

repeatable = settings(derandomize=True, deadline=None, max_examples=60)

levels = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=5),
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
)
categories = st.lists(levels, min_size=1, max_size=6, unique=True)


@st.composite
def any_column(draw, name):
    kind = draw(st.sampled_from(["categorical", "ordinal", "numeric"]))
    missing = draw(st.booleans())
    if kind == "numeric":
        low, bins = draw(st.floats(-1e6, 1e6)), draw(st.integers(1, 100))
        outside = draw(st.sampled_from(["clip", "refuse"]))
        high = low + draw(st.floats(1e-3, 1e6))
        return Numeric(name, low, high, bins, outside=outside, missing=missing)
    make = Categorical if kind == "categorical" else Ordinal
    outside = draw(st.sampled_from(["refuse", "other"]))
    return make(name, draw(categories), outside=outside, missing=missing)


@st.composite
def schemas(draw):
    names = draw(st.lists(st.text(max_size=4), max_size=6, unique=True))
    return Schema([draw(any_column(name)) for name in names])


def typed(schema):
    """The fields of all columns, with the types that equality forgets."""
    return [
        [(type(part), repr(part)) for part in (c, *getattr(c, "categories", ()))]
        for c in schema
    ]


@repeatable
@given(schemas())
def test_json_and_pickle_round_trip_exactly(schema):
    for copy in (
        Schema.from_json(schema.to_json()),
        pickle.loads(pickle.dumps(schema)),
    ):
        assert copy == schema
        assert hash(copy) == hash(schema)
        assert typed(copy) == typed(schema)
    json.loads(schema.to_json(), parse_constant=pytest.fail)


@pytest.fixture
def schema():
    return Schema(
        [
            Categorical("a", ("u", "v")),
            Ordinal("b", (1, 2, 3), outside="other", missing=True),
            Numeric("c", 0, 1, bins=4),
        ]
    )


def test_lookup(schema):
    assert schema.names == ("a", "b", "c")
    assert schema.shape == (2, 5, 4)
    assert schema.size == 40
    assert schema.n_levels("b") == 5
    assert schema["c"] == Numeric("c", 0, 1, bins=4)
    assert "a" in schema
    assert "z" not in schema
    assert len(schema) == 3
    assert [column.name for column in schema] == ["a", "b", "c"]
    assert repr(schema) == "Schema(a: Categorical(2), b: Ordinal(5), c: Numeric(4))"


def test_select_keeps_the_order_asked_for(schema):
    assert schema.select(["c", "a"]).names == ("c", "a")
    assert schema.select(()).size == 1
    with pytest.raises(SchemaError, match="Duplicate column names: 'a'"):
        schema.select(["a", "a"])
    with pytest.raises(SchemaError, match="no column 'z'.*'a', 'b', 'c'"):
        schema.select(["a", "z"])
    with pytest.raises(SchemaError, match="no column"):
        schema[["a"]]


def test_size_is_exact_however_large():
    schema = Schema(Numeric(f"x{j}", 0, 1, bins=1000) for j in range(50))
    assert schema.size == 10**150
    assert len(repr(schema)) < 300


def test_wrong_columns_are_refused():
    with pytest.raises(SchemaError, match="Duplicate column names: 'a', 'b'"):
        Schema([Categorical(name, (0, 1)) for name in "abab"])
    with pytest.raises(SchemaError, match="not str"):
        Schema(["a"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"skdp_schema": 1}',
        '{"skdp_schema": 1, "columns": [{}]}',
        '{"skdp_schema": 1, "columns": [3]}',
        '{"skdp_schema": 1, "columns": [{"type": "blob", "name": "a"}]}',
        '{"skdp_schema": 1, "columns": [{"type": "numeric", "name": "a", "high": 1}]}',
        '{"skdp_schema": 1, "columns": [{"type": ["numeric"]}]}',
        '{"skdp_schema": 2, "columns": []}',
    ],
)
def test_other_json_is_refused(text):
    with pytest.raises(SchemaError, match="schema|Schema"):
        Schema.from_json(text)


def test_from_frame_is_inference():
    frame = np.array([[0, 5], [1, 6]])
    schema = Schema.from_frame(frame, warn=False)
    assert schema == Schema([Ordinal("x0", (0, 1)), Ordinal("x1", (5, 6))])
