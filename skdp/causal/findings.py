"""How a search on released tables is to be run, and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from skdp.causal.answerers import EdgeEvidence
from skdp.causal.skeleton import Skeleton
from skdp.stats.evidence import IndependenceTest, level_by_noise
from skdp.stats.noisy_tables import (
    both_tests,
    cmh_test,
    kendall_test,
    strata_chi2_test,
    total_variation_test,
)

__all__ = ["TABLE_TESTS", "Findings", "SearchSettings"]

TableTest = Callable[[NDArray[np.float64], float], IndependenceTest]

#: The tests of noisy strata by the names that estimators use for them.
TABLE_TESTS: dict[str, TableTest] = {
    "both": both_tests,
    "cmh": cmh_test,
    "kendall": kendall_test,
    "strata_chi2": strata_chi2_test,
    "total_variation": total_variation_test,
}

#: Level where privacy noise rules, if it adapts to the noise.
LENIENT_ALPHA = 0.1


@dataclass(frozen=True)
class SearchSettings:
    """What may be changed without asking the records again.

    Parameters
    ----------
    independence_test : str
        A key of `TABLE_TESTS`.
    alpha : float or "auto"
        Level of the tests; "auto" is strict where sampling noise rules.
    max_order : int or None
        Largest size of a conditioning set.
    denoise : {"full", "calibrated"} or None
        How noisy tables are denoised.
    keep_rule : bool
        Whether an edge is deleted only on evidence.
    """

    independence_test: str
    alpha: float | str
    max_order: int | None
    denoise: str | None
    keep_rule: bool

    @property
    def table_test(self) -> TableTest:
        """The test of noisy strata."""
        return TABLE_TESTS[self.independence_test]

    def reaches(self, order: int) -> bool:
        """Return whether conditioning sets may have this size.

        Parameters
        ----------
        order : int
            A size.

        Returns
        -------
        bool
            False if `max_order` is smaller.
        """
        return self.max_order is None or self.max_order >= order

    def level(
        self, n_records: int, *, lenient: bool = False
    ) -> Callable[[IndependenceTest], float]:
        """Return the level at which a test is judged.

        Parameters
        ----------
        n_records : int
            Public number of records; more records make a stricter level.
        lenient : bool, default=False
            Whether the level grows with the share of the privacy noise.

        Returns
        -------
        callable
            Of the test.
        """
        if self.alpha != "auto":
            return partial(_fixed, float(self.alpha))
        strict = strict_alpha(n_records)
        if not lenient:
            return partial(_fixed, strict)
        return partial(_by_noise, strict)


def strict_alpha(n_records: int) -> float:
    """Return the level where there is no privacy noise.

    Parameters
    ----------
    n_records : int
        Number of records n.

    Returns
    -------
    float
        min(.05, .3/sqrt n), so that false edges vanish as n grows.
    """
    return float(min(0.05, 0.3 / np.sqrt(n_records)))


def _fixed(alpha: float, test: IndependenceTest) -> float:
    return alpha


def _by_noise(strict: float, test: IndependenceTest) -> float:
    return level_by_noise(strict, LENIENT_ALPHA, test.noise_share)


@dataclass(frozen=True)
class Findings:
    """A skeleton and what speaks for its edges.

    Parameters
    ----------
    skeleton : Skeleton
        What the search found.
    edges : tuple of EdgeEvidence
        One for each edge.
    """

    skeleton: Skeleton
    edges: tuple[EdgeEvidence, ...]
