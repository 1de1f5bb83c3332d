"""The projection to the simplex against brute force over supports and a generic QP."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from skdp.stats.projections import project_to_simplex

ENTRIES = st.floats(-100, 100, width=32)


def nearest_by_supports(values, total):
    """Solve the problem for each set of positive entries, and take the nearest."""
    best, least = None, np.inf
    sizes = range(1, len(values) + 1)
    places = range(len(values))
    for support in chain.from_iterable(combinations(places, k) for k in sizes):
        inside = list(support)
        candidate = np.zeros(len(values))
        candidate[inside] = values[inside] - (values[inside].sum() - total) / len(
            inside
        )
        distance = ((candidate - values) ** 2).sum()
        if (candidate >= -1e-12).all() and distance < least:
            best, least = candidate, distance
    return best


@given(
    values=arrays(np.float64, st.integers(1, 6), elements=ENTRIES),
    total=st.floats(0.01, 500),
)
def test_no_support_gives_a_nearer_table(values, total):
    found = project_to_simplex(values, total)
    np.testing.assert_allclose(found, nearest_by_supports(values, total), atol=1e-9)


def test_a_generic_solver_finds_the_same():
    rng = np.random.default_rng(0)
    for total in (0.5, 20.0):
        values = rng.normal(0, 3, 12)
        generic = minimize(
            lambda x, v=values: ((x - v) ** 2).sum(),
            np.full(12, total / 12),
            jac=lambda x, v=values: 2 * (x - v),
            bounds=[(0, None)] * 12,
            constraints={"type": "eq", "fun": lambda x, t=total: x.sum() - t},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        found = project_to_simplex(values, total)
        np.testing.assert_allclose(found, generic.x, atol=1e-6)


@given(
    values=arrays(np.float64, st.tuples(*[st.integers(1, 4)] * 3), elements=ENTRIES),
    total=st.floats(0, 1e6),
)
def test_what_makes_it_the_nearest(values, total):
    found = project_to_simplex(values, total)
    assert found.shape == values.shape
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
    # One shift for all positive entries, and it would make the others negative.
    shifts = values - found
    positive = found > 0
    if positive.any():
        shift = shifts[positive][0]
        slack = 1e-9 * (1 + abs(shift) + abs(values).max())
        np.testing.assert_allclose(shifts[positive], shift, atol=slack)
        assert (values[~positive] <= shift + slack).all()
    again = project_to_simplex(found, total)
    np.testing.assert_allclose(again, found, atol=1e-9 * (1 + total))


def test_a_table_that_is_in_the_simplex_stays():
    table = np.array([[3, 0], [4, 5]])
    np.testing.assert_array_equal(project_to_simplex(table, 12), table)


def test_a_total_of_nothing_leaves_nothing():
    np.testing.assert_array_equal(project_to_simplex([3.0, -1.0, 3.0], 0), [0, 0, 0])


def test_the_values_are_not_changed():
    values = np.array([5.0, -2.0, 1.0])
    project_to_simplex(values, 2.0)
    np.testing.assert_array_equal(values, [5, -2, 1])


def test_what_cannot_be_projected_is_refused():
    with pytest.raises(ValueError, match="no values"):
        project_to_simplex([], 1.0)
    for total in (-1.0, np.nan):
        with pytest.raises(ValueError, match="total"):
            project_to_simplex([1.0], total)
