"""The ledger adds up, refuses, and agrees with dp-accounting."""

from __future__ import annotations

import json
import pickle
from math import inf, nan

import pytest
from dp_accounting import pld, rdp
from hypothesis import given
from hypothesis import strategies as st

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


def test_deltas_of_mechanisms_add_up_and_leave_the_rest() -> None:
    ledger = filled(1.0, 3e-6, failing(0.2, 1e-6), failing(0.2, 1e-6))
    assert ledger.total() == 0.4
    assert ledger.total(2e-6) == 0.4
    assert ledger.total(1e-6) == ledger.total(0.0) == inf
    ledger.spend(failing(0.2, 1e-6))
    with pytest.raises(BudgetExceededError):
        ledger.spend(failing(0.2, 1e-12))
    with pytest.raises(BudgetExceededError):
        ledger.spend(gaussian(1e-4))
    ledger.spend(pure((0.4, 1)))
    assert ledger.total() == 1.0


def test_the_rest_of_delta_converts_zcdp() -> None:
    ledger = filled(5.0, 3e-6, failing(0.2, 1e-6), gaussian(0.1))
    assert ledger.total() == dp_from_zcdp(0.1 + zcdp_from_pure(0.2), 2e-6)
    run = LedgerEntry("run", "q", 1.0, "", nan, 5.0, 9.0, ((0.05, 100),), delta=1e-6)
    assert filled(5.0, 2e-6, run).total() == pytest.approx(2.21, abs=5e-3)
