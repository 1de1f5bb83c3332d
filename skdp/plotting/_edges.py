"""What there is to draw of a causal graph, with or without the truth beside it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import networkx as nx

__all__ = ["DrawnEdge", "EdgeKind", "edges_to_draw"]

EdgeKind = Literal["found", "reversed", "missing", "extra"]
Connection = tuple[str, str, bool]


@dataclass(frozen=True)
class DrawnEdge:
    """One edge of the picture.

    Parameters
    ----------
    tail, head : str
        Its ends; the arrow, if it has one, is at the head.
    directed : bool
        Whether it has an arrow.
    kind : {"found", "reversed", "missing", "extra"}
        In the graph (and in the truth, if there is one), the same with an arrow
        against the true one, in the truth only, or in the graph only.
    """

    tail: str
    head: str
    directed: bool
    kind: EdgeKind


def edges_to_draw(graph: nx.Graph, truth: nx.Graph | None = None) -> list[DrawnEdge]:
    """List every edge of a graph, and those of the truth that it lacks.

    Parameters
    ----------
    graph, truth : networkx.Graph or networkx.DiGraph
        An undirected edge of a DiGraph is a pair of opposite arrows.

    Returns
    -------
    list of DrawnEdge
        Missing edges have the truth's directions, all others the graph's.
    """
    edges = []
    for x, y in combinations(graph, 2):
        found = _connection(graph, x, y)
        true = found if truth is None else _connection(truth, x, y)
        if found is not None:
            edges.append(DrawnEdge(*found, _kind(found, true)))
        elif true is not None:
            edges.append(DrawnEdge(*true, "missing"))
    return edges


def _connection(graph: nx.Graph, x: str, y: str) -> Connection | None:
    """Return tail, head and whether directed; None if not adjacent."""
    forth, back = graph.has_edge(x, y), graph.has_edge(y, x)
    if not (forth or back):
        return None
    return (x, y, not back) if forth else (y, x, True)


def _kind(found: Connection, true: Connection | None) -> EdgeKind:
    if true is None:
        return "extra"
    against = found[2] and true[2] and found[0] != true[0]
    return "reversed" if against else "found"
