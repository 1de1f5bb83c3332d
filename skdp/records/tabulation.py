"""Tables of counts over some columns of distinct rows, each counted once.

Counting is bound by the pass over the rows, hardly by the number of cells. So a pass
takes in further columns, as many as a small table holds: whoever asks about x, y and
one z after another, as a skeleton search does, is served from one pass for several z.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skdp.records.distinct import Codes, row_keys

__all__ = ["Tabulator"]

Places: TypeAlias = tuple[int, ...]
Counts: TypeAlias = NDArray[np.int64]

_CACHED_CELLS = 1 << 12
_CACHED_TABLES = 1 << 12  # together at most 128 MiB, and far less as a rule
_FEW_ROWS = 1 << 11
#: Cells per row up to which occupied cells are found in a table of all cells.
_SCANNED_CELLS = 8
_REMEMBERED_OCCUPIED = 1 << 25


class Tabulator:
    """Counts and remembers.

    Parameters
    ----------
    rows : ndarray of shape (m, d), integer
        Codes of the distinct rows.
    counts : ndarray of shape (m,), int64
        How often each occurs.
    shape : tuple of int
        Numbers of levels of the d columns.
    """

    def __init__(self, rows: Codes, counts: Counts, shape: tuple[int, ...]) -> None:
        self._rows = rows
        self._shape = shape
        single = len(counts) == counts.sum()
        # Sums of counts in float64 are exact below 2^53 records.
        self._weights = None if single else counts.astype(np.float64)
        self._tables: dict[Places, Counts] = {}
        self._block: tuple[Places, Counts] | None = None
        self._occupied: dict[Places, tuple[Codes, Counts]] = {}
        self._n_remembered = 0

    def table(self, places: Places, after: int) -> Counts:
        """Count some columns.

        Parameters
        ----------
        places : tuple of int
            Positions of the columns, ascending.
        after : int
            The columns after this one are likely to be asked for next.

        Returns
        -------
        ndarray of int64, one axis per column
            Not to be changed.
        """
        found = self._tables.get(places)
        block = self._block  # read once: another thread may put another in its place
        if found is None and block is not None and set(places) <= set(block[0]):
            found = _summed(block, places)
        if found is None:
            found = self._count_block(places, after)
        if found.size <= _CACHED_CELLS:
            if len(self._tables) >= _CACHED_TABLES:
                self._tables.clear()
            self._tables[places] = found
        return found

    def occupied(self, places: Places) -> tuple[Codes, Counts]:
        """Count some columns, and return the cells that hold records.

        Parameters
        ----------
        places : tuple of int
            Positions of the columns, whose table has at most 2**62 cells.

        Returns
        -------
        cells : ndarray of int of shape (m,)
            Positions in the raveled table, ascending. Not to be changed.
        counts : ndarray of int64 of shape (m,)
            Numbers of records there. Not to be changed.
        """
        found = self._occupied.get(places)
        if found is None:
            found = self._find_occupied(places)
            for array in found:
                array.setflags(write=False)
            if self._n_remembered + len(found[0]) <= _REMEMBERED_OCCUPIED:
                self._occupied[places] = found
                self._n_remembered += len(found[0])
        return found

    def _find_occupied(self, places: Places) -> tuple[Codes, Counts]:
        columns, shape = [self._rows[:, p] for p in places], self._levels(places)
        keys = row_keys(columns, shape, len(self._rows))
        if math.prod(shape) <= _SCANNED_CELLS * len(self._rows):
            table = self.tally(columns, shape).ravel()
            cells = np.flatnonzero(table)
            return cells.astype(keys.dtype), table[cells]
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        weights = np.ones(len(keys)) if self._weights is None else self._weights[order]
        counts = np.add.reduceat(weights, first) if len(first) else weights
        return keys[first], counts.astype(np.int64)

    def _count_block(self, places: Places, after: int) -> Counts:
        wider = self._widened(places, after)
        counts = self.tally([self._rows[:, p] for p in wider], self._levels(wider))
        if wider == places:
            return counts
        self._block = block = (wider, counts)
        return _summed(block, places)

    def _widened(self, places: Places, after: int) -> Places:
        """Add the columns that come next, while the table stays small."""
        if len(self._rows) <= _FEW_ROWS:
            return places
        size, wider = math.prod(self._levels(places)), set(places)
        for place in range(after + 1, len(self._shape)):
            if place not in wider:
                size *= self._shape[place]
                if size > _CACHED_CELLS:
                    break
                wider.add(place)
        return tuple(sorted(wider))

    def _levels(self, places: Sequence[int]) -> tuple[int, ...]:
        return tuple(self._shape[place] for place in places)

    def tally(self, columns: Sequence[Codes], shape: tuple[int, ...]) -> Counts:
        """Count the rows by the combinations of columns given.

        Parameters
        ----------
        columns : sequence of ndarray of shape (m,), integer
            Codes of the distinct rows.
        shape : tuple of int
            Their numbers of levels.

        Returns
        -------
        ndarray of int64, of this shape
            Numbers of records.
        """
        keys = row_keys(columns, shape, len(self._rows))
        found: NDArray[Any] = np.bincount(
            keys, weights=self._weights, minlength=math.prod(shape)
        )
        return found.astype(np.int64, copy=False).reshape(shape)


def _summed(block: tuple[Places, Counts], places: Places) -> Counts:
    """Return the table of some columns of a block."""
    others = [i for i, place in enumerate(block[0]) if place not in places]
    return np.asarray(block[1].sum(axis=tuple(others)))
