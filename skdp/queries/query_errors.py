"""How far a public model is off on each single query of a workload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import hypot
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import SchemaError
from skdp.graphical.linear_queries import Identity, Kronecker, LinearQuery
from skdp.graphical.single_queries import row_ranges

from .base import LARGEST_SUM, Norm, PublicFacts, Query, check_norm
from .linear import LinearMarginal
from .marginals import Marginal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skdp.records import CountTable

__all__ = ["QueryErrors"]

#: Answers of the model are rounded to multiples of this, so that errors are exact.
_GRAIN = 2.0**-10
#: Multiples of the grain below this are subtracted exactly.
_EXACT = 2.0**42


@dataclass(frozen=True, eq=False)
class QueryErrors(Query):
    """How far a public model is off on each single answer of some queries.

    There is a candidate for each cell of a table and for each row of a linear query,
    and its score is ``w_k |q(D) - q(model)|``. As ``||a - t| - |b - t|| <= |a - b|``,
    replacing a record changes no score by more than the answer itself, times w_k. So
    the scores of a part have the sensitivities of its answers in every norm, and those
    of several parts add up as the parts of a batch do: in Linf the largest change of
    a single answer, which is 1 for queries of zeros and ones.

    Rows of equal entries ask for a multiple of the number of records, which is public.
    They are no candidates.

    Parameters
    ----------
    marginals : iterable of Marginal or LinearMarginal
        What is asked.
    answers : iterable of array-like
        What the model answers, in the shapes of the queries' own answers; public.
        Rounded to multiples of 2^-10.
    weights : iterable of float, optional
        How much an error on each of the parts counts; positive, 1 by default.

    Raises
    ------
    ValueError
        If there is no part, or not one finite answer and positive weight for each.

    Examples
    --------
    >>> from skdp.graphical import prefix
    >>> from skdp.records import Ordinal, Schema
    >>> public = PublicFacts(10, Schema([Ordinal("rooms", (1, 2, 3))]))
    >>> sums = LinearMarginal("rooms", prefix(3))
    >>> scores = QueryErrors([Marginal("rooms"), sums], [[3, 3, 4], [3, 6, 10]])
    >>> scores.shape(public), scores.sensitivity(public, float("inf"))
    ((5,), 1.0)
    >>> scores.candidate(4).query.matrix
    array([[1., 1., 0.]])
    """

    marginals: tuple[Marginal | LinearMarginal, ...]
    answers: tuple[NDArray[np.float64], ...]
    weights: tuple[float, ...]

    def __init__(
        self,
        marginals: Iterable[Marginal | LinearMarginal],
        answers: Iterable[ArrayLike],
        weights: Iterable[float] | None = None,
    ) -> None:
        parts = tuple(marginals)
        steps = [np.asarray(answer, dtype=np.float64) / _GRAIN for answer in answers]
        exact = tuple(np.rint(answer) * _GRAIN for answer in steps)
        for answer in exact:
            answer.setflags(write=False)
        given = (1.0,) * len(parts) if weights is None else tuple(map(float, weights))
        object.__setattr__(self, "marginals", parts)
        object.__setattr__(self, "answers", exact)
        object.__setattr__(self, "weights", given)
        if not parts or not len(parts) == len(exact) == len(given):
            raise ValueError(
                "There must be one array of answers and one weight for each of at "
                f"least one marginal, not {len(exact)} and {len(given)} for "
                f"{len(parts)}."
            )
        if not all(np.isfinite(answer).all() for answer in exact):
            raise ValueError("The answers of the model must be finite.")
        if not all(0 < weight < np.inf for weight in given):
            raise ValueError("The weights must be positive and finite.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QueryErrors) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[Any, ...]:
        answers = tuple((answer.shape, answer.tobytes()) for answer in self.answers)
        return self.marginals, answers, self.weights

    def __repr__(self) -> str:
        return f"QueryErrors({self._ends[-1]} queries on {self.columns})"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that any score depends on."""
        return tuple(dict.fromkeys(c for m in self.marginals for c in m.names))

    @cached_property
    def _candidates(self) -> tuple[NDArray[np.intp] | slice, ...]:
        """Places, among the answers of each part, of those that a record can change."""
        return tuple(map(_varying, self.marginals, self.answers))

    @cached_property
    def _ends(self) -> NDArray[np.intp]:
        """Where the candidates of each part end, after a zero."""
        parts = zip(self.answers, self._candidates, strict=True)
        sizes = [np.ravel(answer)[places].size for answer, places in parts]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.intp)])

    def candidate(self, index: int) -> LinearMarginal:
        """Return a single query.

        Parameters
        ----------
        index : int
            Place of its score.

        Returns
        -------
        LinearMarginal
            With one answer.
        """
        index = range(int(self._ends[-1]))[index]
        part = int(np.searchsorted(self._ends, index, side="right")) - 1
        marginal, answer = self.marginals[part], self.answers[part]
        places = np.arange(answer.size)[self._candidates[part]]
        row = int(places[index - self._ends[part]])
        return LinearMarginal(marginal.names, _linear(marginal, answer).row(row))

    def check(self, public: PublicFacts) -> None:
        """Refuse what a marginal refuses, and answers of another shape.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column is missing, answers have the wrong shape, or sums could
            overflow.
        """
        parts = zip(self.marginals, self.answers, self.weights, strict=True)
        for marginal, answer, weight in parts:
            marginal.check(public)
            if answer.shape != marginal.shape(public):
                raise SchemaError(
                    f"The answers to {marginal} must have the shape "
                    f"{marginal.shape(public)}, not {answer.shape}."
                )
            largest = _largest(marginal, answer, public)
            if not max(1.0, weight) * largest <= LARGEST_SUM:
                raise SchemaError(
                    f"The errors on {marginal}, times the weight {weight:g}, could "
                    "overflow: use smaller weights."
                )

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (n_candidates,)."""
        return (int(self._ends[-1]),)

    def evaluate(self, records: CountTable) -> NDArray:
        """Compute the errors. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray, shape (n_candidates,)
            Weighted absolute errors.
        """
        errors = np.empty(int(self._ends[-1]))
        for k, (marginal, answer) in enumerate(
            zip(self.marginals, self.answers, strict=True)
        ):
            part = errors[self._ends[k] : self._ends[k + 1]]
            difference = np.ravel(marginal.evaluate(records) - answer)
            np.abs(difference[self._candidates[k]], out=part)
            part *= self.weights[k]
        return errors

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Combine the sensitivities of the answers, times their weights.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound, in units of the answers.
        """
        check_norm(ord)
        pairs = zip(self.marginals, self.weights, strict=True)
        parts = [weight * m.sensitivity(public, ord) for m, weight in pairs]
        if ord == 1:
            return float(sum(parts))
        return hypot(*parts) if ord == 2 else max(parts)

    def n_affected(self, public: PublicFacts) -> int:
        """Add up the candidates that one record can change in the parts.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        int
            2 for a table of counts, all candidates of a linear query.
        """
        sizes = np.diff(self._ends)
        pairs = zip(self.marginals, sizes, strict=True)
        return sum(int(min(m.n_affected(public), size)) for m, size in pairs)

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the rounding of an error: 0 for integer weights of queries and parts 1.

        Whole counts and multiples of 2^-10 are subtracted exactly as long as they stay
        below 2^42. Otherwise the subtraction and the multiplication round once each.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Largest absolute error.
        """
        parts = zip(self.marginals, self.answers, self.weights, strict=True)
        return max(_rounding(m, a, weight, public) for m, a, weight in parts)


def _linear(
    marginal: Marginal | LinearMarginal, answer: NDArray[np.float64]
) -> LinearQuery:
    """Return what is asked as a matrix; a table's cells keep one factor per column."""
    if isinstance(marginal, LinearMarginal):
        return marginal.query
    return Kronecker(tuple(map(Identity, answer.shape)))


def _varying(
    marginal: Marginal | LinearMarginal, answer: NDArray[np.float64]
) -> NDArray[np.intp] | slice:
    """Return the rows whose entries are not all equal."""
    if isinstance(marginal, Marginal):
        return slice(None) if answer.size > 1 else slice(0)
    low, high = row_ranges(marginal.query)
    varies = high > low
    return slice(None) if varies.all() else np.flatnonzero(varies)


def _largest(
    marginal: Marginal | LinearMarginal,
    answer: NDArray[np.float64],
    public: PublicFacts,
) -> float:
    """Bound all sums that are computed on the way to an error."""
    weight = marginal.largest_weight if isinstance(marginal, LinearMarginal) else 1.0
    return public.n_records * weight + float(np.abs(answer).max(initial=0.0))


def _rounding(
    marginal: Marginal | LinearMarginal,
    answer: NDArray[np.float64],
    weight: float,
    public: PublicFacts,
) -> float:
    total = _largest(marginal, answer, public)
    if marginal.integral and weight == 1 and total < _EXACT:
        return 0.0
    return weight * (marginal.evaluation_error(public) + 2.0**-51 * total)
