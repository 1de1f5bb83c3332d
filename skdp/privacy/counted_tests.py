"""Tests that are paid for one by one, whatever they answer, up to a public cap."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from math import isfinite
from typing import TYPE_CHECKING

from skdp.exceptions import BudgetExceededError
from skdp.queries import PublicFacts, Query

from .arguments import whole_number
from .grid import public_sensitivity

if TYPE_CHECKING:
    from .curator import Curator

__all__ = ["CountedTests"]


class CountedTests(ABC):
    """Tests of scalars against thresholds, up to a public cap on their number.

    Parameters
    ----------
    curator : Curator
        Holds the records, pays, and draws the noise.
    n_tests : int
        Public cap on the tests.
    sample_size : int
        Records that a score is computed from.

    Attributes
    ----------
    rounds : int
        The cap.
    rounds_left : int
        Tests that are left.
    """

    name: str
    _entry: int

    def __init__(self, curator: Curator, n_tests: int, sample_size: int) -> None:
        self._rounds = self._rounds_left = whole_number(n_tests, "n_tests")
        self._sample_size = sample_size
        self._curator = curator
        self._lock = threading.Lock()

    @property
    def rounds(self) -> int:
        """The cap."""
        return self._rounds

    @property
    def rounds_left(self) -> int:
        """Tests that are left."""
        return self._rounds_left

    def __reduce__(self) -> str:
        raise TypeError(
            f"A {type(self).__name__} cannot be copied or pickled: the copy would have "
            "tests of its own that nobody paid for."
        )

    def ask(self, query: Query, threshold: float, *, tweak: float = 0.0) -> bool:
        """Ask whether a score is at most a threshold.

        Parameters
        ----------
        query : Query
            A scalar query.
        threshold : float
            Public threshold, in units of the score.
        tweak : float, default=0.0
            Added to the threshold.

        Returns
        -------
        bool
            The noisy answer. It uses up a test, whatever it is.

        Raises
        ------
        BudgetExceededError
            If no test is left; no record was touched.
        ValueError
            If the query is no scalar, its sensitivity or the threshold not finite; no
            record was touched.
        """
        limit = float(threshold) + float(tweak)
        public = PublicFacts(self._sample_size, self._curator.public.schema)
        sensitivity = public_sensitivity(query, public, 1)
        if query.shape(public) != () or not isfinite(limit):
            raise ValueError(
                f"{self.name} compares a scalar query with a finite threshold; got "
                f"{query} and {limit}."
            )
        if sensitivity == 0:
            constant = self._curator._public_answer(query, self._sample_size)
            return bool(constant * query.unit <= limit)
        with self._lock:
            if self._rounds_left <= 0:
                raise BudgetExceededError(
                    f"All {self.rounds} tests of this {self.name} have been asked; "
                    "data access has ended."
                )
            self._rounds_left -= 1  # first, so that an interruption costs the test
            return self._is_at_most(query, limit)

    @abstractmethod
    def _is_at_most(self, query: Query, limit: float) -> bool:
        """Answer a question that has been paid for."""
