"""Edges of a large graph: straight from middle to middle, below the boxes.

To end hundreds of edges at the borders of boxes would take many seconds. Heads are
drawn on the way instead, where they are not covered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skdp.plotting._edges import DrawnEdge, EdgeKind
from skdp.plotting._layout import Positions
from skdp.plotting._style import EDGE_STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_lines"]

# Where the tip of a head is, as a share of the way; at the middle, the heads of
# edges that cross there would lie upon each other.
_TIP = 0.64
# Length and half the width of a head; the layout is 2 units wide.
_HEAD = (0.026, 0.008)


def draw_lines(ax: Axes, edges: list[DrawnEdge], positions: Positions) -> None:
    """Draw straight lines, with a head on the way where they are directed.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    edges : list of DrawnEdge
        What to draw.
    positions : dict of str to ndarray of shape (2,)
        The middles of the boxes.
    """
    for kind in EDGE_STYLES:
        _draw_kind(ax, kind, [e for e in edges if e.kind == kind], positions)


def _draw_kind(
    ax: Axes, kind: EdgeKind, edges: list[DrawnEdge], positions: Positions
) -> None:
    from matplotlib.collections import LineCollection, PolyCollection

    style = EDGE_STYLES[kind]
    look: dict[str, Any] = {"gid": kind, "zorder": 2 if kind == "extra" else 3}
    ways = [(positions[edge.tail], positions[edge.head]) for edge in edges]
    lines = style | look | {"linewidth": 0.55 * style["linewidth"], "alpha": 0.7}
    ax.add_collection(LineCollection(ways, **lines))
    heads = [
        _head(*way) for way, edge in zip(ways, edges, strict=True) if edge.directed
    ]
    ax.add_collection(
        PolyCollection(heads, facecolor=style["color"], linewidth=0, alpha=0.8, **look)
    )


def _head(start: NDArray, end: NDArray) -> NDArray[np.float64]:
    """Return the corners of a head on the way from one node to another."""
    along = (end - start) / (float(np.hypot(*(end - start))) or 1.0)
    across = np.array([-along[1], along[0]])
    length, half_width = _HEAD
    tip = start + _TIP * (end - start)
    back = tip - length * along
    return np.array([tip, back + half_width * across, back - half_width * across])
