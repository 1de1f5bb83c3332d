"""The curator: the only one who sees raw answers.

Every method first asks the ledger to spend, and the ledger refuses before a record
is touched. Then the query is evaluated, rounded to a public grid, and given integer
noise. A bug in an estimator can waste budget but cannot exceed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skdp.queries import PublicFacts, Query

from .accounting import zcdp_from_pure
from .budget import check_budget
from .grid import Grid, public_sensitivity, refuse_large_scale
from .ledger import LedgerEntry, PrivacyLedger
from .noise import discrete_gaussian, discrete_laplace
from .selection import exponential_mechanism, permute_and_flip
from .sieve_and_examine import SieveAndExamine, SparseVector
from .streams import RandomStreams

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["Access", "Curator"]

_NORM_NAMES = {1: "L1", 2: "L2", inf: "Linf"}


@dataclass(frozen=True)
class Access:
    """One evaluation of a query on private records.

    Parameters
    ----------
    entry : int
        Index of the ledger entry that pays for it.
    step : str
        Which step of the mechanism looked.
    query : Query
        What was evaluated.
    """

    entry: int
    step: str
    query: Query


class Curator:
    """Holds the records and answers queries with noise.

    Parameters
    ----------
    records : CountTable
        The private records.
    ledger : PrivacyLedger
        Pays for every answer.
    random_state : int, RandomState or None, default=None
        None draws the noise from a cryptographic stream with entropy of the
        operating system. An int makes the noise reproducible, for tests and papers:
        whoever knows it can subtract the noise, which voids the guarantee.

    Attributes
    ----------
    public : PublicFacts
        What sensitivities may depend on.
    ledger : PrivacyLedger
        The ledger.
    trace : list of Access
        Every evaluation so far, with the ledger entry that pays for it; holds no
        answers.

    Notes
    -----
    A curator holds private records and the noise stream, so it cannot be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import Categorical, Schema
    >>> from skdp.queries import Marginal
    >>> from skdp.records import CountTable
    >>> schema = Schema([Categorical("smoker", ("no", "yes"))])
    >>> records = CountTable.from_frame(np.array([["no"], ["yes"], ["no"]]), schema)
    >>> curator = Curator(records, PrivacyLedger(1.0), random_state=0)
    >>> curator.laplace(Marginal("smoker"), epsilon=1.0).shape
    (2,)
    >>> curator.ledger.total()
    1.0
    """

    def __init__(
        self,
        records: CountTable,
        ledger: PrivacyLedger,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.public = PublicFacts(records.n_records, records.schema)
        self.ledger = ledger
        self.trace: list[Access] = []
        self._records = records
        self._streams = RandomStreams.from_random_state(random_state)

    def __reduce__(self) -> str:
        raise TypeError(
            "A Curator cannot be pickled or copied: it holds private records and the "
            "noise stream."
        )

    def laplace(self, query: Query, *, epsilon: float) -> NDArray:
        """Answer with discrete Laplace noise.

        Parameters
        ----------
        query : Query
            The question.
        epsilon : float > 0
            Price; pure differential privacy.

        Returns
        -------
        ndarray
            The noisy answer; int64 for integral queries.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        check_budget(epsilon, 0.0)
        if public_sensitivity(query, self.public, 1) == 0:
            return self._public_answer(query)
        grid = Grid.for_query(query, self.public, 1)
        scale = Fraction(grid.sensitivity) / Fraction(epsilon)
        refuse_large_scale(scale, f"epsilon = {epsilon}")
        entry = self._pay("laplace", query, 1, float(scale) * grid.step, epsilon)
        steps = grid.to_steps(self._evaluate(query, entry, "laplace"))
        noise = discrete_laplace(scale, steps.shape, self._streams.noise)
        return grid.to_answer(steps + noise)

    def gaussian(self, query: Query, *, rho: float) -> NDArray:
        """Answer with discrete Gaussian noise.

        Parameters
        ----------
        query : Query
            The question.
        rho : float > 0
            Price; zero-concentrated differential privacy.

        Returns
        -------
        ndarray
            The noisy answer; int64 for integral queries.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        if not (rho > 0 and isfinite(rho)):
            raise ValueError(f"rho must be positive and finite, got {rho!r}.")
        if public_sensitivity(query, self.public, 2) == 0:
            return self._public_answer(query)
        grid = Grid.for_query(query, self.public, 2)
        variance = Fraction(grid.sensitivity) ** 2 / (2 * Fraction(rho))
        refuse_large_scale(Fraction(sqrt(variance)), f"rho = {rho}")
        scale = sqrt(variance) * grid.step
        entry = self._pay("gaussian", query, 2, scale, inf, rho)
        steps = grid.to_steps(self._evaluate(query, entry, "gaussian"))
        noise = discrete_gaussian(variance, steps.shape, self._streams.noise)
        return grid.to_answer(steps + noise)

    def exponential(self, query: Query, *, epsilon: float) -> int:
        """Choose a candidate by the exponential mechanism.

        Parameters
        ----------
        query : Query
            Its answer holds a score for each candidate, the larger the better.
        epsilon : float > 0
            Price; also ``epsilon**2 / 8``-zCDP.

        Returns
        -------
        int
            Index of the chosen candidate.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return self._select("exponential", query, epsilon, epsilon**2 / 8)

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
        return self._select("noisy_max", query, epsilon, zcdp_from_pure(epsilon))

    def sparse_vector(
        self, *, rounds: int, epsilon: float, sample_size: int | None = None
    ) -> SparseVector:
        """Open a sparse vector mechanism; see `SparseVector`.

        Parameters
        ----------
        rounds : int
            Public cap on the answers "at most the threshold".
        epsilon : float
            Price of a round, after amplification by sub-sampling.
        sample_size : int, optional
            Records in each round's sub-sample; by default all.

        Returns
        -------
        SparseVector
            The mechanism, paid for in full.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return SparseVector(self, rounds, epsilon, sample_size)

    def sieve_and_examine(
        self,
        *,
        rounds: int,
        sieve_epsilon: float,
        examine_epsilon: float,
        sample_size: int | None = None,
    ) -> SieveAndExamine:
        """Open a sieve-and-examine mechanism; see `SieveAndExamine`.

        Parameters
        ----------
        rounds : int
            Public cap on the firings of the sieve.
        sieve_epsilon : float
            Price of a round's sieve, after amplification by sub-sampling.
        examine_epsilon : float
            Price of a round's examination.
        sample_size : int, optional
            Records in each sieve's sub-sample; by default all.

        Returns
        -------
        SieveAndExamine
            The mechanism, paid for in full.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return SieveAndExamine(
            self, rounds, sieve_epsilon, examine_epsilon, sample_size
        )

    def _select(self, kind: str, query: Query, epsilon: float, rho: float) -> int:
        check_budget(epsilon, 0.0)
        draw = {"exponential": exponential_mechanism, "noisy_max": permute_and_flip}
        if public_sensitivity(query, self.public, inf) == 0:
            return int(np.argmax(self._public_answer(query)))
        grid = Grid.for_query(query, self.public, inf)
        entry = self._pay(kind, query, inf, float("nan"), epsilon, rho)
        scores = np.ravel(grid.to_steps(self._evaluate(query, entry, kind)))
        steps = int(grid.sensitivity)
        return draw[kind](scores, epsilon, steps, self._streams.noise)

    def _pay(
        self,
        mechanism: str,
        query: Query,
        ord: float,
        scale: float,
        epsilon: float,
        rho: float | None = None,
    ) -> int:
        """Enter a single answer and return the index of its entry."""
        pure = isfinite(epsilon)
        return self._enter(
            LedgerEntry(
                mechanism,
                str(query),
                query.sensitivity(self.public, ord),
                _NORM_NAMES[ord],
                scale,
                epsilon,
                zcdp_from_pure(epsilon) if rho is None else rho,
                ((epsilon, 1),) if pure else (),
                "one answer",
            )
        )

    def _enter(self, entry: LedgerEntry) -> int:
        self.ledger.spend(entry)
        return len(self.ledger) - 1

    def _evaluate(
        self, query: Query, entry: int, step: str, records: Any = None
    ) -> NDArray:
        """Evaluate a query that has been paid for."""
        self.trace.append(Access(entry, step, query))
        return query.evaluate(self._records if records is None else records)

    def _public_answer(self, query: Query) -> NDArray:
        """Answer a query that no record can change: a public constant, for nothing."""
        return query.evaluate(self._records)
