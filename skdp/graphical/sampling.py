"""Records drawn from a model, column by column, in the reverse order of elimination.

When a column was eliminated, the factors that held it gave its distribution conditional
on its neighbours. So records are drawn in groups that agree on these neighbours, either
independently or by rounding the expected counts of each group at random, which leaves
only the noise of less than one record per group and level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.factor import Factor
from skdp.graphical.inference import batches, plan_elimination
from skdp.graphical.sum_product import eliminate_columns

__all__ = [
    "Method",
    "Seed",
    "draw_column",
    "draw_records",
    "generator",
    "rounded_counts",
]

Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None
Method: TypeAlias = Literal["round", "iid"]


def generator(random_state: Seed) -> np.random.Generator:
    """Return the generator that a ``random_state`` stands for.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        A Generator is used as it is; a RandomState gives a seed, which advances it.

    Returns
    -------
    numpy.random.Generator
        The generator.
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(0, 2**63 - 1, dtype=np.int64))
    return np.random.default_rng(random_state)


def draw_records(
    factors: Sequence[Factor],
    domain: Domain,
    n_samples: int,
    method: Method,
    rng: np.random.Generator,
    max_cells: float,
) -> NDArray[np.intp]:
    """Draw records from a product of factors.

    Parameters
    ----------
    factors : sequence of Factor
        The model.
    domain : Domain
        All columns; those without a factor are uniform.
    n_samples : int
        Number of records.
    method : {"round", "iid"}
        Rounded expected counts, or independent draws.
    rng : numpy.random.Generator
        The randomness.
    max_cells : float
        Largest table that may be stored.

    Returns
    -------
    ndarray of int, shape (n_samples, n_columns)
        Codes, in the order of the domain. With "round", too, every single record has
        the distribution of the model.

    Raises
    ------
    ModelTooLargeError
        If a larger table would be needed; nothing was allocated.
    """
    sizes = dict(zip(domain.names, domain.sizes, strict=True))
    plan = plan_elimination([factor.columns for factor in factors], (), sizes)
    plan.refuse_beyond(max_cells, sizes)
    found = eliminate_columns(factors, plan)
    codes = np.zeros((len(domain), n_samples), dtype=np.intp)
    held = {s.column: [found[k] for k in (*s.left, *s.right)] for s in plan.steps}
    alone = [name for name in domain.names if name not in held]
    for name in (*reversed(held), *alone):
        given = held.get(name, [])
        drawn = draw_column(name, given, codes, domain, method, rng)
        codes[domain.axis(name)] = drawn
    return codes.T


def draw_column(
    column: str,
    factors: Sequence[Factor],
    codes: NDArray[np.intp],
    domain: Domain,
    method: Method,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw one column of all records, given the columns drawn before.

    Parameters
    ----------
    column : str
        The column.
    factors : sequence of Factor
        Their product is proportional to its distribution, given the other columns.
    codes : ndarray of int, shape (n_columns, n_samples)
        Codes of those other columns, in the order of the domain.
    domain : Domain
        All columns.
    method : {"round", "iid"}
        Rounded expected counts, or independent draws.
    rng : numpy.random.Generator
        The randomness.

    Returns
    -------
    ndarray of int, shape (n_samples,)
        Codes of the column.
    """
    known = domain.sort(c for f in factors for c in f.columns if c != column)
    group, first = _groups([codes[domain.axis(c)] for c in known], domain.shape(known))
    if not known:
        group, first = np.zeros(codes.shape[1], dtype=np.intp), np.zeros(1, np.intp)
    order = rng.permutation(codes.shape[1])
    order = order[np.argsort(group[order], kind="stable")]
    sizes = np.bincount(group, minlength=len(first))
    n_levels = domain.size(column)
    drawn = np.empty(codes.shape[1], dtype=np.intp)
    start = 0
    for part in batches(len(first), n_levels):
        records = first[part]
        given = {c: codes[domain.axis(c)][records] for c in known}
        p = _conditional(column, factors, given, (len(records), n_levels))
        counts = _COUNTS[method](sizes[part], p, rng)
        levels = np.tile(np.arange(n_levels), len(records))
        stop = start + int(sizes[part].sum())
        drawn[order[start:stop]] = np.repeat(levels, counts.ravel())
        start = stop
    return drawn


def _groups(
    columns: list[NDArray[np.intp]], shape: tuple[int, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the groups of records that agree on some columns.

    Returns each record's group, and a record of each group.
    """
    keys = np.zeros(columns[0].shape if columns else 0, dtype=np.intp)
    for codes, size in zip(columns, shape, strict=True):
        # A factor over these columns is in memory, so that this cannot overflow.
        keys = keys * size + codes
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return group, first


def _conditional(
    column: str,
    factors: Sequence[Factor],
    given: dict[str, NDArray[np.intp]],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """Return a distribution over the levels of a column for each group."""
    total = np.zeros(shape)
    for factor in factors:
        total += factor.at(given, "").log_values
    total -= total.max(axis=1, keepdims=True)
    p = np.exp(total, out=total)
    p /= p.sum(axis=1, keepdims=True)
    return p


def rounded_counts(
    sizes: NDArray[np.intp], p: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Round expected counts up or down at random, without bias and keeping sums.

    Systematic: each group's cumulated expectations are cut at whole numbers plus one
    uniform offset.

    Parameters
    ----------
    sizes : ndarray of int, shape (n_groups,)
        Records of each group.
    p : ndarray, shape (n_groups, n_levels)
        A distribution for each.
    rng : numpy.random.Generator
        The randomness.

    Returns
    -------
    ndarray of int, shape (n_groups, n_levels)
        Counts that sum to the sizes.
    """
    cumulated = np.cumsum(p, axis=1)
    cumulated *= sizes[:, None] / cumulated[:, -1:]
    cumulated += rng.random((len(p), 1))
    ends = np.floor(cumulated).astype(np.intp)
    ends[:, -1] = sizes
    np.minimum(ends, sizes[:, None], out=ends)
    return np.diff(ends, axis=1, prepend=0)


def _independent(
    sizes: NDArray[np.intp], p: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.intp]:
    return np.asarray(rng.multinomial(sizes, p), dtype=np.intp)


_COUNTS = {"round": rounded_counts, "iid": _independent}
