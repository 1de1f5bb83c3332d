"""The contract between a question and the curator who answers it.

A query is a deterministic function of the records together with a proof: a bound
on how much its answer can change when one record is replaced, computed from public
facts alone. Only the curator (:mod:`skdp.privacy.curator`) evaluates queries.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from skdp.records import Schema

__all__ = ["Batch", "Norm", "PublicFacts", "Query", "all_queries"]

#: The norms in which a sensitivity can be asked for: 1, 2 or ``math.inf``.
Norm: TypeAlias = Literal[1, 2] | float


@dataclass(frozen=True)
class PublicFacts:
    """All that a sensitivity may depend on.

    Parameters
    ----------
    n_records : int
        Number of records; public under replace-one.
    schema : Schema
        Public description of the columns.
    """

    n_records: int
    schema: Schema


class Query(ABC):
    """A question about a table of records, with a proved sensitivity.

    Subclasses are frozen dataclasses that hold column names and parameters of
    their own, never a claim about levels or strata that the schema has not made.
    """

    #: True if every answer is made of integers, so that no rounding is needed.
    integral: ClassVar[bool] = False

    #: What an integer stands for in the answer of an integral query: a power of two.
    unit: ClassVar[float] = 1.0

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the answer depends on."""

    @abstractmethod
    def evaluate(self, records: Any) -> NDArray:
        """Compute the raw answer. For the curator alone.

        Parameters
        ----------
        records : CountTable or BoundedMatrix
            The private records.

        Returns
        -------
        ndarray
            The answer, without any noise; shape () for a scalar query. For integral
            queries int64, in units of `unit`.
        """

    @abstractmethod
    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return the shape of the answer.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        tuple of int
            () for a scalar.
        """

    @abstractmethod
    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the answer when one record is replaced.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound, in units of the answer.
        """

    def n_affected(self, public: PublicFacts) -> int:
        """Count the coordinates of the answer that one record can change.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        int
            1 for a scalar query; rounding to a grid costs a step for each. For others
            all coordinates, unless a subclass knows better.
        """
        return int(np.prod(self.shape(public)))

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the floating-point error of `evaluate`, per coordinate.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Largest absolute error, in units of the answer; the curator adds it
            twice to the sensitivity. 0 for integral queries.
        """
        return 0.0

    def check(self, public: PublicFacts) -> None:
        """Refuse columns that the schema does not have.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column of the query is missing from the schema.
        """
        for name in self.columns:
            public.schema[name]


@dataclass(frozen=True)
class Batch(Query):
    """Several queries asked as one, with the concatenated answers.

    Parameters
    ----------
    queries : tuple of Query
        The parts. Their sensitivities add up: d marginals have d times the L1 and
        sqrt(d) times the L2 sensitivity of one.
    """

    queries: tuple[Query, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", tuple(self.queries))
        if not self.queries:
            raise ValueError("A batch needs at least one query.")

    @property
    def integral(self) -> bool:  # type: ignore[override]
        """True if every part is integral, in integers that stand for the same."""
        same_unit = len({query.unit for query in self.queries}) == 1
        return same_unit and all(query.integral for query in self.queries)

    @property
    def unit(self) -> float:  # type: ignore[override]
        """What an integer stands for."""
        return self.queries[0].unit if self.integral else 1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that any part depends on."""
        return tuple(dict.fromkeys(c for query in self.queries for c in query.columns))

    def evaluate(self, records: Any) -> NDArray:
        """Compute the raw answers. For the curator alone.

        Parameters
        ----------
        records : CountTable or BoundedMatrix
            The private records.

        Returns
        -------
        ndarray, shape (n_answers,)
            The raveled answers of the parts, one after the other.
        """
        answers = [np.ravel(q.evaluate(records)) for q in self.queries]
        if not self.integral:
            answers = [a * q.unit for a, q in zip(answers, self.queries, strict=True)]
        return np.concatenate(answers)

    def check(self, public: PublicFacts) -> None:
        """Refuse what any part refuses.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column of a part is missing from the schema.
        """
        for query in self.queries:
            query.check(public)

    def split(self, answer: NDArray, public: PublicFacts) -> list[NDArray]:
        """Cut a flat answer into one array per part.

        Parameters
        ----------
        answer : ndarray, shape (n_answers,)
            An answer to this batch, noisy or not.
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        list of ndarray
            The parts, each in the shape of its own query.
        """
        shapes = [query.shape(public) for query in self.queries]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        parts = np.split(answer, ends[:-1])
        return [p.reshape(shape) for p, shape in zip(parts, shapes, strict=True)]

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return the shape of the answer: (n_answers,)."""
        return (sum(int(np.prod(q.shape(public))) for q in self.queries),)

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Bound the change of the answers: the norm of the parts' bounds.

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
        parts = [query.sensitivity(public, ord) for query in self.queries]
        if ord == 1:
            return float(sum(parts))
        return sqrt(sum(p * p for p in parts)) if ord == 2 else max(parts)

    def n_affected(self, public: PublicFacts) -> int:
        """Add up the coordinates that one record can change in the parts."""
        return sum(query.n_affected(public) for query in self.queries)

    def evaluation_error(self, public: PublicFacts) -> float:
        """Return the largest floating-point error of a part."""
        return max(query.evaluation_error(public) for query in self.queries)


#: Answers may add up numbers up to this: larger ones could overflow for some records.
LARGEST_SUM = 2.0**1000


def check_norm(ord: Norm) -> Norm:
    """Return `ord` if it is 1, 2 or infinity, else raise a ValueError."""
    if ord not in (1, 2, inf):
        raise ValueError(f"ord must be 1, 2 or inf, got {ord!r}.")
    return ord


def scaled_norm(values: NDArray[np.float64]) -> float:
    """Return the Euclidean norm of numbers whose squares may underflow or overflow."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest and largest * float(np.linalg.norm(values / largest))


def all_queries() -> list[tuple[str, type[Query]]]:
    """List every concrete query class of the package.

    Returns
    -------
    list of (str, type)
        Names and classes, sorted by name.

    Examples
    --------
    >>> dict(all_queries())["Marginal"]
    <class 'skdp.queries.marginals.Marginal'>
    """
    import skdp.queries  # noqa: F401  (its modules register the subclasses)

    found = {
        cls.__name__: cls for cls in _subclasses(Query) if not inspect.isabstract(cls)
    }
    return sorted(found.items())


def _subclasses(cls: type) -> Iterator[type]:
    child: type
    for child in cls.__subclasses__():
        if child.__module__.startswith("skdp."):
            yield child
        yield from _subclasses(child)
