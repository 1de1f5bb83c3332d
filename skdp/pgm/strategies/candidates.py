"""What a strategy may measure for a workload, and how much each of it matters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from skdp.exceptions import ModelTooLargeError
from skdp.graphical import Domain
from skdp.pgm.strategies.base import varying_columns
from skdp.pgm.workload import Workload
from skdp.queries import PublicFacts

__all__ = ["Candidates"]

#: More sets than this would take hours to score.
_MOST_CANDIDATES = 100_000
#: Smaller ones matter no less, so that scores of them alone still have a grid.
_LEAST_WEIGHT = 1e-250


@dataclass(frozen=True)
class Candidates:
    """The sets of a workload and all their subsets, over columns that vary.

    Parameters
    ----------
    domain : Domain
        The columns that are in some set, and their numbers of levels.
    cliques : tuple of tuple of str
        Smaller sets first; names in the order of the domain.
    weights : tuple of float
        Of each set r: the sum over the sets s of the workload of their weight, relative
        to the largest among those that vary, times the number of columns that r and s
        share.
    """

    domain: Domain
    cliques: tuple[tuple[str, ...], ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, workload: Workload | None, public: PublicFacts) -> Candidates:
        """List the candidates of a workload.

        Parameters
        ----------
        workload : Workload or None
            None: every set of three columns, or the largest set there is.
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        Candidates
            Columns with one level are left out: they are known.

        Raises
        ------
        SchemaError
            If the workload does not fit the schema.
        ModelTooLargeError
            If there are more than a hundred thousand candidates.
        """
        varying = varying_columns(public)
        if workload is None:
            order = min(3, len(varying))
            sets = [frozenset(c) for c in combinations(varying, order) if c]
            weights: tuple[float, ...] = (1.0,) * len(sets)
        else:
            workload.check(public.schema)
            sets = [frozenset(c).intersection(varying) for c in workload.cliques]
            pairs = zip(workload.weights, sets, strict=True)
            largest = max((w for w, names in pairs if names), default=1.0)
            # Only ratios matter; none may vanish, and no sum overflow.
            relative = (weight / largest for weight in workload.weights)
            weights = tuple(min(max(w, _LEAST_WEIGHT), 1.0) for w in relative)
        used = frozenset[str]().union(*sets)
        names = tuple(name for name in varying if name in used)
        domain = Domain(names, tuple(map(public.schema.n_levels, names)))
        cliques = _closure(sets, domain)
        shared = _shared(cliques, sets, weights)
        return cls(domain, cliques, shared)


def _closure(
    sets: Iterable[frozenset[str]], domain: Domain
) -> tuple[tuple[str, ...], ...]:
    """Return all different non-empty subsets, smaller ones first."""
    found: set[tuple[int, ...]] = set()
    for names in dict.fromkeys(sets):
        places = sorted(map(domain.axis, names))
        for size in range(1, len(places) + 1):
            found.update(combinations(places, size))
        if len(found) > _MOST_CANDIDATES:
            raise ModelTooLargeError(
                f"The subsets of the workload are more than {_MOST_CANDIDATES} "
                "candidates, too many to score each of them in every round. Name fewer "
                "or smaller sets of columns in workload=."
            )
    ordered = sorted(found, key=lambda places: (len(places), places))
    return tuple(tuple(domain.names[i] for i in places) for places in ordered)


def _shared(
    cliques: Iterable[tuple[str, ...]],
    sets: Iterable[frozenset[str]],
    weights: Iterable[float],
) -> tuple[float, ...]:
    """Return the weighted numbers of columns shared; they add up over the columns."""
    column: dict[str, float] = {}
    for names, weight in zip(sets, weights, strict=True):
        for name in names:
            column[name] = column.get(name, 0.0) + weight
    return tuple(sum(column[name] for name in clique) for clique in cliques)
