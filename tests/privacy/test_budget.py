"""One budget over many fits, in all threads and in no other process."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import threading
import warnings
from math import inf

import pytest

from skdp import BudgetAccountant
from skdp.exceptions import BudgetExceededError, PrivacyLeakWarning
from skdp.privacy import (
    LedgerEntry,
    PrivacyLedger,
    dp_from_zcdp,
    note_seed,
    zcdp_from_pure,
)


def entry(epsilon: float) -> LedgerEntry:
    rho, parts = zcdp_from_pure(epsilon), ((epsilon, 1),)
    return LedgerEntry("laplace", "q", 1.0, "L1", 1.0, epsilon, rho, parts)


def gaussian(rho: float) -> LedgerEntry:
    return LedgerEntry("gaussian", "q", 1.0, "L2", 1.0, inf, rho)


def test_a_ledger_pays_its_whole_budget_once_with_its_first_purchase() -> None:
    with BudgetAccountant(1.0, 1e-5) as accountant:
        ledger = PrivacyLedger(0.6, 1e-6)
        assert accountant.spent == (0.0, 0.0)
        ledger.spend(entry(0.1))
        ledger.spend(entry(0.2))
        assert accountant.spent == (0.6, 1e-6)
        with pytest.raises(BudgetExceededError, match="No record was touched"):
            PrivacyLedger(0.5).spend(entry(0.1))
        PrivacyLedger(0.4).spend(entry(0.1))
    assert accountant.spent == (1.0, 1e-6)
    PrivacyLedger(5.0).spend(entry(5.0))  # nobody counts outside
    assert accountant.spent == (1.0, 1e-6)


def test_deltas_are_capped_too() -> None:
    with BudgetAccountant(10.0, 1e-6), pytest.raises(BudgetExceededError):
        PrivacyLedger(1.0, 2e-6).spend(entry(0.1))


def test_a_refused_purchase_charges_nobody() -> None:
    with BudgetAccountant(10.0) as outer, BudgetAccountant(0.5) as inner:
        ledger = PrivacyLedger(1.0)
        with pytest.raises(BudgetExceededError):
            ledger.spend(entry(1.0))
        assert len(ledger) == 0
    assert outer.spent == inner.spent == (0.0, 0.0)


def test_nested_accountants_are_all_charged() -> None:
    with BudgetAccountant(1.0) as outer:
        with BudgetAccountant(0.5) as inner:
            PrivacyLedger(0.5).spend(entry(0.5))
        PrivacyLedger(0.25).spend(entry(0.25))
    assert (outer.spent[0], inner.spent[0]) == (0.75, 0.5)


def test_a_ledger_from_outside_pays_when_it_spends_inside() -> None:
    ledger = PrivacyLedger(1.0)
    ledger.spend(entry(0.5))
    with BudgetAccountant(0.9), pytest.raises(BudgetExceededError):
        ledger.spend(entry(0.1))
    with BudgetAccountant(1.0) as accountant:
        ledger.spend(entry(0.1))
    assert accountant.spent == (1.0, 0.0)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copied_ledger_can_be_read_but_not_spent_from(copied) -> None:
    ledger = PrivacyLedger(1.0)
    ledger.spend(entry(0.5))
    other = copied(ledger)
    assert other.total() == 0.5
    with pytest.raises(BudgetExceededError, match="second budget"):
        other.spend(entry(0.1))
    ledger.spend(entry(0.5))


def test_short_lived_ledgers_cannot_hide_behind_one_another() -> None:
    with BudgetAccountant(3.0) as accountant:
        for _ in range(3):
            PrivacyLedger(1.0).spend(entry(1.0))
        with pytest.raises(BudgetExceededError):
            PrivacyLedger(1.0).spend(entry(1.0))
    assert accountant.spent == (3.0, 0.0)


def test_zcdp_composition_adds_losses() -> None:
    with BudgetAccountant(1.0, 1e-6, composition="zcdp") as accountant:
        for _ in range(4):
            PrivacyLedger(1.0, 1e-6).spend(gaussian(0.006))
        with pytest.raises(BudgetExceededError):
            PrivacyLedger(1.0, 1e-6).spend(gaussian(0.006))
    assert accountant.spent == (dp_from_zcdp(4 * 0.006, 1e-6), 1e-6)
    with pytest.raises(ValueError, match="delta > 0"):
        BudgetAccountant(1.0, composition="zcdp")


def test_threads_cannot_exceed_it() -> None:
    granted = []

    def spend() -> None:
        for _ in range(20):
            try:
                PrivacyLedger(0.1).spend(entry(0.1))
                granted.append(0.1)
            except BudgetExceededError:
                pass

    with BudgetAccountant(5.0) as accountant:
        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(granted) == 50
    assert accountant.spent == (5.0, 0.0)


def _spend_in_child(queue) -> None:
    try:
        PrivacyLedger(0.1).spend(entry(0.1))
    except BudgetExceededError as error:
        queue.put(str(error))
    else:
        queue.put("spent")


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"
)
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_forked_process_cannot_spend() -> None:
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with BudgetAccountant(5.0) as accountant:
        child = context.Process(target=_spend_in_child, args=(queue,))
        child.start()
        message = queue.get()
        child.join()
    assert "forked" in message
    assert accountant.spent == (0.0, 0.0)


def test_cannot_be_copied_nor_entered_twice() -> None:
    accountant = BudgetAccountant(1.0)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="second budget"):
            attempt(accountant)
    with accountant, pytest.raises(RuntimeError, match="active already"):
        accountant.__enter__()
    with accountant:  # but once more, afterwards, with what is left
        PrivacyLedger(1.0).spend(entry(1.0))
    with accountant, pytest.raises(BudgetExceededError):
        PrivacyLedger(0.1).spend(entry(0.1))


def test_errors_inside_leave_the_stack_clean() -> None:
    with pytest.raises(KeyError), BudgetAccountant(1.0):
        raise KeyError
    PrivacyLedger(9.0).spend(entry(9.0))


def test_a_repeated_seed_is_seen() -> None:
    with BudgetAccountant(1.0), warnings.catch_warnings():
        warnings.simplefilter("error")
        note_seed(7)
        note_seed(8)
        with pytest.warns(PrivacyLeakWarning, match="random_state=7"):
            note_seed(7)
    note_seed(7)  # nobody looks outside


def test_zcdp_composition_refuses_mechanisms_that_can_fail() -> None:
    rho, parts = zcdp_from_pure(0.1), ((0.1, 1),)
    median = LedgerEntry("median", "q", 1, "", 1, 0.1, rho, parts, delta=4e-7)
    with BudgetAccountant(1.0, 1e-6, composition="zcdp") as accountant:
        with pytest.raises(BudgetExceededError):
            PrivacyLedger(1.0, 1e-6, failure=5e-7).spend(median)
    assert accountant.spent == (0.0, 0.0)
    with BudgetAccountant(1.0, 1e-6) as accountant:
        PrivacyLedger(1.0, 1e-6, failure=5e-7).spend(median)
    assert accountant.spent == (1.0, 1e-6)


def _enter_in_child(accountant, queue) -> None:
    try:
        with accountant:
            PrivacyLedger(0.1).spend(entry(0.1))
    except BudgetExceededError as error:
        queue.put(str(error))
    else:
        queue.put("spent")


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"
)
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_fork_cannot_enter_an_accountant_of_its_parent() -> None:
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    accountant = BudgetAccountant(5.0)
    child = context.Process(target=_enter_in_child, args=(accountant, queue))
    child.start()
    assert "forked" in queue.get()
    child.join()
