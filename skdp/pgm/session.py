"""What a selection strategy may touch while a fit is running.

A strategy sees no records. It has the public facts, a budget, and a curator who gives
noisy answers; what it learned stands in `measurements`, in the order of asking.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, expm1, nextafter, sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import PrivacyBudgetWarning
from skdp.graphical import Domain, MarkovRandomField, Model
from skdp.graphical.estimation import Fit
from skdp.graphical.losses import LossFunction
from skdp.graphical.measurement import LinearMeasurement
from skdp.pgm.budget import Budget
from skdp.pgm.model_fitter import ModelFitter
from skdp.pgm.workload import Workload
from skdp.privacy import Curator
from skdp.privacy.grid import Grid, refuse_large_scale
from skdp.queries import Batch, LinearMarginal, Marginal, PublicFacts, Query
from skdp.records import Schema
from skdp.warn import warn_user

__all__ = ["MeasuredQuery", "ModelFitter", "Session", "noise_deviation"]

MeasuredQuery = Marginal | LinearMarginal


@dataclass
class Session:
    """One run of a strategy on one set of records.

    Parameters
    ----------
    curator : Curator
        Answers with noise.
    workload : Workload or None
        The marginals that matter to the user.
    fitter : ModelFitter
        How to fit a model.
    verbose : int
        Whether to print what is done.

    Attributes
    ----------
    budget : Budget
        What is left to spend.
    measurements : list of LinearMeasurement
        The noisy answers so far.
    last_fit : Fit or None
        The account of the last model.
    doubts : list of (str, type of Warning)
        What the last fit warned of; those of earlier rounds are of no matter.
    asked : list of tuple of str
        Columns that answers told something of, other than by measurements.
    """

    curator: Curator
    workload: Workload | None
    fitter: ModelFitter
    verbose: int = 0
    measurements: list[LinearMeasurement] = field(default_factory=list)
    last_fit: Fit | None = None
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.doubts: list[tuple[str, type[Warning]]] = []
        self.budget = Budget(self.curator.ledger)

    @property
    def public(self) -> PublicFacts:
        """Number of records and schema."""
        return self.curator.public

    @property
    def schema(self) -> Schema:
        """The public schema."""
        return self.curator.public.schema

    def measure(
        self, queries: Sequence[MeasuredQuery], price: float
    ) -> list[LinearMeasurement]:
        """Buy noisy answers to some queries on marginals, as one batch.

        d tables of counts have d times the L1 and sqrt(d) times the L2 sensitivity of
        one, 2 and sqrt(2) under replacement of a record. So each gets Laplace noise of
        scale 2 d/epsilon or Gaussian noise of variance d/rho. What cannot change, like
        the table of a column with one level, is not asked.

        Parameters
        ----------
        queries : sequence of Marginal or LinearMarginal
            What to ask.
        price : float
            For all of them together, in the unit of the budget.

        Returns
        -------
        list of LinearMeasurement
            One per query that was asked.
        """
        asked = [q for q in queries if q.sensitivity(self.public, 1) > 0]
        if not asked:
            return []
        batch = Batch(tuple(asked))
        with self._spending(price):
            if self.budget.is_pure:
                answer = self.curator.laplace(batch, epsilon=price)
            else:
                answer = self.curator.gaussian(batch, rho=price)
        sigma = noise_deviation(batch, self.public, price, self.budget.is_pure)
        new = [
            LinearMeasurement(query.names, part, sigma, getattr(query, "query", None))
            for query, part in zip(asked, batch.split(answer, self.public), strict=True)
        ]
        self.measurements += new
        self.say(f"measured {len(new)} marginals, noise {sigma:.4g}")
        return new

    def refuse_small_price(
        self, queries: Sequence[MeasuredQuery], price: float
    ) -> None:
        """Refuse a later measurement now, if `measure` would refuse its noise.

        Parameters
        ----------
        queries : sequence of Marginal or LinearMarginal
            Of the sensitivities of those that will be asked.
        price : float
            For all of them together, in the unit of the budget.

        Raises
        ------
        ValueError
            If the price is so small that the noise would overflow.
        """
        batch, ord = Batch(tuple(queries)), 1 if self.budget.is_pure else 2
        self.refuse_steps(Grid.for_query(batch, self.public, ord).sensitivity, price)

    def refuse_steps(self, steps: float, price: float) -> None:
        """Refuse as `refuse_small_price` does, for a sensitivity in steps of a grid.

        Parameters
        ----------
        steps : float
            The largest sensitivity of what may be asked.
        price : float
            In the unit of the budget.

        Raises
        ------
        ValueError
            If the price is so small that the noise would overflow.
        """
        is_pure = self.budget.is_pure
        least = max(price, 5e-324)  # a small share may have become 0
        scale = steps / least if is_pure else steps / sqrt(2 * least)
        # Rounded up, by more than the mechanisms round.
        scale = min(scale * (1 + 1e-9), 2.0**60)
        unit = "epsilon" if is_pure else "rho"
        refuse_large_scale(Fraction(scale), f"{unit} = {price} for measurements")

    def choose(self, scores: Query, price: float) -> int:
        """Buy the choice of a candidate with a high score (exponential mechanism).

        Parameters
        ----------
        scores : Query
            One score per candidate.
        price : float
            In the unit of the budget; rho buys epsilon = sqrt(8 rho).

        Returns
        -------
        int
            Index of the chosen candidate, drawn with probability proportional to
            exp(epsilon score/(2 sensitivity)).
        """
        with self._spending(price):
            return self.curator.exponential(scores, epsilon=self._epsilon(price))

    def draw(self, scores: Query, price: float, size: int) -> NDArray[np.intp]:
        """Buy independent choices among the same candidates, as `choose` does one.

        Parameters
        ----------
        scores : Query
            One score per candidate.
        price : float
            For all draws together, in the unit of the budget; rho buys size draws of
            epsilon = sqrt(8 rho/size) each.
        size : int
            Number of draws, with replacement.

        Returns
        -------
        ndarray of int, shape (size,)
            Indices of the chosen candidates.
        """
        epsilon = self._epsilon(price, size)
        with self._spending(price):
            return self.curator.exponential(scores, epsilon=epsilon, size=size)

    def _epsilon(self, price: float, size: int = 1) -> float:
        """Return what a price buys for so many choices together."""
        if self.budget.is_pure:
            return price
        epsilon = sqrt(8 * price * size)
        while epsilon**2 / (8 * size) > price:
            epsilon = nextafter(epsilon, 0.0)  # the root was rounded up
        return epsilon

    @contextmanager
    def _spending(self, price: float) -> Iterator[None]:
        """Take a price off the budget if, and only if, it was entered in the ledger."""
        ledger = self.curator.ledger
        n_entries = len(ledger)
        try:
            yield
        finally:
            if len(ledger) > n_entries:
                self.budget.spend(price)

    def fit_loss(
        self,
        loss: LossFunction,
        cliques: Sequence[tuple[str, ...]],
        expected: float,
        tau: float,
    ) -> MarkovRandomField:
        """Fit a model by a custom loss; see `ModelFitter.of_loss`.

        Parameters
        ----------
        loss : callable
            Of the marginals.
        cliques : sequence of tuple of str
            What it looks at.
        expected : float
            The loss that is expected at the truth.
        tau : float
            Strength of the pull towards the uniform distribution, unless set.

        Returns
        -------
        MarkovRandomField
            Post-processing: it costs nothing.
        """
        self.last_fit = self.fitter.of_loss(loss, cliques, expected, tau)
        self.say("fitted a model by the likelihood of the answers")
        return self.fitter.model(self.last_fit)

    def fit_model(self) -> MarkovRandomField:
        """Fit a model to the measurements so far, starting from the last one.

        Returns
        -------
        MarkovRandomField
            Post-processing: it costs nothing.
        """
        if not self.measurements:
            return self._uniform()
        return self.fitter.model(self._fit())

    def fit_compact_model(self) -> Model:
        """Fit as `fit_model` does, where few single queries were measured.

        Returns
        -------
        Model
            Over classes of levels that no measurement tells apart.
        """
        if not self.measurements:
            return self._uniform()
        return self.fitter.compact_model(self._fit())

    def _fit(self) -> Fit:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.last_fit = self.fitter(self.measurements, self.last_fit)
        self.doubts = [(str(w.message), w.category) for w in caught]
        self.say(f"fitted a model to {len(self.measurements)} marginals")
        return self.last_fit

    def _uniform(self) -> MarkovRandomField:
        domain = Domain.from_schema(self.schema)
        return MarkovRandomField(domain, {}, self.public.n_records)

    @contextmanager
    def interruptible(self, done: Sized) -> Iterator[None]:
        """Let the user stop a loop of rounds and keep what has been paid for.

        A KeyboardInterrupt inside ends the block with a warning, unless nothing is done
        yet: then it passes through.

        Parameters
        ----------
        done : sized
            What the rounds have added to so far, such as `measurements`.

        Yields
        ------
        None
            Around the rounds.
        """
        try:
            yield
        except KeyboardInterrupt:
            if len(done) == 0:
                raise
            budget, unit = self.budget, "epsilon" if self.budget.is_pure else "rho"
            warn_user(
                f"Interrupted: the model is that of the answers so far, for {unit} "
                f"{budget.total - budget.left:.4g} of {budget.total:.4g}. The rest is "
                "unspent.",
                PrivacyBudgetWarning,
            )

    def say(self, text: str) -> None:
        """Show progress.

        Parameters
        ----------
        text : str
            What was done; public.
        """
        if self.verbose:
            unit = "epsilon" if self.budget.is_pure else "rho"
            left = self.budget.left
            left = left if left > 1e-12 * self.budget.total else 0  # rounding
            print(f"PGMEstimator: {text} ({unit} left: {left:.4g})")


def noise_deviation(
    query: Query, public: PublicFacts, price: float, is_pure: bool
) -> float:
    """Return the standard deviation of the curator's noise on one answer.

    Parameters
    ----------
    query : Query
        The question.
    public : PublicFacts
        Number of records and schema.
    price : float
        Epsilon (Laplace) or rho (Gaussian).
    is_pure : bool
        Which of them.

    Returns
    -------
    float
        In units of the answer; at least a thousandth of the sensitivity, for noise on
        integers vanishes where the price is high.
    """
    grid = Grid.for_query(query, public, 1 if is_pure else 2)
    steps = grid.sensitivity
    if is_pure:
        # Discrete Laplace noise of ratio a has variance 2a/(1 - a)^2.
        deviation = sqrt(2 * exp(-price / steps)) / -expm1(-price / steps)
    else:
        deviation = steps / sqrt(2 * price)
    return grid.step * max(deviation, 1e-3 * steps)
