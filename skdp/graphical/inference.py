"""Plans of variable elimination: what is joined when, and how large it gets.

Each step joins the factors that hold a column and sums the column out. The tables of a
plan are counted before anything is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skdp.exceptions import ModelTooLargeError
from skdp.graphical.domain import Domain
from skdp.graphical.elimination import best_elimination

__all__ = [
    "Columns",
    "Plan",
    "Sizes",
    "Step",
    "batches",
    "n_cells",
    "plan_elimination",
    "plan_steps",
    "union",
]


#: Cells of a table with an axis of records.
_BATCH_CELLS = 1 << 22

Sizes = Mapping[str, int]
Columns = tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """One column to sum out.

    Parameters
    ----------
    column : str
        The column.
    left, right : tuple of int
        The factors that hold it, in two groups that are multiplied one by one and
        then with each other; `right` may be empty. Factors are numbered: those of the
        model first, then the result of each step.
    result : tuple of str
        Columns of what is left.
    """

    column: str
    left: tuple[int, ...]
    right: tuple[int, ...]
    result: Columns


@dataclass(frozen=True)
class Plan:
    """The steps of an elimination, and what they cost.

    Parameters
    ----------
    steps : tuple of Step
        In order.
    rest : tuple of int
        Factors that are left in the end.
    columns : tuple of tuple of str
        Columns of every factor, the results of the steps included.
    stored : tuple of tuple of str
        Columns of every table that is held in memory on the way.
    """

    steps: tuple[Step, ...]
    rest: tuple[int, ...]
    columns: tuple[Columns, ...]
    stored: tuple[Columns, ...]

    def refuse_beyond(self, max_cells: float, sizes: Sizes) -> None:
        """Refuse a plan that stores a table of more cells than allowed.

        Parameters
        ----------
        max_cells : float
            The limit.
        sizes : mapping of str to int
            Numbers of levels.

        Raises
        ------
        ModelTooLargeError
            Names the columns of the table.
        """
        largest = max(self.stored, key=lambda table: n_cells(table, sizes))
        cells = n_cells(largest, sizes)
        if cells > max_cells:
            named = ", ".join(f"{c!r} ({sizes[c]} levels)" for c in largest)
            raise ModelTooLargeError(
                f"The answer needs a table of {cells:.3g} cells ({cells * 8 / 1e9:.3g} "
                f"GB), more than the limit of {max_cells:.3g}, over the columns "
                f"{named}. Ask for fewer columns at once, give them fewer levels, or "
                "leave out a clique that joins them."
            )


def plan_steps(factors: Iterable[Columns], order: Iterable[str], sizes: Sizes) -> Plan:
    """Plan an elimination on paper.

    Parameters
    ----------
    factors : iterable of tuple of str
        The columns of each factor.
    order : iterable of str
        The columns to sum out, first one first; each in some factor.
    sizes : mapping of str to int
        Numbers of levels.

    Returns
    -------
    Plan
        The steps and the largest table that they store.

    Examples
    --------
    >>> plan = plan_steps([("a", "b"), ("b", "c")], "ab", {"a": 2, "b": 3, "c": 4})
    >>> [step.result for step in plan.steps]
    [('b',), ('c',)]
    """
    columns = list(factors)
    stored = list(columns)
    live = dict.fromkeys(range(len(columns)))
    steps = []
    for name in order:
        touched = [k for k in live if name in columns[k]]
        left, right = _two_groups(touched, columns, sizes)
        unions = [union(columns[k] for k in group) for group in (left, right)]
        result = tuple(c for c in union(unions) if c != name)
        steps.append(Step(name, left, right, result))
        for k in touched:
            del live[k]
        live[len(columns)] = None
        columns.append(result)
        stored += [*unions, result]
    stored.append(union(columns[k] for k in live))
    return Plan(tuple(steps), tuple(live), tuple(columns), tuple(stored))


def plan_elimination(factors: Iterable[Columns], keep: Columns, sizes: Sizes) -> Plan:
    """Plan to sum out every column of some factors but a few, in a cheap order.

    Parameters
    ----------
    factors : iterable of tuple of str
        The columns of each factor.
    keep : tuple of str
        Columns that are left; those that no factor has are counted as uniform.
    sizes : mapping of str to int
        Numbers of levels.

    Returns
    -------
    Plan
        Its stored tables include the one over `keep`.
    """
    scopes = list(factors)
    domain = Domain(tuple(sizes), tuple(sizes.values()))
    # A few good orders: for one answer a long search costs more than it saves.
    found = best_elimination(domain, scopes, keep=keep, n_restarts=0)
    plan = plan_steps(scopes, found.order, sizes)
    return replace(plan, stored=(*plan.stored, keep))


def batches(n: int, cells_per_item: int) -> Iterator[slice]:
    """Cut a range into slices whose tables stay small.

    Parameters
    ----------
    n : int
        Length of the range.
    cells_per_item : int
        Cells of a table for one item.

    Yields
    ------
    slice
        The next items.
    """
    size = max(1, _BATCH_CELLS // max(1, cells_per_item))
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


def _two_groups(
    touched: list[int], columns: Sequence[Columns], sizes: Sizes
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Put the largest factor, and what lies inside it, left, the others right."""
    largest = max(touched, key=lambda k: n_cells(columns[k], sizes))
    inside = set(columns[largest])
    left = tuple(k for k in touched if inside.issuperset(columns[k]))
    return left, tuple(k for k in touched if k not in left)


def union(tables: Iterable[Columns]) -> Columns:
    """Return the columns of some tables, each once.

    Parameters
    ----------
    tables : iterable of tuple of str
        The axes of each table.

    Returns
    -------
    tuple of str
        In order of appearance.
    """
    return tuple(dict.fromkeys(name for table in tables for name in table))


def n_cells(columns: Columns, sizes: Sizes) -> int:
    """Return the number of cells of a table.

    Parameters
    ----------
    columns : tuple of str
        Its axes.
    sizes : mapping of str to int
        Numbers of levels.

    Returns
    -------
    int
        However large.
    """
    return math.prod(sizes[name] for name in columns)
