"""Chosen entries of X'X, and how far they are from an estimate, as queries.

What an adaptive method asks: which entries are approximated badly, and what these are.
Every product lies in [-1, 1], so that a replaced record moves its sum by at most 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .base import Norm, PublicFacts, check_norm
from .moments import WEIGHT_STEPS, MomentQuery, SecondMoments

if TYPE_CHECKING:
    from skdp.records import BoundedMatrix

__all__ = ["FREE_WEIGHT", "CrossMoments", "MomentErrors"]

#: The weight at which an off-diagonal entry has its two diagonals for free: at most
#: sqrt(3/2), which is `SecondMoments` with a free diagonal at d = 2.
FREE_WEIGHT = floor(WEIGHT_STEPS * sqrt(1.5)) / WEIGHT_STEPS


@dataclass(frozen=True, eq=False)
class _ClippedQuery(MomentQuery):
    """A query about products that may be clipped one by one.

    Parameters
    ----------
    clip : ndarray of shape (d, d), optional
        Products x_i x_j are clipped to +-clip[i, j], in (0, 1], and divided by it.
    rows : RowGrid
        How the rows are clipped and rounded.
    """

    clip: NDArray[np.float64] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.clip is None:
            return
        clip = np.array(self.clip, dtype=np.float64)
        if not ((clip > 0) & (clip <= 1)).all() or (clip != clip.T).any():
            raise ValueError("clip must be a symmetric matrix of limits in (0, 1].")
        clip.setflags(write=False)
        object.__setattr__(self, "clip", clip)

    def check(self, public: PublicFacts) -> None:
        """Refuse limits of another shape, and what no moment query can be asked.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        ValueError
            If a shape does not fit or the grid is too fine.
        TypeError
            If a column of the schema is no Numeric.
        """
        super().check(public)
        d, _ = self._size(public)
        if self.clip is not None and self.clip.shape != (d, d):
            raise ValueError(f"clip must have the shape ({d}, {d}).")

    def _products(self, records: BoundedMatrix) -> NDArray[np.int64]:
        if self.clip is None:
            return records.cross_products(self.rows)
        return records.clipped_products(self.rows, self.clip)

    def _largest(self, public: PublicFacts) -> tuple[float, float]:
        """Bound the change of an off-diagonal and of a diagonal entry."""
        if self.clip is not None:
            return 2.0, 1.0
        _, R = self._size(public)
        return min(2.0, R), min(1.0, R)


@dataclass(frozen=True, eq=False)
class CrossMoments(_ClippedQuery):
    """Chosen entries of X'X.

    An off-diagonal entry changes by at most 2, a diagonal one by at most 1. Together
    they change by no more than the root of the sum of squares in L2, nor than the whole
    upper triangle, d. With `with_diagonals` every pair brings its two diagonals along,
    multiplied by `FREE_WEIGHT`, and still changes by at most 2 in L2.

    Parameters
    ----------
    pairs : tuple of (int, int)
        Positions of the columns, i <= j, none twice.
    rows : RowGrid
        How the rows are clipped and rounded.
    clip : ndarray of shape (d, d), optional
        Products x_i x_j are clipped to +-clip[i, j], in (0, 1], and divided by it.
    with_diagonals : bool, default=False
        Whether to bring the diagonals along; excludes `clip` (the joint sensitivity
        would be sqrt(7)) and diagonal pairs.

    Examples
    --------
    >>> from skdp.records import Numeric, Schema
    >>> public = PublicFacts(10, Schema([Numeric(v, -1, 1) for v in "abcd"]))
    >>> CrossMoments(((0, 1),), with_diagonals=True).sensitivity(public, 2)
    2.0
    """

    pairs: tuple[tuple[int, int], ...]
    with_diagonals: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = tuple((int(i), int(j)) for i, j in self.pairs)
        object.__setattr__(self, "pairs", pairs)
        if not pairs or len(set(pairs)) < len(pairs):
            raise ValueError("pairs must hold at least one pair, and none twice.")
        if any(not 0 <= i <= j for i, j in pairs):
            raise ValueError("A pair (i, j) of columns must have 0 <= i <= j.")
        if self.with_diagonals and (self.clip is not None or self._n_diagonal):
            raise ValueError(
                "Only pairs of two columns without clipped products have diagonals for "
                "free."
            )

    @property
    def unit(self) -> float:  # type: ignore[override]
        """A product of two steps, or 1/64 of it where diagonals are weighted."""
        return super().unit / (WEIGHT_STEPS if self.with_diagonals else 1)

    @property
    def _n_diagonal(self) -> int:
        return sum(i == j for i, j in self.pairs)

    def check(self, public: PublicFacts) -> None:
        """Refuse columns that there are not, and what no moment query can be asked.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        ValueError
            If a pair is out of range, a shape does not fit or the grid is too fine.
        TypeError
            If a column of the schema is no Numeric.
        """
        super().check(public)
        d, _ = self._size(public)
        if max(j for _, j in self.pairs) >= d:
            raise ValueError(f"There are {d} columns; a pair names a later one.")

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (n_pairs,), or (n_pairs, 3) with the diagonals."""
        k = len(self.pairs)
        return (k, 3) if self.with_diagonals else (k,)

    def evaluate(self, records: BoundedMatrix) -> NDArray:
        """Sum the products. For the curator alone.

        Parameters
        ----------
        records : BoundedMatrix
            The private records.

        Returns
        -------
        ndarray of int64, shape (n_pairs,) or (n_pairs, 3)
            The entry of a pair (i, j), and the weighted ones of (i, i) and (j, j).
        """
        products = self._products(records)
        i, j = np.array(self.pairs).T
        if not self.with_diagonals:
            return products[i, j]
        weight = round(WEIGHT_STEPS * FREE_WEIGHT)
        squares = products.diagonal() * weight
        return np.stack([products[i, j] * WEIGHT_STEPS, squares[i], squares[j]], axis=1)

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the entries.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            For L2 min(2 sqrt(k), d) where no diagonal is asked for.
        """
        off, on = self._largest(public)
        n_on = self._n_diagonal
        n_off = len(self.pairs) - n_on
        if check_norm(ord) == inf:
            weight = FREE_WEIGHT if self.with_diagonals else 1.0
            return max(off * (n_off > 0), weight * on)
        if self.with_diagonals:  # a triple changes by 2 in L2
            return 2 * n_off * sqrt(3.0) if ord == 1 else 2 * sqrt(n_off)
        if ord == 1:
            return n_off * off + n_on * on
        separately = sqrt(n_off * off**2 + n_on * on**2)
        if self.clip is not None:
            return separately
        return min(separately, SecondMoments(rows=self.rows).sensitivity(public, 2))

    def __str__(self) -> str:
        shown = ", ".join(f"({i}, {j})" for i, j in self.pairs[:4])
        more = ", ..." if len(self.pairs) > 4 else ""
        extra = " with diagonals" if self.with_diagonals else ""
        extra += ", clipped" if self.clip is not None else ""
        return f"CrossMoments of {len(self.pairs)} entries{extra}: {shown}{more}"


@dataclass(frozen=True, eq=False)
class MomentErrors(_ClippedQuery):
    """How far the entries above the diagonal are from n times an estimate.

    The scores of a selection: the distance of the sum of x_i x_j from n estimate_ij for
    every pair i < j; each changes by no more than its entry, 2.

    Parameters
    ----------
    estimate : ndarray of shape (d, d)
        What is known already: the second moments of a model, from released answers.
    rows : RowGrid
        How the rows are clipped and rounded.
    clip : ndarray of shape (d, d), optional
        Products x_i x_j are clipped to +-clip[i, j], in (0, 1], and divided by it, as
        is the estimate.
    """

    estimate: NDArray[np.float64]

    def __post_init__(self) -> None:
        super().__post_init__()
        estimate = np.array(self.estimate, dtype=np.float64)
        if not np.isfinite(estimate).all():
            raise ValueError("The estimate must be finite.")
        estimate.setflags(write=False)
        object.__setattr__(self, "estimate", estimate)

    def check(self, public: PublicFacts) -> None:
        """Refuse an estimate of another shape, and what no moment query can be asked.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        ValueError
            If a shape does not fit or the grid is too fine.
        TypeError
            If a column of the schema is no Numeric.
        """
        super().check(public)
        d, _ = self._size(public)
        if self.estimate.shape != (d, d) or d < 2:
            raise ValueError(f"The estimate must have the shape ({d}, {d}), d >= 2.")

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (d (d - 1)/2,)."""
        d, _ = self._size(public)
        return (d * (d - 1) // 2,)

    def evaluate(self, records: BoundedMatrix) -> NDArray:
        """Compare the sums with the estimate. For the curator alone.

        Parameters
        ----------
        records : BoundedMatrix
            The private records.

        Returns
        -------
        ndarray of int64, shape (d (d - 1)/2,)
            In the order of ``numpy.triu_indices(d, 1)``.
        """
        products = self._products(records)
        above = np.triu_indices(len(products), 1)
        estimate = self.estimate if self.clip is None else self.estimate / self.clip
        # Beyond the range of the products a change of the estimate changes no order.
        expected = np.clip(estimate[above], -2, 2) * (records.n_records / self.unit)
        return np.abs(products[above] - np.rint(expected).astype(np.int64))

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the scores: 2 each.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound.
        """
        off, _ = self._largest(public)
        (m,) = self.shape(public)
        return off * {1: float(m), 2: sqrt(m), inf: 1.0}[check_norm(ord)]
