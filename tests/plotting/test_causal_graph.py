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
from skdp.plotting._lines import _head as arrow_head

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
        DrawnEdge("a", "b", True, "reversed"),
        DrawnEdge("c", "b", True, "extra"),
        DrawnEdge("b", "d", False, "found"),
        DrawnEdge("d", "a", True, "missing"),
    }
    lines = edges_to_draw(nx.Graph(["ab"]))
    assert lines == [DrawnEdge("a", "b", False, "found")]


@pytest.mark.parametrize(
    ("graph", "truth", "kind"),
    [
        (nx.DiGraph(["ab"]), nx.DiGraph(["ab"]), "found"),
        (nx.DiGraph(["ab"]), nx.DiGraph(["ba"]), "reversed"),
        (nx.DiGraph(["ba"]), nx.DiGraph(["ab"]), "reversed"),
        (nx.DiGraph(["ab", "ba"]), nx.DiGraph(["ab"]), "found"),
        (nx.DiGraph(["ab"]), nx.DiGraph(["ab", "ba"]), "found"),
        (nx.DiGraph(["ba"]), nx.Graph(["ab"]), "found"),
        (nx.Graph(["ab"]), nx.DiGraph(["ba"]), "found"),
    ],
)
def test_only_an_arrow_against_an_arrow_is_wrong(graph, truth, kind):
    assert [edge.kind for edge in edges_to_draw(graph, truth)] == [kind]


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


def test_wrong_directions_are_marked_and_counted(learned):
    learned.remove_edge("bronc", "dysp")
    learned.add_edge("dysp", "bronc")
    display = CausalGraphDisplay(learned, truth=ASIA).plot()
    assert len(drawn(display, "reversed")) == 2
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[:2] == ["found (6)", "found, direction wrong (1)"]


def test_title_and_names_are_drawn_literally():
    graph = nx.DiGraph([("$a_1$", "$100"), ("$100", "b$")])
    display = CausalGraphDisplay.from_estimator(
        Learner().fit(graph), title="$x$ of asia"
    )
    assert display.ax_.get_title() == "$x$ of asia"
    texts = [*display.ax_.texts, display.ax_.title]
    assert not any(text.get_parse_math() for text in texts)
    display.figure_.savefig(io.BytesIO(), format="png")
    assert CausalGraphDisplay(graph).plot().ax_.get_title() == ""


def test_figure_of_an_ax_in_a_subfigure_is_the_root():
    figure = plt.figure()
    ax = figure.subfigures(1, 2)[1].subfigures(2, 1)[0].subplots()
    assert CausalGraphDisplay(ASIA).plot(ax=ax).figure_ is figure


def large_graphs():
    learned, truth = nx.gnm_random_graph(60, 400, seed=0), nx.path_graph(60)
    return (
        nx.DiGraph(pair if sum(pair) % 3 else pair[::-1] for pair in learned.edges),
        nx.DiGraph(truth),
    )


def test_large_graphs_are_drawn_by_a_few_collections():
    graph, truth = large_graphs()
    display = CausalGraphDisplay(graph, truth=truth).plot()
    display.figure_.savefig(io.BytesIO(), format="png")
    assert not display.ax_.patches
    # Lines in one collection of each kind, heads in another.
    kinds = {"found", "reversed", "missing", "extra"}
    sizes = {kind: [] for kind in kinds}
    for collection in display.ax_.collections:
        sizes[collection.get_gid()].append(len(collection.get_paths()))
    edges = edges_to_draw(graph, truth)
    for kind in kinds:
        chosen = [edge for edge in edges if edge.kind == kind]
        assert sizes[kind] == [len(chosen), sum(edge.directed for edge in chosen)]
    narrow, wide = (display.figure_.get_size_inches() for display in (
        CausalGraphDisplay(ASIA).plot(), display))  # fmt: skip
    assert np.all(wide > narrow)


def test_heads_on_the_way_point_at_the_head():
    corners = arrow_head(np.array([0.0, 0.0]), np.array([2.0, 0.0]))
    tip, *back = corners
    assert np.allclose(tip, [1.28, 0])
    assert all(corner[0] < tip[0] for corner in back)
    assert np.allclose(back[0][1], -back[1][1])
    assert np.isfinite(arrow_head(np.zeros(2), np.zeros(2))).all()


def test_nodes_without_edges_stay_near():
    graph = nx.Graph(nx.path_graph(12))
    graph.add_node("alone")
    positions = np.array(list(layout(graph).values()))
    gaps = np.linalg.norm(positions[-1] - positions[:-1], axis=1)
    spread = np.linalg.norm(positions[:-1, None] - positions[:-1], axis=2).max()
    assert 0.3 < gaps.min() < spread


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
        display, picture = CausalGraphDisplay(graph, truth=graph).plot(), io.BytesIO()
        display.figure_.savefig(picture, format="png")
        assert set(display.positions_) == set(graph)
        assert len(picture.getvalue()) > 1000


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match=r"truth must have the nodes.*\['tub'\]"):
        CausalGraphDisplay(ASIA, truth=ASIA.subgraph(set(ASIA) - {"tub"}))
    with pytest.raises(TypeError, match="graph must be a networkx.DiGraph .* NoneType"):
        CausalGraphDisplay(None)
    with pytest.raises(TypeError, match="truth must be .* got list"):
        CausalGraphDisplay(ASIA, truth=list(ASIA.edges))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        CausalGraphDisplay(ASIA).plot()
