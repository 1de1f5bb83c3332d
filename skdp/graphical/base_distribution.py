"""The product of the noisy one-way marginals, and how strongly to trust it.

Both are functions of noisy answers and public numbers: post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.linear_queries import LinearQuery
from skdp.graphical.measurement import LinearMeasurement
from skdp.graphical.plan import Layout

__all__ = ["automatic_tau", "base_potentials", "one_way_estimate"]

Array = NDArray[np.float64]


def automatic_tau(
    measurements: Sequence[LinearMeasurement], queries: Sequence[LinearQuery]
) -> float:
    """Return 1 / (median noise of a cell), weighted by the number of answers.

    The log-potential of a cell then moves by its standardised residual.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
        At least one.
    queries : sequence of LinearQuery
        Their queries.

    Returns
    -------
    float
        In units of 1 / count.
    """
    noise = np.array(
        [m.sigma * q.noise_gain() for m, q in zip(measurements, queries, strict=True)]
    )
    weight = np.array([query.shape[0] for query in queries], dtype=float)
    order = np.argsort(noise, kind="stable")
    below = np.cumsum(weight[order])
    return 1.0 / float(noise[order][np.searchsorted(below, below[-1] / 2.0)])


def base_potentials(
    layout: Layout,
    measurements: Sequence[LinearMeasurement],
    queries: Sequence[LinearQuery],
) -> Array:
    """Return potentials of the product of the noisy one-way marginals.

    Parameters
    ----------
    layout : Layout
        Where the cells lie.
    measurements : sequence of LinearMeasurement
        Noisy answers.
    queries : sequence of LinearQuery
        Their queries.

    Returns
    -------
    ndarray of shape (n_cells,)
        Logarithms of the counts, each column's in one clique that has it; 0 for a
        column that the answers do not determine.
    """
    potentials = np.zeros(layout.n_cells)
    domain, pairs = layout.domain, list(zip(measurements, queries, strict=True))
    for name in domain.sort(name for clique in layout.cliques for name in clique):
        own = [(m, q) for m, q in pairs if m.columns == (name,)]
        found = one_way_estimate(domain, name, own)
        if found is None:
            joint = [(m, q) for m, q in pairs if name in m.columns]
            found = one_way_estimate(domain, name, joint)
        if found is None:
            continue
        counts, sigma = found
        holding = [c for c in layout.cliques if name in c]
        clique = min(holding, key=domain.n_cells)
        table = potentials[layout.place(clique)].reshape(domain.shape(clique))
        unary = np.log(np.maximum(counts, sigma / 2.0))
        table += domain.broadcast(unary, (name,), clique)
    return potentials


def one_way_estimate(
    domain: Domain,
    name: str,
    pairs: Sequence[tuple[LinearMeasurement, LinearQuery]],
) -> tuple[Array, float] | None:
    """Average what several measurements say of one column.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    name : str
        The column.
    pairs : sequence of (LinearMeasurement, LinearQuery)
        Measurements of marginals that have it.

    Returns
    -------
    tuple of (ndarray, float) or None
        The inverse-variance mean of the least-squares tables, summed to the column,
        and its standard deviation; None if no measurement determines its table.
    """
    n_levels = domain.size(name)
    mean, precision = np.zeros(n_levels), 0.0
    for measurement, query in pairs:
        cells = query.least_squares(measurement.answer.ravel())
        if cells is None:
            continue
        table = cells.reshape(domain.shape(measurement.columns))
        other = tuple(i for i, a in enumerate(measurement.columns) if a != name)
        noise = measurement.sigma * query.noise_gain()
        weight = n_levels / (noise**2 * len(cells))
        mean += weight * table.sum(axis=other)
        precision += weight
    return (mean / precision, precision**-0.5) if precision > 0.0 else None
