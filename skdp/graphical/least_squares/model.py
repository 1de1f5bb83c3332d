"""Tables as a model: they answer what lies inside one of them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.graphical.arguments import checked_columns, checked_weights
from skdp.graphical.domain import Domain
from skdp.graphical.least_squares.estimates import Estimate
from skdp.graphical.model import Codes, Model
from skdp.graphical.sampling import Method, Seed

__all__ = ["LeastSquaresModel"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeastSquaresModel(Model):
    """Unbiased estimates of some tables, which are no distribution.

    Counts may be negative. Only marginals inside a table are known.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    n_records : float
        What every table sums to.
    estimates : tuple of Estimate
        The tables.
    """

    domain: Domain
    n_records: float
    estimates: tuple[Estimate, ...]

    def marginal(self, columns: Iterable[str]) -> Array:
        """Return the counts over some columns that one of the tables has.

        Parameters
        ----------
        columns : iterable of str
            In the order of the result's axes.

        Returns
        -------
        ndarray, one axis of length n_levels per column
            The mean of what all such tables say, weighted by inverse variances.

        Raises
        ------
        ValueError
            If a column is unknown or named twice, or no table has them all.
        """
        columns = checked_columns(self.domain, columns)
        shape = self.domain.shape(columns)
        varying = [name for name in columns if self.domain.size(name) > 1]
        if not varying:
            return np.full(shape, float(self.n_records))
        known = [e for e in self.estimates if set(varying) <= set(e.columns)]
        if not known:
            self._refuse(f"counts over {columns}, which no measured table holds")
        weights = [1.0 / estimate.variance(varying) for estimate in known]
        tables = [estimate.marginal(varying) for estimate in known]
        mean = sum(w * t for w, t in zip(weights, tables, strict=True)) / sum(weights)
        return np.asarray(mean).reshape(shape)

    def query(self, weights: Mapping[str, ArrayLike]) -> Array:
        """Answer products of per-column queries on columns that one of the tables has.

        See `Model.query`.
        """
        rows = {n: checked_weights(self.domain, n, w) for n, w in weights.items()}
        table = self.marginal(tuple(rows))
        for matrix in rows.values():
            # The first axis is summed out, and its answers become the last.
            table = np.tensordot(table, matrix, axes=(0, 1))
        asked = [k for w in weights.values() for k in np.shape(w)[:-1]]
        return table.reshape(asked)

    def conditional(self, columns: Iterable[str], evidence: Codes) -> Array:
        """Refuse: there is no distribution."""
        self._refuse("conditional distributions")

    def log_probability(self, codes: ArrayLike) -> Array:
        """Refuse: there is no distribution."""
        self._refuse("probabilities of records")

    def sample(
        self,
        n_samples: int | None = None,
        *,
        method: Method = "round",
        random_state: Seed = None,
    ) -> NDArray[np.intp]:
        """Refuse: there is no distribution."""
        self._refuse("samples")

    @property
    def entropy(self) -> float:
        """Refuse: there is no distribution."""
        self._refuse("an entropy")

    def _refuse(self, what: str) -> Never:
        raise ValueError(
            f"Least squares gives no distribution, and knows no {what}. "
            "Use inference='graphical_model'."
        )
