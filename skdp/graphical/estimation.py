"""From noisy marginals to a model: the front door of the solvers.

No private step happens here: everything is a function of noisy answers and public
numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from skdp.exceptions import ModelTooLargeError
from skdp.graphical.base_distribution import automatic_tau
from skdp.graphical.domain import Domain
from skdp.graphical.fit import Fit
from skdp.graphical.level_merging import LevelMerging
from skdp.graphical.linear_queries import LinearQuery
from skdp.graphical.losses import LossFunction
from skdp.graphical.markov_random_field import MarkovRandomField
from skdp.graphical.measurement import LinearMeasurement
from skdp.graphical.problem import Problem, make_problem, plan_once
from skdp.graphical.size import MAX_MODEL_SIZE, check_table
from skdp.graphical.solvers import UNPENALISED, Found, solve

if TYPE_CHECKING:
    from skdp.records.schema import Schema

__all__ = ["Fit", "estimate", "fit_potentials"]

Array = NDArray[np.float64]


def estimate(
    measurements: Sequence[LinearMeasurement],
    schema: Schema | Domain,
    n_records: float,
    *,
    tau: float | str = "auto",
    solver: str = "auto",
    **options: Any,
) -> MarkovRandomField:
    """Estimate a distribution of records from noisy marginals.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
        Noisy answers, from whatever mechanism.
    schema : Schema or Domain
        The public columns; those never measured come out uniform.
    n_records : float
        Number of records, public.
    tau : float or "auto", default="auto"
        Strength of the pull towards independence, against overfitting the noise; 0 is
        the loss alone, for estimates without bias.
    solver : str, default="auto"
        Chosen by `tau` and the loss; see `fit_potentials`.
    **options : dict
        Also as of `fit_potentials`: loss, base, gap_tol, max_iter, max_model_size,
        structural_zeros, cliques, warm_start.

    Returns
    -------
    MarkovRandomField
        The distribution.

    Raises
    ------
    ValueError
        If a measurement does not fit the schema, or a parameter is out of range.
    ModelTooLargeError
        Before anything is allocated, naming the cliques that cause it.

    Warns
    -----
    ConvergenceWarning
        If the certified gap is above `gap_tol`; it names the gap.

    Examples
    --------
    >>> domain = Domain(("smoker", "cough"), (2, 2))
    >>> noisy = [
    ...     LinearMeasurement(("smoker",), [71.0, 33.0], sigma=2.0),
    ...     LinearMeasurement(("smoker", "cough"), [[60, 11], [9, 22]], sigma=2.0),
    ... ]
    >>> model = estimate(noisy, domain, n_records=100)
    >>> model.marginal(("cough",)).round(1)
    array([68., 32.])
    """
    fit = fit_potentials(
        measurements, schema, n_records, tau=tau, solver=solver, **options
    )
    return fit.model()


def fit_potentials(
    measurements: Sequence[LinearMeasurement],
    schema: Schema | Domain,
    n_records: float,
    *,
    tau: float | str = "auto",
    solver: str = "auto",
    loss: str | LossFunction = "l2",
    base: str = "independent",
    gap_tol: float = 1e-3,
    max_iter: int | None = None,
    max_model_size: float = MAX_MODEL_SIZE,
    structural_zeros: Mapping[tuple[str, ...], ArrayLike] | None = None,
    cliques: Sequence[tuple[str, ...]] = (),
    warm_start: Fit | None = None,
) -> Fit:
    """Estimate as `estimate` does, and return the account of it.

    Minimises L(p) + tau KL(p || base) over all distributions, with the divergence
    counted in records.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
        Noisy answers, from whatever mechanism.
    schema : Schema or Domain
        The public columns.
    n_records : float
        Number of records, public.
    tau : float or "auto", default="auto"
        "auto" is (share of cells that the noise hides) / (median noise of a cell) for
        "l2" and "l1", and 0 for a custom loss. 0 is the loss alone: its minimum of
        largest entropy, without bias, which overfits the noise.
    solver : {"auto", "newton", "lbfgs", "forest", "accelerated", "mirror_descent", \
"dual_averaging"}, default="auto"
        "newton" (L2) and "lbfgs" (L1) need tau > 0. The others need tau = 0, which is
        then what "auto" means: "forest" is exact where measured tables form a forest
        joined in single columns; "mirror_descent" and "dual_averaging" are the
        algorithms of the paper. A custom loss is "accelerated" with any tau.
    loss : {"l2", "l1"} or callable, default="l2"
        Squared residuals with inverse variances (Gaussian noise), absolute ones over
        sigma (Laplace), or a differentiable convex function of the marginals: it takes
        a mapping from cliques (names in the order of the schema) to arrays of counts
        and returns the loss and a mapping from cliques to gradients.
    base : {"independent", "uniform"}, default="independent"
        What the penalty pulls towards: the product of the noisy one-way marginals, or
        the uniform distribution.
    gap_tol : float, default=1e-3
        Largest certified gap, times n_answers/2 (the expected L2 loss at the truth).
    max_iter : int or None, default=None
        Largest number of steps (Newton) or oracle calls; a default of the solver.
    max_model_size : float, default=1e9
        Largest number of cells that one pass may join; stored tables may have a tenth.
    structural_zeros : mapping of tuple of str to array of bool, or None
        Per tuple of columns, True where no record can be.
    cliques : sequence of tuple of str, default=()
        Further cliques that a custom loss looks at.
    warm_start : Fit or None, default=None
        An earlier fit, of a prefix of these measurements.

    Returns
    -------
    Fit
        Potentials, loss and certified gap.

    Raises
    ------
    ValueError
        If a measurement does not fit the schema, or a parameter is out of range.
    ModelTooLargeError
        Before anything is allocated, naming the cliques that cause it.

    Warns
    -----
    ConvergenceWarning
        If the certified gap is above `gap_tol`; it names the gap.
    """
    domain = Domain.from_schema(schema)
    _check(measurements, n_records, gap_tol, loss, cliques, base)
    merging = LevelMerging(domain, {})
    queries = [measurement.linear(domain) for measurement in measurements]
    plain = not (callable(loss) or cliques or structural_zeros)
    if plain and tau != 0 and not _needs_zero(solver, loss):
        for measurement in measurements:
            check_table(domain, measurement.columns, max_model_size / 10)
        merging = _merging(domain, measurements, max_model_size)
        measurements = [merging.merge(measurement) for measurement in measurements]
        queries = [measurement.linear(merging.domain) for measurement in measurements]
    strength = _tau(tau, solver, loss, measurements, queries)
    problem = make_problem(
        merging.domain,
        measurements,
        float(n_records),
        base=base if strength > 0 else "uniform",
        cliques=cliques,
        structural_zeros=_arrays(structural_zeros),
        max_model_size=max_model_size,
    )
    if merging.classes:
        sizes = merging.log_sizes(problem.layout)
        problem = problem.rebased(problem.base + sizes)
    goal = gap_tol * max(len(problem.answers), 1) / 2.0
    start = None if warm_start is None else _start(problem, measurements, warm_start)
    found = solve(problem, strength, solver, loss, goal, max_iter, start)
    if not found.gap <= goal:
        warnings.warn(_not_converged(found, goal), ConvergenceWarning, stacklevel=3)
    return _fit(merging, measurements, problem, strength, found)


def _merging(
    domain: Domain, measurements: Sequence[LinearMeasurement], max_model_size: float
) -> LevelMerging:
    """Merge levels, unless that misleads the search for an order.

    So nothing is refused that would not be refused with all of its levels.
    """
    merging = LevelMerging.of(domain, measurements)
    cliques = tuple(dict.fromkeys(m.columns for m in measurements))
    try:
        plan_once(merging.domain, cliques, max_model_size)
    except ModelTooLargeError:
        return LevelMerging(domain, {})
    return merging


def _check(
    measurements: Sequence[LinearMeasurement],
    n_records: float,
    gap_tol: float,
    loss: str | LossFunction,
    cliques: Sequence[tuple[str, ...]],
    base: str,
) -> None:
    if not (np.isfinite(n_records) and n_records > 0):
        raise ValueError(f"n_records must be a positive number, not {n_records!r}.")
    if not gap_tol > 0:
        raise ValueError(f"gap_tol must be positive, not {gap_tol!r}.")
    if not (callable(loss) or loss in ("l2", "l1")):
        raise ValueError(f'loss must be "l2", "l1" or callable, not {loss!r}.')
    if base not in ("independent", "uniform"):
        raise ValueError(f'base must be "independent" or "uniform", not {base!r}.')
    if not measurements and not (callable(loss) and cliques):
        raise ValueError(
            "There is nothing to estimate from: give at least one measurement, or a "
            "custom loss with its cliques."
        )


def _tau(
    tau: float | str,
    solver: str,
    loss: str | LossFunction,
    measurements: Sequence[LinearMeasurement],
    queries: Sequence[LinearQuery],
) -> float:
    """Return the strength of the penalty, refusing what a solver cannot do."""
    needs_zero = _needs_zero(solver, loss)
    if solver not in ("auto", "newton", "lbfgs", *UNPENALISED):
        raise ValueError(f"solver {solver!r} is unknown.")
    if tau == "auto":
        if callable(loss) or needs_zero:
            return 0.0
        return automatic_tau(measurements, queries)
    if isinstance(tau, str) or not (np.isfinite(tau) and tau >= 0):
        raise ValueError(f'tau must be "auto" or a number from 0 on, not {tau!r}.')
    if tau > 0 and needs_zero:
        raise ValueError(f"solver={solver!r} needs tau=0, not {tau!r}.")
    if tau == 0 and solver in ("newton", "lbfgs"):
        raise ValueError(f'solver={solver!r} needs tau > 0; use solver="auto".')
    return float(tau)


def _needs_zero(solver: str, loss: str | LossFunction) -> bool:
    penalises = callable(loss) and solver == "accelerated"
    return solver in UNPENALISED and not penalises


def _arrays(
    zeros: Mapping[tuple[str, ...], ArrayLike] | None,
) -> dict[tuple[str, ...], NDArray[np.bool_]]:
    return {clique: np.asarray(table) for clique, table in (zeros or {}).items()}


def _start(
    problem: Problem, measurements: Sequence[LinearMeasurement], earlier: Fit
) -> Array:
    """Return the earlier multipliers, zero for what was not measured then."""
    start = np.zeros(len(problem.answers))
    pairs = zip(problem.blocks, measurements, earlier.duals, strict=False)
    for block, measurement, (columns, dual) in pairs:
        mine = start[block.answers]
        if columns == measurement.columns and len(dual) == len(mine):
            mine[:] = dual
    return start


def _not_converged(found: Found, goal: float) -> str:
    return (
        f"The solver {found.solver!r} stopped at a certified gap of {found.gap:.3g}, "
        f"above the tolerance {goal:.3g} (objective {found.objective:.6g}). The model "
        "is usable, and at most that far from the best; raise gap_tol (or max_iter), "
        "or tau if it is small."
    )


def _fit(
    merging: LevelMerging,
    measurements: Sequence[LinearMeasurement],
    problem: Problem,
    tau: float,
    found: Found,
) -> Fit:
    layout = problem.layout
    shapes = [layout.domain.shape(clique) for clique in layout.cliques]
    places = list(zip(layout.cliques, layout.slices(), shapes, strict=True))
    duals: tuple[tuple[tuple[str, ...], Array], ...] = ()
    if found.dual is not None:
        pairs = zip(measurements, problem.blocks, strict=True)
        duals = tuple((m.columns, found.dual[block.answers]) for m, block in pairs)
    potentials = found.potentials - merging.log_sizes(layout)
    return Fit(
        merging=merging,
        class_potentials={c: potentials[p].reshape(shape) for c, p, shape in places},
        class_marginals={
            c: found.marginals[p].reshape(shape) for c, p, shape in places
        },
        n_records=problem.total,
        loss=found.loss,
        objective=found.objective,
        gap=found.gap,
        tau=tau,
        solver=found.solver,
        n_oracle_calls=problem.oracle.n_calls,
        n_answers=len(problem.answers),
        duals=duals,
    )
