"""How answers become a model: post-processing, which costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skdp.graphical import MarkovRandomField, Model
from skdp.graphical.estimation import Fit, fit_potentials
from skdp.graphical.losses import LossFunction
from skdp.graphical.measurement import LinearMeasurement
from skdp.records import Schema

__all__ = ["ModelFitter"]


@dataclass(frozen=True)
class ModelFitter:
    """How measurements become a model; post-processing, which costs nothing.

    Parameters
    ----------
    schema : Schema
        The columns of the model.
    n_records : int
        Public.
    solver, tau, gap_tol, max_model_size : object
        See `skdp.graphical.estimation.fit_potentials`.
    """

    schema: Schema
    n_records: int
    solver: str
    tau: float | str
    gap_tol: float
    max_model_size: float

    def __call__(
        self, measurements: Sequence[LinearMeasurement], warm_start: Fit | None = None
    ) -> Fit:
        """Fit a model.

        Parameters
        ----------
        measurements : sequence of LinearMeasurement
            Noisy answers.
        warm_start : Fit or None, default=None
            An earlier fit, of the first of these measurements.

        Returns
        -------
        Fit
            The potentials and the account of how they were found.
        """
        return fit_potentials(
            measurements,
            self.schema,
            self.n_records,
            solver=self.solver,
            tau=self.tau,
            gap_tol=self.gap_tol,
            max_model_size=self.max_model_size,
            warm_start=warm_start,
        )

    def of_loss(
        self,
        loss: LossFunction,
        cliques: Sequence[tuple[str, ...]],
        expected: float,
        tau: float,
    ) -> Fit:
        """Fit a model by a loss that is not the sum of squared residuals.

        Parameters
        ----------
        loss : callable
            See `skdp.graphical.fit_potentials`.
        cliques : sequence of tuple of str
            What it looks at.
        expected : float
            The loss that is expected at the truth, of which the tolerance is a share.
        tau : float
            What "auto" stands for, where the solver can.

        Returns
        -------
        Fit
            The potentials and the account of how they were found.
        """
        penalises = self.solver in ("auto", "accelerated")
        return fit_potentials(
            [],
            self.schema,
            self.n_records,
            loss=loss,
            cliques=cliques,
            solver=self.solver,
            tau=self.tau if self.tau != "auto" or not penalises else tau,
            gap_tol=self.gap_tol * 2 * expected,
            max_model_size=self.max_model_size,
        )

    def check_custom_loss(self) -> None:
        """Refuse a solver that cannot minimise a custom loss, while it costs nothing.

        Raises
        ------
        ValueError
            If it is Newton's method, which is for squared residuals.
        """
        if self.solver == "newton":
            raise ValueError(
                "solver='newton' is for measurements; use solver='auto' with a "
                "strategy that has a loss of its own."
            )

    def compact_model(self, fit: Fit) -> Model:
        """Return the model of a fit over classes of levels that nothing tells apart.

        Parameters
        ----------
        fit : Fit
            What a call returned.

        Returns
        -------
        Model
            Answers as `model` does, at less cost.
        """
        return fit.compact_model(self.max_model_size / 10)

    def model(self, fit: Fit) -> MarkovRandomField:
        """Return the model of a fit, with its limit on the size of answers.

        Parameters
        ----------
        fit : Fit
            What a call returned.

        Returns
        -------
        MarkovRandomField
            The model.
        """
        return MarkovRandomField(
            fit.domain, fit.potentials, fit.n_records, self.max_model_size / 10
        )
