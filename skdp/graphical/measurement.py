"""A noisy answer about one marginal: all that the estimation sees."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.linear_queries import Identity, LinearQuery, as_linear_query

__all__ = ["LinearMeasurement"]


@dataclass(frozen=True, eq=False)
class LinearMeasurement:
    """A noisy answer to linear queries on the marginal of some columns.

    Parameters
    ----------
    columns : tuple of str
        The columns of the marginal.
    answer : array-like
        In counts. Without `query`: the noisy marginal, with the shape of its table or
        flat in C order. With `query`: one number per row of it.
    sigma : float
        Standard deviation of the noise of each answer, in the units of the answer;
        public.
    query : LinearQuery, array-like, sparse matrix or None, default=None
        A matrix with one column per cell of the marginal, in C order of `columns`;
        None for the marginal itself.

    Raises
    ------
    ValueError
        If there is no column or a column twice, an answer is not finite, or sigma is
        not a positive number.

    Examples
    --------
    >>> LinearMeasurement(("sex",), [10.2, 19.1], sigma=1.5)
    LinearMeasurement(('sex',), 2 answers, sigma=1.5)
    """

    columns: tuple[str, ...]
    answer: NDArray[np.float64]
    sigma: float
    query: LinearQuery | None = None

    def __init__(
        self,
        columns: tuple[str, ...],
        answer: ArrayLike,
        sigma: float,
        query: Any = None,
    ) -> None:
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        if not names or len(set(names)) < len(names):
            raise ValueError(
                "A measurement needs at least one column and none of them twice; "
                f"its columns are {names}."
            )
        values = np.array(answer, dtype=np.float64)
        values.setflags(write=False)
        if not np.isfinite(values).all():
            raise ValueError(f"The answer about {names} must be finite.")
        if not (isinstance(sigma, Real) and 0.0 < float(sigma) < np.inf):
            raise ValueError(
                f"sigma of the measurement of {names} must be a positive number, not "
                f"{sigma!r}. For exact answers give a small one."
            )
        object.__setattr__(self, "columns", names)
        object.__setattr__(self, "answer", values)
        object.__setattr__(self, "sigma", float(sigma))
        linear = None if query is None else as_linear_query(query)
        object.__setattr__(self, "query", linear)

    def __repr__(self) -> str:
        n_answers = f"{self.answer.size} answers"
        return f"LinearMeasurement({self.columns}, {n_answers}, sigma={self.sigma:g})"

    def linear(self, domain: Domain) -> LinearQuery:
        """Return the query, checked against a domain.

        Parameters
        ----------
        domain : Domain
            Columns and their numbers of levels.

        Returns
        -------
        LinearQuery
            `Identity` where the marginal itself was measured.

        Raises
        ------
        ValueError
            If a column is unknown, or the sizes of answer, query and marginal do not
            agree.
        """
        shape = domain.shape(self.columns)
        n_cells = domain.n_cells(self.columns)
        query = self.query or Identity(n_cells)
        if query.shape[1] != n_cells:
            raise ValueError(
                f"The query on {self.columns} has {query.shape[1]} columns; the "
                f"marginal has {n_cells} cells (shape {shape})."
            )
        if self.answer.size != query.shape[0] or (
            self.query is None and self.answer.shape not in (shape, (n_cells,))
        ):
            raise ValueError(
                f"The answer about {self.columns} has shape {self.answer.shape}; "
                f"{query.shape[0]} numbers were expected (shape of the marginal: "
                f"{shape})."
            )
        return query
