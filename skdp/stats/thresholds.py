"""Thresholds that turn a noisy dependence score into a test of a given level."""

from __future__ import annotations

from functools import lru_cache
from math import exp, log, sqrt

from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

__all__ = ["noise_aware_threshold", "null_scale"]


def null_scale(
    n_levels_x: float, n_levels_y: float, strata_per_record: float = 0.0
) -> float:
    r"""Bound the standard deviation of a Kendall score under independence.

    .. math:: \sigma_0^2 = (1 - r^{-2})(1 - c^{-2})\min(1 + 1.5\,K/n,\ 11/9)

    Ties shrink the score; the first two factors say by how much for balanced
    levels. The last one is the price of small strata.

    Parameters
    ----------
    n_levels_x, n_levels_y : float
        Declared numbers of levels; ``inf`` for a continuous variable.
    strata_per_record : float, default=0
        K/n. 0 for a score that is normalised by its own null variance.

    Returns
    -------
    float
        The standard deviation, in units of the score.

    Examples
    --------
    >>> round(null_scale(2, 2), 3)
    0.75
    """
    ties = (1 - n_levels_x**-2.0) * (1 - n_levels_y**-2.0)
    return sqrt(ties * min(1 + 1.5 * strata_per_record, 11 / 9))


@lru_cache(maxsize=4096)
def noise_aware_threshold(
    alpha: float, score_scale: float, noise_scale: float
) -> float:
    r"""Solve :math:`P(\sigma_0 |Z| + \mathrm{Lap}(b) > T) = \alpha` for T.

    The level counts the privacy noise in: a truly independent pair is called
    dependent with probability `alpha`, whatever the noise.

    Parameters
    ----------
    alpha : float in (0, 1)
        Level of the test.
    score_scale : float >= 0
        Standard deviation of the signed score under independence.
    noise_scale : float >= 0
        Scale b of the Laplace noise; 0 for none.

    Returns
    -------
    float
        The threshold T, in units of the score.

    Examples
    --------
    >>> round(noise_aware_threshold(0.05, 1.0, 0.0), 4)
    1.96
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}.")
    if noise_scale <= 1e-6 * score_scale:  # the closed form below would cancel
        return float(score_scale * norm.isf(alpha / 2))

    def excess(threshold: float) -> float:
        return _exceedance(threshold, score_scale, noise_scale) - alpha

    width = 40 * (score_scale + noise_scale) + 2 * noise_scale * abs(log(alpha))
    return float(brentq(excess, -width, width, xtol=1e-12 * width, rtol=1e-12))


def _exceedance(t: float, s: float, b: float) -> float:
    """P(s |Z| + Lap(b) > t), by integrating the Laplace tail over the half-normal."""
    if s == 0:
        return 0.5 * exp(-t / b) if t >= 0 else 1 - 0.5 * exp(t / b)
    ratio = s / b
    if t < 0:
        return 1 - exp(t / b + ratio**2 / 2 + float(log_ndtr(-ratio)))
    z = t / s
    above = float(ndtr(-z))
    # E[exp(-(t - W)/b); W <= t] and E[exp(-(W - t)/b); W > t] for W = s |Z|.
    shift = ratio**2 / 2
    log_upper, log_lower = float(log_ndtr(z - ratio)), float(log_ndtr(-ratio))
    below_tail = exp(-t / b + shift + log_upper) - exp(-t / b + shift + log_lower)
    above_tail = exp(t / b + shift + float(log_ndtr(-z - ratio)))
    return below_tail + 2 * above - above_tail
