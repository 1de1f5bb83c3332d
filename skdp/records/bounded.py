"""Records as rows of numbers in a cube, with cached sums of squares and products.

Columns are clipped to public bounds and rescaled to [-1, 1], then every row is rounded
to a public grid (`RowGrid`). What a moment query needs is one X'X on integers, exact in
floating point, and kept: everything after it costs nothing in the number of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import SchemaError
from skdp.records.row_grid import LARGEST_SUM, RowGrid
from skdp.records.schema import Numeric, Schema

__all__ = ["BoundedMatrix", "bounds_of"]

_BLOCK = 1 << 19  # numbers that are rounded at once: they stay in the cache


@dataclass(frozen=True, eq=False, repr=False)
class BoundedMatrix:
    """Numeric records between public bounds; private.

    Parameters
    ----------
    schema : Schema
        A Numeric column for each of the d columns: its bounds. Values outside are
        clipped.
    values : ndarray of shape (n, d)
        Finite numbers in the units of the columns. Not copied.

    Attributes
    ----------
    n_records : int
        Number of rows.
    centre, half_width : ndarray of shape (d,)
        Of the bounds: a value is centre + half_width * u with u in [-1, 1].

    Examples
    --------
    >>> schema = Schema([Numeric("a", 0, 10), Numeric("b", -1, 1)])
    >>> records = BoundedMatrix(schema, np.array([[10.0, 0.5], [5.0, 9.0]]))
    >>> records
    BoundedMatrix(n_records=2, Schema(a: Numeric(10), b: Numeric(10)))
    >>> records.cross_products(RowGrid(bits=1))  # in steps of 1/4
    array([[4, 2],
           [2, 5]])
    """

    schema: Schema
    values: NDArray[Any]
    n_records: int = field(init=False)
    centre: NDArray[np.float64] = field(init=False)
    half_width: NDArray[np.float64] = field(init=False)
    _kept: dict[Any, NDArray[Any]] = field(init=False)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.schema):
            raise SchemaError(
                f"The matrix must have the shape (n, {len(self.schema)}), one column "
                f"for each of the schema, not {self.values.shape}."
            )
        low, high = bounds_of(self.schema)
        object.__setattr__(self, "n_records", len(self.values))
        object.__setattr__(self, "centre", low + (high - low) / 2)
        object.__setattr__(self, "half_width", (high - low) / 2)
        object.__setattr__(self, "_kept", {})

    def cross_products(self, rows: RowGrid) -> NDArray[np.int64]:
        """Sum the products of all pairs of coordinates.

        Parameters
        ----------
        rows : RowGrid
            What becomes of each row before.

        Returns
        -------
        ndarray of int64, shape (k, k)
            X'X, in squared steps. Read-only.
        """
        self._sum_up(rows)
        return self._kept["products", rows.key]

    def sums(self, rows: RowGrid) -> NDArray[np.int64]:
        """Sum the coordinates.

        Parameters
        ----------
        rows : RowGrid
            What becomes of each row before.

        Returns
        -------
        ndarray of int64, shape (k,)
            In steps. Read-only.
        """
        self._sum_up(rows)
        return self._kept["sums", rows.key]

    def squared_norms(self, rows: RowGrid) -> NDArray[np.int64]:
        """Return the squared L2 norm of each row.

        Parameters
        ----------
        rows : RowGrid
            What becomes of each row before.

        Returns
        -------
        ndarray of int64, shape (n,)
            In squared steps. Read-only.
        """
        return self._keep(
            ("norms", rows.key),
            lambda: np.concatenate([_norms2(b) for b in self._blocks(rows)]),
        )

    def clipped_products(
        self, rows: RowGrid, limits: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Sum products that were clipped one by one; no BLAS can do that.

        Parameters
        ----------
        rows : RowGrid
            What becomes of each row before.
        limits : ndarray of shape (k, k)
            In (0, 1], symmetric: products are clipped to +-limits, divided by them, and
            rounded to squared steps.

        Returns
        -------
        ndarray of int64, shape (k, k)
            In squared steps of the clipped products. Read-only.
        """
        key = ("clipped", rows.key, limits.tobytes())
        return self._keep(key, lambda: self._clipped(rows, limits))

    def subsample(self, size: int, rng: np.random.Generator) -> BoundedMatrix:
        """Draw rows without replacement, every subset equally likely.

        Parameters
        ----------
        size : int
            From 0 to n_records.
        rng : numpy.random.Generator
            Source of the randomness.

        Returns
        -------
        BoundedMatrix
            Of `size` records, between the same bounds.
        """
        chosen = rng.choice(self.n_records, size, replace=False)
        return BoundedMatrix(self.schema, self.values[chosen])

    def partition(self, n_blocks: int, rng: np.random.Generator) -> list[BoundedMatrix]:
        """Deal the rows out at random into blocks of nearly equal size.

        Parameters
        ----------
        n_blocks : int
            From 1 to n_records.
        rng : numpy.random.Generator
            Draws the partition, which does not depend on the values.

        Returns
        -------
        list of BoundedMatrix
            The blocks, which together hold every record once.
        """
        blocks = np.array_split(rng.permutation(self.n_records), n_blocks)
        return [BoundedMatrix(self.schema, self.values[block]) for block in blocks]

    def _keep(self, key: tuple[Any, ...], make: Callable[[], Any]) -> NDArray[np.int64]:
        if key not in self._kept:
            made = make()
            made.setflags(write=False)
            self._kept[key] = made
        return self._kept[key]

    def _blocks(self, rows: RowGrid) -> Iterator[NDArray[np.float64]]:
        """Iterate over the rounded rows, some at a time."""
        n, d = self.values.shape
        if n * 4.0**rows.bits > LARGEST_SUM:
            raise ValueError(
                f"{n} records on a grid of {rows.bits} bits: the sums would not be "
                "exact. Use fewer bits."
            )
        length = max(1, _BLOCK // d)
        for start in range(0, n, length):
            yield self._rounded(self.values[start : start + length], rows)

    # An overflow or underflow that is reported depends on the records.
    @np.errstate(all="ignore")
    def _rounded(self, values: NDArray[Any], rows: RowGrid) -> NDArray[np.float64]:
        low, high = bounds_of(self.schema)
        block = np.clip(values, low, high) - self.centre
        block /= self.half_width
        return rows.round(block)

    def _sum_up(self, rows: RowGrid) -> None:
        """Compute sums and products in one pass."""
        if ("products", rows.key) in self._kept:
            return
        width = rows.width(len(self.schema))
        products, sums = np.zeros((width, width)), np.zeros(width)
        for block in self._blocks(rows):
            products += block.T @ block
            sums += block.sum(axis=0)
        for name, total in (("products", products), ("sums", sums)):
            whole = total.astype(np.int64)
            whole.setflags(write=False)
            self._kept[name, rows.key] = whole

    def _clipped(self, rows: RowGrid, limits: NDArray[np.float64]) -> NDArray[np.int64]:
        one = 4.0**rows.bits
        total = np.zeros(limits.shape)
        for block in self._blocks(rows):
            columns = np.ascontiguousarray(block.T)
            for i, column in enumerate(columns):
                products = columns[i:] * column
                products /= limits[i, i:, None]
                np.clip(products, -one, one, out=products)
                np.rint(products, out=products)
                total[i, i:] += products.sum(axis=1)
        return (np.triu(total) + np.triu(total, 1).T).astype(np.int64)

    def __reduce__(self) -> str:
        raise TypeError("A BoundedMatrix cannot be pickled: it holds private records.")

    def __repr__(self) -> str:
        return f"BoundedMatrix(n_records={self.n_records}, {self.schema!r})"


def bounds_of(schema: Schema) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of numeric columns.

    Parameters
    ----------
    schema : Schema
        Numeric columns.

    Returns
    -------
    low, high : ndarray of shape (d,)
        In the units of the columns.

    Raises
    ------
    SchemaError
        If a column is not Numeric.

    Examples
    --------
    >>> bounds_of(Schema([Numeric("age", 0, 100)]))
    (array([0.]), array([100.]))
    """
    ends = []
    for column in schema:
        if not isinstance(column, Numeric):
            raise SchemaError(
                f"Column {column.name!r} is declared as {type(column).__name__}, but "
                "moments need numbers: declare it as Numeric(name, low, high), and "
                "make indicators of levels that have no order."
            )
        ends.append((column.low, column.high))
    low, high = np.array(ends).T
    return low, high


def _norms2(rows: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.einsum("ij,ij->i", rows, rows).astype(np.int64)
