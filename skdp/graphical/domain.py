"""The columns a model speaks of, and how many levels each of them has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from skdp.records.schema import Schema

__all__ = ["Domain"]


@dataclass(frozen=True)
class Domain:
    """Names of columns with their numbers of levels, in order.

    Parameters
    ----------
    names : tuple of str
        Different names.
    sizes : tuple of int
        Number of levels of each, at least 1.

    Raises
    ------
    ValueError
        If the lengths differ, a name is there twice, or a size is below 1.

    Examples
    --------
    >>> domain = Domain(("sex", "age", "race"), (2, 85, 5))
    >>> domain.shape(("race", "sex")), domain.n_cells(("race", "sex"))
    ((5, 2), 10)
    >>> domain.sort(("race", "sex"))
    ('sex', 'race')
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    _position: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        object.__setattr__(self, "_position", {a: i for i, a in enumerate(self.names)})
        if len(self.names) != len(self.sizes):
            raise ValueError(
                f"A domain needs one size per name: {len(self.names)} names and "
                f"{len(self.sizes)} sizes were given."
            )
        if len(self._position) < len(self.names):
            raise ValueError("The names of a domain must be different.")
        for name, size in zip(self.names, self.sizes, strict=True):
            if size < 1:
                raise ValueError(f"Column {name!r} needs at least 1 level, not {size}.")

    @classmethod
    def from_schema(cls, schema: Schema | Domain) -> Domain:
        """Return the domain of a schema (a domain is returned as it is).

        Parameters
        ----------
        schema : Schema or Domain
            The public columns.

        Returns
        -------
        Domain
            Its names and numbers of levels.
        """
        return schema if isinstance(schema, Domain) else cls(schema.names, schema.shape)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._position

    def size(self, name: str) -> int:
        """Return the number of levels of a column.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        int
            Its number of levels.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        return self.sizes[self.axis(name)]

    def axis(self, name: str) -> int:
        """Return the position of a column.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        int
            From 0.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        try:
            return self._position[name]
        except (KeyError, TypeError):
            raise ValueError(
                f"There is no column {name!r} in the domain. Its columns are "
                f"{', '.join(map(repr, self.names))}."
            ) from None

    def shape(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the numbers of levels of some columns, in the order given.

        Parameters
        ----------
        names : iterable of str
            Names of columns.

        Returns
        -------
        tuple of int
            The shape of a table over them.

        Raises
        ------
        ValueError
            If a column is unknown.
        """
        return tuple(self.size(name) for name in names)

    def n_cells(self, names: Iterable[str]) -> int:
        """Return the number of cells of a table over some columns.

        Parameters
        ----------
        names : iterable of str
            Names of columns.

        Returns
        -------
        int
            However large.

        Raises
        ------
        ValueError
            If a column is unknown.
        """
        return math.prod(self.shape(names))

    def sort(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return columns in the order of the domain, each once.

        Parameters
        ----------
        names : iterable of str
            Names of columns.

        Returns
        -------
        tuple of str
            The same names, in canonical order.

        Raises
        ------
        ValueError
            If a column is unknown.
        """
        return tuple(sorted(set(names), key=self.axis))

    def broadcast(
        self, table: NDArray[np.float64], names: Iterable[str], onto: Iterable[str]
    ) -> NDArray[np.float64]:
        """Return a table with its axes where those of a larger table are.

        Parameters
        ----------
        table : ndarray of shape `shape(names)`
            A table over `names`.
        names : iterable of str
            The axes it has.
        onto : iterable of str
            Axes of the larger table; must hold all of `names`.

        Returns
        -------
        ndarray
            A view that broadcasts against a table over `onto`.

        Examples
        --------
        >>> domain = Domain(("a", "b", "c"), (2, 3, 4))
        >>> domain.broadcast(np.ones((4, 2)), ("c", "a"), ("a", "b", "c")).shape
        (2, 1, 4)
        """
        names, onto = tuple(names), tuple(onto)
        order = sorted(range(len(names)), key=lambda i: onto.index(names[i]))
        shape = [self.size(name) if name in names else 1 for name in onto]
        return table.transpose(order).reshape(shape)
