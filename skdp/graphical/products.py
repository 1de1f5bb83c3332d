"""Potentials of a forest of tables, in closed form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.plan import Layout

__all__ = ["product_potentials"]

Array = NDArray[np.float64]


def product_potentials(
    layout: Layout,
    tables: Mapping[tuple[str, ...], Array],
    singles: Mapping[str, Array],
) -> Array:
    """Return log of every table over the product of its columns, and of the columns.

    Parameters
    ----------
    layout : Layout
        Where the cells lie.
    tables : mapping of tuple of str to ndarray
        Tables over several columns that agree on single ones.
    singles : mapping of str to ndarray
        Tables of single columns; used where no table over several has the column.

    Returns
    -------
    ndarray of shape (n_cells,)
        Potentials, -inf on zeros. The distribution has these tables as marginals if
        they form a forest joined in single columns.
    """
    domain, potentials = layout.domain, np.zeros(layout.n_cells)
    sums: dict[str, list[Array]] = {}
    for clique, table in tables.items():
        for i, name in enumerate(clique):
            other = tuple(j for j in range(table.ndim) if j != i)
            sums.setdefault(name, []).append(table.sum(axis=other))
    columns = {name: _log(np.mean(found, axis=0)) for name, found in sums.items()}
    columns |= {name: _log(t) for name, t in singles.items() if name not in sums}
    for clique, table in tables.items():
        logs = _log(table)
        for name in clique:
            logs = logs - _finite(domain.broadcast(columns[name], (name,), clique))
        potentials[layout.place(clique)] += logs.ravel()
    for name, logs in columns.items():
        clique = min((c for c in layout.cliques if name in c), key=domain.n_cells)
        view = potentials[layout.place(clique)].reshape(domain.shape(clique))
        view += domain.broadcast(logs, (name,), clique)
    return potentials


def _log(counts: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(counts, 0.0))


def _finite(logs: Array) -> Array:
    return np.where(np.isneginf(logs), 0.0, logs)
