"""Synthetic records as a model: what is asked of them is counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.graphical.arguments import (
    checked_codes,
    checked_columns,
    checked_evidence,
    checked_size,
    checked_weights,
)
from skdp.graphical.domain import Domain
from skdp.graphical.model import Codes, Model
from skdp.graphical.sampling import Method, Seed, generator, rounded_counts

__all__ = ["EmpiricalDistribution"]

#: Products of weights and records that are held at once.
_BATCH_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class EmpiricalDistribution(Model):
    """The distribution of one of some records, drawn at random.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    codes : array-like of int, shape (n_synthetic, n_columns)
        The records, at least one, in the order of the domain.
    n_records : float
        What every marginal sums to, however many synthetic records there are.

    Raises
    ------
    ValueError
        If there is no record, the shape does not fit, or a code is not a level's.

    Examples
    --------
    >>> domain = Domain(("smoker", "cough"), (2, 2))
    >>> model = EmpiricalDistribution(domain, [[0, 0], [0, 1], [1, 1]], 300)
    >>> model.marginal(["cough"])
    array([100., 200.])
    >>> model.conditional(["smoker"], {"cough": 1})
    array([0.5, 0.5])
    """

    domain: Domain
    codes: NDArray[np.intp]
    n_records: float

    def __post_init__(self) -> None:
        codes = checked_codes(self.domain, self.codes).copy()
        if len(codes) == 0:
            raise ValueError("An empirical distribution needs at least one record.")
        codes.setflags(write=False)
        object.__setattr__(self, "codes", codes)

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Distinct records and their probabilities."""
        rows, counts = np.unique(self.codes, axis=0, return_counts=True)
        return rows, counts / len(self.codes)

    def marginal(self, columns: Iterable[str]) -> NDArray[np.float64]:
        """Return the counts over some columns; see `Model.marginal`."""
        columns = checked_columns(self.domain, columns)
        rows, p = self._distinct
        shape = self.domain.shape(columns)
        cells = _cells(self._axes(rows, columns), shape, len(rows))
        size = self.domain.n_cells(columns)
        table = np.bincount(cells, weights=p, minlength=size).reshape(shape)
        return np.asarray(self.n_records * table)

    def conditional(
        self, columns: Iterable[str], evidence: Codes
    ) -> NDArray[np.float64]:
        """Return a distribution given others; see `Model.conditional`."""
        columns = checked_columns(self.domain, columns)
        if shared := set(columns) & set(evidence):
            raise ValueError(f"{sorted(shared)} cannot be asked for and given.")
        single, many = checked_evidence(self.domain, evidence)
        n = len(next(iter(many.values()))) if many else 1
        given = {name: np.full(n, code) for name, code in single.items()} | many
        rows, p = self._distinct
        shape, size = self.domain.shape(columns), self.domain.n_cells(columns)
        own, asked = _joint_groups(
            self._axes(rows, given), list(given.values()), len(rows), n
        )
        groups, asked = np.unique(asked, return_inverse=True)
        place = np.searchsorted(groups, own)
        known = (place < len(groups)) & (
            groups[np.minimum(place, len(groups) - 1)] == own
        )
        cells = _cells(self._axes(rows, columns), shape, len(rows))
        at = (place * size + cells)[known]
        counts = np.bincount(at, weights=p[known], minlength=len(groups) * size)
        table = counts.reshape(len(groups), size)
        with np.errstate(invalid="ignore"):
            table = (table / table.sum(axis=1, keepdims=True))[asked]
        return table.reshape((n, *shape) if many else shape)

    def query(self, weights: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Answer products of per-column queries; see `Model.query`."""
        tables = {n: checked_weights(self.domain, n, w) for n, w in weights.items()}
        rows, p = self._distinct
        sizes = [len(table) for table in tables.values()]
        total = np.zeros(sizes)
        step = max(1, _BATCH_CELLS // max(1, int(np.prod(sizes))))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            product = p[part]
            for name, table in tables.items():
                factor = table.T[rows[part, self.domain.axis(name)]]
                shape = (len(factor), *(1,) * (product.ndim - 1), -1)
                product = product[..., None] * factor.reshape(shape)
            total += product.sum(axis=0)
        asked = [k for w in weights.values() for k in np.shape(w)[:-1]]
        return np.asarray(self.n_records * total.reshape(asked))

    def log_probability(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of each record's share; -inf for those not among them.

        See `Model.log_probability`.
        """
        asked = checked_codes(self.domain, codes)
        rows, p = self._distinct
        own, other = _joint_groups(list(rows.T), list(asked.T), len(rows), len(asked))
        shares = np.zeros(max(own.max(), other.max(initial=0)) + 1)
        shares[own] = p
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shares[other]))

    @cached_property
    def entropy(self) -> float:
        """Entropy of the distribution of a record, in nats."""
        p = self._distinct[1]
        return float(-(p * np.log(p)).sum())

    def sample(
        self,
        n_samples: int | None = None,
        *,
        method: Method = "round",
        random_state: Seed = None,
    ) -> NDArray[np.intp]:
        """Draw some of the records; see `Model.sample`."""
        n = round(self.n_records) if n_samples is None else n_samples
        n = checked_size(n, method)
        rng = generator(random_state)
        rows, p = self._distinct
        if method == "round":
            counts = rounded_counts(np.array([n]), p[None], rng)[0]
        else:
            counts = rng.multinomial(n, p)
        return np.asarray(rng.permutation(np.repeat(rows, counts, axis=0)))

    def _axes(
        self, rows: NDArray[np.intp], columns: Iterable[str]
    ) -> list[NDArray[np.intp]]:
        return [rows[:, self.domain.axis(name)] for name in columns]


def _cells(
    columns: list[NDArray[np.intp]], shape: tuple[int, ...], n: int
) -> NDArray[np.intp]:
    """Number the cells of a table that records lie in."""
    if not columns:
        return np.zeros(n, dtype=np.intp)
    return np.asarray(np.ravel_multi_index(tuple(columns), shape), dtype=np.intp)


def _joint_groups(
    first: list[NDArray[np.intp]],
    second: list[NDArray[np.intp]],
    n_first: int,
    n_second: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the rows of two tables so that equal rows have equal numbers."""
    key = np.zeros(n_first + n_second, dtype=np.intp)
    for a, b in zip(first, second, strict=True):
        column = np.concatenate([a, b])
        pairs = key * (int(column.max(initial=0)) + 1) + column
        key = np.unique(pairs, return_inverse=True)[1]
    return key[:n_first], key[n_first:]
