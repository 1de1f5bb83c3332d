"""The keep rule: an edge goes on evidence only."""

from __future__ import annotations

import pytest

from skdp.stats.evidence import IndependenceTest, KeepRule, Verdict, level_by_noise

RULE = KeepRule(kappa=0.5, least_noncentrality=3.0, least_tolerance=0.1)


def outcome(statistic, p_value, information=1.0, degrees=1.0, tolerance=1.0):
    return IndependenceTest(statistic, degrees, p_value, information, 0.5, tolerance)


# The excess is 40 per unit of information.
FIRST = outcome(41.0, 1e-10, information=2.0)


def test_the_excess_is_not_negative():
    assert outcome(5.0, 0.1, degrees=2.0).excess == 3.0
    assert outcome(1.0, 0.6, degrees=2.0).excess == 0.0


def test_the_unconditional_test_is_judged_by_its_level_alone():
    assert RULE.verdict(outcome(0.1, 0.7), 0.05) is Verdict.INDEPENDENT
    assert RULE.verdict(outcome(0.1, 0.7, 0.0, 0.0), 0.05) is Verdict.INDEPENDENT
    assert RULE.verdict(outcome(9.0, 0.003), 0.05) is Verdict.DEPENDENT
    assert RULE.verdict(outcome(3.8, 0.05), 0.05) is Verdict.DEPENDENT


def test_an_effect_that_would_have_been_seen_and_is_gone_is_evidence():
    test = outcome(1.5, 0.22, information=1.0)
    assert RULE.expected_excess(test, FIRST) == 20.0
    assert RULE.verdict(test, 0.05, FIRST) is Verdict.INDEPENDENT


@pytest.mark.parametrize(
    ("why", "test"),
    [
        ("it could not have been seen", outcome(0.2, 0.65, information=0.14)),
        ("nothing was left to test", outcome(0.0, 1.0, 0.0, 0.0)),
        ("too much of it is left", outcome(6.1, 0.06, information=1.0)),
        ("z determines x", outcome(0.2, 0.65, information=1.0, tolerance=0.09)),
    ],
)
def test_without_evidence_the_edge_is_kept(why, test):
    assert RULE.verdict(test, 0.05, FIRST) is Verdict.NO_EVIDENCE, why


def test_each_bound_of_the_rule_is_where_it_says():
    def verdict(**changed):
        values = {"statistic": 1.0, "p_value": 0.3, "information": 1.0} | changed
        return RULE.verdict(outcome(**values), 0.05, FIRST)

    # lambda = 20 information >= 3, excess < 20/4, tolerance >= .1.
    assert verdict(information=0.1501) is Verdict.INDEPENDENT
    assert verdict(information=0.1499) is Verdict.NO_EVIDENCE
    assert verdict(statistic=5.99) is Verdict.INDEPENDENT
    assert verdict(statistic=6.0) is Verdict.NO_EVIDENCE
    assert verdict(tolerance=0.1) is Verdict.INDEPENDENT
    # What is significant is dependent whatever the rest.
    assert verdict(p_value=0.01, information=0.0) is Verdict.DEPENDENT


def test_without_unconditional_information_nothing_is_expected():
    blind = outcome(0.0, 1.0, information=0.0, degrees=0.0)
    assert RULE.expected_excess(outcome(1.0, 0.3), blind) == 0.0
    assert RULE.verdict(outcome(1.0, 0.3), 0.05, blind) is Verdict.NO_EVIDENCE


def test_the_level_goes_from_strict_to_lenient():
    assert level_by_noise(0.001, 0.1, 0.0) == pytest.approx(0.001, rel=1e-15)
    assert level_by_noise(0.001, 0.1, 1.0) == pytest.approx(0.1, rel=1e-15)
    assert level_by_noise(0.001, 0.1, 0.25) == pytest.approx(10**-2.5)
