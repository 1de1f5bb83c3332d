"""Which parents a column may have while a Bayesian network grows.

Two public rules: a table must be useful, and the graphical model on all tables must not
become too large. The second one is that of no paper; without it a model of a network
that was paid for might not fit into memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.elimination import best_elimination, work_with_each
from skdp.graphical.parent_sets import Candidate, parent_candidates

__all__ = ["NetworkRules"]


@dataclass(frozen=True)
class NetworkRules:
    """Which parents a column may have, by public sizes and earlier choices.

    Parameters
    ----------
    domain : Domain
        The columns, of at least two levels each.
    max_cells : int
        Largest table that is useful.
    max_parents : int
        Largest number of parents.
    max_candidates : int
        Number of candidates beyond which there are fewer parents.
    max_work : float
        Largest number of cells that a pass over the graphical model joins.
    """

    domain: Domain
    max_cells: int
    max_parents: int
    max_candidates: int
    max_work: float

    def candidates(self, families: Sequence[tuple[str, ...]]) -> list[Candidate]:
        """List what may come next.

        Parameters
        ----------
        families : sequence of tuple of str
            The parents of each column of the network so far, then the column.

        Returns
        -------
        list of (str, tuple of str)
            At least one.
        """
        chosen = [family[-1] for family in families]
        rest = [name for name in self.domain.names if name not in set(chosen)]
        pending = parent_candidates(
            self.domain,
            chosen,
            rest,
            self.max_cells,
            self.max_parents,
            self.max_candidates,
        )
        work, kept = self.work(families), list[Candidate]()
        while pending:
            fits = self._bounds(families, work, pending) <= self.max_work
            # A column alone has been accepted before anything was spent.
            fits |= [not parents for _, parents in pending]
            kept += [pair for pair, fit in zip(pending, fits, strict=True) if fit]
            large = [pair for pair, fit in zip(pending, fits, strict=True) if not fit]
            pending = _reduced(large, kept)[: self.max_candidates]
        return kept

    def work(self, families: Sequence[tuple[str, ...]]) -> int:
        """Count the cells that a pass over a model of some families joins.

        Parameters
        ----------
        families : sequence of tuple of str
            Parents and column each.

        Returns
        -------
        int
            With all columns, those that have no family as well.
        """
        return _work(self.domain, tuple(families))

    def _bounds(
        self,
        families: Sequence[tuple[str, ...]],
        work: int,
        candidates: Sequence[Candidate],
    ) -> NDArray[np.float64]:
        """Bound the work with each of some candidates, closely where it matters.

        With the parents in every table of the present order, and the child first, there
        is an order for it: so the work is multiplied by their joint levels at most.
        """
        joint = np.array([self.domain.n_cells(parents) for _, parents in candidates])
        levels = np.array([self.domain.size(child) for child, _ in candidates])
        bounds = joint * (float(work) + levels)
        unsure = np.flatnonzero(bounds > self.max_work)
        added = [(*candidates[i][1], candidates[i][0]) for i in unsure.tolist()]
        bounds[unsure] = work_with_each(self.domain, families, added)
        return bounds

    def fitting(
        self, families: Sequence[tuple[str, ...]], chosen: Candidate
    ) -> tuple[str, ...]:
        """Return a chosen family, with fewer parents if the model would not be fitted.

        A bound on the work may rest on another order than the solver will find. What
        has been drawn is public, so it can still be made smaller.

        Parameters
        ----------
        families : sequence of tuple of str
            The network so far.
        chosen : (str, tuple of str)
            A candidate.

        Returns
        -------
        tuple of str
            Parents and column.
        """
        child, parents = chosen
        while parents and self.work([*families, (*parents, child)]) > self.max_work:
            parents = parents[1:]
        return (*parents, child)


@lru_cache(maxsize=8)
def _work(domain: Domain, families: tuple[tuple[str, ...], ...]) -> int:
    """Count the cells; asked for the same families by the steps of a draw."""
    alone = [(name,) for name in domain.names]
    return best_elimination(domain, [*families, *alone]).work


def _reduced(large: list[Candidate], kept: list[Candidate]) -> list[Candidate]:
    """Leave out each one of the parents, unless a candidate has all of the others."""
    smaller = dict.fromkeys(
        (x, parents[:i] + parents[i + 1 :])
        for x, parents in large
        for i in range(len(parents))
    )
    return [
        (x, parents)
        for x, parents in smaller
        if not any(x == y and set(parents) <= set(larger) for y, larger in kept)
    ]
