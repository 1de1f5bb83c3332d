"""The eigenvalues of X'X and their sum, as queries; symbols as in `moments`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from .base import Norm, PublicFacts, check_norm
from .moments import MomentQuery

if TYPE_CHECKING:
    from skdp.records import BoundedMatrix

__all__ = ["Eigenvalues", "Trace"]


@dataclass(frozen=True, eq=False)
class Trace(MomentQuery):
    """The sum of the squared norms of the rows; each lies in [0, R].

    Parameters
    ----------
    rows : RowGrid
        How the rows are clipped and rounded.
    """

    def check(self, public: PublicFacts) -> None:
        """Refuse also what could overflow the sum of the squared norms.

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
        super().check(public)
        self._check_norms(public)

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return ()."""
        return ()

    def evaluate(self, records: BoundedMatrix) -> NDArray:
        """Sum the squared norms. For the curator alone.

        Parameters
        ----------
        records : BoundedMatrix
            The private records.

        Returns
        -------
        ndarray of int64, shape ()
            In squared steps of the grid.
        """
        return np.asarray(np.trace(records.cross_products(self.rows)))

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Return R, in every norm.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The largest squared norm of a row.
        """
        check_norm(ord)
        return self._size(public)[1]


@dataclass(frozen=True, eq=False)
class Eigenvalues(MomentQuery):
    """The eigenvalues of X'X, in ascending order.

    By Hoffman and Wielandt they change in L2 by no more than the matrix does in the
    Frobenius norm, whose square is A^2 + B^2 - 2 (x'y)^2 <= 2 R^2; by Lidskii in L1 by
    no more than its nuclear norm, at most A + B; by Weyl each by its spectral norm, at
    most max(A, B).

    Parameters
    ----------
    rows : RowGrid
        How the rows are clipped and rounded.
    """

    integral: ClassVar[bool] = False

    @property
    def unit(self) -> float:  # type: ignore[override]
        """1: the answer is in units of 1."""
        return 1.0

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (d,)."""
        return (self._size(public)[0],)

    def evaluate(self, records: BoundedMatrix) -> NDArray:
        """Compute the eigenvalues. For the curator alone.

        Parameters
        ----------
        records : BoundedMatrix
            The private records.

        Returns
        -------
        ndarray of float64, shape (d,)
            In units of 1, not of a step.
        """
        products = records.cross_products(self.rows) * self.rows.unit**2
        return np.linalg.eigvalsh(products)

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the sorted eigenvalues.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            2 R, sqrt(2) R or R.
        """
        d, R = self._size(public)
        factor = {1: 2.0, 2: sqrt(2.0), inf: 1.0}[check_norm(ord)]
        return R if d == 1 else factor * R

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the error of a backward stable solver: 10 d 2^-53 of the norm.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Per eigenvalue; the norm is at most n R.
        """
        d, R = self._size(public)
        return 10 * d * 2.0**-53 * public.n_records * R
