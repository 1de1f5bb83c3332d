"""The best strategy of all kinds, by the public error formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

from skdp.graphical.matrix_mechanism.marginals import optimal_marginals
from skdp.graphical.matrix_mechanism.strategy import Search, Strategy, Term
from skdp.graphical.matrix_mechanism.unions import (
    grouped,
    grouped_by_largest,
    optimal_union,
)

__all__ = ["KINDS", "MAX_DENSE", "best_strategy", "possible_kinds"]

KINDS = ("union", "kronecker", "marginals")

#: Most cells of an axis whose W'W is formed.
MAX_DENSE = 2000
#: Most subsets of columns that weighted marginals are chosen from.
_MAX_SUBSETS = 20_000


def possible_kinds(
    terms: Sequence[Term],
    sizes: Mapping[tuple[str, ...], int],
    max_cells: float,
) -> dict[str, str | None]:
    """Say of each kind of strategy why it cannot serve a workload.

    Parameters
    ----------
    terms : sequence of Term
        The workload.
    sizes : mapping of tuple of str to int
        Numbers of cells of its axes.
    max_cells : float
        Largest table over all columns that may be measured.

    Returns
    -------
    dict of str to (str or None)
        None where it can.
    """
    axes = set(sizes)
    n_columns = len({name for axis in axes for name in axis})
    joint = [axis for axis in axes if len(axis) > 1]
    n_subsets = sum(2 ** len(set(term.axes)) for term in terms)
    reasons: dict[str, str | None] = dict.fromkeys(KINDS)
    if joint and len(axes) > 1:
        several = f"it needs a matrix per column, but the one on {joint[0]} is joint"
        reasons["kronecker"] = reasons["marginals"] = several
    if joint:
        reasons["marginals"] = f"the matrix on {joint[0]} is no product of columns"
    n_cells = prod(sizes[axis] for axis in axes)
    if n_cells > max_cells:
        reasons["kronecker"] = (
            f"the table over all {n_columns} columns has {n_cells:.3g} cells, more "
            f"than {max_cells:.3g}"
        )
    if max(sizes.values()) > MAX_DENSE and len(set(grouped(terms))) > 1:
        reasons["kronecker"] = f"a column has more than {MAX_DENSE} levels"
    if n_subsets > _MAX_SUBSETS:
        reasons["marginals"] = f"there are more than {_MAX_SUBSETS} marginals"
    return reasons


@lru_cache(maxsize=16)
def best_strategy(
    terms: tuple[Term, ...],
    sizes: tuple[tuple[tuple[str, ...], int], ...],
    kinds: tuple[str, ...],
    search: Search,
) -> Strategy:
    """Return the strategy of least expected error among some kinds.

    Parameters
    ----------
    terms : tuple of Term
        The workload.
    sizes : tuple of (tuple of str, int)
        Numbers of cells of its axes.
    kinds : tuple of {"union", "kronecker", "marginals"}
        Kinds that are possible. Equal arguments give equal results, which are kept.
    search : Search
        How to look.

    Returns
    -------
    Strategy
        With normalised weights.
    """
    cells = dict(sizes)
    found: list[Strategy] = []
    if "union" in kinds:
        found.append(optimal_union(grouped(terms), cells, search))
        fewer = grouped_by_largest(terms)
        if len(fewer) < len(found[0].products):
            found.append(optimal_union(fewer, cells, search))
    if "kronecker" in kinds:
        found.append(optimal_union({tuple(cells): terms}, cells, search, "kronecker"))
    if "marginals" in kinds:
        levels = {axis[0]: n for axis, n in cells.items()}
        found.append(optimal_marginals(terms, levels, search))
    return min(found, key=lambda strategy: strategy.error)
