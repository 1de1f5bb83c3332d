"""How a query sees the rows of a bounded matrix: as integers on a public grid.

A row is clipped, scaled and rounded on its own, before anything is summed. So sums over
records are exact integers, and the sensitivity proved for rows in a cube or a ball
holds for the rounded rows without any slack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite, log2

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LARGEST_SUM", "MOST_BITS", "RowGrid", "fitting_bits"]

#: Steps of 2^-16 are finer than any noise of a few million records.
MOST_BITS = 16

#: Sums of products stay below 2^50 steps: exact in floating point, in any order.
LARGEST_SUM = 2.0**50

#: Lengths whose squares are normal finite numbers.
SMALLEST_LENGTH, LARGEST_LENGTH = 1e-150, 1e150

_TRANSFORM_BITS = 24


@dataclass(frozen=True, eq=False)
class RowGrid:
    """Clip rows of the cube [-1, 1]^d, and round them to multiples of 2^-bits.

    Parameters
    ----------
    bits : int, default=16
        Binary places of the rounded coordinates.
    radius : float, optional
        Rows of a larger L2 norm are scaled down to it.
    limits : array-like of shape (d,), optional
        In (0, 1]. Column j is clipped to +-limits[j] and divided by it, as if its
        bounds were that much narrower.
    transform : array-like of shape (d, k), optional
        Rows x become x A, are scaled down into the ball of `radius`, and divided by it.
        A is rounded to 24 bits, see the attribute.

    Attributes
    ----------
    unit : float
        A step: 2^-bits.
    key : tuple
        Equal for grids that see rows alike.

    Examples
    --------
    >>> RowGrid(bits=2).round(np.array([[0.3, -1.0]]))  # in steps of 1/4
    array([[ 1., -4.]])
    >>> RowGrid(bits=2, radius=1.0).round(np.array([[1.0, -1.0]]))
    array([[ 2., -2.]])
    """

    bits: int = MOST_BITS
    radius: float | None = None
    limits: ArrayLike | None = None
    transform: ArrayLike | None = None
    key: tuple[object, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"bits must lie between 1 and {MOST_BITS}.")
        if self.radius is not None and not (
            SMALLEST_LENGTH <= self.radius <= LARGEST_LENGTH
        ):
            raise ValueError(
                f"radius must be positive and finite, and so must its square: between "
                f"{SMALLEST_LENGTH:g} and {LARGEST_LENGTH:g}, got {self.radius}."
            )
        if self.transform is not None and (
            self.radius is None or self.limits is not None
        ):
            raise ValueError("A transform needs a radius, and excludes limits.")
        for name, array in (
            ("limits", _checked_limits(self.limits)),
            ("transform", _dyadic(self.transform)),
        ):
            object.__setattr__(self, name, array)
        key = (self.bits, self.radius, _bytes(self.limits), _bytes(self.transform))
        object.__setattr__(self, "key", key)

    @property
    def unit(self) -> float:
        """A step of the grid."""
        return 2.0**-self.bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowGrid) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def width(self, n_columns: int) -> int:
        """Return the number of coordinates of a rounded row.

        Parameters
        ----------
        n_columns : int
            Columns of the matrix.

        Returns
        -------
        int
            `n_columns`, or the columns of the transform.
        """
        if self.transform is None:
            return n_columns
        return int(np.shape(self.transform)[1])

    def largest_norm2(self, n_columns: int) -> float:
        """Bound the squared L2 norm of a row, in units of 1, not of a step.

        Parameters
        ----------
        n_columns : int
            Columns of the matrix.

        Returns
        -------
        float
            The number of columns, or less where there is a radius.
        """
        if self.transform is not None:
            return 1.0
        radius = inf if self.radius is None else self.radius
        return min(float(n_columns), radius**2)

    def round(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Clip and round rows; each result depends on its own row alone.

        Parameters
        ----------
        rows : ndarray of shape (n, d)
            In [-1, 1]. Overwritten.

        Returns
        -------
        ndarray of float64, shape (n, width)
            Whole numbers, in steps.
        """
        one = 2.0**self.bits
        rows *= one if self.limits is None else one / np.asarray(self.limits)
        np.rint(rows, out=rows)
        np.clip(rows, -one, one, out=rows)
        if self.radius is None:
            return rows
        if self.transform is not None:
            # Whole numbers times dyadic ones: exact, whatever the order of the sums.
            rows = rows @ np.asarray(self.transform)
            shrinkage = self._shrinkage(rows, self.radius) / self.radius
            return np.trunc(rows * shrinkage[:, None])
        if self.radius**2 < rows.shape[1]:
            shrinkage = self._shrinkage(rows, self.radius)
            outside = np.flatnonzero(shrinkage < 1 - 2.0**-47)
            rows[outside] = np.trunc(rows[outside] * shrinkage[outside, None])
        return rows

    def _shrinkage(
        self, rows: NDArray[np.float64], radius: float
    ) -> NDArray[np.float64]:
        """Return by what a row is multiplied to lie in the ball, rounding included."""
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        with np.errstate(divide="ignore"):
            ratios = radius * 2.0**self.bits / norms
        return np.minimum(1.0, ratios) * (1 - 2.0**-48)


def fitting_bits(n_records: int, noise_in_units: float = 1.0) -> int:
    """Choose the finest grid on which sums and noise stay exact. From public facts.

    Parameters
    ----------
    n_records : int
        Number of records.
    noise_in_units : float, default=1.0
        The largest standard deviation of noise to come, in units of a sum of products.

    Returns
    -------
    int
        At least 1, at most `MOST_BITS`.

    Examples
    --------
    >>> fitting_bits(10_000), fitting_bits(10**8), fitting_bits(10**4, 1e6)
    (16, 11, 10)
    """
    if not isfinite(noise_in_units):
        return 1
    for_sums = (log2(LARGEST_SUM) - log2(n_records)) / 2
    for_noise = (40 - log2(max(noise_in_units, 1.0))) / 2
    return max(1, min(MOST_BITS, int(for_sums), int(for_noise)))


def _checked_limits(limits: ArrayLike | None) -> NDArray[np.float64] | None:
    if limits is None:
        return None
    array = np.array(limits, dtype=np.float64)
    if array.ndim != 1 or not ((array > 0) & (array <= 1)).all():
        raise ValueError("limits must be a number in (0, 1] for each column.")
    array.setflags(write=False)
    return array


def _dyadic(transform: ArrayLike | None) -> NDArray[np.float64] | None:
    """Round a matrix to 24 bits of its largest entry."""
    if transform is None:
        return None
    array = np.array(transform, dtype=np.float64)
    if array.ndim != 2 or not np.isfinite(array).all() or not array.any():
        raise ValueError("transform must be a finite matrix that is not all zeros.")
    step = 2.0 ** (np.frexp(np.abs(array).max())[1] - _TRANSFORM_BITS)
    array = np.rint(array / step) * step
    array.setflags(write=False)
    return array


def _bytes(array: ArrayLike | None) -> bytes | None:
    return None if array is None else np.asarray(array).tobytes()
