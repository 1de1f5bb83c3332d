"""A noisy matrix of second moments, and what is known of its noise. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Measurement"]


@dataclass(frozen=True)
class Measurement:
    """A noisy matrix of second moments.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Averages over the records; symmetric, maybe not positive definite.
    noise : float
        Standard deviation of the noise in an entry off the diagonal.
    diagonal_noise : float
        The same on the diagonal.
    """

    matrix: NDArray[np.float64]
    noise: float
    diagonal_noise: float

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard deviation of the noise in each entry, shape (d, d)."""
        errors = np.full(self.matrix.shape, self.noise)
        np.fill_diagonal(errors, self.diagonal_noise)
        return errors

    def combined(self, other: Measurement) -> Measurement:
        """Average with an independent measurement, by inverse variances.

        Parameters
        ----------
        other : Measurement
            Of the same moments.

        Returns
        -------
        Measurement
            More precise than both.
        """
        weight = other.standard_error**2 / (
            self.standard_error**2 + other.standard_error**2
        )
        return Measurement(
            weight * self.matrix + (1 - weight) * other.matrix,
            (self.noise**-2 + other.noise**-2) ** -0.5,
            (self.diagonal_noise**-2 + other.diagonal_noise**-2) ** -0.5,
        )

    def split(
        self, share: float, rng: np.random.Generator
    ) -> tuple[Measurement, Measurement]:
        """Split into two independent measurements (data fission).

        Parameters
        ----------
        share : float > 0
            a: the first has 1 + a^2 times the variance, the second 1 + 1/a^2 times.
        rng : numpy.random.Generator
            Draws what is added to the first, times a, and taken from the second,
            divided by a.

        Returns
        -------
        tuple of Measurement
            Independent of each other where the noise is Gaussian.
        """
        added = rng.standard_normal(self.matrix.shape) * self.standard_error
        added = np.triu(added) + np.triu(added, 1).T
        return self._plus(share, added), self._plus(-1 / share, added)

    def _plus(self, factor: float, added: NDArray[np.float64]) -> Measurement:
        growth = float(np.sqrt(1 + factor**2))
        return Measurement(
            self.matrix + factor * added,
            growth * self.noise,
            growth * self.diagonal_noise,
        )
