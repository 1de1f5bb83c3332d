"""Many tests with Gaussian noise, each paid for whether it says yes or no.

The cap on their number is public and fixed beforehand, and the noise is calibrated to
it: what the accountant says of the questions that happened to be asked would be no
guarantee. Each question is divided by its own sensitivity at the size of its sample.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from skdp.queries import PublicFacts, Query

from .accounting import zcdp_from_pure
from .arguments import whole_number
from .budget import check_budget
from .counted_tests import CountedTests
from .grid import MARGIN_SENSITIVITY, margin_in_steps, refuse_large_scale
from .noise import discrete_gaussian
from .purchases import LedgerEntry
from .renyi import noise_multiplier

if TYPE_CHECKING:
    from .curator import Curator

__all__ = ["GaussianTests"]


class GaussianTests(CountedTests):
    """Tests of scores against thresholds, up to a public cap.

    Opened by `Curator.gaussian_tests`.

    Parameters
    ----------
    curator : Curator
        Holds the records, pays, and draws the noise.
    n_tests : int
        Public cap on the tests.
    price : tuple of (float, float)
        Epsilon and delta of all tests together.
    sample_size : int, optional
        Records in each test's sub-sample; by default all.

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

    name = "gaussian_tests"

    def __init__(
        self,
        curator: Curator,
        n_tests: int,
        price: tuple[float, float],
        sample_size: int | None = None,
    ) -> None:
        check_budget(*price)
        epsilon, delta = float(price[0]), float(price[1])
        if delta == 0:
            raise ValueError("Gaussian noise has no pure form: give it a delta > 0.")
        n = curator.public.n_records
        size = n if sample_size is None else sample_size
        super().__init__(curator, n_tests, whole_number(size, "sample_size", n))
        self._multiplier = noise_multiplier(
            self.rounds, epsilon, delta, (self._sample_size, n)
        )
        deviation = Fraction(self._multiplier) * MARGIN_SENSITIVITY
        refuse_large_scale(deviation, f"epsilon = {epsilon}")
        self._variance = deviation**2
        self._entry = curator._enter(self._purchase(epsilon, delta))

    def _purchase(self, epsilon: float, delta: float) -> LedgerEntry:
        """Write the entry for the whole run: zCDP if each test sees all records."""
        sampled = self._sample_size < self._curator.public.n_records
        rho = self.rounds / (2 * self._multiplier**2)
        return LedgerEntry(
            mechanism=self.name,
            query="adaptive scalar questions, each divided by its own sensitivity",
            sensitivity=1.0,
            norm="L2",
            scale=self._multiplier,
            epsilon=epsilon if sampled else inf,
            rho=zcdp_from_pure(epsilon) if sampled else rho,
            parts=((epsilon, 1),) if sampled else (),
            bought=f"{self.rounds} tests of {self._sample_size} records each",
            delta=delta if sampled else 0.0,
        )

    def _is_at_most(self, query: Query, limit: float) -> bool:
        curator = self._curator
        public = PublicFacts(self._sample_size, curator.public.schema)
        records = curator._sample(self._sample_size)
        value = curator._evaluate(query, self._entry, "test", records)
        noise = int(discrete_gaussian(self._variance, (), curator._streams.noise))
        margin = margin_in_steps(float(value), query, limit, public)
        return margin + noise >= 0
