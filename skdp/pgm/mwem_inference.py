"""The two ways in which MWEM combines its answers; both are post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from skdp.exceptions import ModelTooLargeError
from skdp.graphical import ClassModel, Domain, Model, MultiplicativeWeights
from skdp.graphical.level_merging import LevelMerging
from skdp.graphical.model_growth import ModelGrowth
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
    cliques : sequence of tuple of str
        What may be measured. A junction tree of a twentieth of `max_model_size` is
        large enough: an elimination joins at most twice its cells, and stored tables
        may have a tenth.
    """

    def __init__(self, session: Session, cliques: Sequence[Columns]) -> None:
        self._session = session
        self._growth = ModelGrowth(Domain.from_schema(session.schema), cliques)
        self._max_cells = session.fitter.max_model_size / 20

    @property
    def n_cells(self) -> int:
        """Cells of the junction tree."""
        return self._growth.n_cells

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
        fits = self._growth.admissible(measured, self._max_cells)
        admitted = [cliques[k] for k in fits]
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
        return self._session.fit_compact_model()


class WeightsInference:
    """Multiplicative weights, as published: the last iterate, with replays.

    Parameters
    ----------
    session : Session
        Has the measurements.
    n_replays : int
        Passes over all measurements so far, after the update by a new one.
    max_cells : float
        Largest table of a group, over all levels.
    """

    def __init__(self, session: Session, n_replays: int, max_cells: float) -> None:
        self._session, self._n_replays = session, n_replays
        self._domain = Domain.from_schema(session.schema)
        self._max_cells = max_cells
        self._merging = LevelMerging(self._domain, {})
        self._weights = MultiplicativeWeights(
            self._domain, session.public.n_records, self._max_cells
        )
        self._n_absorbed = 0

    @property
    def n_cells(self) -> int:
        """Cells of all tables, over all levels."""
        return sum(map(self._domain.n_cells, self._weights.tables))

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
        group, n_cells = self._weights.group, self._domain.n_cells
        return {
            clique: self._merging.share(clique, self._weights.marginal(clique))
            for clique in cliques
            if n_cells(group(clique)) <= self._max_cells
        }

    def model(self) -> Model:
        """Return the last iterate.

        Returns
        -------
        Model
            With a potential per group of columns.
        """
        self._catch_up()
        model = self._weights.model()
        return ClassModel(model, self._merging) if self._merging.classes else model

    def _catch_up(self) -> None:
        """Absorb what is new, and replay; an interrupt ends the replays.

        Levels that no answer tells apart are updated alike, hence as one.
        """
        measured = self._session.measurements
        if len(measured) == self._n_absorbed:
            return
        merging = LevelMerging.of(self._domain, measured)
        merged = [merging.merge(measurement) for measurement in measured]
        refined = _refined(self._weights, self._merging, merging)
        self._weights, self._merging = refined, merging
        for n_known in range(self._n_absorbed, len(measured)):
            known = merged[: n_known + 1]
            self._weights = self._weights.absorb([known[-1]])
            self._n_absorbed += 1
            for _ in range(self._n_replays):
                self._weights = self._weights.absorb(known)


def _refined(
    weights: MultiplicativeWeights, old: LevelMerging, new: LevelMerging
) -> MultiplicativeWeights:
    """Split classes, and their probability in proportion to their levels."""
    tables = {}
    for group, table in weights.tables.items():
        for axis, name in enumerate(group):
            if name in old.classes:
                table = table.take(new.places_in(old, name), axis=axis)
                share = (
                    new.sizes_of(name) / old.sizes_of(name)[new.places_in(old, name)]
                )
                table = table * new.domain.broadcast(share, (name,), group)
        tables[group] = table
    return replace(weights, domain=new.domain, tables=tables, sizes=new.sizes)


def _one_by_one(model: Model, cliques: Sequence[Columns]) -> Tables:
    """Leave out what needs a table beyond the limit; that is known from the model."""
    tables: Tables = {}
    for clique in cliques:
        try:
            tables[clique] = model.marginal(clique)
        except ModelTooLargeError:
            continue
    return tables
