"""Least squares over all cells of some columns, where their table fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lsmr

from skdp.graphical.domain import Domain
from skdp.graphical.measurement import LinearMeasurement

__all__ = ["full_table"]

Array = NDArray[np.float64]

_TOLERANCE = 1e-10
_MAX_STEPS = 2000


def full_table(
    measurements: Sequence[LinearMeasurement],
    columns: tuple[str, ...],
    domain: Domain,
    total: float,
) -> Array:
    """Return the table that fits all answers best.

    Among several, the one nearest to uniform. Iterates matrix-free, on the table minus
    its mean, so that the known total is kept.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
        Noisy answers about some of the columns.
    columns : tuple of str
        The axes of the table.
    domain : Domain
        Columns and their numbers of levels.
    total : float
        Number of records.

    Returns
    -------
    ndarray, one axis per column
        Counts; some may be negative.
    """
    shape = domain.shape(columns)
    n_cells = domain.n_cells(columns)
    parts = [_Part(m, columns, domain) for m in measurements]
    uniform = np.full(shape, total / n_cells)
    residuals = [
        (m.answer.ravel() - part.dot(uniform)) / m.sigma
        for m, part in zip(measurements, parts, strict=True)
    ]
    right = np.concatenate(residuals)
    ends = np.cumsum([len(r) for r in residuals])[:-1]

    def dot(flat: Array) -> Array:
        table = flat.reshape(shape)
        table = table - table.mean()
        return np.concatenate([part.dot(table) / part.sigma for part in parts])

    def adjoint(answers: Array) -> Array:
        table = np.zeros(shape)
        for part, own in zip(parts, np.split(answers.ravel(), ends), strict=True):
            table += part.adjoint(own / part.sigma)
        return (table - table.mean()).ravel()

    operator = LinearOperator(
        (len(right), n_cells), matvec=dot, rmatvec=adjoint, dtype=np.float64
    )
    found = lsmr(operator, right, atol=_TOLERANCE, btol=_TOLERANCE, maxiter=_MAX_STEPS)[
        0
    ].reshape(shape)
    return np.asarray(uniform + found - found.mean())


class _Part:
    """One measurement as a map of the full table."""

    def __init__(
        self, measurement: LinearMeasurement, columns: tuple[str, ...], domain: Domain
    ) -> None:
        self.sigma = measurement.sigma
        self._query = measurement.linear(domain)
        self._domain, self._columns, self._own = domain, columns, measurement.columns
        self._kept = [name for name in columns if name in self._own]
        self._others = tuple(i for i, a in enumerate(columns) if a not in self._own)
        self._shape = domain.shape(self._own)

    def dot(self, table: Array) -> Array:
        summed = table.sum(axis=self._others)
        order = [self._kept.index(name) for name in self._own]
        return self._query.dot(summed.transpose(order).ravel())

    def adjoint(self, answers: Array) -> Array:
        cells = self._query.adjoint(answers).reshape(self._shape)
        return self._domain.broadcast(cells, self._own, self._columns)
