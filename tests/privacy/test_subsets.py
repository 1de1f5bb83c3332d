"""The choice of a whole set: its law against the enumeration of all 2^m sets."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import exp, inf

import numpy as np
import pytest
from scipy import stats

import skdp.privacy.subsets as subsets
from skdp.privacy import Curator, PrivacyLedger
from skdp.privacy.subsets import draw_subset, draw_subset_of_size, size_utilities
from skdp.queries import IndependenceMargins, KendallDependence, Question

MARGINS = [
    [5, -3, 2, 0, -7],
    [1],
    [0],
    [0, 0, 0],
    [3, 3, -3, 3],
    [-4, 1, 2, 2, 9, -9, 0, 1],
    [-1, -1, -1, -1, -1, -1],
    [8, 6, 7, 5, 3, 10, 9],
]


def utility(chosen, margins):
    """The definition."""
    inside = [h for h, b in zip(margins, chosen, strict=True) if b]
    outside = [-h for h, b in zip(margins, chosen, strict=True) if not b]
    return min(min(inside, default=inf), min(outside, default=inf))


def enumerated(margins, rate, size=None):
    """Return every set with its probability."""
    sets = list(product((False, True), repeat=len(margins)))
    sets = [s for s in sets if size is None or sum(s) == size]
    weights = np.array([exp(rate * utility(s, margins)) for s in sets])
    return dict(zip(sets, weights / weights.sum(), strict=True))


class Spy:
    """Notes the law of the group that is drawn, then draws a given group."""

    def __init__(self, monkeypatch):
        self.group = 0
        monkeypatch.setattr(subsets, "draw_group", self)

    def __call__(self, sizes, gaps, rate, rng):
        weights = np.array(
            [n * exp(-rate * g) for n, g in zip(sizes, gaps, strict=True)]
        )
        self.law = weights / weights.sum()
        return self.group


def group_of(chosen, margins):
    """Return the place of the largest wrong element by magnitude, 0 for none."""
    order = np.argsort(np.abs(margins), kind="stable")
    wrong = (np.array(chosen) ^ (np.array(margins) > 0))[order]
    return int(np.flatnonzero(wrong)[-1]) + 1 if wrong.any() else 0


@pytest.mark.parametrize("margins", MARGINS, ids=str)
@pytest.mark.parametrize("of_size", [False, True])
def test_the_law_is_that_of_the_enumeration(margins, of_size, monkeypatch):
    spy, h, rng = Spy(monkeypatch), np.array(margins), np.random.default_rng(0)
    for size in range(len(h) + 1) if of_size else [None]:
        law = np.zeros(len(h) + 1)
        for chosen, probability in enumerated(margins, 0.25, size).items():
            law[group_of(chosen, margins)] += probability
        for spy.group in np.flatnonzero(law):
            if size is None:
                chosen = draw_subset(h, 1.0, 2, rng)
            else:
                chosen = draw_subset_of_size(h, size, 1.0, 2, rng)
                assert chosen.sum() == size
            assert spy.law == pytest.approx(law, rel=1e-12)
            assert group_of(chosen, margins) == spy.group


@pytest.mark.parametrize("margins", MARGINS, ids=str)
def test_sets_are_drawn_as_often_as_they_should(margins):
    h, rng = np.array(margins), np.random.default_rng(1)
    expected = enumerated(margins, 0.25)
    drawn = Counter(tuple(draw_subset(h, 1.0, 2, rng).tolist()) for _ in range(2000))
    counts = [drawn[s] for s in expected]
    p = np.array(list(expected.values()))
    if len(p) > 100:  # merge what is too rare to count
        order = np.argsort(p)
        cells = np.array_split(order, 20)
        counts = [sum(counts[i] for i in cell) for cell in cells]
        p = np.array([p[cell].sum() for cell in cells])
    assert stats.chisquare(counts, 2000 * p).pvalue > 1e-3


@pytest.mark.parametrize("margins", MARGINS, ids=str)
def test_the_utility_of_a_size_is_that_of_its_best_set(margins):
    sets = list(product((False, True), repeat=len(margins)))
    best = [
        max(utility(s, margins) for s in sets if sum(s) == size)
        for size in range(len(margins) + 1)
    ]
    assert size_utilities(np.array(margins)).tolist() == best


def test_many_edges_are_drawn_at_once():
    rng = np.random.default_rng(0)
    h = rng.integers(-(2**60), 2**60, 300)
    assert (draw_subset(h, 1e-3, 2**20, rng) == (h > 0)).all()
    noise = draw_subset(h, 1e-30, 2**20, rng)
    assert 100 < (noise ^ (h > 0)).sum() < 200


# --- by the curator -------------------------------------------------------------------


def margins_of(*pairs):
    return IndependenceMargins(
        [[Question(KendallDependence(x, y), 0.5)] for x, y in pairs]
    )


def test_a_curator_pays_before_it_looks(poisoned):
    curator = Curator(poisoned, PrivacyLedger(1.0))
    query = margins_of("ab", "cd")
    with pytest.raises(ValueError, match="refused"):
        curator.subset(query, epsilon=1.1)
    with pytest.raises(ValueError, match="refused"):
        curator.subset_size(query, epsilon=1.1)
    with pytest.raises(ValueError, match="size must be"):
        curator.subset(query, epsilon=0.5, size=3)
    assert len(curator.ledger) == 0


def test_a_choice_costs_an_exponential_mechanism(records):
    curator = Curator(records, PrivacyLedger(100.0), 0)
    query = margins_of("ab", "cd", "ac")
    chosen = curator.subset(query, epsilon=60.0)
    assert chosen.shape == (3,)
    size = curator.subset_size(query, epsilon=20.0)
    assert curator.subset(query, epsilon=10.0, size=size).sum() == size
    for entry, epsilon in zip(curator.ledger, (60.0, 20.0, 10.0), strict=True):
        assert entry.epsilon == epsilon
        assert entry.rho == epsilon**2 / 8
        assert entry.parts == ((epsilon, 1),)
    assert [access.entry for access in curator.trace] == [0, 1, 2]


def test_the_margins_are_in_units_of_sensitivity(records, monkeypatch):
    seen = {}

    def noted(margins, epsilon, sensitivity, rng):
        seen.update(margins=margins, sensitivity=sensitivity)
        return margins > 0

    monkeypatch.setattr("skdp.privacy.choice.draw_subset", noted)
    curator = Curator(records, PrivacyLedger(1.0), 0)
    curator.subset(margins_of("ab", "cd"), epsilon=1.0)
    for (x, y), steps in zip(("ab", "cd"), seen["margins"], strict=True):
        query = KendallDependence(x, y)
        expected = 0.5 - float(query.evaluate(records))
        expected /= query.sensitivity(curator.public)
        found = Fraction(int(steps), 2**20)
        assert float(found) == pytest.approx(expected, abs=1e-5)
    assert 2**20 < seen["sensitivity"] <= 2**20 + 4
