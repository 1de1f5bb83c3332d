"""The skeleton search against d-separation, and its promises to the answerer."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from skdp.causal.skeleton import learn_skeleton

# networkx 3.2 has it under its older name only.
is_d_separator = getattr(nx, "is_d_separator", None) or nx.d_separated


def random_dag(rng, n_nodes, density):
    names = [f"v{i}" for i in rng.permutation(n_nodes)]
    dag = nx.DiGraph()
    dag.add_nodes_from(sorted(names))
    dag.add_edges_from(e for e in combinations(names, 2) if rng.random() < density)
    return dag


class Oracle:
    """Answers by d-separation and keeps what it was asked."""

    def __init__(self, dag, limit=None):
        self.dag = dag
        self.limit = limit
        self.asked = []

    @property
    def exhausted(self):
        return self.limit is not None and len(self.asked) >= self.limit

    def independent(self, x, y, given):
        assert not self.exhausted, "a question after exhaustion"
        self.asked.append((frozenset((x, y)), frozenset(given)))
        return is_d_separator(self.dag, {x}, {y}, set(given))


def dags(n):
    rng = np.random.default_rng(20)
    return [random_dag(rng, rng.integers(2, 8), rng.random()) for _ in range(n)]


@pytest.mark.parametrize("dag", dags(40))
def test_d_separation_gives_the_skeleton_and_separating_sets(dag):
    found = learn_skeleton(list(dag), Oracle(dag))
    assert found.complete
    assert list(found.graph) == list(dag)
    assert nx.utils.graphs_equal(
        nx.Graph(found.graph.edges), nx.Graph(dag.to_undirected().edges)
    )
    separated = {frozenset(e) for e in nx.non_edges(dag.to_undirected())}
    assert set(found.separating_sets) == separated
    assert found.n_deletions == len(separated)
    for pair, given in found.separating_sets.items():
        x, y = pair
        assert not pair & set(given)
        assert is_d_separator(dag, {x}, {y}, set(given))


@pytest.mark.parametrize("dag", dags(40))
def test_no_question_is_asked_twice_and_all_are_counted(dag):
    oracle = Oracle(dag)
    found = learn_skeleton(list(dag), oracle)
    assert len(set(oracle.asked)) == len(oracle.asked) == found.n_tests
    sizes = [len(given) for _, given in oracle.asked]
    assert sizes == sorted(sizes)


def test_questions_name_variables_in_the_order_given():
    class Watch(Oracle):
        def independent(self, x, y, given):
            assert x > y
            assert list(given) == sorted(given, reverse=True)
            return super().independent(x, y, given)

    for dag in dags(20):
        learn_skeleton(sorted(dag, reverse=True), Watch(dag))


@pytest.mark.parametrize("max_order", [0, 1, 2])
def test_max_order_bounds_the_conditioning_sets(max_order):
    for dag in dags(20):
        oracle = Oracle(dag)
        found = learn_skeleton(list(dag), oracle, max_order=max_order)
        assert found.complete
        assert all(len(given) <= max_order for _, given in oracle.asked)
        kept = nx.Graph(dag.to_undirected().edges)
        assert all(found.graph.has_edge(*edge) for edge in kept.edges)


def test_exhausted_answerer_is_left_alone_and_edges_stay():
    dag = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "d")])
    full = learn_skeleton(list(dag), Oracle(dag))
    for limit in range(full.n_tests):
        found = learn_skeleton(list(dag), Oracle(dag, limit))
        assert not found.complete
        assert found.n_tests == limit
        assert found.graph.number_of_edges() + found.n_deletions == 6
    assert learn_skeleton(list(dag), Oracle(dag, full.n_tests)).complete
    untouched = learn_skeleton(list(dag), Oracle(dag, 0))
    assert untouched.graph.number_of_edges() == 6


def test_result_does_not_depend_on_the_order_of_the_variables():
    rng = np.random.default_rng(3)

    class Inconsistent:
        """Answers at random, but the same question always alike."""

        exhausted = False

        def __init__(self):
            self.answers = {}

        def independent(self, x, y, given):
            question = frozenset((x, y)), frozenset(given)
            return self.answers.setdefault(question, rng.random() < 0.15)

    for _ in range(20):
        names = [f"v{i}" for i in range(6)]
        answerer = Inconsistent()
        first = learn_skeleton(names, answerer).graph
        again = learn_skeleton(list(rng.permutation(names)), answerer).graph
        assert {frozenset(e) for e in first.edges} == {
            frozenset(e) for e in again.edges
        }


def test_interruption_passes_through():
    class Interrupted:
        exhausted = False

        def independent(self, x, y, given):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_skeleton(["a", "b"], Interrupted())


def test_progress_reaches_the_number_of_edges():
    calls = []
    dag = nx.DiGraph([("a", "b"), ("b", "c")])
    learn_skeleton(list(dag), Oracle(dag), progress=lambda *call: calls.append(call))
    assert calls == [(0, 1, 3), (0, 2, 3), (0, 3, 3), (1, 1, 3), (1, 2, 3), (1, 3, 3)]


def test_few_variables():
    empty = nx.DiGraph()
    assert list(learn_skeleton([], Oracle(empty)).graph) == []
    empty.add_node("a")
    alone = learn_skeleton(["a"], Oracle(empty))
    assert list(alone.graph) == ["a"]
    assert (alone.n_tests, alone.n_deletions, alone.complete) == (0, 0, True)


def test_refusals():
    oracle = Oracle(nx.DiGraph())
    with pytest.raises(ValueError, match=r"distinct names.*\['a'\]"):
        learn_skeleton(["a", "b", "a"], oracle)
    with pytest.raises(ValueError, match="max_order"):
        learn_skeleton(["a", "b"], oracle, max_order=-1)
