"""The level of a test whose score has noise of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri, ndtr

from .thresholds import noise_aware_threshold

__all__ = [
    "GaussianNoise",
    "LaplaceNoise",
    "Noise",
    "NullLaw",
    "TwoLaplaceNoise",
    "level_threshold",
]

Floats = NDArray[np.float64]

_CELLS = 2000


@dataclass(frozen=True)
class NullLaw:
    """The law of a score under independence: a scaled chi variable.

    Parameters
    ----------
    scale : float >= 0
        Its scale, in units of the score.
    degrees : float > 0, default=1.0
        Degrees of freedom; with 1 the score is half-normal.
    """

    scale: float
    degrees: float = 1.0

    def tail(self, score: float) -> float:
        """Return the probability of a larger score.

        Parameters
        ----------
        score : float
            A score without noise, at least 0.

        Returns
        -------
        float
            The p-value.
        """
        if self.scale == 0:
            return float(score <= 0)
        return float(chdtrc(self.degrees, (score / self.scale) ** 2))

    def quantile(self, alpha: float) -> float:
        """Return the score that is exceeded with a probability.

        Parameters
        ----------
        alpha : float in (0, 1)
            The probability.

        Returns
        -------
        float
            The upper quantile.
        """
        return float(self.scale * np.sqrt(chdtri(self.degrees, alpha)))


@dataclass(frozen=True)
class LaplaceNoise:
    """Laplace noise.

    Parameters
    ----------
    scale : float >= 0
        Its scale b.
    """

    scale: float

    def tail(self, t: Floats) -> Floats:
        """Return P(noise > t).

        Parameters
        ----------
        t : ndarray of float
            In units of the scale's.

        Returns
        -------
        ndarray of float
            The probabilities.
        """
        return _laplace_tail(t, self.scale)


@dataclass(frozen=True)
class TwoLaplaceNoise:
    """The sum of two independent Laplace variables of unequal scales.

    Parameters
    ----------
    first, second : float > 0
        Their scales.
    """

    first: float
    second: float

    @property
    def scale(self) -> float:
        """The larger scale."""
        return max(self.first, self.second)

    def tail(self, t: Floats) -> Floats:
        """Return P(noise > t), by partial fractions of the characteristic function.

        Parameters
        ----------
        t : ndarray of float
            In units of the scale's.

        Returns
        -------
        ndarray of float
            The probabilities.
        """
        a, b = self.first**2, self.second**2
        mixed = a * _laplace_tail(t, self.first) - b * _laplace_tail(t, self.second)
        return mixed / (a - b)


@dataclass(frozen=True)
class GaussianNoise:
    """Gaussian noise.

    Parameters
    ----------
    scale : float > 0
        Its standard deviation.
    """

    scale: float

    def tail(self, t: Floats) -> Floats:
        """Return P(noise > t).

        Parameters
        ----------
        t : ndarray of float
            In units of the scale's.

        Returns
        -------
        ndarray of float
            The probabilities.
        """
        return np.asarray(ndtr(-t / self.scale))


Noise = LaplaceNoise | TwoLaplaceNoise | GaussianNoise


def _laplace_tail(t: Floats, scale: float) -> Floats:
    half = 0.5 * np.exp(-np.abs(t) / scale)
    return np.where(t >= 0, half, 1 - half)


@lru_cache(maxsize=4096)
def level_threshold(alpha: float, null: NullLaw, noise: Noise) -> float:
    r"""Solve :math:`P(W + \mathrm{noise} > T) = \alpha` for T.

    Parameters
    ----------
    alpha : float in (0, 1)
        Level of the test.
    null : NullLaw
        Law of the score W under independence.
    noise : Noise
        What is added to it.

    Returns
    -------
    float
        The threshold T, in units of the score.

    Examples
    --------
    >>> round(level_threshold(0.05, NullLaw(1.0), GaussianNoise(1e-9)), 3)
    1.96
    """
    if null.degrees == 1 and isinstance(noise, LaplaceNoise):
        return noise_aware_threshold(alpha, null.scale, noise.scale)
    if noise.scale <= 1e-6 * null.scale:
        return null.quantile(alpha)
    scores, weights = _quadrature(null)

    def excess(threshold: float) -> float:
        return float(weights @ noise.tail(threshold - scores)) - alpha

    width = 40 * noise.scale * (1 - np.log10(min(alpha, 1 - alpha)))
    low, high = -width, float(scores[-1]) + width
    return float(brentq(excess, low, high, xtol=1e-12 * high, rtol=1e-12))


def _quadrature(null: NullLaw) -> tuple[Floats, Floats]:
    """Return scores with the probabilities that they stand for."""
    if null.scale == 0:
        return np.zeros(1), np.ones(1)
    low, high = null.quantile(1 - 1e-15), null.quantile(1e-15)
    edges = np.linspace(low, high, _CELLS + 1)
    # Exact probabilities of cells: the density may be infinite at 0.
    tails = chdtrc(null.degrees, (edges / null.scale) ** 2)
    weights = -np.diff(tails)
    return (edges[1:] + edges[:-1]) / 2, weights / weights.sum()
