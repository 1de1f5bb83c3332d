"""The rounds of PACE-GGM: choose badly approximated entries, measure them, complete.

Whoever answers is given from outside, as in `skdp.causal.skeleton`: this room decides
what to ask, and sees nothing but the answers. All is in units in which the features lie
within [-1, 1], and moments are means over the records.

References
----------
Ferrando, Fuentes, Mullins, Musco, Sheldon, *Private adaptive covariance estimation via
Gaussian graphical models*, 2026, algorithm 1 (arXiv 2605.24295). Shares, batches and
stopping were not published; the defaults were found by sweeps.
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass, field
from math import floor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .entries import EntryMeasurements, shrunken_diagonal
from .maximum_entropy import Completion, maximum_entropy_completion

__all__ = [
    "AdaptiveCompletion",
    "EntryAnswerer",
    "RoundSettings",
    "adaptive_completion",
]

_Array = NDArray[np.float64]
_Indices = NDArray[np.intp]

#: While entries are still to come, a completion need not be exact.
_LOOSE, _TIGHT = 1e-3, 1e-9
#: Annealing looks at so many measurements or more.
_LEAST_SHIFTS = 8
#: Keeps rounding from asking for more than there is.
_UNDER_BUDGET = 1 - 1e-9


class EntryAnswerer(Protocol):
    """Who answers questions about a moment matrix, each for a price in rho."""

    def diagonal(self, rho: float) -> tuple[_Array, _Array]:
        """Measure all diagonal entries; return values and variances of the noise."""

    def worst(
        self, expected: _Array, k: int, rho: float, limits: _Array | None
    ) -> _Indices:
        """Choose k pairs i < j whose moments are far from what is expected.

        Pairs are numbered in the order of `numpy.triu_indices`. With limits on the
        products, distances are in units of these.
        """

    def pairs(
        self, i: _Indices, j: _Indices, rho: float, limits: _Array | None
    ) -> tuple[_Array, _Array]:
        """Measure pairs; return values and the variances of their noise.

        The arrays have a row for each pair. The first column is the pair's moment, of
        products clipped to the limits; where there are none, two more columns are the
        diagonal entries of i and of j.
        """


@dataclass(frozen=True)
class AdaptiveCompletion:
    """What the rounds came to.

    Parameters
    ----------
    completion : Completion
        The estimate, about the given mean.
    measured : EntryMeasurements
        All measurements, about zero.
    n_rounds : int
        Rounds of choosing and measuring.
    """

    completion: Completion
    measured: EntryMeasurements
    n_rounds: int


@dataclass(frozen=True)
class RoundSettings:
    """Settings of algorithm 1.

    Parameters
    ----------
    diagonal_share : float in (0, 1), default=0.1
        Share of rho for measuring all diagonal entries first.
    selection_share : float in (0, 1), default=0.45
        Share of a round's rho that goes to the choice.
    n_entries : int, optional
        Number of entries that rho is divided among at first; by default
        4 n_features, and at most all pairs.
    batch_size : int, optional
        Entries in a round; by default 1 below 20 features, else the larger of 8 and
        a tenth of them.
    annealing : float or None, default=0.8
        The price of an entry is doubled when measurements move their estimates by less
        than so many standard deviations of the noise on average; None for never.
    product_clip : float or None, default=None
        Clip the products of two features to so many times the product of their
        standard deviations.
    regularization : float > 0, default=1.0
        Weight of the entropy in the completion.
    mean : ndarray of shape (n_features,), optional
        Released mean, about which the covariance is completed; by default zero.
    mean_variance : float, default=0.0
        Variance of its noise.
    """

    diagonal_share: float = 0.1
    selection_share: float = 0.45
    n_entries: int | None = None
    batch_size: int | None = None
    annealing: float | None = 0.8
    product_clip: float | None = None
    regularization: float = 1.0
    mean: _Array | None = field(default=None, compare=False)
    mean_variance: float = 0.0


def adaptive_completion(
    answerer: EntryAnswerer, n_features: int, rho: float, settings: RoundSettings
) -> AdaptiveCompletion:
    """Measure entries within a budget, and complete them.

    Parameters
    ----------
    answerer : EntryAnswerer
        Who answers.
    n_features : int
        Number of features.
    rho : float
        Budget in zero-concentrated differential privacy, of which all but a billionth
        is spent.
    settings : RoundSettings
        How to divide it.

    Returns
    -------
    AdaptiveCompletion
        The estimate and its measurements.
    """
    rounds = _Rounds(answerer, n_features, rho * _UNDER_BUDGET, settings)
    while rounds.left > 0:
        rounds.play()
    return AdaptiveCompletion(rounds.complete(_TIGHT), rounds.measured, rounds.n_rounds)


class _Rounds:
    """The state between rounds."""

    def __init__(
        self, answerer: EntryAnswerer, d: int, rho: float, settings: RoundSettings
    ) -> None:
        self.answerer, self.settings = answerer, settings
        self.pairs = np.triu_indices(d, 1)
        self.n_pairs = len(self.pairs[0])
        self.mean = np.zeros(d) if settings.mean is None else settings.mean
        self.measured = EntryMeasurements(d)
        self.n_rounds = 0
        price = rho * (settings.diagonal_share if self.n_pairs else 1.0)
        self.left = rho - price if self.n_pairs else 0.0
        self.unit = self.left / (settings.n_entries or max(1, min(4 * d, self.n_pairs)))
        self.batch = min(
            settings.batch_size or (1 if d < 20 else max(8, d // 10)), self.n_pairs
        )
        diagonal = np.arange(d)
        values, variances = answerer.diagonal(price)
        self.measured.add(diagonal, diagonal, values, variances)
        self.limits = self._limits(shrunken_diagonal(values, variances)[0])
        self.shifts: deque[float] = deque(maxlen=max(_LEAST_SHIFTS, self.batch))
        self.found = self.complete(_LOOSE)

    def play(self) -> None:
        """Choose some entries, measure them, and complete."""
        k, last = self.batch, False
        if self.left < 1.5 * k * self.unit:
            k = min(max(1, floor(self.left / self.unit + 1e-9)), self.n_pairs)
            self.unit, last = self.left / k, True
        i, j = self._measure(k)
        self.left = 0.0 if last else self.left - k * self.unit
        self.n_rounds += 1
        if not last:
            before = self.found.covariance[i, j]
            self.found = self.complete(_LOOSE)
            self._anneal(self.found.covariance[i, j] - before)

    def _measure(self, k: int) -> tuple[_Indices, _Indices]:
        choice = self.settings.selection_share * k * self.unit
        i, j = self.pairs
        if k < self.n_pairs:
            expected = self.found.covariance + np.outer(self.mean, self.mean)
            chosen = self.answerer.worst(expected, k, choice, self.limits)
            i, j = i[chosen], j[chosen]
        else:  # there is nothing to choose
            choice = 0.0
        values, variances = self.answerer.pairs(
            i, j, k * self.unit - choice, self.limits
        )
        for column, (a, b) in enumerate([(i, j), (i, i), (j, j)][: values.shape[1]]):
            self.measured.add(a, b, values[:, column], variances[:, column])
        self.noise = np.sqrt(variances[:, 0])
        return i, j

    def _anneal(self, shift: _Array) -> None:
        """Double the price of an entry where the noise hides the errors."""
        limit = self.settings.annealing
        self.shifts.extend(np.abs(shift) / self.noise)
        full = len(self.shifts) == self.shifts.maxlen
        if limit is not None and full and np.mean(self.shifts) <= limit:
            self.unit *= 2
            self.shifts.clear()

    def _limits(self, variances: _Array) -> _Array | None:
        """Return the limits of products, fixed before the rounds."""
        clip = self.settings.product_clip
        if clip is None:
            return None
        spread = np.sqrt(variances)
        return np.minimum(clip * np.outer(spread, spread), 1.0)

    def complete(self, tol: float) -> Completion:
        """Complete the measurements, about the mean."""
        values, variances = self.measured.values, self.measured.variances
        squares, noise = self.mean**2, self.settings.mean_variance
        values = values - np.outer(self.mean, self.mean)
        variances = variances + noise * np.add.outer(squares, squares)
        diagonal = np.diag_indices_from(values)
        values[diagonal], variances[diagonal] = shrunken_diagonal(
            values[diagonal], variances[diagonal]
        )
        start = self.found.precision if self.n_rounds else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return maximum_entropy_completion(
                values,
                variances,
                self.measured.mask,
                regularization=self.settings.regularization,
                initial=start,
                tol=tol,
            )
