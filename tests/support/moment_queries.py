"""Moment queries and neighbouring matrices for Hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from skdp.queries import (
    CrossMoments,
    Diagonal,
    Eigenvalues,
    MomentErrors,
    NormScores,
    SecondMoments,
    SquaredExcess,
    Sums,
    Trace,
)
from skdp.records import BoundedMatrix, Numeric, RowGrid, Schema

NUMBERS = st.sampled_from((-1.0, 0.0, 1.0, 0.5, -0.3, 0.02, 1e-9, -7.0, 40.0))


@st.composite
def row_grids(draw, d, may_transform=True):
    """Draw a grid: in the cube, in a ball, with narrower limits, or transformed."""
    bits = draw(st.sampled_from((1, 2, 7, 16)))
    kinds = ("cube", "cube", "ball", "limits") + ("transform",) * may_transform
    kind = draw(st.sampled_from(kinds))
    radius = draw(st.sampled_from((0.1, 0.7, 1.0, 1.3, 2.0)))
    if kind == "cube":
        return RowGrid(bits)
    if kind == "limits":
        limits = draw(st.lists(st.floats(0.01, 1), min_size=d, max_size=d))
        return RowGrid(bits, limits=limits)
    if kind == "ball":
        return RowGrid(bits, radius=radius)
    entries = st.lists(st.floats(-2, 2), min_size=d * d, max_size=d * d)
    transform = np.reshape(draw(entries), (d, d)) + np.eye(d) / 8
    transform[0, 0] = transform[0, 0] or 1.0
    return RowGrid(bits, radius=radius, transform=transform)


@st.composite
def neighbours(draw):
    """Draw two matrices that differ in one row, and their number of columns."""
    d, n = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    row = st.lists(NUMBERS, min_size=d, max_size=d)
    common = draw(st.lists(row, min_size=n - 1, max_size=n - 1))
    centre, width = draw(st.sampled_from(((0.0, 1.0), (3.0, 0.25), (-1e6, 1e3))))
    schema = Schema(
        [Numeric(f"x{j}", centre - width, centre + width) for j in range(d)]
    )
    both = (
        np.array([*common, draw(row)], dtype=float) * width + centre for _ in range(2)
    )
    before, after = (BoundedMatrix(schema, values) for values in both)
    return d, before, after


def _symmetric(draw, d, numbers):
    matrix = np.empty((d, d))
    above = np.triu_indices(d)
    drawn = draw(st.lists(numbers, min_size=len(above[0]), max_size=len(above[0])))
    matrix[above] = drawn
    return np.triu(matrix) + np.triu(matrix, 1).T


@st.composite
def _cross_moments(draw, d):
    every = [(i, j) for i in range(d) for j in range(i, d)]
    pairs = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    rows = draw(row_grids(d))
    if draw(st.booleans()):
        clip = _symmetric(draw, d, st.floats(0.01, 1))
        return CrossMoments(pairs, clip=clip, rows=rows)
    off = [pair for pair in pairs if pair[0] < pair[1]]
    if off and draw(st.booleans()):
        return CrossMoments(off, with_diagonals=True, rows=rows)
    return CrossMoments(pairs, rows=rows)


@st.composite
def _moment_errors(draw, d):
    estimate = _symmetric(draw, d, st.floats(-3, 3))
    clip = _symmetric(draw, d, st.floats(0.01, 1)) if draw(st.booleans()) else None
    return MomentErrors(estimate, clip=clip, rows=draw(row_grids(d)))


@st.composite
def _norm_scores(draw, d):
    radii = draw(st.lists(st.floats(0, 6), min_size=1, max_size=5))
    prices = [2.5 * k for k in range(len(radii))]
    target = draw(st.floats(0, 6))
    return NormScores(tuple(radii), target, tuple(prices), rows=draw(row_grids(d)))


@st.composite
def _squared_excess(draw, d):
    return SquaredExcess(draw(st.floats(0, 6)), rows=draw(row_grids(d)))


def _plain(kind):
    return lambda d: row_grids(d).map(lambda rows: kind(rows=rows))


@st.composite
def _second_moments(draw, d):
    free = draw(st.booleans())
    return SecondMoments(free_diagonal=free, rows=draw(row_grids(d)))


#: A strategy for each class, given the number of columns.
MOMENT_STRATEGIES = {
    CrossMoments: _cross_moments,
    Diagonal: _plain(Diagonal),
    Eigenvalues: _plain(Eigenvalues),
    MomentErrors: _moment_errors,
    NormScores: _norm_scores,
    SecondMoments: _second_moments,
    SquaredExcess: _squared_excess,
    Sums: _plain(Sums),
    Trace: _plain(Trace),
}
