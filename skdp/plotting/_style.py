"""How nodes and edges look, and the legend that says what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skdp.plotting._edges import DrawnEdge, EdgeKind
from skdp.plotting._layout import Positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

__all__ = ["EDGE_STYLES", "draw_legend", "draw_nodes", "figure_size"]

# Colours of Okabe & Ito (2008), told apart with any colour vision; the line
# styles say the same once more, for print in black and white.
EDGE_STYLES: dict[EdgeKind, dict[str, Any]] = {
    "found": {"color": "#0072B2", "linewidth": 1.8, "linestyle": "-"},
    "reversed": {
        "color": "#CC79A7",
        "linewidth": 2.2,
        "linestyle": (0, (6, 1.5, 1, 1.5)),
    },
    "missing": {"color": "#8C8C8C", "linewidth": 1.5, "linestyle": (0, (4, 3))},
    "extra": {"color": "#D55E00", "linewidth": 2.4, "linestyle": (0, (1, 1))},
}
_LABELS = {"reversed": "found, direction wrong"}
_BOX = {
    "boxstyle": "round,pad=0.45,rounding_size=0.6",
    "facecolor": "#F4F6F8",
    "edgecolor": "#3A4754",
    "linewidth": 1.0,
}
# A figure of the usual size has room for so many nodes.
_USUAL_NODES = 14


def figure_size(n_nodes: int) -> tuple[float, float]:
    """Return width and height of a figure with room for the nodes.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.

    Returns
    -------
    tuple of (float, float)
        In inches.
    """
    grown = min(max(1.0, (n_nodes / _USUAL_NODES) ** 0.5), 3.0)
    return 6.4 * grown, 5.4 * grown


def draw_nodes(ax: Axes, positions: Positions) -> dict[str, Text]:
    """Write the names into boxes, above everything else.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    positions : dict of str to ndarray of shape (2,)
        The middles of the boxes.

    Returns
    -------
    dict of str to matplotlib Text
        The names in their boxes.
    """
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.margins(0.15 if len(positions) <= _USUAL_NODES else 0.06)
    ax.plot(*zip(*positions.values(), strict=True) if positions else ([], []), alpha=0)
    size = 11 if len(positions) <= 2 * _USUAL_NODES else 9
    return {
        name: ax.text(
            x,
            y,
            str(name),
            ha="center",
            va="center",
            fontsize=size,
            color="#1B2430",
            bbox=_BOX,
            zorder=4,
            parse_math=False,
        )
        for name, (x, y) in positions.items()
    }


def draw_legend(ax: Axes, edges: list[DrawnEdge]) -> None:
    """Say below the picture what the kinds of edges are, and how many there are.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    edges : list of DrawnEdge
        All edges. Arrows against the truth are listed where there are any.
    """
    from matplotlib.lines import Line2D

    count = {kind: sum(e.kind == kind for e in edges) for kind in EDGE_STYLES}
    handles = [
        Line2D([], [], label=f"{_LABELS.get(kind, kind)} ({count[kind]})", **style)
        for kind, style in EDGE_STYLES.items()
        if count[kind] or kind != "reversed"
    ]
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(handles),
        frameon=False,
        handlelength=2.6,
        columnspacing=1.4,
        fontsize=10,
    )
