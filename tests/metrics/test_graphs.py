"""Graph scores against values worked by hand and against brute force."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from skdp.metrics import (
    skeleton_f1_score,
    skeleton_precision_score,
    skeleton_recall_score,
    structural_hamming_distance,
)

SKELETON_SCORES = [skeleton_f1_score, skeleton_precision_score, skeleton_recall_score]
SCORES = [*SKELETON_SCORES, structural_hamming_distance]


def graph(edges, nodes="abcd", kind=nx.DiGraph):
    g = kind()
    g.add_nodes_from(nodes)
    g.add_edges_from(edges)
    return g


def random_cpdag_like(rng, nodes):
    edges = []
    for x, y in combinations(nodes, 2):
        edges += [[], [(x, y)], [(y, x)], [(x, y), (y, x)]][rng.integers(4)]
    return graph(edges, nodes)


def test_worked_by_hand():
    true = graph(["ab", "bc", "cd", "ad"])
    learned = graph(["ba", "cb", "bc", "ac"])
    # Of ab, bc, ac two are true; of ab, bc, cd, ad two were found.
    assert skeleton_precision_score(true, learned) == pytest.approx(2 / 3)
    assert skeleton_recall_score(true, learned) == pytest.approx(1 / 2)
    assert skeleton_f1_score(true, learned) == pytest.approx(4 / 7)
    # ab reversed, bc undirected, cd and ad missing, ac extra.
    assert structural_hamming_distance(true, learned) == 5


@pytest.mark.parametrize("score", SKELETON_SCORES)
def test_empty_graphs(score):
    empty, one = graph([]), graph(["ab"])
    assert score(empty, empty) == 1.0
    assert score(empty, one) == 0.0
    assert score(one, empty) == 0.0


def test_distance_of_simple_pairs():
    kinds = [graph(edges, "ab") for edges in ([], ["ab"], ["ba"], ["ab", "ba"])]
    for i, first in enumerate(kinds):
        for j, second in enumerate(kinds):
            assert structural_hamming_distance(first, second) == (i != j)


def test_undirected_graph_is_a_pair_of_arrows():
    line = graph(["ab"], kind=nx.Graph)
    assert structural_hamming_distance(line, graph(["ab", "ba"])) == 0
    assert structural_hamming_distance(graph(["ba"]), line) == 1
    assert skeleton_f1_score(line, graph(["ba"])) == 1.0


def test_against_scikit_learn_and_adjacency_matrices():
    rng = np.random.default_rng(0)
    for _ in range(50):
        nodes = list("abcde")
        true, learned = (random_cpdag_like(rng, nodes) for _ in range(2))
        a, b = (nx.to_numpy_array(g, nodelist=nodes) > 0 for g in (true, learned))
        upper = np.triu_indices(5, 1)
        pairs = (a | a.T)[upper], (b | b.T)[upper]
        for mine, theirs in zip(
            SKELETON_SCORES, [f1_score, precision_score, recall_score], strict=True
        ):
            assert mine(true, learned) == pytest.approx(theirs(*pairs))
        differs = (a != b) | (a != b).T
        assert structural_hamming_distance(true, learned) == differs[upper].sum()
        assert structural_hamming_distance(learned, true) == differs[upper].sum()


def test_node_order_is_immaterial():
    true, learned = graph(["ab", "bc"]), graph(["bc", "ab"], nodes="dcba")
    assert [score(true, learned) for score in SCORES] == [1.0, 1.0, 1.0, 0]


@pytest.mark.parametrize("score", SCORES)
def test_refusals(score):
    with pytest.raises(ValueError, match=r"only in true: \['d'\].*learned: \['e'\]"):
        score(graph(["ab"]), graph(["ab"], nodes="abce"))
    with pytest.raises(TypeError, match="learned must be a networkx graph"):
        score(graph(["ab"]), np.eye(4))
