"""Multiplicative weights: the published inference of MWEM, full or factored.

The distribution is held as one table of probabilities per group of columns; groups are
independent, and a column without a group is uniform. A measurement that spans several
groups joins them: with everything in one group it is the full table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.markov_random_field import MarkovRandomField
from skdp.graphical.measurement import LinearMeasurement
from skdp.graphical.size import MAX_MODEL_SIZE, check_table

__all__ = ["MultiplicativeWeights"]

Array = NDArray[np.float64]
Columns = tuple[str, ...]

#: No probability falls below this, so that no table vanishes.
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class MultiplicativeWeights:
    """A product of tables that measurements are absorbed into, one after the other.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    n_records : float
        Number of records; marginals are in counts that add up to it.
    max_cells : float, default=1e8
        Largest table that may be stored.
    tables : mapping of tuple of str to ndarray
        Probabilities per group of columns; at first there is none.
    sizes : mapping of str to ndarray
        Of columns whose entries are classes of levels: how many levels each holds, in
        proportion to which it is probable at first.

    References
    ----------
    Hardt, Ligett, McSherry, *A simple and practical algorithm for differentially
    private data release*, NeurIPS 2012.

    Examples
    --------
    >>> start = MultiplicativeWeights(Domain(("a", "b"), (2, 2)), 100.0)
    >>> noisy = LinearMeasurement(("a",), [70.0, 30.0], sigma=1.0)
    >>> start.absorb(50 * [noisy]).marginal(("a",)).round()
    array([70., 30.])
    """

    domain: Domain
    n_records: float
    max_cells: float = MAX_MODEL_SIZE / 10
    tables: Mapping[Columns, Array] = field(default_factory=dict)
    sizes: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)

    def group(self, columns: Iterable[str]) -> Columns:
        """Return the columns that a measurement would bring into one table.

        Parameters
        ----------
        columns : iterable of str
            What is measured.

        Returns
        -------
        tuple of str
            These, and all of the groups that have one of them.
        """
        names = set(columns)
        touched = [group for group in self.tables if names & set(group)]
        return self.domain.sort(names.union(*touched))

    def absorb(
        self, measurements: Iterable[LinearMeasurement]
    ) -> MultiplicativeWeights:
        """Update by one measurement after the other.

        With its answer y, the probabilities are multiplied with
        ``exp(Q'(y - Q mu)/(2 n))`` and normalised, mu being the counts so far. For one
        query this is the published rule. The cells of a measured table are updated
        together. Queries with weights beyond [-1, 1] are scaled to column norm 1.

        Parameters
        ----------
        measurements : iterable of LinearMeasurement
            In the order of the updates; they may repeat.

        Returns
        -------
        MultiplicativeWeights
            After the last of them.

        Raises
        ------
        ValueError
            If a measurement does not fit the domain.
        ModelTooLargeError
            If a group would have more than `max_cells` cells.
        """
        current = self
        for measurement in measurements:
            joined = current._join(measurement.columns)
            current = joined._step(measurement)
        return current

    def marginal(self, columns: Iterable[str]) -> Array:
        """Return the expected counts over some columns.

        Parameters
        ----------
        columns : iterable of str
            In the order of the result's axes.

        Returns
        -------
        ndarray, one axis of length n_levels per column
            Expected numbers of records.
        """
        columns = tuple(columns)
        table = np.full(self.domain.shape(columns), float(self.n_records))
        for group, probabilities in self.tables.items():
            if shared := tuple(name for name in group if name in columns):
                own = _sum_to(probabilities, group, shared)
                table *= self.domain.broadcast(own, shared, columns)
        held = set().union(*self.tables)
        for name in columns:
            if name not in held:
                sizes = self.sizes.get(name, np.ones(self.domain.size(name)))
                share = sizes / sizes.sum()
                table *= self.domain.broadcast(share, (name,), columns)
        return table

    def model(self) -> MarkovRandomField:
        """Return the distribution, with one potential per group.

        Returns
        -------
        MarkovRandomField
            Its potentials are the logarithms of the tables.
        """
        potentials = {group: np.log(table) for group, table in self.tables.items()}
        return MarkovRandomField(
            self.domain, potentials, self.n_records, self.max_cells
        )

    def _join(self, columns: Columns) -> MultiplicativeWeights:
        """Make one table of all that some columns touch."""
        group = self.group(columns)
        if group in self.tables:
            return self
        check_table(self.domain, group, self.max_cells)
        joint = self.marginal(group) / self.n_records
        others = {g: t for g, t in self.tables.items() if not set(g) <= set(group)}
        return replace(self, tables={**others, group: joint})

    def _step(self, measurement: LinearMeasurement) -> MultiplicativeWeights:
        columns, query = measurement.columns, measurement.linear(self.domain)
        group = self.group(columns)
        table = self.tables[group]
        cells = self.n_records * _sum_to(table, group, columns)
        residual = measurement.answer.ravel() - query.dot(cells.ravel())
        norm = max(query.column_norm(), np.finfo(float).tiny)
        change = query.adjoint(residual / norm) / norm / (2.0 * self.n_records)
        factor = np.exp(change - change.max()).reshape(cells.shape)
        table = table * self.domain.broadcast(factor, columns, group)
        table /= table.sum()
        np.maximum(table, _LEAST, out=table)
        return replace(self, tables={**self.tables, group: table})


def _sum_to(table: Array, group: Columns, columns: Columns) -> Array:
    """Sum a table to some of its columns, in their order."""
    kept = [name for name in group if name in columns]
    others = tuple(i for i, name in enumerate(group) if name not in columns)
    summed = table.sum(axis=others)
    return summed.transpose([kept.index(name) for name in columns])
