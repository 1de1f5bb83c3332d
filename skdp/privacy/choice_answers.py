"""The curator's choices of candidates by their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, overload

import numpy as np
from numpy.typing import NDArray

from skdp.queries import Query

from .choice import exponential, exponential_draws, noisy_max, top_k

if TYPE_CHECKING:
    from .curator import Curator

__all__ = ["ChoiceAnswers"]


class ChoiceAnswers:
    """Methods of `Curator`."""

    @overload
    def exponential(
        self, query: Query, *, epsilon: float, size: None = None
    ) -> int: ...

    @overload
    def exponential(
        self, query: Query, *, epsilon: float, size: int
    ) -> NDArray[np.intp]: ...

    def exponential(
        self, query: Query, *, epsilon: float, size: int | None = None
    ) -> int | NDArray[np.intp]:
        """Choose a candidate by the exponential mechanism, or several independently.

        Parameters
        ----------
        query : Query
            Its answer holds a score for each candidate, the larger the better.
        epsilon : float > 0
            Price of all draws together, each ``epsilon / size``; also
            ``epsilon**2 / (8 size)``-zCDP.
        size : int, optional
            Number of independent draws, with replacement, for which the scores are
            evaluated once; at most 2^20. By default a single one.

        Returns
        -------
        int or ndarray of int, shape (size,)
            Index of the chosen candidate; an array if `size` is given.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        ValueError
            If `size` is no such number; nothing was spent.
        """
        curator = cast("Curator", self)
        if size is None:
            return exponential(curator, query, epsilon)
        return exponential_draws(curator, query, epsilon, size)

    def noisy_max(self, query: Query, *, epsilon: float) -> int:
        """Choose a candidate by report-noisy-max with exponential noise.

        Drawn as permute-and-flip (McKenna, Sheldon 2020), which has the same law and
        is never worse than the exponential mechanism.

        Parameters
        ----------
        query : Query
            Its answer holds a score for each candidate, the larger the better.
        epsilon : float > 0
            Price; pure differential privacy.

        Returns
        -------
        int
            Index of the chosen candidate.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return noisy_max(cast("Curator", self), query, epsilon)

    def top_k(self, query: Query, k: int, *, epsilon: float) -> NDArray[np.intp]:
        """Choose k candidates, the best first, by one-shot Gumbel noise.

        Drawn as k exponential mechanisms of ``epsilon / k``, each among the candidates
        that are left, which has the same law (Durfee, Rogers 2019) and is exact.

        Parameters
        ----------
        query : Query
            Its answer holds a score for each candidate, the larger the better.
        k : int
            Number of candidates to choose.
        epsilon : float > 0
            Price of all k; also ``epsilon**2 / (8 k)``-zCDP.

        Returns
        -------
        ndarray of int, shape (k,)
            Indices of the chosen candidates.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return top_k(cast("Curator", self), query, k, epsilon)
