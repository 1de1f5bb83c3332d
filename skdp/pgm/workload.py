"""The marginals that matter to the user of a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from skdp.exceptions import SchemaError

__all__ = ["Workload"]


@dataclass(frozen=True)
class Workload:
    """Sets of columns whose joint counts are of interest.

    Parameters
    ----------
    cliques : iterable of sequences of str
        The sets of columns.
    weights : iterable of float, optional
        How much each of them matters; by default all alike.

    Examples
    --------
    >>> Workload.all_marginals(("a", "b", "c"), order=2).cliques
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """

    cliques: tuple[tuple[str, ...], ...]
    weights: tuple[float, ...]

    def __init__(
        self,
        cliques: Iterable[Iterable[str]],
        weights: Iterable[float] | None = None,
    ) -> None:
        sets = tuple((c,) if isinstance(c, str) else tuple(c) for c in cliques)
        importance = (1.0,) * len(sets) if weights is None else tuple(weights)
        object.__setattr__(self, "cliques", sets)
        object.__setattr__(self, "weights", tuple(map(float, importance)))
        if len(self.weights) != len(sets) or not all(w > 0 for w in self.weights):
            raise ValueError("A workload needs one positive weight per set of columns.")
        for columns in sets:
            if not columns or len(set(columns)) < len(columns):
                raise SchemaError(f"A set of columns is empty or repeats: {columns}.")

    @classmethod
    def all_marginals(cls, names: Iterable[str], order: int) -> Workload:
        """Return every set of so many columns.

        Parameters
        ----------
        names : iterable of str
            The columns, for instance ``schema.names``.
        order : int
            Columns per set.

        Returns
        -------
        Workload
            All with weight 1.
        """
        return cls(combinations(tuple(names), order))
