"""A model over classes of levels, asked about the levels.

Given its class, a level is uniform and independent of all else. So every question about
levels is one about classes, which are fewer: a model of a few single queries stays
small however many levels the columns have.
"""

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
from skdp.graphical.level_merging import LevelMerging
from skdp.graphical.markov_random_field import MarkovRandomField
from skdp.graphical.model import Codes, Model
from skdp.graphical.sampling import Method, Seed, generator

__all__ = ["ClassModel"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassModel(Model):
    """Levels that are uniform within the classes of another model.

    Parameters
    ----------
    classes : MarkovRandomField
        The distribution of the classes.
    merging : LevelMerging
        Which levels they hold.
    """

    classes: MarkovRandomField
    merging: LevelMerging

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        """Columns and their numbers of levels."""
        return self.merging.full

    @property
    def n_records(self) -> float:  # type: ignore[override]
        """What every marginal sums to."""
        return self.classes.n_records

    def marginal(self, columns: Iterable[str]) -> Array:
        """Divide the counts of classes among levels; see `Model.marginal`."""
        columns = checked_columns(self.domain, columns)
        return self.merging.share(columns, self.classes.marginal(columns))

    def marginals(
        self, cliques: Iterable[Iterable[str]]
    ) -> dict[tuple[str, ...], Array]:
        """Divide many tables; see `Model.marginals`."""
        tables = self.classes.marginals(cliques)
        return {c: self.merging.share(c, table) for c, table in tables.items()}

    def conditional(self, columns: Iterable[str], evidence: Codes) -> Array:
        """Let classes tell of classes; see `Model.conditional`."""
        columns = checked_columns(self.domain, columns)
        single, many = checked_evidence(self.domain, evidence)
        known = {name: self._class_of(name, at) for name, at in (single | many).items()}
        return self.merging.share(columns, self.classes.conditional(columns, known))

    def query(self, weights: Mapping[str, ArrayLike]) -> Array:
        """Average the weights over the classes; see `Model.query`."""
        means = {}
        for name, given in weights.items():
            rows = checked_weights(self.domain, name, given)
            if name in self.merging.classes:
                sums = np.zeros(
                    (self.domain.size(name), self.classes.domain.size(name))
                )
                sums[np.arange(len(sums)), self.merging.classes[name]] = 1.0
                rows = rows @ (sums / sums.sum(axis=0))
            means[name] = rows if np.ndim(given) == 2 else rows[0]
        return self.classes.query(means)

    def log_probability(self, codes: ArrayLike) -> Array:
        """Divide the probability of the classes; see `Model.log_probability`."""
        levels = checked_codes(self.domain, codes)
        merged, total = levels.copy(), np.zeros(len(levels))
        for name, sizes in self.merging.sizes.items():
            axis = self.domain.axis(name)
            merged[:, axis] = self._class_of(name, levels[:, axis])
            total -= np.log(sizes)[merged[:, axis]]
        return total + self.classes.log_probability(merged)

    @cached_property
    def entropy(self) -> float:
        """Entropy of the distribution of a record, in nats."""
        within = sum(
            float(np.log(sizes) @ self.classes.marginal((name,)))
            for name, sizes in self.merging.sizes.items()
        )
        return self.classes.entropy + within / self.n_records

    def sample(
        self,
        n_samples: int | None = None,
        *,
        method: Method = "round",
        random_state: Seed = None,
    ) -> NDArray[np.intp]:
        """Draw classes, and levels within them; see `Model.sample`."""
        n = checked_size(
            round(self.n_records) if n_samples is None else n_samples, method
        )
        rng = generator(random_state)
        codes = self.classes.sample(n, method=method, random_state=rng)
        for name, classes in self.merging.classes.items():
            column = codes[:, self.domain.axis(name)]
            column[:] = _draw_levels(column, classes, method, rng)
        return codes

    def _class_of(self, name: str, level: int | NDArray[np.intp]) -> NDArray[np.intp]:
        classes = self.merging.classes.get(name)
        return np.asarray(level if classes is None else classes[level])


def _draw_levels(
    drawn: NDArray[np.intp],
    classes: NDArray[np.intp],
    method: Method,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw a level for each class; with "round" all of a class equally often."""
    levels = np.empty_like(drawn)
    for of_class in np.unique(drawn):
        members, records = np.flatnonzero(classes == of_class), drawn == of_class
        n = int(records.sum())
        if method == "round":
            turns = np.concatenate([members] * (n // len(members) + 1))
            turns[n - n % len(members) :] = rng.permutation(members)
            levels[records] = rng.permutation(turns[:n])
        else:
            levels[records] = rng.choice(members, n)
    return levels
