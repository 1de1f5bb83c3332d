"""Contingency tables as queries."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod, sqrt
from typing import TYPE_CHECKING, ClassVar

from numpy.typing import NDArray

from skdp.exceptions import ModelTooLargeError
from skdp.records.discrete import LARGEST_MARGINAL

from .base import Norm, PublicFacts, Query, check_norm

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["Marginal", "check_cells"]


@dataclass(frozen=True)
class Marginal(Query):
    """The table of counts over some columns.

    Replacing a record takes one from a cell and adds one to another: the L1
    sensitivity is 2, L2 sqrt(2), Linf 1.

    Parameters
    ----------
    names : tuple of str
        The columns, in the order of the table's axes; a single name is a tuple of
        one. Ask for several marginals at once with :class:`Batch`.

    Examples
    --------
    >>> from skdp.records import Categorical, Schema
    >>> public = PublicFacts(10, Schema([Categorical("smoker", ("no", "yes"))]))
    >>> Marginal("smoker").sensitivity(public, 1)
    2.0
    """

    names: tuple[str, ...]

    integral: ClassVar[bool] = True

    def __post_init__(self) -> None:
        names = (self.names,) if isinstance(self.names, str) else tuple(self.names)
        if len(set(names)) < len(names):
            raise ValueError(f"A marginal names a column twice: {names}.")
        object.__setattr__(self, "names", names)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are counted."""
        return self.names

    def check(self, public: PublicFacts) -> None:
        """Refuse unknown columns and tables too large to be counted.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column is missing from the schema.
        ModelTooLargeError
            If the table has more than 2^28 cells.
        """
        check_cells(self.names, public)

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return the shape of the table: the numbers of levels.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        tuple of int
            One length per column.
        """
        return tuple(public.schema.n_levels(name) for name in self.names)

    def evaluate(self, records: CountTable) -> NDArray:
        """Count the records in each cell. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray of int64
            The counts, one axis per column.
        """
        return records.marginal(self.names)

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Return 2, sqrt(2) or 1 for the L1, L2 or Linf norm.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound, in records; 0 for a table of one cell, which is public.
        """
        check_norm(ord)
        if prod(self.shape(public)) == 1:
            return 0.0
        return {1: 2.0, 2: sqrt(2.0), inf: 1.0}[ord]

    def n_affected(self, public: PublicFacts) -> int:
        """Return 2: a replaced record leaves one cell and enters another."""
        return 2


def check_cells(names: tuple[str, ...], public: PublicFacts) -> None:
    """Refuse unknown columns and tables that `CountTable.marginal` would refuse.

    Parameters
    ----------
    names : tuple of str
        The columns.
    public : PublicFacts
        Number of records and schema.

    Raises
    ------
    SchemaError
        If a column is missing from the schema.
    ModelTooLargeError
        If the table has more than 2^28 cells.
    """
    n_cells = prod(public.schema.n_levels(name) for name in names)
    if n_cells > LARGEST_MARGINAL:
        raise ModelTooLargeError(
            f"The table over {', '.join(map(repr, names))} has {n_cells:.3g} cells, "
            f"more than {LARGEST_MARGINAL}. Ask for fewer columns, or declare fewer "
            "levels."
        )
