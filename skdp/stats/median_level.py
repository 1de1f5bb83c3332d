"""The level of a test by the noisy median of uniform values."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv

from .noisy_levels import LaplaceNoise
from .smooth_sensitivity import smooth_sensitivity_of_median

__all__ = ["median_threshold"]

_CELLS = 2000


@lru_cache(maxsize=64)
def median_threshold(alpha: float, n_blocks: int, epsilon: float, beta: float) -> float:
    r"""Return what the noisy median of uniform values exceeds with a probability.

    The median of B uniform values has a Beta law of equal parameters (B + 1)/2. The
    scale of its noise, :math:`2S/\epsilon`, depends on the values; it is taken at
    their expected places i/(B + 1).

    Parameters
    ----------
    alpha : float in (0, 1)
        Level of the test.
    n_blocks : int
        Odd number B of values in [0, 1].
    epsilon : float
        Privacy loss of the median.
    beta : float
        Smoothness of its sensitivity.

    Returns
    -------
    float
        The threshold; 1 or more if the noise hides any evidence.

    Examples
    --------
    >>> round(median_threshold(0.05, 999, 100.0, 5.0), 3)
    0.526
    """
    places = np.arange(1, n_blocks + 1) / (n_blocks + 1)
    smooth = smooth_sensitivity_of_median(places, 0.0, 1.0, beta)
    noise = LaplaceNoise(2 * smooth / epsilon)
    half = (n_blocks + 1) / 2
    medians = betaincinv(half, half, (np.arange(_CELLS) + 0.5) / _CELLS)

    def excess(threshold: float) -> float:
        return float(noise.tail(threshold - medians).mean()) - alpha

    width = 40 * noise.scale * (1 - np.log10(min(alpha, 1 - alpha)))
    return float(brentq(excess, -width, 1 + width, xtol=1e-12))
