"""Tables of every kind become the same count table."""

from __future__ import annotations

import numpy as np
import pytest

from skdp.exceptions import SchemaError
from skdp.records import Categorical, CountTable, Numeric, Ordinal, Schema


class TestFromFrame:
    schema = Schema(
        [
            Categorical("smoker", ("no", "yes"), missing=True),
            Numeric("age", 0, 100, bins=4),
            Ordinal("rooms", (1, 2, 3), outside="clip"),
        ]
    )

    def test_arrays_are_matched_by_position(self):
        X = np.array([["yes", 30, 2], [None, 99.0, 7], ["yes", 30, 2]], dtype=object)
        records = CountTable.from_frame(X, self.schema)
        assert records.schema == self.schema
        assert records.rows.tolist() == [[1, 1, 1], [2, 3, 2]]
        assert records.counts.tolist() == [2, 1]
        with pytest.raises(SchemaError, match="2 columns but the schema has 3"):
            CountTable.from_frame(X[:, :2], self.schema)

    def test_frames_are_matched_by_name(self):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"rooms": [1, 9], "smoker": ["no", None]})
        records = CountTable.from_frame(frame, self.schema)
        assert records.schema == self.schema.select(["rooms", "smoker"])
        assert records.rows.tolist() == [[0, 0], [2, 2]]
        with pytest.raises(SchemaError, match="no column 'pets'"):
            CountTable.from_frame(frame.assign(pets=1), self.schema)

    def test_pandas_categories_are_matched_by_value(self):
        pandas = pytest.importorskip("pandas")
        values = pandas.Categorical(["yes", "no", None], ["unused", "yes", "no"])
        frame = pandas.DataFrame({"smoker": values})
        records = CountTable.from_frame(frame, self.schema)
        assert records.marginal(["smoker"]).tolist() == [1, 1, 1]
        ages = pandas.DataFrame({"age": pandas.Categorical([10, 60, 10])})
        counts = CountTable.from_frame(ages, self.schema).marginal(["age"])
        assert counts.tolist() == [2, 0, 1, 0]

    def test_pandas_categories_outside_are_refused_by_name(self):
        pandas = pytest.importorskip("pandas")
        values = pandas.Categorical(["yes", "pipe"], ["yes", "pipe", "no", "cigar"])
        with pytest.raises(SchemaError, match="'smoker'.*'pipe'") as error:
            CountTable.from_frame(pandas.DataFrame({"smoker": values}), self.schema)
        assert "cigar" not in str(error.value)
        missing = pandas.DataFrame({"age": pandas.Categorical([1, None])})
        with pytest.raises(SchemaError, match="'age' contains NaN"):
            CountTable.from_frame(missing, self.schema)
        nothing = pandas.DataFrame({"age": pandas.Categorical([None])})
        with pytest.raises(SchemaError, match="'age' contains NaN"):
            CountTable.from_frame(nothing, self.schema)

    @pytest.mark.parametrize("dtype", ["str", "string", "object", "category"])
    def test_pandas_text_of_any_type(self, dtype):
        pandas = pytest.importorskip("pandas")
        series = pandas.Series(["yes", None, "no", "yes"], dtype=dtype)
        records = CountTable.from_frame(
            pandas.DataFrame({"smoker": series}), self.schema
        )
        assert records.marginal(["smoker"]).tolist() == [1, 2, 1]

    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "object", "category"])
    def test_pandas_numbers_with_missing_values(self, dtype):
        pandas = pytest.importorskip("pandas")
        schema = Schema([Ordinal("x", (0, 1), missing=True)])
        series = pandas.Series([1, None, 0, 1], dtype=dtype)
        records = CountTable.from_frame(pandas.DataFrame({"x": series}), schema)
        assert records.marginal(["x"]).tolist() == [1, 2, 1]

    def test_nullable_booleans(self):
        pandas = pytest.importorskip("pandas")
        schema = Schema([Categorical("x", (False, True), missing=True)])
        series = pandas.Series([True, None, True], dtype="boolean")
        records = CountTable.from_frame(pandas.DataFrame({"x": series}), schema)
        assert records.marginal(["x"]).tolist() == [0, 2, 1]

    def test_every_kind_of_array_gives_the_same_table(self):
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 3, (1000, 4))
        numbers = Schema(Categorical(f"x{j}", (0, 1, 2)) for j in range(4))
        text = Schema(Categorical(f"x{j}", ("a", "bb", "ccc")) for j in range(4))
        tables = [CountTable.from_codes(codes, numbers)]
        for dtype in ("i1", "u8", "f4", "O"):
            for order in "CF":
                X = codes.astype(dtype, order=order)
                tables.append(CountTable.from_frame(X, numbers))
        words = np.array(["a", "bb", "ccc"])[codes]
        tables.append(CountTable.from_frame(words, text))
        tables.append(CountTable.from_frame(words.astype(object), text))
        tables.append(CountTable.from_frame(words.tolist(), text))
        for table in tables[1:]:
            np.testing.assert_array_equal(table.rows, tables[0].rows)
            np.testing.assert_array_equal(table.counts, tables[0].counts)

    def test_dates_and_sparse_are_refused(self):
        schema = Schema([Categorical("x", (0, 1))])
        with pytest.raises(SchemaError, match="dates"):
            CountTable.from_frame(np.array([["2020-01-01"]], dtype="M8[D]"), schema)
        sparse = pytest.importorskip("scipy.sparse")
        with pytest.raises(TypeError, match="[Ss]parse"):
            CountTable.from_frame(sparse.eye(1), schema)
