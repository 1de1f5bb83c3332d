"""What is drawn, and that lines end where the boxes of the nodes do."""

from __future__ import annotations

import io
import sys

import networkx as nx
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skdp.plotting import CausalGraphDisplay
from skdp.plotting._edges import DrawnEdge, edges_to_draw
from skdp.plotting._layout import bend, layout

pytest.importorskip("matplotlib").use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

ASIA = nx.DiGraph(
    [
        ("asia", "tub"),
        ("smoke", "lung"),
        ("smoke", "bronc"),
        ("lung", "either"),
        ("tub", "either"),
        ("either", "xray"),
        ("bronc", "dysp"),
        ("either", "dysp"),
    ]
)


class Learner(BaseEstimator):
    def fit(self, X, y=None):
        self.causal_graph_ = X
        return self


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def learned():
    """Asia with a line, a missing arrow and an extra arrow."""
    graph = nx.DiGraph(ASIA)
    graph.add_edge("lung", "smoke")
    graph.remove_edge("either", "xray")
    graph.add_edge("lung", "dysp")
    return graph


def drawn(display, kind=None):
    patches = display.ax_.patches
    return [p for p in patches if kind is None or p.get_gid() == kind]


def test_edges_to_draw_without_and_with_truth():
    graph = nx.DiGraph(["ab", "cb", "bd", "db"])
    assert edges_to_draw(graph) == [
        DrawnEdge("a", "b", True, "found"),
        DrawnEdge("c", "b", True, "found"),
        DrawnEdge("b", "d", False, "found"),
    ]
    truth = nx.DiGraph(["ba", "da", "db"])
    truth.add_node("c")
    assert set(edges_to_draw(graph, truth)) == {
        DrawnEdge("a", "b", True, "found"),
        DrawnEdge("c", "b", True, "extra"),
        DrawnEdge("b", "d", False, "found"),
        DrawnEdge("d", "a", True, "missing"),
    }
    lines = edges_to_draw(nx.Graph(["ab"]))
    assert lines == [DrawnEdge("a", "b", False, "found")]


def test_display_has_scikit_learns_attributes():
    display = CausalGraphDisplay(ASIA).plot()
    assert display.figure_ is display.ax_.figure
    assert set(display.positions_) == set(ASIA)
    assert {text.get_text() for text in display.ax_.texts} == set(ASIA)
    assert display.ax_.get_legend() is None
    # A line and a head each.
    assert len(drawn(display)) == 2 * ASIA.number_of_edges()

    _, ax = plt.subplots()
    assert CausalGraphDisplay(ASIA).plot(ax=ax).ax_ is ax


def test_kinds_of_edges_are_told_apart(learned):
    display = CausalGraphDisplay(learned, truth=ASIA).plot()
    # Seven found, one of them without direction.
    counts = {kind: len(drawn(display, kind)) for kind in ("found", "missing", "extra")}
    assert counts == {"found": 13, "missing": 2, "extra": 2}
    looks = {
        (p.get_gid(), p.get_edgecolor(), str(p.get_linestyle()))
        for p in drawn(display)
        if p.get_linewidth()
    }
    assert len(looks) == len({c for _, c, _ in looks}) == len({s for *_, s in looks})
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["found (7)", "missing (1)", "extra (1)"]


@pytest.mark.parametrize("size", [(5, 5), (9, 6)])
def test_lines_end_at_the_borders_of_the_boxes(learned, size):
    figure, ax = plt.subplots(figsize=size)
    display = CausalGraphDisplay(learned, truth=ASIA).plot(ax=ax)
    figure.savefig(io.BytesIO(), format="png")
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
    for patch in drawn(display):
        path = patch.get_transform().transform_path(patch.get_path())
        ends = path.vertices[[0, -1]]
        if not patch.get_linewidth():  # a head, of which the tip comes nearest
            ends = path.vertices[path.codes != path.CLOSEPOLY][-2:-1]
        for end in ends:
            # Round corners are inside of the rectangles around the boxes.
            assert not any(box.padded(-4).contains(*end) for box in boxes)
            assert any(box.padded(7).contains(*end) for box in boxes)


def test_layout_is_deterministic_and_puts_causes_above_effects():
    first, again = layout(ASIA), layout(ASIA)
    assert all(np.array_equal(first[node], again[node]) for node in ASIA)
    falls = [first[tail] - first[head] for tail, head in ASIA.edges]
    right, down = np.sum(falls, axis=0)
    assert down > 0
    assert right == pytest.approx(0, abs=1e-9)
    assert layout(nx.Graph()) == {}


def test_layout_keeps_nodes_apart():
    graphs = [ASIA, nx.empty_graph(6), nx.complete_graph(7), nx.star_graph(8)]
    for graph in [*graphs, nx.Graph([(0, 1), (2, 3), (4, 5)])]:
        positions = np.array(list(layout(graph).values()))
        gaps = np.linalg.norm(positions[:, None] - positions, axis=2)
        assert gaps[np.triu_indices(len(positions), 1)].min() > 0.3


def test_edges_bend_round_nodes_in_their_way():
    places = {"a": (0.0, 0.0), "b": (2.0, 0.0), "c": (1.0, 0.1)}
    positions = {name: np.array(place) for name, place in places.items()}
    # The node is above the way from a to b, so the edge passes below: to the
    # right of the one direction, to the left of the other.
    assert 0 < bend("a", "b", positions) < 0.3
    assert bend("b", "a", positions) == pytest.approx(-bend("a", "b", positions))
    assert bend("a", "c", positions) == 0
    positions["c"] = np.array([1.0, 0.5])
    assert bend("a", "b", positions) == 0


def test_from_estimator():
    display = CausalGraphDisplay.from_estimator(Learner().fit(ASIA), truth=ASIA)
    assert display.graph is ASIA and display.truth is ASIA
    assert len(drawn(display, "found")) == 16
    with pytest.raises(NotFittedError):
        CausalGraphDisplay.from_estimator(Learner())


def test_a_few_nodes():
    for graph in (nx.DiGraph(), nx.empty_graph(1), nx.Graph(["ab"])):
        display = CausalGraphDisplay(graph, truth=graph).plot()
        display.figure_.savefig(io.BytesIO(), format="png")


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match=r"truth must have the nodes.*\['tub'\]"):
        CausalGraphDisplay(ASIA, truth=ASIA.subgraph(set(ASIA) - {"tub"}))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "skdp\[plots\]"'):
        CausalGraphDisplay(ASIA).plot()
