"""Sub-samples and blocks of records that are known by their counts.

Drawn by shuffling integers, which is exact: the faster hypergeometric sampler works in
floating point and never draws some of the rarest sub-samples, and then amplification
by sub-sampling would have no pure form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skdp.records.checks import is_whole

__all__ = ["deal_counts", "draw_counts"]

Counts = NDArray[np.int64]

_MOST_RECORDS = 10**9  # they are listed one by one


def draw_counts(counts: Counts, size: int, rng: np.random.Generator) -> Counts:
    """Draw records without replacement, every subset equally likely.

    Parameters
    ----------
    counts : ndarray of shape (m,), int64
        Number of records of each kind.
    size : int
        Number to draw, from 0 to all.
    rng : numpy.random.Generator
        Draws the records.

    Returns
    -------
    ndarray of shape (m,), int64
        Number drawn of each kind.

    Raises
    ------
    ValueError
        If `size` is out of range, or there are 10^9 records or more.
    """
    n_records = _checked_total(counts)
    if not is_whole(size) or not 0 <= size <= n_records:
        raise ValueError(
            f"size must be an integer from 0 to n_records = {n_records}, not {size!r}."
        )
    drawn = rng.multivariate_hypergeometric(counts, int(size), method="count")
    return drawn.astype(np.int64, copy=False)


def deal_counts(
    counts: Counts, n_blocks: int, rng: np.random.Generator
) -> list[Counts]:
    """Deal all records out into blocks of nearly equal size.

    Parameters
    ----------
    counts : ndarray of shape (m,), int64
        Number of records of each kind.
    n_blocks : int
        Number of blocks, from 1 to the number of records.
    rng : numpy.random.Generator
        Shuffles the records.

    Returns
    -------
    list of ndarray of shape (m,), int64
        Number of each kind in each block; the first blocks hold one record more if
        `n_blocks` does not divide their number.

    Raises
    ------
    ValueError
        If `n_blocks` is out of range, or there are 10^9 records or more.
    """
    n_records = _checked_total(counts)
    if not is_whole(n_blocks) or not 1 <= n_blocks <= n_records:
        raise ValueError(
            f"n_blocks must be from 1 to n_records = {n_records}, not {n_blocks!r}."
        )
    kinds = np.repeat(np.arange(len(counts)), counts)
    rng.shuffle(kinds)
    blocks = np.array_split(kinds, n_blocks)
    return [np.bincount(block, minlength=len(counts)) for block in blocks]


def _checked_total(counts: Counts) -> int:
    n_records = int(counts.sum())
    if n_records >= _MOST_RECORDS:
        raise ValueError(
            f"Sub-samples can be drawn of fewer than {_MOST_RECORDS} records, not of "
            f"{n_records}. Use all records instead."
        )
    return n_records
