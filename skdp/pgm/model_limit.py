"""Which marginals a growing model can still take in; a public matter."""

from __future__ import annotations

from collections.abc import Sequence

from skdp.graphical import Domain
from skdp.graphical.elimination import Elimination, best_elimination, eliminate

__all__ = ["ModelLimit"]

Columns = tuple[str, ...]


class ModelLimit:
    """Keeps a graphical model within a size, from what was measured alone.

    Its junction tree may have `max_model_size` cells, and a clique of the tree a tenth
    of them, so that whatever the model is asked can be stored. What is once refused is
    never let in again: a model only grows.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    max_model_size : float
        As of `skdp.graphical.fit_potentials`.

    Attributes
    ----------
    n_cells : int
        Cells of the junction tree at the last call.
    """

    def __init__(self, domain: Domain, max_model_size: float) -> None:
        self.domain, self.max_model_size = domain, max_model_size
        self.n_cells = 0
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
        elimination = best_elimination(self.domain, held)
        self.n_cells = elimination.work
        return [
            k for k, c in enumerate(cliques) if self._admits(c, held, elimination.order)
        ]

    def _admits(self, clique: Columns, held: list[Columns], order: Columns) -> bool:
        names = frozenset(clique)
        if any(names <= set(own) for own in held):
            return True
        if names in self._refused:
            return False
        new = tuple(name for name in clique if name not in order)
        larger = [*held, clique]
        # The old order is good enough for most; the search for a better one is slow.
        if self._is_small(eliminate(self.domain, larger, new + order)):
            return True
        if self._is_small(best_elimination(self.domain, larger)):
            return True
        self._refused.add(names)
        return False

    def _is_small(self, elimination: Elimination) -> bool:
        largest = max(map(self.domain.n_cells, elimination.cliques))
        if largest > self.max_model_size / 10:
            return False
        return elimination.work <= self.max_model_size
