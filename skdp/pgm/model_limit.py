"""Which marginals a growing model can still take in; a public matter."""

from __future__ import annotations

from collections.abc import Sequence

from skdp.exceptions import ModelTooLargeError
from skdp.graphical import Domain
from skdp.graphical.elimination import best_elimination, eliminate
from skdp.graphical.plan import make_plan

__all__ = ["ModelLimit"]

Columns = tuple[str, ...]


class ModelLimit:
    """Keeps a graphical model within a size, from what was measured alone.

    What is once refused is never let in again: a model only grows.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    max_model_size : float
        As of `skdp.graphical.fit_potentials`.
    """

    def __init__(self, domain: Domain, max_model_size: float) -> None:
        self.domain, self.max_model_size = domain, max_model_size
        self._refused: set[frozenset[str]] = set()

    def admitted(
        self, cliques: Sequence[Columns], measured: Sequence[Columns]
    ) -> list[int]:
        """Return the places of the cliques that could be measured next.

        Parameters
        ----------
        cliques : sequence of tuple of str
            Candidates.
        measured : sequence of tuple of str
            The cliques of the model so far.

        Returns
        -------
        list of int
            Of those with which the model stays within its limit.
        """
        held = list(dict.fromkeys(map(self.domain.sort, measured)))
        order = best_elimination(self.domain, held).order
        return [k for k, c in enumerate(cliques) if self._admits(c, held, order)]

    def _admits(self, clique: Columns, held: list[Columns], order: Columns) -> bool:
        names = frozenset(clique)
        if any(names <= set(own) for own in held):
            return True
        if names in self._refused:
            return False
        new = tuple(name for name in clique if name not in order)
        bound = eliminate(self.domain, [*held, clique], new + order).work
        if bound <= self.max_model_size / 10:  # then no table of it is larger either
            return True
        try:
            make_plan(self.domain, [*held, clique], max_model_size=self.max_model_size)
        except ModelTooLargeError:
            self._refused.add(names)
            return False
        return True
