"""Who answers a question of independence, and how.

A skeleton search (:mod:`skdp.causal.skeleton`) asks; an answerer decides from exact
tables, or by way of a mechanism that the curator opened. Neither sees records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["MechanismAnswerer", "TableAnswerer"]

Tables = NDArray[np.int64]


class TableAnswerer:
    """Decides by a test on exact contingency tables.

    Where a conditioning set leaves no stratum in which both variables vary, as next to
    a variable that is a function of others, there is no evidence either way: the
    edge is kept.

    Parameters
    ----------
    tables : callable
        ``tables(x, y, given)`` returns the counts, shape (n_strata, r, c).
    pvalue : callable
        ``pvalue(x, y, given, tables)`` returns the p-value of independence.
    alpha : float in (0, 1)
        Independent if and only if the p-value exceeds it.
    """

    exhausted = False

    def __init__(
        self,
        tables: Callable[[str, str, tuple[str, ...]], Tables],
        pvalue: Callable[[str, str, tuple[str, ...], Tables], float],
        alpha: float,
    ) -> None:
        self._tables = tables
        self._pvalue = pvalue
        self._alpha = alpha

    def independent(self, x: str, y: str, given: tuple[str, ...]) -> bool:
        """Return whether the test accepts independence of x and y given a set.

        Parameters
        ----------
        x, y : str
            The two variables.
        given : tuple of str
            The conditioning set.

        Returns
        -------
        bool
            True for independent.
        """
        tables = self._tables(x, y, given)
        if given and not can_show_dependence(tables):
            return False
        return self._pvalue(x, y, given, tables) > self._alpha


def can_show_dependence(tables: Tables) -> bool:
    """Return whether both variables vary in at least one stratum.

    Parameters
    ----------
    tables : ndarray of int64, shape (n_strata, r, c)
        Counts per stratum.

    Returns
    -------
    bool
        False if every stratum is empty or has a constant variable.
    """
    rows, columns = ((tables.sum(axis=axis) > 0).sum(axis=1) for axis in (2, 1))
    return bool(np.any((rows > 1) & (columns > 1)))


class ThresholdMechanism(Protocol):
    """A private mechanism that compares scores with thresholds, with a cap."""

    @property
    def rounds_left(self) -> int:
        """Number of answers "yes" that are left."""

    def ask(self, query: Any, threshold: float, *, tweak: float = 0.0) -> bool:
        """Return whether the score is at most the threshold."""


class MechanismAnswerer:
    """Decides by a private mechanism, until its rounds are used up.

    Parameters
    ----------
    mechanism : SparseVector or SieveAndExamine
        Opened, and paid for, by the curator.
    question : callable
        ``question(x, y, given)`` returns the score as a query and its threshold.
    tweak : float, default=0.0
        Passed to the mechanism's sieve, in units of the score.
    """

    def __init__(
        self,
        mechanism: ThresholdMechanism,
        question: Callable[[str, str, tuple[str, ...]], tuple[Any, float]],
        tweak: float = 0.0,
    ) -> None:
        self._mechanism = mechanism
        self._question = question
        self._tweak = tweak

    @property
    def exhausted(self) -> bool:
        """Whether every round of the mechanism has fired."""
        return self._mechanism.rounds_left == 0

    def independent(self, x: str, y: str, given: tuple[str, ...]) -> bool:
        """Return the mechanism's noisy answer for x and y given a set.

        Parameters
        ----------
        x, y : str
            The two variables.
        given : tuple of str
            The conditioning set.

        Returns
        -------
        bool
            True for independent.
        """
        query, threshold = self._question(x, y, given)
        return self._mechanism.ask(query, threshold, tweak=self._tweak)
