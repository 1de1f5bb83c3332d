"""Questions of independence as queries with thresholds that know their noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from statistics import median

from skdp.queries import DependenceQuery, PublicFacts
from skdp.stats import Noise, level_threshold

__all__ = ["Questions"]


class Questions:
    """Turns a triple of variables into a query and its noise-aware threshold.

    Parameters
    ----------
    query : type of DependenceQuery
        The dependence score.
    public : PublicFacts
        Number of records that are asked, and schema.
    alpha : float in (0, 1)
        Level of each test, its noise included.
    noise : callable
        Returns the noise that a sensitivity gets, in units of the score.
    """

    def __init__(
        self,
        query: type[DependenceQuery],
        public: PublicFacts,
        alpha: float,
        noise: Callable[[float], Noise],
    ) -> None:
        self._query = query
        self._public = public
        self._alpha = alpha
        self._noise = noise

    def are_hopeless(self) -> bool:
        """Return whether no pair can reach its threshold. A public fact.

        Returns
        -------
        bool
            True if even perfect dependence of any two columns stays below it.
        """
        pairs = self._marginal_ones()
        return all(query.largest_score(self._public) < limit for query, limit in pairs)

    def typical_threshold(self) -> float:
        """Return the median threshold of the pairs. A public fact.

        Returns
        -------
        float
            In units of the pair's sensitivity; 0 if there is no pair.
        """
        units = [
            limit / q.sensitivity(self._public) for q, limit in self._marginal_ones()
        ]
        return median(units) if units else 0.0

    def _marginal_ones(self) -> Iterator[tuple[DependenceQuery, float]]:
        """Ask about every pair without conditions."""
        varying = [c.name for c in self._public.schema if c.n_levels > 1]
        return (self(x, y, ()) for x, y in combinations(varying, 2))

    def __call__(
        self, x: str, y: str, given: tuple[str, ...]
    ) -> tuple[DependenceQuery, float]:
        """Return the score of x and y given a set, and its threshold."""
        query = self._query(x, y, given)
        noise = self._noise(query.sensitivity(self._public))
        null = query.null_law(self._public)
        return query, level_threshold(self._alpha, null, noise)
