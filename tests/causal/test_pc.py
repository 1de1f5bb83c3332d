"""PC against pgmpy, and its rule where a table is no evidence."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from skdp import PC, Categorical, Schema
from skdp.causal.answerers import TableAnswerer, can_show_dependence
from skdp.datasets import NETWORK_NAMES, load_bayesian_network
from skdp.metrics import skeleton_f1_score


@pytest.fixture(scope="module")
def pgmpy_pc():
    reason = "pgmpy is not installed"
    return pytest.importorskip("pgmpy.causal_discovery", reason=reason).PC


@pytest.mark.parametrize("name", NETWORK_NAMES)
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_pgmpy(name, pgmpy_pc) -> None:
    network = load_bayesian_network(name)
    records = network.sample(100_000, random_state=1, as_frame=True)
    ours = PC(independence_test="chi2", alpha=0.01, schema=network.schema).fit(records)
    theirs = pgmpy_pc(
        variant="stable", ci_test="chi_square", significance_level=0.01,
        max_cond_vars=len(records.columns), n_jobs=1, show_progress=False,
    ).fit(records)  # fmt: skip
    graph = theirs.causal_graph_
    directed, undirected = list(graph.directed_edges), list(graph.undirected_edges)
    skeleton = nx.Graph([*directed, *undirected])
    assert nx.utils.edges_equal(skeleton.edges, ours.skeleton_.edges)
    if not ours.orientation_conflicts_:
        both_ways = {(u, v) for u, v in undirected} | {(v, u) for u, v in undirected}
        assert set(ours.causal_graph_.edges) == set(directed) | both_ways


@pytest.mark.parametrize("test", ["kendall", "kendall_normalized", "spearman", "g2"])
@pytest.mark.parametrize("name", NETWORK_NAMES)
def test_finds_the_skeleton(name, test) -> None:
    network = load_bayesian_network(name)
    records = network.sample(100_000, random_state=3, as_frame=True)
    model = PC(independence_test=test, schema=network.schema).fit(records)
    assert skeleton_f1_score(network.skeleton, model.skeleton_) >= 0.88


def test_the_skeleton_does_not_depend_on_the_column_order() -> None:
    network = load_bayesian_network("asia")
    records = network.sample(20_000, random_state=0, as_frame=True)
    one = PC(schema=network.schema).fit(records)
    two = PC(schema=network.schema).fit(records[records.columns[::-1]])
    assert nx.utils.edges_equal(one.skeleton_.edges, two.skeleton_.edges)


def test_results_have_the_documented_form() -> None:
    network = load_bayesian_network("survey")
    model = PC(schema=network.schema).fit(network.sample(50_000, random_state=0))
    names = list(network.schema.names)
    assert list(model.skeleton_) == list(model.causal_graph_) == names
    expected = nx.to_numpy_array(model.causal_graph_, nodelist=names)
    assert np.array_equal(model.adjacency_matrix_, expected)
    pairs = len(names) * (len(names) - 1) // 2
    assert model.n_deletions_ == pairs - model.skeleton_.number_of_edges()
    assert set(model.separating_sets_) == {
        frozenset(pair) for pair in nx.complement(model.skeleton_).edges
    }


def test_a_constant_stratum_is_no_evidence() -> None:
    copy = np.array([[[5, 0], [0, 0]], [[0, 0], [0, 7]], [[0, 0], [0, 0]]])
    assert not can_show_dependence(copy)
    assert can_show_dependence(np.array([[[5, 1], [0, 2]]]))
    answerer = TableAnswerer(lambda *question: copy, lambda *question: 1.0, 0.05)
    assert not answerer.independent("x", "y", ("z",))
    assert answerer.independent("x", "y", ())


def test_a_deterministic_node_keeps_its_edges() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 20_000))
    both = a | b
    follows = np.where(rng.random(20_000) < 0.9, both, 1 - both)
    schema = Schema([Categorical(name, (0, 1)) for name in "abcd"])
    model = PC(schema=schema).fit(np.column_stack([a, b, both, follows]))
    assert model.skeleton_.has_edge("c", "d")


def test_is_not_private_and_warns_of_nothing(recwarn) -> None:
    PC().fit(load_bayesian_network("cancer").sample(1000, random_state=0))
    assert not recwarn.list
    assert not hasattr(PC(), "privacy_report")
