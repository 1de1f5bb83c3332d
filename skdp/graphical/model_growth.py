"""How large a model would become with one more marginal, for many candidates at once.

The size of a model is that of its junction tree, from one weighted-min-fill order. All
candidates are eliminated on paper together, a column of each per step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.elimination import missing_edges

__all__ = ["ModelGrowth", "tree_cliques"]

Bools = NDArray[np.bool_]

#: Numbers in the adjacency matrices that are eliminated together.
_BATCH = 1 << 22


class ModelGrowth:
    """Which candidates may join a model without making it too large.

    Outcomes are remembered as long as the graph of the model stays what it is: a
    marginal inside its cliques changes nothing.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    candidates : sequence of sequences of str
        Sets of columns.
    """

    def __init__(self, domain: Domain, candidates: Sequence[Sequence[str]]) -> None:
        self.domain, self.candidates = domain, list(candidates)
        names = domain.names
        self._members = np.array([[a in c for a in names] for c in candidates])
        self._own = [domain.n_cells(clique) for clique in candidates]
        self._graph = np.zeros((0, 0), dtype=bool)
        self._inside = np.zeros(0, dtype=bool)
        self._sizes: dict[bytes, float] = {}

    def admissible(
        self, measured: Iterable[Sequence[str]], max_cells: float
    ) -> list[int]:
        """Return the candidates that keep a model small, or do not change its size.

        Parameters
        ----------
        measured : iterable of sequences of str
            The marginals of the model.
        max_cells : float
            Largest number of cells of its junction tree with a candidate.

        Returns
        -------
        list of int
            Positions of the candidates that lie in a clique of the junction tree, or
            whose addition gives one of at most `max_cells`.
        """
        graph = _graph(self.domain, measured)
        if not np.array_equal(graph, self._graph):
            self._graph, self._sizes = graph, {}
            (tree,) = tree_cliques(self.domain, graph[None])
            self._inside = np.array(
                [bool((tree >= members).all(axis=1).any()) for members in self._members]
            )
        asked = [
            k
            for k, cells in enumerate(self._own)
            if not self._inside[k] and cells <= max_cells
        ]
        cells = self._cells(asked)
        fits = {k for k in asked if cells[k] <= max_cells}
        return [k for k in range(len(self._own)) if self._inside[k] or k in fits]

    def _cells(self, asked: list[int]) -> dict[int, float]:
        """Return the cells of the junction tree with each of some candidates."""
        graphs: dict[bytes, Bools] = {}
        keys = {}
        for k in asked:
            members = self._members[k]
            graph = self._graph | np.outer(members, members)
            np.fill_diagonal(graph, False)
            keys[k] = np.packbits(graph).tobytes()
            if keys[k] not in self._sizes:
                graphs[keys[k]] = graph
        # One graph belongs to all candidates that add the same edges.
        missing, n_columns = list(graphs), len(self.domain)
        step = max(1, _BATCH // max(1, n_columns**2))
        for start in range(0, len(missing), step):
            some = missing[start : start + step]
            trees = tree_cliques(self.domain, np.stack([graphs[key] for key in some]))
            sizes = np.array(self.domain.sizes, dtype=float)
            for key, cliques in zip(some, trees, strict=True):
                cells = np.where(cliques, sizes, 1.0).prod(axis=1)
                self._sizes[key] = float(cells.sum())
        return {k: self._sizes[key] for k, key in keys.items()}


def tree_cliques(domain: Domain, graphs: Bools) -> list[Bools]:
    """Return the cliques of a junction tree of each of some graphs.

    Parameters
    ----------
    domain : Domain
        The d columns and their numbers of levels.
    graphs : ndarray of bool, shape (k, d, d)
        Which columns are adjacent; symmetric, False on the diagonal.

    Returns
    -------
    list of ndarray of bool, shape (n_cliques, d)
        Per graph the maximal cliques of a weighted-min-fill elimination: next is the
        column for which the products of the sizes to be joined sum to the least, and
        among equals the one that makes the smallest table.

    Examples
    --------
    >>> square = np.zeros((4, 4), dtype=bool)
    >>> square[[0, 1, 2, 3], [1, 2, 3, 0]] = square[[1, 2, 3, 0], [0, 1, 2, 3]] = True
    >>> (cliques,) = tree_cliques(Domain("abcd", (9, 2, 9, 2)), square[None])
    >>> cliques.astype(int)
    array([[1, 1, 0, 1],
           [0, 1, 1, 1]])
    """
    k, d = graphs.shape[:2]
    sizes, live = np.array(domain.sizes, dtype=float), graphs.astype(float)
    logs, rows = np.log(sizes), np.arange(graphs.shape[0])
    closed = np.zeros((k, d), dtype=bool)
    found, kept = np.zeros((k, d, d), dtype=bool), np.ones((k, d), dtype=bool)
    left = np.zeros((k, d, d), dtype=bool)  # what remains of each clique
    for step in range(d):
        scores = np.log1p(missing_edges(live, sizes)) + 1e-9 * (live @ logs + logs)
        chosen = np.where(closed, np.inf, scores).argmin(axis=1)
        near = live[rows, chosen]
        left[:, step] = near > 0
        found[:, step] = left[:, step]
        found[rows, step, chosen] = True
        earlier = left[:, :step] == found[:, step, None]
        kept[:, step] = ~earlier.all(axis=2).any(axis=1)
        live = np.maximum(live, near[:, :, None] * near[:, None, :])
        live[:, np.arange(d), np.arange(d)] = 0.0
        live[rows, chosen, :] = live[rows, :, chosen] = 0.0
        closed[rows, chosen] = True
    return [cliques[keep] for cliques, keep in zip(found, kept, strict=True)]


def _graph(domain: Domain, cliques: Iterable[Sequence[str]]) -> Bools:
    graph = np.zeros((len(domain), len(domain)), dtype=bool)
    for clique in cliques:
        axes = [domain.axis(name) for name in clique]
        graph[np.ix_(axes, axes)] = True
    np.fill_diagonal(graph, False)
    return graph
