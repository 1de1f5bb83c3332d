"""A Markov random field over named columns, and what can be asked of it.

The density of a record is the exponential of a sum of log-potentials, each a table
over a few columns. Everything is answered by variable elimination; the table over all
columns, which may have 10^19 cells, is never formed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import ModelTooLargeError
from skdp.graphical.arguments import (
    checked_codes,
    checked_columns,
    checked_evidence,
    checked_size,
    checked_weights,
)
from skdp.graphical.calibrated_tree import CalibratedTree, covering_tree
from skdp.graphical.conditioning import conditionals, normalised
from skdp.graphical.domain import Domain
from skdp.graphical.factor import Factor
from skdp.graphical.model import Codes, Model
from skdp.graphical.product_queries import weighted_sums
from skdp.graphical.sampling import Method, Seed, draw_records, generator
from skdp.graphical.size import MAX_MODEL_SIZE
from skdp.graphical.sum_product import connected, sum_out

__all__ = ["MarkovRandomField"]


def _largest(table: NDArray[np.float64]) -> float:
    return float(np.abs(table[np.isfinite(table)]).max(initial=0.0))


#: Sums of finite potentials stay below this.
_LARGEST = 1e300


@dataclass(frozen=True, eq=False)
class MarkovRandomField(Model):
    """A distribution of records, as a product of potentials.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    potentials : mapping of tuple of str to ndarray
        Log-potentials; the axes of an array are the columns of its key. -inf is a
        structural zero: these levels never meet. Columns without any potential are
        uniform.
    n_records : float
        Number of records; marginals and queries are in counts that add up to it.
    max_cells : float, default=1e8
        Largest table (8 bytes a cell) that an answer may need.

    Raises
    ------
    ValueError
        If a potential has the wrong shape, NaN or +inf, their sum overflows, or
        `n_records` is negative.

    Examples
    --------
    >>> domain = Domain(("smoker", "cough"), (2, 2))
    >>> table = np.log([[0.6, 0.2], [0.05, 0.15]])
    >>> model = MarkovRandomField(domain, {("smoker", "cough"): table}, 100)
    >>> model.marginal(["cough"]).round(6)
    array([65., 35.])
    >>> model.conditional(["smoker"], {"cough": 1}).round(3)
    array([0.571, 0.429])
    """

    domain: Domain
    potentials: Mapping[tuple[str, ...], NDArray[np.float64]]
    n_records: float
    max_cells: float = MAX_MODEL_SIZE / 10

    def __post_init__(self) -> None:
        checked = {
            tuple(columns): self._checked_potential(tuple(columns), table)
            for columns, table in self.potentials.items()
        }
        total = float(self.n_records)
        if not 0.0 <= total < np.inf:
            raise ValueError(f"n_records must be a number from 0 on, not {total}.")
        sizes = [_largest(table) for table in checked.values()]
        if not sum(sizes) < _LARGEST:
            raise ValueError("The potentials are so large that their sum overflows.")
        object.__setattr__(self, "n_records", total)
        object.__setattr__(self, "potentials", MappingProxyType(checked))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "potentials": dict(self.potentials)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        object.__setattr__(self, "potentials", MappingProxyType(state["potentials"]))

    def _checked_potential(
        self, columns: tuple[str, ...], table: ArrayLike
    ) -> NDArray[np.float64]:
        checked_columns(self.domain, columns)
        array = np.array(table, dtype=np.float64)
        if array.shape != self.domain.shape(columns):
            raise ValueError(
                f"The potential over {columns} must have the shape "
                f"{self.domain.shape(columns)}, not {array.shape}."
            )
        if not (array < np.inf).all():
            raise ValueError(f"The potential over {columns} holds NaN or +inf.")
        array.setflags(write=False)
        return array

    @cached_property
    def log_partition(self) -> float:
        """Logarithm of the sum of the unnormalised density over all records.

        Raises
        ------
        ValueError
            If structural zeros leave no record.
        """
        total = sum_out(self._factors, (), self._sizes, self.max_cells).log_values
        value = float(total) + self._log_levels_without_factor()
        if value == -np.inf:
            raise ValueError("The structural zeros of the model leave no record.")
        return value

    @cached_property
    def _factors(self) -> tuple[Factor, ...]:
        return tuple(Factor(c, table) for c, table in self.potentials.items())

    # Marginals and conditionals -------------------------------------------------

    def marginal(self, columns: Iterable[str]) -> NDArray[np.float64]:
        """Return the expected counts over some columns; see `Model.marginal`."""
        columns = checked_columns(self.domain, columns)
        return self.n_records * self._distribution(columns, {})

    def marginals(
        self, cliques: Iterable[Iterable[str]]
    ) -> dict[tuple[str, ...], NDArray[np.float64]]:
        """Return many marginals from two passes over the model; see `Model.marginals`.

        They share what they have in common (`skdp.graphical.calibrated_tree`).
        """
        asked = dict.fromkeys(checked_columns(self.domain, c) for c in cliques)
        tree = covering_tree(self.domain, self.potentials)
        if len(asked) < 2 or tree.n_cells > self.max_cells:
            return {columns: self.marginal(columns) for columns in asked}
        calibrated = CalibratedTree(
            self.domain, self.potentials, self.n_records, self.max_cells, tree
        )
        return {columns: self._marginal_by(calibrated, columns) for columns in asked}

    def _marginal_by(
        self, calibrated: CalibratedTree, columns: tuple[str, ...]
    ) -> NDArray[np.float64]:
        try:
            return calibrated.marginal(columns)
        except ModelTooLargeError:  # another order of elimination may need less
            return self.marginal(columns)

    def conditional(
        self, columns: Iterable[str], evidence: Codes
    ) -> NDArray[np.float64]:
        """Return a distribution, given other columns; see `Model.conditional`."""
        columns = checked_columns(self.domain, columns)
        if shared := set(columns) & set(evidence):
            raise ValueError(f"{sorted(shared)} cannot be asked for and given.")
        single, many = checked_evidence(self.domain, evidence)
        if not many:
            return self._distribution(columns, single)
        factors = [factor.restrict(single) for factor in self._factors]
        return conditionals(factors, columns, many, self._sizes, self.max_cells)

    def _distribution(
        self, columns: tuple[str, ...], evidence: Mapping[str, int]
    ) -> NDArray[np.float64]:
        _ = self.log_partition  # raises if there is no distribution
        factors = [factor.restrict(evidence) for factor in self._factors]
        if not evidence:
            factors = connected(factors, columns)
        left = sum_out(factors, columns, self._sizes, self.max_cells)
        return normalised(left, len(columns))

    # Other questions --------------------------------------------------------------

    def query(self, weights: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Answer products of per-column queries; see `Model.query`."""
        tables = {n: checked_weights(self.domain, n, w) for n, w in weights.items()}
        log_z = self.log_partition - self._log_levels_without_factor(tables)
        sums = weighted_sums(self._factors, tables, log_z, self._sizes, self.max_cells)
        shape = [k for w in weights.values() for k in np.shape(w)[:-1]]
        return self.n_records * sums.reshape(shape)

    def log_probability(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of probabilities; see `Model.log_probability`."""
        array = checked_codes(self.domain, codes)
        columns = dict(zip(self.domain.names, array.T, strict=True))
        total = np.full(len(array), -self.log_partition)
        for names, table in self.potentials.items():
            total += table[tuple(columns[name] for name in names)]
        return total

    @cached_property
    def entropy(self) -> float:
        """Entropy of the distribution of a record, in nats."""
        energy = 0.0
        for names, table in self.potentials.items():
            p = self.marginal(names) / self.n_records
            energy += float((p * np.where(p > 0, table, 0.0)).sum())
        return self.log_partition - energy

    def sample(
        self,
        n_samples: int | None = None,
        *,
        method: Method = "round",
        random_state: Seed = None,
    ) -> NDArray[np.intp]:
        """Draw records; see `Model.sample`."""
        n = round(self.n_records) if n_samples is None else n_samples
        n = checked_size(n, method)
        _ = self.log_partition  # raises if there is no distribution
        rng = generator(random_state)
        return draw_records(self._factors, self.domain, n, method, rng, self.max_cells)

    def _log_levels_without_factor(self, asked: Iterable[str] = ()) -> float:
        """Add the logarithms of the sizes of columns that no factor holds."""
        held = set(asked).union(*self.potentials)
        free = [name for name in self.domain.names if name not in held]
        return float(np.log(self.domain.shape(free)).sum())

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return dict(zip(self.domain.names, self.domain.sizes, strict=True))
