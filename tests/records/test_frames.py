"""Tables of any kind: what is read, and what is refused."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pytest
from scipy import sparse

from skdp.exceptions import SchemaError
from skdp.records import CodedColumn, column_names, columns
from skdp.records.frames import read_table


def test_arrays_are_named_by_position_and_not_copied():
    X = np.arange(6).reshape(3, 2)
    assert column_names(X) == ["x0", "x1"]
    read = list(columns(X))
    assert [column.tolist() for column in read] == [[0, 2, 4], [1, 3, 5]]
    assert all(np.shares_memory(column, X) for column in read)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32, "U3", object])
def test_arrays_keep_their_type(dtype):
    X = np.array([[0, 1], [1, 0]]).astype(dtype)
    assert all(column.dtype == X.dtype for column in columns(X))


def test_lists_keep_the_type_of_each_entry():
    first, second = columns([[1, "a"], [2, "b"]])
    assert first.tolist() == [1, 2]
    assert second.tolist() == ["a", "b"]
    assert column_names([(1, 2)]) == ["x0", "x1"]


def test_objects_with_an_array_interface_are_read():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 2]], dtype=dtype)

    assert column_names(Wrapped()) == ["x0", "x1"]


def test_a_table_is_returned_as_it_is():
    table = read_table(np.zeros((2, 2)))
    assert read_table(table) is table


@pytest.mark.parametrize("X", [5, "text", [1, 2], np.zeros(3), np.zeros((2, 2, 2))])
def test_other_dimensions_are_refused(X):
    with pytest.raises(SchemaError, match=r"Expected 2D array, got \dD array.*reshape"):
        column_names(X)


def test_ragged_and_masked_and_empty_are_refused():
    with pytest.raises(SchemaError, match="differ in length|2D"):
        column_names([[1, 2], [3]])
    with pytest.raises(SchemaError, match="Masked"):
        column_names(np.ma.masked_array([[1.0]], [[True]]))
    with pytest.raises(SchemaError, match=r"0 feature\(s\) \(shape=\(12, 0\)\)"):
        column_names(np.empty((12, 0)))


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.coo_array])
def test_sparse_is_refused(make):
    with pytest.raises(TypeError, match="[Ss]parse"):
        column_names(make(np.eye(3)))


class TestPandas:
    pandas = pytest.importorskip("pandas")

    def test_categorical_columns_keep_their_codes(self):
        values = self.pandas.Categorical(["b", None, "a"], ["a", "b"], ordered=True)
        (column,) = columns(self.pandas.DataFrame({"x": values}))
        assert isinstance(column, CodedColumn)
        assert len(column) == 3
        assert column.codes.tolist() == [1, -1, 0]
        assert column.categories.tolist() == ["a", "b"]
        assert column.ordered
        assert column.values(slice(0, 2)).tolist() == ["b", None]

    @pytest.mark.parametrize(
        ("dtype", "values", "kind"),
        [
            ("Int64", [1, 2], "i"),
            ("UInt8", [1, 2], "u"),
            ("Float32", [1, 2], "f"),
            ("boolean", [True, False], "b"),
            ("string", ["a", "b"], "O"),
            ("str", ["a", "b"], "O"),
            ("int16", [1, 2], "i"),
            ("datetime64[ns, UTC]", ["2020-01-01"], "M"),
            ("datetime64[s]", ["2020-01-01"], "M"),
            ("timedelta64[ns]", [1], "m"),
            ("complex128", [1j], "c"),
        ],
    )
    def test_types(self, dtype, values, kind):
        frame = self.pandas.DataFrame({"x": self.pandas.Series(values, dtype=dtype)})
        (column,) = columns(frame)
        assert column.dtype.kind == kind

    def test_numbers_are_not_copied(self):
        frame = self.pandas.DataFrame(np.zeros((4, 2)), columns=["a", "b"])
        assert all(np.shares_memory(c, frame.to_numpy()) for c in columns(frame))

    def test_nullable_integers_stay_exact(self):
        values = self.pandas.array([2**60 + 1, None], dtype="Int64")
        (column,) = columns(self.pandas.DataFrame({"x": values}))
        assert column[0] == 2**60 + 1

    def test_names(self):
        pandas = self.pandas
        assert column_names(pandas.DataFrame({"a": [1], "": [2]})) == ["a", ""]
        with pytest.raises(SchemaError, match=r"strings, but one is 0 \(int\).*str"):
            column_names(pandas.DataFrame([[1, 2]]))
        with pytest.raises(SchemaError, match="tuple"):
            column_names(pandas.DataFrame([[1]], columns=[["a"], ["b"]]))
        with pytest.raises(SchemaError, match="Duplicate column names: 'a'"):
            column_names(pandas.DataFrame([[1, 2]], columns=["a", "a"]))

    def test_series_and_sparse_and_empty_are_refused(self):
        pandas = self.pandas
        with pytest.raises(SchemaError, match="2D"):
            column_names(pandas.Series([1, 2]))
        frame = pandas.DataFrame({"x": pandas.arrays.SparseArray([0, 1])})
        with pytest.raises(TypeError, match="Sparse.*'x'"):
            column_names(frame)
        with pytest.raises(SchemaError, match=r"0 feature\(s\) \(shape=\(2, 0\)\)"):
            column_names(pandas.DataFrame(index=[0, 1]))

    def test_lazy_frames_are_refused(self):
        lazy = nw.from_native(self.pandas.DataFrame({"x": [1]})).lazy()
        with pytest.raises(SchemaError, match="[Cc]ollect it first"):
            column_names(lazy)

    def test_narwhals_reads_what_pandas_reads(self):
        pandas = self.pandas
        frame = pandas.DataFrame(
            {
                "i": [1, 2],
                "f": [0.5, np.nan],
                "s": ["a", None],
                "b": [True, False],
                "n": pandas.array([1, None], dtype="Int64"),
                "c": pandas.Categorical(["a", None]),
                "o": pandas.Categorical(["lo", None], ["lo", "hi"], ordered=True),
            }
        )
        table = read_table(nw.from_native(frame))
        assert table.names == tuple(frame.columns)
        assert table.n_records == 2
        read = dict(zip(table.names, table.columns, strict=True))
        assert read["i"].tolist() == [1, 2]
        assert read["f"].dtype == float
        assert read["s"][0] == "a"
        assert read["b"].dtype == bool
        assert read["n"][0] == 1
        assert read["c"][0] == "a"
        assert read["o"].codes.tolist() == [0, -1]
        assert read["o"].categories.tolist() == ["lo", "hi"]


def test_polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame(
        {"i": [1, 2], "s": ["a", None], "f": [0.5, None], "b": [True, False]}
    ).with_columns(
        e=polars.Series(["x", None], dtype=polars.Enum(["y", "x"])),
        c=polars.Series(["x", "y"], dtype=polars.Categorical),
    )
    table = read_table(frame)
    assert table.names == ("i", "s", "f", "b", "e", "c")
    i, s, f, b, e, c = table.columns
    assert i.tolist() == [1, 2]
    assert s.tolist() == ["a", None]
    assert np.isnan(f[1])
    assert b.dtype == bool
    assert e.codes.tolist() == [1, -1]
    assert e.categories.tolist() == ["y", "x"]
    assert c.tolist() == ["x", "y"]
    with pytest.raises(SchemaError, match="[Cc]ollect"):
        read_table(frame.lazy())
    with pytest.raises(SchemaError, match="2D"):
        read_table(frame["i"])


def test_pyarrow():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = read_table(pyarrow.table({"i": [1, None], "s": ["a", "b"]}))
    assert table.names == ("i", "s")
    assert table.columns[0].tolist() == [1, None]
    assert table.columns[1].tolist() == ["a", "b"]
