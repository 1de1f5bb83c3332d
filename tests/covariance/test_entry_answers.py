"""The curator's answers to questions about entries: law, price, and audits.

The audits run a mechanism thousands of times on two neighbouring records and estimate
the divergence of its outputs from below; it must not exceed what the ledger charged,
and must exceed it where the noise is halved.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import skdp.privacy.additive
import skdp.privacy.choice
from skdp.covariance.entry_answers import CuratedEntries
from skdp.covariance.plans import Plan
from skdp.privacy import Curator, PrivacyLedger
from skdp.queries import FREE_WEIGHT
from skdp.records import BoundedMatrix, Numeric, RowGrid, Schema

N_RUNS = 800


def curator_of(rows, seed=0):
    rows = np.array(rows, dtype=float)
    schema = Schema([Numeric(f"x{i}", -1, 1) for i in range(rows.shape[1])])
    return Curator(BoundedMatrix(schema, rows), PrivacyLedger(1e6, 1e-6), seed)


def entries_of(rows, seed=0):
    curator = curator_of(rows, seed)
    n, d = np.shape(rows)
    plan = Plan(1.0, RowGrid(bits=10), n, d, np.zeros(d))
    return CuratedEntries(curator, plan), curator


def repeated(rows, ask, n_runs=N_RUNS, seed=0):
    """Ask again and again, each time at the price of one ledger entry."""
    answerer, curator = entries_of(rows, seed)
    answers = []
    for _ in range(n_runs):
        curator._ledger = PrivacyLedger(1e6, 1e-6)
        answers.append(ask(answerer))
    (entry,) = curator.ledger
    return answers, entry.rho


PAIR = np.array([0]), np.array([1])


def a_pair(answerer):
    return answerer.pairs(*PAIR, 0.5, None)[0][0]


def a_clipped_pair(answerer):
    limits = np.array([[1.0, 0.04], [0.04, 1.0]])
    return answerer.pairs(*PAIR, 0.5, limits)[0][0]


def the_diagonal(answerer):
    return answerer.diagonal(0.5)[0]


# Neighbours at which the sensitivity is attained.
MEASUREMENTS = {
    "pair": (a_pair, [[1, 1]], [[1, -1]]),
    "pair and diagonals": (a_pair, [[1, 1]], [[-1, 0.1]]),
    "clipped pair": (a_clipped_pair, [[0.2, 0.2]], [[0.2, -0.2]]),
    "diagonal": (the_diagonal, [[1, 0, 1]], [[0, 1, 0]]),
}


def gaussian_loss(ask, first, second):
    """Estimate sum_i delta_i^2 / (2 sigma_i^2), and what was charged."""
    one, charged = repeated(first, ask, seed=0)
    two, _ = repeated(second, ask, seed=1)
    one, two = np.array(one), np.array(two)
    variance = (one.var(axis=0) + two.var(axis=0)) / 2
    shift = one.mean(axis=0) - two.mean(axis=0)
    bias = 2 / N_RUNS  # of a squared difference, in units of the variance
    return float((shift**2 / variance - bias).sum() / 2), charged


@pytest.mark.parametrize("case", MEASUREMENTS)
def test_a_measurement_loses_what_it_is_charged(case):
    loss, charged = gaussian_loss(*MEASUREMENTS[case])
    assert charged == pytest.approx(0.5, rel=1e-9)
    assert loss <= 1.35 * charged
    if case != "pair and diagonals":
        assert loss >= 0.7 * charged


@pytest.mark.parametrize("case", ["pair", "clipped pair", "diagonal"])
def test_the_audit_sees_half_the_noise(case, monkeypatch):
    honest = skdp.privacy.additive.discrete_gaussian

    def quieter(variance, shape, rng):
        return honest(Fraction(variance) / 4, shape, rng)

    monkeypatch.setattr(skdp.privacy.additive, "discrete_gaussian", quieter)
    loss, charged = gaussian_loss(*MEASUREMENTS[case])
    assert loss > 2 * charged


@pytest.mark.parametrize("clip", [None, 0.5])
def test_answers_are_unbiased_with_the_variances_they_state(clip):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (40, 4))
    rows[:, 1] = rows[:, 0]
    limits = None if clip is None else np.full((4, 4), clip)
    products = rows[:, 0] * rows[:, 1], rows[:, 2] * rows[:, 3]
    if clip is not None:
        products = np.clip(products, -clip, clip)
    truth = np.mean(products, axis=1)[:, None]
    if clip is None:
        squares = np.mean(rows**2, axis=0)
        truth = np.column_stack([truth, squares[[0, 2]], squares[[1, 3]]])
    both = np.array([0, 2]), np.array([1, 3])
    answerer, _ = entries_of(rows)
    answers = [answerer.pairs(*both, 2.0, limits) for _ in range(N_RUNS)]
    values, (variances, *_) = (np.array(part) for part in zip(*answers, strict=True))
    assert variances.shape == truth.shape
    error = 5 * np.sqrt(variances / N_RUNS)
    assert (np.abs(values.mean(axis=0) - truth) <= error + 2e-3).all()
    assert np.allclose(values.var(axis=0), variances, rtol=0.3)
    # Two pairs for rho = 2: each has sd 2 / (n sqrt(2)), its diagonals 1.5 less.
    assert variances[0, 0] == pytest.approx((2 / 40) ** 2 / 2 * (clip or 1) ** 2)
    if clip is None:
        assert variances[0, 1] == pytest.approx(variances[0, 0] / FREE_WEIGHT**2)


def test_the_diagonal_is_what_it_states():
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 4))
    answerer, _ = entries_of(rows)
    answers = [answerer.diagonal(2.0) for _ in range(N_RUNS)]
    values, (variances, *_) = (np.array(part) for part in zip(*answers, strict=True))
    assert np.allclose(values.mean(axis=0), (rows**2).mean(axis=0), atol=0.01)
    assert np.allclose(values.var(axis=0), variances, rtol=0.3)
    assert np.allclose(variances, 4 / (2 * 2.0 * 40**2))


# --- selection -----------------------------------------------------------------------

# Two scores of three change by 2, in opposite directions.
EXPECTED = np.array([[0.0, -1, -1], [-1, 0, -1], [-1, -1, 0]])
CHOICES = [[1, 1, -1]], [[1, -1, 1]]


def a_choice(answerer):
    return int(answerer.worst(EXPECTED, 1, 0.5, None)[0])


def a_clipped_choice(answerer):
    limits = np.full((3, 3), 0.04)
    return int(answerer.worst(EXPECTED * limits, 1, 0.5, limits)[0])


def selection_loss(ask, first, second):
    """Estimate the Kullback-Leibler divergence of the choices, at most rho."""
    one, charged = repeated(first, ask, seed=0)
    two, _ = repeated(second, ask, seed=1)
    p, q = (np.bincount(run, minlength=3) / N_RUNS for run in (one, two))
    return float((p * np.log(p / q)).sum()), charged


@pytest.mark.parametrize("ask", [a_choice, a_clipped_choice])
def test_a_choice_loses_no_more_than_it_is_charged(ask):
    loss, charged = selection_loss(ask, *CHOICES)
    assert charged == pytest.approx(0.5, rel=1e-9)
    assert 0.4 * charged <= loss <= charged


@pytest.mark.parametrize("ask", [a_choice, a_clipped_choice])
def test_the_audit_sees_a_choice_with_half_the_noise(ask, monkeypatch):
    honest = skdp.privacy.choice.exponential_mechanism

    def greedier(scores, epsilon, sensitivity, rng):
        return honest(scores, 2 * epsilon, sensitivity, rng)

    monkeypatch.setattr(skdp.privacy.choice, "exponential_mechanism", greedier)
    loss, charged = selection_loss(ask, *CHOICES)
    assert loss > 1.5 * charged


def test_choices_follow_the_exponential_mechanism():
    answers, charged = repeated(CHOICES[0], a_choice)
    weights = np.exp(sqrt(8 * charged) * np.array([2.0, 0, 0]) / (2 * 2))
    observed = np.bincount(answers, minlength=3) / N_RUNS
    assert np.allclose(observed, weights / weights.sum(), atol=0.07)


def test_several_choices_cost_as_one_each():
    answerer, curator = entries_of(np.random.default_rng(0).uniform(-1, 1, (9, 6)))
    chosen = answerer.worst(np.zeros((6, 6)), 5, 0.3, None)
    (entry,) = curator.ledger
    assert len(set(chosen.tolist())) == 5
    assert entry.rho == pytest.approx(0.3, rel=1e-12) and entry.mechanism == "top_k"
    assert entry.epsilon == pytest.approx(5 * sqrt(8 * 0.3 / 5))
