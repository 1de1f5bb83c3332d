"""What a test of independence found, and when that is reason to delete an edge.

With noise, "not significant" has two meanings: the dependence is gone, or it can no
longer be seen. The keep rule tells them apart by asking whether the same effect that
the pair showed unconditionally could have been seen in the conditional table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["IndependenceTest", "KeepRule", "Verdict", "level_by_noise"]


@dataclass(frozen=True)
class IndependenceTest:
    """The outcome of one test.

    Parameters
    ----------
    statistic : float
        Chi-square distributed with `degrees` degrees of freedom under independence.
    degrees : float
        0 if nothing was left to test; the statistic is then 0.
    p_value : float
        1 if nothing was left to test.
    information : float
        What an effect of unit size adds to the noncentrality; comparable between
        tests of one pair given different sets.
    noise_share : float
        Share of the privacy noise in the variance of the statistic, from 0 to 1.
    tolerance : float, default=1.0
        Share of the two variables' variance that the conditioning set leaves.
    """

    statistic: float
    degrees: float
    p_value: float
    information: float
    noise_share: float
    tolerance: float = 1.0

    @property
    def excess(self) -> float:
        """Estimate of the noncentrality, at least 0."""
        return max(self.statistic - self.degrees, 0.0)


class Verdict(Enum):
    """What a test says of an edge."""

    DEPENDENT = "dependent"
    INDEPENDENT = "independent"
    NO_EVIDENCE = "no evidence"


@dataclass(frozen=True)
class KeepRule:
    """Delete an edge only on evidence of independence.

    Let the unconditional test of the pair have had the excess lambda_0 and the
    information I_0. In a conditional test of information I the same effect would have
    the noncentrality lambda = lambda_0 I / I_0. The conditional test is evidence if
    lambda is large enough to be seen and the excess is less than kappa^2 of it.

    Parameters
    ----------
    kappa : float, default=0.5
        Largest share of the effect that counts as explained away.
    least_noncentrality : float, default=3.0
        Smallest lambda that could have been seen.
    least_tolerance : float, default=0.0
        Below this a variable is as good as determined by the conditioning set.
    """

    kappa: float = 0.5
    least_noncentrality: float = 3.0
    least_tolerance: float = 0.0

    def verdict(
        self,
        test: IndependenceTest,
        alpha: float,
        unconditional: IndependenceTest | None = None,
    ) -> Verdict:
        """Judge a test.

        Parameters
        ----------
        test : IndependenceTest
            The test.
        alpha : float
            Its level.
        unconditional : IndependenceTest, optional
            The test of the same pair given nothing. Without it `test` is that test:
            independent is then what is not significant.

        Returns
        -------
        Verdict
            Whether the pair is dependent, independent, or the test could not tell.
        """
        if test.p_value <= alpha:
            return Verdict.DEPENDENT
        if unconditional is None:
            return Verdict.INDEPENDENT
        expected = self.expected_excess(test, unconditional)
        seen = expected >= self.least_noncentrality
        explained = test.excess < self.kappa**2 * expected
        varies = test.tolerance >= self.least_tolerance
        if seen and explained and varies:
            return Verdict.INDEPENDENT
        return Verdict.NO_EVIDENCE

    @staticmethod
    def expected_excess(
        test: IndependenceTest, unconditional: IndependenceTest
    ) -> float:
        """Return the noncentrality that the unconditional effect would have here.

        Parameters
        ----------
        test : IndependenceTest
            A conditional test.
        unconditional : IndependenceTest
            The test of the same pair given nothing.

        Returns
        -------
        float
            0 if the unconditional test had no information.
        """
        if unconditional.information <= 0:
            return 0.0
        share = test.information / unconditional.information
        return unconditional.excess * share


def level_by_noise(strict: float, lenient: float, noise_share: float) -> float:
    """Return the level of a test: strict where sampling noise rules.

    Parameters
    ----------
    strict, lenient : float in (0, 1)
        Levels without privacy noise and without sampling noise.
    noise_share : float
        Share of the privacy noise in the variance, from 0 to 1.

    Returns
    -------
    float
        Their geometric mean, weighted by the share.

    Examples
    --------
    >>> round(level_by_noise(0.001, 0.1, 0.5), 6)
    0.01
    """
    return float(strict ** (1 - noise_share) * lenient**noise_share)
