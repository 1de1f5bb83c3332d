"""Who answers a question of independence, and how.

A skeleton search (:mod:`skdp.causal.skeleton`) asks; an answerer decides from exact
tables, from noisy ones that were released before, or by way of a mechanism that the
curator opened. None sees records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from skdp.stats.evidence import IndependenceTest, KeepRule, Verdict

__all__ = ["EdgeEvidence", "EvidenceAnswerer", "MechanismAnswerer", "TableAnswerer"]

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


class EdgeEvidence(NamedTuple):
    """What speaks for an edge: the conditional test that came nearest to deleting it.

    A sequence of them is a table: ``pandas.DataFrame(model.edges_)``.
    """

    #: The two variables.
    x: str
    y: str
    #: The conditioning set of that test; () if no other was asked.
    given: tuple[str, ...]
    #: Chi-square statistic, its degrees of freedom, and the p-value.
    statistic: float
    degrees: float
    p_value: float
    #: Share of the privacy noise in the variance of the statistic.
    noise_share: float
    #: True if the test was not significant, but could not have seen the dependence.
    kept_for_want_of_evidence: bool


class EvidenceAnswerer:
    """Decides by tests on noisy releases, and deletes an edge only on evidence.

    Parameters
    ----------
    test : callable
        ``test(x, y, given)`` returns an `IndependenceTest`.
    level : callable
        ``level(test)`` returns the level alpha at which it is judged.
    rule : KeepRule or None
        What a conditional test needs to be evidence; None to delete whatever is not
        significant.
    """

    exhausted = False

    def __init__(
        self,
        test: Callable[[str, str, tuple[str, ...]], IndependenceTest],
        level: Callable[[IndependenceTest], float],
        rule: KeepRule | None,
    ) -> None:
        self.test = test
        self._level = level
        self._rule = rule
        self._unconditional: dict[frozenset[str], IndependenceTest] = {}
        self._nearest: dict[frozenset[str], EdgeEvidence] = {}

    def independent(self, x: str, y: str, given: tuple[str, ...]) -> bool:
        """Return whether there is evidence that x and y are independent given a set.

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
        test = self.test(x, y, given)
        if not given:
            self._unconditional[frozenset((x, y))] = test
        return self.judge(x, y, given, test, self._rule)

    def judge(
        self,
        x: str,
        y: str,
        given: tuple[str, ...],
        test: IndependenceTest,
        rule: KeepRule | None,
    ) -> bool:
        """Decide on a test made elsewhere, and remember it.

        Parameters
        ----------
        x, y : str
            The two variables, asked about unconditionally before.
        given : tuple of str
            The conditioning set.
        test : IndependenceTest
            The test.
        rule : KeepRule or None
            As in the constructor.

        Returns
        -------
        bool
            True for independent.
        """
        pair = frozenset((x, y))
        first = self._unconditional[pair] if given and rule is not None else None
        verdict = (rule or KeepRule()).verdict(test, self._level(test), first)
        evidence = EdgeEvidence(
            x, y, given, test.statistic, test.degrees, test.p_value, test.noise_share,
            verdict is Verdict.NO_EVIDENCE,
        )  # fmt: skip
        before = self._nearest.get(pair)
        if before is None or not before.given or _nearer(evidence, before):
            self._nearest[pair] = evidence
        return verdict is Verdict.INDEPENDENT

    def expected_excess(self, x: str, y: str, test: IndependenceTest) -> float:
        """Return the noncentrality that the unconditional effect would have in a test.

        Parameters
        ----------
        x, y : str
            The two variables, asked about unconditionally before.
        test : IndependenceTest
            A conditional test of theirs.

        Returns
        -------
        float
            Not negative.
        """
        unconditional = self._unconditional[frozenset((x, y))]
        return KeepRule.expected_excess(test, unconditional)

    def edges(self, graph: nx.Graph) -> tuple[EdgeEvidence, ...]:
        """Say what speaks for each edge that is left.

        Parameters
        ----------
        graph : networkx.Graph
            The skeleton that was found with this answerer.

        Returns
        -------
        tuple of EdgeEvidence
            In the order of the graph's edges.
        """
        return tuple(self._nearest[frozenset(edge)] for edge in graph.edges)


def _nearer(one: EdgeEvidence, other: EdgeEvidence) -> bool:
    """Say whether one test was nearer to deleting its edge than another."""
    return (one.kept_for_want_of_evidence, one.p_value) > (
        other.kept_for_want_of_evidence,
        other.p_value,
    )
