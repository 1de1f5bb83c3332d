"""Levels that no measurement tells apart are one, while a model is fitted.

A few sums over a column of a hundred levels know of a few classes of levels only. The
fitted distribution is uniform within them, so that it can be found over the classes and
spread out afterwards, which makes cliques of single queries smaller by orders of
magnitude. The result is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.linear_queries import Identity, Kronecker, LinearQuery, Matrix
from skdp.graphical.measurement import LinearMeasurement
from skdp.graphical.plan import Layout

__all__ = ["LevelMerging"]

Array = NDArray[np.float64]
Columns = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LevelMerging:
    """Classes of levels, per column.

    Parameters
    ----------
    full : Domain
        Columns and their numbers of levels.
    classes : mapping of str to ndarray of int
        Of the columns that are merged: the class of each level, from 0.
    """

    full: Domain
    classes: dict[str, NDArray[np.intp]]

    @classmethod
    def of(
        cls, domain: Domain, measurements: Sequence[LinearMeasurement]
    ) -> LevelMerging:
        """Find the levels on which all measurements have the same weights.

        Parameters
        ----------
        domain : Domain
            Columns and their numbers of levels.
        measurements : sequence of LinearMeasurement
            Checked against the domain.

        Returns
        -------
        LevelMerging
            Empty where all levels are told apart. A matrix over several columns tells
            all of theirs apart.
        """
        seen: dict[str, list[LinearQuery | None]] = {}
        for measurement in measurements:
            parts = _parts(measurement)
            for name, part in zip(measurement.columns, parts, strict=True):
                seen.setdefault(name, []).append(part)
        found = {name: _classes(parts) for name, parts in seen.items()}
        kept = {name: c for name, c in found.items() if c is not None}
        return cls(domain, kept)

    @cached_property
    def domain(self) -> Domain:
        """The columns with their numbers of classes."""
        sizes = [
            int(self.classes[name].max()) + 1 if name in self.classes else size
            for name, size in zip(self.full.names, self.full.sizes, strict=True)
        ]
        return Domain(self.full.names, tuple(sizes))

    @cached_property
    def sizes(self) -> dict[str, NDArray[np.intp]]:
        """Numbers of levels in the classes of each merged column."""
        return {name: np.bincount(classes) for name, classes in self.classes.items()}

    def sizes_of(self, name: str) -> NDArray[np.intp]:
        """Return the numbers of levels in the classes of any column.

        Parameters
        ----------
        name : str
            The column; a level by itself is a class of one.

        Returns
        -------
        ndarray of int
            In the order of the classes.
        """
        return np.bincount(self._classes_of(name))

    def places_in(self, coarser: LevelMerging, name: str) -> NDArray[np.intp]:
        """Return the classes of which those of a column are parts.

        Parameters
        ----------
        coarser : LevelMerging
            Of some of the measurements.
        name : str
            The column.

        Returns
        -------
        ndarray of int
            Per class, the class of `coarser` that holds it.
        """
        _, first = np.unique(self._classes_of(name), return_index=True)
        return coarser._classes_of(name)[first]

    def _classes_of(self, name: str) -> NDArray[np.intp]:
        alone = np.arange(self.full.size(name))
        return self.classes.get(name, alone)

    def merge(self, measurement: LinearMeasurement) -> LinearMeasurement:
        """Ask the same of the classes.

        Parameters
        ----------
        measurement : LinearMeasurement
            One of those that the classes were found from.

        Returns
        -------
        LinearMeasurement
            With the same answer.
        """
        names, query = measurement.columns, measurement.query
        if not any(name in self.classes for name in names):
            return measurement
        if isinstance(query, Kronecker):
            parts = zip(query.factors, names, strict=True)
            merged: LinearQuery = Kronecker(tuple(self._of_classes(*p) for p in parts))
        else:
            assert query is not None  # a measured table tells all levels apart
            merged = self._of_classes(query, names[0])
        return LinearMeasurement(names, measurement.answer, measurement.sigma, merged)

    def log_sizes(self, layout: Layout) -> Array:
        """Return potentials of the uniform distribution of the levels.

        Parameters
        ----------
        layout : Layout
            Of cliques over the classes.

        Returns
        -------
        ndarray of shape (layout.n_cells,)
            Each column's in one clique that has it.
        """
        potentials = np.zeros(layout.n_cells)
        for name, sizes in self.sizes.items():
            holding = [c for c in layout.cliques if name in c]
            clique = min(holding, key=layout.domain.n_cells)
            place, shape = layout.place(clique), layout.domain.shape(clique)
            table = potentials[place].reshape(shape)
            table += layout.domain.broadcast(np.log(sizes), (name,), clique)
        return potentials

    def spread(self, columns: Columns, table: Array) -> Array:
        """Give every level what its class has.

        Parameters
        ----------
        columns : tuple of str
            Axes of the table.
        table : ndarray
            Over classes.

        Returns
        -------
        ndarray
            Over levels.
        """
        for axis, name in enumerate(columns, -len(columns)):
            if name in self.classes:
                table = table.take(self.classes[name], axis=axis)
        return table

    def share(self, columns: Columns, counts: Array) -> Array:
        """Divide the counts of classes among their levels.

        Parameters
        ----------
        columns : tuple of str
            Last axes of the table.
        counts : ndarray
            Over classes.

        Returns
        -------
        ndarray
            Over levels, with the same total.
        """
        for name in columns:
            if name in self.classes:
                sizes = self.sizes[name].astype(np.float64)
                counts = counts / self.domain.broadcast(sizes, (name,), columns)
        return self.spread(columns, counts)

    def _of_classes(self, query: LinearQuery, name: str) -> LinearQuery:
        """Keep one column of a matrix per class."""
        if name not in self.classes:
            return query
        _, first = np.unique(self.classes[name], return_index=True)
        return Matrix(_dense(query)[:, first])


def _parts(measurement: LinearMeasurement) -> Sequence[LinearQuery | None]:
    """Return what is asked of each column; None tells all levels apart."""
    query, names = measurement.query, measurement.columns
    if isinstance(query, Kronecker):
        return query.factors
    return [query] if len(names) == 1 else [None] * len(names)


def _classes(parts: Sequence[LinearQuery | None]) -> NDArray[np.intp] | None:
    """Return the class of each level, or None where all are told apart."""
    if any(part is None or isinstance(part, Identity) for part in parts):
        return None
    rows = np.concatenate([_dense(part) for part in parts if part is not None])
    kinds, classes = np.unique(rows, axis=1, return_inverse=True)
    return classes.ravel() if kinds.shape[1] < rows.shape[1] else None


def _dense(query: LinearQuery) -> Array:
    matrix = query.matrix  # type: ignore[attr-defined]
    return matrix.toarray() if sp.issparse(matrix) else matrix
