"""Sums, squares and products of rows in a cube or a ball, as queries.

Rows are those of a bounded matrix, seen through a `RowGrid`: x in [-1, 1]^d with a
squared norm of at most R = min(d, radius^2). All answers are sums over the records. The
proofs are in the user guide (docs/covariance.rst); throughout, a_i = x_i^2 and
b_i = y_i^2 are the squares of the record that leaves and of the one that comes, A and B
their sums, both at most R.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import floor, inf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skdp.records.row_grid import LARGEST_SUM, RowGrid
from skdp.records.schema import Numeric

from .base import Norm, PublicFacts, Query, check_norm

if TYPE_CHECKING:
    from skdp.records import BoundedMatrix

__all__ = [
    "Diagonal",
    "MomentQuery",
    "SecondMoments",
    "Sums",
]

#: Weights are multiples of 1/64, so that weighted integers stay integers.
WEIGHT_STEPS = 64

#: Sums of squared norms, which are added up in 64 bits, stay below 2^62 steps.
LARGEST_NORM_SUM = 2**62


@dataclass(frozen=True, eq=False)
class MomentQuery(Query):
    """Base of the queries about the rows of a bounded matrix.

    Parameters
    ----------
    rows : RowGrid
        How the rows are clipped and rounded.
    """

    rows: RowGrid = field(default_factory=RowGrid, kw_only=True)

    integral: ClassVar[bool] = True

    @property
    def unit(self) -> float:  # type: ignore[override]
        """A product of two steps of the grid."""
        return self.rows.unit**2

    @property
    def columns(self) -> tuple[str, ...]:
        """No names: the rows are looked at as a whole."""
        return ()

    def check(self, public: PublicFacts) -> None:
        """Refuse a grid that does not fit the records, and columns without bounds.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        ValueError
            If the sums would not be exact, or the shapes do not fit.
        TypeError
            If a column of the schema is no Numeric.
        """
        if public.n_records * self.rows.unit**-2 > LARGEST_SUM:
            raise ValueError(
                f"{public.n_records} records on a grid of {self.rows.bits} bits: the "
                "sums would not be exact. Use fewer bits."
            )
        for column in public.schema:
            if not isinstance(column, Numeric):
                raise TypeError(f"Moments need numbers; {column.name!r} has levels.")
        d = len(public.schema)
        for name in ("limits", "transform"):
            array = getattr(self.rows, name)
            if array is not None and len(array) != d:
                raise ValueError(f"{name} is for {len(array)} columns, not for {d}.")

    def _check_norms(self, public: PublicFacts) -> None:
        """Refuse a sum of squared norms that could overflow."""
        d = self._size(public)[0]
        if public.n_records * d * 4**self.rows.bits >= LARGEST_NORM_SUM:
            raise ValueError(
                f"{public.n_records} records of {d} coordinates on a grid of "
                f"{self.rows.bits} bits: the sum of their squared norms could "
                "overflow. Use fewer bits."
            )

    def _key(self) -> tuple[Any, ...]:
        values = (getattr(self, f.name) for f in fields(self))
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MomentQuery) or type(self) is not type(other):
            return False
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def _size(self, public: PublicFacts) -> tuple[int, float]:
        """Return the number d of coordinates and the largest squared norm R."""
        n_columns = len(public.schema)
        return self.rows.width(n_columns), self.rows.largest_norm2(n_columns)

    def __str__(self) -> str:
        how = [f"radius={self.rows.radius:.4g}"] if self.rows.radius else []
        how += ["narrower limits"] if self.rows.limits is not None else []
        how += ["transformed"] if self.rows.transform is not None else []
        return f"{type(self).__name__}({', '.join(how)})"


@dataclass(frozen=True, eq=False)
class SecondMoments(MomentQuery):
    """The upper triangle of X'X, row by row, the diagonal included.

    Replacing a record changes it by at most min(d, sqrt(R^2 + R min(1, R))) in L2: d,
    and not sqrt(2) d, in a cube. In a cube the diagonal multiplied by sqrt((d + 1)/2)
    still has the joint bound d: it can be measured that much more precisely for free.

    Parameters
    ----------
    free_diagonal : bool, default=False
        Whether the diagonal is multiplied by `diagonal_weight`.
    rows : RowGrid
        How the rows are clipped and rounded.

    Examples
    --------
    >>> from skdp.records import Numeric, Schema
    >>> public = PublicFacts(10, Schema([Numeric(v, -1, 1) for v in "abcd"]))
    >>> SecondMoments().sensitivity(public, 2)
    4.0
    >>> SecondMoments(free_diagonal=True).sensitivity(public, 2)
    4.0
    """

    free_diagonal: bool = False

    @property
    def unit(self) -> float:  # type: ignore[override]
        """A product of two steps, or 1/64 of it where the diagonal is weighted."""
        return super().unit / (WEIGHT_STEPS if self.free_diagonal else 1)

    def diagonal_weight(self, public: PublicFacts) -> float:
        """Return by what the diagonal is multiplied.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            sqrt((d + 1)/2) rounded down to 1/64; 1 where it is not free.
        """
        d, largest = self._size(public)
        if not self.free_diagonal or largest < d:
            return 1.0
        return floor(WEIGHT_STEPS * sqrt((d + 1) / 2)) / WEIGHT_STEPS

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (d (d + 1)/2,)."""
        d, _ = self._size(public)
        return (d * (d + 1) // 2,)

    def evaluate(self, records: BoundedMatrix) -> NDArray:
        """Sum the products. For the curator alone.

        Parameters
        ----------
        records : BoundedMatrix
            The private records.

        Returns
        -------
        ndarray of int64, shape (d (d + 1)/2,)
            In the order of ``numpy.triu_indices(d)``.
        """
        products = records.cross_products(self.rows)
        if self.free_diagonal:
            public = PublicFacts(records.n_records, records.schema)
            weight = round(WEIGHT_STEPS * self.diagonal_weight(public))
            diagonal = products.diagonal() * weight
            products = products * WEIGHT_STEPS
            np.fill_diagonal(products, diagonal)
        return products[np.triu_indices(len(products))]

    def to_matrix(self, answer: NDArray, public: PublicFacts) -> NDArray[np.float64]:
        """Turn an answer into a symmetric matrix, the weight of the diagonal undone.

        Parameters
        ----------
        answer : ndarray of shape (d (d + 1)/2,)
            From the curator.
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        ndarray of shape (d, d)
            Sums over the records.
        """
        d, _ = self._size(public)
        matrix = np.zeros((d, d))
        matrix[np.triu_indices(d)] = answer
        matrix += np.triu(matrix, 1).T
        np.fill_diagonal(matrix, matrix.diagonal() / self.diagonal_weight(public))
        return matrix

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change in the upper triangle.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound; for L2 see the class.
        """
        d, R = self._size(public)
        weight = self.diagonal_weight(public)
        off_diagonal = min(2.0, R) if d > 1 else 0.0
        on_diagonal = weight * min(1.0, R)
        if check_norm(ord) == inf:
            return max(off_diagonal, on_diagonal)
        l2 = float(d) if weight > 1 else min(float(d), sqrt(R * R + R * min(1.0, R)))
        l2 = min(l2, on_diagonal) if d == 1 else l2
        if ord == 2:
            return l2
        n_entries = d * (d + 1) / 2
        entrywise = d * (d - 1) / 2 * off_diagonal + d * on_diagonal
        return min(entrywise, sqrt(n_entries) * l2)


@dataclass(frozen=True, eq=False)
class Diagonal(MomentQuery):
    """The sums of squares of the coordinates.

    Squares lie in [0, 1], so that each changes by at most 1, and all of them by at most
    sqrt(min(d, 2 R min(1, R))) in L2.

    Parameters
    ----------
    rows : RowGrid
        How the rows are clipped and rounded.
    """

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (d,)."""
        return (self._size(public)[0],)

    def evaluate(self, records: BoundedMatrix) -> NDArray:
        """Sum the squares. For the curator alone.

        Parameters
        ----------
        records : BoundedMatrix
            The private records.

        Returns
        -------
        ndarray of int64, shape (d,)
            In squared steps of the grid.
        """
        return records.cross_products(self.rows).diagonal().copy()

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the squares.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            min(d, 2 R), sqrt(min(d, 2 R min(1, R))) or min(1, R).
        """
        d, R = self._size(public)
        if check_norm(ord) == inf or d == 1:
            return min(1.0, R)
        if ord == 1:
            return min(float(d), 2 * R)
        return sqrt(min(float(d), 2 * R * min(1.0, R)))


@dataclass(frozen=True, eq=False)
class Sums(MomentQuery):
    """The sums of the coordinates: n times the mean.

    Two points of a ball are at most 2 sqrt(R) apart.

    Parameters
    ----------
    rows : RowGrid
        How the rows are clipped and rounded.
    """

    @property
    def unit(self) -> float:  # type: ignore[override]
        """A step of the grid."""
        return self.rows.unit

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (d,)."""
        return (self._size(public)[0],)

    def evaluate(self, records: BoundedMatrix) -> NDArray:
        """Sum the coordinates. For the curator alone.

        Parameters
        ----------
        records : BoundedMatrix
            The private records.

        Returns
        -------
        ndarray of int64, shape (d,)
            In steps of the grid.
        """
        return records.sums(self.rows)

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the distance of two rows.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            2 sqrt(d R), 2 sqrt(R) or 2 min(1, sqrt(R)).
        """
        d, R = self._size(public)
        if check_norm(ord) == inf:
            return 2 * min(1.0, sqrt(R))
        return 2 * sqrt(R * (d if ord == 1 else 1))
