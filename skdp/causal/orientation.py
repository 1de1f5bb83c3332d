"""From a skeleton and its separating sets to a partially directed graph.

Unshielded triples whose middle did not separate their ends are v-structures;
Meek's four rules then direct every edge that has the same direction in all
directed acyclic graphs with this skeleton and these v-structures: the result is
their CPDAG (Meek 1995). Separating sets found on noisy answers can contradict
each other. Contradictions are reported, never hidden: the edges concerned stay
undirected, and no directed cycle is ever made. Arrows are added in rounds, all
that follow from the same state at once, so the order of the nodes is immaterial.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import networkx as nx

__all__ = ["Orientation", "cpdag_of", "orient"]

Arrows = set[tuple[str, str]]


@dataclass(frozen=True)
class Orientation:
    """A partially directed graph and the edges on which evidence disagreed.

    Parameters
    ----------
    cpdag : networkx.DiGraph
        A directed edge as one arrow, an undirected edge as both.
    conflicts : tuple of frozenset of str
        Edges, as pairs, left undirected because they were asked to point both
        ways, or because the arrow asked for would lie on a directed cycle.
    """

    cpdag: nx.DiGraph
    conflicts: tuple[frozenset[str], ...]


def orient(
    skeleton_graph: nx.Graph,
    separating_sets: Mapping[frozenset[str], Sequence[str]],
) -> Orientation:
    """Direct the edges of a skeleton as far as its separating sets allow.

    Parameters
    ----------
    skeleton_graph : networkx.Graph
        The undirected skeleton.
    separating_sets : mapping of frozenset to sequence of str
        For pairs of nodes that are not adjacent, the set that separates them.
        A pair without an entry makes no v-structure.

    Returns
    -------
    Orientation
        The graph has the nodes of the skeleton, in its order, and its edges.

    References
    ----------
    Meek, C. (1995). Causal inference and causal explanation with background
    knowledge. Uncertainty in Artificial Intelligence 11.

    Examples
    --------
    >>> skeleton = nx.Graph([("tub", "either"), ("lung", "either"), ("either", "xray")])
    >>> found = orient(
    ...     skeleton,
    ...     {
    ...         frozenset({"tub", "lung"}): (),
    ...         frozenset({"tub", "xray"}): ("either",),
    ...         frozenset({"lung", "xray"}): ("either",),
    ...     },
    ... )
    >>> list(found.cpdag.edges)
    [('tub', 'either'), ('either', 'xray'), ('lung', 'either')]
    >>> found.conflicts
    ()
    """
    arrows: Arrows = set()
    for middle in skeleton_graph:
        for x, y in _unshielded_ends(skeleton_graph, middle):
            separating_set = separating_sets.get(frozenset((x, y)))
            if separating_set is not None and middle not in separating_set:
                arrows |= {(x, middle), (y, middle)}
    return _complete(skeleton_graph, arrows)


def cpdag_of(dag: nx.DiGraph) -> nx.DiGraph:
    """Return the CPDAG of a directed acyclic graph: what data can tell of it.

    Parameters
    ----------
    dag : networkx.DiGraph
        A directed acyclic graph.

    Returns
    -------
    networkx.DiGraph
        Edges that every Markov equivalent graph directs alike as one arrow, the
        others as both; the nodes of `dag`, in its order.

    Raises
    ------
    ValueError
        If `dag` has a directed cycle or is undirected.

    Examples
    --------
    >>> chain = nx.DiGraph([("a", "b"), ("b", "c")])
    >>> list(cpdag_of(chain).edges)
    [('a', 'b'), ('b', 'a'), ('b', 'c'), ('c', 'b')]
    >>> collider = nx.DiGraph([("a", "b"), ("c", "b")])
    >>> list(cpdag_of(collider).edges)
    [('a', 'b'), ('c', 'b')]
    """
    if not nx.is_directed_acyclic_graph(dag):
        raise ValueError("dag must be a directed graph without directed cycles.")
    skeleton = dag.to_undirected()
    arrows = {
        (parent, middle)
        for middle in dag
        for ends in _unshielded_ends(skeleton, middle)
        if set(ends) <= set(dag.predecessors(middle))
        for parent in ends
    }
    return _complete(skeleton, arrows).cpdag


def _unshielded_ends(graph: nx.Graph, middle: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of neighbours of `middle` that are not adjacent."""
    for x, y in combinations(graph[middle], 2):
        if not graph.has_edge(x, y):
            yield x, y


def _complete(skeleton: nx.Graph, arrows: Arrows) -> Orientation:
    """Make the arrows asked for, then all that follow by Meek's rules."""
    partial = _PartiallyDirected(skeleton)
    while arrows:
        partial.direct(arrows)
        arrows = partial.implied_arrows()
    return Orientation(partial.to_digraph(), partial.conflicts())


class _PartiallyDirected:
    """A skeleton of which some edges have a direction and some are in conflict."""

    def __init__(self, skeleton: nx.Graph) -> None:
        self.skeleton = skeleton
        self.arrows = nx.DiGraph()
        self.arrows.add_nodes_from(skeleton)
        self.conflicting: set[frozenset[str]] = set()

    def direct(self, asked: Arrows) -> None:
        """Add the arrows asked for that contradict nothing; record the others."""
        opposed = {(x, y) for x, y in asked if (y, x) in asked}
        consistent = asked - opposed
        cyclic = consistent & self._on_cycles(consistent)
        self.conflicting |= {frozenset(edge) for edge in opposed | cyclic}
        self.arrows.add_edges_from(consistent - cyclic)

    def implied_arrows(self) -> Arrows:
        """Return the arrows that the rules ask for on edges still open."""
        return {
            (a, b)
            for edge in self.skeleton.edges
            if self._undirected(*edge) and frozenset(edge) not in self.conflicting
            for a, b in (edge, edge[::-1])
            if any(rule(self, a, b) for rule in _MEEK_RULES)
        }

    def to_digraph(self) -> nx.DiGraph:
        graph = nx.DiGraph()
        graph.add_nodes_from(self.skeleton)
        for edge in self.skeleton.edges:
            graph.add_edges_from(
                (x, y) for x, y in (edge, edge[::-1]) if not self.directed(y, x)
            )
        return graph

    def conflicts(self) -> tuple[frozenset[str], ...]:
        return tuple(
            frozenset(edge)
            for edge in combinations(self.skeleton, 2)
            if frozenset(edge) in self.conflicting
        )

    def directed(self, x: str, y: str) -> bool:
        return bool(self.arrows.has_edge(x, y))

    def adjacent(self, x: str, y: str) -> bool:
        return bool(self.skeleton.has_edge(x, y))

    def parents(self, x: str) -> Iterator[str]:
        return iter(self.arrows.pred[x])

    def undirected_neighbours(self, x: str) -> Iterator[str]:
        return (y for y in self.skeleton[x] if self._undirected(x, y))

    def _undirected(self, x: str, y: str) -> bool:
        return not (self.directed(x, y) or self.directed(y, x))

    def _on_cycles(self, added: Arrows) -> Arrows:
        """Return the arrows that lie on a directed cycle once `added` are made."""
        graph = nx.DiGraph(self.arrows)
        graph.add_edges_from(added)
        return {
            arrow
            for component in nx.strongly_connected_components(graph)
            if len(component) > 1
            for arrow in graph.subgraph(component).edges
        }


# Each rule says whether the undirected edge a - b has to become a -> b.


def _no_new_collider(g: _PartiallyDirected, a: str, b: str) -> bool:
    """Rule 1: c -> a - b with c and b apart."""
    return any(not g.adjacent(c, b) for c in g.parents(a))


def _no_cycle(g: _PartiallyDirected, a: str, b: str) -> bool:
    """Rule 2: a -> c -> b."""
    return any(g.directed(a, c) for c in g.parents(b))


def _two_parents_apart(g: _PartiallyDirected, a: str, b: str) -> bool:
    """Rule 3: a - c -> b and a - d -> b with c and d apart."""
    between = [c for c in g.undirected_neighbours(a) if g.directed(c, b)]
    return any(not g.adjacent(c, d) for c, d in combinations(between, 2))


def _chain_of_two(g: _PartiallyDirected, a: str, b: str) -> bool:
    """Rule 4: a - c -> d -> b with c and b apart, a and d adjacent."""
    return any(
        g.adjacent(a, d) and g.directed(c, d)
        for d in g.parents(b)
        for c in g.undirected_neighbours(a)
        if not g.adjacent(c, b)
    )


_MEEK_RULES = (_no_new_collider, _no_cycle, _two_parents_apart, _chain_of_two)
