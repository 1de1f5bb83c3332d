"""In which order to sum the columns out: several rules, many restarts, best kept.

The cost of an order is known before any table exists: eliminating a column joins it
with its neighbours, and the cells of these joined tables, added up, are the
multiplications of one pass over the model. Which rule is best differs from model to
model, by orders of magnitude on dense ones, so all are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain

__all__ = [
    "Elimination",
    "best_elimination",
    "eliminate",
    "missing_edges",
    "work_with_each",
]

#: Strengths of the noise on the logarithm of the score of a randomised restart.
_NOISE = (0.1, 0.3, 1.0)
_N_RULES = 6
#: Orders that join fewer cells are not worth a second search.
_CHEAP = 300_000
#: Rules that are repeated with noise: weighted fill, clique, resulting table.
_REPEATED = (3, 0, 1)
#: Entries of the graphs that are searched at once.
_BATCH_CELLS = 1 << 20


@dataclass(frozen=True)
class Elimination:
    """An order of elimination, with the tables that it would join.

    Parameters
    ----------
    order : tuple of str
        The columns, first eliminated first.
    cliques : tuple of tuple of str
        Per column of `order`: it and its neighbours when it is eliminated, in the
        order of the domain.
    work : int
        Cells of all `cliques` together: multiplications of one pass.
    """

    order: tuple[str, ...]
    cliques: tuple[tuple[str, ...], ...]
    work: int


def best_elimination(
    domain: Domain,
    cliques: Iterable[Sequence[str]],
    *,
    keep: Sequence[str] = (),
    n_restarts: int = 90,
) -> Elimination:
    """Find a cheap order in which to eliminate the columns of some cliques.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : iterable of sequences of str
        Columns that stand in a table together.
    keep : sequence of str, default=()
        Columns that are not eliminated.
    n_restarts : int, default=90
        Randomised restarts after the six rules; fewer on large domains. They are
        left out where a rule adds no edge at all, or the order is cheap anyway. Always
        the same ones: the result is a function of the arguments.

    Returns
    -------
    Elimination
        The cheapest order found.

    Examples
    --------
    >>> domain = Domain(("a", "b", "c"), (2, 100, 3))
    >>> found = best_elimination(domain, [("a", "b"), ("b", "c")])
    >>> found.cliques, found.work
    ((('a', 'b'), ('b', 'c'), ('c',)), 503)
    """
    sorted_cliques = [domain.sort(clique) for clique in cliques]
    used = domain.sort(name for clique in sorted_cliques for name in clique)
    adjacent = _adjacency(used, sorted_cliques)
    sizes = np.array(domain.shape(used), dtype=float)
    free = np.array([name not in set(keep) for name in used], dtype=bool)
    rules, noise = list(range(_N_RULES)), np.zeros(_N_RULES)
    orders, work, fill = _search(adjacent, sizes, free, rules, noise)
    n_restarts = min(n_restarts, int(2e9 / max(len(used), 1) ** 4))
    worth_it = fill.min(initial=np.inf) > 0 and work.min(initial=np.inf) > _CHEAP
    if worth_it and n_restarts > 0:
        rules = [_REPEATED[i % 3] for i in range(n_restarts)]
        noise = np.array([_NOISE[(i // 3) % 3] for i in range(n_restarts)])
        more, more_work, _ = _search(adjacent, sizes, free, rules, noise)
        orders, work = np.vstack([orders, more]), np.concatenate([work, more_work])
    best = orders[np.argmin(work)] if len(used) else ()
    return eliminate(domain, sorted_cliques, [used[i] for i in best])


def work_with_each(
    domain: Domain,
    cliques: Sequence[Sequence[str]],
    additions: Sequence[Sequence[str]],
) -> NDArray[np.float64]:
    """Bound the work of a model on some cliques and one more, for many of these.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : sequence of sequences of str
        Columns that stand in a table together.
    additions : sequence of sequences of str
        The cliques that may be added to them, each by itself.

    Returns
    -------
    ndarray, shape (n_additions,)
        Cells that the rule of weighted fill joins, columns without a clique included:
        `best_elimination` joins no more, and no table that is stored has more.

    Examples
    --------
    >>> domain = Domain(("a", "b", "c"), (2, 100, 3))
    >>> work_with_each(domain, [("a", "b")], [("b", "c"), ("a", "c")])
    array([503., 306.])
    """
    base = _adjacency(domain.names, [domain.sort(clique) for clique in cliques])
    sizes = np.array(domain.sizes, dtype=float)
    free, found = np.ones(len(domain), dtype=bool), np.zeros(len(additions))
    step = max(1, _BATCH_CELLS // base.size)
    for start in range(0, len(additions), step):
        part = additions[start : start + step]
        each = [_adjacency(domain.names, [domain.sort(clique)]) for clique in part]
        graphs = np.maximum(base, np.array(each))
        rules, noise = [_REPEATED[0]] * len(part), np.zeros(len(part))
        _, found[start : start + step], _ = _search(graphs, sizes, free, rules, noise)
    return found


def eliminate(
    domain: Domain, cliques: Iterable[Sequence[str]], order: Iterable[str]
) -> Elimination:
    """Eliminate columns in a given order, on paper.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : iterable of sequences of str
        Columns that stand in a table together.
    order : iterable of str
        Columns to eliminate, first one first.

    Returns
    -------
    Elimination
        The tables that this order joins.
    """
    live = [set(clique) for clique in cliques]
    order, joined, work = tuple(order), [], 0
    for name in order:
        touched = [names for names in live if name in names]
        union = set().union(*touched) | {name}
        live = [names for names in live if name not in names] + [union - {name}]
        joined.append(domain.sort(union))
        work += domain.n_cells(union)
    return Elimination(order, tuple(joined), work)


def _adjacency(
    names: tuple[str, ...], cliques: list[tuple[str, ...]]
) -> NDArray[np.float64]:
    position = {name: i for i, name in enumerate(names)}
    adjacent = np.zeros((len(names), len(names)))
    for clique in cliques:
        axes = [position[name] for name in clique]
        adjacent[np.ix_(axes, axes)] = 1.0
    np.fill_diagonal(adjacent, 0.0)
    return adjacent


def _search(
    adjacent: NDArray[np.float64],
    sizes: NDArray[np.float64],
    free: NDArray[np.bool_],
    rules: list[int],
    noise: NDArray[np.float64],
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Run one greedy search per rule, all at once; return orders, work and fill.

    The searches are on one graph, or on one each.
    """
    n_searches, n_steps = len(rules), int(free.sum())
    rng = np.random.default_rng(0)
    graphs = np.array(np.broadcast_to(adjacent, (n_searches, *adjacent.shape[-2:])))
    closed = np.repeat(~free[None], n_searches, axis=0)
    orders = np.zeros((n_searches, n_steps), dtype=np.intp)
    work, fill, which = np.zeros(n_searches), np.zeros(n_searches), np.array(rules)
    searches = np.arange(n_searches)
    for step in range(n_steps):
        scores, clique_cells, added = _scores(graphs, sizes, which)
        scores += noise[:, None] * rng.gumbel(size=scores.shape)
        chosen = np.where(closed, np.inf, scores).argmin(axis=1)
        orders[:, step] = chosen
        work += np.exp(clique_cells[searches, chosen])
        fill += added[searches, chosen]
        near = graphs[searches, chosen]
        graphs = np.maximum(graphs, near[:, :, None] * near[:, None, :])
        graphs[:, np.arange(len(sizes)), np.arange(len(sizes))] = 0.0
        graphs[searches, chosen, :] = graphs[searches, :, chosen] = 0.0
        closed[searches, chosen] = True
    return orders, work, fill


def _scores(
    graphs: NDArray[np.float64], sizes: NDArray[np.float64], rules: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Score every column by every search's rule (log scale, smallest is next)."""
    result_cells = graphs @ np.log(sizes)
    clique_cells = result_cells + np.log(sizes)
    degree = graphs.sum(axis=2)
    edges = missing_edges(graphs, np.ones(len(sizes)))
    weighted = np.log1p(missing_edges(graphs, sizes))
    tables = [
        clique_cells,
        result_cells,
        np.log1p(edges),
        weighted,
        np.log1p(degree),
        weighted + result_cells,
    ]
    scores = np.stack(tables)[rules, np.arange(len(rules))]
    return scores + 1e-9 * clique_cells, clique_cells, edges


def missing_edges(
    graphs: NDArray[np.float64], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weigh the edges that eliminating a column would add.

    Parameters
    ----------
    graphs : ndarray of float64, shape (k, d, d)
        1 between adjacent columns.
    sizes : ndarray of float64, shape (d,) or (k, d)
        Weights of the columns.

    Returns
    -------
    ndarray, shape (k, d)
        Sum of s_i s_j over the pairs of neighbours of a column that are not adjacent.
    """
    scaled = graphs * sizes[..., None, :]
    squares = (graphs @ (sizes**2)[..., None])[..., 0]
    pairs = scaled.sum(axis=2) ** 2 - squares
    joined = ((scaled @ graphs) * scaled).sum(axis=2)
    return np.maximum(pairs - joined, 0.0) / 2.0
