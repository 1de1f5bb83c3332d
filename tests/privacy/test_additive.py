"""Laplace noise on a sub-sample: its scale, its price, its audit."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.stats import beta

import skdp.privacy.additive as module
from skdp.exceptions import BudgetExceededError
from skdp.privacy import Curator, PrivacyLedger, base_epsilon
from skdp.queries import KendallDependence, Marginal
from skdp.records import Categorical, CountTable, Schema

SCHEMA = Schema([Categorical("a", (0, 1))])


def curator_of(codes, seed: int = 0) -> Curator:
    records = CountTable.from_codes(np.array(codes).reshape(-1, 1), SCHEMA)
    return Curator(records, PrivacyLedger(1e9), seed)


def test_the_noise_is_for_the_sample_and_its_epsilon() -> None:
    curator = curator_of([0, 1] * 50)
    answer = curator.laplace(Marginal("a"), epsilon=0.5, sample_size=10)
    (entry,) = curator.ledger.entries
    assert entry.epsilon == 0.5
    assert entry.scale == pytest.approx(2 / base_epsilon(0.5, 0.1))
    assert entry.scale < 2 / 0.5
    assert answer.dtype == np.int64
    quiet = curator.laplace(Marginal("a"), epsilon=1e6, sample_size=10)
    assert quiet.sum() == 10


@pytest.mark.parametrize("size", [0, 101, 2.5])
def test_other_sizes_are_refused(size) -> None:
    curator = curator_of([0, 1] * 50)
    with pytest.raises(ValueError, match="sample_size"):
        curator.laplace(Marginal("a"), epsilon=0.5, sample_size=size)
    assert len(curator.ledger) == len(curator.trace) == 0


def found_epsilon(n_runs: int = 8000) -> float:
    """Bound the loss from below, 99.9 % sure, on three records of which one changes."""
    hits = []
    for codes, seed in (([0, 0, 1], 1), ([0, 0, 0], 2)):
        curator = curator_of(codes, seed)
        answers = [
            curator.laplace(Marginal("a"), epsilon=1.0, sample_size=2)
            for _ in range(n_runs)
        ]
        # Beyond both centres every step of distance costs its full factor.
        hits.append(sum(int(a[1] >= 1 and a[0] <= 1) for a in answers))
    low = beta.ppf(5e-4, hits[0], n_runs - hits[0] + 1)
    high = beta.ppf(1 - 5e-4, hits[1] + 1, n_runs - hits[1])
    return log(low / high)


def test_no_more_is_lost_than_charged() -> None:
    assert 0.6 < found_epsilon() <= 1.0


def test_amplification_twice_over_is_found_out(monkeypatch) -> None:
    once = module.base_epsilon
    monkeypatch.setattr(
        module, "base_epsilon", lambda epsilon, q: once(once(epsilon, q), q)
    )
    assert found_epsilon() > 1.0


def test_a_sample_of_one_gives_nothing_away_for_nothing() -> None:
    # At one record every score is 0 and costs nothing; at all of them it is not.
    schema = Schema([Categorical("a", (0, 1)), Categorical("b", (0, 1))])
    codes = np.repeat([[0, 0], [1, 1]], 50, axis=0)
    records = CountTable.from_codes(codes, schema)
    curator = Curator(records, PrivacyLedger(1e-9))
    query = KendallDependence("a", "b")
    assert curator.laplace(query, epsilon=1e-9, sample_size=1) == 0
    assert len(curator.ledger) == 0
    with pytest.raises(BudgetExceededError, match="no public constant"):
        curator._public_answer(query)
