"""How to compute all marginals of a clique set, decided once and without any table.

Columns are summed out one after the other. The factors that hold a column are
split into two groups that are multiplied as matrices (batched over the columns that
both groups have), so that the joint table of an elimination step, a clique of the
junction tree, is never formed. What is stored are the measured tables, the messages
and, where a group has several factors, their product.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from skdp.graphical.domain import Domain
from skdp.graphical.elimination import Elimination, best_elimination
from skdp.graphical.size import MAX_MODEL_SIZE, check_table, check_work

__all__ = ["Group", "Layout", "Plan", "Step", "make_layout", "make_plan"]

#: Largest number of bundles of factors whose splits are all tried.
_MAX_BUNDLES = 9


@dataclass(frozen=True)
class Layout:
    """Where the cells of each clique lie in one flat array.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : tuple of tuple of str
        Different cliques, in the order of the domain; those inside no other first.
    offsets : tuple of int
        Where each clique begins, and the end.
    homes : tuple of int
        Per clique the maximal clique that it is a part of (itself, if maximal).
    n_maximal : int
        Number of maximal cliques.
    """

    domain: Domain
    cliques: tuple[tuple[str, ...], ...]
    offsets: tuple[int, ...]
    homes: tuple[int, ...]
    n_maximal: int

    @property
    def n_cells(self) -> int:
        """Length of the flat array."""
        return self.offsets[-1]

    def place(self, clique: Sequence[str]) -> slice:
        """Return where the cells of a clique lie.

        Parameters
        ----------
        clique : sequence of str
            One of the cliques, in any order.

        Returns
        -------
        slice
            Into the flat array.
        """
        k = self.cliques.index(self.domain.sort(clique))
        return slice(self.offsets[k], self.offsets[k + 1])

    def slices(self) -> tuple[slice, ...]:
        """Return where the cells of every clique lie.

        Returns
        -------
        tuple of slice
            In the order of `cliques`.
        """
        ends = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        return tuple(slice(a, b) for a, b in ends)


@dataclass(frozen=True)
class Group:
    """Factors that are multiplied with each other before the matrix product.

    Parameters
    ----------
    factors : tuple of int
        Their numbers.
    orders : tuple of tuple of int
        Per factor the transposition into the axes of the group.
    shapes : tuple of tuple of int
        Per factor its shape then, 1 where it lacks an axis.
    returns : tuple of tuple of int
        Per factor the transposition back.
    lacks : tuple of tuple of int
        Per factor the axes it lacks.
    shape : tuple of int
        Shape of the product.
    matrix : tuple of int
        The product as (batch of) matrices.
    """

    factors: tuple[int, ...]
    orders: tuple[tuple[int, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    returns: tuple[tuple[int, ...], ...]
    lacks: tuple[tuple[int, ...], ...]
    shape: tuple[int, ...]
    matrix: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """The elimination of one column.

    Parameters
    ----------
    left, right : Group, Group or None
        The message is left @ right; without `right`, the sum of `left` over its last
        axis.
    shape : tuple of int
        Shape of the message; () ends a component of the model.
    matrix : tuple of int
        The message as (batch of) matrices.
    """

    left: Group
    right: Group | None
    shape: tuple[int, ...]
    matrix: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """A layout and the steps of one pass. Factor h < n_maximal is a measured table,
    factor n_maximal + k is the message of step k.

    Parameters
    ----------
    layout : Layout
        Where the cells lie.
    steps : tuple of Step
        In the order of elimination.
    work : int
        Multiplications of the matrix products of one pass.
    stored_cells : int
        Cells of all tables that exist at the same time.
    largest_table : int
        Cells of the largest of them.
    """

    layout: Layout
    steps: tuple[Step, ...]
    work: int
    stored_cells: int
    largest_table: int


def make_layout(domain: Domain, cliques: Iterable[Sequence[str]]) -> Layout:
    """Lay the cells of some cliques out in one array.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : iterable of sequences of str
        May repeat themselves.

    Returns
    -------
    Layout
        Maximal cliques first, otherwise in the order given.
    """
    distinct = list(dict.fromkeys(domain.sort(clique) for clique in cliques))
    sets = [frozenset(clique) for clique in distinct]
    is_part = [any(a < b for b in sets) for a in sets]
    order = [i for i in range(len(sets)) if not is_part[i]]
    n_maximal = len(order)
    order += [i for i in range(len(sets)) if is_part[i]]
    ordered = tuple(distinct[i] for i in order)
    sizes = [domain.n_cells(clique) for clique in ordered]
    homes = tuple(
        k if k < n_maximal else _home(frozenset(ordered[k]), ordered[:n_maximal], sizes)
        for k in range(len(ordered))
    )
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + size)
    return Layout(domain, ordered, tuple(offsets), homes, n_maximal)


def _home(
    part: frozenset[str], maximal: Sequence[tuple[str, ...]], sizes: list[int]
) -> int:
    holding = [h for h, clique in enumerate(maximal) if part <= set(clique)]
    return min(holding, key=lambda h: sizes[h])


def make_plan(
    domain: Domain,
    cliques: Iterable[Sequence[str]],
    *,
    elimination: Elimination | None = None,
    max_model_size: float = MAX_MODEL_SIZE,
) -> Plan:
    """Plan the marginal oracle of some cliques.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : iterable of sequences of str
        The tables that potentials and marginals are wanted for.
    elimination : Elimination or None, default=None
        An order over all their columns; by default the best that is found.
    max_model_size : float, default=1e9
        Largest number of multiplications in one pass; the stored tables may have a
        tenth of it as cells.

    Returns
    -------
    Plan
        A pure description: no table exists yet.

    Raises
    ------
    ModelTooLargeError
        With the size, the cliques that cause it, and what to do.
    """
    layout_cliques = [tuple(clique) for clique in cliques]
    found = elimination or best_elimination(domain, layout_cliques)
    check_work(domain, layout_cliques, found, max_model_size)
    layout = make_layout(domain, layout_cliques)
    planner = _Planner(domain, layout.cliques[: layout.n_maximal], max_model_size / 10)
    steps = tuple(planner.eliminate(name) for name in found.order)
    return Plan(layout, steps, planner.work, planner.stored, planner.largest)


class _Planner:
    """Keeps track of the live factors while columns are eliminated on paper."""

    def __init__(
        self, domain: Domain, cliques: Sequence[tuple[str, ...]], max_cells: float
    ) -> None:
        self.domain = domain
        self.axes = list(cliques)  # of every factor, in the order it is stored in
        self.live = set(range(len(cliques)))
        self.work = self.stored = self.largest = 0
        self.max_cells = max_cells
        for clique in cliques:
            self._store(clique)

    def eliminate(self, name: str) -> Step:
        touched = sorted(f for f in self.live if name in self.axes[f])
        bundles = _bundles([(frozenset(self.axes[f]), (f,)) for f in touched])
        left, right = touched, list[int]()
        if len(touched) > 1:
            left, right = self._split(touched, bundles, name)
        a, b = self._union(left), self._union(right)
        batch = self.domain.sort((a & b) - {name})
        rows, columns = self.domain.sort(a - b - {name}), self.domain.sort(b - a)
        if not right:
            batch, rows = (), self._single_order(left[0], name)
        message = batch + rows + columns
        step = Step(
            self._group(left, (batch, rows, (name,))),
            self._group(right, (batch, (name,), columns)) if right else None,
            self.domain.shape(message),
            self._matrix((batch, rows, columns)) if right else self._matrix((rows,)),
        )
        self.work += self.domain.n_cells({*message, name})
        self.live -= set(touched)
        self.live.add(len(self.axes))
        self.axes.append(message)
        self._store(message)
        return step

    def _single_order(self, factor: int, name: str) -> tuple[str, ...]:
        return tuple(axis for axis in self.axes[factor] if axis != name)

    def _store(self, names: Iterable[str]) -> None:
        names = tuple(names)
        check_table(self.domain, names, self.max_cells)
        self.stored += self.domain.n_cells(names)
        self.largest = max(self.largest, self.domain.n_cells(names))

    def _union(self, factors: Iterable[int]) -> frozenset[str]:
        return frozenset(name for f in factors for name in self.axes[f])

    def _matrix(self, parts: Iterable[Sequence[str]]) -> tuple[int, ...]:
        shape = tuple(self.domain.n_cells(part) for part in parts)
        return shape[1:] if len(shape) == 3 and shape[0] == 1 else shape

    def _group(self, factors: list[int], parts: tuple[tuple[str, ...], ...]) -> Group:
        axes = parts[0] + parts[1] + parts[2]
        if len(factors) > 1:
            self._store(axes)
        domain, owns = self.domain, [self.axes[f] for f in factors]
        kept = [[name for name in axes if name in own] for own in owns]
        pairs = list(zip(owns, kept, strict=True))
        return Group(
            factors=tuple(factors),
            orders=tuple(tuple(own.index(a) for a in there) for own, there in pairs),
            shapes=tuple(
                tuple(domain.size(a) if a in own else 1 for a in axes) for own in owns
            ),
            returns=tuple(tuple(there.index(a) for a in own) for own, there in pairs),
            lacks=tuple(
                tuple(i for i, a in enumerate(axes) if a not in own) for own in owns
            ),
            shape=domain.shape(axes),
            matrix=self._matrix(parts),
        )

    def _split(
        self, touched: list[int], bundles: list[tuple[int, ...]], name: str
    ) -> tuple[list[int], list[int]]:
        """Choose the two groups whose products and matrix product cost least."""
        if len(bundles) == 1:
            largest = max(touched, key=lambda f: self.domain.n_cells(self.axes[f]))
            return [largest], [f for f in touched if f != largest]
        best, chosen = math.inf, bundles
        for left in _proper_subsets(bundles):
            right = [bundle for bundle in bundles if bundle not in left]
            cost = self._cost(_flat(left), _flat(right), name)
            if cost < best:
                best, chosen = cost, left
        return _flat(chosen), [f for f in touched if f not in _flat(chosen)]

    def _cost(self, left: list[int], right: list[int], name: str) -> float:
        a, b = self._union(left), self._union(right)
        n_cells = self.domain.n_cells
        products = sum(
            3.0 * n_cells(union)
            for group, union in ((left, a), (right, b))
            if len(group) > 1
        )
        is_matrix = bool(a - b) and bool(b - a)
        multiply = (0.1 if is_matrix else 0.5) * n_cells(a | b)
        return products + multiply + 30.0 * n_cells((a & b) - {name})


def _bundles(
    factors: list[tuple[frozenset[str], tuple[int, ...]]],
) -> list[tuple[int, ...]]:
    """Join factors inside others, and then small unions, until few are left."""
    while len(factors) > _MAX_BUNDLES:
        pairs = combinations(range(len(factors)), 2)
        i, j = min(pairs, key=lambda p: len(factors[p[0]][0] | factors[p[1]][0]))
        joined = (factors[i][0] | factors[j][0], factors[i][1] + factors[j][1])
        factors = [f for k, f in enumerate(factors) if k not in (i, j)] + [joined]
    return [numbers for _, numbers in factors]


def _flat(bundles: Iterable[tuple[int, ...]]) -> list[int]:
    return sorted(f for bundle in bundles for f in bundle)


def _proper_subsets(
    bundles: list[tuple[int, ...]],
) -> Iterator[list[tuple[int, ...]]]:
    """Yield one side of every split in two; the first bundle is always in it."""
    first, rest = bundles[0], bundles[1:]
    for size in range(len(rest)):
        for chosen in combinations(rest, size):
            yield [first, *chosen]
