"""From what `fit` was given to records: one reader for all estimators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from skdp._sklearn import BaseEstimator
from skdp.exceptions import SchemaError
from skdp.records.discrete import CountTable
from skdp.records.frames import CodedColumn, Table, read_table
from skdp.records.inference import infer_schema
from skdp.records.schema import Schema

__all__ = ["read_records"]

MIN_RECORDS = 2


@dataclass(frozen=True)
class Reading:
    """Records, and where their levels come from.

    Parameters
    ----------
    records : CountTable
        The records; a target is the last column.
    inferred : tuple of str
        Columns whose levels were read off the records.
    declared_by_frame : tuple of str
        Columns whose levels are the categories of a frame's column.
    """

    records: CountTable
    inferred: tuple[str, ...] = ()
    declared_by_frame: tuple[str, ...] = ()


def read_records(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    schema: Schema | None,
    target: str,
    *,
    warn: bool = True,
    missing: bool = False,
) -> Reading:
    """Validate the input of a fit and count its records.

    Sets ``n_features_in_``, and ``feature_names_in_`` for frames with names.

    Parameters
    ----------
    estimator : estimator
        Named in errors.
    X : frame or array-like of shape (n, d)
        At least two records. An array's columns are matched with the schema by
        position, and take its names.
    y : array-like of shape (n,) or None
        Joins the records as the column `target`. If the schema does not have it, but
        has the name of a Series y, the levels declared there are used.
    schema : Schema or None
        Public levels. None: they are read off the records. A schema may leave out
        the target, which is then read off the records.
    target : str
        Name of the column that `y` becomes.
    warn : bool, default=True
        Whether to warn of levels that were read off the records.
    missing : bool, default=False
        Whether missing values become a level where levels are read off the records.

    Returns
    -------
    Reading
        The records and where their levels come from.

    Raises
    ------
    SchemaError
        If the records do not fit the schema.
    """
    table = read_table(X)
    validate_data(estimator, X, skip_check_array=True)
    _check_size(estimator, table)
    if schema is not None and not table.named:
        table = _with_schema_names(table, schema, target)
    if y is not None:
        table = _with_target(table, y, target)
    if schema is None:
        return _inferred(table, Schema(()), warn, missing)
    if y is not None and target not in schema:
        schema = _with_declared_target(schema, y, target)
    if y is not None and target not in schema:
        return _inferred(table, schema.select(table.names[:-1]), warn, missing)
    return Reading(CountTable.from_frame(table, schema))


def _with_declared_target(schema: Schema, y: Any, target: str) -> Schema:
    """Let a Series find its own name in the schema."""
    name = getattr(y, "name", None)
    if not isinstance(name, str) or name not in schema:
        return schema
    return Schema((*schema, replace(schema[name], name=target)))


def _check_size(estimator: BaseEstimator, table: Table) -> None:
    n, d = table.n_records, len(table.names)
    if n < MIN_RECORDS:
        raise SchemaError(
            f"Found array with {n} sample(s) (shape=({n}, {d})) while a minimum of "
            f"{MIN_RECORDS} is required by {type(estimator).__name__}."
        )


def _with_schema_names(table: Table, schema: Schema, target: str) -> Table:
    names = tuple(name for name in schema.names if name != target)
    if len(names) != len(table.names):
        raise SchemaError(
            f"The array has {len(table.names)} columns but the schema describes "
            f"{len(names)}; an array's columns are matched by position."
        )
    return replace(table, names=names, named=True)


def _with_target(table: Table, y: Any, target: str) -> Table:
    if target in table.names:
        raise SchemaError(
            f"X has a column {target!r}, which is the name that y takes. Rename it, or "
            "leave y out."
        )
    if hasattr(y, "codes") and hasattr(y, "categories"):
        # A pandas Categorical: its categories count as schema.
        values = CodedColumn(np.asarray(y.codes), np.asarray(y.categories), y.ordered)
        column = Table((target,), (values,), len(y), named=True)
    elif hasattr(y, "to_frame"):
        column = read_table(y.to_frame(name=target))
    else:
        column = read_table(np.asarray(column_or_1d(y, dtype=None)).reshape(-1, 1))
    check_consistent_length(table.columns[0], column.columns[0])
    return replace(
        table,
        names=(*table.names, target),
        columns=(*table.columns, *column.columns),
        named=True,
    )


def _inferred(table: Table, known: Schema, warn: bool, missing: bool) -> Reading:
    """Read the levels of the columns that `known` leaves out off the records."""
    k = len(known)
    rest = replace(table, names=table.names[k:], columns=table.columns[k:], named=True)
    schema = Schema((*known, *infer_schema(rest, warn=warn, missing=missing)))
    coded = [isinstance(values, CodedColumn) for values in rest.columns]
    return Reading(
        CountTable.from_frame(replace(table, named=True), schema),
        tuple(name for name, c in zip(rest.names, coded, strict=True) if not c),
        tuple(name for name, c in zip(rest.names, coded, strict=True) if c),
    )
