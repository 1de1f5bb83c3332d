"""Private selection: the index of a high score, chosen with an exact law.

Scores are integers (on a public grid), so that the choice can be made by coins of
probability exp(-epsilon (best - score) / (2 sensitivity)) that are tossed exactly
(`coins.bernoulli_exp_multiples`), with no floating-point noise anywhere. Both
mechanisms are epsilon-differentially private when replacing one record changes no
score by more than the sensitivity.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Rational, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .coins import bernoulli_exp_multiples

__all__ = [
    "exponential_mechanism",
    "independent_exponential",
    "permute_and_flip",
]

_LARGEST_SCORE = 2**62  # so that the difference of two scores fits 64 bits
_FIRST_BATCH, _LARGEST_BATCH = 32, 2**15


def exponential_mechanism(
    scores: ArrayLike,
    epsilon: Fraction | float,
    sensitivity: int,
    rng: np.random.Generator,
) -> int:
    """Choose index i with probability proportional to exp(eps u_i / (2 Delta)).

    Parameters
    ----------
    scores : array-like of int, shape (n_candidates,)
        The utilities u, larger is better.
    epsilon : Fraction or float
        Privacy loss of the choice; a float is taken at its exact value.
    sensitivity : int
        Delta: how far one record can move any one score.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    int
        The chosen index.

    Raises
    ------
    TypeError
        If the scores or the sensitivity are not integers.
    ValueError
        If there is no score, a score is 2^62 or larger, or `epsilon` or
        `sensitivity` is not positive and finite.

    References
    ----------
    McSherry and Talwar, "Mechanism Design via Differential Privacy", 2007. Drawn
    by rejection: a uniform proposal is accepted with the probability
    exp(-eps (max u - u_i) / (2 Delta)), which takes at most n_candidates proposals
    in expectation.

    Examples
    --------
    >>> import numpy as np
    >>> exponential_mechanism([0, 900, 3], 1.0, 1, np.random.default_rng(0))
    1
    """
    return int(independent_exponential(scores, epsilon, sensitivity, rng, 1)[0])


def independent_exponential(
    scores: ArrayLike,
    epsilon: Fraction | float,
    sensitivity: int,
    rng: np.random.Generator,
    size: int,
) -> NDArray[np.intp]:
    """Draw independently, with replacement, from the exponential mechanism.

    Proposals are accepted independently of each other, so that the accepted ones in
    their order are independent draws from its law, of which the first are taken.

    Parameters
    ----------
    scores : array-like of int, shape (n_candidates,)
        The utilities u, larger is better.
    epsilon : Fraction or float
        Privacy loss of each draw; a float is taken at its exact value.
    sensitivity : int
        Delta: how far one record can move any one score.
    rng : numpy.random.Generator
        Where the random bits come from.
    size : int
        Number of draws.

    Returns
    -------
    ndarray of int, shape (size,)
        The chosen indices.

    Raises
    ------
    TypeError, ValueError
        As `exponential_mechanism`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> independent_exponential([0, 900, 899], 9.0, 1, rng, 3)
    array([1, 1, 1])
    """
    gaps = _gaps(scores)
    rate = _rate(epsilon, sensitivity)
    batch, found = _FIRST_BATCH, np.empty(0, dtype=np.intp)
    while len(found) < size:
        proposals = rng.integers(0, gaps.size, size=batch)
        accepted = bernoulli_exp_multiples(rate, gaps[proposals], rng)
        found = np.append(found, proposals[accepted])
        batch = min(2 * batch, _LARGEST_BATCH)
    return found[:size]


def permute_and_flip(
    scores: ArrayLike,
    epsilon: Fraction | float,
    sensitivity: int,
    rng: np.random.Generator,
) -> int:
    """Choose an index as report-noisy-max with exponential noise does.

    The candidates are visited in random order, and the first whose coin of
    probability exp(-eps (max u - u_i) / (2 Delta)) shows heads is chosen. Never
    worse in expectation than the exponential mechanism at the same epsilon.

    Parameters
    ----------
    scores : array-like of int, shape (n_candidates,)
        The utilities u, larger is better.
    epsilon : Fraction or float
        Privacy loss of the choice; a float is taken at its exact value.
    sensitivity : int
        Delta: how far one record can move any one score.
    rng : numpy.random.Generator
        Where the random bits come from.

    Returns
    -------
    int
        The chosen index.

    Raises
    ------
    TypeError
        If the scores or the sensitivity are not integers.
    ValueError
        If there is no score, a score is 2^62 or larger, or `epsilon` or
        `sensitivity` is not positive and finite.

    References
    ----------
    McKenna and Sheldon, "Permute-and-Flip: A new mechanism for differentially
    private selection", 2020. Ding, Kifer, Sayed, Steinke, Wang, Xiao and Zhang,
    "The Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with
    Exponential Noise", 2021.

    Examples
    --------
    >>> import numpy as np
    >>> permute_and_flip([0, 900, 3], 1.0, 1, np.random.default_rng(0))
    1
    """
    gaps = _gaps(scores)
    order = rng.permutation(gaps.size)
    heads = bernoulli_exp_multiples(_rate(epsilon, sensitivity), gaps[order], rng)
    return int(order[heads.argmax()])  # the best score's coin always shows heads


def _gaps(scores: ArrayLike) -> NDArray[np.int64]:
    """Return how far every score lies below the best one."""
    scores = np.asarray(scores)
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError(
            f"scores must be a 1-d array with at least one score, got {scores.shape}."
        )
    if scores.dtype.kind not in "iu":
        raise TypeError(
            f"scores must be integers, got {scores.dtype}. Round them to a public "
            "grid and give the sensitivity in its steps."
        )
    if int(scores.max()) >= _LARGEST_SCORE or int(scores.min()) <= -_LARGEST_SCORE:
        raise ValueError("scores must be smaller than 2**62 in magnitude.")
    signed = scores.astype(np.int64)
    return signed.max() - signed


def _rate(epsilon: Fraction | float, sensitivity: int) -> Fraction:
    """Return epsilon / (2 sensitivity) as an exact fraction."""
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, Integral):
        kind = type(sensitivity).__name__
        raise TypeError(f"sensitivity must be an int, got {kind}.")
    if sensitivity <= 0:
        raise ValueError(f"sensitivity must be positive, got {sensitivity}.")
    if not isinstance(epsilon, Real):
        raise TypeError(f"epsilon must be a number, got {type(epsilon).__name__}.")
    if not math.isfinite(epsilon) or epsilon <= 0:
        raise ValueError(f"epsilon must be positive and finite, got {epsilon}.")
    if isinstance(epsilon, Integral):
        exact = Fraction(int(epsilon))
    else:
        exact = Fraction(epsilon if isinstance(epsilon, Rational) else float(epsilon))
    return exact / (2 * int(sensitivity))
