"""How clearly edges can be separated, in units that make unlike scores comparable."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .base import Norm, PublicFacts, Query, check_norm
from .dependence_base import DependenceQuery

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["IndependenceMargins", "Question"]


@dataclass(frozen=True)
class Question:
    """A score and the threshold that it is compared with.

    Parameters
    ----------
    query : DependenceQuery
        The score.
    threshold : float
        Public threshold, in units of the score.
    """

    query: DependenceQuery
    threshold: float

    def margin(self, records: CountTable) -> float:
        """Return how far the score lies below the threshold, in sensitivities.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        float
            Positive for independence; replacing a record changes it by at most 1. 0
            for a public constant, which has no unit.
        """
        public = PublicFacts(records.n_records, records.schema)
        unit = self.query.sensitivity(public)
        if unit == 0:
            return 0.0
        return (self.threshold - float(self.query.evaluate(records))) / unit

    def error(self, public: PublicFacts) -> float:
        """Bound the floating-point error of the margin.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            The bound, in sensitivities.
        """
        unit = self.query.sensitivity(public)
        if unit == 0:
            return 0.0
        size = 2 * abs(self.threshold) + 3 * sqrt(public.n_records)
        return (self.query.evaluation_error(public) + size * 2.0**-50) / unit


@dataclass(frozen=True)
class IndependenceMargins(Query):
    r"""The best margin of independence of every edge over its conditioning sets.

    .. math:: h_e = \max_S \frac{T_{e,S} - A(e|S)}{\Delta_{e,S}}

    Every score A is divided by its own sensitivity, and a maximum of functions that
    change by at most 1 changes by at most 1: that is the sensitivity of each
    coordinate.

    Parameters
    ----------
    edges : tuple of tuple of Question
        For each edge its questions, one or more; thresholds are public.
    """

    edges: tuple[tuple[Question, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(tuple(edge) for edge in self.edges))
        if not self.edges or not all(self.edges):
            raise ValueError("Margins need at least one edge, each with a question.")

    def __str__(self) -> str:
        n_questions = sum(len(edge) for edge in self.edges)
        return f"margins of {len(self.edges)} edges over {n_questions} questions"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of all questions."""
        every = (q.query.columns for edge in self.edges for q in edge)
        return tuple(dict.fromkeys(name for columns in every for name in columns))

    def check(self, public: PublicFacts) -> None:
        """Refuse columns that the schema does not have.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column is missing from the schema.
        """
        for edge in self.edges:
            for question in edge:
                question.query.check(public)

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (n_edges,)."""
        return (len(self.edges),)

    def evaluate(self, records: CountTable) -> NDArray:
        """Compute the raw margins. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray of float, shape (n_edges,)
            In sensitivities; positive where some set makes an edge's ends independent.
        """
        return np.array([max(q.margin(records) for q in edge) for edge in self.edges])

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Return 1 for the maximum norm; all edges can change at once in the others.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound, in units of the margins.
        """
        check_norm(ord)
        n_edges = len(self.edges)
        return {1: float(n_edges), 2: sqrt(n_edges), inf: 1.0}[ord]

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the floating-point error of a margin.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            The largest, in units of the margins.
        """
        return max(q.error(public) for edge in self.edges for q in edge)
