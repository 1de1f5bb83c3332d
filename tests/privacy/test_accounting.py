"""Conversions are right, safe, and invert each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy.accounting import (
    amplified_epsilon,
    base_epsilon,
    dp_from_zcdp,
    largest_argument,
    zcdp_from_dp,
    zcdp_from_pure,
)

EXAMPLES = settings(derandomize=True, max_examples=200, deadline=None)
deltas = st.floats(-30, -0.05).map(lambda e: 10.0**e)
losses = st.floats(-6, 2.5).map(lambda e: 10.0**e)
fractions = st.floats(1e-4, 1.0)


def delta_of(rho: float, epsilon: float) -> float:
    """Search the orders for the smallest delta, in 50 digits."""
    mp = pytest.importorskip("mpmath", reason="mpmath is the referee here")
    mp.mp.dps = 50

    def log_delta(b: float) -> object:
        a = 1 + mp.mpf(b)
        return b * (a * rho - epsilon) + a * mp.log(1 - 1 / a) - mp.log(a - 1)

    low, high = mp.mpf("1e-9"), mp.mpf("1e9")
    golden = (mp.sqrt(5) - 1) / 2
    for _ in range(250):  # golden section on a logarithmic scale
        ratio = (high / low) ** golden
        if log_delta(high / ratio) < log_delta(low * ratio):
            high = low * ratio
        else:
            low = high / ratio
    return mp.exp(log_delta(low))


def test_known_values():
    assert zcdp_from_dp(1.0, 1e-6) == pytest.approx(0.024356, abs=5e-7)
    assert dp_from_zcdp(0.024356, 1e-6) == pytest.approx(1.0, abs=1e-5)
    textbook = 0.01747  # rho + 2 sqrt(rho ln(1 / delta)) = 1
    assert zcdp_from_dp(1.0, 1e-6) > 1.39 * textbook
    assert zcdp_from_pure(1.0) == pytest.approx(math.tanh(0.5))


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 7.0, 300.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.05])
def test_the_order_is_optimal_and_rounding_is_safe(rho, delta):
    epsilon = dp_from_zcdp(rho, delta)
    if epsilon == 0:
        assert delta_of(rho, 0.0) <= delta
        return
    assert delta_of(rho, epsilon) <= delta
    assert delta_of(rho, epsilon * (1 - 1e-10) - 1e-14) > delta


@pytest.mark.parametrize(("rho", "delta"), [(0.02, 1e-6), (0.3, 1e-5), (2.0, 1e-9)])
def test_zcdp_agrees_with_dp_accounting(rho, delta):
    dp_accounting = pytest.importorskip(
        "dp_accounting", reason="dp-accounting is a referee of tests"
    )
    orders = 1 + np.geomspace(0.5, 500, 2000)
    accountant = dp_accounting.rdp.RdpAccountant(
        orders, dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    accountant.compose(dp_accounting.dp_event.ZCDpEvent(rho))
    theirs = accountant.get_epsilon(delta)
    assert theirs * (1 - 1e-4) <= dp_from_zcdp(rho, delta) <= theirs * (1 + 1e-12)


@given(losses, deltas)
@EXAMPLES
def test_zcdp_conversions_invert_each_other(epsilon, delta):
    rho = zcdp_from_dp(epsilon, delta)
    assert rho > 0
    assert dp_from_zcdp(rho, delta) <= epsilon
    assert dp_from_zcdp(rho * (1 + 1e-9), delta) > epsilon * (1 - 1e-12)


@given(losses, losses, deltas, deltas)
@EXAMPLES
def test_zcdp_conversion_is_monotone(rho, more, delta, other):
    epsilon = dp_from_zcdp(rho, delta)
    assert epsilon <= dp_from_zcdp(rho + more, delta) * (1 + 1e-12) + 1e-13
    low, high = min(delta, other), max(delta, other)
    assert dp_from_zcdp(rho, high) <= dp_from_zcdp(rho, low) * (1 + 1e-12) + 1e-13


@given(losses, st.floats(-12, -0.7).map(lambda e: 10.0**e))
@EXAMPLES
def test_zcdp_conversion_beats_the_textbook(rho, delta):
    textbook = rho + 2 * math.sqrt(rho * -math.log(delta))
    assert 0 <= dp_from_zcdp(rho, delta) <= textbook


def test_nothing_costs_nothing():
    assert dp_from_zcdp(0.0, 1e-6) == 0
    assert zcdp_from_pure(0.0) == 0
    assert amplified_epsilon(0.0, 0.3) == 0
    assert base_epsilon(0.0, 0.3) == 0


def test_extremes_are_finite_and_safe():
    assert zcdp_from_dp(0.0, 1e-300) == 0
    assert 0 < zcdp_from_dp(0.0, 0.5)
    for rho in (1e-320, 1e-12, 1e6):
        for delta in (5e-324, 1e-300, 1e-9, 1 - 1e-16):
            assert 0 <= dp_from_zcdp(rho, delta) < math.inf
    assert zcdp_from_dp(1e6, 1e-9) == pytest.approx(1e6, rel=0.02)


@given(st.floats(1e-4, 30))
@EXAMPLES
def test_the_pure_loss_bounds_randomised_response_at_every_order(epsilon):
    rho = zcdp_from_pure(epsilon)
    assert rho <= epsilon**2 / 2 and rho <= epsilon
    p = 1 / (1 + math.exp(-epsilon))
    for order in (1.001, 1.1, 1.5, 2, 4, 10, 100, 1000):
        log_terms = (
            order * math.log(p) + (1 - order) * (math.log(p) - epsilon),
            order * (math.log(p) - epsilon) + (1 - order) * math.log(p),
        )
        divergence = np.logaddexp(*log_terms) / (order - 1)
        assert divergence <= order * rho + 1e-11
    kullback_leibler = p * epsilon - (1 - p) * epsilon
    assert kullback_leibler == pytest.approx(rho, rel=1e-9)  # attained at order 1


@given(st.floats(1e-6, 50), fractions)
@EXAMPLES
def test_amplification_inverts(epsilon, fraction):
    amplified = amplified_epsilon(epsilon, fraction)
    assert 0 < amplified <= epsilon * (1 + 1e-12)
    assert base_epsilon(amplified, fraction) == pytest.approx(epsilon, rel=1e-9)
    assert amplified_epsilon(base_epsilon(epsilon, fraction), fraction) == (
        pytest.approx(epsilon, rel=1e-9)
    )


@pytest.mark.parametrize("fraction", [0.01, 0.5, 0.999])
def test_amplification_is_attained_by_randomised_response(fraction):
    # Does the sub-sample hold the one marked record? Answered by randomised response.
    epsilon = 1.3
    p = 1 / (1 + math.exp(-epsilon))
    with_record = fraction * p + (1 - fraction) * (1 - p)
    ratio = with_record / (1 - p)
    assert amplified_epsilon(epsilon, fraction) == pytest.approx(math.log(ratio))


def test_amplification_is_accurate_when_tiny_and_finite_when_huge():
    assert amplified_epsilon(1e-12, 1e-3) == pytest.approx(1e-15, rel=1e-9)
    assert base_epsilon(1e-15, 1e-3) == pytest.approx(1e-12, rel=1e-9)
    assert amplified_epsilon(1e4, 0.5) == pytest.approx(1e4 - math.log(2))
    assert base_epsilon(1e4, 0.5) == pytest.approx(1e4 + math.log(2))
    assert amplified_epsilon(699.99, 0.1) < amplified_epsilon(700.01, 0.1)
    assert base_epsilon(29.99, 0.1) < base_epsilon(30.01, 0.1)
    assert amplified_epsilon(0.7, 1) == base_epsilon(0.7, 1) == 0.7


@pytest.mark.parametrize("limit", [1e-30, 0.3, 1.0, 3.0, 1e40])
def test_the_largest_argument_is_found(limit):
    found = largest_argument(lambda x: x <= limit)
    assert limit * (1 - 2**-50) <= found <= limit


def test_no_argument_at_all():
    assert largest_argument(lambda x: x <= 0) == 0


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_impossible_losses_are_refused(bad):
    for call in (
        lambda: dp_from_zcdp(bad, 1e-6),
        lambda: zcdp_from_dp(bad, 1e-6),
        lambda: zcdp_from_pure(bad),
        lambda: amplified_epsilon(bad, 0.5),
        lambda: base_epsilon(bad, 0.5),
    ):
        with pytest.raises(ValueError, match="must be finite and at least 0"):
            call()


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, math.nan])
def test_impossible_deltas_are_refused(bad):
    for convert in (dp_from_zcdp, zcdp_from_dp):
        with pytest.raises(ValueError, match=r"delta must be in \(0, 1\)"):
            convert(1.0, bad)


@pytest.mark.parametrize("bad", [0.0, 1.1, -0.1, math.nan])
def test_impossible_fractions_are_refused(bad):
    for convert in (amplified_epsilon, base_epsilon):
        with pytest.raises(ValueError, match=r"fraction must be in \(0, 1\]"):
            convert(1.0, bad)
