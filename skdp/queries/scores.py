"""Scores by which a mechanism chooses what to measure."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import SchemaError

from .base import Norm, PublicFacts, Query, check_norm
from .linear import LinearMarginal
from .marginals import Marginal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skdp.records import CountTable

__all__ = ["MarginalDistances"]

#: Model tables are rounded to multiples of this, so that distances are exact.
_GRAIN = 2.0**-10


@dataclass(frozen=True, eq=False)
class MarginalDistances(Query):
    """How far a public model is off on each of some marginals, in L1.

    Score r is ``||M_r(D) - T_r||_1``, T_r being the table of the model. By the triangle
    inequality, replacing a record changes it by at most ``||M_r(D) - M_r(D')||_1``,
    which is 2, the L1 sensitivity of a marginal. k scores together change by at most
    2 in Linf, 2 sqrt(k) in L2 and 2 k in L1.

    Parameters
    ----------
    marginals : iterable of Marginal or LinearMarginal
        The candidates; a matrix of 0 and 1 with a single 1 per column merges levels.
    tables : iterable of array-like
        What the model says, in records; public. Rounded to multiples of 2^-10.

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

    def __init__(
        self,
        marginals: Iterable[Marginal | LinearMarginal],
        tables: Iterable[ArrayLike],
    ) -> None:
        object.__setattr__(self, "marginals", tuple(marginals))
        rounded = [np.asarray(table, dtype=np.float64) / _GRAIN for table in tables]
        exact = tuple(np.rint(table) * _GRAIN for table in rounded)
        object.__setattr__(self, "tables", exact)
        if not self.marginals or len(self.marginals) != len(self.tables):
            raise ValueError(
                f"There must be a table per marginal and at least one, not "
                f"{len(self.tables)} for {len(self.marginals)}."
            )
        if not all(np.isfinite(table).all() for table in self.tables):
            raise ValueError("The tables of the model must be finite.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MarginalDistances) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[Any, ...]:
        tables = tuple((table.shape, table.tobytes()) for table in self.tables)
        return self.marginals, tables

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
            In records.
        """
        return np.array(
            [
                np.abs(marginal.evaluate(records) - table).sum()
                for marginal, table in zip(self.marginals, self.tables, strict=True)
            ],
            dtype=np.float64,
        )

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Return 2 in Linf, 2 sqrt(k) in L2 and 2 k in L1, for k scores.

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
        k = sum(m.sensitivity(public, 1) > 0 for m in self.marginals)
        if check_norm(ord) == 1:
            return 2.0 * k
        return 2.0 * (sqrt(k) if ord == 2 else k > 0)

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the rounding of a distance: 0 unless the tables are huge.

        Counts and tables are multiples of 2^-10, and their sum is added up exactly as
        long as it stays below 2^43.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Largest absolute error, in records.
        """
        total = public.n_records + max(float(np.abs(t).sum()) for t in self.tables)
        n_cells = max(table.size for table in self.tables)
        return 0.0 if total < 2.0**42 else n_cells * 2.0**-51 * total
