"""What the answerer on noisy releases decides, and what it remembers of it."""

from __future__ import annotations

import networkx as nx
import pandas as pd
import pytest

from skdp.causal.answerers import EdgeEvidence, EvidenceAnswerer
from skdp.causal.skeleton import learn_skeleton
from skdp.stats.evidence import IndependenceTest, KeepRule

RULE = KeepRule(kappa=0.5, least_noncentrality=3.0)


def outcome(statistic, p_value, information=1.0, noise_share=0.25):
    return IndependenceTest(statistic, 1.0, p_value, information, noise_share)


STRONG = outcome(50.0, 1e-12)
GONE = outcome(0.9, 0.34)
WEAK = outcome(0.8, 0.37, information=0.01)
BLIND = IndependenceTest(0.0, 0.0, 1.0, 0.0, 1.0)


class Script:
    """Returns prepared tests, and remembers the questions."""

    def __init__(self, tests):
        self.tests, self.asked = tests, []

    def __call__(self, x, y, given):
        self.asked.append((x, y, given))
        return self.tests[x, y, given]


def answerer(tests, rule=RULE, level=lambda test: 0.05):
    return EvidenceAnswerer(Script(tests), level, rule)


def test_an_edge_goes_on_evidence_only():
    one = answerer({
        ("a", "b", ()): STRONG,
        ("a", "b", ("c",)): WEAK,
        ("a", "b", ("d",)): BLIND,
        ("a", "b", ("e",)): outcome(20.0, 1e-5),
        ("a", "b", ("f",)): GONE,
        ("a", "c", ()): GONE,
    })  # fmt: skip
    assert not one.independent("a", "b", ())
    for given in (("c",), ("d",), ("e",)):
        assert not one.independent("a", "b", given)
    assert one.independent("a", "b", ("f",))
    assert one.independent("a", "c", ())
    assert not one.exhausted


def test_without_a_rule_whatever_is_not_significant_goes():
    tests = {
        ("a", "b", ()): STRONG,
        ("a", "b", ("c",)): WEAK,
        ("a", "b", ("d",)): BLIND,
    }
    one = answerer(tests, rule=None)
    assert not one.independent("a", "b", ())
    assert one.independent("a", "b", ("c",))
    assert one.independent("a", "b", ("d",))


def test_the_level_may_depend_on_the_test():
    tests = {
        ("a", "b", ()): outcome(5.0, 0.03, noise_share=0.1),
        ("a", "c", ()): outcome(5.0, 0.03, noise_share=0.9),
    }
    one = answerer(tests, level=lambda test: 0.01 + 0.09 * test.noise_share)
    assert one.independent("a", "b", ())
    assert not one.independent("a", "c", ())


def test_each_pair_is_measured_by_its_own_unconditional_test():
    one = answerer({
        ("a", "b", ()): outcome(2.0, 0.16),
        ("b", "c", ()): STRONG,
        ("a", "b", ("c",)): GONE,
        ("b", "c", ("a",)): GONE,
    })  # fmt: skip
    one.independent("a", "b", ())
    one.independent("b", "c", ())
    assert one.expected_excess("b", "a", GONE) == 1.0
    assert one.expected_excess("b", "c", GONE) == 49.0
    assert not one.independent("a", "b", ("c",))  # 1 could not have been seen
    assert one.independent("b", "c", ("a",))


def test_an_edge_remembers_the_test_that_came_nearest():
    tests = {
        ("a", "b", ()): STRONG,
        ("a", "b", ("c",)): outcome(30.0, 1e-7, noise_share=0.1),
        ("a", "b", ("d",)): outcome(12.0, 5e-4, noise_share=0.2),
        ("a", "b", ("e",)): outcome(20.0, 1e-5, noise_share=0.3),
    }
    one = answerer(tests)
    graph = nx.Graph([("b", "a")])
    one.independent("a", "b", ())
    (alone,) = one.edges(graph)
    assert (alone.given, alone.p_value) == ((), 1e-12)
    # A conditional test says more than the unconditional one, however significant.
    for given in (("c",), ("d",), ("e",)):
        one.independent("a", "b", given)
    (edge,) = one.edges(graph)
    assert edge == EdgeEvidence("a", "b", ("d",), 12.0, 1.0, 5e-4, 0.2, False)


def test_a_test_without_evidence_comes_nearer_than_any_significant_one():
    one = answerer({
        ("a", "b", ()): STRONG,
        ("a", "b", ("c",)): WEAK,
        ("a", "b", ("d",)): outcome(12.0, 5e-4),
        ("a", "b", ("e",)): BLIND,
    })  # fmt: skip
    graph = nx.Graph([("a", "b")])
    for given in ((), ("c",), ("d",)):
        one.independent("a", "b", given)
    (edge,) = one.edges(graph)
    assert edge.given == ("c",) and edge.kept_for_want_of_evidence
    one.independent("a", "b", ("e",))
    (edge,) = one.edges(graph)
    assert edge.given == ("e",) and edge.p_value == 1.0


def test_a_test_made_elsewhere_is_judged_by_its_own_rule():
    one = answerer({("a", "b", ()): STRONG})
    one.independent("a", "b", ())
    test = outcome(1.0, 0.3, information=0.1)  # expects 4.9
    strict = KeepRule(kappa=0.5, least_noncentrality=6.0)
    assert not one.judge("a", "b", ("c", "d"), test, strict)
    (edge,) = one.edges(nx.Graph([("a", "b")]))
    assert edge.given == ("c", "d") and edge.kept_for_want_of_evidence
    assert one.judge("a", "b", ("c", "d"), test, RULE)
    assert one.judge("a", "b", ("c", "d"), test, None)


def test_edges_are_a_table_in_the_order_of_the_graph():
    names = ("a", "b", "c")
    tests = {(x, y, ()): STRONG for x, y in (("a", "b"), ("a", "c"), ("b", "c"))}
    tests |= {("a", "b", ("c",)): outcome(9.0, 0.003), ("a", "c", ("b",)): GONE,
              ("b", "c", ("a",)): WEAK}  # fmt: skip
    one = answerer(tests)
    found = learn_skeleton(names, one)
    assert list(found.graph.edges) == [("a", "b"), ("b", "c")]
    assert found.separating_sets == {frozenset("ac"): ("b",)}
    frame = pd.DataFrame(one.edges(found.graph))
    assert list(frame.columns) == [
        "x", "y", "given", "statistic", "degrees", "p_value", "noise_share",
        "kept_for_want_of_evidence",
    ]  # fmt: skip
    assert frame.kept_for_want_of_evidence.tolist() == [False, True]
    assert frame.statistic.tolist() == [9.0, 0.8]


def test_an_edge_that_was_never_asked_about_has_no_evidence():
    with pytest.raises(KeyError):
        answerer({}).edges(nx.Graph([("a", "b")]))
