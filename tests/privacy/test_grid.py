"""Rounding to the public grid never costs more steps than the grid admits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.exceptions import SchemaError
from skdp.privacy.grid import (
    MARGIN_SENSITIVITY,
    RESOLUTION,
    Grid,
    margin_in_steps,
    public_sensitivity,
)
from skdp.queries import Batch, KendallDependence, Marginal, PublicFacts, Query
from skdp.records import Categorical, Schema

PUBLIC = PublicFacts(50, Schema([Categorical(name, ("no", "yes")) for name in "abc"]))
NORMS = (1, 2, inf)


@dataclass(frozen=True)
class Anything(Query):
    """A query of any bounds."""

    bound: float
    affected: int = 1
    error: float = 0.0
    integral: bool = False
    columns: tuple[str, ...] = ()

    def evaluate(self, records):
        raise AssertionError("the grid must not evaluate")

    def shape(self, public):
        return (self.affected,)

    def sensitivity(self, public, ord=1):
        return self.bound

    def n_affected(self, public):
        return self.affected

    def evaluation_error(self, public):
        return self.error


def norm_of(steps, ord):
    """Return a norm of integers, squared if it is the L2 norm."""
    sizes = [abs(int(step)) for step in steps]
    if ord == 2:
        return sum(size**2 for size in sizes)
    return sum(sizes) if ord == 1 else max(sizes)


def exact_norm(change, ord):
    """Return the norm of a difference of floats, squared if it is the L2 norm."""
    if ord == 2:
        return sum(c**2 for c in change)
    return sum(map(abs, change)) if ord == 1 else max(map(abs, change))


@st.composite
def neighbours(draw):
    """Draw a grid and two answers that differ by at most its query's bound."""
    ord = draw(st.sampled_from(NORMS))
    affected = draw(st.integers(1, 5))
    bound = draw(st.floats(1e-6, 1e6))
    grid = Grid.for_query(Anything(bound, affected), PUBLIC, ord)
    size = 1000 * bound
    answers = st.one_of(
        st.floats(-size, size),
        # Halves of a step and their floating-point neighbours.
        st.builds(
            lambda k, ulps: float(
                (k + 0.5) * grid.step + ulps * np.spacing((k + 0.5) * grid.step)
            ),
            st.integers(-(2**30), 2**30),
            st.integers(-2, 2),
        ),
    )
    first = np.array(draw(st.lists(answers, min_size=affected, max_size=affected)))
    shares = draw(st.lists(st.floats(-1, 1), min_size=affected, max_size=affected))
    length = {1: sum(map(abs, shares)), 2: sqrt(sum(s * s for s in shares)), inf: 1}
    scale = bound / max(length[ord], 1)
    second = first + np.array(shares) * scale
    change = [Fraction(b) - Fraction(a) for a, b in zip(first, second, strict=True)]
    limit = Fraction(bound) ** 2 if ord == 2 else Fraction(bound)
    while exact_norm(change, ord) > limit:
        scale *= 1 - 2.0**-40
        second = first + np.array(shares) * scale
        change = [Fraction(b) - Fraction(a) for a, b in zip(first, second, strict=True)]
        if scale < bound / 1e3:
            second = first
            break
    return grid, ord, first, second


@given(neighbours())
def test_neighbours_stay_within_the_sensitivity(drawn):
    grid, ord, first, second = drawn
    moved = grid.to_steps(second) - grid.to_steps(first)
    limit = int(grid.sensitivity)
    assert norm_of(moved, ord) <= (limit**2 if ord == 2 else limit)


@given(neighbours())
def test_rounding_goes_to_a_nearest_step(drawn):
    grid, _, answers, _ = drawn
    for answer, step in zip(answers, grid.to_steps(answers), strict=True):
        exact = Fraction(answer) / Fraction(grid.step)
        # Half a step, and what adding a half to a large float can cost.
        slack = Fraction(np.spacing(abs(float(exact)) + 1))
        assert abs(exact - int(step)) <= Fraction(1, 2) + slack


@given(
    st.floats(1e-300, 1e300),
    st.integers(1, 1000),
    st.sampled_from(NORMS),
    st.floats(0, 1e-3),
)
def test_a_grid_is_fine_and_its_sensitivity_covers_all(bound, affected, ord, relative):
    error = bound * relative
    grid = Grid.for_query(Anything(bound, affected, error), PUBLIC, ord)
    ones = affected ** (1 / ord)
    assert grid.step == 2.0 ** round(np.log2(grid.step))
    exact = (Fraction(bound) + 2 * Fraction(ones) * Fraction(error)) / Fraction(
        grid.step
    )
    # Rounding moves every coordinate by less than a step.
    assert grid.sensitivity >= exact * (1 - Fraction(1, 2**50)) + Fraction(ones)
    assert grid.sensitivity == int(grid.sensitivity)
    assert grid.sensitivity <= exact + 2 * ones + 2
    assert bound / ones / grid.step >= RESOLUTION / 2


def test_the_smallest_normal_steps_do_not_vanish():
    grid = Grid.for_query(Anything(1e-300), PUBLIC, 1)
    assert grid.step > 0
    assert grid.to_steps(np.array(1e-300)) > 0


@pytest.mark.parametrize("bound", [5e-324, 1e-320, 1e-319])
@pytest.mark.parametrize("affected", [1, 5])
def test_sensitivities_without_a_step_are_refused(bound, affected):
    with pytest.raises(ValueError, match="Scale the query up"):
        Grid.for_query(Anything(bound, affected), PUBLIC, 1)


@pytest.mark.parametrize("error", [1e30, inf, nan])
def test_errors_of_too_many_steps_are_refused(error):
    with pytest.raises(ValueError, match="Scale the query up"):
        Grid.for_query(Anything(1e-290, error=error), PUBLIC, 1)


@pytest.mark.parametrize(("ord", "bound"), [(1, 2.0), (2, sqrt(2)), (inf, 1.0)])
def test_integers_need_no_grid(ord, bound):
    grid = Grid.for_query(Marginal("a"), PUBLIC, ord)
    assert (grid.step, grid.integral) == (1.0, True)
    assert grid.sensitivity == pytest.approx(bound, rel=2.0**-39)
    counts = np.array([3, -(2**62)])
    assert grid.to_answer(grid.to_steps(counts)).tolist() == counts.tolist()
    assert grid.to_answer(grid.to_steps(counts)).dtype == np.int64


@pytest.mark.parametrize("square", range(1, 40))
def test_an_integral_square_root_is_no_smaller_than_the_root(square):
    grid = Grid.for_query(Anything(sqrt(square), integral=True), PUBLIC, 2)
    assert Fraction(grid.sensitivity) ** 2 >= square


@pytest.mark.parametrize("n_parts", range(1, 40))
def test_a_square_root_is_rounded_up(n_parts):
    batch = Batch((Marginal("a"),) * n_parts)
    grid = Grid.for_query(batch, PUBLIC, 2)
    assert Fraction(grid.sensitivity) ** 2 >= 2 * n_parts


def test_a_mixed_batch_lives_on_a_grid():
    batch = Batch((Marginal("a"), KendallDependence("a", "b")))
    grid = Grid.for_query(batch, PUBLIC, 1)
    assert not grid.integral
    answer = np.array([20.0, 30.0, 1.25])
    back = grid.to_answer(grid.to_steps(answer))
    assert np.abs(back - answer).max() <= grid.step / 2


@pytest.mark.parametrize("bound", [inf, nan, -1.0])
def test_what_no_noise_hides_is_refused(bound):
    with pytest.raises(ValueError, match="no noise makes it private"):
        public_sensitivity(Anything(bound), PUBLIC, 1)
    with pytest.raises(ValueError, match="no noise makes it private"):
        Grid.for_query(Anything(bound), PUBLIC, 1)


def test_columns_outside_the_schema_are_refused():
    with pytest.raises(SchemaError, match="age"):
        public_sensitivity(Marginal("age"), PUBLIC, 1)


# --- margins ------------------------------------------------------------------------

scores = st.floats(-1e4, 1e4)


@given(scores, scores, st.floats(1e-9, 1e9), st.floats(0, 1e-3))
def test_margins_are_exact(value, threshold, bound, relative):
    query = Anything(bound, error=bound * relative)
    unit = Fraction(float(np.nextafter(bound + 2 * query.error, inf)))
    steps = (Fraction(threshold) - Fraction(value)) / unit * RESOLUTION
    margin = margin_in_steps(value, query, threshold, PUBLIC)
    assert margin == floor(steps + Fraction(1, 2))
    assert abs(margin - steps) <= Fraction(1, 2)


@given(scores, scores, st.floats(1e-6, 1e3), st.floats(-1, 1), st.integers(-1, 1))
def test_margins_move_by_at_most_their_sensitivity(
    value, threshold, bound, share, ulps
):
    # Both scores carry an error, each up to the one that the query admits.
    query = Anything(bound, error=bound * 1e-9)
    moved = value + share * bound + ulps * query.error
    if abs(Fraction(moved) - Fraction(value)) > Fraction(bound) + 2 * Fraction(
        query.error
    ):
        moved = value
    first, second = (
        margin_in_steps(v, query, threshold, PUBLIC) for v in (value, moved)
    )
    assert abs(second - first) <= MARGIN_SENSITIVITY


@given(st.integers(-(2**30), 2**30), st.integers(-3, 3), st.sampled_from((1.0, 0.3)))
def test_margins_near_half_steps_move_by_at_most_their_sensitivity(k, ulps, bound):
    query = Anything(bound)
    value = (k + 0.5) / RESOLUTION * bound
    value = float(value + ulps * np.spacing(value))
    for moved in (value + bound, value - bound):
        if abs(Fraction(moved) - Fraction(value)) <= Fraction(bound):
            margins = [margin_in_steps(v, query, 0.0, PUBLIC) for v in (value, moved)]
            assert abs(margins[1] - margins[0]) <= MARGIN_SENSITIVITY


def test_the_unit_is_the_querys_own_sensitivity():
    for bound in (0.5, 1.0, 6.0):
        margin = margin_in_steps(2.0, Anything(bound), 2.0 + 3 * bound, PUBLIC)
        assert margin == pytest.approx(3 * RESOLUTION, abs=1)
    assert ceil(MARGIN_SENSITIVITY / RESOLUTION) == 2  # above one unit, for rounding


def test_the_unit_is_that_of_the_public_facts_at_hand():
    query = KendallDependence("a", "b")
    at = [PublicFacts(n, PUBLIC.schema) for n in (50, 25)]
    margins = [margin_in_steps(0.0, query, 1.0, public) for public in at]
    units = [query.sensitivity(public) for public in at]
    assert margins[0] / margins[1] == pytest.approx(units[1] / units[0], rel=1e-6)


def test_an_integral_root_leaves_room_for_rows_that_exceed_their_radius():
    grid = Grid.for_query(Anything(sqrt(2.0), integral=True), PUBLIC, 2)
    assert grid.sensitivity >= sqrt(2.0) * (1 + 2.0**-41)


def test_infinite_answers_are_clipped_like_what_overflows():
    grid = Grid(step=1.0, sensitivity=3, integral=False)
    steps = grid.to_steps(np.array([np.inf, 1e300, -np.inf, np.nan]))
    assert steps[0] == steps[1] > 2**50
    assert (steps[2], steps[3]) == (-steps[0], 0)
