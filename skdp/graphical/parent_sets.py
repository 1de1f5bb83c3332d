"""Which sets of columns can be the parents of another, if their table may be so large.

Source: the maximal parent sets of PrivBayes (Zhang, Cormode, Procopiuc, Srivastava and
Xiao 2017), with bounds on the numbers of parents and of sets. All of it is public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb, prod

from skdp.graphical.domain import Domain

__all__ = ["Candidate", "maximal_parent_sets", "parent_candidates"]

#: A column and its parents.
Candidate = tuple[str, tuple[str, ...]]

Sets = list[tuple[int, ...]]


def parent_candidates(
    domain: Domain,
    chosen: Sequence[str],
    rest: Sequence[str],
    max_cells: int,
    max_parents: int,
    max_candidates: int,
) -> list[Candidate]:
    """List the columns that may come next, each with its maximal sets of parents.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels, at least two each.
    chosen : sequence of str
        The columns that can be parents.
    rest : sequence of str
        Those that can be children.
    max_cells : int
        Largest number of cells of the table over a column and its parents. A column
        that is larger alone has the empty set of parents.
    max_parents : int
        Largest number of parents.
    max_candidates : int
        With more of them the number of parents is limited further: to the largest for
        which there are no more. A single parent is always allowed.

    Returns
    -------
    list of (str, tuple of str)
        In the order of `rest`; parents in the order of `chosen`.

    Examples
    --------
    >>> domain = Domain(("a", "b", "c"), (2, 3, 4))
    >>> parent_candidates(domain, ["a", "b"], ["c"], 12, 2, 100)
    [('c', ('a',)), ('c', ('b',))]
    """
    sizes, limit = domain.shape(chosen), float(max_candidates)
    n_children = Counter(domain.shape(rest))
    # A child and its parents have two levels or more each.
    most = max(max_cells // 2, 1).bit_length() - 1
    for degree in range(min(max_parents, len(chosen), most), -1, -1):
        if degree <= 1:
            limit = float("inf")
        found = {
            size: maximal_parent_sets(sizes, max_cells // size, degree, limit / k)
            for size, k in n_children.items()
        }
        listed = [(name, found[domain.size(name)] or [()]) for name in rest]
        n_candidates = sum(len(sets) for _, sets in listed)
        if None not in found.values() and n_candidates <= limit:
            break
    return [
        (name, tuple(chosen[i] for i in members))
        for name, sets in listed
        for members in sets
    ]


def maximal_parent_sets(
    sizes: Sequence[int], max_cells: int, max_parents: int, limit: float
) -> Sets | None:
    """List the sets whose joint levels are few, and that no other such set contains.

    Parameters
    ----------
    sizes : sequence of int >= 2
        Numbers of levels of the columns.
    max_cells : int
        Largest product of the sizes of a set.
    max_parents : int
        Largest number of members of a set.
    limit : float
        Largest number of sets.

    Returns
    -------
    list of tuple of int, or None
        The sets as ascending positions; none at all if `max_cells` is below 1. None if
        there are more than `limit`.

    Examples
    --------
    >>> maximal_parent_sets([2, 3, 4], max_cells=8, max_parents=3, limit=9)
    [(0, 1), (0, 2)]
    >>> maximal_parent_sets([2, 3, 4], max_cells=8, max_parents=1, limit=9)
    [(0,), (1,), (2,)]
    """
    if _least_number(sizes, max_cells, max_parents) > limit:
        return None
    # What may be asked of the columns from each position on: cells and members.
    bounds = [{(max_cells, max_parents)}]
    for size in sizes:
        bounds.append(bounds[-1] | {(c // size, k - 1) for c, k in bounds[-1]})
    found: dict[tuple[int, int], Sets] = {
        (c, k): [()] if c >= 1 and k >= 0 else [] for c, k in bounds[-1]
    }
    for first in reversed(range(len(sizes))):
        later, found = found, {}
        for cells, members in bounds[first]:
            with_it = later[cells // sizes[first], members - 1]
            extended = set(with_it)
            without = [s for s in later[cells, members] if s not in extended]
            sets = [(first, *chosen) for chosen in with_it] + without
            if len(sets) > limit:  # what a result is made of is never longer than it
                return None
            found[cells, members] = sets
    return found[max_cells, max_parents]


def _least_number(sizes: Sequence[int], max_cells: int, max_parents: int) -> int:
    """Count the largest sets allowed among columns so small that they all fit."""
    small, n = sorted(sizes), 0
    for n in range(len(small), 0, -1):
        if prod(small[max(0, n - max_parents) : n]) <= max_cells:
            break
    return comb(n, max_parents)
