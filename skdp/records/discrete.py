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
from skdp.records.checks import is_whole
from skdp.records.distinct import Codes, distinct_rows, row_keys, row_ranks
from skdp.records.frames import Table, read_table
from skdp.records.readers import code_reader, value_reader
from skdp.records.schema import Schema

__all__ = ["CountTable"]

_DENSE_STRATA = 1 << 16
_LARGEST_MARGINAL = 1 << 28
_CACHED_CELLS = 1 << 12
_CACHED_MARGINALS = 256
_MOST_SAMPLED = 10**9  # a sample is drawn from a list of all records


@dataclass(frozen=True, eq=False, repr=False)
class CountTable:
    """Distinct records with their counts.

    Made by `from_frame` or `from_codes`.

    Parameters
    ----------
    schema : Schema
        The d columns, in the order of the table.
    rows : ndarray of shape (m, d), int32 or int64
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
    _cache: dict[tuple[str, ...], NDArray[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        if self.rows.shape != (len(self.counts), len(self.schema)):
            raise ValueError(
                f"rows must have the shape (m, d) = ({len(self.counts)}, "
                f"{len(self.schema)}) of counts and schema, not {self.rows.shape}."
            )
        for array in (self.rows, self.counts):
            array.setflags(write=False)
        places = {name: j for j, name in enumerate(self.schema.names)}
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_cache", {})
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
        names = _as_names(names)
        cached = self._cache.get(names)
        if cached is not None:
            return cached.copy()
        shape = self.schema.select(names).shape
        size = math.prod(shape)
        if size > _LARGEST_MARGINAL:
            raise ValueError(
                f"The marginal of {', '.join(map(repr, names))} has {size} cells, more "
                f"than {_LARGEST_MARGINAL}. Ask for fewer columns."
            )
        keys = row_keys(self._codes(names), shape, len(self.counts))
        counts = self._tally(keys, size).reshape(shape)
        if size <= _CACHED_CELLS:
            if len(self._cache) >= _CACHED_MARGINALS:
                self._cache.clear()
            self._cache[names] = counts.copy()
        return counts

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
        given = _as_names(given)
        shape = self.schema.select((*given, x, y)).shape
        strata, table = shape[:-2], shape[-2:]
        if math.prod(shape) <= _DENSE_STRATA:
            return self.marginal((*given, x, y)).reshape(-1, *table)
        readers = [codes.__getitem__ for codes in self._codes(given)]
        ranks, occupied = row_ranks(readers, strata, len(self.counts))
        shape = (len(occupied), *table)
        keys = row_keys([ranks, *self._codes((x, y))], shape, len(self.counts))
        return self._tally(keys, math.prod(shape)).reshape(shape)

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
        if not is_whole(size) or not 0 <= size <= self.n_records:
            raise ValueError(
                f"size must be an integer from 0 to n_records = {self.n_records}, "
                f"not {size!r}."
            )
        _refuse_many(self.n_records)
        # By shuffling integers: the sampler that is faster works in floating point, and
        # never draws some of the rarest sub-samples.
        counts = rng.multivariate_hypergeometric(self.counts, int(size), method="count")
        return self._with_counts(counts)

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
        if not 1 <= n_blocks <= self.n_records:
            raise ValueError(
                f"n_blocks must be from 1 to n_records = {self.n_records}, not "
                f"{n_blocks!r}."
            )
        _refuse_many(self.n_records)
        m = len(self.counts)
        dealt = np.repeat(np.arange(m), self.counts)
        rng.shuffle(dealt)
        return [
            self._with_counts(np.bincount(block, minlength=m))
            for block in np.array_split(dealt, n_blocks)
        ]

    def _with_counts(self, counts: NDArray[np.int64]) -> CountTable:
        kept = np.flatnonzero(counts)
        rows = np.asfortranarray(self.rows[kept])
        return CountTable(self.schema, rows, counts[kept].astype(np.int64, copy=False))

    def _codes(self, names: Sequence[str]) -> list[Codes]:
        return [self.rows[:, self._places[name]] for name in names]

    def _tally(self, keys: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        # Sums of counts in float64 are exact below 2^53 records.
        tally = np.bincount(keys, weights=self.counts, minlength=size)
        return tally.astype(np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cache": {}}

    def __repr__(self) -> str:
        return f"CountTable(n_records={self.n_records}, {self.schema!r})"


def _refuse_many(n_records: int) -> None:
    if n_records >= _MOST_SAMPLED:
        raise ValueError(
            f"Sub-samples can be drawn of fewer than {_MOST_SAMPLED} records, not of "
            f"{n_records}. Use all records instead."
        )


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
