"""What every score of conditional dependence shares as a query."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import prod, sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from skdp.stats.noisy_levels import NullLaw

from .base import Norm, PublicFacts, Query, check_norm

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["DependenceQuery"]

MAX_RECORDS = 3_000_000_000


@dataclass(frozen=True)
class DependenceQuery(Query):
    """A score of the dependence of two columns within strata of others.

    Parameters
    ----------
    x, y : str
        The two columns; their levels are taken in the order of the schema.
    given : tuple of str, default=()
        The columns whose joint levels are the strata.
    """

    x: str
    y: str
    given: tuple[str, ...] = ()

    #: Whether the score takes the levels as ranks.
    ordinal: ClassVar[bool] = True

    def __post_init__(self) -> None:
        given = (self.given,) if isinstance(self.given, str) else tuple(self.given)
        object.__setattr__(self, "given", given)
        if len({self.x, self.y, *given}) < 2 + len(given):
            raise ValueError(f"A column is named twice: {self.columns}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The two columns, then the conditioning ones."""
        return (self.x, self.y, *self.given)

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (), the shape of a scalar."""
        return ()

    def check(self, public: PublicFacts) -> None:
        """Refuse unknown columns, and more records than can be paired in 64 bits.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column of the query is missing from the schema.
        ValueError
            If there are more than 3e9 records.
        """
        super().check(public)
        if public.n_records > MAX_RECORDS:
            raise ValueError(
                f"Pairs of {public.n_records} records cannot be counted in 64 bits; "
                f"{MAX_RECORDS} is the most."
            )

    def levels(self, public: PublicFacts) -> tuple[int, int]:
        """Return the declared numbers of levels of x and y.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        r, c : int
            Numbers of levels of x and of y, whether they occur or not.

        Raises
        ------
        SchemaError
            If the schema lacks one of the two columns.
        """
        return public.schema.n_levels(self.x), public.schema.n_levels(self.y)

    def n_strata(self, public: PublicFacts) -> int:
        """Return the declared number of strata, empty ones included.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        int
            Product of the numbers of levels of `given`; 1 without any.

        Raises
        ------
        SchemaError
            If the schema lacks a conditioning column.
        """
        return prod(public.schema.n_levels(name) for name in self.given)

    def evaluate(self, records: CountTable) -> NDArray:
        """Compute the raw score. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray of float, shape ()
            The score, dimensionless, never negative.
        """
        tables = records.strata(self.x, self.y, self.given)
        return np.asarray(self.score(tables, records.n_records))

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the score when one record is replaced.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change; all agree for a scalar.

        Returns
        -------
        float
            The bound, in units of the score; 0 if a variable has one level.
        """
        check_norm(ord)
        if min(self.levels(public)) == 1 or public.n_records < 2:
            return 0.0
        r, c = self.levels(public)
        return self._bound(public.n_records, self.n_strata(public), r, c)

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the floating-point error of the score.

        The terms of a score add up to less than 3 sqrt(n) in magnitude, and each of
        the summed terms carries a relative error of a few units in the last place.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Largest absolute error, in units of the score.
        """
        n = public.n_records
        n_terms = min(n, self.n_strata(public)) * prod(self.levels(public))
        return 3 * sqrt(n) * (min(n, n_terms) + 16) * 2.0**-52

    @abstractmethod
    def null_scale(self, public: PublicFacts) -> float:
        """Bound the standard deviation of the signed score under independence.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            The standard deviation, in units of the score.
        """

    def null_law(self, public: PublicFacts) -> NullLaw:
        """Return the law of the score under independence: by default half-normal.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        NullLaw
            A law with at least as much weight on large scores.
        """
        return NullLaw(self.null_scale(public))

    @abstractmethod
    def largest_score(self, public: PublicFacts) -> float:
        """Bound the score of perfect dependence in one stratum.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            The bound, in units of the score; a test whose threshold exceeds it can
            never see a dependence.
        """

    @staticmethod
    @abstractmethod
    def score(tables: NDArray[np.int64], n_records: int) -> float:
        """Compute the score of a stack of contingency tables.

        Parameters
        ----------
        tables : ndarray of int64, shape (n_strata, r, c)
            Counts of records per stratum and levels of x and y, both in the order of
            the schema; empty strata may be left out.
        n_records : int
            Number of records over all strata.

        Returns
        -------
        float
            The score, dimensionless, never negative; the larger, the stronger the
            monotone association within the strata.
        """

    @staticmethod
    @abstractmethod
    def _bound(n: int, n_strata: int, r: int, c: int) -> float:
        """Return the sensitivity for n >= 2 records and levels r, c >= 2."""
