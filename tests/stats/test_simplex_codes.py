"""The simplex code, and its sensitivity against all pairs of records."""

from __future__ import annotations

from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest

from skdp.stats.simplex_codes import (
    interaction_sensitivity,
    main_effect_weight,
    simplex_code,
)

SCHEMAS = [
    (2,), (3,), (2, 2), (2, 3), (4, 4), (2, 2, 2), (3, 3, 3), (2, 3, 4), (2, 2, 5),
    (2, 2, 2, 2), (2, 2, 3, 3), (5, 3, 2, 2), (2, 2, 2, 2, 2), (3, 3, 3, 2, 2),
    (2, 2, 2, 2, 2, 2, 3),
]  # fmt: skip


def features(levels, weight):
    """Code every possible record, shape (n_records, n_coordinates)."""
    coded = []
    for record in product(*map(range, levels)):
        f = [simplex_code(r)[a] for r, a in zip(levels, record, strict=True)]
        blocks = [weight * one for one in f]
        blocks += [np.outer(one, other).ravel() for one, other in combinations(f, 2)]
        coded.append(np.concatenate(blocks))
    return np.array(coded)


def largest_distance(coded):
    squares = (coded**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * coded @ coded.T
    return sqrt(distances.max())


@pytest.mark.parametrize("r", [2, 3, 4, 7, 20])
def test_the_corners_of_a_regular_simplex(r):
    code = simplex_code(r)
    assert code.shape == (r, r - 1)
    expected = np.full((r, r), -1 / (r - 1))
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(code @ code.T, expected, atol=1e-14)
    np.testing.assert_allclose(code.sum(axis=0), 0, atol=1e-14)
    # A tight frame: the interaction keeps the whole table but its margins.
    np.testing.assert_allclose(code.T @ code, r / (r - 1) * np.eye(r - 1), atol=1e-14)


def test_one_and_two_levels():
    assert simplex_code(1).shape == (1, 0)
    np.testing.assert_allclose(simplex_code(2), [[1], [-1]], atol=1e-15)


def test_the_code_is_kept_and_cannot_be_changed():
    code = simplex_code(5)
    assert simplex_code(5) is code
    with pytest.raises(ValueError, match="read-only"):
        code[0, 0] = 2.0


@pytest.mark.parametrize("levels", SCHEMAS, ids=str)
def test_the_sensitivity_is_exact(levels):
    for weight in (0.0, 0.3, main_effect_weight(len(levels)), 2.0):
        observed = largest_distance(features(levels, weight))
        bound = interaction_sensitivity(levels, weight)
        assert bound == pytest.approx(observed, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("d", [2, 3, 6, 7, 40])
def test_binary_variables_have_a_max_cut_number(d):
    assert interaction_sensitivity([2] * d, 0.0) ** 2 == pytest.approx(
        4 * (d // 2) * (-(-d // 2))
    )


def test_it_is_about_the_number_of_variables():
    for levels in ([2] * 37, [4, 3, 2] * 9, [6] * 20):
        d, weight = len(levels), main_effect_weight(len(levels))
        assert weight == sqrt(d / 8)
        assert 0.8 * d < interaction_sensitivity(levels, weight) < 1.3 * d


def test_too_many_kinds_of_levels_have_the_plain_bound():
    levels, weight = list(range(2, 30)), 1.5
    bound = interaction_sensitivity(levels, weight)
    assert bound == pytest.approx(sqrt(28**2 + 4 * weight**2 * 28))
    rng = np.random.default_rng(0)
    for share in rng.random(300):
        s = [1.0 if rng.random() > share else -1 / (r - 1) for r in levels]
        squared = sum(2 - 2 * one * other for one, other in combinations(s, 2))
        squared += weight**2 * sum(2 - 2 * one for one in s)
        assert squared <= bound**2
    assert interaction_sensitivity(levels[:12], weight) < sqrt(
        12**2 + 4 * 12 * weight**2
    )


def test_no_variables_nothing_changes():
    assert interaction_sensitivity([], 1.0) == 0.0
    assert interaction_sensitivity([3], 0.0) == 0.0
