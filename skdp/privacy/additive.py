"""Noise added to an answer: what stands behind `Curator.laplace` and `.gaussian`."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING

from numpy.typing import NDArray

from skdp.queries import PublicFacts, Query

from .accounting import base_epsilon, zcdp_from_pure
from .arguments import whole_number
from .budget import check_budget
from .grid import Grid, public_sensitivity, refuse_large_scale
from .noise import discrete_gaussian, discrete_laplace
from .purchases import LedgerEntry

if TYPE_CHECKING:
    from .curator import Curator

__all__ = ["gaussian", "laplace"]


def laplace(
    curator: Curator, query: Query, epsilon: float, sample_size: int | None = None
) -> NDArray:
    """Answer with discrete Laplace noise; see `Curator.laplace`."""
    check_budget(epsilon, 0.0)
    epsilon = float(epsilon)
    n = curator.public.n_records
    size = whole_number(n if sample_size is None else sample_size, "sample_size", n)
    public = PublicFacts(size, curator.public.schema)
    if public_sensitivity(query, public, 1) == 0:
        return curator._public_answer(query, size)
    grid = Grid.for_query(query, public, 1)
    scale = Fraction(grid.sensitivity) / Fraction(base_epsilon(epsilon, size / n))
    refuse_large_scale(scale, f"epsilon = {epsilon}")
    entry = curator._enter(
        LedgerEntry(
            mechanism="laplace",
            query=str(query),
            sensitivity=query.sensitivity(public, 1),
            norm="L1",
            scale=float(scale) * grid.step,
            epsilon=epsilon,
            rho=zcdp_from_pure(epsilon),
            parts=((epsilon, 1),),
            bought="one answer" if size == n else f"one answer from {size} records",
        )
    )
    records = curator._sample(size)
    steps = grid.to_steps(curator._evaluate(query, entry, "laplace", records))
    noise = discrete_laplace(scale, steps.shape, curator._streams.noise)
    return grid.to_answer(steps + noise)


def gaussian(curator: Curator, query: Query, rho: float) -> NDArray:
    """Answer with discrete Gaussian noise; see `Curator.gaussian`."""
    rho = float(rho)
    if not (rho > 0 and isfinite(rho)):
        raise ValueError(f"rho must be positive and finite, got {rho!r}.")
    if public_sensitivity(query, curator.public, 2) == 0:
        return curator._public_answer(query)
    grid = Grid.for_query(query, curator.public, 2)
    variance = Fraction(grid.sensitivity) ** 2 / (2 * Fraction(rho))
    refuse_large_scale(Fraction(sqrt(variance)), f"rho = {rho}")
    entry = curator._enter(
        LedgerEntry(
            mechanism="gaussian",
            query=str(query),
            sensitivity=query.sensitivity(curator.public, 2),
            norm="L2",
            scale=sqrt(variance) * grid.step,
            epsilon=inf,
            rho=rho,
            bought="one answer",
        )
    )
    steps = grid.to_steps(curator._evaluate(query, entry, "gaussian"))
    noise = discrete_gaussian(variance, steps.shape, curator._streams.noise)
    return grid.to_answer(steps + noise)
