"""The junction tree of an elimination order: its maximal cliques and how they join."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skdp.graphical.domain import Domain
from skdp.graphical.elimination import Elimination, best_elimination

__all__ = ["JunctionTree", "junction_tree"]


@dataclass(frozen=True)
class JunctionTree:
    """A forest of cliques with the running intersection property.

    Parameters
    ----------
    cliques : tuple of tuple of str
        The maximal cliques, a parent before its children; names in the order of the
        domain.
    parents : tuple of int
        Per clique the position of its parent, -1 for a root.
    separators : tuple of tuple of str
        Per clique the columns it shares with its parent, () for a root.
    n_cells : int
        Cells of all cliques together.
    """

    cliques: tuple[tuple[str, ...], ...]
    parents: tuple[int, ...]
    separators: tuple[tuple[str, ...], ...]
    n_cells: int


def junction_tree(
    domain: Domain,
    cliques: Iterable[Sequence[str]],
    elimination: Elimination | None = None,
) -> JunctionTree:
    """Build the junction tree of some cliques.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : iterable of sequences of str
        Columns that stand in a table together; each ends up inside a clique of the
        tree.
    elimination : Elimination or None, default=None
        An order over all columns of `cliques`; by default the best that is found.

    Returns
    -------
    JunctionTree
        Its cliques are maximal: none lies inside another.

    Examples
    --------
    >>> domain = Domain(("a", "b", "c"), (2, 100, 3))
    >>> tree = junction_tree(domain, [("a", "b"), ("b", "c")])
    >>> tree.cliques, tree.parents, tree.separators
    ((('b', 'c'), ('a', 'b')), (-1, 0), ((), ('b',)))
    """
    found = elimination or best_elimination(domain, cliques)
    at = {name: i for i, name in enumerate(found.order)}
    home: dict[int, int] = {}  # elimination step -> clique that holds its table
    kept: list[tuple[str, ...]] = []
    parents: list[int] = []
    separators: list[tuple[str, ...]] = []
    # From the last step to the first: a step's parent is where its first neighbour
    # goes; it joins the parent's clique if one of the two holds the other.
    for step in reversed(range(len(found.order))):
        clique = found.cliques[step]
        rest = tuple(name for name in clique if at[name] != step)
        parent = home[min(at[name] for name in rest)] if rest else -1
        if parent >= 0 and set(kept[parent]) <= set(clique):
            kept[parent] = clique
            home[step] = parent
            continue
        home[step] = len(kept)
        kept.append(clique)
        parents.append(parent)
        separators.append(rest)
    n_cells = sum(domain.n_cells(clique) for clique in kept)
    return JunctionTree(tuple(kept), tuple(parents), tuple(separators), n_cells)
