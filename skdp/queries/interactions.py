"""Two-way interactions of all variables, or of some pairs, as one query.

In the simplex code (:mod:`skdp.stats.simplex_codes`) the interaction of two variables
is orthogonal to their margins. So one release holds all pairs at about the sensitivity
of as many count tables, but carries less noise where it matters, and no margin is
bought more than once.

The code is irrational for more than two levels. What a record adds is therefore looked
up in public tables of integers, the products in steps of 2^-20, and sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from skdp.records.pairwise import pairwise_counts
from skdp.stats.simplex_codes import (
    interaction_sensitivity,
    main_effect_weight,
    simplex_code,
)

from .base import Norm, PublicFacts, Query, check_norm

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["STEPS_PER_UNIT", "Interactions", "PairInteractions"]

Pair = tuple[str, str]

#: Answers are in units of 2^-20.
STEPS_PER_UNIT = 2**20


@dataclass(frozen=True)
class Interactions(Query):
    r"""Main effects and interactions of all pairs of some variables.

    The answer holds, first, :math:`w \sum f_i` for each variable, then the rows of
    :math:`\sum f_i f_j'` for each pair i < j, in the order of the names; all in steps
    of :math:`2^{-20}`, with :math:`w = \sqrt{d/8}`.

    Parameters
    ----------
    names : tuple of str
        At least two columns. One of a single level adds nothing.

    Notes
    -----
    In exact arithmetic the L2 sensitivity is :func:`interaction_sensitivity`. A rounded
    coordinate changes by at most one step more than the exact one, and those of two
    variables of two levels are whole numbers; so p others add :math:`\sqrt p` steps.
    """

    names: tuple[str, ...]

    integral: ClassVar[bool] = True

    def __post_init__(self) -> None:
        names = tuple(self.names)
        object.__setattr__(self, "names", names)
        if len(set(names)) < max(len(names), 2):
            raise ValueError(f"Give two or more columns, each once, not {names}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that interact."""
        return self.names

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs whose interactions are in the answer, in order."""
        return tuple(combinations(self.names, 2))

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return the number of main effects and interactions.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        tuple of int
            (p,).
        """
        free = [public.schema.n_levels(name) - 1 for name in self.names]
        return (sum(free) + sum(a * b for a, b in combinations(free, 2)),)

    def evaluate(self, records: CountTable) -> NDArray:
        """Add up what the records contribute. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray of int64, shape (p,)
            In steps.
        """
        tables = _PairTables(records, self.names)
        weight = main_effect_weight(len(self.names))
        effects = [
            np.diag(tables(name, name)) @ _main_steps(tables.levels[name], weight)
            for name in self.names
        ]
        return np.concatenate([*effects, *_interactions(tables, self.pairs)])

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the answer when one record is replaced.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change. The L2 norm is tight to the rounding; the others follow
            from it.

        Returns
        -------
        float
            In steps.
        """
        weight = main_effect_weight(len(self.names))
        levels = [r for r in map(public.schema.n_levels, self.names) if r > 1]
        exact = interaction_sensitivity(levels, weight)
        rounded = sum(r - 1 for r in levels) + _irrational(combinations(levels, 2))
        return _in_norm(exact, rounded, ord, self.shape(public)[0])


@dataclass(frozen=True)
class PairInteractions(Query):
    r"""Interactions of chosen pairs of variables.

    The answer holds the rows of :math:`\sum f_i f_j'` for each pair, in steps of
    :math:`2^{-20}`.

    Parameters
    ----------
    pairs : tuple of (str, str)
        At least one pair, none twice. A column of a single level adds nothing.

    Notes
    -----
    As for `Interactions`, the squared change of one pair is :math:`2 - 2 s_i s_j`, at
    most :math:`2 + 2/(\min(r_i, r_j) - 1)`; the sum of these is one bound. And as
    :math:`-\sum s_i s_j = -s'As/2` for the adjacency matrix A of the pairs and
    :math:`|s|^2 \le d`, another is
    :math:`2 |E| - d \min(0, \lambda_{min}(A))`.
    """

    pairs: tuple[Pair, ...]

    integral: ClassVar[bool] = True

    def __post_init__(self) -> None:
        pairs = tuple((x, y) for x, y in self.pairs)
        object.__setattr__(self, "pairs", pairs)
        if not pairs or len({frozenset(pair) for pair in pairs}) < len(pairs):
            raise ValueError("There must be at least one pair, and none twice.")
        if any(x == y for x, y in pairs):
            raise ValueError("A pair must have two columns.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that interact."""
        return tuple(dict.fromkeys(name for pair in self.pairs for name in pair))

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return the number of interactions.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        tuple of int
            (p,).
        """
        levels = [self._levels(public, pair) for pair in self.pairs]
        return (sum((r - 1) * (c - 1) for r, c in levels),)

    def evaluate(self, records: CountTable) -> NDArray:
        """Add up what the records contribute. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray of int64, shape (p,)
            In steps.
        """
        tables = _PairTables(records, self.columns)
        return np.concatenate(list(_interactions(tables, self.pairs)))

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the answer when one record is replaced.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            In steps.
        """
        pairs = [p for p in self.pairs if min(self._levels(public, p)) > 1]
        if not pairs:
            return 0.0
        levels = [self._levels(public, pair) for pair in pairs]
        apart = sum(2 + 2 / (min(pair) - 1) for pair in levels)
        graph = nx.Graph(pairs)
        least = float(np.linalg.eigvalsh(nx.to_numpy_array(graph))[0])
        # The eigenvalue is computed with an error far below this.
        together = 2 * len(levels) + len(graph) * max(0.0, 1e-9 - least)
        exact = sqrt(min(apart, together))
        return _in_norm(exact, _irrational(levels), ord, self.shape(public)[0])

    @staticmethod
    def _levels(public: PublicFacts, pair: Pair) -> tuple[int, int]:
        x, y = pair
        return public.schema.n_levels(x), public.schema.n_levels(y)


class _PairTables:
    """The contingency tables of all pairs of some columns."""

    def __init__(self, records: CountTable, names: tuple[str, ...]) -> None:
        self.levels = {name: records.schema.n_levels(name) for name in names}
        ends = np.cumsum(list(self.levels.values()))
        self._at = {
            name: slice(end - r, end)
            for (name, r), end in zip(self.levels.items(), ends, strict=True)
        }
        self._counts = pairwise_counts(records, names)

    def __call__(self, x: str, y: str) -> NDArray[np.int64]:
        return self._counts[self._at[x], self._at[y]]


def _interactions(
    tables: _PairTables, pairs: tuple[Pair, ...]
) -> Iterator[NDArray[np.int64]]:
    for x, y in pairs:
        steps = _pair_steps(tables.levels[x], tables.levels[y])
        yield tables(x, y).ravel() @ steps


@lru_cache(maxsize=4096)
def _pair_steps(r: int, c: int) -> NDArray[np.int64]:
    """What a record of levels (a, b) adds, shape (r c, (r - 1)(c - 1))."""
    return _steps(np.asarray(np.kron(simplex_code(r), simplex_code(c))))


@lru_cache(maxsize=256)
def _main_steps(r: int, weight: float) -> NDArray[np.int64]:
    return _steps(weight * simplex_code(r))


def _steps(values: NDArray[np.float64]) -> NDArray[np.int64]:
    steps = np.rint(values * STEPS_PER_UNIT).astype(np.int64)
    steps.setflags(write=False)
    return steps


def _irrational(levels: Iterator[tuple[int, int]] | list[tuple[int, int]]) -> int:
    """Count the coordinates of pairs that are not both of two levels."""
    return sum((r - 1) * (c - 1) for r, c in levels if (r, c) != (2, 2))


def _in_norm(exact: float, n_rounded: int, ord: Norm, n_coordinates: int) -> float:
    """Turn an L2 sensitivity into steps of the lattice, and into another norm."""
    check_norm(ord)
    # A millionth of a step for the floating-point products before they are rounded.
    steps = STEPS_PER_UNIT * exact * (1 + 1e-12) + sqrt(n_rounded) * (1 + 1e-6)
    return steps * sqrt(n_coordinates) if ord == 1 else steps
