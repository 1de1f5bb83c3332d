"""The largest noise that a round of MWEM may need, known before the first one."""

from __future__ import annotations

from math import isfinite

import numpy as np

from skdp.graphical import Identity
from skdp.graphical.single_queries import row_ranges
from skdp.pgm.workload import Workload
from skdp.privacy.grid import RESOLUTION
from skdp.queries import LinearMarginal, PublicFacts

__all__ = ["most_steps"]


def most_steps(workload: Workload, public: PublicFacts, candidates: str) -> float:
    """Bound the sensitivities of all candidates, in steps of their grids.

    That of a table of counts is 2; that of a row of integers the largest difference of
    two entries. Others have a grid of 2^20 to 2^21 steps, and some more for what
    rounding adds: a row's evaluation error is proportional to its largest entry.

    Parameters
    ----------
    workload : Workload
        What may be asked.
    public : PublicFacts
        Number of records and schema.
    candidates : {"queries", "marginals"}
        What a round chooses among.

    Returns
    -------
    float
        For each candidate alone; at least 2.
    """
    if candidates == "marginals":
        return 2.0
    queries = zip(workload.cliques, workload.linear(public.schema), strict=True)
    return max(
        (_steps(LinearMarginal(clique, query), public) for clique, query in queries),
        default=2.0,
    )


def _steps(part: LinearMarginal, public: PublicFacts) -> float:
    if isinstance(part.query, Identity):
        return 2.0
    low, high = row_ranges(part.query)
    length, largest = high - low, np.maximum(np.abs(low), np.abs(high))
    if part.integral:
        return max(2.0, float(length.max()))
    relative = float((largest[length > 0] / length[length > 0]).max())
    error = part.evaluation_error(public) / float(largest.max()) * relative
    steps = 2 * RESOLUTION * (1 + 2 * error) + 4
    return steps if isfinite(steps) else 2.0  # `QueryErrors` refuses what overflows
