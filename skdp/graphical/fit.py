"""What an estimation hands over: a distribution and the account of how it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.class_model import ClassModel
from skdp.graphical.domain import Domain
from skdp.graphical.level_merging import LevelMerging
from skdp.graphical.markov_random_field import MarkovRandomField
from skdp.graphical.model import Model
from skdp.graphical.size import MAX_MODEL_SIZE

__all__ = ["Fit"]

Array = NDArray[np.float64]
Columns = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """Potentials with the account of how they were found.

    Parameters
    ----------
    merging : LevelMerging
        Levels that no measurement tells apart: tables over classes are smaller.
    class_potentials : mapping of tuple of str to ndarray
        Log-potentials of each level per clique, with one entry for all of a class; -inf
        where no record can be.
    class_marginals : mapping of tuple of str to ndarray
        Of the same cliques: counts of the classes.
    n_records : float
        What every marginal sums to.
    loss : float
        Of the marginals, without the penalty. For L2 at the truth n_answers/2 +-
        sqrt(n_answers/2) is expected.
    objective : float
        Loss plus penalty: what was minimised.
    gap : float
        `objective` is at most this far above its minimum.
    tau : float
        Strength of the penalty; 0 for the loss alone.
    solver : str
        Which solver was used.
    n_oracle_calls : int
        How often all marginals were computed.
    n_answers : int
        Number of noisy numbers.
    duals : tuple of (tuple of str, ndarray)
        Per measurement its columns and multipliers, for warm starts; empty where the
        solver has none.
    """

    merging: LevelMerging
    class_potentials: Mapping[Columns, Array]
    class_marginals: Mapping[Columns, Array]
    n_records: float
    loss: float
    objective: float
    gap: float
    tau: float
    solver: str
    n_oracle_calls: int
    n_answers: int
    duals: tuple[tuple[Columns, Array], ...] = field(default=(), repr=False)

    @property
    def domain(self) -> Domain:
        """Columns and their numbers of levels."""
        return self.merging.full

    @cached_property
    def potentials(self) -> dict[Columns, Array]:
        """Log-potentials per clique."""
        spread = self.merging.spread
        return {c: spread(c, table) for c, table in self.class_potentials.items()}

    @cached_property
    def marginals(self) -> dict[Columns, Array]:
        """Counts over the same cliques."""
        share = self.merging.share
        return {c: share(c, table) for c, table in self.class_marginals.items()}

    def model(self) -> MarkovRandomField:
        """Return the distribution.

        Returns
        -------
        MarkovRandomField
            With these potentials.
        """
        return MarkovRandomField(self.domain, self.potentials, self.n_records)

    def compact_model(self, max_cells: float = MAX_MODEL_SIZE / 10) -> Model:
        """Return the distribution over classes of levels, if there are any.

        Parameters
        ----------
        max_cells : float, default=1e8
            Largest table that an answer may need.

        Returns
        -------
        Model
            The same as `model()`, but its answers cost less.
        """
        domain, potentials = self.merging.domain, dict(self.class_potentials)
        for name, sizes in self.merging.sizes.items():
            unary = np.log(sizes) + potentials.get((name,), 0.0)
            potentials[(name,)] = np.asarray(unary)
        random_field = MarkovRandomField(domain, potentials, self.n_records, max_cells)
        return (
            ClassModel(random_field, self.merging)
            if self.merging.classes
            else random_field
        )
