"""Records as a table of distinct rows with their counts.

Made once, in one pass over the data; from then on every marginal, every stack of
strata and every sub-sample costs time in the number of distinct rows, not in the
number of records. It is private: nothing here prints its values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import SchemaError
from skdp.records.distinct import Codes, distinct_rows, row_ranks
from skdp.records.frames import Table, read_table
from skdp.records.readers import code_reader, value_reader
from skdp.records.sampling import deal_counts, draw_counts
from skdp.records.schema import Schema
from skdp.records.tabulation import Tabulator

__all__ = ["CountTable"]

_DENSE_STRATA = 1 << 16
#: Cells of the largest table that is counted.
LARGEST_MARGINAL = 1 << 28
_MOST_KEYS = 1 << 62


@dataclass(frozen=True, eq=False, repr=False)
class CountTable:
    """Distinct records with their counts.

    Made by `from_frame` or `from_codes`.

    Parameters
    ----------
    schema : Schema
        The d columns, in the order of the table.
    rows : ndarray of shape (m, d), integer, as narrow as the levels allow
        Codes of the distinct records. Read-only.
    counts : ndarray of shape (m,), int64
        How many records have these codes; all positive. Read-only.

    Attributes
    ----------
    n_records : int
        Sum of the counts.

    Examples
    --------
    >>> from skdp.records import Categorical, Schema
    >>> schema = Schema([Categorical("a", ["u", "v"]), Categorical("b", (0, 1, 2))])
    >>> records = CountTable.from_codes(np.array([[0, 2], [1, 1], [0, 2]]), schema)
    >>> records
    CountTable(n_records=3, Schema(a: Categorical(2), b: Categorical(3)))
    >>> records.marginal(["b", "a"])
    array([[0, 0],
           [0, 1],
           [2, 0]])
    """

    schema: Schema
    rows: Codes
    counts: NDArray[np.int64]
    n_records: int = field(init=False)
    _places: dict[str, int] = field(init=False)
    _levels: tuple[int, ...] = field(init=False)
    _tabulator: Tabulator = field(init=False)

    def __post_init__(self) -> None:
        if self.rows.shape != (len(self.counts), len(self.schema)):
            raise ValueError(
                f"rows must have the shape (m, d) = ({len(self.counts)}, "
                f"{len(self.schema)}) of counts and schema, not {self.rows.shape}."
            )
        if len(self.counts) and self.counts.min() < 1:
            raise ValueError(
                "counts must be positive: leave out rows that do not occur."
            )
        for array in (self.rows, self.counts):
            array.setflags(write=False)
        places = {name: j for j, name in enumerate(self.schema.names)}
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_levels", self.schema.shape)
        tabulator = Tabulator(self.rows, self.counts, self.schema.shape)
        object.__setattr__(self, "_tabulator", tabulator)
        object.__setattr__(self, "n_records", int(self.counts.sum()))

    @classmethod
    def from_frame(cls, X: Any, schema: Schema) -> CountTable:
        """Count the records of a table.

        Parameters
        ----------
        X : frame or array-like of shape (n, d)
            A frame's columns are found in the schema by name; an array's by position.
        schema : Schema
            For a frame it may have more columns, in any order; the count table keeps
            those of the frame, in the frame's order.

        Returns
        -------
        CountTable
            The distinct records with their counts, columns in the order of the table.

        Raises
        ------
        SchemaError
            If the table does not fit the schema. The message depends on private
            records where it names a value.
        TypeError
            If the table is sparse.
        """
        table = read_table(X)
        schema = _matched(table, schema)
        readers = list(map(value_reader, schema, table.columns))
        return cls(schema, *distinct_rows(readers, schema.shape, table.n_records))

    @classmethod
    def from_codes(cls, codes: ArrayLike, schema: Schema) -> CountTable:
        """Count records that are coded already.

        Parameters
        ----------
        codes : array-like of int of shape (n, d)
            One row per record; in column j from 0 to ``schema.shape[j] - 1``.
        schema : Schema
            With d columns.

        Returns
        -------
        CountTable
            The distinct rows with their counts.

        Raises
        ------
        SchemaError
            If the shape does not fit or a code is not a level's.
        """
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != len(schema):
            raise SchemaError(
                f"Codes must have the shape (n, {len(schema)}), not {array.shape}."
            )
        readers = list(map(code_reader, schema, array.T))
        return cls(schema, *distinct_rows(readers, schema.shape, len(array)))

    def marginal(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Count the records by the levels of some columns.

        Parameters
        ----------
        names : sequence of str
            In the order of the result's axes; () gives the total.

        Returns
        -------
        ndarray of int64, one axis of length n_levels per name
            Numbers of records; they add up to n_records. A copy, free to be changed.

        Raises
        ------
        SchemaError
            If a name is unknown or there twice.
        ValueError
            If the table would have more than 2**28 cells.
        """
        return self._marginal(self._checked(names))

    def _marginal(
        self, names: tuple[str, ...], after: int | None = None
    ) -> NDArray[np.int64]:
        size = math.prod(self._shape(names))
        if size > LARGEST_MARGINAL:
            raise ValueError(
                f"The marginal of {', '.join(map(repr, names))} has {size} cells, more "
                f"than {LARGEST_MARGINAL}. Ask for fewer columns."
            )
        # One table serves a set of columns in every order.
        places = [self._places[name] for name in names]
        ordered = tuple(sorted(places))
        last = max(places, default=0) if after is None else after
        counts = self._tabulator.table(ordered, last)
        return counts.transpose([ordered.index(place) for place in places]).copy()

    def occupied(self, names: Sequence[str]) -> tuple[Codes, NDArray[np.int64]]:
        """Count the records by the levels of some columns, where there are any.

        The result is remembered: asking again costs nothing.

        Parameters
        ----------
        names : sequence of str
            The columns, in the order of the axes of their table.

        Returns
        -------
        cells : ndarray of int of shape (m,)
            Positions of the cells that hold records in the raveled `marginal`,
            ascending. Read-only.
        counts : ndarray of int64 of shape (m,)
            Their numbers of records. Read-only.

        Raises
        ------
        SchemaError
            If a name is unknown or there twice.
        ValueError
            If the table would have more than 2**62 cells.
        """
        names = self._checked(names)
        if math.prod(self._shape(names)) > _MOST_KEYS:
            raise ValueError(
                f"The marginal of {', '.join(map(repr, names))} has more than 2**62 "
                "cells. Ask for fewer columns."
            )
        return self._tabulator.occupied(tuple(self._places[name] for name in names))

    def strata(self, x: str, y: str, given: Sequence[str] = ()) -> NDArray[np.int64]:
        """Count two columns against each other in every stratum of others.

        Parameters
        ----------
        x, y : str
            Columns of r and c levels.
        given : sequence of str
            Columns whose combinations of levels are the strata.

        Returns
        -------
        ndarray of int64 of shape (k, r, c)
            If all strata together have few cells (a public fact) there is one table
            for each; if not, only for those that hold records. Strata are in
            lexicographic order of their levels.

        Raises
        ------
        SchemaError
            If a name is unknown or there twice.
        """
        names = self._checked((*_as_names(given), x, y))
        given, shape = names[:-2], self._shape(names)
        strata, table = shape[:-2], shape[-2:]
        if math.prod(shape) <= _DENSE_STRATA:
            last = names[-3] if given else y
            counts = self._marginal(names, self._places[last])
            return counts.reshape(-1, *table)
        readers = [codes.__getitem__ for codes in self._codes(given)]
        ranks, occupied = row_ranks(readers, strata, len(self.counts))
        shape = (len(occupied), *table)
        columns = [ranks, *self._codes((x, y))]
        return self._tabulator.tally(columns, (len(occupied), *table))

    def subsample(self, size: int, rng: np.random.Generator) -> CountTable:
        """Draw records without replacement, every subset equally likely.

        Parameters
        ----------
        size : int
            From 0 to n_records.
        rng : numpy.random.Generator
            Source of the randomness.

        Returns
        -------
        CountTable
            Of `size` records, on the same schema.

        Raises
        ------
        ValueError
            If `size` is not an integer from 0 to n_records.
        """
        return self._with_counts(draw_counts(self.counts, size, rng))

    def partition(self, n_blocks: int, rng: np.random.Generator) -> list[CountTable]:
        """Deal the records out at random into blocks of nearly equal size.

        Which block a record goes to does not depend on its values, so that replacing
        one record changes one block.

        Parameters
        ----------
        n_blocks : int
            From 1 to n_records.
        rng : numpy.random.Generator
            Draws the partition.

        Returns
        -------
        list of CountTable
            The blocks, which together hold every record once; the first ones hold one
            record more if `n_blocks` does not divide n_records.

        Raises
        ------
        ValueError
            If `n_blocks` is out of range.
        """
        blocks = deal_counts(self.counts, n_blocks, rng)
        return [self._with_counts(counts) for counts in blocks]

    def _with_counts(self, counts: NDArray[np.int64]) -> CountTable:
        kept = np.flatnonzero(counts)
        rows = np.asfortranarray(self.rows[kept])
        return CountTable(self.schema, rows, counts[kept].astype(np.int64, copy=False))

    def _checked(self, names: Sequence[str]) -> tuple[str, ...]:
        names = _as_names(names)
        known = all(name in self._places for name in names)
        if not known or len(set(names)) < len(names):
            self.schema.select(names)  # raises, naming them
        return names

    def _shape(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._levels[self._places[name]] for name in names)

    def _codes(self, names: Sequence[str]) -> list[Codes]:
        return [self.rows[:, self._places[name]] for name in names]

    def __getstate__(self) -> dict[str, Any]:
        return {"schema": self.schema, "rows": self.rows, "counts": self.counts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __repr__(self) -> str:
        return f"CountTable(n_records={self.n_records}, {self.schema!r})"


def _as_names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise SchemaError(f"Give a sequence of column names: [{names!r}].")
    return tuple(names)


def _matched(table: Table, schema: Schema) -> Schema:
    if table.named:
        return schema.select(table.names)
    if len(table.names) != len(schema):
        raise SchemaError(
            f"The array has {len(table.names)} columns but the schema has "
            f"{len(schema)}; an array is matched by position."
        )
    return schema
