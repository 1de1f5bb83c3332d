"""Integer noise with exact laws: discrete Laplace and discrete Gaussian.

Noise on integers leaves no floating-point trace to attack. The difference of two
geometric variables, drawn digit by digit (`digits`), is discrete Laplace. The
discrete Gaussian is drawn by rejection from it (Canonne, Kamath and Steinke,
"The Discrete Gaussian for Differential Privacy", 2020, algorithm 3), accepting
with an exact coin of probability exp(-gamma) (`coins`). A draw is within a total
variation of 2^-119 of its law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .arguments import Number, exact_fraction
from .coins import TINY, exponential_tables, settle
from .digits import BLOCK, digit_table, draw_digits, draw_geometric, to_integers

__all__ = ["discrete_gaussian", "discrete_laplace"]

Shape = int | tuple[int, ...]

MAX_SCALE = 2**50  # noise stays below 2^57, far from the end of int64


def discrete_laplace(
    scale: Number, size: Shape, rng: np.random.Generator, *, secret_scale: bool = False
) -> NDArray[np.int64]:
    """Draw integers k with probability proportional to exp(-|k| / scale).

    Parameters
    ----------
    scale : Fraction, int or float
        Scale in units of the grid, in (0, 2^50]; a float is taken at its exact
        value. Sensitivity / epsilon makes a count epsilon-differentially private.
    size : int or tuple of int
        Shape of the answer.
    rng : numpy.random.Generator
        Where the random bits come from.
    secret_scale : bool, default=False
        Whether the scale depends on private records, so that nothing of it may be
        remembered.

    Returns
    -------
    ndarray of int64, shape `size`
        Independent draws.

    Raises
    ------
    ValueError
        If `scale` is not positive, not finite or above 2^50.

    Examples
    --------
    >>> import numpy as np
    >>> discrete_laplace(1.5, 4, np.random.default_rng(0)).shape
    (4,)
    """
    make = digit_table.__wrapped__ if secret_scale else digit_table
    table = make(_positive_fraction(scale, "scale", MAX_SCALE))
    shape = _shape(size)
    return _laplace(table, math.prod(shape), rng).reshape(shape)


def discrete_gaussian(
    sigma2: Number, size: Shape, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw integers k with probability proportional to exp(-k^2 / (2 sigma2)).

    Parameters
    ----------
    sigma2 : Fraction, int or float
        Square of the scale, in squared units of the grid, in (0, 2^100]; a float
        is taken at its exact value. Delta_2^2 / (2 rho) makes a vector of integers
        of L2 sensitivity Delta_2 rho-zCDP.
    size : int or tuple of int
        Shape of the answer.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    ndarray of int64, shape `size`
        Independent draws.

    Raises
    ------
    ValueError
        If `sigma2` is not positive, not finite or above 2^100.

    References
    ----------
    Canonne, Kamath and Steinke 2020, algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> discrete_gaussian(2.25, (2, 3), np.random.default_rng(0)).shape
    (2, 3)
    """
    plan = _gaussian_plan(_positive_fraction(sigma2, "sigma2", MAX_SCALE**2))
    shape = _shape(size)
    size = math.prod(shape)
    out = np.zeros(size, dtype=np.int64)
    filled = size if plan.always_zero else 0
    while filled < size:
        wanted = size - filled
        accepted = _gaussian_batch(plan, min(4 + 2 * wanted, BLOCK), rng)
        accepted = accepted[:wanted]
        out[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return out.reshape(shape)


def _laplace(
    table: NDArray[np.uint16], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw n discrete Laplace variables as differences of geometric ones."""
    both = draw_geometric(table, 2 * n, rng)
    return both[:n] - both[n:]


@dataclass(frozen=True)
class _GaussianPlan:
    """What the rejection sampler of one sigma2 needs, computed once."""

    sigma2: Fraction
    scale: int  # of the discrete Laplace proposals
    table: NDArray[np.uint16]  # digits of two geometric variables and the coin
    n_digits: int  # of one geometric variable
    centre: float  # sigma2 / scale
    twice: float  # 2 sigma2
    always_zero: bool

    def gamma(self, proposal: int) -> Fraction:
        """Give the exponent of the acceptance probability exp(-gamma)."""
        distance = abs(proposal) - self.sigma2 / self.scale
        return distance**2 / (2 * self.sigma2)


@lru_cache(maxsize=1024)
def _gaussian_plan(sigma2: Fraction) -> _GaussianPlan:
    """Prepare the sampler; beyond 1 / (2 sigma2) = 89, P(k != 0) < 2^-127."""
    scale = math.isqrt(math.floor(sigma2)) + 1
    geometric = digit_table(Fraction(scale))
    coarse = exponential_tables()[0]
    return _GaussianPlan(
        sigma2=sigma2,
        scale=scale,
        table=np.concatenate([geometric, geometric, coarse]),
        n_digits=len(geometric),
        centre=float(sigma2 / scale),
        twice=float(2 * sigma2),
        always_zero=1 > 178 * sigma2,
    )


def _gaussian_batch(
    plan: _GaussianPlan, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Make n proposals and return the accepted ones."""
    digits = draw_digits(plan.table, n, rng)
    k = plan.n_digits
    proposals = to_integers(digits[:k]) - to_integers(digits[k : 2 * k])
    size = np.abs(proposals)
    gamma = (size - plan.centre) ** 2 / plan.twice
    # Rounding moves gamma by less than 8 u (size + centre)^2 / twice, u = 2^-53.
    error = (size + plan.centre) ** 2 * (2.0**-49 / plan.twice) + TINY
    cells = to_integers(digits[2 * k :])
    keep = settle(cells, gamma, error, lambda i: plan.gamma(int(proposals[i])), rng)
    return proposals[keep]


def _positive_fraction(value: Number, name: str, limit: int) -> Fraction:
    """Take a number at its exact value and check that it is in (0, limit]."""
    exact = exact_fraction(value, name)
    if exact <= 0:
        raise ValueError(f"{name} must be positive, got {value}.")
    if exact > limit:
        raise ValueError(
            f"{name} must be at most 2**{limit.bit_length() - 1}, got {value}: larger "
            "noise could overflow 64-bit integers. Use a coarser grid."
        )
    return exact


def _shape(size: Shape) -> tuple[int, ...]:
    """Read a size as a shape."""
    return size if isinstance(size, tuple) else (int(size),)
