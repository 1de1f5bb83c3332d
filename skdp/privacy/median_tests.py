"""Many tests of statistics without a bounded sensitivity, by private medians.

Sub-sample and aggregate: the records are dealt out into blocks once, without a look at
them, so that a replaced record changes one block's values. Each test is the noisy
median of one statistic over the blocks, and is paid for whatever it answers. Their
number is capped beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import nan
from typing import TYPE_CHECKING

from skdp.queries import Query
from skdp.stats.smooth_sensitivity import largest_smoothness

from .accounting import zcdp_from_pure
from .aggregation import noisy_median
from .arguments import whole_number
from .budget import check_budget
from .counted_tests import CountedTests
from .grid import RESOLUTION, refuse_large_scale
from .purchases import LedgerEntry

if TYPE_CHECKING:
    from skdp.records import BoundedMatrix, CountTable

    from .curator import Curator

__all__ = ["MedianTests"]


class MedianTests(CountedTests):
    """Tests of medians of a statistic in [0, 1] against thresholds, up to a cap.

    Opened by `Curator.median_tests`.

    Parameters
    ----------
    curator : Curator
        Holds the records, pays, and draws the noise.
    n_tests : int
        Public cap on the tests.
    n_blocks : int
        Odd number of blocks, at most the number of records.
    price : tuple of (float, float)
        Epsilon and delta of one test.

    Attributes
    ----------
    rounds : int
        The cap.
    rounds_left : int
        Tests that are left.

    Raises
    ------
    BudgetExceededError
        If the ledger refuses; no record was touched.
    """

    name = "median_tests"

    def __init__(
        self,
        curator: Curator,
        n_tests: int,
        n_blocks: int,
        price: tuple[float, float],
    ) -> None:
        check_budget(*price)
        self._epsilon, self._delta = float(price[0]), float(price[1])
        if self._delta == 0:
            raise ValueError("The median has no pure form: give it a delta > 0.")
        n = curator.public.n_records
        self._n_blocks = whole_number(n_blocks, "n_blocks", n)
        if n_blocks % 2 == 0:
            raise ValueError(f"n_blocks must be odd, got {n_blocks}.")
        super().__init__(curator, n_tests, n)
        scale = 2 * RESOLUTION / Fraction(self._epsilon)
        refuse_large_scale(scale, f"epsilon = {self._epsilon}")
        # Half the delta: discrete noise has at most twice the excess mass.
        self._beta = largest_smoothness(self._epsilon, self._delta / 2)
        self._blocks: Sequence[CountTable | BoundedMatrix] = ()
        self._entry = curator._enter(self._purchase())

    def _purchase(self) -> LedgerEntry:
        return LedgerEntry(
            mechanism=self.name,
            query=f"adaptive statistics on each of {self._n_blocks} blocks",
            sensitivity=nan,
            norm="smooth",
            scale=nan,
            epsilon=self._epsilon * self.rounds,
            rho=zcdp_from_pure(self._epsilon) * self.rounds,
            parts=((self._epsilon, self.rounds),),
            bought=f"{self.rounds} tests; noise by the smooth sensitivity",
            delta=self._delta * self.rounds,
        )

    def _is_at_most(self, query: Query, limit: float) -> bool:
        curator = self._curator
        if not self._blocks:
            stream = curator._streams.subsampling
            self._blocks = curator._records.partition(self._n_blocks, stream)
        noisy = noisy_median(
            curator,
            query,
            self._entry,
            self._blocks,
            (0.0, 1.0),
            (self._epsilon, self._beta),
        )
        return noisy <= limit * RESOLUTION
