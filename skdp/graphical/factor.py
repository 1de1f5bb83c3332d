"""A table over named columns, by its logarithm: what a model is a product of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Factor"]


@dataclass(frozen=True, eq=False)
class Factor:
    """A table of logarithms with one axis per column.

    Parameters
    ----------
    columns : tuple of str
        Different names, one per axis.
    log_values : ndarray of float64
        -inf where the factor is zero.

    Examples
    --------
    >>> factor = Factor(("a", "b"), np.log([[1.0, 2.0], [3.0, 4.0]]))
    >>> np.exp(factor.restrict({"a": 1}).log_values)
    array([3., 4.])
    >>> np.exp(factor.transpose(("b", "a")).log_values)
    array([[1., 3.],
           [2., 4.]])
    """

    columns: tuple[str, ...]
    log_values: NDArray[np.float64]

    @property
    def top(self) -> float:
        """Largest logarithm; 0 if the factor is zero everywhere."""
        top = float(self.log_values.max())
        return top if top > -np.inf else 0.0

    @property
    def spread(self) -> float:
        """Distance between the largest and the smallest finite logarithm."""
        finite = self.log_values[self.log_values > -np.inf]
        return float(finite.max() - finite.min()) if finite.size else 0.0

    def transpose(self, columns: tuple[str, ...]) -> Factor:
        """Return the factor with its axes in another order.

        Parameters
        ----------
        columns : tuple of str
            The same names.

        Returns
        -------
        Factor
            A view of the table.
        """
        axes = [self.columns.index(name) for name in columns]
        return Factor(columns, self.log_values.transpose(axes))

    def restrict(self, evidence: Mapping[str, int]) -> Factor:
        """Return the factor at given levels of some columns, without these axes.

        Parameters
        ----------
        evidence : mapping of str to int
            Codes of levels; columns that the factor lacks are passed over.

        Returns
        -------
        Factor
            A view of the table.
        """
        index = tuple(evidence.get(name, slice(None)) for name in self.columns)
        left = tuple(name for name in self.columns if name not in evidence)
        return Factor(left, np.asarray(self.log_values[index]))

    def at(self, codes: Mapping[str, NDArray[np.intp]], record_axis: str) -> Factor:
        """Return the factor at the levels of many records, along one new axis.

        Parameters
        ----------
        codes : mapping of str to ndarray of int, shape (n_records,)
            Codes of some columns; those that the factor lacks are passed over.
        record_axis : str
            Name of the new axis, which comes first; there is none if the factor has
            none of the columns.

        Returns
        -------
        Factor
            Without the columns of `codes`.
        """
        known = [name for name in self.columns if name in codes]
        if not known:
            return self
        left = tuple(name for name in self.columns if name not in codes)
        table = self.transpose((*known, *left)).log_values
        taken = table[tuple(codes[name] for name in known)]
        return Factor((record_axis, *left), taken)
