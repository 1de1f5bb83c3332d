"""The ledger adds up, refuses, and agrees with dp-accounting."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from math import exp, inf, nan

import numpy as np
import pytest
from dp_accounting import pld, rdp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from skdp.exceptions import BudgetExceededError
from skdp.privacy import (
    LedgerEntry,
    PrivacyLedger,
    dp_from_zcdp,
    zcdp_from_dp,
    zcdp_from_pure,
)


def pure(*parts: tuple[float, int]) -> LedgerEntry:
    epsilon = sum(e * k for e, k in parts)
    rho = sum(k * zcdp_from_pure(e) for e, k in parts)
    return LedgerEntry("laplace", "q", 1.0, "L1", 1.0, epsilon, rho, tuple(parts))


def gaussian(rho: float) -> LedgerEntry:
    return LedgerEntry("gaussian", "q", 1.0, "L2", 1.0, inf, rho)


def failing(epsilon: float, delta: float) -> LedgerEntry:
    """A mechanism of (epsilon, delta)."""
    rho, parts = zcdp_from_pure(epsilon), ((epsilon, 1),)
    return LedgerEntry("median", "q", 1.0, "", nan, epsilon, rho, parts, delta=delta)


def filled(epsilon: float, delta: float, *entries: LedgerEntry) -> PrivacyLedger:
    ledger = PrivacyLedger(epsilon, delta)
    for entry in entries:
        ledger.spend(entry)
    return ledger


def pld_epsilon(ledger: PrivacyLedger, delta: float) -> float:
    event, relation = ledger.to_dp_event()
    accountant = pld.PLDAccountant(relation, value_discretization_interval=1e-4)
    return accountant.compose(event).get_epsilon(delta)


def rdp_epsilon(ledger: PrivacyLedger, delta: float) -> float:
    event, relation = ledger.to_dp_event()
    orders = [1 + 10 ** (i / 50) for i in range(-100, 200)]
    return rdp.RdpAccountant(orders, relation).compose(event).get_epsilon(delta)


def test_a_reserved_run_equals_the_optimal_composition_of_dp_accounting() -> None:
    ledger = filled(5.0, 1e-6, pure((0.05, 50), (0.05, 50)))
    assert ledger.total() == pytest.approx(2.21, abs=5e-3)
    assert ledger.total() == pytest.approx(pld_epsilon(ledger, 1e-6), abs=0.02)
    uneven = filled(5.0, 1e-6, pure((0.08, 50), (0.02, 50)))
    assert uneven.total() == pytest.approx(2.580, abs=1e-3)
    assert uneven.total() == pytest.approx(pld_epsilon(uneven, 1e-6), abs=0.02)


def test_draws_that_zcdp_accounts_for_are_stated_as_such() -> None:
    # A draw of the exponential mechanism costs a quarter of its worst case.
    draws = [replace(pure((0.1, 30)), rho=30 * 0.1**2 / 8) for _ in range(4)]
    rho = sum(entry.rho for entry in draws)
    declared = dp_from_zcdp(rho, 1e-6)
    ledger = filled(declared * (1 + 1e-9), 1e-6, *draws)
    assert ledger.total() == pytest.approx(declared)
    assert rdp_epsilon(ledger, 1e-6) == pytest.approx(declared, rel=0.01)


def test_pure_purchases_equal_dp_accounting_at_delta_zero() -> None:
    ledger = filled(3.0, 0.0, pure((0.5, 1)), pure((0.25, 3)), pure((1.0, 1)))
    assert ledger.total() == 2.25
    assert ledger.total() == pytest.approx(pld_epsilon(ledger, 0.0), rel=1e-3)


def test_gaussian_purchases_equal_dp_accounting() -> None:
    ledger = filled(5.0, 1e-6, gaussian(0.02), gaussian(0.1), gaussian(0.05))
    assert ledger.total() == pytest.approx(rdp_epsilon(ledger, 1e-6), rel=2e-3)
    mixed = filled(5.0, 1e-6, gaussian(0.02), pure((0.3, 1)))
    assert mixed.total() == pytest.approx(rdp_epsilon(mixed, 1e-6), rel=2e-3)
    assert mixed.total(0.0) == inf


def test_refuses_and_stays_as_it_was() -> None:
    ledger = filled(1.0, 0.0, pure((0.7, 1)))
    with pytest.raises(BudgetExceededError, match="No record was touched"):
        ledger.spend(pure((0.4, 1)))
    with pytest.raises(BudgetExceededError):
        ledger.spend(gaussian(1e-9))
    assert ledger.total() == 0.7
    ledger.spend(pure((0.3, 1)))
    assert ledger.total() == 1.0


def test_decimals_add_up_as_written() -> None:
    ledger = filled(0.3, 0.0, *[pure((0.1, 1))] * 3)
    assert ledger.total() == 0.3
    with pytest.raises(BudgetExceededError):
        ledger.spend(pure((1e-15, 1)))


def test_shares_of_a_zcdp_budget_add_up() -> None:
    rho = zcdp_from_dp(1.0, 1e-6)
    ledger = filled(1.0, 1e-6, *[gaussian(share * rho) for share in (0.45, 0.45, 0.1)])
    with pytest.raises(BudgetExceededError):
        ledger.spend(gaussian(1e-6))


@given(
    st.lists(st.floats(1e-3, 0.5), min_size=1, max_size=40),
    st.sampled_from([0.0, 1e-9, 1e-5]),
)
def test_never_exceeds_its_budget(losses, delta) -> None:
    ledger = PrivacyLedger(1.0, delta)
    for loss in losses:
        before = ledger.entries
        try:
            ledger.spend(pure((loss, 1)))
        except BudgetExceededError:
            assert ledger.entries == before
    assert ledger.total() <= 1.0
    spent = [entry.epsilon for entry in ledger]
    rho = sum(entry.rho for entry in ledger)
    best = min(sum(spent), dp_from_zcdp(rho, delta) if delta and rho else sum(spent))
    if len(spent) != 1:
        assert ledger.total() == pytest.approx(best)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0, 0), (-1, 0), (inf, 0), (nan, 0), (1, 1), (1, -0.1), (1, nan)],
)
def test_refuses_a_budget_that_is_none(epsilon, delta) -> None:
    with pytest.raises(ValueError, match="epsilon|delta"):
        PrivacyLedger(epsilon, delta)


def test_exports() -> None:
    ledger = filled(5.0, 1e-6, pure((0.5, 2)), gaussian(0.01))
    frame = ledger.to_frame()
    assert list(frame["mechanism"]) == ["laplace", "gaussian"]
    assert {"query", "sensitivity", "scale", "epsilon", "rho"} <= set(frame)
    loaded = json.loads(ledger.to_json())
    assert loaded["total_epsilon"] == ledger.total()
    assert [entry["epsilon"] for entry in loaded["entries"]] == [1.0, "inf"]
    again = pickle.loads(pickle.dumps(ledger))
    assert again.entries == ledger.entries
    assert len(again.to_frame().columns) == len(PrivacyLedger(1.0).to_frame().columns)


def with_failure(*entries: LedgerEntry) -> PrivacyLedger:
    ledger = PrivacyLedger(1.0, 4e-6, failure=3e-6)
    for entry in entries:
        ledger.spend(entry)
    return ledger


def test_deltas_of_mechanisms_are_set_aside_beforehand() -> None:
    ledger = with_failure(failing(0.2, 1e-6), failing(0.2, 1e-6))
    assert ledger.total() == ledger.total(2e-6) == 0.4
    assert ledger.total(1e-6) == ledger.total(0.0) == inf
    ledger.spend(failing(0.2, 1e-6))
    with pytest.raises(BudgetExceededError, match="failure"):
        ledger.spend(failing(0.2, 1e-12))
    ledger.spend(pure((0.4, 1)))
    assert ledger.total() == 1.0
    with pytest.raises(BudgetExceededError, match="failure"):
        PrivacyLedger(1.0, 1e-3).spend(failing(0.1, 1e-9))
    for wrong in (-1e-9, 2e-3, nan):
        with pytest.raises(ValueError, match="failure"):
            PrivacyLedger(1.0, 1e-3, failure=wrong)


def test_what_is_set_aside_is_not_spent_on_conversion() -> None:
    # Which rule a path falls under may depend on earlier answers: were the delta split
    # as the path goes, an adversary would spend more than there is.
    rho = zcdp_from_dp(1.0, 1e-6)
    ledger = with_failure(gaussian(0.999 * rho))
    with pytest.raises(BudgetExceededError):
        ledger.spend(gaussian(0.01 * rho))
    ledger.spend(failing(1e-6, 3e-6))
    assert ledger.total() <= 1.0


def test_an_adaptive_adversary_stays_within_delta() -> None:
    """Buy coin flips until the loss is high, then zCDP to the end; else a failure."""
    epsilon, delta, flip = 1.0, 1e-6, 0.01
    n_flips, split = 0, 0.5
    ledger = PrivacyLedger(epsilon, delta, failure=split * delta)
    while True:
        try:
            ledger.spend(pure((flip, 1)))
        except BudgetExceededError:
            break
        n_flips += 1
    p = exp(flip) / (1 + exp(flip))
    k = n_flips // 2
    first, second = np.arange(k + 1), np.arange(n_flips - k + 1)
    lost = (2 * first[:, None] - k + 2 * second - (n_flips - k)) * flip
    mass = binom.pmf(first, k, p)[:, None] * binom.pmf(second, n_flips - k, p)
    excess = (mass * np.maximum(0, 1 - np.exp(epsilon - lost))).sum(axis=1)
    # For each loss after k flips the adversary takes the better of the two ways on.
    failing_pays = binom.pmf(first, k, p) * split * delta
    assert np.maximum(excess, failing_pays).sum() <= delta


def test_a_budget_cannot_be_raised_or_copied_with_its_receipts() -> None:
    ledger = PrivacyLedger(1.0)
    with pytest.raises(AttributeError):
        ledger.epsilon = 50.0
    with pytest.raises(TypeError):
        replace(ledger, epsilon=100.0)


def test_the_parts_of_a_purchase_make_its_whole() -> None:
    with pytest.raises(ValueError, match="add up"):
        replace(pure((0.5, 1)), epsilon=1000.0)


@pytest.mark.parametrize("loss", [-1.0, nan])
@pytest.mark.parametrize("field", ["epsilon", "rho", "delta"])
def test_no_purchase_gives_budget_back(loss, field) -> None:
    with pytest.raises(ValueError, match=field):
        replace(pure((0.5, 1)), **{field: loss})


def test_a_purchase_cannot_be_sure_to_fail() -> None:
    with pytest.raises(ValueError, match="delta"):
        failing(0.5, 1.0)
