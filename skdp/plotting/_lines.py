"""Edges of a large graph: straight from middle to middle, below the boxes.

To end hundreds of edges at the borders of boxes would take many seconds. Heads are
drawn on the way instead, where they are not covered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skdp.plotting._edges import DrawnEdge
from skdp.plotting._layout import Positions
from skdp.plotting._style import EDGE_STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_lines"]

# Where the tip of a head is, as a share of the way; at the middle, the heads of
# edges that cross there would lie upon each other.
_TIP = 0.64
# Length and half the width of a head; the layout is 2 units wide.
_HEAD = (0.032, 0.010)


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
    from matplotlib.collections import LineCollection, PolyCollection

    for kind, style in EDGE_STYLES.items():
        chosen = [edge for edge in edges if edge.kind == kind]
        ways = [(positions[edge.tail], positions[edge.head]) for edge in chosen]
        look = {"gid": kind, "zorder": 3 if kind == "found" else 2, "alpha": 0.75}
        width = 0.55 * style["linewidth"]
        ax.add_collection(LineCollection(ways, **style | look | {"linewidth": width}))
        heads = [_head(*way) for way, e in zip(ways, chosen, strict=True) if e.directed]
        look |= {"facecolor": style["color"], "linewidth": 0}
        ax.add_collection(PolyCollection(heads, **look))


def _head(start: NDArray, end: NDArray) -> NDArray[np.float64]:
    """Return the corners of a head on the way from one node to another."""
    along = (end - start) / (float(np.hypot(*(end - start))) or 1.0)
    across = np.array([-along[1], along[0]])
    length, half_width = _HEAD
    tip = start + _TIP * (end - start)
    back = tip - length * along
    return np.array([tip, back + half_width * across, back - half_width * across])
