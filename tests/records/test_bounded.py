"""Bounded matrices: exact sums on a public grid, and what is refused."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.moment_queries import neighbours, row_grids

from skdp.covariance import GaussianMechanismCovariance
from skdp.exceptions import ClippedValuesWarning, PrivacyLeakWarning, SchemaError
from skdp.records import (
    BoundedMatrix,
    Categorical,
    Numeric,
    RowGrid,
    Schema,
    bounds_to_schema,
    read_bounded,
)
from skdp.records.row_grid import LARGEST_SUM, MOST_BITS, fitting_bits

SCHEMA = Schema([Numeric("a", 0, 10), Numeric("b", -1, 1), Numeric("c", 5, 6)])


def matrix(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.uniform(0, 10, n), rng.uniform(-1, 1, n), rng.uniform(5, 6, n)]
    )


def read(X, **options):
    options = {"schema": None, "bounds": None, "outside": "clip", **options}
    return read_bounded(GaussianMechanismCovariance(), X, **options)


def in_cube(X):
    return (X - [5, 0, 5.5]) / [5, 1, 0.5]


# Sums -------------------------------------------------------------------------


def exact_rows(records, rows):
    """Round all rows at once and hand them out as Python integers."""
    cube = (records.values - records.centre) / records.half_width
    return rows.round(np.array(cube)).astype(np.int64).astype(object)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_sums_are_exact_integers(data):
    d, records, _ = data.draw(neighbours())
    rows = data.draw(row_grids(d))
    exact = exact_rows(records, rows)
    assert (records.cross_products(rows) == exact.T @ exact).all()
    assert (records.sums(rows) == exact.sum(axis=0)).all()
    assert (records.squared_norms(rows) == (exact * exact).sum(axis=1)).all()
    largest = rows.largest_norm2(d) * 4**rows.bits
    assert records.squared_norms(rows).max() <= largest * (1 + 1e-12)
    assert np.abs(exact).max() <= 2**rows.bits


def test_sums_do_not_depend_on_blocks_or_order(monkeypatch):
    X = matrix(5000)
    rows = RowGrid(16, radius=1.1)
    whole = BoundedMatrix(SCHEMA, X).cross_products(rows)
    for size in (1, 700):
        monkeypatch.setattr("skdp.records.bounded._BLOCK", size * 3)
        other = BoundedMatrix(SCHEMA, X[::-1])
        np.testing.assert_array_equal(other.cross_products(rows), whole)


def test_moments_are_those_of_the_rows():
    X = matrix()
    records, rows = BoundedMatrix(SCHEMA, X), RowGrid()
    cube = in_cube(X)
    unit = 2.0**-MOST_BITS
    np.testing.assert_allclose(
        records.cross_products(rows) * unit**2, cube.T @ cube, atol=200 * unit
    )
    np.testing.assert_allclose(
        records.sums(rows) * unit, cube.sum(axis=0), atol=200 * unit
    )
    limits = np.array([[0.5, 0.1, 1.0], [0.1, 0.3, 0.2], [1.0, 0.2, 0.9]])
    products = np.clip(cube[:, :, None] * cube[:, None], -limits, limits) / limits
    np.testing.assert_allclose(
        records.clipped_products(rows, limits) * unit**2,
        products.sum(axis=0),
        atol=0.1,
    )


def test_each_pass_is_made_once(monkeypatch):
    records, rows = BoundedMatrix(SCHEMA, matrix()), RowGrid()
    first = records.cross_products(rows)
    monkeypatch.setattr(BoundedMatrix, "_blocks", None)
    assert records.cross_products(RowGrid()) is first
    assert records.sums(rows).shape == (3,)
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1


def test_too_fine_a_grid_is_refused():
    values = np.broadcast_to(np.zeros((1, 3)), (2**19, 3))
    with pytest.raises(ValueError, match="fewer bits"):
        BoundedMatrix(SCHEMA, values).cross_products(RowGrid(16))


@pytest.mark.parametrize("n", [2, 1000, 10**5, 10**7, 10**9])
@pytest.mark.parametrize("noise", [1e-9, 1.0, 1e5, 1e300, np.inf])
def test_fitting_bits(n, noise):
    bits = fitting_bits(n, noise)
    assert 1 <= bits <= MOST_BITS
    assert n * 4**bits <= LARGEST_SUM
    assert bits == 1 or noise * 4**bits <= 2**40


def test_subsamples_and_blocks_hold_rows():
    X = matrix(50)
    records = BoundedMatrix(SCHEMA, X)
    rng = np.random.default_rng(0)
    drawn = records.subsample(20, rng).values
    assert len({tuple(row) for row in drawn} & {tuple(row) for row in X}) == 20
    blocks = records.partition(3, rng)
    assert sorted(b.n_records for b in blocks) == [16, 17, 17]
    dealt = np.vstack([b.values for b in blocks])
    np.testing.assert_array_equal(np.sort(dealt, axis=0), np.sort(X, axis=0))


def test_it_hides_its_values():
    records = BoundedMatrix(SCHEMA, matrix(2))
    assert "values" not in repr(records)
    with pytest.raises(TypeError, match="private records"):
        pickle.dumps(records)


# Grids ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"bits": 0},
        {"bits": 17},
        {"radius": 0.0},
        {"radius": np.inf},
        {"limits": [0.0, 1.0]},
        {"limits": [2.0]},
        {"limits": [[0.5]]},
        {"transform": np.eye(2)},
        {"transform": np.zeros((2, 2)), "radius": 1.0},
        {"transform": np.full((2, 2), np.nan), "radius": 1.0},
        {"transform": np.eye(2), "radius": 1.0, "limits": [1.0, 1.0]},
    ],
)
def test_bad_grids_are_refused(arguments):
    with pytest.raises(ValueError):
        RowGrid(**arguments)


def test_rows_go_into_the_ball():
    rows = RowGrid(16, radius=1.0).round(np.array([[1.0, 1.0], [0.1, 0.2]]))
    np.testing.assert_allclose(rows[0] / 2**16, np.sqrt([0.5, 0.5]), atol=1e-4)
    np.testing.assert_allclose(rows[1] / 2**16, [0.1, 0.2], atol=1e-4)


def test_a_transform_changes_units():
    A = np.array([[2.0, 0.0], [1.0, 0.5]])
    rows = RowGrid(16, radius=4.0, transform=A)
    x = np.array([[0.5, 0.25]])
    np.testing.assert_allclose(rows.round(x.copy()) / 2**16, x @ A / 4, atol=1e-4)
    np.testing.assert_array_equal(rows.transform, A)  # dyadic already


# Reading ----------------------------------------------------------------------


def test_bounds_in_every_form():
    for bounds in (3, 3.0, (-3, 3), ([-3, -3], 3), (-3, np.array([3.0, 3.0]))):
        schema = bounds_to_schema(bounds, ("a", "b"))
        assert [(c.low, c.high) for c in schema] == [(-3, 3), (-3, 3)]


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((1, 1), "'a'"),
        ((2, 1), "'a'"),
        (([0, 1], [1, 1]), "'b'.*publicly constant"),
        ((0, np.inf), "'a'"),
        ((np.nan, 1), "'a'"),
        ((0, 1, 2), "pair"),
        (([0, 0, 0], 1), "2 columns"),
        ("wide", "pair"),
        ((0, "b"), "pair"),
    ],
)
def test_bad_bounds_are_named(bounds, words):
    with pytest.raises(SchemaError, match=words):
        bounds_to_schema(bounds, ("a", "b"))


def test_frames_and_arrays_agree():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X = matrix()
    frame = pd.DataFrame(X, columns=list("abc"))
    expected = read(X, schema=SCHEMA).records.cross_products(RowGrid())
    shuffled = Schema([SCHEMA["c"], SCHEMA["a"], Numeric("z", 0, 1), SCHEMA["b"]])
    for table, schema in (
        (frame, shuffled),
        (frame.convert_dtypes(), shuffled),
        (pl.from_pandas(frame), shuffled),
        (pa.Table.from_pandas(frame), shuffled),
        (X.tolist(), SCHEMA),
        (X.astype(object), SCHEMA),
        (np.asfortranarray(X), SCHEMA),
    ):
        found = read(table, schema=schema).records.cross_products(RowGrid())
        np.testing.assert_array_equal(found, expected)


def test_integers_and_single_precision_are_read():
    for kind in (np.int8, np.uint16, np.float32, bool):
        X = (matrix() > 3).astype(kind)
        records = read(X, bounds=(0, 1)).records
        assert records.cross_products(RowGrid(2))[0, 0] == 200 * 16


def bad(column, value):
    frame = pd.DataFrame(matrix(), columns=list("abc")).astype(object)
    frame.loc[7, column] = value
    return frame


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bad("a", np.nan), "'a'.*NaN"),
        (lambda: bad("b", None), "'b'.*NaN"),
        (lambda: bad("c", np.inf), "'c'.*infinity"),
        (lambda: bad("c", "many"), "'c'"),
        (lambda: matrix()[:, :2], "3"),
        (lambda: matrix(1), "1 sample"),
        (lambda: matrix(0), "0 sample"),
        (lambda: matrix()[:, 0], "2D"),
        (lambda: matrix().astype(complex), "omplex"),
        (lambda: pd.DataFrame(matrix(), columns=list("aab")), "'a'"),
        (lambda: pd.DataFrame(matrix()), "0"),
        (lambda: pd.DataFrame(matrix(), columns=list("abz")), "'z'"),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        read(make(), schema=SCHEMA)
    if words == "'a'.*NaN":
        with pytest.raises(SchemaError, match="'x0'.*NaN"):
            read(make().to_numpy(dtype=float), bounds=20)


def test_levels_are_no_numbers():
    schema = Schema([SCHEMA["a"], Categorical("b", ("no", "yes")), SCHEMA["c"]])
    with pytest.raises(SchemaError, match="'b'.*Categorical.*Numeric"):
        read(matrix(), schema=schema)


def test_schema_and_bounds_exclude_each_other():
    with pytest.raises(SchemaError, match="not both"):
        read(matrix(), schema=SCHEMA, bounds=1)


def test_values_outside_are_clipped_or_refused():
    X = matrix()
    X[3, 0], X[4, 2] = 1e9, -2
    with pytest.warns(ClippedValuesWarning) as caught:
        records = read(X, schema=SCHEMA).records
    assert not any(character.isdigit() for character in str(caught[0].message))
    inside = np.clip(X, [0, -1, 5], [10, 1, 6])
    expected = read(inside, schema=SCHEMA).records.cross_products(RowGrid())
    np.testing.assert_array_equal(records.cross_products(RowGrid()), expected)
    with pytest.raises(SchemaError, match="'x0', 'x2'.*outside='clip'"):
        read(X, bounds=([0, -1, 5], [10, 1, 6]), outside="refuse")
    strict = Schema([*SCHEMA.columns[:2], Numeric("c", 5, 6, outside="refuse")])
    with pytest.raises(SchemaError, match="bounds in 'c'"):
        read(X, schema=strict)


def test_bounds_read_off_the_records_leak():
    X = matrix()
    X[:, 1] = 4.0  # constant
    with pytest.warns(PrivacyLeakWarning, match="'x0', 'x1', 'x2'"):
        found = read(X)
    assert found.inferred == ("x0", "x1", "x2")
    low, high = X.min(axis=0), X.max(axis=0)
    column = found.records.schema["x0"]
    assert (column.low, column.high) == (low[0], high[0])
    column = found.records.schema["x1"]
    assert column.low < 4.0 < column.high


def test_values_near_the_largest_float_are_clipped_without_a_word():
    X = np.array([[1e308, -1e308, 5.5], [-1.7e308, 1e-320, 1.7e308]] * 2)
    records = BoundedMatrix(SCHEMA, X)
    clipped = np.clip(X, [0, -1, 5], [10, 1, 6])
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        products = records.cross_products(RowGrid())
        norms = records.squared_norms(RowGrid(radius=1.0))
        warnings.simplefilter("ignore", ClippedValuesWarning)
        read(X, schema=SCHEMA)
    plain = BoundedMatrix(SCHEMA, clipped)
    np.testing.assert_array_equal(products, plain.cross_products(RowGrid()))
    np.testing.assert_array_equal(norms, plain.squared_norms(RowGrid(radius=1.0)))


@pytest.mark.parametrize("radius", [0.0, -1.0, 1e-170, 1e160, np.inf, np.nan])
def test_a_radius_whose_square_is_no_number_is_refused(radius):
    with pytest.raises(ValueError, match="radius must be positive and finite"):
        RowGrid(radius=radius)


@pytest.mark.parametrize("width", [1e-199, 1e201, 1.7e308])
def test_bounds_whose_square_is_no_number_are_refused(width):
    X, names = np.zeros((3, 2)), ("a", "b")
    with pytest.raises(SchemaError, match="'x1'"):
        read(X, bounds=([-1, -width], [1, width]))
    wide = Schema([Numeric("a", 0, 1), Numeric("b", 0, width)])
    with pytest.raises(SchemaError, match="'b'"):
        read(pd.DataFrame(X, columns=names), schema=wide)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_matrix_of_numpy_is_read_as_an_array():
    X = matrix(50)
    old = read(np.matrix(X), schema=SCHEMA).records
    new = read(X, schema=SCHEMA).records
    for rows in (RowGrid(), RowGrid(radius=1.0)):
        np.testing.assert_array_equal(
            old.cross_products(rows), new.cross_products(rows)
        )
        np.testing.assert_array_equal(old.squared_norms(rows), new.squared_norms(rows))
