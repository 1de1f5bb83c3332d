"""Integer noise with exact laws: discrete Laplace and discrete Gaussian.

Noise on integers leaves no floating-point trace to attack. A geometric variable
of ratio a has independent binary digits, digit j being 1 with probability
a^(2^j) / (1 + a^(2^j)); the difference of two of them is discrete Laplace. The
discrete Gaussian is drawn by rejection from it (Canonne, Kamath and Steinke,
"The Discrete Gaussian for Differential Privacy", 2020, algorithm 3), accepting
with a Bernoulli(exp(-gamma)) that is decided by an exponential variable of as
many binary digits as the comparison needs.

What "exact" means here: every digit compares 128 random bits with its probability
rounded to 128 bits, and digits of probability below 2^-129 are left out. A draw is
therefore within a total variation of 2^-119 of its law.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Rational, Real
from typing import cast

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "bernoulli_exp",
    "bernoulli_exp_multiples",
    "discrete_gaussian",
    "discrete_laplace",
]

Number = Fraction | int | float
Shape = int | tuple[int, ...]

MAX_SCALE = 2**50  # noise stays below 2^57, far from the end of int64

_LIMB, _LIMBS = 16, 8  # a probability is 8 limbs of 16 bits, drawn one at a time
_BITS = _LIMB * _LIMBS
_BLOCK = 2**15  # variables drawn at a time, so that the work stays in the cache
_FINE = 46  # binary places of an exponential variable before the exact comparison
_COARSE = 8  # of these, the places that are always drawn
_FAR = Fraction(4096)  # no exponential variable gets there: larger exponents are cut
_TINY = 2.0**-1000  # covers underflow in a floating-point comparison


def discrete_laplace(
    scale: Number, size: Shape, rng: np.random.Generator
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
    table = _digit_table(_positive_fraction(scale, "scale", MAX_SCALE))
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
        accepted = _gaussian_batch(plan, min(4 + 2 * wanted, _BLOCK), rng)
        accepted = accepted[:wanted]
        out[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return out.reshape(shape)


def bernoulli_exp(
    gamma: Number | Sequence[Number], rng: np.random.Generator
) -> bool | NDArray[np.bool_]:
    """Toss coins that show heads with probability exp(-gamma) exactly.

    Parameters
    ----------
    gamma : Fraction, int or float, or a sequence of them
        Exponents, at least 0; floats are taken at their exact value.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    bool or ndarray of bool
        One toss for every exponent.

    Raises
    ------
    ValueError
        If an exponent is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> bernoulli_exp(0, np.random.default_rng(0))
    True
    """
    scalar = isinstance(gamma, Real)
    given = cast("Sequence[Number]", [gamma] if scalar else gamma)
    exact = [_fraction(g, "gamma") for g in given]
    if any(g < 0 for g in exact):
        raise ValueError(
            "gamma must be at least 0 for exp(-gamma) to be a probability."
        )
    approximate = np.array([float(min(g, _FAR)) for g in exact])
    heads = _exceeds(
        approximate, approximate * 2.0**-50 + _TINY, exact.__getitem__, rng
    )
    return bool(heads[0]) if scalar else heads


def bernoulli_exp_multiples(
    rate: Number, multiples: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Toss one coin of probability exp(-rate * k) for every integer k, exactly.

    Parameters
    ----------
    rate : Fraction, int or float
        At least 0; a float is taken at its exact value.
    multiples : ndarray of int64, shape (n,)
        The integers k, at least 0.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    ndarray of bool, shape (n,)
        True with probability exp(-rate * k).

    Raises
    ------
    ValueError
        If `rate` or one of `multiples` is negative, or `rate` is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> bernoulli_exp_multiples(0.1, np.array([0, 10**9]), np.random.default_rng(0))
    array([ True, False])
    """
    exact_rate = _fraction(rate, "rate")
    if exact_rate < 0 or (multiples.size and multiples.min() < 0):
        raise ValueError("rate and multiples must be at least 0.")
    slope = float(min(exact_rate, _FAR))
    approximate = np.minimum(multiples * slope, float(_FAR))
    error = approximate * 2.0**-50 + _TINY
    return _exceeds(approximate, error, lambda i: exact_rate * int(multiples[i]), rng)


# --- digits -----------------------------------------------------------------


@lru_cache(maxsize=1024)
def _digit_table(scale: Fraction) -> NDArray[np.uint16]:
    """Probabilities of the binary digits of a geometric variable.

    Row j holds round(2^128 a^(2^j) / (1 + a^(2^j))), a = exp(-1 / scale), as limbs
    from the most significant on; the rows end where that is 0.
    """
    rows: list[list[int]] = []
    while threshold := _threshold(Fraction(2 ** len(rows)) / scale):
        limbs = [threshold >> _LIMB * k & 2**_LIMB - 1 for k in range(_LIMBS)]
        rows.append(limbs[::-1])
    table = np.array(rows, dtype=np.uint16).reshape(-1, _LIMBS)
    table.flags.writeable = False
    return table


def _threshold(weight: Fraction) -> int:
    """Round 2^128 / (1 + exp(weight)) to the nearest integer."""
    # 80 digits are 40 more than 2^128 has; traps are off so that exp underflows to 0.
    with decimal.localcontext(decimal.Context(prec=80, traps=[])):
        exponent = decimal.Decimal(weight.numerator) / weight.denominator
        odds = (-exponent).exp()
        return int((2**_BITS * (odds / (1 + odds))).to_integral_value())


def _limbs(n: int, rng: np.random.Generator) -> NDArray[np.uint16]:
    """Draw n uniform integers of 16 bits."""
    words = rng.integers(0, 2**64, size=-(-n // 4), dtype=np.uint64)
    return words.view(np.uint16)[:n]


def _digits(
    table: NDArray[np.uint16], n: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw n independent columns of digits, one row for every row of the table.

    The first limb settles all but one digit in 65 536; more are drawn on a tie.
    """
    drawn = _limbs(len(table) * n, rng).reshape(len(table), n)
    digits = drawn < table[:, :1]
    tied = np.flatnonzero(drawn == table[:, :1])
    flat = digits.reshape(-1)
    for limb in range(1, _LIMBS):
        if not tied.size:
            break
        wanted = table[tied // n, limb]
        more = _limbs(tied.size, rng)
        flat[tied] = more < wanted
        tied = tied[more == wanted]
    return digits


def _integers(digits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Read columns of binary digits, least significant first, as integers."""
    packed = np.packbits(digits, axis=0, bitorder="little")
    columns = np.zeros((digits.shape[1], 8), dtype=np.uint8)
    columns[:, : len(packed)] = packed.T
    return columns.view("<i8").reshape(-1).astype(np.int64, copy=False)


def _geometric(
    table: NDArray[np.uint16], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw n geometric variables, P(g) = (1 - a) a^g, from their digit table."""
    if n <= _BLOCK:
        return _integers(_digits(table, n, rng))
    sizes = [min(_BLOCK, n - start) for start in range(0, n, _BLOCK)]
    return np.concatenate([_integers(_digits(table, size, rng)) for size in sizes])


def _laplace(
    table: NDArray[np.uint16], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw n discrete Laplace variables as differences of geometric ones."""
    both = _geometric(table, 2 * n, rng)
    return both[:n] - both[n:]


# --- coins of probability exp(-gamma) ---------------------------------------


@lru_cache(maxsize=1)
def _exponential_tables() -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Digit tables of an exponential variable: the coarse places, the fine ones."""
    table = _digit_table(Fraction(2**_FINE))
    return table[_FINE - _COARSE :], table[: _FINE - _COARSE]


def _exceeds(
    gamma: NDArray[np.float64],
    error: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Tell whether exponential variables exceed gamma; see `_settle`."""
    cells = _geometric(_exponential_tables()[0], gamma.size, rng)
    return _settle(cells, gamma, error, exact, rng)


def _settle(
    cells: NDArray[np.int64],
    gamma: NDArray[np.float64],
    error: NDArray[np.float64],
    exact: Callable[[int], Fraction],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Tell whether variables with coarse places `cells` exceed gamma +- error.

    Where that is uncertain the fine places are drawn, and where it still is,
    ``exact(i)``, the exact gamma of entry i, decides: about once in 2^45 times.
    """
    heads, unsure = _compare(cells, 2.0**-_COARSE, gamma, error)
    if unsure.size:
        fine = _geometric(_exponential_tables()[1], unsure.size, rng)
        cells = (cells[unsure] << (_FINE - _COARSE)) | fine
        finer = gamma[unsure], error[unsure]
        heads[unsure], close = _compare(cells, 2.0**-_FINE, *finer)
        for k in close:
            at = int(unsure[k])
            heads[at] = _exceeds_exactly(int(cells[k]), _FINE, exact(at), rng)
    return heads


def _compare(
    cells: NDArray[np.int64],
    width: float,
    gamma: NDArray[np.float64],
    error: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Compare variables in [cells, cells + 1) * width with gamma +- error.

    Returns which are certainly above, and the indices of the uncertain ones.
    """
    low = cells * width  # exact: cells has at most 53 bits and width is a power of 2
    above = low >= gamma + error
    below = low + width <= gamma - error
    return above, np.flatnonzero(above == below)


def _exceeds_exactly(
    cell: int, places: int, gamma: Fraction, rng: np.random.Generator
) -> bool:
    """Decide E > gamma for E in [cell, cell + 1) / 2^places in exact arithmetic.

    Further binary digits of E are drawn until the interval lies on one side.
    """
    while True:
        if Fraction(cell, 2**places) >= gamma:
            return True
        if Fraction(cell + 1, 2**places) <= gamma:
            return False
        places += 1
        digit = _digits(_digit_table(Fraction(2**places))[:1], 1, rng)
        cell = 2 * cell + int(digit[0, 0])


# --- the discrete Gaussian --------------------------------------------------


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
    geometric = _digit_table(Fraction(scale))
    coarse = _exponential_tables()[0]
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
    digits = _digits(plan.table, n, rng)
    k = plan.n_digits
    proposals = _integers(digits[:k]) - _integers(digits[k : 2 * k])
    size = np.abs(proposals)
    gamma = (size - plan.centre) ** 2 / plan.twice
    # Rounding moves gamma by less than 8 u (size + centre)^2 / twice, u = 2^-53.
    error = (size + plan.centre) ** 2 * (2.0**-49 / plan.twice) + _TINY
    cells = _integers(digits[2 * k :])
    keep = _settle(cells, gamma, error, lambda i: plan.gamma(int(proposals[i])), rng)
    return proposals[keep]


# --- arguments --------------------------------------------------------------


def _fraction(value: Number, name: str) -> Fraction:
    """Take a number at its exact value."""
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(value)
    if not isinstance(value, Real):
        kind = type(value).__name__
        raise TypeError(f"{name} must be a Fraction, an int or a float, got {kind}.")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}.")
    return Fraction(float(value))


def _positive_fraction(value: Number, name: str, limit: int) -> Fraction:
    """Take a number at its exact value and check that it is in (0, limit]."""
    exact = _fraction(value, name)
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
