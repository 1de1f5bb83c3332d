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

#: Cells below this many standard deviations of their noise count as lost in it.
_LOST = 2.0
_LEAST_SHARE = 0.1


def automatic_tau(
    measurements: Sequence[LinearMeasurement], queries: Sequence[LinearQuery]
) -> float:
    """Return (share of cells lost in the noise) / (median noise of a cell).

    With 1 / noise the log-potential of a cell moves by its standardised residual: right
    where most cells are rare combinations that the noise hides, as in large tables.
    Where the answers are clear, such a pull would only bias them.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
        At least one.
    queries : sequence of LinearQuery
        Their queries.

    Returns
    -------
    float
        In units of 1 / count. Shares below a tenth count as a tenth.
    """
    pairs = list(zip(measurements, queries, strict=True))
    noise = np.array([m.sigma * q.noise_gain() for m, q in pairs])
    weight = np.array([query.shape[0] for query in queries], dtype=float)
    order = np.argsort(noise, kind="stable")
    below = np.cumsum(weight[order])
    median = float(noise[order][np.searchsorted(below, below[-1] / 2.0)])
    lost = n_cells = 0
    for (measurement, query), sigma in zip(pairs, noise, strict=True):
        answers = measurement.answer.ravel()
        cells = query.least_squares(answers)
        if cells is None:  # sums of cells that are not told apart count as cells
            cells, sigma = answers, measurement.sigma
        lost += int(np.count_nonzero(cells < _LOST * sigma))
        n_cells += len(cells)
    return max(lost / n_cells, _LEAST_SHARE) / median


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
