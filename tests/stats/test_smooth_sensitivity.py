"""The smooth sensitivity of the median, by brute force and by its definition."""

from __future__ import annotations

from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace

from skdp.stats.smooth_sensitivity import (
    largest_smoothness,
    smooth_sensitivity_of_median,
)

LEVELS = (0, 1, 3, 4)


def local_sensitivity(values) -> float:
    """The largest change of the median when one value is replaced."""
    changed = [
        abs(np.median([*values[:i], level, *values[i + 1 :]]) - np.median(values))
        for i in range(len(values))
        for level in LEVELS
    ]
    return max(changed)


@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize("beta", [0.05, 0.4, 2.0])
def test_equals_brute_force(n, beta) -> None:
    tables = list(product(LEVELS, repeat=n))
    local = np.array([local_sensitivity(table) for table in tables])
    as_array = np.array(tables)
    for table in tables[:: max(1, len(tables) // 60)]:
        distance = (as_array != table).sum(axis=1)
        expected = np.max(np.exp(-beta * distance) * local)
        found = smooth_sensitivity_of_median(table, LEVELS[0], LEVELS[-1], beta)
        assert found == pytest.approx(expected)


@given(
    st.integers(0, 20).flatmap(
        lambda half: st.lists(
            st.floats(0, 1), min_size=2 * half + 1, max_size=2 * half + 1
        )
    ),
    st.floats(0, 1), st.floats(0.01, 3), st.data(),
)  # fmt: skip
def test_is_smooth(values, other, beta, data) -> None:
    i = data.draw(st.integers(0, len(values) - 1))
    neighbour = [*values[:i], other, *values[i + 1 :]]
    one, two = (
        smooth_sensitivity_of_median(v, 0, 1, beta) for v in (values, neighbour)
    )
    assert one <= exp(beta) * two * (1 + 1e-12)
    assert two <= exp(beta) * one * (1 + 1e-12)
    moved = abs(np.median(values) - np.median(neighbour))
    assert moved <= min(one, two) + 1e-12


def excess_mass(epsilon: float, beta: float, scale: float) -> float:
    """The mass by which Lap(1) exceeds e^(epsilon/2) Lap(scale), by quadrature."""

    def excess(z: float) -> float:
        return max(laplace.pdf(z) - exp(epsilon / 2) * laplace.pdf(z, scale=scale), 0)

    start = (epsilon / 2 + beta) / np.expm1(beta)
    return 2 * quad(excess, start * 0.999, start + 60, limit=500)[0]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-6])
def test_the_tail_holds_delta(epsilon, delta) -> None:
    beta = largest_smoothness(epsilon, delta)
    assert 0 < beta <= epsilon / 2
    mass = excess_mass(epsilon, beta, exp(-beta))
    assert mass <= delta * (1 + 1e-5)
    if beta < epsilon / 2:
        assert mass == pytest.approx(delta, rel=1e-4)


def test_the_published_beta_is_no_bound() -> None:
    # Appendix F: Laplace noise is (epsilon/2, epsilon ln(1/delta)/2)-admissible.
    published = 1.0 * np.log(1 / 1e-6) / 2
    assert excess_mass(1.0, published, exp(-published)) > 0.3
    assert published > 100 * largest_smoothness(1.0, 1e-6)


def test_refuses_what_has_no_median() -> None:
    with pytest.raises(ValueError, match="odd"):
        smooth_sensitivity_of_median([0.0, 1.0], 0, 1, 1.0)
    with pytest.raises(ValueError, match="lie in"):
        smooth_sensitivity_of_median([2.0], 0, 1, 1.0)
    with pytest.raises(ValueError, match="delta"):
        largest_smoothness(1.0, 0.0)
