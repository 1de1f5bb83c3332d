"""How large a model would become with one more marginal, for many candidates at once.

The size of a model is that of its junction tree, from one weighted-min-fill order. All
candidates are eliminated on paper together, a column of each per step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

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

    Attributes
    ----------
    n_cells : int
        Cells of the junction tree of what was measured at the last call.
    """

    def __init__(self, domain: Domain, candidates: Sequence[Sequence[str]]) -> None:
        self.domain = domain
        self._sizes = np.array(domain.sizes, dtype=float)
        names = domain.names
        self._members = np.array([[a in c for a in names] for c in candidates])
        self._own = [domain.n_cells(clique) for clique in candidates]
        self._graph = np.zeros((0, 0), dtype=bool)
        self.n_cells = 0

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
            self._start_from(graph)
        asked = [
            k
            for k, cells in enumerate(self._own)
            if not self._inside[k] and cells <= max_cells
        ]
        cells = self._cells(asked)
        fits = {k for k in asked if cells[k] <= max_cells}
        return [k for k in range(len(self._own)) if self._inside[k] or k in fits]

    def _start_from(self, graph: Bools) -> None:
        """Look at a new graph: its tree, and the components it falls into."""
        self._graph, self._found = graph, dict[bytes, float]()
        (tree,) = tree_cliques(self._sizes[None], graph[None])
        self._inside = [bool((tree >= m).all(axis=1).any()) for m in self._members]
        cells = np.where(tree, self._sizes, 1.0).prod(axis=1)
        self.n_cells = int(cells.sum())
        n_components, component = connected_components(graph, directed=False)
        is_in = component == np.arange(n_components)[:, None]
        own = np.bincount(component[tree.argmax(axis=1)], weights=cells)
        joined = self._members @ is_in.T  # which components a candidate touches
        self._columns = joined @ is_in
        self._others = ~joined @ own
        self._keys: dict[int, bytes] = {}

    def _cells(self, asked: list[int]) -> dict[int, float]:
        """Return the cells of the junction tree with each of some candidates.

        Only the components that a candidate joins are eliminated again. One graph
        belongs to all candidates that add the same edges to the same columns.
        """
        missing: dict[int, dict[bytes, tuple[NDArray[np.intp], Bools]]] = {}
        for k in asked:
            if k in self._keys:
                continue
            columns = np.flatnonzero(self._columns[k])
            members = self._members[k][columns]
            graph = self._graph[columns][:, columns] | (members & members[:, None])
            graph.flat[:: len(columns) + 1] = False
            self._keys[k] = key = columns.tobytes() + graph.tobytes()
            if key not in self._found:
                missing.setdefault(len(columns), {})[key] = (columns, graph)
        for graphs in missing.values():
            self._eliminate(graphs)
        return {k: self._others[k] + self._found[self._keys[k]] for k in asked}

    def _eliminate(self, graphs: dict[bytes, tuple[NDArray[np.intp], Bools]]) -> None:
        """Find the cells of graphs with the same number of columns, many at a time."""
        keys = list(graphs)
        step = max(1, _BATCH // len(graphs[keys[0]][0]) ** 2)
        for start in range(0, len(keys), step):
            some = [graphs[key] for key in keys[start : start + step]]
            sizes = np.stack([self._sizes[columns] for columns, _ in some])
            trees = tree_cliques(sizes, np.stack([graph for _, graph in some]))
            for key, own, cliques in zip(keys[start:], sizes, trees, strict=False):
                self._found[key] = float(np.where(cliques, own, 1.0).prod(axis=1).sum())


def tree_cliques(sizes: NDArray[np.float64], graphs: Bools) -> list[Bools]:
    """Return the cliques of a junction tree of each of some graphs.

    Parameters
    ----------
    sizes : ndarray of float64, shape (k, d)
        Numbers of levels of the columns of each graph.
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
    >>> (cliques,) = tree_cliques(np.array([[9.0, 2, 9, 2]]), square[None])
    >>> cliques.astype(int)
    array([[1, 1, 0, 1],
           [0, 1, 1, 1]])
    """
    k, d = graphs.shape[:2]
    live, logs, rows = graphs.astype(float), np.log(sizes), np.arange(k)
    closed = np.zeros((k, d), dtype=bool)
    found, kept = np.zeros((k, d, d), dtype=bool), np.ones((k, d), dtype=bool)
    left = np.zeros((k, d, d), dtype=bool)  # what remains of each clique
    for step in range(d):
        clique_cells = (live @ logs[:, :, None])[:, :, 0] + logs
        scores = np.log1p(missing_edges(live, sizes)) + 1e-9 * clique_cells
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
