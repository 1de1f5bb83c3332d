"""Sums of a product of factors over some of its columns, never forming the product.

A column is summed out by one batched matrix product. Where the factors differ so much
in size that this would underflow, the same is done in logarithms, more slowly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.factor import Factor
from skdp.graphical.inference import (
    Columns,
    Plan,
    Sizes,
    Step,
    plan_elimination,
    union,
)

__all__ = ["connected", "eliminate_columns", "log_sum", "multiply", "sum_out"]

#: Spread of a product of factors (in nats) up to which none of its values, taken
#: relative to the largest, is subnormal.
_LARGEST_SPREAD = 600.0

#: A table and the columns that its axes are.
_Named: TypeAlias = tuple[Columns, NDArray[np.float64]]


def sum_out(
    factors: Sequence[Factor], keep: Columns, sizes: Sizes, max_cells: float
) -> Factor:
    """Sum out every column of a product of factors but a few.

    Parameters
    ----------
    factors : sequence of Factor
        May be empty.
    keep : tuple of str
        The axes of the result; columns that no factor has are uniform.
    sizes : mapping of str to int
        Numbers of levels.
    max_cells : float
        Largest table that may be stored.

    Returns
    -------
    Factor
        Over `keep`.

    Raises
    ------
    ModelTooLargeError
        If a larger table would be needed; nothing was allocated.
    """
    plan = plan_elimination([factor.columns for factor in factors], keep, sizes)
    plan.refuse_beyond(max_cells, sizes)
    results = eliminate_columns(factors, plan)
    held = set().union(*(plan.columns[k] for k in plan.rest))
    uniform = [Factor((c,), np.zeros(sizes[c])) for c in keep if c not in held]
    return multiply([*(results[k] for k in plan.rest), *uniform], keep)


def connected(factors: Iterable[Factor], columns: Iterable[str]) -> list[Factor]:
    """Return the factors that are joined to some columns, directly or by others.

    Parameters
    ----------
    factors : iterable of Factor
        The model.
    columns : iterable of str
        Where to start.

    Returns
    -------
    list of Factor
        The others change the distribution of these columns by a constant.
    """
    reached, found, others = set(columns), [], list(factors)
    while near := [f for f in others if not reached.isdisjoint(f.columns)]:
        found += near
        others = [f for f in others if reached.isdisjoint(f.columns)]
        reached.update(*(f.columns for f in near))
    return found


def eliminate_columns(factors: Sequence[Factor], plan: Plan) -> list[Factor]:
    """Carry out a plan.

    Parameters
    ----------
    factors : sequence of Factor
        With the columns that the plan was made for.
    plan : Plan
        The steps.

    Returns
    -------
    list of Factor
        The given factors, then the result of each step. Relative errors are of the
        order of the rounding of the logarithms, however large these are.
    """
    if sum(factor.spread for factor in factors) <= _LARGEST_SPREAD:
        return _by_matrix_products(factors, plan)
    found = list(factors)
    for step in plan.steps:
        left, right = (
            multiply([found[k] for k in group]) for group in (step.left, step.right)
        )
        found.append(_log_summed(left, right, step))
    return found


def _log_summed(left: Factor, right: Factor, step: Step) -> Factor:
    """Multiply two factors and sum a column out, never storing the product."""
    column, result = step.column, step.result
    first, second = (
        _spread_out(f.log_values, f.columns, (column, *result)) for f in (left, right)
    )
    if not step.right:
        return Factor(result, log_sum(first))
    total = first[0] + second[0]
    for a, b in zip(first[1:], second[1:], strict=True):
        np.logaddexp(total, a + b, out=total)
    return Factor(result, total)


def multiply(factors: Sequence[Factor], columns: Columns | None = None) -> Factor:
    """Multiply factors.

    Parameters
    ----------
    factors : sequence of Factor
        May be empty.
    columns : tuple of str, optional
        The axes of the product; by default in order of appearance.

    Returns
    -------
    Factor
        The product.
    """
    if columns is None:
        columns = union(factor.columns for factor in factors)
    total: NDArray[np.float64] = np.zeros((1,) * len(columns))
    for factor in factors:
        total = total + _spread_out(factor.log_values, factor.columns, columns)
    return Factor(columns, total)


def log_sum(log_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the first axis, in logarithms.

    Parameters
    ----------
    log_values : ndarray, shape (k, ...)
        Logarithms, -inf allowed.

    Returns
    -------
    ndarray, shape (...)
        Logarithm of the sums.
    """
    top = log_values.max(axis=0)
    top = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore"):
        summed = np.log(np.exp(log_values - top).sum(axis=0))
    return np.asarray(summed + top)


def _spread_out(
    values: NDArray[np.float64], columns: Columns, onto: Columns
) -> NDArray[np.float64]:
    """Put the axes where those of a larger table are."""
    axes = sorted(range(len(columns)), key=lambda i: onto.index(columns[i]))
    size = dict(zip(columns, values.shape, strict=True))
    return values.transpose(axes).reshape([size.get(name, 1) for name in onto])


# By matrix products: values relative to a factor's largest, which is 1 ----------


def _by_matrix_products(factors: Sequence[Factor], plan: Plan) -> list[Factor]:
    tops = [factor.top for factor in factors]
    values = [
        np.exp(factor.log_values - top)
        for factor, top in zip(factors, tops, strict=True)
    ]
    for step in plan.steps:
        left = _product(step.left, values, plan.columns)
        right = _product(step.right, values, plan.columns)
        result = _summed(left, right, step)
        top = float(result.max()) or 1.0
        values.append(result / top)
        used = (*step.left, *step.right)
        tops.append(math.log(top) + sum(tops[k] for k in used))
    made = range(len(factors), len(values))
    with np.errstate(divide="ignore"):
        results = [Factor(plan.columns[k], np.log(values[k]) + tops[k]) for k in made]
    return [*factors, *results]


def _product(
    group: tuple[int, ...],
    values: Sequence[NDArray[np.float64]],
    columns: Sequence[Columns],
) -> _Named:
    onto = union(columns[k] for k in group)
    total: NDArray[np.float64] = np.ones(())
    for k in group:
        total = total * _spread_out(values[k], columns[k], onto)
    return onto, total


def _summed(left: _Named, right: _Named, step: Step) -> NDArray[np.float64]:
    """Multiply two tables and sum a column out, as a batch of matrix products."""
    if not step.right:
        return np.asarray(left[1].sum(axis=left[0].index(step.column)))
    shared = tuple(c for c in left[0] if c in right[0] and c != step.column)
    own = [
        tuple(c for c in t[0] if c not in shared and c != step.column)
        for t in (left, right)
    ]
    first = _as_matrices(left, shared, own[0], (step.column,))
    second = _as_matrices(right, shared, (step.column,), own[1])
    size = {c: n for t in (left, right) for c, n in zip(t[0], t[1].shape, strict=True)}
    found = (*shared, *own[0], *own[1])
    table = np.matmul(first, second).reshape([size[c] for c in found])
    return np.asarray(table.transpose([found.index(c) for c in step.result]))


def _as_matrices(
    table: _Named, batch: Columns, rows: Columns, columns: Columns
) -> NDArray[np.float64]:
    """Return a table as a stack of matrices."""
    names, values = table
    size = dict(zip(names, values.shape, strict=True))
    shape = [math.prod(size[c] for c in group) for group in (batch, rows, columns)]
    axes = [names.index(c) for c in (*batch, *rows, *columns)]
    return values.transpose(axes).reshape(shape)
