"""Tables of non-negative numbers with named axes, and sums of their products."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import ModelTooLargeError
from skdp.graphical.inference import Columns, batches

__all__ = ["NamedTable", "contract", "contract_at"]

#: Nanoseconds that one multiplication of a matrix product, one cell of its result and
#: one number taken from a scattered place cost, roughly.
_MULTIPLY, _WRITE, _GATHER = 0.1, 1.0, 2.0


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

    def n_cells(self, names: Iterable[str]) -> int:
        """Return the cells of a table over some of the columns.

        Parameters
        ----------
        names : iterable of str
            Some of `columns`.

        Returns
        -------
        int
            Product of their sizes.
        """
        return math.prod(self.values.shape[self.columns.index(c)] for c in names)

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
        return self.values.transpose([self.columns.index(c) for c in columns])

    def matrices(self, *groups: Columns) -> NDArray[np.float64]:
        """Return the table with one axis per group of columns.

        Parameters
        ----------
        *groups : tuple of str
            Each column is in one of them.

        Returns
        -------
        ndarray
            A view where possible.
        """
        shape = [self.n_cells(group) for group in groups]
        return self.transpose(tuple(c for g in groups for c in g)).reshape(shape)

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
    left = left.sum_to({*keep, *right.columns})
    right = right.sum_to({*keep, *left.columns})
    both, summed, rows, columns = _groups(left, right, keep)
    shape = [left.n_cells(both), left.n_cells(rows), right.n_cells(columns)]
    if math.prod(shape) > max_cells:
        raise ModelTooLargeError(
            f"The answer needs a table of {math.prod(shape):.3g} cells over "
            f"{', '.join(map(repr, both + rows + columns))}, more than the limit of "
            f"{max_cells:.3g}. Ask for fewer columns at once."
        )
    if summed:
        product = left.matrices(both, rows, summed) @ right.matrices(
            both, summed, columns
        )
    else:
        first, second = left.matrices(both, rows), right.matrices(both, columns)
        product = first[:, :, None] * second[:, None, :]
    sizes = [left.n_cells((c,)) for c in both + rows]
    sizes += [right.n_cells((c,)) for c in columns]
    return NamedTable(both + rows + columns, product.reshape(sizes))


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
    left = left.sum_to({*codes, *right.columns})
    right = right.sum_to({*codes, *left.columns})
    both, summed, rows, columns = _groups(left, right, codes)
    if not summed:
        return left.at(codes) * right.at(codes)
    n, inner = len(next(iter(codes.values()))), left.n_cells(summed)
    result = left.n_cells(both + rows) * right.n_cells(columns)
    at_once = (_MULTIPLY * inner + _WRITE) * result + _GATHER * n
    if result <= max_cells and at_once <= 2 * _GATHER * n * inner:
        return contract(left, right, codes, max_cells).at(codes)
    found = np.empty(n)
    first, second = left.matrices(both + rows, summed), right.matrices(
        both + columns, summed
    )
    for part in batches(n, inner):
        here = {name: c[part] for name, c in codes.items()}
        i = _places(here, both + rows, [left.n_cells((c,)) for c in both + rows])
        j = _places(here, both + columns, [right.n_cells((c,)) for c in both + columns])
        found[part] = np.einsum("ij,ij->i", first[i], second[j])
    return found


def _groups(
    left: NamedTable, right: NamedTable, keep: Collection[str]
) -> tuple[Columns, Columns, Columns, Columns]:
    """Sort columns: of both and kept, of both and summed, of one only."""
    both = tuple(c for c in left.columns if c in right.columns and c in keep)
    summed = tuple(c for c in left.columns if c in right.columns and c not in keep)
    rows = tuple(c for c in left.columns if c not in right.columns)
    columns = tuple(c for c in right.columns if c not in left.columns)
    return both, summed, rows, columns


def _places(
    codes: Mapping[str, NDArray[np.intp]], columns: Columns, shape: Iterable[int]
) -> NDArray[np.intp] | int:
    """Return flat positions in a table."""
    places: NDArray[np.intp] | int = 0
    for name, size in zip(columns, shape, strict=True):
        places = codes[name] if isinstance(places, int) else places * size + codes[name]
    return places
