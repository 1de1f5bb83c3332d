r"""How far synthetic records are off on each of many queries, as scores.

A single query q is a row of a linear query on a marginal; q(x) is the row's entry in
the cell of record x. It is scaled by c so that c q varies by a weight w, at most, from
record to record. With n records x_i and k synthetic, public ones z_j its gap is

.. math:: g_q = c \bigl(k \sum_i q(x_i) - n \sum_j q(z_j)\bigr) ,

k n c times the difference of the means. That of the negated query, w.l.o.g. minus q, is
:math:`-g_q`, and both are scores: a query that the synthetic records answer too low,
or whose negation they do, has a high one.

*Proof of the sensitivity.* Replacing x by x' changes a gap by :math:`k\,c\,(q(x') -
q(x))`, the rest being public, and :math:`|c\,(q(x') - q(x))| \le w` by the choice of c.
So a score changes by at most k w: this is the Linf sensitivity, with the largest
weight. Both scores of a query change alike, so that the L1 and L2 sensitivities are at
most 2 k times the sum, and sqrt(2) k times the root of the sum of squares, of the
weights of all queries that vary. Without synthetic records, k = 0, all scores are 0 and
public.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import SchemaError
from skdp.graphical.single_queries import row_ranges, row_scales

from .base import LARGEST_SUM, Norm, PublicFacts, Query, check_norm
from .linear import LinearMarginal

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["AnswerGaps"]

#: Larger integers are not all floating-point numbers.
_MAX_EXACT = 2.0**52
#: More than the rounding of a few operations.
_UP = 1 + 2.0**-40


@dataclass(frozen=True, eq=False)
class AnswerGaps(Query):
    """Gaps between the answers of the records and of synthetic ones; see the module.

    Sensitivity in Linf: the number of synthetic records times the largest weight.

    Parameters
    ----------
    queries : iterable of LinearMarginal
        Their rows are the single queries.
    answers : iterable of array-like
        Per linear query its answers on the synthetic records, not scaled; public.
    n_synthetic : int
        How many synthetic records there are.
    weights : iterable of float, optional
        Per linear query the range that its rows are scaled to; by default 1. Where all
        entries are 0 or 1, so that nothing has to be scaled, scores are whole numbers.

    Examples
    --------
    >>> from skdp.graphical import prefix
    >>> from skdp.records import Ordinal, Schema
    >>> public = PublicFacts(10, Schema([Ordinal("rooms", (1, 2, 3))]))
    >>> gaps = AnswerGaps([LinearMarginal("rooms", prefix(3))], [[1, 2, 2]], 2)
    >>> gaps.sensitivity(public, float("inf")), gaps.shape(public), gaps.integral
    (2.0, (6,), True)
    """

    queries: tuple[LinearMarginal, ...]
    answers: tuple[NDArray[np.float64], ...]
    n_synthetic: int
    weights: tuple[float, ...]

    def __init__(
        self,
        queries: Iterable[LinearMarginal],
        answers: Iterable[ArrayLike],
        n_synthetic: int,
        weights: Iterable[float] | None = None,
    ) -> None:
        parts = tuple(queries)
        public = tuple(np.array(answer, dtype=np.float64) for answer in answers)
        for answer in public:
            answer.setflags(write=False)
        ranges = (1.0,) * len(parts) if weights is None else tuple(map(float, weights))
        object.__setattr__(self, "queries", parts)
        object.__setattr__(self, "answers", public)
        object.__setattr__(self, "n_synthetic", int(n_synthetic))
        object.__setattr__(self, "weights", ranges)
        if not parts or not len(parts) == len(public) == len(ranges):
            raise ValueError(
                f"There must be an answer and a weight per query and at least one, not "
                f"{len(public)} and {len(ranges)} for {len(parts)}."
            )
        if n_synthetic < 0 or n_synthetic != int(n_synthetic):
            raise ValueError(f"n_synthetic must be a number of records: {n_synthetic}.")
        if not all(0 < weight < inf for weight in ranges):
            raise ValueError("The weights must be positive and finite.")
        if not all(np.isfinite(answer).all() for answer in public):
            raise ValueError("The answers of the synthetic records must be finite.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnswerGaps) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[Any, ...]:
        answers = tuple(answer.tobytes() for answer in self.answers)
        return self.queries, answers, self.n_synthetic, self.weights

    def __repr__(self) -> str:
        n_queries = sum(len(answer) for answer in self.answers)
        return f"AnswerGaps({n_queries} queries, {self.n_synthetic} synthetic records)"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that any query depends on."""
        return tuple(dict.fromkeys(c for query in self.queries for c in query.names))

    @cached_property
    def _scales(self) -> tuple[NDArray[np.float64], ...]:
        pairs = zip(self.queries, self.weights, strict=True)
        return tuple(row_scales(part.query, weight) for part, weight in pairs)

    @cached_property
    def _moves(self) -> NDArray[np.float64]:
        """By how much, at most, one record moves each scaled query; 0 for constants."""
        pairs = zip(self._scales, self.weights, strict=True)
        return np.concatenate([weight * (scale > 0) for scale, weight in pairs])

    @cached_property
    def integral(self) -> bool:  # type: ignore[override]
        """True if all queries and public answers are integers, and no scale but 1."""
        return all(
            part.integral
            and bool(((scale == 0) | (scale == 1)).all())
            and bool((answer == np.rint(answer)).all())
            for part, scale, answer in zip(
                self.queries, self._scales, self.answers, strict=True
            )
        )

    def check(self, public: PublicFacts) -> None:
        """Refuse what a query refuses, and answers of another number.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column is missing, an answer does not fit its query, or the sums of
            integers would not be exact, or those of any numbers could overflow.
        """
        for part, answer in zip(self.queries, self.answers, strict=True):
            part.check(public)
            if answer.shape != part.shape(public):
                raise SchemaError(
                    f"The answers for {part.names} must have the shape "
                    f"{part.shape(public)}, not {answer.shape}."
                )
        with np.errstate(over="ignore", invalid="ignore"):
            largest = self._largest(public)
        if not largest <= LARGEST_SUM:
            raise SchemaError(
                f"{public.n_records} records times {self.n_synthetic} synthetic ones "
                "have sums that could overflow: the entries of the queries, or their "
                "weights divided by them, are too large."
            )
        if self.integral and largest >= _MAX_EXACT:
            raise SchemaError(
                f"{public.n_records} records times {self.n_synthetic} synthetic ones "
                "are too many for exact sums."
            )

    def _largest(self, public: PublicFacts) -> float:
        """Bound all numbers that are computed on the way to a score."""
        n, k = public.n_records, self.n_synthetic
        largest: list[float] = []
        parts = zip(self.queries, self._scales, self.answers, strict=True)
        for part, scale, answer in parts:
            low, high = row_ranges(part.query)
            entries = np.maximum(np.abs(low), np.abs(high))
            sums = np.maximum(1.0, scale) * n * (k * entries + np.abs(answer))
            largest += [n * part.largest_weight, float(sums.max())]
        return float(np.max(largest))

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (2 n_queries,): all queries, and then all their negations."""
        return (2 * sum(len(answer) for answer in self.answers),)

    def evaluate(self, records: CountTable) -> NDArray:
        """Compute the gaps. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray, shape (2 n_queries,)
            int64 where no query had to be scaled.
        """
        n, gaps = records.n_records, []
        parts = zip(self.queries, self._scales, self.answers, strict=True)
        for part, scale, answer in parts:
            total = part.evaluate(records).astype(np.float64)  # 64 bits may not do
            gap = self.n_synthetic * total - n * answer
            gaps.append(scale * gap)
        all_gaps = np.concatenate(gaps)
        if self.integral:
            all_gaps = np.rint(all_gaps).astype(np.int64)
        return np.concatenate([all_gaps, -all_gaps])

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the scores; see the module for the proof.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound: k times the largest weight in Linf.
        """
        check_norm(ord)
        up = 1.0 if self.integral and ord != 2 else _UP
        if ord == inf:
            return self.n_synthetic * float(self._moves.max()) * up
        factor, largest = 2.0 if ord == 1 else sqrt(2.0), float(self._moves.max())
        if largest == 0:
            return 0.0
        # Squares of small weights would underflow.
        norm = largest * float(np.linalg.norm(self._moves / largest, ord))
        return self.n_synthetic * factor * norm * up

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the rounding of a score; 0 for integers.

        The error of an answer is multiplied by its scale and k; two products, a
        difference and a product more are rounded.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Largest absolute error, in units of the scores.
        """
        if self.integral:
            return 0.0
        errors = [
            self.n_synthetic * float(scale.max()) * part.evaluation_error(public)
            for part, scale in zip(self.queries, self._scales, strict=True)
        ]
        return max(errors) * _UP + 2.0**-50 * self._largest(public)
