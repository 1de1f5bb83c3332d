"""A token for each process, and a curator that stays in its own."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np
import pytest

import skdp.privacy.process as module
from skdp.exceptions import BudgetExceededError
from skdp.privacy import Curator, PrivacyLedger, process_token
from skdp.queries import KendallDependence, Marginal
from skdp.records import Categorical, CountTable, Schema

pytestmark = [
    pytest.mark.skipif(
        "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"
    ),
    pytest.mark.filterwarnings("ignore:.*fork.*"),
]


def in_a_fork(task, *arguments):
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(task(*arguments)))
    child.start()
    found = queue.get()
    child.join()
    return found


def test_a_fork_has_a_token_of_its_own() -> None:
    mine = process_token()
    assert mine == process_token()
    assert in_a_fork(process_token) != mine


def test_threads_that_ask_first_together_get_one_token(monkeypatch) -> None:
    monkeypatch.setattr(module, "_tokens", {})
    barrier, seen = threading.Barrier(8), []

    def ask() -> None:
        barrier.wait()
        seen.append(process_token())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len(set(seen)) == 1


def test_a_curator_refuses_in_a_fork() -> None:
    schema = Schema([Categorical("a", (0, 1)), Categorical("b", (0, 1))])
    records = CountTable.from_codes(np.array([[0, 1], [1, 0]]), schema)
    curator = Curator(records, PrivacyLedger(1.0))
    sieve = curator.sparse_vector(rounds=1, epsilon=0.1)
    asked = (
        lambda: curator.laplace(Marginal("a"), epsilon=0.1),
        lambda: curator.laplace(Marginal(()), epsilon=0.1),
        lambda: sieve.ask(KendallDependence("a", "b"), 1.0),
    )

    def attempt() -> list[str]:
        messages = []
        for ask in asked:
            try:
                ask()
            except BudgetExceededError as error:
                messages.append(str(error))
        return messages

    assert ["forked process" in m for m in in_a_fork(attempt)] == [True] * 3
    assert [np.shape(ask()) for ask in asked] == [(2,), (), ()]
