"""The public schema of a table: its columns and their levels, in order.

Everything in a schema is public. It is written down by hand, loaded from JSON, or
(with a warning) read off the records.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from skdp.exceptions import SchemaError
from skdp.records.listed import Categorical, Ordinal
from skdp.records.numeric import Numeric

__all__ = ["Categorical", "Column", "Numeric", "Ordinal", "Schema"]

Column: TypeAlias = Categorical | Ordinal | Numeric

_KINDS: dict[str, type[Column]] = {
    "categorical": Categorical,
    "ordinal": Ordinal,
    "numeric": Numeric,
}


def duplicates(names: Iterable[str]) -> list[str]:
    """Return the names that are there more than once, each once.

    Examples
    --------
    >>> duplicates(["a", "b", "a", "a"])
    ['a']
    """
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [name for name, times in seen.items() if times > 1]


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table, in order.

    Parameters
    ----------
    columns : iterable of Categorical, Ordinal or Numeric
        With different names.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    shape : tuple of int
        Number of levels per column.
    size : int
        Number of possible records: the product of `shape`, however large.

    Examples
    --------
    >>> schema = Schema([Categorical("smoker", ("no", "yes")), Numeric("age", 0, 100)])
    >>> schema
    Schema(smoker: Categorical(2), age: Numeric(10))
    >>> schema.names, schema.shape, schema.size
    (('smoker', 'age'), (2, 10), 20)
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[Column, ...]
    _by_name: dict[str, Column] = field(init=False, compare=False)
    _n_levels: dict[str, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        for column in columns:
            if not isinstance(column, Categorical | Ordinal | Numeric):
                raise SchemaError(
                    "A schema is made of Categorical, Ordinal and Numeric columns, "
                    f"not {type(column).__name__}."
                )
        if twice := duplicates(column.name for column in columns):
            raise SchemaError(
                f"Duplicate column names: {', '.join(map(repr, twice))}. "
                "Give every column a name of its own."
            )
        object.__setattr__(self, "columns", columns)
        # Made here, not when first asked for: equal schemas have equal pickles.
        object.__setattr__(self, "_by_name", {c.name: c for c in columns})
        object.__setattr__(self, "_n_levels", {c.name: c.n_levels for c in columns})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._by_name)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each column, in order."""
        return tuple(self._n_levels.values())

    @property
    def size(self) -> int:
        """Number of possible records."""
        return math.prod(self.shape)

    def __getitem__(self, name: str) -> Column:
        """Return the column of that name.

        Raises
        ------
        SchemaError
            If there is none.
        """
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            raise SchemaError(
                f"There is no column {name!r} in the schema. "
                f"Its columns are {_listed(self.names)}."
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def n_levels(self, name: str) -> int:
        """Return the number of levels of one column.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        int
            Number of its codes, with the levels "other" and missing where declared.

        Raises
        ------
        SchemaError
            If there is no such column.
        """
        found = self._n_levels.get(name)
        return self[name].n_levels if found is None else found

    def select(self, names: Iterable[str]) -> Schema:
        """Return the schema of some columns, in the order given.

        Parameters
        ----------
        names : iterable of str
            Names of the columns to keep.

        Returns
        -------
        Schema
            These columns, declared as they are here.

        Raises
        ------
        SchemaError
            If a name is unknown or there twice.
        """
        return Schema(tuple(self[name] for name in names))

    def to_json(self) -> str:
        """Return the schema as JSON; `from_json` gives it back exactly.

        Returns
        -------
        str
            An object with the version of the format and one entry per column, in
            order.
        """
        columns = [_to_plain(column) for column in self.columns]
        return json.dumps({"skdp_schema": 1, "columns": columns}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read a schema written by `to_json`.

        Parameters
        ----------
        text : str
            What `to_json` returned.

        Returns
        -------
        Schema
            Equal to the one that was written.

        Raises
        ------
        SchemaError
            If the text is not such a schema, or of an unknown version.
        """
        try:
            content = json.loads(text)
            version = content["skdp_schema"]
            columns = tuple(_from_plain(plain) for plain in content["columns"])
        except SchemaError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SchemaError(f"This is not a schema in JSON: {error}.") from error
        if version != 1:
            raise SchemaError(f"Schema format {version!r} is unknown; 1 is known.")
        return cls(columns)

    @classmethod
    def from_frame(cls, X: Any, *, warn: bool = True) -> Schema:
        """Read a schema off a table; see `skdp.records.infer_schema`.

        Parameters
        ----------
        X : frame or array-like of shape (n, d)
            One row per record and one column per variable.
        warn : bool, default=True
            Whether to warn (PrivacyLeakWarning) of columns whose levels were read off
            the records.

        Returns
        -------
        Schema
            One declaration per column, in the order of the table.

        Raises
        ------
        SchemaError
            If the table is lazy, not 2-d, without columns or records, its column names
            are not strings or not unique, or a column to be read off the records holds
            missing or infinite values, or values that are neither numbers nor text nor
            booleans.
        TypeError
            If the table is sparse.

        Warns
        -----
        PrivacyLeakWarning
            Once, naming every column that was read off the records.
        """
        from skdp.records.inference import infer_schema

        return infer_schema(X, warn=warn)

    def __repr__(self) -> str:
        parts = [f"{c.name}: {type(c).__name__}({c.n_levels})" for c in self.columns]
        if len(parts) > 8:
            parts = [*parts[:7], f"... {len(parts) - 7} more"]
        return f"Schema({', '.join(parts)})"


def _listed(names: tuple[str, ...], limit: int = 20) -> str:
    text = ", ".join(map(repr, names[:limit]))
    return text + (", ..." if len(names) > limit else "")


def _to_plain(column: Column) -> dict[str, Any]:
    plain: dict[str, Any] = {"type": type(column).__name__.lower()}
    return plain | {f.name: getattr(column, f.name) for f in fields(column)}


def _from_plain(plain: dict[str, Any]) -> Column:
    arguments = dict(plain)
    return _KINDS[arguments.pop("type")](**arguments)
