"""What every model of records can be asked, whatever it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.sampling import Method, Seed

__all__ = ["Codes", "Model"]

#: Levels of some columns: a code for all records, or an array with one code for each.
Codes = Mapping[str, int | NDArray[np.integer[Any]]]


class Model(Protocol):
    """A distribution of records over named columns, in counts.

    What a model cannot do raises a ValueError that says so.
    """

    @property
    def domain(self) -> Domain:
        """Columns and their numbers of levels."""

    @property
    def n_records(self) -> float:
        """What every marginal sums to."""

    def marginal(self, columns: Iterable[str]) -> NDArray[np.float64]:
        """Return the expected counts over some columns."""

    def marginals(
        self, cliques: Iterable[Iterable[str]]
    ) -> dict[tuple[str, ...], NDArray[np.float64]]:
        """Return many marginals, which costs less than one by one."""

    def conditional(
        self, columns: Iterable[str], evidence: Codes
    ) -> NDArray[np.float64]:
        """Return the distribution of some columns, given levels of others."""

    def query(self, weights: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Answer products of per-column queries."""

    def log_probability(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each record."""

    def sample(
        self,
        n_samples: int | None = None,
        *,
        method: Method = "round",
        random_state: Seed = None,
    ) -> NDArray[np.intp]:
        """Draw records."""
