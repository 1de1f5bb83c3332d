"""The curator: the only one who sees raw answers.

Every method first asks the ledger to spend, and the ledger refuses before a record
is touched. Then the query is evaluated, rounded to a public grid, and given integer
noise. A bug in an estimator can waste budget but cannot exceed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import BudgetExceededError
from skdp.queries import PublicFacts, Query

from .additive import gaussian, laplace
from .aggregation import median
from .causal_answers import CausalAnswers
from .choice_answers import ChoiceAnswers
from .grid import public_sensitivity
from .ledger import PrivacyLedger
from .process import process_token
from .purchases import LedgerEntry
from .sieve_and_examine import SieveAndExamine, SparseVector
from .streams import RandomStreams

if TYPE_CHECKING:
    from skdp.records import BoundedMatrix, CountTable

__all__ = ["Access", "Curator"]


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


class Curator(ChoiceAnswers, CausalAnswers):
    """Holds the records and answers queries with noise.

    Parameters
    ----------
    records : CountTable or BoundedMatrix
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
        records: CountTable | BoundedMatrix,
        ledger: PrivacyLedger,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        if not hasattr(records, "n_records"):
            raise TypeError(
                "records must be counted first: skdp.records.CountTable.from_frame(X, "
                f"schema); got {type(records).__name__}."
            )
        self._public = PublicFacts(records.n_records, records.schema)
        self._ledger = ledger
        self.trace: list[Access] = []
        self._records = records
        self._process = process_token()
        self._streams = RandomStreams.from_random_state(random_state)

    def __reduce__(self) -> str:
        raise TypeError(
            "A Curator cannot be pickled or copied: it holds private records and the "
            "noise stream."
        )

    @property
    def public(self) -> PublicFacts:
        """What sensitivities may depend on."""
        return self._public

    @property
    def ledger(self) -> PrivacyLedger:
        """Pays for every answer."""
        return self._ledger

    def laplace(
        self, query: Query, *, epsilon: float, sample_size: int | None = None
    ) -> NDArray:
        """Answer with discrete Laplace noise.

        Parameters
        ----------
        query : Query
            The question.
        epsilon : float > 0
            Price; pure differential privacy.
        sample_size : int, optional
            Ask a sub-sample of so many records, drawn without replacement; the noise is
            then for its size, and for the larger epsilon that sub-sampling amplifies
            into this price. By default all records.

        Returns
        -------
        ndarray
            The noisy answer; int64 for queries that count.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return laplace(self, query, epsilon, sample_size)

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
            The noisy answer; int64 for queries that count.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return gaussian(self, query, rho)

    def median(
        self,
        query: Query,
        *,
        n_blocks: int,
        low: float,
        high: float,
        epsilon: float,
        delta: float,
    ) -> float:
        """Answer with the noisy median of a scalar query over blocks of records.

        Sub-sample and aggregate (Nissim, Raskhodnikova, Smith 2007): the records are
        dealt out into blocks at random, a replaced record changes one block, and the
        median over the blocks gets noise by its smooth sensitivity. For queries of
        large or infinite sensitivity whose values agree from block to block.

        Parameters
        ----------
        query : Query
            A scalar query; its sensitivity does not matter.
        n_blocks : int
            Odd number of blocks, at most the number of records.
        low, high : float
            Public bounds; values outside are clipped, and nan counts as `low`.
        epsilon : float > 0
            Price.
        delta : float in (0, 1)
            Price.

        Returns
        -------
        float
            The noisy median, within the bounds.

        Raises
        ------
        BudgetExceededError
            If the ledger refuses; no record was touched.
        """
        return median(self, query, n_blocks, (low, high), (epsilon, delta))

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

    def _enter(self, entry: LedgerEntry) -> int:
        self._refuse_other_process()
        return self.ledger.spend(entry)

    def _refuse_other_process(self) -> None:
        if self._process != process_token():
            raise BudgetExceededError(
                "This curator was carried into a forked process, where its noise would "
                "repeat and its ledger count on its own. Open a curator there."
            )

    def _sample(self, size: int) -> CountTable | BoundedMatrix:
        """Draw a fresh sub-sample without replacement; all records if it is whole."""
        self._refuse_other_process()
        if size == self.public.n_records:
            return self._records
        return self._records.subsample(size, self._streams.subsampling)

    def _evaluate(
        self, query: Query, entry: int, step: str, records: Any = None
    ) -> NDArray:
        """Evaluate a query that has been paid for."""
        self._refuse_other_process()
        self.trace.append(Access(entry, step, query))
        # A warning, or an error in its place, would tell of the records.
        with np.errstate(all="ignore"):
            return query.evaluate(self._records if records is None else records)

    def _public_answer(self, query: Query, size: int | None = None) -> NDArray:
        """Answer, for nothing, what no record can change at this number of records.

        From made-up records: were the query's claim false, nothing would leak.
        """
        from skdp.records import CountTable

        self._refuse_other_process()
        schema = self.public.schema
        size = self.public.n_records if size is None else size
        if public_sensitivity(query, PublicFacts(size, schema), 1) != 0:
            raise BudgetExceededError(f"{query} is no public constant: it has a price.")
        codes = np.zeros((1, len(schema)), dtype=np.int64)
        return query.evaluate(CountTable(schema, codes, np.array([size])))
