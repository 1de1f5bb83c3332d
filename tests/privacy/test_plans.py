"""Of all proofs the best is taken, and a scaled plan fills its budget exactly."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy.accounting import dp_from_zcdp
from skdp.privacy.composition import (
    basic_composition_epsilon,
    optimal_composition_epsilon,
    zcdp_composition,
)
from skdp.privacy.plans import best_composition_epsilon, scale_parts, scale_parts_to

EVEN = ((0.05, 50), (0.05, 50))

plans = st.lists(
    st.tuples(st.floats(0.001, 3), st.integers(1, 12)), min_size=1, max_size=3
).map(tuple)
deltas = st.floats(-12, -0.5).map(lambda e: 10.0**e)


@given(plans, deltas)
@settings(derandomize=True, max_examples=60, deadline=None)
def test_the_optimal_composition_is_the_best(parts, delta):
    epsilon, composition = best_composition_epsilon(parts, delta)
    optimal = optimal_composition_epsilon(parts, delta)
    zcdp = dp_from_zcdp(zcdp_composition(parts), delta)
    assert epsilon == min(optimal, zcdp, basic_composition_epsilon(parts))
    assert optimal <= min(zcdp, basic_composition_epsilon(parts)) * (1 + 1e-9) + 1e-12
    assert composition in ("basic", "zcdp", "optimal")


def test_the_best_of_known_plans():
    assert best_composition_epsilon(EVEN, 1e-6)[1] == "optimal"
    assert best_composition_epsilon((), 1e-6) == (0.0, "basic")
    long = ((0.1, 200), (0.2, 200), (0.3, 200))  # the optimal sum would be too long
    assert best_composition_epsilon(long, 1e-6)[1] == "zcdp"


@given(plans, st.floats(0.01, 10), st.one_of(st.just(0.0), deltas))
@settings(derandomize=True, max_examples=80, deadline=None)
def test_scaling_uses_the_whole_budget_and_no_more(parts, epsilon, delta):
    factor, composition = scale_parts_to(epsilon, delta, parts)
    scaled = scale_parts(parts, factor)
    costs = {"basic": basic_composition_epsilon(scaled)}
    if delta > 0:
        costs["zcdp"] = dp_from_zcdp(zcdp_composition(scaled), delta)
        costs["optimal"] = optimal_composition_epsilon(scaled, delta)
    assert costs[composition] <= epsilon
    larger = scale_parts(parts, factor * (1 + 1e-9))
    assert best_composition_epsilon(larger, delta)[0] > epsilon
    if delta == 0:
        assert composition == "basic"


def test_scaling_by_every_composition():
    assert scale_parts_to(1.0, 0.0, ((0.5, 4),)) == (0.5, "basic")
    assert scale_parts_to(1.0, 1e-6, EVEN)[1] == "optimal"
    factor, composition = scale_parts_to(1.0, 1e-6, ((0.05, 5000), (0.01, 5000)))
    assert composition == "zcdp"  # the optimal sum would be too long
    scaled = scale_parts(((0.05, 5000), (0.01, 5000)), factor)
    assert best_composition_epsilon(scaled, 1e-6)[0] <= 1.0


@pytest.mark.parametrize(
    "parts",
    [((-0.1, 3),), ((math.nan, 3),), ((math.inf, 1),), ((0.1, -1),), ((0.1, 1.5),)],
)
def test_impossible_plans_are_refused(parts):
    for call in (
        lambda: best_composition_epsilon(parts, 1e-6),
        lambda: scale_parts_to(1.0, 1e-6, parts),
    ):
        with pytest.raises(ValueError, match="every (epsilon|count) must be"):
            call()


@pytest.mark.parametrize("bad", [-1e-9, 1.0, math.nan])
def test_impossible_deltas_are_refused(bad):
    for call in (
        lambda: best_composition_epsilon(EVEN, bad),
        lambda: scale_parts_to(1.0, bad, EVEN),
    ):
        with pytest.raises(ValueError, match=r"delta must be in \[0, 1\)"):
            call()


def test_impossible_budgets_are_refused():
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="epsilon must be finite and positive"):
            scale_parts_to(bad, 1e-6, EVEN)
    with pytest.raises(ValueError, match="positive epsilon"):
        scale_parts_to(1.0, 1e-6, ((0.0, 3),))
