"""From what a covariance's `fit` was given to a bounded matrix."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, validate_data

from skdp._sklearn import BaseEstimator
from skdp.exceptions import ClippedValuesWarning, PrivacyLeakWarning, SchemaError
from skdp.records.bounded import BoundedMatrix, bounds_of
from skdp.records.encoding import as_column, as_floats
from skdp.records.frames import CodedColumn, Table, Values, read_table
from skdp.records.inference import interval_of
from skdp.records.row_grid import LARGEST_LENGTH, SMALLEST_LENGTH
from skdp.records.schema import Numeric, Schema
from skdp.warn import warn_user

__all__ = ["bounds_to_schema", "read_bounded"]

MIN_RECORDS = 2


@dataclass(frozen=True)
class Reading:
    """A bounded matrix, and where its bounds come from.

    Parameters
    ----------
    records : BoundedMatrix
        The records.
    inferred : tuple of str
        Columns whose bounds were read off the records.
    """

    records: BoundedMatrix
    inferred: tuple[str, ...] = ()


def bounds_to_schema(
    bounds: Any, names: tuple[str, ...], outside: str = "clip"
) -> Schema:
    """Declare columns by their bounds.

    Parameters
    ----------
    bounds : float or (low, high)
        A number b is the interval from -b to b. Each of low and high is a number or an
        array of shape (d,).
    names : tuple of str
        Names of the d columns.
    outside : {"clip", "refuse"}, default="clip"
        What becomes of values outside.

    Returns
    -------
    Schema
        A Numeric column for each name.

    Raises
    ------
    SchemaError
        If the bounds have another form, or an interval is empty or not finite; the
        message names the column.

    Examples
    --------
    >>> bounds_to_schema((0, [1, 5]), ("a", "b"))["b"].high
    5.0
    """
    low, high = _two_ends(bounds, len(names))
    columns = zip(names, low.tolist(), high.tolist(), strict=True)
    for name, a, b in columns:
        if not a < b:
            raise SchemaError(
                f"bounds of column {name!r} must be finite numbers with low < high, "
                f"got [{a:g}, {b:g}]. Drop a column that is publicly constant."
            )
    columns = zip(names, low.tolist(), high.tolist(), strict=True)
    return Schema(tuple(Numeric(n, a, b, outside=outside) for n, a, b in columns))


def read_bounded(
    estimator: BaseEstimator,
    X: Any,
    *,
    schema: Schema | None,
    bounds: Any,
    outside: str,
    warn: bool = True,
) -> Reading:
    """Validate the input of a fit and put it between its bounds.

    Sets ``n_features_in_``, and ``feature_names_in_`` for frames with names.

    Parameters
    ----------
    estimator : estimator
        Named in errors.
    X : frame or array-like of shape (n, d)
        Numbers.
    schema : Schema or None
        Public bounds as Numeric columns, found by name for a frame, else by position.
    bounds : float, (low, high) or None
        The shorthand; see `bounds_to_schema`. With neither, the bounds are read off
        the records.
    outside : {"clip", "refuse"}
        What becomes of values outside `bounds`; a schema has its own word.
    warn : bool, default=True
        Whether to warn of bounds read off the records.

    Returns
    -------
    Reading
        The records, and where their bounds come from.

    Raises
    ------
    SchemaError
        If the records do not fit.
    """
    if schema is not None and bounds is not None:
        raise SchemaError("Give schema= or bounds=, not both.")
    table = read_table(X)
    values = _matrix(estimator, X, table)
    names = table.names
    inferred: tuple[str, ...] = ()
    if schema is not None:
        schema = _matched(table, schema)
    elif bounds is not None:
        schema = bounds_to_schema(bounds, names, outside)
    else:
        schema, inferred = _read_off(values, names, warn), names
    _refuse_extreme_widths(schema)
    _mind_the_outside(values, schema, warn)
    return Reading(BoundedMatrix(schema, values), inferred)


def _two_ends(bounds: Any, n_columns: int) -> NDArray[np.float64]:
    problem = SchemaError(
        "bounds must be a positive number b (for [-b, b]) or a pair (low, high), each "
        f"of them a number or one number for each of the {n_columns} columns; got "
        f"{bounds!r}."
    )
    try:
        pair = (-bounds, bounds) if isinstance(bounds, Real) else tuple(bounds)
        low, high = (np.asarray(end, dtype=np.float64) for end in pair)
        return np.stack([np.broadcast_to(end, (n_columns,)) for end in (low, high)])
    except (TypeError, ValueError):
        raise problem from None


def _matrix(estimator: BaseEstimator, X: Any, table: Table) -> NDArray[Any]:
    """Return the table as finite numbers; no copy of an array of numbers."""
    validate_data(estimator, X, skip_check_array=True)
    n, d = table.n_records, len(table.names)
    if n < MIN_RECORDS:
        raise SchemaError(
            f"Found array with {n} sample(s) (shape=({n}, {d})) while a minimum of "
            f"{MIN_RECORDS} is required by {type(estimator).__name__}."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        values = np.asarray(X)  # a matrix of NumPy is never one-dimensional
    elif isinstance(X, np.ndarray | list | tuple):
        # An array of objects, or lists: scikit-learn's reading and words.
        values = check_array(X, dtype=np.float64, ensure_all_finite=False)
    else:
        pairs = zip(table.columns, table.names, strict=True)
        values = np.column_stack([_numbers(column, name) for column, name in pairs])
    _refuse_not_finite(values, table.names)
    return values


def _numbers(values: Values, name: str) -> NDArray[np.float64]:
    if isinstance(values, CodedColumn):
        values = values.values(slice(None))
    return as_floats(as_column(values, name), name)


def _refuse_not_finite(values: NDArray[Any], names: tuple[str, ...]) -> None:
    if values.dtype.kind != "f":
        return
    with np.errstate(all="ignore"):  # a sum of large numbers may overflow
        if np.isfinite(values.sum()):
            return
    for name, column in zip(names, values.T, strict=True):
        for what, test in (("NaN", np.isnan), ("infinity", np.isinf)):
            if test(column).any():
                raise SchemaError(
                    f"Column {name!r} contains {what}. Fill in or drop such values "
                    "before, by a rule that is fixed beforehand."
                )


def _matched(table: Table, schema: Schema) -> Schema:
    if table.named:
        return schema.select(table.names)
    if len(table.names) != len(schema):
        raise SchemaError(
            f"The array has {len(table.names)} columns but the schema describes "
            f"{len(schema)}; an array's columns are matched by position."
        )
    return schema


def _read_off(values: NDArray[Any], names: tuple[str, ...], warn: bool) -> Schema:
    if warn:
        listed = ", ".join(map(repr, names))
        warn_user(
            f"The bounds of {listed} were read off the private records, which is "
            "outside the privacy guarantee. Pass bounds= or schema= with bounds that "
            "are public knowledge.",
            PrivacyLeakWarning,
        )
    ends = zip(names, values.min(axis=0), values.max(axis=0), strict=True)
    return Schema(
        tuple(Numeric(n, *interval_of(float(a), float(b))) for n, a, b in ends)
    )


def _refuse_extreme_widths(schema: Schema) -> None:
    """Refuse bounds in whose units a variance would vanish or overflow."""
    low, high = bounds_of(schema)
    with np.errstate(all="ignore"):
        widths = high - low
    for name, width in zip(schema.names, widths.tolist(), strict=True):
        if not SMALLEST_LENGTH <= width <= LARGEST_LENGTH:
            raise SchemaError(
                f"The bounds of column {name!r} are {width:g} apart, whose square is "
                "no normal number, so that the column has no variance in floating "
                "point. Give the column in other units."
            )


def _mind_the_outside(values: ArrayLike, schema: Schema, warn: bool) -> None:
    """Refuse values outside, or say (without a count) that some are clipped."""
    values = np.asarray(values)
    low, high = bounds_of(schema)
    outside = (values.min(axis=0) < low) | (values.max(axis=0) > high)
    refused = [
        repr(column.name)
        for column, out in zip(schema, outside, strict=True)
        if out and column.outside == "refuse"
    ]
    if refused:
        raise SchemaError(
            f"Values outside the bounds in {', '.join(refused)}. Declare wider bounds, "
            "or let them be clipped with outside='clip'."
        )
    if warn and outside.any():
        warn_user(
            "Some values lie outside the public bounds and were clipped to them, which "
            "biases the moments. (This sentence depends on private records.)",
            ClippedValuesWarning,
        )
