"""The two ways in which MWEM combines its answers; both are post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import ModelTooLargeError
from skdp.graphical import Domain, Model
from skdp.graphical.multiplicative_weights import MultiplicativeWeights
from skdp.pgm.model_limit import ModelLimit
from skdp.pgm.session import Session

__all__ = ["Inference", "ModelInference", "WeightsInference"]

Columns = tuple[str, ...]
Tables = dict[Columns, NDArray[np.float64]]


class Inference(Protocol):
    """What MWEM asks of the answers so far."""

    @property
    def n_cells(self) -> int:
        """Return the size of the distribution, for the user."""

    def tables(self, cliques: Sequence[Columns]) -> Tables:
        """Return the counts over those cliques that could be measured next."""

    def model(self) -> Model:
        """Return the distribution."""


class ModelInference:
    """The graphical model of all measurements, fitted anew from the last one.

    Parameters
    ----------
    session : Session
        Has the measurements.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        domain = Domain.from_schema(session.schema)
        self._limit = ModelLimit(domain, session.fitter.max_model_size)

    @property
    def n_cells(self) -> int:
        """Cells of the junction tree."""
        return self._limit.n_cells

    def tables(self, cliques: Sequence[Columns]) -> Tables:
        """Return the counts over those cliques with which the model is small enough.

        Parameters
        ----------
        cliques : sequence of tuple of str
            Candidates.

        Returns
        -------
        dict of tuple of str to ndarray
            Of those that are admitted and that the model can answer.
        """
        measured = [m.columns for m in self._session.measurements]
        admitted = [cliques[k] for k in self._limit.admitted(cliques, measured)]
        model = self.model()
        try:
            return model.marginals(admitted)
        except ModelTooLargeError:
            return _one_by_one(model, admitted)

    def model(self) -> Model:
        """Fit the model.

        Returns
        -------
        Model
            Of all measurements so far.
        """
        return self._session.fit_model()


class WeightsInference:
    """Multiplicative weights, as published: the last iterate, with replays.

    Parameters
    ----------
    session : Session
        Has the measurements.
    n_replays : int
        Passes over all measurements so far, after the update by a new one.
    """

    def __init__(self, session: Session, n_replays: int) -> None:
        self._session, self._n_replays = session, n_replays
        self._weights = MultiplicativeWeights(
            Domain.from_schema(session.schema),
            session.public.n_records,
            session.fitter.max_model_size / 10,
        )
        self._n_absorbed = 0

    @property
    def n_cells(self) -> int:
        """Cells of all tables."""
        return sum(table.size for table in self._weights.tables.values())

    def tables(self, cliques: Sequence[Columns]) -> Tables:
        """Return the counts over those cliques whose groups of columns fit.

        Parameters
        ----------
        cliques : sequence of tuple of str
            Candidates.

        Returns
        -------
        dict of tuple of str to ndarray
            Of those whose measurement would join no more than the allowed cells.
        """
        self._catch_up()
        weights = self._weights
        return {
            clique: weights.marginal(clique)
            for clique in cliques
            if weights.domain.n_cells(weights.group(clique)) <= weights.max_cells
        }

    def model(self) -> Model:
        """Return the last iterate.

        Returns
        -------
        Model
            With a potential per group of columns.
        """
        self._catch_up()
        return self._weights.model()

    def _catch_up(self) -> None:
        """Absorb what is new, and replay; an interrupt leaves it to the next call."""
        measured = self._session.measurements
        weights = self._weights
        for n_known in range(self._n_absorbed, len(measured)):
            known = measured[: n_known + 1]
            weights = weights.absorb([known[-1], *self._n_replays * known])
        self._weights, self._n_absorbed = weights, len(measured)


def _one_by_one(model: Model, cliques: Sequence[Columns]) -> Tables:
    """Leave out what needs a table beyond the limit; that is known from the model."""
    tables: Tables = {}
    for clique in cliques:
        try:
            tables[clique] = model.marginal(clique)
        except ModelTooLargeError:
            continue
    return tables
