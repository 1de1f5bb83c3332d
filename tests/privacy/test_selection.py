"""Private selection follows its closed form, and that form is private."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skdp.privacy.selection import exponential_mechanism, permute_and_flip

MECHANISMS = (exponential_mechanism, permute_and_flip)


def softmax_law(scores, epsilon, sensitivity):
    """Evaluate the law of the exponential mechanism."""
    weight = np.exp(epsilon * (np.array(scores) - max(scores)) / (2 * sensitivity))
    return weight / weight.sum()


def permutation_law(scores, epsilon, sensitivity):
    """Enumerate all visiting orders of permute-and-flip."""
    heads = np.exp(epsilon * (np.array(scores) - max(scores)) / (2 * sensitivity))
    law = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        alive = 1.0
        for candidate in order:
            law[candidate] += alive * heads[candidate]
            alive *= 1 - heads[candidate]
    return law / math.factorial(len(scores))


LAWS = {exponential_mechanism: softmax_law, permute_and_flip: permutation_law}


def p_value(mechanism, law, scores, epsilon, sensitivity, n=6000):
    """Compare n choices with a law."""
    rng = np.random.default_rng(5)
    chosen = [mechanism(scores, epsilon, sensitivity, rng) for _ in range(n)]
    counts = np.bincount(chosen, minlength=len(scores))
    return stats.chisquare(counts, law * n).pvalue


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("scores", "epsilon", "sensitivity"),
    [
        ((0, 1, 2, 5), 1.0, 1),
        ((-7, -7, -3, -20, -4), Fraction(1, 3), 2),
        ((10, 10, 10), 2, 1),
        ((4,), 1.0, 1),
    ],
)
def test_choices_follow_the_closed_form(mechanism, scores, epsilon, sensitivity):
    law = LAWS[mechanism](scores, float(epsilon), sensitivity)
    assert p_value(mechanism, law, scores, epsilon, sensitivity) > 1e-3 or len(law) == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_counting_notices_a_missing_factor(mechanism):
    scores = (0, 1, 2, 5)
    for epsilon, sensitivity in ((2.0, 1), (1.0, 2), (1.1, 1)):
        law = LAWS[mechanism](scores, epsilon, sensitivity)
        assert p_value(mechanism, law, scores, 1.0, 1) < 1e-2


def test_the_two_laws_differ_and_counting_tells_them_apart():
    scores = (0, 1, 2, 5)
    law = softmax_law(scores, 1.0, 1)
    assert p_value(permute_and_flip, law, scores, 1.0, 1) < 1e-6


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=5).flatmap(
        lambda u: st.tuples(
            st.just(u),
            st.lists(st.integers(-2, 2), min_size=len(u), max_size=len(u)),
        )
    ),
    st.floats(0.05, 4),
)
@settings(derandomize=True, max_examples=60, deadline=None)
def test_both_laws_are_private(scores_and_moves, epsilon):
    scores, moves = scores_and_moves
    moved = [u + m for u, m in zip(scores, moves, strict=True)]
    for law in LAWS.values():
        before, after = law(scores, epsilon, 2), law(moved, epsilon, 2)
        assert (before <= after * math.exp(epsilon) * (1 + 1e-9)).all()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_many_candidates_and_far_scores(mechanism):
    scores = np.full(50_000, -(10**15))
    scores[31_234] = 0
    assert mechanism(scores, 1e-3, 1, np.random.default_rng(0)) == 31_234


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_answer_is_an_int_and_repeats_with_the_seed(mechanism):
    scores = np.arange(20, dtype=np.int32)
    made = [mechanism(scores, 0.1, 1, np.random.default_rng(k)) for k in (1, 1, 2)]
    assert type(made[0]) is int
    assert made[0] == made[1]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("scores", "epsilon", "sensitivity", "error", "match"),
    [
        ([], 1.0, 1, ValueError, "at least one score"),
        ([[1, 2]], 1.0, 1, ValueError, "1-d"),
        ([0.5, 1.0], 1.0, 1, TypeError, "scores must be integers"),
        ([True, False], 1.0, 1, TypeError, "scores must be integers"),
        ([2**62, 0], 1.0, 1, ValueError, r"smaller than 2\*\*62"),
        (np.array([2**64 - 1], dtype=np.uint64), 1.0, 1, ValueError, "smaller than"),
        ([-(2**63), 0], 1.0, 1, ValueError, "smaller than"),
        ([0, 1], 0.0, 1, ValueError, "epsilon must be positive"),
        ([0, 1], math.inf, 1, ValueError, "epsilon must be positive"),
        ([0, 1], math.nan, 1, ValueError, "epsilon must be positive"),
        ([0, 1], "1", 1, TypeError, "epsilon must be a number"),
        ([0, 1], 1.0, 0, ValueError, "sensitivity must be positive"),
        ([0, 1], 1.0, 1.5, TypeError, "sensitivity must be an int"),
        ([0, 1], 1.0, True, TypeError, "sensitivity must be an int"),
    ],
)
def test_bad_arguments_are_refused(
    mechanism, scores, epsilon, sensitivity, error, match
):
    with pytest.raises(error, match=match):
        mechanism(scores, epsilon, sensitivity, np.random.default_rng(0))
