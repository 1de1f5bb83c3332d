"""Tables of non-negative numbers with named axes, and sums of their products."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import ModelTooLargeError
from skdp.graphical.inference import Columns

__all__ = ["NamedTable", "contract", "contract_at"]

#: Nanoseconds that one multiplication of a matrix product, one cell of its result and
#: one number taken from a scattered place cost, roughly.
_MULTIPLY, _WRITE, _GATHER = 0.1, 1.0, 2.0
#: Numbers that are gathered at once: few enough for the processor's cache.
_BATCH = 1 << 14


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A table with one axis per column.

    Parameters
    ----------
    columns : tuple of str
        Different names, one per axis.
    values : ndarray of float64
        Not negative.

    Examples
    --------
    >>> table = NamedTable(("a", "b"), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> table.sum_to({"b"}).values
    array([4., 6.])
    >>> table.at({"a": np.array([1, 0]), "b": np.array([0, 0])})
    array([3., 1.])
    """

    columns: Columns
    values: NDArray[np.float64]

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of levels of the columns."""
        return dict(zip(self.columns, self.values.shape, strict=True))

    def sum_to(self, keep: Collection[str]) -> NamedTable:
        """Sum out all but some columns.

        Parameters
        ----------
        keep : collection of str
            May hold other names too.

        Returns
        -------
        NamedTable
            Its columns stay in order.
        """
        lost = tuple(i for i, c in enumerate(self.columns) if c not in keep)
        if not lost:
            return self
        left = tuple(c for c in self.columns if c in keep)
        return NamedTable(left, np.asarray(self.values.sum(axis=lost)))

    def transpose(self, columns: Columns) -> NDArray[np.float64]:
        """Return the values with the axes in another order.

        Parameters
        ----------
        columns : tuple of str
            The same names.

        Returns
        -------
        ndarray
            A view.
        """
        if columns == self.columns:
            return self.values
        return self.values.transpose([self.columns.index(c) for c in columns])

    def at(self, codes: Mapping[str, NDArray[np.intp]]) -> NDArray[np.float64]:
        """Return the values at many cells.

        Parameters
        ----------
        codes : mapping of str to ndarray of int, shape (m,)
            For every column the codes of its levels; others are passed over.

        Returns
        -------
        ndarray, shape (m,)
            One value a cell.
        """
        places = _places(codes, self.columns, self.values.shape)
        return np.asarray(self.values.ravel()[places])


def contract(
    left: NamedTable, right: NamedTable, keep: Collection[str], max_cells: float
) -> NamedTable:
    """Multiply two tables and sum out all but some columns.

    Parameters
    ----------
    left, right : NamedTable
        The factors.
    keep : collection of str
        May hold other names too.
    max_cells : float
        Largest result.

    Returns
    -------
    NamedTable
        The columns that both have, then those of `left`, then those of `right`.

    Raises
    ------
    ModelTooLargeError
        If the result would be larger; nothing was allocated.
    """
    left, right, groups = _prepared(left, right, keep)
    both, summed, rows, columns = groups
    sizes = left.sizes | right.sizes
    b, s, i, j = (math.prod([sizes[c] for c in group]) for group in groups)
    result = both + rows + columns
    if b * i * j > max_cells:
        raise ModelTooLargeError(
            f"The answer needs a table of {b * i * j:.3g} cells over "
            f"{', '.join(map(repr, result))}, more than the limit of {max_cells:.3g}. "
            "Ask for fewer columns at once."
        )
    if summed:
        first = left.transpose(both + rows + summed).reshape(b, i, s)
        second = right.transpose(both + summed + columns).reshape(b, s, j)
        product = first @ second
    else:
        first = left.transpose(both + rows).reshape(b, i, 1)
        product = first * right.transpose(both + columns).reshape(b, 1, j)
    return NamedTable(result, product.reshape([sizes[c] for c in result]))


def contract_at(
    left: NamedTable,
    right: NamedTable,
    codes: Mapping[str, NDArray[np.intp]],
    max_cells: float,
) -> NDArray[np.float64]:
    """Return a sum of products of two tables at some cells only.

    Parameters
    ----------
    left, right : NamedTable
        The factors.
    codes : mapping of str to ndarray of int, shape (m,)
        The cells; other columns are summed out. Every column is in a factor.
    max_cells : float
        Largest table to form.

    Returns
    -------
    ndarray, shape (m,)
        What `contract` has there, by whichever way is faster.
    """
    left, right, groups = _prepared(left, right, codes)
    both, summed, rows, columns = groups
    if not summed:
        return left.at(codes) * right.at(codes)
    sizes, n = left.sizes | right.sizes, len(next(iter(codes.values())))
    b, s, i, j = (math.prod([sizes[c] for c in group]) for group in groups)
    at_once = (_MULTIPLY * s + _WRITE) * b * i * j + _GATHER * n
    if b * i * j <= max_cells and at_once <= 2 * _GATHER * n * s:
        return contract(left, right, codes, max_cells).at(codes)
    first = left.transpose(both + rows + summed).reshape(b * i, s)
    second = right.transpose(both + columns + summed).reshape(b * j, s)
    found = np.empty(n)
    step = max(1, _BATCH // s)
    for start in range(0, n, step):
        part = slice(start, start + step)
        here = {name: c[part] for name, c in codes.items()}
        at_left = _places(here, both + rows, [sizes[c] for c in both + rows])
        at_right = _places(here, both + columns, [sizes[c] for c in both + columns])
        found[part] = np.einsum("ij,ij->i", first[at_left], second[at_right])
    return found


def _prepared(
    left: NamedTable, right: NamedTable, keep: Collection[str]
) -> tuple[NamedTable, NamedTable, tuple[Columns, Columns, Columns, Columns]]:
    """Sum out what only one table has, and sort the columns that are left.

    The groups are: in both and kept, in both and summed, in one table only.
    """
    left = left.sum_to({*keep, *right.columns})
    right = right.sum_to({*keep, *left.columns})
    shared = [c for c in left.columns if c in right.columns]
    both = tuple([c for c in shared if c in keep])
    summed = tuple([c for c in shared if c not in keep])
    rows = tuple([c for c in left.columns if c not in right.columns])
    columns = tuple([c for c in right.columns if c not in left.columns])
    return left, right, (both, summed, rows, columns)


def _places(
    codes: Mapping[str, NDArray[np.intp]], columns: Columns, shape: Iterable[int]
) -> NDArray[np.intp] | int:
    """Return flat positions in a table."""
    places: NDArray[np.intp] | int = 0
    for name, size in zip(columns, shape, strict=True):
        places = codes[name] if isinstance(places, int) else places * size + codes[name]
    return places
