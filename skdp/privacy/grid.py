"""The public grid on which every noisy answer lives.

Floating-point noise leaks through its low bits. So answers are first rounded to
whole steps of a public grid, and the noise is an integer number of steps. Rounding
costs sensitivity: with step g, two answers that differ by Delta differ by at most
floor(Delta/g) + 1 steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, frexp, inf, isfinite

import numpy as np
from numpy.typing import NDArray

from skdp.queries import PublicFacts, Query

from .noise import MAX_SCALE

__all__ = [
    "LARGEST_STEPS",
    "MARGIN_SENSITIVITY",
    "Grid",
    "margin_in_steps",
    "public_sensitivity",
    "refuse_large_scale",
]

#: A sensitivity is split into about this many steps, so that rounding adds less
#: than two millionths to it.
RESOLUTION = 2**20

#: Answers beyond this many steps are clipped.
LARGEST_STEPS = 2.0**61

#: Sensitivity, in steps, of every margin that `margin_in_steps` returns.
MARGIN_SENSITIVITY = RESOLUTION + 1


def public_sensitivity(query: Query, public: PublicFacts, ord: float) -> float:
    """Return a query's sensitivity, refusing what no noise can hide.

    Parameters
    ----------
    query : Query
        The question.
    public : PublicFacts
        Number of records and schema.
    ord : {1, 2, inf}
        Norm of the change.

    Returns
    -------
    float
        The sensitivity, finite and not negative.

    Raises
    ------
    TypeError
        If `query` is no query.
    SchemaError
        If the schema lacks a column of the query.
    ValueError
        If the sensitivity is infinite or not a number.
    """
    if not isinstance(query, Query):
        raise TypeError(
            "Expected a query, for instance skdp.queries.Marginal('age'), got "
            f"{query!r}."
        )
    query.check(public)
    sensitivity = query.sensitivity(public, ord)
    if not isfinite(sensitivity) or sensitivity < 0:
        raise ValueError(
            f"{query} has sensitivity {sensitivity} at {public.n_records} records: no "
            "noise makes it private. Ask a query of bounded sensitivity instead."
        )
    return sensitivity


def refuse_large_scale(scale: Fraction, price: str) -> None:
    """Refuse noise that would overflow its integers, before anything is spent.

    Parameters
    ----------
    scale : Fraction
        Scale of the noise, in steps.
    price : str
        The price that asks for so much noise, in words.

    Raises
    ------
    ValueError
        If the scale is above 2^50 steps.
    """
    if scale > MAX_SCALE:
        raise ValueError(
            f"{price} is too small: the scale of the noise would be more than 2^50 "
            "grid steps. This answer cost nothing."
        )


@dataclass(frozen=True)
class Grid:
    """A grid for one query's answer.

    Parameters
    ----------
    step : float
        Width of a step, in units of the answer: a power of 2; 1 for counts.
    sensitivity : float
        Bound on the change of a rounded answer, in steps; a whole number but for L2.
    integral : bool
        Whether answers are integers and stay so.
    """

    step: float
    sensitivity: float
    integral: bool

    @classmethod
    def for_query(cls, query: Query, public: PublicFacts, ord: float) -> Grid:
        """Choose the grid from public facts.

        Parameters
        ----------
        query : Query
            The question; its sensitivity must not be 0.
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}
            Norm of the sensitivity.

        Returns
        -------
        Grid
            The grid.

        Raises
        ------
        ValueError
            If the sensitivity is too small for steps, also beside the error of the
            answer.
        """
        delta = public_sensitivity(query, public, ord)
        if query.integral:
            # A square root is made larger by more than its rounding, and than that of
            # rows at a radius; a whole number that came out a little short is what it
            # was meant to be.
            steps = delta / query.unit
            whole = max(1.0, floor(steps * (1 + 2.0**-40)))
            largest = steps * (1 + 2.0**-40) if ord == 2 else whole
            return cls(query.unit, largest, True)
        n_affected = query.n_affected(public)
        # The norm of a vector that is 1 in every affected coordinate.
        ones = n_affected ** (1 / ord)
        step = 2.0 ** (frexp(delta / ones)[1] - 1) / RESOLUTION
        error = 2 * ones * query.evaluation_error(public)
        if delta / ones == 0 or step == 0 or not isfinite((delta + error) / step):
            raise ValueError(
                f"{query} has sensitivity {delta:.3g}, with {error:.3g} for rounding: "
                "too small for noise in double precision. Scale the query up."
            )
        # One step a coordinate for rounding, one for the addition in `to_steps`.
        return cls(step, ceil((delta + error) / step + 2 * ones), False)

    def to_steps(self, answer: NDArray) -> NDArray[np.int64]:
        """Round an answer to whole steps, halves up; what is not a number counts as 0.

        Parameters
        ----------
        answer : ndarray
            In units of the answer; of an integral query, in steps already.

        Returns
        -------
        ndarray of int64
            In steps.
        """
        if self.integral:
            return np.asarray(answer, dtype=np.int64)
        # Beyond what 64 bits hold an error would depend on the records; a clip does not
        # move two answers apart, and infinities are clipped as what overflows.
        numbers = np.nan_to_num(np.asarray(answer), nan=0.0, posinf=inf, neginf=-inf)
        steps = np.clip(numbers / self.step, -LARGEST_STEPS, LARGEST_STEPS)
        return np.floor(steps + 0.5).astype(np.int64)

    def to_answer(self, steps: NDArray[np.int64]) -> NDArray:
        """Convert steps back to units of the answer.

        Parameters
        ----------
        steps : ndarray of int64
            In steps.

        Returns
        -------
        ndarray
            int64 for queries that count in ones, else float64.
        """
        counts = self.integral and self.step == 1
        return np.asarray(steps) if counts else np.asarray(steps) * self.step


def margin_in_steps(
    value: float, query: Query, threshold: float, public: PublicFacts
) -> int:
    """Return how far a score lies below a threshold, in units of its sensitivity.

    Scores of unlike sensitivity become comparable, and the sparse vector technique
    needs one noise scale for all of them. Exact rational arithmetic; the
    floating-point error of the score itself is part of the unit.

    Parameters
    ----------
    value : float
        The raw score: ``query`` evaluated on records of the given public facts, in its
        units.
    query : Query
        The scalar query.
    threshold : float
        Public threshold, in units of the score.
    public : PublicFacts
        Number of records and schema.

    Returns
    -------
    int
        (threshold - value)/sensitivity in steps of 1/2^20, rounded halves up. Replacing
        one record changes it by at most `MARGIN_SENSITIVITY`.
    """
    unit = public_sensitivity(query, public, 1) + 2 * query.evaluation_error(public)
    # An error for a value that is not finite would depend on the records.
    finite = value * query.unit if isfinite(value) else 0.0
    score, score_below = finite.as_integer_ratio()
    limit, limit_below = float(threshold).as_integer_ratio()
    width, width_below = float(np.nextafter(unit, inf)).as_integer_ratio()
    above = (limit * score_below - score * limit_below) * width_below * RESOLUTION
    below = limit_below * score_below * width
    return (2 * above + below) // (2 * below)
