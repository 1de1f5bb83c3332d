"""How large a sub-sample a sieve should look at."""

from __future__ import annotations

from math import exp, log

from scipy.optimize import minimize_scalar

from .accounting import base_epsilon

__all__ = ["least_noise_fraction"]

SMALLEST_FRACTION = 1 / 20


def least_noise_fraction(sieve_epsilon: float) -> float:
    r"""Return the share of the records that needs the least noise in a sieve.

    Minimises :math:`q^{-1/2} / \ln(1 + (e^{\varepsilon_s} - 1)/q)` over q, as the
    Priv-PC paper does (section 3.2). The signal falls with sqrt(q) as well, so that no
    q below 1 improves the signal against the noise: this is for reproducing the paper.

    Parameters
    ----------
    sieve_epsilon : float
        Price of a sieve on the records, after amplification.

    Returns
    -------
    float
        The share q in [1/20, 1].

    Examples
    --------
    >>> least_noise_fraction(0.01)
    0.05
    >>> round(least_noise_fraction(2.0), 3)
    1.0
    """

    def noise(log_fraction: float) -> float:
        fraction = exp(log_fraction)
        return fraction**-0.5 / base_epsilon(sieve_epsilon, fraction)

    found = minimize_scalar(
        noise, bounds=(log(SMALLEST_FRACTION), 0.0), method="bounded"
    )
    candidates = (SMALLEST_FRACTION, 1.0, exp(found.x))
    return min(candidates, key=lambda fraction: noise(log(fraction)))
