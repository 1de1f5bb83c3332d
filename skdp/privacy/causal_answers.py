"""The curator's answers that causal discovery asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from skdp.queries import Query

from .choice import subset, subset_size
from .gaussian_tests import GaussianTests
from .median_tests import MedianTests

if TYPE_CHECKING:
    from .curator import Curator

__all__ = ["CausalAnswers"]


class CausalAnswers:
    """Methods of `Curator`."""

    def subset(
        self, query: Query, *, epsilon: float, size: int | None = None
    ) -> NDArray[np.bool_]:
        """Choose a subset by the exponential mechanism over all 2^m subsets.

        The utility of a subset is the smallest of the margins in it and of the negative
        margins outside it: the best one holds the positive margins.

        Parameters
        ----------
        query : Query
            Its answer holds a margin for each of the m candidates.
        epsilon : float > 0
            Price; also ``epsilon**2 / 8``-zCDP.
        size : int, optional
            Choose among the subsets of this size only.

        Returns
        -------
        ndarray of bool, shape (m,)
            Which candidates are in the subset.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return subset(cast("Curator", self), query, epsilon, size)

    def subset_size(self, query: Query, *, epsilon: float) -> int:
        """Choose how many candidates to take, by the exponential mechanism.

        The utility of a size is that of the best subset of this size; see `subset`.

        Parameters
        ----------
        query : Query
            Its answer holds a margin for each of the m candidates.
        epsilon : float > 0
            Price; also ``epsilon**2 / 8``-zCDP.

        Returns
        -------
        int
            From 0 to m.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return subset_size(cast("Curator", self), query, epsilon)

    def gaussian_tests(
        self,
        *,
        n_tests: int,
        epsilon: float,
        delta: float,
        sample_size: int | None = None,
    ) -> GaussianTests:
        """Open a sequence of tests with Gaussian noise; see `GaussianTests`.

        Parameters
        ----------
        n_tests : int
            Public cap on the tests.
        epsilon : float
            Price of all tests together.
        delta : float in (0, 1)
            Price of all tests together.
        sample_size : int, optional
            Records in each test's sub-sample; by default all.

        Returns
        -------
        GaussianTests
            The mechanism, paid for in full.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        curator = cast("Curator", self)
        return GaussianTests(curator, n_tests, (epsilon, delta), sample_size)

    def median_tests(
        self, *, n_tests: int, n_blocks: int, epsilon: float, delta: float
    ) -> MedianTests:
        """Open a sequence of tests of private medians; see `MedianTests`.

        Parameters
        ----------
        n_tests : int
            Public cap on the tests.
        n_blocks : int
            Odd number of blocks of records.
        epsilon : float
            Price of one test.
        delta : float in (0, 1)
            Price of one test.

        Returns
        -------
        MedianTests
            The mechanism, paid for in full.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        curator = cast("Curator", self)
        return MedianTests(curator, n_tests, n_blocks, (epsilon, delta))
