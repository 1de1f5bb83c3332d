"""Schemas read off tables, and the warning that comes with them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from skdp.exceptions import PrivacyLeakWarning, SchemaError
from skdp.records import Categorical, Numeric, Ordinal, Schema, infer_schema


def infer_one(values, dtype=None):
    column = np.asarray(values, dtype=dtype).reshape(-1, 1)
    return infer_schema(column, names=["x"], warn=False)["x"]


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([0.5, -1.0], Numeric("x", -1, 0.5)),
        ([2.0, 2.0], Numeric("x", 1.5, 2.5)),
        ([3, -1], Ordinal("x", (-1, 0, 1, 2, 3))),
        ([7], Ordinal("x", (7,))),
        ([0, 63], Ordinal("x", tuple(range(64)))),
        ([0, 64], Numeric("x", 0, 64)),
        (["b", "a", "b"], Categorical("x", ("a", "b"))),
        ([True, True], Categorical("x", (False, True))),
    ],
)
def test_rules(values, column):
    assert infer_one(values) == column
    assert infer_one(values, dtype=object) == column


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "u8"])
def test_full_range_of_integers(dtype):
    ends = np.iinfo(dtype).min, np.iinfo(dtype).max
    column = infer_one(ends, dtype=dtype)
    assert column.encode(np.array(ends, dtype=dtype)).tolist() == [0, 9]


@pytest.mark.parametrize("value", [0.0, 1e-300, 5e11, 1e15, -1e300])
def test_columns_that_hardly_vary_are_widened(value):
    for values in ([value], [value, np.nextafter(value, np.inf)]):
        column = infer_one(values)
        assert column.low < value < column.high


def test_every_value_has_a_code_in_the_schema_read_off_it():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=50), rng.integers(-9, 9, 50), rng.random(9) > 0.5):
        assert infer_one(values).encode(values).min() >= 0


@pytest.mark.parametrize("missing", [np.nan, None])
@pytest.mark.parametrize("others", [[1.0], [1], ["a"], [True]])
def test_missing_values_are_refused(missing, others):
    with pytest.raises(SchemaError, match="'x' contains NaN.*missing=True"):
        infer_one([*others, missing], dtype=object)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, object])
def test_nan_and_infinity_are_named(dtype):
    with pytest.raises(SchemaError, match="'x' contains NaN"):
        infer_one([1.0, np.nan], dtype=dtype)
    with pytest.raises(SchemaError, match="'x' contains infinity"):
        infer_one([1.0, -np.inf], dtype=dtype)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, "a"], "'x' holds values of the types int, str"),
        ([True, 1], "types bool, int"),
        ([{"a": 1}, {}], "type.* dict"),
        ([1j, 1.0], "Complex data not supported"),
        ([10**30, 1], "64 bits"),
        ([b"a", b"b"], "types bytes"),
    ],
)
def test_mixed_and_odd_objects_are_refused(values, message):
    with pytest.raises(SchemaError, match=message):
        infer_one(values, dtype=object)


def test_complex_and_dates_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported"):
        infer_one([1j])
    with pytest.raises(SchemaError, match="dates"):
        infer_one(["2020-01-01"], dtype="M8[D]")


def test_no_records():
    with pytest.raises(SchemaError, match=r"0 sample\(s\).*minimum of 1"):
        infer_one([])


def test_one_warning_names_every_column_and_the_remedy():
    table = [[0.5, "a", 1], [0.7, "b", 2]]
    with pytest.warns(PrivacyLeakWarning) as caught:
        Schema.from_frame(table)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert all(name in message for name in ("'x0'", "'x1'", "'x2'", "schema="))
    assert caught[0].filename == __file__


def test_warning_can_be_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = Schema.from_frame([[1]], warn=False)
    assert schema.shape == (1,)


def test_names_must_fit():
    with pytest.raises(SchemaError, match="1 names were given for 2 columns"):
        infer_schema([[1, 2]], names=["a"])


class TestPandas:
    pandas = pytest.importorskip("pandas")

    def test_categories_are_schema_and_no_leak(self):
        pandas = self.pandas
        frame = pandas.DataFrame(
            {
                "a": pandas.Categorical(["u"], ["v", "u"]),
                "b": pandas.Categorical(["lo"], ["lo", "hi"], ordered=True),
                "c": pandas.Categorical([3], [3, 1]),
            }
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            schema = infer_schema(frame)
        assert schema == Schema(
            [
                Categorical("a", ("v", "u")),
                Ordinal("b", ("lo", "hi")),
                Categorical("c", (3, 1)),
            ]
        )

    def test_only_columns_read_off_are_named(self):
        frame = self.pandas.DataFrame({"safe": ["a"], "leak": [1]})
        frame["safe"] = frame["safe"].astype("category")
        with pytest.warns(PrivacyLeakWarning, match="'leak'") as caught:
            infer_schema(frame)
        assert "'safe'" not in str(caught[0].message)

    @pytest.mark.parametrize(
        ("dtype", "values", "column"),
        [
            ("Int64", [1, 2], Ordinal("x", (1, 2))),
            ("Float64", [0, 1], Numeric("x", 0, 1)),
            ("boolean", [True, True], Categorical("x", (False, True))),
            ("string", ["b", "a"], Categorical("x", ("a", "b"))),
            ("str", ["b", "a"], Categorical("x", ("a", "b"))),
            ("object", ["b", "a"], Categorical("x", ("a", "b"))),
        ],
    )
    def test_nullable_types(self, dtype, values, column):
        frame = self.pandas.DataFrame({"x": self.pandas.array(values, dtype=dtype)})
        assert infer_schema(frame, warn=False) == Schema([column])
        frame = self.pandas.DataFrame(
            {"x": self.pandas.array([*values, None], dtype=dtype)}
        )
        with pytest.raises(SchemaError, match="'x' contains NaN"):
            infer_schema(frame, warn=False)

    def test_categories_without_a_json_form_are_refused(self):
        frame = self.pandas.DataFrame({"x": self.pandas.cut([1, 2, 3], 2)})
        with pytest.raises(SchemaError, match="'x'.*Interval.*Rename"):
            infer_schema(frame)
