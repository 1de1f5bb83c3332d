"""A picture of a learned causal graph, if wanted beside the true one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
from sklearn.utils.validation import check_is_fitted

from skdp.plotting._curves import draw_curves
from skdp.plotting._edges import edges_to_draw
from skdp.plotting._layout import layout
from skdp.plotting._lines import draw_lines
from skdp.plotting._style import draw_legend, draw_nodes, figure_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CausalGraphDisplay"]

# Beyond so many edges a picture is drawn in the plainer way, which is fast.
_MANY_EDGES = 150


class CausalGraphDisplay:
    """Drawing of a partially directed graph.

    Directed edges are arrows, undirected edges are lines. With the truth, edges
    in both, edges in both that point against the true arrow, edges that were
    missed and edges that are not true are told apart, and counted in a legend. An
    edge that has an arrow in one of the graphs only is not judged wrong.

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
        The whole figure that `ax_` is in.
    positions_ : dict of str to ndarray of shape (2,)
        Where the nodes are, in data coordinates.

    Raises
    ------
    TypeError
        If a graph is none of networkx.
    ValueError
        If the graphs have different nodes.

    Notes
    -----
    Beyond 150 edges the lines are straight and the heads stand on the way, so that
    the picture is drawn in a second or two.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.DiGraph([("tub", "either"), ("lung", "either")])
    >>> display = CausalGraphDisplay(graph).plot()  # doctest: +SKIP
    """

    def __init__(self, graph: nx.Graph, *, truth: nx.Graph | None = None) -> None:
        graphs = {"graph": graph, "truth": graph if truth is None else truth}
        for name, given in graphs.items():
            if not isinstance(given, nx.Graph):
                raise TypeError(
                    f"{name} must be a networkx.DiGraph or networkx.Graph, got "
                    f"{type(given).__name__}."
                )
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
        title: str | None = None,
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
        title : str, optional
            Written above the graph.

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
        return cls(estimator.causal_graph_, truth=truth).plot(ax=ax, title=title)

    def plot(
        self, ax: Axes | None = None, *, title: str | None = None
    ) -> CausalGraphDisplay:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        title : str, optional
            Written above the graph.

        Returns
        -------
        CausalGraphDisplay
            The display itself, with ``ax_``, ``figure_`` and ``positions_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            ax = _new_axes(len(self.graph))
        # A SubFigure's figure is the root, a Figure's figure is itself.
        self.ax_, self.figure_ = ax, ax.figure.figure
        self.positions_ = layout(self.graph if self.truth is None else self.truth)
        edges = edges_to_draw(self.graph, self.truth)
        labels = draw_nodes(ax, self.positions_)
        if len(edges) > _MANY_EDGES:
            draw_lines(ax, edges, self.positions_)
        else:
            draw_curves(ax, edges, labels, self.positions_)
        if self.truth is not None:
            draw_legend(ax, edges)
        if title is not None:
            ax.set_title(title, fontsize=12, color="#1B2430", parse_math=False)
        return self


def _new_axes(n_nodes: int) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plotting needs matplotlib: pip install matplotlib."
        ) from error
    return plt.subplots(figsize=figure_size(n_nodes), layout="constrained")[1]
