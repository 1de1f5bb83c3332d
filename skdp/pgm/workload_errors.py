"""How far a model's answers to a workload are off; not private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skdp.graphical import LinearQuery

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WorkloadErrors", "clique_errors", "tables_of"]

#: Answers below this share of the records count as so large in relative errors.
_FLOOR = 1e-3

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WorkloadErrors:
    """Errors per set of columns; the properties are means and maxima over them.

    Means over sets of columns are weighted as the workload says. Relative errors are
    taken of answers of at least a thousandth of the records; smaller ones count as if
    they were that large, so that rare cells do not drown the rest.

    Parameters
    ----------
    cliques : tuple of tuple of str
        The k sets of columns.
    weights : tuple of float
        Their weights.
    mean_absolutes, max_absolutes : ndarray of shape (k,)
        Over the answers of each, in records.
    mean_relatives, max_relatives : ndarray of shape (k,)
        The same as shares of the true answers.
    total_variations : ndarray of shape (k,)
        Half the L1 distance of the tables of counts (not of the answers), as a share of
        the records.
    """

    cliques: tuple[tuple[str, ...], ...]
    weights: tuple[float, ...]
    mean_absolutes: Array
    max_absolutes: Array
    mean_relatives: Array
    max_relatives: Array
    total_variations: Array

    @property
    def mean_absolute(self) -> float:
        """Mean absolute error, in records."""
        return self._mean(self.mean_absolutes)

    @property
    def max_absolute(self) -> float:
        """Largest absolute error, in records."""
        return float(self.max_absolutes.max())

    @property
    def mean_relative(self) -> float:
        """Mean relative error."""
        return self._mean(self.mean_relatives)

    @property
    def max_relative(self) -> float:
        """Largest relative error."""
        return float(self.max_relatives.max())

    @property
    def total_variation(self) -> float:
        """Mean total variation distance of the tables."""
        return self._mean(self.total_variations)

    @property
    def by_order(self) -> dict[int, WorkloadErrors]:
        """The errors of sets of one, two ... columns by themselves."""
        orders = np.array([len(columns) for columns in self.cliques])
        return {int(k): self._only(orders == k) for k in np.unique(orders)}

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with a row per set of columns.

        Returns
        -------
        DataFrame
            Indexed by the columns' names, joined by " x ".
        """
        import pandas as pd

        names = [" x ".join(columns) for columns in self.cliques]
        columns = {
            "weight": self.weights,
            "mean_absolute": self.mean_absolutes,
            "max_absolute": self.max_absolutes,
            "mean_relative": self.mean_relatives,
            "max_relative": self.max_relatives,
            "total_variation": self.total_variations,
        }
        return pd.DataFrame(columns, index=pd.Index(names, name="columns"))

    def __repr__(self) -> str:
        return (
            f"WorkloadErrors({len(self.cliques)} sets of columns: mean absolute "
            f"{self.mean_absolute:.4g}, mean relative {self.mean_relative:.4g}, total "
            f"variation {self.total_variation:.4g})"
        )

    def _mean(self, values: Array) -> float:
        return float(np.average(values, weights=self.weights))

    def _only(self, kept: NDArray[np.bool_]) -> WorkloadErrors:
        places = np.flatnonzero(kept)
        return WorkloadErrors(
            tuple(self.cliques[k] for k in places),
            tuple(self.weights[k] for k in places),
            self.mean_absolutes[kept],
            self.max_absolutes[kept],
            self.mean_relatives[kept],
            self.max_relatives[kept],
            self.total_variations[kept],
        )


def tables_of(model: Any, cliques: Sequence[tuple[str, ...]]) -> list[Array]:
    """Return some marginals of whatever has them.

    Parameters
    ----------
    model : PGMEstimator, Model or CountTable
        The model of an estimator is asked for all at once.
    cliques : sequence of tuple of str
        The sets of columns.

    Returns
    -------
    list of ndarray
        In records.
    """
    model = getattr(model, "model_", model)
    if hasattr(model, "marginals"):
        found = model.marginals(cliques)
        return [found[columns] for columns in cliques]
    return [np.asarray(model.marginal(c), dtype=np.float64) for c in cliques]


def clique_errors(
    estimated: Array, true: Array, query: LinearQuery | None
) -> tuple[float, float, float, float, float]:
    """Compare two tables by the answers that they give.

    Parameters
    ----------
    estimated, true : ndarray
        Counts over the same columns.
    query : LinearQuery or None
        What is asked of them; None for the counts.

    Returns
    -------
    tuple of float
        Mean and largest absolute error, mean and largest relative error, and total
        variation, as in `WorkloadErrors`.
    """
    n_records = true.sum()
    difference, truth = (estimated - true).ravel(), true.ravel()
    variation = float(np.abs(difference).sum() / n_records / 2)
    if query is not None:
        difference, truth = query.dot(difference), query.dot(truth)
    absolute = np.abs(difference)
    relative = absolute / np.maximum(np.abs(truth), _FLOOR * n_records)
    return (
        float(absolute.mean()),
        float(absolute.max()),
        float(relative.mean()),
        float(relative.max()),
        variation,
    )
