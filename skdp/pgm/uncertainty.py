"""How far a model's answers may be off because of the noise, by a parametric bootstrap.

The noise of every measurement is public. So the measurements are repeated on the model
itself, with fresh noise, and a model is fitted to each repetition: the deviations of
their answers from the model's are what the noise does to an answer. What is left
out: the choice of the measured marginals, and that the records may have dependences
which were not measured at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np

from skdp.graphical import Domain, Model
from skdp.graphical.measurement import LinearMeasurement

__all__ = ["repeat_fits"]

Fitter = Callable[[list[LinearMeasurement]], Model]


def repeat_fits(
    model: Model,
    measurements: Sequence[LinearMeasurement],
    fit: Fitter,
    is_pure: bool,
    n_repetitions: int,
) -> list[Model]:
    """Measure a model with fresh noise and fit again.

    Parameters
    ----------
    model : Model
        Takes the place of the records.
    measurements : sequence of LinearMeasurement
        What was measured, and how noisy.
    fit : callable
        From measurements to a model.
    is_pure : bool
        Laplace noise, else Gaussian.
    n_repetitions : int
        Number of models.

    Returns
    -------
    list of MarkovRandomField
        Always the same ones: nothing private is involved.
    """
    rng, domain = np.random.default_rng(0), model.domain
    exact = [_answer(m, model, domain) for m in measurements]
    models = []
    for _ in range(n_repetitions):
        repeated = []
        for m, answer in zip(measurements, exact, strict=True):
            if is_pure:
                noise = rng.laplace(0.0, m.sigma / sqrt(2), answer.shape)
            else:
                noise = rng.normal(0.0, m.sigma, answer.shape)
            repeated.append(
                LinearMeasurement(m.columns, answer + noise, m.sigma, m.query)
            )
        models.append(fit(repeated))
    return models


def _answer(measurement: LinearMeasurement, model: Model, domain: Domain) -> np.ndarray:
    cells = model.marginal(measurement.columns)
    answers = measurement.linear(domain).dot(cells.ravel())
    return np.asarray(answers).reshape(measurement.answer.shape)
