"""Where the nodes of a picture go, the same for the same graph."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

__all__ = ["bend", "layout"]

Positions = dict[str, NDArray[np.float64]]

# Between an edge and the middle of a node it passes; the layout is 2 units wide.
_CLEARANCE = 0.18


def layout(graph: nx.Graph) -> Positions:
    """Place nodes so that distances on paper resemble those along edges.

    The layout of Kamada & Kawai (1989) with unconnected parts put a little
    further apart than two nodes of one part are on average, turned so that arrows
    point down on average: causes stand above their effects.

    Parameters
    ----------
    graph : networkx.Graph or networkx.DiGraph
        Directions only decide which way is down.

    Returns
    -------
    dict of str to ndarray of shape (2,)
    """
    skeleton = nx.Graph(graph.to_undirected())
    lengths = dict(nx.all_pairs_shortest_path_length(skeleton))
    within = [length for row in lengths.values() for length in row.values() if length]
    apart = 1 + (sum(within) / len(within) if within else 0)
    distances = {x: {y: lengths[x].get(y, apart) for y in skeleton} for x in skeleton}
    return _turned(nx.kamada_kawai_layout(skeleton, dist=distances), graph)


def _turned(positions: Positions, graph: nx.Graph) -> Positions:
    """Turn the positions so that the sum of the arrows points down."""
    arrows = [
        positions[head] - positions[tail]
        for tail, head in graph.edges
        if not graph.has_edge(head, tail)
    ]
    right, up = np.sum(arrows, axis=0) if arrows else (0.0, -1.0)
    size = float(np.hypot(right, up))
    if size < 1e-6:
        return positions
    cosine, sine = -up / size, -right / size
    turn = np.array([[cosine, -sine], [sine, cosine]])
    return {node: turn @ position for node, position in positions.items()}


def bend(tail: str, head: str, positions: Positions) -> float:
    """Return the curvature that leads an edge round the nodes in its way.

    Parameters
    ----------
    tail, head : str
        Ends of the edge.
    positions : dict of str to ndarray of shape (2,)
        Positions of all nodes.

    Returns
    -------
    float
        For matplotlib's ``arc3`` connection style; 0 if the way is free.
    """
    start, along = positions[tail], positions[head] - positions[tail]
    length = float(np.hypot(*along)) or 1.0
    right = np.array([along[1], -along[0]]) / length
    to_the_right, to_the_left = [0.0], [0.0]
    for node, position in positions.items():
        share = float((position - start) @ along) / length**2
        height = float((position - start) @ right)
        if node in (tail, head) or not 0 < share < 1 or abs(height) > _CLEARANCE:
            continue
        # An arc of curvature 1 is this high above the straight line here.
        unit = max(2 * share * (1 - share) * length, 0.2)
        to_the_right.append((_CLEARANCE + height) / unit)
        to_the_left.append((_CLEARANCE - height) / unit)
    return min(max(to_the_right), -max(to_the_left), key=abs)
