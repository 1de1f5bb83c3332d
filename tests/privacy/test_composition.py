"""Costs add up as brute force, a peer and the published formulas say."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy.accounting import dp_from_zcdp
from skdp.privacy.composition import (
    basic_composition_epsilon,
    n_outcomes,
    optimal_composition_delta,
    optimal_composition_epsilon,
    zcdp_composition,
)
from skdp.privacy.plans import scale_parts

EVEN = ((0.05, 50), (0.05, 50))
UNEVEN = ((0.08, 50), (0.02, 50))

plans = st.lists(
    st.tuples(st.floats(0.001, 3), st.integers(1, 12)), min_size=1, max_size=3
).map(tuple)
deltas = st.floats(-12, -0.5).map(lambda e: 10.0**e)


def brute_force_delta(ratios: list[Fraction], bound: Fraction) -> Fraction:
    """Sum over all answers of randomised responses with odds `ratios`, exactly."""
    delta = Fraction(0)
    for answer in itertools.product((0, 1), repeat=len(ratios)):
        here = there = Fraction(1)
        for bit, odds in zip(answer, ratios, strict=True):
            here *= (odds if bit else 1) / (1 + odds)
            there *= (1 if bit else odds) / (1 + odds)
        delta += max(Fraction(0), here - bound * there)
    return delta


def published_delta(eps_s: float, eps_x: float, rounds: int, epsilon: float):
    """Evaluate the double sum for R halves of eps_s and R of eps_x in 60 digits."""
    mp = pytest.importorskip("mpmath", reason="mpmath is the referee here")
    mp.mp.dps = 60
    s, x, e = mp.mpf(eps_s), mp.mpf(eps_x), mp.mpf(epsilon)
    total = mp.mpf(0)
    for i in range(rounds + 1):
        for j in range(rounds + 1):
            term = mp.exp((rounds - i) * s + (rounds - j) * x)
            term -= mp.exp(e + i * s + j * x)
            if term > 0:
                total += math.comb(rounds, i) * math.comb(rounds, j) * term
    return total / ((1 + mp.exp(s)) ** rounds * (1 + mp.exp(x)) ** rounds)


def test_the_known_plan_of_fifty_rounds():
    assert basic_composition_epsilon(EVEN) == pytest.approx(5.0)
    assert dp_from_zcdp(zcdp_composition(EVEN), 1e-6) == pytest.approx(2.42, abs=5e-3)
    assert optimal_composition_epsilon(EVEN, 1e-6) == pytest.approx(2.21, abs=5e-3)


def test_the_mean_of_unequal_epsilons_would_be_too_cheap():
    assert optimal_composition_epsilon(UNEVEN, 1e-6) == pytest.approx(2.580, abs=5e-4)
    mean = ((0.05, 100),)
    assert optimal_composition_epsilon(mean, 1e-6) == pytest.approx(2.208, abs=1e-3)


@pytest.mark.parametrize(("eps_s", "eps_x"), [(0.05, 0.05), (0.08, 0.02)])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 2.5, 4.9])
def test_delta_is_the_published_double_sum(eps_s, eps_x, epsilon):
    truth = published_delta(eps_s, eps_x, 50, epsilon)
    mine = optimal_composition_delta(((eps_s, 50), (eps_x, 50)), epsilon)
    assert truth <= mine <= truth * (1 + 1e-10)


@pytest.mark.parametrize(
    "odds",
    [
        [Fraction(2)],
        [Fraction(2)] * 5,
        [Fraction(3, 2)] * 3 + [Fraction(5, 2)] * 2,
        [Fraction(11, 10)] * 2 + [Fraction(2)] * 2 + [Fraction(4)] * 2,
        [Fraction(9, 8), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(20)],
    ],
)
def test_delta_is_that_of_brute_force(odds):
    parts = tuple((math.log(q), 1) for q in odds)
    for bound in (Fraction(1), Fraction(21, 20), Fraction(17, 8), Fraction(7)):
        truth = float(brute_force_delta(odds, bound))
        mine = optimal_composition_delta(parts, math.log(bound))
        assert mine == pytest.approx(truth, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("parts", [((0.05, 100),), UNEVEN, ((1.0, 3), (0.4, 5))])
def test_the_optimal_composition_agrees_with_dp_accounting(parts):
    dp_accounting = pytest.importorskip(
        "dp_accounting", reason="dp-accounting is a referee of tests"
    )
    accountant = dp_accounting.pld.PLDAccountant(
        dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        value_discretization_interval=1e-4,
    )
    for epsilon, count in parts:
        event = dp_accounting.dp_event.DiscreteLaplaceDpEvent(epsilon, 1)
        accountant.compose(event, count)
    for delta in (1e-8, 1e-6, 1e-2):
        theirs = accountant.get_epsilon(delta)
        ours = optimal_composition_epsilon(parts, delta)
        assert theirs * (1 - 2e-3) <= ours <= theirs * (1 + 1e-6)  # theirs rounds up


@given(plans, deltas)
@settings(derandomize=True, max_examples=100, deadline=None)
def test_epsilon_and_delta_invert_each_other(parts, delta):
    epsilon = optimal_composition_epsilon(parts, delta)
    assert 0 <= epsilon <= basic_composition_epsilon(parts)
    assert optimal_composition_delta(parts, epsilon) <= delta
    if epsilon > 0:
        slightly_less = epsilon * (1 - 1e-9) - 1e-12
        assert slightly_less < 0 or (
            optimal_composition_delta(parts, slightly_less) > delta * (1 - 1e-9)
        )


@given(plans, st.floats(0, 5), st.floats(0, 5))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_delta_falls_with_epsilon_and_grows_with_the_plan(parts, epsilon, more):
    delta = optimal_composition_delta(parts, epsilon)
    assert 0 <= delta <= 1
    slack = 1 + 1e-9
    assert optimal_composition_delta(parts, epsilon + more) <= delta * slack
    longer = (*parts, (0.5, 1))
    assert delta <= optimal_composition_delta(longer, epsilon) * slack
    assert delta <= optimal_composition_delta(scale_parts(parts, 1.1), epsilon) * slack


def test_equal_epsilons_are_merged_and_order_is_irrelevant():
    together = optimal_composition_delta(((0.1, 30),), 0.5)
    assert optimal_composition_delta(((0.1, 10), (0.1, 20)), 0.5) == together
    assert optimal_composition_delta(((0.0, 9), (0.1, 30), (3.0, 0)), 0.5) == together
    forth = optimal_composition_delta(UNEVEN, 1.0)
    assert optimal_composition_delta(UNEVEN[::-1], 1.0) == pytest.approx(forth)
    assert n_outcomes(EVEN) == 101
    assert n_outcomes(UNEVEN) == 51 * 51


def test_the_ends_of_the_range():
    assert optimal_composition_epsilon(UNEVEN, 0.0) == basic_composition_epsilon(UNEVEN)
    total = basic_composition_epsilon(UNEVEN)
    assert optimal_composition_delta(UNEVEN, total) == 0
    assert optimal_composition_delta(UNEVEN, total * 0.999) > 0
    assert optimal_composition_delta((), 0.0) == 0
    assert optimal_composition_epsilon((), 0.0) == 0
    assert optimal_composition_epsilon((), 1e-6) == 0
    assert optimal_composition_epsilon(((1.0, 1),), 0.99) == 0
    assert optimal_composition_delta(((1000.0, 3),), 10.0) == pytest.approx(1.0)
    assert optimal_composition_delta(((1.0, 1),), 0.0) == pytest.approx(math.tanh(0.5))


def test_long_plans_are_composed_exactly():
    epsilon = optimal_composition_epsilon(((0.02, 700), (0.01, 700)), 1e-6)
    zcdp = dp_from_zcdp(zcdp_composition(((0.02, 700), (0.01, 700))), 1e-6)
    assert 0.85 * zcdp < epsilon < zcdp


def test_many_equal_mechanisms_approach_the_normal_limit():
    count, epsilon = 10**6, 1e-3
    mu = math.sqrt(count) * epsilon
    delta = optimal_composition_delta(((epsilon, count),), 1.0)
    normal = _normal_cdf(-1 / mu + mu / 2) - math.e * _normal_cdf(-1 / mu - mu / 2)
    assert delta == pytest.approx(normal, rel=1e-3)


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def test_too_many_outcomes_are_refused():
    parts = ((0.1, 200), (0.2, 200), (0.3, 200))
    with pytest.raises(ValueError, match="too large to compute"):
        optimal_composition_delta(parts, 1.0)
    with pytest.raises(ValueError, match="too large to compute"):
        optimal_composition_epsilon(parts, 1e-6)


def test_three_epsilons_are_composed_exactly_while_they_are_few():
    parts = ((0.1, 60), (0.2, 60), (0.3, 60))
    epsilon = optimal_composition_epsilon(parts, 1e-6)
    assert epsilon < dp_from_zcdp(zcdp_composition(parts), 1e-6)


@pytest.mark.parametrize(
    "parts",
    [((-0.1, 3),), ((math.nan, 3),), ((math.inf, 1),), ((0.1, -1),), ((0.1, 1.5),)],
)
def test_impossible_plans_are_refused(parts):
    for call in (
        lambda: basic_composition_epsilon(parts),
        lambda: zcdp_composition(parts),
        lambda: optimal_composition_delta(parts, 1.0),
        lambda: optimal_composition_epsilon(parts, 1e-6),
    ):
        with pytest.raises(ValueError, match="every (epsilon|count) must be"):
            call()


@pytest.mark.parametrize("bad", [-1e-9, 1.0, math.nan])
def test_impossible_deltas_are_refused(bad):
    with pytest.raises(ValueError, match=r"delta must be in \[0, 1\)"):
        optimal_composition_epsilon(EVEN, bad)


def test_impossible_epsilons_are_refused():
    for bad in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match="epsilon must be finite and at least 0"):
            optimal_composition_delta(EVEN, bad)


def test_numpy_numbers_are_welcome():
    parts = ((np.float64(0.05), np.int64(100)),)
    assert optimal_composition_epsilon(parts, 1e-6) == (
        optimal_composition_epsilon(((0.05, 100),), 1e-6)
    )
