"""Distinct rows of coded columns, and how often each occurs.

A row of codes is one number in mixed radix. As long as that number fits 64 bits the
rows are counted with it; beyond, groups of columns are numbered by the distinct
combinations that occur, and the groups are then combined pair by pair.

The columns are read in chunks of rows, so that nothing larger than one key per
record is ever made next to the input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Codes",
    "Reader",
    "distinct_rows",
    "narrowest",
    "row_keys",
    "row_ranks",
    "rows_of_keys",
]

Codes: TypeAlias = NDArray[np.integer]
Reader: TypeAlias = Callable[[slice], Codes]

_CHUNK = 1 << 15
_LARGEST_KEY = 1 << 62


def distinct_rows(
    readers: Sequence[Reader], shape: Sequence[int], n_rows: int
) -> tuple[Codes, NDArray[np.int64]]:
    """Return the distinct rows in lexicographic order and their counts.

    Parameters
    ----------
    readers : sequence of d functions
        Reader j returns the codes of column j for a slice of rows.
    shape : sequence of d ints
        Number of levels per column.
    n_rows : int

    Returns
    -------
    rows : ndarray of shape (m, d)
    counts : ndarray of shape (m,)
        All positive.
    """
    size = math.prod(shape)
    if size <= max(n_rows // 2, 1 << 12) and size <= 4 * _CHUNK:
        tally: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        for _, keys in _chunks(readers, shape, n_rows):
            tally += np.bincount(keys, minlength=size)
        occupied = np.flatnonzero(tally)
        return rows_of_keys(occupied, shape), tally[occupied]
    if size <= _LARGEST_KEY:
        found, counts = _count_in_place(_all_keys(readers, shape, n_rows))
        return rows_of_keys(found, shape), counts
    ranks, rows = row_ranks(readers, shape, n_rows)
    return rows, np.bincount(ranks, minlength=len(rows)).astype(np.int64)


def row_ranks(
    readers: Sequence[Reader], shape: Sequence[int], n_rows: int
) -> tuple[NDArray[np.intp], Codes]:
    """Number the distinct rows in lexicographic order.

    Returns
    -------
    ranks : ndarray of shape (n_rows,)
        The number of each row's combination of codes.
    rows : ndarray of shape (m, d)
        The distinct rows.
    """
    ranks = np.zeros(n_rows, dtype=np.intp)
    rows: Codes = np.empty((min(n_rows, 1), 0), dtype=np.int8)
    for start, stop in _groups(shape):
        group = shape[start:stop]
        keys = _all_keys(readers[start:stop], group, n_rows)
        found, inverse = np.unique(keys, return_inverse=True)
        # At most n^2 pairs: they fit whenever n records fit in memory.
        pairs, ranks = np.unique(ranks * len(found) + inverse, return_inverse=True)
        left, right = np.divmod(pairs, max(len(found), 1))
        rows = np.hstack([rows[left], rows_of_keys(found, group)[right]])
    return ranks, np.asfortranarray(rows)


def row_keys(codes: Sequence[Codes], shape: Sequence[int], n_rows: int) -> Codes:
    """Return each row as one number in mixed radix, the last column fastest.

    Parameters
    ----------
    codes : sequence of d ndarrays of shape (n_rows,)
    shape : sequence of d ints
        Their product must be at most 2**62.
    n_rows : int

    Examples
    --------
    >>> row_keys([np.array([0, 1]), np.array([2, 1])], (2, 3), 2)
    array([2, 4], dtype=int8)
    """
    if not codes:
        return np.zeros(n_rows, dtype=np.int8)
    keys = codes[0].astype(narrowest(math.prod(shape)))
    for column, radix in zip(codes[1:], shape[1:], strict=True):
        keys *= radix
        keys += column
    return keys


def narrowest(size: int) -> type[np.signedinteger]:
    """Return the narrowest integer type that holds the numbers up to `size`.

    Narrow codes and keys are most of the speed of counting: it is bound by memory.
    """
    for kind in (np.int8, np.int16, np.int32):
        if size <= np.iinfo(kind).max:  # the radix itself has to fit as well
            return kind
    return np.int64


def rows_of_keys(keys: Codes, shape: Sequence[int]) -> Codes:
    """Undo `row_keys`: the rows of shape (m, d).

    Examples
    --------
    >>> rows_of_keys(np.array([2, 4]), (2, 3))
    array([[0, 2],
           [1, 1]], dtype=int8)
    """
    dtype = narrowest(max(shape, default=1))
    rows = np.empty((len(keys), len(shape)), dtype=dtype, order="F")
    for j in reversed(range(len(shape))):
        keys, rows[:, j] = np.divmod(keys, shape[j])
    return rows


def _chunks(
    readers: Sequence[Reader], shape: Sequence[int], n_rows: int
) -> Iterator[tuple[slice, Codes]]:
    for start in range(0, n_rows, _CHUNK):
        rows = slice(start, min(start + _CHUNK, n_rows))
        codes = [reader(rows) for reader in readers]
        yield rows, row_keys(codes, shape, rows.stop - rows.start)


def _all_keys(readers: Sequence[Reader], shape: Sequence[int], n_rows: int) -> Codes:
    keys = np.empty(n_rows, dtype=narrowest(math.prod(shape)))
    for rows, chunk in _chunks(readers, shape, n_rows):
        keys[rows] = chunk
    return keys


def _count_in_place(
    keys: Codes,
) -> tuple[Codes, NDArray[np.int64]]:
    """Return the distinct keys in order and their counts; sorts `keys` itself."""
    keys.sort()
    first = np.empty(len(keys), dtype=np.bool_)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    return keys[starts], np.diff(starts, append=len(keys))


def _groups(shape: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cut the columns into runs whose combinations fit one key."""
    start, size = 0, 1
    for j, radix in enumerate(shape):
        if size * radix > _LARGEST_KEY and j > start:
            yield start, j
            start, size = j, 1
        size *= radix
    yield start, len(shape)
