r"""Sparse vector and sieve-and-examine: many questions, few of them paid for.

Both answer "is this score at most the threshold?" for an open-ended, adaptive
sequence of questions, and pay only when the answer is yes. They are mechanisms with
state and a public cap on the rounds; the whole cost is one ledger entry, reserved
before the first question. Stopping early gives nothing back.

**Theorem.** With a cap of R rounds, after which data access ends, everything that
sieve-and-examine puts out (every bit, every stopping time) is
:math:`R(\varepsilon_s + \varepsilon_x)`-DP, it is :math:`\rho`-zCDP with
:math:`\rho = R(\varepsilon_s \tanh\frac{\varepsilon_s}{2} + \varepsilon_x
\tanh\frac{\varepsilon_x}{2})`, and (epsilon, delta)-DP by the optimal composition of
2R pure mechanisms. The last, unfinished sieve is paid for inside the R-th round: after
the R-th firing none is started.

A sieve runs on a sub-sample of m of the n records, drawn anew after every firing, and
costs :math:`\varepsilon_s = \ln(1 + \frac mn (e^{\varepsilon'} - 1))` on the records
for :math:`\varepsilon'` on the sub-sample (Balle, Barthe, Gaboardi 2018, theorem 9).
:math:`\varepsilon'` is split 1 : 2^(2/3) between the threshold and the questions (Lyu,
Su, Li 2017). Every question is divided by its own sensitivity, at size m in the sieve
and at size n in the examination.

Source: Priv-PC (Wang, Pang, Song 2020), algorithms 1 and 2, with their slips mended:
the threshold and the sub-sample are refreshed after *every* firing, whether or not the
examination confirms it, and the loss is fixed before the run.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite, nan
from typing import TYPE_CHECKING

from skdp.exceptions import BudgetExceededError
from skdp.queries import PublicFacts, Query

from .accounting import base_epsilon, zcdp_from_pure
from .arguments import whole_number
from .budget import check_budget
from .grid import (
    MARGIN_SENSITIVITY,
    margin_in_steps,
    public_sensitivity,
    refuse_large_scale,
)
from .noise import discrete_laplace
from .purchases import LedgerEntry

if TYPE_CHECKING:
    from skdp.records import BoundedMatrix, CountTable

    from .curator import Curator

__all__ = ["SieveAndExamine", "SparseVector", "sparse_vector_scales"]


@dataclass(frozen=True, repr=False)
class _Sieve:
    """One run of the sparse vector technique up to its first firing."""

    records: CountTable | BoundedMatrix
    public: PublicFacts
    noisy_threshold: int


class SparseVector:
    """The sparse vector technique with a public cap on its firings.

    Opened by `Curator.sparse_vector`.

    Parameters
    ----------
    curator : Curator
        Holds the records, pays, and draws the noise.
    rounds : int
        Public cap R on the answers "yes".
    epsilon : float
        Price of a round, after amplification by sub-sampling.
    sample_size : int, optional
        Records in each round's sub-sample; by default all.

    Attributes
    ----------
    rounds : int
        The cap.
    rounds_left : int
        Firings that are left. Public: the theorem covers them.

    Raises
    ------
    BudgetExceededError
        If the ledger refuses; no record was touched.
    """

    name = "sparse_vector"

    def __init__(
        self,
        curator: Curator,
        rounds: int,
        epsilon: float,
        sample_size: int | None = None,
    ) -> None:
        n = curator.public.n_records
        self._sample_size = whole_number(
            n if sample_size is None else sample_size, "sample_size", n
        )
        self._rounds = self._rounds_left = whole_number(rounds, "rounds")
        check_budget(epsilon, 0.0)
        epsilon = float(epsilon)
        self._curator = curator
        self._lock = threading.RLock()
        self._asking = False
        self._sieve: _Sieve | None = None
        sieve_epsilon = base_epsilon(epsilon, self.sample_size / n)
        self._threshold_epsilon, self._question_epsilon = _split(sieve_epsilon)
        for price, units in self._prices():
            refuse_large_scale(_scale(units, price), f"epsilon = {price:.3g} a round")
        self._entry = curator._enter(self._purchase(epsilon))

    @property
    def rounds(self) -> int:
        """The cap."""
        return self._rounds

    @property
    def rounds_left(self) -> int:
        """Firings that are left. Public: the theorem covers them."""
        return self._rounds_left

    @property
    def sample_size(self) -> int:
        """Records that a sieve looks at."""
        return self._sample_size

    def _prices(self) -> list[tuple[float, int]]:
        """List what each noise may cost, and the units of sensitivity it hides."""
        return [(self._threshold_epsilon, 1), (self._question_epsilon, 2)]

    def _purchase(self, epsilon: float) -> LedgerEntry:
        return _reserve(self, ((epsilon, self.rounds),), nan)

    def __reduce__(self) -> str:
        raise TypeError(
            f"A {type(self).__name__} cannot be copied or pickled: the copy would have "
            "rounds of its own that nobody paid for."
        )

    def ask(self, query: Query, threshold: float, *, tweak: float = 0.0) -> bool:
        """Ask whether a score is at most a threshold.

        Parameters
        ----------
        query : Query
            A scalar query, for instance a dependence score.
        threshold : float
            Public threshold, in units of the score.
        tweak : float, default=0.0
            Added to the threshold in the sieve: > 0 lets more through.

        Returns
        -------
        bool
            The noisy answer. True uses up a round.

        Raises
        ------
        BudgetExceededError
            If no round is left; no record was touched.
        ValueError
            If the query is no scalar, its sensitivity or the threshold not finite; no
            record was touched.
        """
        threshold, tweak = float(threshold), float(tweak)
        if self._is_constant(query, threshold + tweak):
            constant = self._curator._public_answer(query)
            return bool(constant * query.unit <= threshold)
        with self._lock:
            if self._rounds_left <= 0:
                raise BudgetExceededError(
                    f"All {self.rounds} rounds of this {self.name} have fired; data "
                    "access has ended."
                )
            if self._asking:
                raise RuntimeError("A question was asked while another is answered.")
            self._asking = True
            try:
                return self._answer(query, threshold, tweak)
            finally:
                self._asking = False

    def _answer(self, query: Query, threshold: float, tweak: float) -> bool:
        # The round is taken first and given back if the sieve holds the question back:
        # an interruption in between costs the round, never a sieve.
        self._rounds_left -= 1
        sieve, self._sieve = self._sieve, None
        sieve = sieve or self._start_sieve()
        if self._passes_sieve(sieve, query, threshold + tweak):
            return self._confirms(query, threshold)
        self._sieve = sieve
        self._rounds_left += 1
        return False

    def _is_constant(self, query: Query, threshold: float) -> bool:
        """Refuse what cannot be asked; return whether no record can change it."""
        public = self._curator.public
        sensitivity = public_sensitivity(query, public, 1)
        if self.sample_size < public.n_records:
            public_sensitivity(query, PublicFacts(self.sample_size, public.schema), 1)
        if query.shape(public) != () or not isfinite(threshold):
            raise ValueError(
                f"{self.name} compares a scalar query with a finite threshold; got "
                f"{query} and {threshold}."
            )
        return sensitivity == 0

    def _start_sieve(self) -> _Sieve:
        curator = self._curator
        records = curator._sample(self.sample_size)
        public = PublicFacts(self.sample_size, curator.public.schema)
        return _Sieve(records, public, self._noise(1, self._threshold_epsilon))

    def _passes_sieve(self, sieve: _Sieve, query: Query, threshold: float) -> bool:
        value = self._curator._evaluate(query, self._entry, "sieve", sieve.records)
        margin = margin_in_steps(float(value), query, threshold, sieve.public)
        return margin + self._noise(2, self._question_epsilon) >= sieve.noisy_threshold

    def _confirms(self, query: Query, threshold: float) -> bool:
        return True

    def _noise(self, sensitivity: int, epsilon: float) -> int:
        """Draw Laplace noise, in steps, for this many units of sensitivity."""
        scale = _scale(sensitivity, epsilon)
        return int(discrete_laplace(scale, (), self._curator._streams.noise))


class SieveAndExamine(SparseVector):
    """A cheap sieve for insignificant questions, a good look at the others.

    Opened by `Curator.sieve_and_examine`. A question that passes the sieve is examined
    on all records with fresh noise; only then is the answer yes. See the module for
    the theorem.

    Parameters
    ----------
    curator : Curator
        Holds the records, pays, and draws the noise.
    rounds : int
        Public cap R on the firings of the sieve.
    sieve_epsilon : float
        Price of a round's sieve, after amplification by sub-sampling.
    examine_epsilon : float
        Price of a round's examination.
    sample_size : int, optional
        Records in each sieve's sub-sample; by default all.

    Attributes
    ----------
    rounds : int
        The cap.
    rounds_left : int
        Firings that are left. Public: the theorem covers them.

    Raises
    ------
    BudgetExceededError
        If the ledger refuses; no record was touched.
    """

    name = "sieve_and_examine"

    def __init__(
        self,
        curator: Curator,
        rounds: int,
        sieve_epsilon: float,
        examine_epsilon: float,
        sample_size: int | None = None,
    ) -> None:
        check_budget(examine_epsilon, 0.0)
        self._examine_epsilon = float(examine_epsilon)
        super().__init__(curator, rounds, sieve_epsilon, sample_size)

    def _purchase(self, epsilon: float) -> LedgerEntry:
        parts = ((epsilon, self.rounds), (self._examine_epsilon, self.rounds))
        return _reserve(self, parts, 1 / self._examine_epsilon)

    def _prices(self) -> list[tuple[float, int]]:
        return [*super()._prices(), (self._examine_epsilon, 1)]

    def _confirms(self, query: Query, threshold: float) -> bool:
        value = self._curator._evaluate(query, self._entry, "examine")
        margin = margin_in_steps(float(value), query, threshold, self._curator.public)
        return margin + self._noise(1, self._examine_epsilon) >= 0


def sparse_vector_scales(epsilon: float) -> tuple[float, float]:
    """Return the scales of the Laplace noise of a round of the sparse vector technique.

    Parameters
    ----------
    epsilon : float
        Price of a round, on the records that it looks at.

    Returns
    -------
    of_threshold, of_question : float
        In units of a question's sensitivity.

    Examples
    --------
    >>> [round(scale, 2) for scale in sparse_vector_scales(1.0)]
    [2.59, 3.26]
    """
    threshold_epsilon, question_epsilon = _split(epsilon)
    return 1 / threshold_epsilon, 2 / question_epsilon


def _split(epsilon: float) -> tuple[float, float]:
    """Divide the price of a round between its threshold and its questions."""
    threshold_epsilon = epsilon / (1 + 2 ** (2 / 3))
    return threshold_epsilon, epsilon - threshold_epsilon


@lru_cache(maxsize=64)
def _scale(units: int, epsilon: float) -> Fraction:
    """Return the scale, in steps, that hides so many units of sensitivity."""
    return Fraction(units * MARGIN_SENSITIVITY) / Fraction(epsilon)


def _reserve(
    mechanism: SparseVector, parts: tuple[tuple[float, int], ...], scale: float
) -> LedgerEntry:
    """Write the entry for the whole run."""
    prices = " + ".join(f"{epsilon:.6g}" for epsilon, _ in parts)
    return LedgerEntry(
        mechanism=mechanism.name,
        query="adaptive scalar questions, each divided by its own sensitivity",
        sensitivity=1.0,
        norm="L1",
        scale=scale,
        epsilon=sum(epsilon * count for epsilon, count in parts),
        rho=sum(count * zcdp_from_pure(epsilon) for epsilon, count in parts),
        parts=parts,
        bought=f"{mechanism.rounds} rounds of epsilon {prices}",
    )
