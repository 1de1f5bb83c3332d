"""The plan for tests of unbounded sensitivity: private medians over blocks of records.

Fixed from public facts before the first question, so that the guarantee is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, nextafter

from skdp.privacy import scale_parts_to
from skdp.queries import DependenceEvidence
from skdp.stats import median_threshold
from skdp.stats.smooth_sensitivity import largest_smoothness

__all__ = ["MedianPlan", "MedianQuestions", "plan_medians"]

#: Fewest records in a block by default: fewer would show no dependence.
SMALLEST_BLOCK = 50


@dataclass(frozen=True)
class MedianPlan:
    """A plan of private medians.

    Parameters
    ----------
    cap : int
        Number of tests; 0 if there is nothing to ask.
    n_blocks : int
        Odd number of blocks of records.
    epsilon, delta : float
        Price of one test.
    composition : {"basic", "zcdp", "optimal"}
        How the tests are composed.
    """

    cap: int = 0
    n_blocks: int = 1
    epsilon: float = 0.0
    delta: float = 0.0
    composition: str = "basic"


def plan_medians(
    n_records: int, budget: tuple[float, float], cap: int, n_blocks: int | None
) -> MedianPlan:
    """Divide a budget into equal medians; half of delta is for their own.

    Parameters
    ----------
    n_records : int
        Number of records.
    budget : tuple of (float, float)
        Total epsilon and delta, delta > 0.
    cap : int
        Number of tests.
    n_blocks : int or None
        Odd number of blocks; None for as many as the noise needs, see the source.

    Returns
    -------
    MedianPlan
        The plan; its cost is at most the budget.
    """
    if cap == 0:
        return MedianPlan()
    if n_blocks is not None and not (n_blocks % 2 and n_blocks <= n_records):
        raise ValueError(
            f"n_blocks must be odd and at most the {n_records} records, got {n_blocks}."
        )
    epsilon, delta = budget
    scale, composition = scale_parts_to(epsilon, delta / 2, ((1.0, cap),))
    share = delta / 2 / cap
    while share * cap > delta / 2:
        share = nextafter(share, 0.0)
    if n_blocks is None:
        n_blocks = _block_count(n_records, largest_smoothness(scale, share / 2))
    return MedianPlan(cap, n_blocks, scale, share, composition)


def _block_count(n_records: int, beta: float) -> int:
    """Return an odd number of blocks, 8/beta if there are records for it.

    The smooth sensitivity of a median over blocks that all agree is exp(-beta B/2).
    """
    most = max(1, n_records // SMALLEST_BLOCK)
    n_blocks = min(most, ceil(8 / beta))
    return n_blocks - (n_blocks % 2 == 0)


class MedianQuestions:
    """Turns a triple of variables into a statistic and its noise-aware threshold.

    Parameters
    ----------
    test : {"chi2", "g2"}
        The statistic.
    plan : MedianPlan
        The noise of its median.
    alpha : float in (0, 1)
        Level of each test, its noise included.
    """

    def __init__(self, test: str, plan: MedianPlan, alpha: float) -> None:
        self._test = test
        beta = largest_smoothness(plan.epsilon, plan.delta / 2)
        # Beyond 1, where no evidence can be, any threshold says the same.
        self.threshold = min(
            median_threshold(alpha, plan.n_blocks, plan.epsilon, beta), 2.0
        )

    def are_hopeless(self) -> bool:
        """Return whether the noise hides any evidence. A public fact.

        Returns
        -------
        bool
            True if the threshold cannot be exceeded.
        """
        return self.threshold >= 1

    def __call__(
        self, x: str, y: str, given: tuple[str, ...]
    ) -> tuple[DependenceEvidence, float]:
        """Return the statistic of x and y given a set, and its threshold."""
        return DependenceEvidence(x, y, given, self._test), self.threshold
