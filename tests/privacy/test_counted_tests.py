"""Tests paid for one by one: the cap, the price, the noise."""

from __future__ import annotations

import pickle
from fractions import Fraction
from math import inf, nan, sqrt

import numpy as np
import pytest

from skdp.exceptions import BudgetExceededError
from skdp.privacy import (
    Curator,
    PrivacyLedger,
    dp_from_zcdp,
    noise_multiplier,
    zcdp_from_dp,
)
from skdp.privacy.renyi import sampled_gaussian_epsilon
from skdp.queries import DependenceEvidence, KendallDependence, Marginal
from skdp.stats.smooth_sensitivity import largest_smoothness

AB, CD = KendallDependence("a", "b"), KendallDependence("c", "d")


def opened(records, kind="gaussian", n_tests=3, **options):
    failure = 1e-6 if kind == "median" or "sample_size" in options else 0.0
    curator = Curator(records, PrivacyLedger(3.0, 2e-6, failure=failure), 0)
    if kind == "median":
        price = {"epsilon": 0.9, "delta": 3e-7, "n_blocks": 5}
        return curator, curator.median_tests(n_tests=n_tests, **price, **options)
    price = {"epsilon": 3.0, "delta": 1e-6}
    return curator, curator.gaussian_tests(n_tests=n_tests, **price, **options)


@pytest.mark.parametrize("kind", ["gaussian", "median"])
def test_data_access_ends_at_the_cap(records, kind):
    curator, mechanism = opened(records, kind)
    query = AB if kind == "gaussian" else DependenceEvidence("a", "b")
    assert mechanism.rounds == mechanism.rounds_left == 3
    for left in (2, 1, 0):
        mechanism.ask(query, 0.5)
        assert mechanism.rounds_left == left
    looks = len(curator.trace)
    with pytest.raises(BudgetExceededError, match="data access has ended"):
        mechanism.ask(query, 0.5)
    assert len(curator.trace) == looks
    assert {access.entry for access in curator.trace} == {0}
    assert len(curator.ledger) == 1
    assert curator.ledger.total() <= 3.0


@pytest.mark.parametrize("kind", ["gaussian", "median"])
def test_what_cannot_be_asked_costs_nothing(records, kind):
    curator, mechanism = opened(records, kind)
    with pytest.raises(ValueError, match="scalar"):
        mechanism.ask(Marginal("a"), 0.5)
    with pytest.raises(ValueError, match="finite threshold"):
        mechanism.ask(AB, inf)
    with pytest.raises(ValueError, match="finite threshold"):
        mechanism.ask(AB, 0.0, tweak=nan)
    assert mechanism.rounds_left == 3
    assert not curator.trace
    with pytest.raises(TypeError, match="nobody paid"):
        pickle.dumps(mechanism)


def test_an_interruption_costs_the_test(records, monkeypatch):
    _, mechanism = opened(records)

    def fails(self, *args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Curator, "_evaluate", fails)
    with pytest.raises(KeyboardInterrupt):
        mechanism.ask(AB, 0.5)
    assert mechanism.rounds_left == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_tests": 0}, "n_tests"),
        ({"delta": 0.0}, "delta > 0"),
        ({"epsilon": -1.0}, "epsilon"),
    ],
)
def test_bad_prices_are_refused(poisoned, options, words):
    curator = Curator(poisoned, PrivacyLedger(9.0, 1e-3, failure=5e-4))
    price = {"n_tests": 2, "epsilon": 1.0, "delta": 1e-6, **options}
    with pytest.raises(ValueError, match=words):
        curator.gaussian_tests(**price)
    with pytest.raises(ValueError, match=words):
        curator.median_tests(n_blocks=3, **price)
    with pytest.raises(ValueError, match="odd"):
        curator.median_tests(n_tests=2, epsilon=1.0, delta=1e-6, n_blocks=4)
    assert len(curator.ledger) == 0


# --- Gaussian tests -------------------------------------------------------------------


def test_the_noise_is_calibrated_to_the_cap(records):
    curator, mechanism = opened(records, n_tests=40)
    (entry,) = curator.ledger
    assert entry.epsilon == inf
    assert dp_from_zcdp(entry.rho, 1e-6) == pytest.approx(3.0, rel=1e-9)
    assert dp_from_zcdp(entry.rho, 1e-6) <= 3.0
    assert entry.scale == pytest.approx(sqrt(40 / (2 * zcdp_from_dp(3.0, 1e-6))))
    deviation = Fraction(entry.scale) * (2**20 + 1)
    assert mechanism._variance == deviation**2


def test_the_noise_is_that_of_the_law(records):
    curator, mechanism = opened(records, n_tests=2000)
    public = curator.public
    z, unit = float(AB.evaluate(records)), AB.sensitivity(public)
    sigma = curator.ledger.entries[0].scale * unit
    yes = np.mean([mechanism.ask(AB, z + 0.5 * sigma) for _ in range(2000)])
    assert yes == pytest.approx(0.6915, abs=0.035)


def test_a_sample_is_paid_for_in_epsilon_and_delta(records):
    curator, _ = opened(records, n_tests=4, sample_size=4)
    (entry,) = curator.ledger
    assert (entry.epsilon, entry.delta) == (3.0, 1e-6)
    assert entry.scale < noise_multiplier(4, 3.0, 1e-6, (20, 20))
    assert sampled_gaussian_epsilon(entry.scale, 4, (4, 20), 1e-6) <= 3.0


def test_a_sample_never_needs_more_noise():
    whole = noise_multiplier(56, 1.0, 1e-6, (100, 100))
    sampled = [noise_multiplier(56, 1.0, 1e-6, (size, 100)) for size in (5, 20, 90)]
    assert sampled == sorted(sampled)
    assert sampled[-1] <= whole


def test_samples_are_drawn_anew(records, monkeypatch):
    curator, mechanism = opened(records, sample_size=7)
    seen = []
    evaluate = Curator._evaluate

    def noted(self, query, entry, step, sample):
        seen.append(sample)
        return evaluate(self, query, entry, step, sample)

    monkeypatch.setattr(Curator, "_evaluate", noted)
    mechanism.ask(AB, 0.5)
    mechanism.ask(AB, 0.5)
    assert [sample.n_records for sample in seen] == [7, 7]
    assert not np.array_equal(seen[0].counts, seen[1].counts)


@pytest.mark.parametrize("sigma", [0.7, 3.0, 20.0])
def test_integer_moments_of_shifted_discrete_gaussians_are_the_continuous_ones(sigma):
    """What theorem 27 needs of the Gaussian mechanism, see `skdp.privacy.renyi`."""
    k = np.arange(-int(60 * sigma) - 60, int(60 * sigma) + 60)
    for shift in (1, 3):
        for order in (2, 3, 8):
            log_p, log_q = (-((k - s) ** 2) / (2 * sigma**2) for s in (shift, 0))
            log_q_sum = np.logaddexp.reduce(log_q)
            log_p -= np.logaddexp.reduce(log_p)
            log_q -= log_q_sum
            moment = np.logaddexp.reduce(order * log_p + (1 - order) * log_q)
            expected = order * (order - 1) * shift**2 / (2 * sigma**2)
            assert moment == pytest.approx(expected, rel=1e-9)


# --- medians --------------------------------------------------------------------------


def test_medians_are_paid_for_with_their_delta(records):
    curator, mechanism = opened(records, "median")
    # Half the delta of each for the excess mass of discrete noise.
    assert mechanism._beta == largest_smoothness(0.9, 1.5e-7)
    (entry,) = curator.ledger
    assert entry.parts == ((0.9, 3),)
    assert entry.delta == pytest.approx(9e-7)
    assert entry.epsilon == pytest.approx(2.7)


def test_all_medians_are_over_the_same_blocks(records, monkeypatch):
    curator, mechanism = opened(records, "median")
    blocks = []
    evaluate = Curator._evaluate

    def noted(self, query, entry, step, block):
        blocks.append(block)
        return evaluate(self, query, entry, step, block)

    monkeypatch.setattr(Curator, "_evaluate", noted)
    for x, y in ("ab", "cd"):
        mechanism.ask(DependenceEvidence(x, y), 0.5)
    assert len(blocks) == 10
    assert blocks[:5] == blocks[5:]
    assert sum(block.n_records for block in blocks[:5]) == 20
