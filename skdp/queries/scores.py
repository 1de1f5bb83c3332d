"""Scores by which a mechanism chooses what to measure."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import SchemaError

from .base import LARGEST_SUM, Norm, PublicFacts, Query, check_norm, scaled_norm
from .linear import LinearMarginal
from .marginals import Marginal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skdp.records import CountTable

__all__ = ["MarginalDistances"]

#: Model tables are rounded to multiples of this, so that distances are exact.
_GRAIN = 2.0**-10
#: More than the relative rounding error of a norm.
_UP = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class MarginalDistances(Query):
    """How far a public model is off on each of some marginals, in L1, weighted.

    Score r is ``w_r (||M_r(D) - T_r||_1 - b_r)``, T_r being the table of the model,
    w_r > 0 a weight and b_r a penalty, by default 1 and 0. By the triangle inequality,
    replacing a record changes the distance by at most ``||M_r(D) - M_r(D')||_1``,
    which is 2, the L1 sensitivity of a marginal. So the scores together change by at
    most 2 max w in Linf, 2 sqrt(sum w^2) in L2 and 2 sum w in L1.

    Parameters
    ----------
    marginals : iterable of Marginal or LinearMarginal
        The candidates; a matrix of 0 and 1 with a single 1 per column merges levels.
    tables : iterable of array-like
        What the model says, in records; public. Rounded to multiples of 2^-10.
    weights : array-like of shape (n_marginals,), optional
        How much each marginal matters; positive, public.
    penalties : array-like of shape (n_marginals,), optional
        Taken off each distance, in records; public. Rounded to multiples of 2^-10.

    Examples
    --------
    >>> from skdp.records import Categorical, Schema
    >>> public = PublicFacts(10, Schema([Categorical("smoker", ("no", "yes"))]))
    >>> scores = MarginalDistances([Marginal("smoker")], [[5.0, 5.0]])
    >>> scores.sensitivity(public, float("inf"))
    2.0
    """

    marginals: tuple[Marginal | LinearMarginal, ...]
    tables: tuple[NDArray[np.float64], ...]
    weights: NDArray[np.float64]
    penalties: NDArray[np.float64]

    def __init__(
        self,
        marginals: Iterable[Marginal | LinearMarginal],
        tables: Iterable[ArrayLike],
        weights: ArrayLike | None = None,
        penalties: ArrayLike | None = None,
    ) -> None:
        object.__setattr__(self, "marginals", tuple(marginals))
        object.__setattr__(self, "tables", tuple(map(_on_grid, tables)))
        if not self.marginals or len(self.marginals) != len(self.tables):
            raise ValueError(
                f"There must be a table per marginal and at least one, not "
                f"{len(self.tables)} for {len(self.marginals)}."
            )
        if not all(np.isfinite(table).all() for table in self.tables):
            raise ValueError("The tables of the model must be finite.")
        k = len(self.marginals)
        importance = np.ones(k) if weights is None else np.array(weights, dtype=float)
        taken_off = _on_grid(np.zeros(k) if penalties is None else penalties)
        for array in (importance, taken_off, *self.tables):
            array.setflags(write=False)
        object.__setattr__(self, "weights", importance)
        object.__setattr__(self, "penalties", taken_off)
        if not importance.shape == taken_off.shape == (k,):
            raise ValueError("There must be one weight and one penalty per marginal.")
        if not ((importance > 0) & np.isfinite(importance + taken_off)).all():
            raise ValueError("Weights must be positive, and all numbers finite.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MarginalDistances) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[Any, ...]:
        tables = tuple((table.shape, table.tobytes()) for table in self.tables)
        return self.marginals, tables, self.weights.tobytes(), self.penalties.tobytes()

    def __repr__(self) -> str:
        names = [marginal.names for marginal in self.marginals]
        return f"MarginalDistances({names!r})"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that any score depends on."""
        return tuple(dict.fromkeys(c for m in self.marginals for c in m.names))

    def check(self, public: PublicFacts) -> None:
        """Refuse what a marginal refuses, and tables and queries of other kinds.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column is missing or a table has the wrong shape.
        ValueError
            If a marginal is no table of counts, with levels merged or not.
        """
        if not self._largest_sum(public) < LARGEST_SUM:
            raise ValueError("Weights, tables or penalties are too large to be added.")
        for marginal, table in zip(self.marginals, self.tables, strict=True):
            marginal.check(public)
            if table.shape != marginal.shape(public):
                raise SchemaError(
                    f"The table for {marginal.names} must have the shape "
                    f"{marginal.shape(public)}, not {table.shape}."
                )
            if not marginal.integral or marginal.sensitivity(public, 1) > 2:
                raise ValueError(
                    f"{marginal} is no table of counts, of L1 sensitivity 2 and in "
                    "whole records."
                )

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (n_marginals,)."""
        return (len(self.marginals),)

    def evaluate(self, records: CountTable) -> NDArray:
        """Compute the distances. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray, shape (n_marginals,)
            In records, times the weights.
        """
        distances = [
            np.abs(marginal.evaluate(records) - table).sum()
            for marginal, table in zip(self.marginals, self.tables, strict=True)
        ]
        return np.asarray(self.weights * (np.array(distances) - self.penalties))

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Return 2 in Linf, 2 sqrt(k) in L2 and 2 k in L1, with weights in them.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound, in records; marginals of a single cell do not count.
        """
        moves = np.array([m.sensitivity(public, 1) > 0 for m in self.marginals])
        each = 2.0 * self.weights[moves]
        if check_norm(ord) == inf:
            return float(each.max(initial=0.0))
        total = float(each.sum()) * (1.0 if self._has_unit_weights else _UP)
        return total if ord == 1 else min(total, _UP * scaled_norm(each))

    def _largest_total(self, public: PublicFacts) -> float:
        """Bound the sum of the numbers that go into a score, without its weight."""
        with np.errstate(over="ignore"):
            total = public.n_records + max(float(np.abs(t).sum()) for t in self.tables)
        return total + float(np.abs(self.penalties).max())

    def _largest_sum(self, public: PublicFacts) -> float:
        return self._largest_total(public) * max(1.0, float(self.weights.max()))

    @property
    def _has_unit_weights(self) -> bool:
        return bool((self.weights == 1).all())

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the rounding of a score: 0 without weights, unless tables are huge.

        Counts, tables and penalties are multiples of 2^-10, and their sum is added up
        exactly as long as it stays below 2^43. Multiplying with a weight is rounded
        once.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Largest absolute error, in units of the scores.
        """
        total = self._largest_total(public)
        n_cells = max(table.size for table in self.tables)
        added = 0.0 if total < 2.0**42 else n_cells * 2.0**-51 * total
        multiplied = 0.0 if self._has_unit_weights else 2.0**-52 * total
        return (added + multiplied) * float(self.weights.max())


def _on_grid(table: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(np.rint(np.asarray(table, dtype=np.float64) / _GRAIN) * _GRAIN)
