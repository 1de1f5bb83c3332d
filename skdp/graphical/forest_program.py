"""tau = 0: least squares over tables that agree on single columns, a sparse program.

If the measured tables form a forest joined in single columns, tables that agree
there are the marginals of a distribution, and this is the problem itself. Otherwise
it is a relaxation: its dual bounds the loss of every distribution from below, and
its tables are a good start. With one multiplier per table, column and level, and one
per column for the total::

    minimise (1/2) sum w_i (x_i - y_i)^2    subject to  K x = r,  x >= 0
    x(a) = max(0, y - K'a / w),   dual gradient K x(a) - r,   solved by Newton-CG
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skdp.graphical.linear_queries import Identity
from skdp.graphical.plan import Layout
from skdp.graphical.problem import Problem
from skdp.graphical.products import product_potentials
from skdp.graphical.regularised_dual import conjugate_gradients

__all__ = [
    "ForestSolution",
    "is_exact",
    "is_forest",
    "measures_tables",
    "solve_forest_program",
]

Array = NDArray[np.float64]

#: Weight, against the mean one, of a column that has no answer of its own.
_FAINT = 1e-6


@dataclass(frozen=True)
class ForestSolution:
    """Tables that agree on single columns.

    Parameters
    ----------
    potentials : ndarray of shape (n_cells,)
        Their product over the single columns, as potentials of the layout; the
        distribution has these tables as marginals if they form a forest.
    bound : float
        No distribution has a smaller loss.
    """

    potentials: Array
    bound: float


@dataclass(frozen=True)
class _Program:
    y: Array
    w: Array
    signed: NDArray[np.bool_]  # cells that may be negative: implied otherwise
    closed: NDArray[np.bool_]  # structural zeros
    constraints: sp.csr_array  # K'
    right: Array
    constant: float
    tables: tuple[tuple[tuple[str, ...], slice], ...]
    columns: tuple[tuple[str, slice, bool], ...]  # name, cells, measured


def measures_tables(problem: Problem) -> bool:
    """Tell whether every measurement is of a marginal itself.

    Parameters
    ----------
    problem : Problem
        Answers and queries.

    Returns
    -------
    bool
        Then the program bounds the loss.
    """
    return all(isinstance(block.query, Identity) for block in problem.blocks)


def is_exact(problem: Problem) -> bool:
    """Tell whether the program is the problem itself.

    Parameters
    ----------
    problem : Problem
        Answers and queries.

    Returns
    -------
    bool
        Whether every clique was measured, and they form a forest.
    """
    measured = {block.cells.start for block in problem.blocks}
    starts = set(problem.layout.offsets[:-1])
    return measures_tables(problem) and measured == starts and is_forest(problem.layout)


def is_forest(layout: Layout) -> bool:
    """Tell whether the cliques form a forest joined in single columns.

    Parameters
    ----------
    layout : Layout
        The cliques.

    Returns
    -------
    bool
        Then tables that agree on single columns belong to a distribution.
    """
    root = {name: name for name in layout.domain.names}

    def find(name: str) -> str:
        while root[name] != name:
            name = root[name]
        return name

    for clique in layout.cliques:
        roots = {find(name) for name in clique}
        if len(roots) < len(clique):
            return False
        for other in roots:
            root[other] = find(clique[0])
    return True


def solve_forest_program(problem: Problem, floor: float = 0.0) -> ForestSolution:
    """Solve the program.

    Parameters
    ----------
    problem : Problem
        All its measurements are of marginals themselves.
    floor : float, default=0.0
        Added to every cell before the logarithm, in counts; 0 for exact zeros.

    Returns
    -------
    ForestSolution
        Potentials and bound.
    """
    program = _make_program(problem)
    multipliers = _newton(program, problem.total)
    x = _primal(program, multipliers)
    potentials = _program_potentials(problem, program, x, floor)
    return ForestSolution(potentials, _strict_bound(program, multipliers))


def _make_program(problem: Problem) -> _Program:
    layout, domain = problem.layout, problem.layout.domain
    weight, mean, constant = _pooled(problem)
    closed_cells = np.isneginf(problem.base)
    measured = [
        (clique, place)
        for clique, place in zip(layout.cliques, layout.slices(), strict=True)
        if weight[place.start] > 0
    ]
    tables = [(c, place) for c, place in measured if len(c) > 1]
    singles = {c[0]: place for c, place in measured if len(c) == 1}
    names = domain.sort(name for clique, _ in measured for name in clique)
    parts, own_tables, columns, end = [], [], [], 0
    for clique, place in tables:
        parts.append((mean[place], weight[place], closed_cells[place], False))
        own_tables.append((clique, slice(end, end + len(mean[place]))))
        end += len(mean[place])
    faint = _FAINT * float(weight[weight > 0].mean())
    for name in names:
        size, own = domain.size(name), singles.get(name)
        joined = any(name in clique for clique, _ in tables)
        if own is None:
            guess = np.full(size, problem.total / size)
            parts.append((guess, np.full(size, faint), np.zeros(size, bool), joined))
        else:
            parts.append((mean[own], weight[own], closed_cells[own], joined))
        columns.append((name, slice(end, end + size), own is not None))
        end += size
    y, w, closed = (np.concatenate([part[i] for part in parts]) for i in range(3))
    signed = np.concatenate([np.full(len(part[0]), part[3]) for part in parts])
    constraints, right = _constraints(layout, own_tables, columns, problem.total)
    return _Program(
        y,
        w,
        signed,
        closed,
        constraints,
        right,
        constant,
        tuple(own_tables),
        tuple(columns),
    )


def _pooled(problem: Problem) -> tuple[Array, Array, float]:
    """Pool measurements of the same marginal: precision, mean, and what is left."""
    precision, moment = np.zeros(len(problem.base)), np.zeros(len(problem.base))
    square = 0.0
    for block in problem.blocks:
        y, w = problem.answers[block.answers], problem.sigma[block.answers] ** -2.0
        precision[block.cells] += w
        moment[block.cells] += w * y
        square += float(w @ y**2)
    known = np.where(precision > 0, precision, 1.0)
    mean = moment / known
    return precision, mean, (square - float(moment @ mean)) / 2.0


def _constraints(
    layout: Layout,
    tables: list[tuple[tuple[str, ...], slice]],
    columns: list[tuple[str, slice, bool]],
    total: float,
) -> tuple[sp.csr_array, Array]:
    """Return K' (a row per cell) and r."""
    domain, place = layout.domain, {name: cells for name, cells, _ in columns}
    rows, cols, signs, end = [], [], [], 0
    for clique, cells in tables:
        levels = np.unravel_index(
            np.arange(cells.stop - cells.start), domain.shape(clique)
        )
        for name, level in zip(clique, levels, strict=True):
            size = domain.size(name)
            rows += [np.arange(cells.start, cells.stop)]
            rows += [np.arange(place[name].start, place[name].stop)]
            cols += [end + level, end + np.arange(size)]
            signs += [-np.ones(len(level)), np.ones(size)]
            end += size
    first_total = end
    for _, cells, _ in columns:
        size = cells.stop - cells.start
        rows.append(np.arange(cells.start, cells.stop))
        cols.append(np.full(size, end))
        signs.append(np.ones(size))
        end += 1
    n_cells = columns[-1][1].stop
    triples = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(cols)))
    right = np.zeros(end)
    right[first_total:] = total
    return sp.csr_array(sp.coo_array(triples, shape=(n_cells, end))), right


def _primal(program: _Program, multipliers: Array) -> Array:
    x = program.y - (program.constraints @ multipliers) / program.w
    x = np.where(program.signed, x, np.maximum(x, 0.0))
    x[program.closed] = 0.0
    return x


def _dual_value(program: _Program, multipliers: Array, x: Array) -> float:
    loss = float(program.w @ (x - program.y) ** 2) / 2.0
    slack = program.constraints.T @ x - program.right
    return loss + float(multipliers @ slack) + program.constant


def _newton(program: _Program, total: float) -> Array:
    """Maximise the dual; a Newton step uses the cells that are not zero."""
    multipliers = np.zeros(len(program.right))
    x = _primal(program, multipliers)
    value = _dual_value(program, multipliers, x)
    for _ in range(100):
        gradient = program.constraints.T @ x - program.right
        worst = float(np.abs(gradient).max())
        if worst <= 1e-8 * total:
            break
        tolerance = min(0.1, (worst / total) ** 0.5)
        direction = _newton_direction(program, x, gradient, tolerance)
        slope, step = float(gradient @ direction), 1.0
        while step > 1e-10:
            trial = multipliers + step * direction
            moved = _primal(program, trial)
            found = _dual_value(program, trial, moved)
            if found >= value + 1e-4 * step * slope - 1e-13 * abs(value):
                break
            step /= 2.0
        else:
            break
        multipliers, x, value = trial, moved, found
    return multipliers


def _newton_direction(
    program: _Program, x: Array, gradient: Array, tolerance: float
) -> Array:
    active = ((x > 0.0) | program.signed) & ~program.closed
    rows = program.constraints[np.flatnonzero(active)]
    scaled = sp.diags_array(1.0 / program.w[active]) @ rows
    hessian = sp.csr_array(rows.T @ scaled)
    diagonal = hessian.diagonal()
    ridge = 1e-10 * float(diagonal.max())
    return conjugate_gradients(
        lambda p: hessian @ p + ridge * p, gradient, diagonal + ridge, tolerance, 500
    )


def _strict_bound(program: _Program, multipliers: Array) -> float:
    """Bound the loss without the faint weights of columns that were not measured.

    Such a column is free, so the multipliers that meet in each of its cells must
    cancel: what they leave is shared among them before the dual is evaluated.
    """
    constraints, balanced = program.constraints, multipliers.copy()
    measured = np.ones(len(program.y), dtype=bool)
    for _, cells, was_measured in program.columns:
        measured[cells] = was_measured
    for _, cells, was_measured in program.columns:
        if was_measured:
            continue
        rows = constraints[cells]
        ends = rows.tocsc()[:, np.diff(rows.tocsc().indptr) == 1]
        degree = ends.shape[1] // (cells.stop - cells.start)
        if degree == 0:
            continue
        kept = np.flatnonzero(np.diff(rows.tocsc().indptr) == 1)
        balanced[kept] -= (ends.T @ (rows @ multipliers)) / degree
    x = np.where(measured, _primal(program, balanced), 0.0)
    w = np.where(measured, program.w, 0.0)
    loss = float(w @ (x - program.y) ** 2) / 2.0
    slack = constraints.T @ x - program.right
    return loss + float(balanced @ slack) + program.constant


def _program_potentials(
    problem: Problem, program: _Program, x: Array, floor: float
) -> Array:
    layout, domain = problem.layout, problem.layout.domain
    tables = {
        clique: x[cells].reshape(domain.shape(clique)) + floor
        for clique, cells in program.tables
    }
    singles = {name: x[cells] + floor for name, cells, _ in program.columns}
    closed = np.where(np.isneginf(problem.base), -np.inf, 0.0)
    return closed + product_potentials(layout, tables, singles)
