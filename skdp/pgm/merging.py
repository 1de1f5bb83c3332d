"""Rare levels of a column, merged into one so that noise does not drown them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.graphical.linear_queries import Identity, Kronecker, LinearQuery, Matrix
from skdp.queries import LinearMarginal, Marginal

__all__ = ["Merging"]


@dataclass(frozen=True, eq=False)
class Merging:
    """Which group each level of some columns belongs to.

    Parameters
    ----------
    groups : dict of str to ndarray of int, shape (n_levels,)
        Groups are numbered from 0; a column whose levels all stay apart has as many
        groups as levels.

    Examples
    --------
    >>> merging = Merging.of_rare_levels({"a": [90.0, 2.0, -3.0, 40.0]}, 30.0)
    >>> merging.groups["a"]
    array([0, 2, 2, 1])
    >>> merging.merge([90.0, 2.0, 3.0, 40.0], ("a",))
    array([90., 40.,  5.])
    """

    groups: dict[str, NDArray[np.intp]]

    @classmethod
    def of_rare_levels(
        cls, counts: Mapping[str, ArrayLike], threshold: float
    ) -> Merging:
        """Merge the levels of each column whose noisy count is below a threshold.

        Parameters
        ----------
        counts : mapping of str to array-like, shape (n_levels,)
            Noisy counts.
        threshold : float
            In records.

        Returns
        -------
        Merging
            The rare levels of a column are its last group; a single one stays apart.
        """
        return cls(
            {name: _groups(np.asarray(c), threshold) for name, c in counts.items()}
        )

    def table(self, names: tuple[str, ...]) -> Marginal | LinearMarginal:
        """Return the query for the table of some columns with their levels merged.

        Parameters
        ----------
        names : tuple of str
            The columns.

        Returns
        -------
        Marginal or LinearMarginal
            A table of counts; LinearMarginal where levels are merged.
        """
        if all(self._n_groups(name) == len(self.groups[name]) for name in names):
            return Marginal(names)
        return LinearMarginal(names, Kronecker(tuple(map(self._matrix, names))))

    def merge(self, table: ArrayLike, names: tuple[str, ...]) -> NDArray[np.float64]:
        """Merge the levels of a table, as `table` would give it.

        Parameters
        ----------
        table : array-like
            One axis per name, one entry per level.
        names : tuple of str
            The columns.

        Returns
        -------
        ndarray
            Of the shape of the answer of `table`.
        """
        cells = np.asarray(table, dtype=np.float64)
        query = self.table(names)
        if isinstance(query, Marginal):
            return cells
        return query.query.dot(cells.ravel())

    def _n_groups(self, name: str) -> int:
        return int(self.groups[name].max()) + 1

    def _matrix(self, name: str) -> LinearQuery:
        groups, n_groups = self.groups[name], self._n_groups(name)
        if n_groups == len(groups):
            return Identity(n_groups)
        return Matrix((np.arange(n_groups)[:, None] == groups).astype(np.float64))


def _groups(counts: NDArray[np.float64], threshold: float) -> NDArray[np.intp]:
    rare = counts < threshold
    if rare.sum() < 2:
        return np.arange(len(counts))
    groups = np.cumsum(~rare) - 1
    groups[rare] = (~rare).sum()
    return groups
