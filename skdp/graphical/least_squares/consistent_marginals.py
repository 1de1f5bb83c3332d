"""Least squares from noisy marginals alone, however large the domain.

The part of a distribution in a set T of columns is a table over T that sums to 0 along
each axis, and these parts do not depend on each other. Every measured marginal that
holds T estimates its part; the weighted mean of these is what least squares over all
cells of the domain would give, and parts that nobody measured are 0 there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.measurement import LinearMeasurement

__all__ = ["consistent_marginals"]

Array = NDArray[np.float64]
Columns = tuple[str, ...]


def consistent_marginals(
    measurements: Sequence[LinearMeasurement], domain: Domain, total: float
) -> dict[Columns, Array]:
    """Return the largest measured marginals of the least-squares estimate.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
        Noisy marginals, without any matrix.
    domain : Domain
        Columns and their numbers of levels.
    total : float
        Number of records.

    Returns
    -------
    dict of tuple of str to ndarray
        Tables over the largest measured sets of columns, in the order of the domain,
        with equal marginals over the columns that they share.
    """
    sums: dict[Columns, Array] = {}
    precisions: dict[Columns, float] = {}
    for measurement in measurements:
        columns, table = _sorted(measurement, domain)
        for subset in _subsets(columns):
            part = _summed(table, columns, subset)
            # A sum of so many cells has so many times the variance of one.
            n_summed = table.size // part.size
            precision = 1.0 / (measurement.sigma**2 * n_summed)
            sums[subset] = sums.get(subset, 0.0) + precision * part
            precisions[subset] = precisions.get(subset, 0.0) + precision
    parts = {s: _centred(table / precisions[s]) for s, table in sums.items()}
    parts[()] = np.array(float(total))
    largest = [s for s in sums if not any(set(s) < set(other) for other in sums)]
    return {columns: _table(columns, parts, domain) for columns in largest}


def _sorted(measurement: LinearMeasurement, domain: Domain) -> tuple[Columns, Array]:
    """Return a measured marginal with its columns in the order of the domain."""
    columns = measurement.columns
    table = measurement.answer.reshape(domain.shape(columns))
    ordered = domain.sort(columns)
    return ordered, table.transpose([columns.index(name) for name in ordered])


def _subsets(columns: Columns) -> Iterable[Columns]:
    for size in range(1, len(columns) + 1):
        yield from combinations(columns, size)


def _summed(table: Array, columns: Columns, subset: Columns) -> Array:
    others = tuple(i for i, name in enumerate(columns) if name not in subset)
    return np.asarray(table.sum(axis=others))


def _centred(table: Array) -> Array:
    """Remove what is the same along any of the axes."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _table(columns: Columns, parts: dict[Columns, Array], domain: Domain) -> Array:
    """Add up the parts in all subsets of some columns."""
    n_cells = domain.n_cells(columns)
    table = np.full(domain.shape(columns), float(parts[()]) / n_cells)
    for subset in _subsets(columns):
        part = parts[subset] * (domain.n_cells(subset) / n_cells)
        table += domain.broadcast(part, subset, columns)
    return table
