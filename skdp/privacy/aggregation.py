"""Sub-sample and aggregate: what stands behind the medians of a curator."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skdp.queries import Query
from skdp.stats.smooth_sensitivity import (
    largest_smoothness,
    smooth_sensitivity_of_median,
)

from .accounting import zcdp_from_pure
from .arguments import whole_number
from .budget import check_budget
from .grid import RESOLUTION, refuse_large_scale
from .noise import discrete_laplace
from .purchases import LedgerEntry

if TYPE_CHECKING:
    from skdp.records import BoundedMatrix, CountTable

    from .curator import Curator

__all__ = ["median", "noisy_median"]


def median(
    curator: Curator,
    query: Query,
    n_blocks: int,
    bounds: tuple[float, float],
    price: tuple[float, float],
) -> float:
    """Answer with a noisy median over blocks; see `Curator.median`."""
    n_blocks = _checked(curator, query, n_blocks, bounds, price)
    epsilon, delta, low, high = map(float, (*price, *bounds))
    # Half the delta: discrete noise has at most twice the excess mass of continuous.
    beta = largest_smoothness(epsilon, delta / 2)
    entry = curator._enter(
        LedgerEntry(
            mechanism="median",
            query=f"{query} on each of {n_blocks} blocks",
            sensitivity=nan,
            norm="smooth",
            scale=nan,
            epsilon=epsilon,
            rho=zcdp_from_pure(epsilon),
            parts=((epsilon, 1),),
            bought="one answer; noise by the smooth sensitivity",
            delta=delta,
        )
    )
    blocks = curator._records.partition(n_blocks, curator._streams.subsampling)
    noisy = noisy_median(curator, query, entry, blocks, (low, high), (epsilon, beta))
    return low + noisy * (high - low) / RESOLUTION


def noisy_median(
    curator: Curator,
    query: Query,
    entry: int,
    blocks: Sequence[CountTable | BoundedMatrix],
    bounds: tuple[float, float],
    noise: tuple[float, float],
) -> int:
    """Return the noisy median over blocks, paid for by a ledger entry.

    Parameters
    ----------
    curator : Curator
        Evaluates the query and draws the noise.
    query : Query
        A scalar query.
    entry : int
        Index of the ledger entry that pays for this answer.
    blocks : sequence of CountTable or BoundedMatrix
        An odd number of blocks, dealt out without a look at the records.
    bounds : tuple of (float, float)
        Public bounds of the values.
    noise : tuple of (float, float)
        Epsilon of the answer, and the smoothness beta of its sensitivity.

    Returns
    -------
    int
        Steps above the lower bound, from 0 to `RESOLUTION`.
    """
    epsilon, beta = noise
    values = [float(curator._evaluate(query, entry, "median", b)) for b in blocks]
    steps = np.sort(_to_steps(query.unit * np.array(values), *bounds))
    smooth = smooth_sensitivity_of_median(steps, 0, RESOLUTION, beta)
    scale = Fraction(float(np.nextafter(2 * smooth, np.inf))) / Fraction(epsilon)
    rng = curator._streams.noise
    drawn = int(discrete_laplace(scale, (), rng, secret_scale=True))
    return min(max(int(steps[len(blocks) // 2]) + drawn, 0), RESOLUTION)


def _to_steps(values: NDArray, low: float, high: float) -> NDArray[np.int64]:
    """Clip to the bounds, then round to whole steps, before anything is sorted."""
    shares = (np.clip(np.nan_to_num(values, nan=low), low, high) - low) / (high - low)
    return np.floor(shares * RESOLUTION + 0.5).astype(np.int64)


def _checked(
    curator: Curator,
    query: Query,
    n_blocks: int,
    bounds: tuple[float, float],
    price: tuple[float, float],
) -> int:
    """Refuse what cannot be asked, before anything is spent."""
    check_budget(*price)
    price = (float(price[0]), float(price[1]))
    if price[1] == 0:
        raise ValueError("The median has no pure form: give it a delta > 0.")
    low, high = bounds
    if not (isfinite(low) and isfinite(high) and low < high and isfinite(high - low)):
        raise ValueError(f"Bounds must be finite and low < high, got {bounds}.")
    query.check(curator.public)
    if query.shape(curator.public) != ():
        raise ValueError(f"The median is one of scalars; {query} is none.")
    n_blocks = whole_number(n_blocks, "n_blocks", curator.public.n_records)
    if n_blocks % 2 == 0:
        raise ValueError(f"n_blocks must be odd, got {n_blocks}.")
    refuse_large_scale(2 * RESOLUTION / Fraction(price[0]), f"epsilon = {price[0]}")
    return n_blocks
