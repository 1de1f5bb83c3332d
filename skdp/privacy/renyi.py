"""How much Gaussian noise a fixed number of sub-sampled answers needs.

By Renyi accounting for samples drawn without replacement under replacement of a record
(Wang, Balle, Kasiviswanathan 2019, theorem 27), as the dp-accounting library does it.
The theorem needs only integer moments of likelihood ratios, and those of discrete
Gaussians that lie whole steps apart are the continuous ones: a Gaussian sum over the
integers does not change when it is shifted by whole steps.
"""

from __future__ import annotations

from functools import lru_cache
from math import log, sqrt

from .accounting import zcdp_from_dp

__all__ = ["noise_multiplier", "sampled_gaussian_epsilon"]

_PRECISION = 1e-3  # relative, of the multiplier; always rounded up


def sampled_gaussian_epsilon(
    multiplier: float, n_answers: int, fraction: tuple[int, int], delta: float
) -> float:
    """Return the loss of answers with Gaussian noise, each from a fresh sub-sample.

    Parameters
    ----------
    multiplier : float > 0
        Standard deviation of the noise over the sensitivity, at the sample's size.
    n_answers : int
        Number of answers, fixed beforehand.
    fraction : tuple of (int, int)
        Number of records in a sub-sample, and of all records.
    delta : float in (0, 1)
        The delta to state it at.

    Returns
    -------
    float
        The total epsilon under replacement of one record.

    Examples
    --------
    >>> loss = sampled_gaussian_epsilon(2.0, 10, (100, 1000), 1e-6)
    >>> loss < sampled_gaussian_epsilon(2.0, 10, (500, 1000), 1e-6)
    True
    """
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.rdp import RdpAccountant

    size, n_records = fraction
    event = dp_event.SampledWithoutReplacementDpEvent(
        n_records, size, dp_event.GaussianDpEvent(multiplier)
    )
    relation = NeighboringRelation.REPLACE_ONE
    accountant = RdpAccountant(_orders(multiplier, n_answers, delta), relation)
    accountant.compose(event, n_answers)
    return float(accountant.get_epsilon(delta))


@lru_cache(maxsize=64)
def noise_multiplier(
    n_answers: int, epsilon: float, delta: float, fraction: tuple[int, int]
) -> float:
    """Return the least noise for which answers together stay within a budget.

    Parameters
    ----------
    n_answers : int
        Number of answers, fixed beforehand.
    epsilon, delta : float
        The budget; delta > 0.
    fraction : tuple of (int, int)
        Number of records in a sub-sample, and of all records.

    Returns
    -------
    float
        Standard deviation of the noise over the sensitivity, at the sample's size.

    Examples
    --------
    >>> round(noise_multiplier(28, 1.0, 1e-6, (1000, 1000)), 2)
    23.98
    """
    whole = sqrt(n_answers / (2 * zcdp_from_dp(epsilon, delta))) * (1 + 2.0**-40)
    # To look at fewer records never costs more, whatever the theorem can prove.
    size, n_records = fraction
    low, high = whole * size / n_records / 4, whole
    if size == n_records or _excess(high, n_answers, fraction, (epsilon, delta)) > 0:
        return whole
    while high - low > _PRECISION * high:
        middle = sqrt(low * high)
        if _excess(middle, n_answers, fraction, (epsilon, delta)) > 0:
            low = middle
        else:
            high = middle
    # A little more than what was checked in floating point.
    return high * (1 + 1e-6)


def _excess(
    multiplier: float,
    n_answers: int,
    fraction: tuple[int, int],
    budget: tuple[float, float],
) -> float:
    """Return by how much answers exceed a budget."""
    epsilon, delta = budget
    return sampled_gaussian_epsilon(multiplier, n_answers, fraction, delta) - epsilon


def _orders(multiplier: float, n_answers: int, delta: float) -> list[int]:
    """List integer orders around the best one without sub-sampling, and far above."""
    best = 1 + multiplier * sqrt(2 * log(1 / delta) / n_answers)
    spread = (best * 1.35**k for k in range(-4, 9))
    return sorted({min(max(2, round(order)), 1024) for order in spread})
