"""A picture of a learned causal graph, if wanted beside the true one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import networkx as nx
from sklearn.utils.validation import check_is_fitted

from skdp.plotting._edges import DrawnEdge, edges_to_draw
from skdp.plotting._layout import Positions, bend, layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from matplotlib.text import Text

__all__ = ["CausalGraphDisplay"]

# Colours of Okabe & Ito (2008), told apart with any colour vision; the line
# styles say the same once more, for print in black and white.
_STYLES: dict[str, dict[str, Any]] = {
    "found": {"color": "#0072B2", "linewidth": 1.8, "linestyle": "-"},
    "missing": {"color": "#8C8C8C", "linewidth": 1.5, "linestyle": (0, (4, 3))},
    "extra": {"color": "#D55E00", "linewidth": 2.4, "linestyle": (0, (1, 1))},
}
_HEAD_SIZE = 18
_BOX = {
    "boxstyle": "round,pad=0.45,rounding_size=0.6",
    "facecolor": "#F4F6F8",
    "edgecolor": "#3A4754",
    "linewidth": 1.0,
}


class CausalGraphDisplay:
    """Drawing of a partially directed graph.

    Directed edges are arrows, undirected edges are lines. With the truth, edges
    in both, edges that were missed and edges that are not true are told apart;
    whether an edge that was found points the right way is not judged.

    Parameters
    ----------
    graph : networkx.DiGraph or networkx.Graph
        The learned graph; an undirected edge of a DiGraph as both arrows.
    truth : networkx.DiGraph or networkx.Graph, optional
        The true graph, over the same nodes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the graph was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_` (its SubFigure, if it is in one).
    positions_ : dict of str to ndarray of shape (2,)
        Where the nodes are, in data coordinates.

    Raises
    ------
    ValueError
        If the graphs have different nodes.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.DiGraph([("tub", "either"), ("lung", "either")])
    >>> display = CausalGraphDisplay(graph).plot()  # doctest: +SKIP
    """

    def __init__(self, graph: nx.Graph, *, truth: nx.Graph | None = None) -> None:
        if truth is not None and set(truth) != set(graph):
            raise ValueError(
                "truth must have the nodes of the graph; "
                f"they differ in {sorted(set(truth) ^ set(graph), key=str)}."
            )
        self.graph = graph
        self.truth = truth

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        truth: nx.Graph | None = None,
        ax: Axes | None = None,
    ) -> CausalGraphDisplay:
        """Draw the causal graph of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with the attribute ``causal_graph_``.
        truth : networkx.DiGraph or networkx.Graph, optional
            The true graph, over the same nodes.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CausalGraphDisplay
            The drawn display, with ``ax_``, ``figure_`` and ``positions_``.

        Raises
        ------
        ValueError
            If the graphs have different nodes.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ImportError
            If matplotlib is not installed.
        """
        check_is_fitted(estimator, "causal_graph_")
        return cls(estimator.causal_graph_, truth=truth).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> CausalGraphDisplay:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CausalGraphDisplay
            The display itself, with ``ax_``, ``figure_`` and ``positions_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        _check_matplotlib()
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
        self.ax_, self.figure_ = ax, cast("Figure", ax.figure)
        self.positions_ = layout(self.graph if self.truth is None else self.truth)
        edges = edges_to_draw(self.graph, self.truth)
        labels = _draw_nodes(ax, self.positions_)
        for edge in edges:
            _draw_edge(ax, edge, labels, bend(edge.tail, edge.head, self.positions_))
        if self.truth is not None:
            _draw_legend(ax, edges)
        return self


def _check_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'Plotting needs matplotlib: pip install "skdp[plots]".'
        ) from error


def _draw_nodes(ax: Axes, positions: Positions) -> dict[str, Text]:
    """Write the names into boxes, above everything else."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.margins(0.15)
    ax.plot(*zip(*positions.values(), strict=True) if positions else ([], []), alpha=0)
    return {
        name: ax.text(
            x,
            y,
            str(name),
            ha="center",
            va="center",
            fontsize=11,
            color="#1B2430",
            bbox=_BOX,
            zorder=4,
        )
        for name, (x, y) in positions.items()
    }


def _draw_edge(
    ax: Axes, edge: DrawnEdge, labels: dict[str, Text], curvature: float
) -> None:
    """Draw a line, or an arrow, from the border of one box to that of another."""
    ends = labels[edge.tail], labels[edge.head]
    style = {
        "connectionstyle": f"arc3,rad={curvature}",
        "gid": edge.kind,
        "zorder": 3 if edge.kind == "found" else 2,
        **_STYLES[edge.kind],
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


def _draw_legend(ax: Axes, edges: list[DrawnEdge]) -> None:
    from matplotlib.lines import Line2D

    count = {kind: sum(e.kind == kind for e in edges) for kind in _STYLES}
    handles = [
        Line2D([], [], label=f"{kind} ({count[kind]})", **style)
        for kind, style in _STYLES.items()
    ]
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(handles),
        frameon=False,
        handlelength=2.6,
        fontsize=10,
    )
