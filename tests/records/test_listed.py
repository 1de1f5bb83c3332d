"""Columns of listed levels: what may be declared, and values to codes and back."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.exceptions import SchemaError
from skdp.records import Categorical, Numeric, Ordinal

repeatable = settings(derandomize=True, deadline=None, max_examples=60)

texts = st.text(max_size=6)
integers = st.integers(-(2**70), 2**70)
floats = st.floats(allow_nan=False, allow_infinity=False)
category_lists = st.one_of(
    *(
        st.lists(kind, min_size=1, max_size=8, unique=True)
        for kind in (texts, integers, st.integers(-50, 50), floats, st.booleans())
    ),
    st.lists(st.one_of(texts, integers, floats), min_size=1, max_size=8, unique=True),
)


def as_objects(values) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@repeatable
@given(category_lists, st.data())
def test_listed_levels_round_trip(categories, data):
    column = data.draw(st.sampled_from([Categorical, Ordinal]))("x", categories)
    codes = data.draw(st.lists(st.integers(0, len(categories) - 1), max_size=20))
    decoded = column.decode(np.array(codes, dtype=int))
    assert decoded.tolist() == [categories[code] for code in codes]
    assert column.encode(decoded).tolist() == codes
    assert column.encode(as_objects(decoded.tolist())).tolist() == codes


@repeatable
@given(category_lists, st.lists(st.one_of(texts, integers, floats), max_size=20))
def test_every_kind_of_array_agrees_with_equality_in_python(categories, values):
    column = Categorical("x", categories, outside="other")
    arrays = [as_objects(values)]
    if len({type(v) for v in values}) == 1 and isinstance(values[0], float | int):
        arrays.append(np.array(values))
    for array in arrays:
        expected = [
            column.categories.index(v) if v in column.categories else len(categories)
            for v in array.tolist()
        ]
        assert column.encode(array).tolist() == expected


@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "?", "O"]
)
@pytest.mark.parametrize("categories", [(0, 1), (1.0, 0.0), (True, False), (1, 0.0)])
def test_numbers_of_any_type_match_equal_levels(dtype, categories):
    values = np.array([0, 1, 1, 0]).astype(dtype)
    expected = [categories.index(v) for v in (0, 1, 1, 0)]
    assert Categorical("x", categories).encode(values).tolist() == expected


@pytest.mark.parametrize(
    ("categories", "values"),
    [
        ((2**53,), np.array([2.0**53 + 2])),
        ((2**53 + 1,), np.array([2.0**53])),
        ((2**63,), np.array([-(2**63)])),
        ((0,), np.array([2**64 - 1], dtype=np.uint64)),
        ((-1,), np.array([255], dtype=np.uint8)),
        ((-(2**62), 2**62), np.array([0])),
        ((1,), np.array(["1"])),
        (("1",), np.array([1])),
        (("a\0",), np.array(["a"])),
        ((0, 70_000), np.array([1, 69_999])),
        (("ab", "b"), np.array(["a", "abc", ""])),
    ],
)
def test_values_that_only_look_equal_are_refused(categories, values):
    with pytest.raises(SchemaError, match="'x'.*not among its categories"):
        Categorical("x", categories).encode(values)


def test_integers_beyond_every_float_match_exactly():
    column = Categorical("x", (2**53 + 1, 2**64 - 1, -(2**63)))
    values = np.array([2**64 - 1, 2**53 + 1], dtype=np.uint64)
    assert column.encode(values).tolist() == [1, 0]
    assert column.encode(np.array([-(2**63)])).tolist() == [2]


def test_other_and_missing_come_after_the_categories():
    column = Ordinal("x", ("a", "other"), outside="other", missing=True)
    assert column.n_levels == 4
    assert column.levels == ("a", "other", "other_", None)
    values = np.array(["other", None, "?", "a", np.nan, 3], dtype=object)
    assert column.encode(values).tolist() == [1, 3, 2, 0, 3, 2]
    assert column.decode(np.arange(4)).tolist() == ["a", "other", "other_", None]


@pytest.mark.parametrize("value", [None, np.nan, float("nan"), np.float32("nan")])
@pytest.mark.parametrize(
    "make",
    [lambda **k: Categorical("x", (0, 1), **k), lambda **k: Numeric("x", 0, 1, **k)],
)
def test_missing_is_refused_unless_declared(make, value):
    values = np.array([0, value, 1], dtype=object)
    with pytest.raises(SchemaError, match="'x' contains NaN.*missing=True"):
        make().encode(values)
    column = make(missing=True)
    assert column.encode(values)[1] == column.n_levels - 1
    assert column.levels[-1] is None


def test_other_does_not_take_missing_values():
    column = Categorical("x", (0, 1), outside="other")
    with pytest.raises(SchemaError, match="NaN"):
        column.encode(np.array([0.0, np.nan]))


@repeatable
@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=8, unique=True),
    st.lists(st.floats(-2000, 2000), max_size=20),
)
def test_clip_goes_to_the_nearest_category_ties_down(categories, values):
    codes = Ordinal("x", categories, outside="clip").encode(np.array(values, float))
    for value, code in zip(values, codes, strict=True):
        nearest = min(categories, key=lambda c: (abs(c - value), c))
        assert categories[code] == nearest


def test_clip_takes_infinity_but_no_text():
    column = Ordinal("x", (3, 1, 2), outside="clip")
    assert column.encode(np.array([-np.inf, np.inf])).tolist() == [1, 0]
    with pytest.raises(SchemaError, match="'x'.*other values"):
        column.encode(np.array(["2"]))
    for categories in [("a", "b"), (False, True)]:
        with pytest.raises(SchemaError, match="'x'.*clip"):
            Ordinal("x", categories, outside="clip")


def test_errors_show_few_values_and_none_of_them_whole():
    values = np.array([f"{i}-" + "secret" * 100 for i in range(50)])
    with pytest.raises(SchemaError) as error:
        Categorical("x", ("a",)).encode(values)
    assert len(str(error.value)) < 350
    assert str(error.value).count("secret") < 20


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1j]), "Complex data not supported"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "dates"),
        (np.array([1], dtype="m8[s]"), "time spans"),
        (np.array([b"a"]), "bytes"),
        (np.zeros(2, dtype=[("a", int)]), "structured"),
        (np.zeros((2, 1)), "1-d"),
        (np.array(1.0), "1-d"),
        (5, "1-d array"),
        ("text", "1-d array"),
        (np.ma.masked_array([1.0], [True]), "masked"),
        (as_objects([[1, 2], [3]]), "containers"),
        (as_objects([{"a": 1}]), "containers"),
    ],
)
def test_values_of_other_kinds_are_refused(values, message):
    with pytest.raises(SchemaError, match=message):
        Categorical("x", (0, 1)).encode(values)


def test_lists_and_numpy_scalars_and_empty_arrays():
    column = Categorical("x", np.array(["a", "b"]))
    assert type(column.categories[0]) is str
    assert column.encode(["b", "a"]).tolist() == [1, 0]
    assert column.encode(np.array([], dtype=float)).tolist() == []
    assert column.decode([]).tolist() == []
    dtypes = getattr(np.dtypes, "StringDType", None)
    if dtypes is not None:
        assert column.encode(np.array(["b"], dtype=dtypes())).tolist() == [1]


@pytest.mark.parametrize("codes", [[-1], [2], [0.0], ["0"]])
def test_decode_refuses_codes_of_no_level(codes):
    for column in (Categorical("x", (0, 1)), Numeric("x", 0, 1, bins=2)):
        with pytest.raises(SchemaError, match="'x'.*codes"):
            column.decode(np.array(codes))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categorical(3, ("a",)), "name must be a str"),
        (lambda: Categorical("x", ()), "at least one"),
        (lambda: Categorical("x", "ab"), "list of levels"),
        (lambda: Categorical("x", 3), "list of levels"),
        (lambda: Categorical("x", ("a", "a")), "twice"),
        (lambda: Categorical("x", (1, True)), "twice"),
        (lambda: Categorical("x", ("a", None)), "missing=True"),
        (lambda: Categorical("x", (0.0, np.nan)), "missing=True"),
        (lambda: Categorical("x", (0.0, np.inf)), "infinity"),
        (lambda: Categorical("x", ((1, 2),)), "tuple"),
        (lambda: Categorical("x", ("a",), outside="clip"), "outside"),
        (lambda: Ordinal("x", ("a",), outside="drop"), "outside"),
        (lambda: Numeric("x", 1, 1), "low < high"),
        (lambda: Numeric("x", 2, 1), "low < high"),
        (lambda: Numeric("x", np.nan, 1), "finite"),
        (lambda: Numeric("x", -np.inf, 1), "finite"),
        (lambda: Numeric("x", -1.7e308, 1.7e308), "finite"),
        (lambda: Numeric("x", 0, 10**400), "finite"),
        (lambda: Numeric("x", "0", "1"), "finite"),
        (lambda: Numeric("x", 0, 1, bins=0), "bins"),
        (lambda: Numeric("x", 0, 1, bins=2.0), "bins"),
        (lambda: Numeric("x", 0, 1, bins=True), "bins"),
        (lambda: Numeric("x", 1, np.nextafter(1, 2)), "narrower"),
        (lambda: Numeric("x", 0, 1, outside="other"), "outside"),
    ],
)
def test_wrong_declarations_are_refused(make, message):
    with pytest.raises(SchemaError, match=message):
        make()


@pytest.mark.parametrize(
    "column",
    [
        Categorical("x", ["a", "b"]),
        Ordinal("x", [1, 2], outside="clip", missing=True),
        Numeric("x", np.float32(0), np.int64(2), np.int8(4), missing=True),
    ],
)
def test_columns_are_values(column):
    copy = pickle.loads(pickle.dumps(column))
    assert copy == column
    assert hash(copy) == hash(column)
    with pytest.raises(AttributeError):
        column.name = "y"


def test_kinds_of_column_differ():
    assert Categorical("x", (0, 1)) != Ordinal("x", (0, 1))
    assert [c.ordered for c in (Categorical("x", (0,)), Ordinal("x", (0,)))] == [
        False,
        True,
    ]
