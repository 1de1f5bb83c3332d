"""Edges from box to box, bent round the boxes in their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skdp.plotting._edges import DrawnEdge
from skdp.plotting._layout import Positions, bend
from skdp.plotting._style import EDGE_STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch
    from matplotlib.text import Text

__all__ = ["draw_curves"]

_HEAD_SIZE = 18


def draw_curves(
    ax: Axes, edges: list[DrawnEdge], labels: dict[str, Text], positions: Positions
) -> None:
    """Draw lines, or arrows, from the border of one box to that of another.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    edges : list of DrawnEdge
        What to draw.
    labels : dict of str to matplotlib Text
        The names in their boxes.
    positions : dict of str to ndarray of shape (2,)
        The middles of the boxes.
    """
    for edge in edges:
        _draw_curve(ax, edge, labels, bend(edge.tail, edge.head, positions))


def _draw_curve(
    ax: Axes, edge: DrawnEdge, labels: dict[str, Text], curvature: float
) -> None:
    ends = labels[edge.tail], labels[edge.head]
    style = {
        "connectionstyle": f"arc3,rad={curvature}",
        "gid": edge.kind,
        "zorder": 3 if edge.kind == "found" else 2,
        **EDGE_STYLES[edge.kind],
    }
    gap = _HEAD_SIZE / 4 if edge.directed else 0
    ax.add_patch(_edge_patch(*ends, arrowstyle="-", shrinkB=gap, **style))
    if edge.directed:
        # A head of its own, without outline: dashes would fray it.
        style |= {"linewidth": 0, "linestyle": "-"}
        ax.add_patch(_edge_patch(*ends, arrowstyle="-|>", shrinkB=0, **style))


def _edge_patch(tail: Text, head: Text, **style: Any) -> Patch:
    from matplotlib.patches import FancyArrowPatch

    class EdgePatch(FancyArrowPatch):
        def draw(self, renderer: Any) -> None:
            # Boxes have a size only once the renderer is known.
            for label in (tail, head):
                label.update_bbox_position_size(renderer)
            super().draw(renderer)

    return EdgePatch(
        tail.get_position(),
        head.get_position(),
        patchA=tail.get_bbox_patch(),
        patchB=head.get_bbox_patch(),
        shrinkA=0,
        capstyle="butt",
        mutation_scale=_HEAD_SIZE,
        **style,
    )
