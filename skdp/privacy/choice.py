"""Private choices: what stands behind `Curator.exponential`, `.subset` and the like."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan, nextafter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skdp.queries import Query

from .accounting import zcdp_from_pure
from .arguments import whole_number
from .budget import check_budget
from .grid import LARGEST_STEPS, Grid, public_sensitivity
from .purchases import LedgerEntry
from .selection import (
    exponential_mechanism,
    independent_exponential,
    permute_and_flip,
)
from .subsets import draw_subset, draw_subset_of_size, size_utilities

if TYPE_CHECKING:
    from .curator import Curator

__all__ = [
    "exponential",
    "exponential_draws",
    "noisy_max",
    "subset",
    "subset_size",
    "top_k",
]

#: More draws than these are not worth their memory, nor their price.
_MOST_DRAWS = 2**20


def exponential(curator: Curator, query: Query, epsilon: float) -> int:
    """Choose by the exponential mechanism; see `Curator.exponential`."""
    epsilon = _checked(epsilon)
    scores, steps = _bought_scores(
        curator, "exponential", query, (epsilon, epsilon**2 / 8), 1
    )
    if steps == 0:
        return int(np.argmax(scores))
    return exponential_mechanism(scores, epsilon, steps, curator._streams.noise)


def exponential_draws(
    curator: Curator, query: Query, epsilon: float, size: int
) -> NDArray[np.intp]:
    """Choose several times, independently; see `Curator.exponential`."""
    epsilon, size = _checked(epsilon), whole_number(size, "size", _MOST_DRAWS)
    price = (epsilon, epsilon**2 / (8 * size))
    scores, steps = _bought_scores(curator, "exponential", query, price, size)
    if steps == 0:
        return np.full(size, np.argmax(scores))
    return independent_exponential(
        scores, _share(epsilon, size), steps, curator._streams.noise, size
    )


def noisy_max(curator: Curator, query: Query, epsilon: float) -> int:
    """Choose by report-noisy-max; see `Curator.noisy_max`."""
    epsilon = _checked(epsilon)
    scores, steps = _bought_scores(
        curator, "noisy_max", query, (epsilon, zcdp_from_pure(epsilon)), 1
    )
    if steps == 0:
        return int(np.argmax(scores))
    return permute_and_flip(scores, epsilon, steps, curator._streams.noise)


def top_k(curator: Curator, query: Query, k: int, epsilon: float) -> NDArray[np.intp]:
    """Choose k candidates; see `Curator.top_k`."""
    epsilon = _checked(epsilon)
    public_sensitivity(query, curator.public, inf)
    n_candidates = int(np.prod(query.shape(curator.public)))
    k = whole_number(k, "k", n_candidates)
    price = (epsilon, epsilon**2 / (8 * k))
    scores, steps = _bought_scores(curator, "top_k", query, price, k)
    if steps == 0:
        return np.argsort(-scores, kind="stable")[:k]
    left, chosen = np.arange(n_candidates), []
    for _ in range(k):
        best = exponential_mechanism(
            scores[left], _share(epsilon, k), steps, curator._streams.noise
        )
        chosen.append(left[best])
        left = np.delete(left, best)
    return np.array(chosen)


def subset(
    curator: Curator, query: Query, epsilon: float, size: int | None
) -> NDArray[np.bool_]:
    """Choose a subset of the candidates; see `Curator.subset`."""
    epsilon = _checked(epsilon)
    if size is not None and not 0 <= size <= np.prod(query.shape(curator.public)):
        raise ValueError(f"size must be from 0 to all candidates, got {size!r}.")
    price = (epsilon, epsilon**2 / 8)
    margins, steps = _bought_scores(curator, "subset", query, price, 1)
    rng = curator._streams.noise
    if steps == 0:  # public margins: the best subset, for nothing
        best = np.argsort(-margins, kind="stable")[: int(size or 0)]
        return margins > 0 if size is None else np.isin(np.arange(len(margins)), best)
    if size is None:
        return draw_subset(margins, epsilon, steps, rng)
    return draw_subset_of_size(margins, int(size), epsilon, steps, rng)


def subset_size(curator: Curator, query: Query, epsilon: float) -> int:
    """Choose the size of a subset; see `Curator.subset_size`."""
    epsilon = _checked(epsilon)
    price = (epsilon, epsilon**2 / 8)
    margins, steps = _bought_scores(curator, "subset_size", query, price, 1)
    utilities = size_utilities(margins)
    if steps == 0:
        return int(np.argmax(utilities))
    return exponential_mechanism(utilities, epsilon, steps, curator._streams.noise)


def _checked(epsilon: float) -> float:
    check_budget(epsilon, 0.0)
    return float(epsilon)


def _share(epsilon: float, n_chosen: int) -> float:
    """Return the loss of each choice: so many of them are never more than epsilon."""
    share = epsilon / n_chosen
    while Fraction(share) * n_chosen > Fraction(epsilon):
        share = nextafter(share, 0.0)
    return share


def _bought_scores(
    curator: Curator,
    mechanism: str,
    query: Query,
    price: tuple[float, float],
    n_chosen: int,
) -> tuple[NDArray[np.int64], int]:
    """Pay for the choice of some candidates and return their scores in steps.

    The second value is the sensitivity in steps, 0 if nothing had to be paid because no
    record can change the scores.
    """
    epsilon, rho = price
    sensitivity = public_sensitivity(query, curator.public, inf)
    if sensitivity == 0:
        return np.ravel(curator._public_answer(query)), 0
    grid = Grid.for_query(query, curator.public, inf)
    entry = curator._enter(
        LedgerEntry(
            mechanism=mechanism,
            query=str(query),
            sensitivity=sensitivity,
            norm="Linf",
            scale=nan,
            epsilon=epsilon,
            rho=rho,
            parts=((_share(epsilon, n_chosen), n_chosen),),
            bought=f"the choice of {n_chosen}",
        )
    )
    scores = np.ravel(grid.to_steps(curator._evaluate(query, entry, mechanism)))
    limit = int(LARGEST_STEPS)
    return np.clip(scores, -limit, limit), int(grid.sensitivity)
