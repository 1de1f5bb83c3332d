"""A private density of records as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from skdp._sklearn import Interval, StrOptions, fit_context
from skdp.base import PrivateEstimator, all_or_nothing
from skdp.graphical import MarkovRandomField, Model
from skdp.graphical.class_model import ClassModel
from skdp.graphical.fit import Fit
from skdp.graphical.size import MAX_MODEL_SIZE
from skdp.pgm.answers import ModelAnswers
from skdp.pgm.frames import FrameForm
from skdp.pgm.session import ModelFitter, Session
from skdp.pgm.strategies import (
    AIM,
    HDMM,
    MST,
    MWEM,
    DualQuery,
    FixedMarginals,
    Independent,
    PrivBayes,
    Strategy,
)
from skdp.pgm.workload import Workload
from skdp.queries import PublicFacts
from skdp.records import CountTable, Schema, read_records
from skdp.warn import warn_user

__all__ = ["PGMEstimator"]

#: Warnings that wait for the end of a fit.
Doubts: TypeAlias = list[tuple[str, type[Warning]]]

_STRATEGIES: dict[str, type[Strategy]] = {
    "aim": AIM,
    "dual_query": DualQuery,
    "fixed_marginals": FixedMarginals,
    "hdmm": HDMM,
    "independent": Independent,
    "mst": MST,
    "mwem": MWEM,
    "priv_bayes": PrivBayes,
}
_UNUSED = (
    "{name} does not look at the workload: it measures what it would without. AIM, "
    "MWEM, HDMM and DualQuery of skdp.pgm.strategies serve a workload."
)
_UNPENALISED = {"accelerated", "mirror_descent", "dual_averaging"}
_SOLVERS = {"auto", "newton", *_UNPENALISED}


class PGMEstimator(ModelAnswers, PrivateEstimator):
    """Estimate the distribution of records with differential privacy.

    A strategy decides which marginals are measured with noise; a graphical model
    combines the noisy tables into one distribution, which answers every question
    consistently. The whole output is (epsilon, delta)-differentially private under
    replacement of one record; everything after the measurements is post-processing.

    Parameters
    ----------
    epsilon : float > 0, default=1.0
        Total privacy loss of one `fit`.
    delta : float in [0, 1), default=0.0
        0 for pure differential privacy with Laplace noise. With delta > 0 the noise is
        Gaussian and losses add up as zCDP, which is more accurate where many marginals
        are measured.
    strategy : str or Strategy, default="mst"
        What to measure: "mst", "aim", "mwem", "priv_bayes", "hdmm", "dual_query",
        "independent" or "fixed_marginals", or an object of `skdp.pgm.strategies` with
        parameters of its own.
    workload : Workload, optional
        The marginals that matter, for strategies that choose by them.
    solver : {"auto", "newton", "accelerated", "mirror_descent", "dual_averaging"}, \
            default="auto"
        "newton" needs ``tau > 0``, the others ``tau=0``, which is then their default;
        see `skdp.graphical.fit_potentials`.
    tau : float >= 0 or "auto", default="auto"
        Strength of the pull towards independence that keeps the noise from being
        fitted; (share of hidden cells)/sigma by default. 0 fits the answers best.
    gap_tol : float > 0, default=1e-3
        Duality gap at which the solver stops, in units of the expected loss.
    max_model_size : float, default=1e9
        Largest number of cells that one pass over the model may join; a table that is
        stored may have a tenth of them. What is larger is refused before anything is
        spent.
    imputation : {"mode", "mean", "draw"}, default="mode"
        How `transform` fills missing entries: by the most probable level of each, by
        the mean of numeric columns, or by a joint draw.
    schema : Schema, optional
        Public levels of the columns. Without it they are read off the records, with a
        `PrivacyLeakWarning`; missing values then become a level of their own.
    verbose : int, default=0
        Whether to print what is measured.
    random_state : int, RandomState or None, default=None
        None: cryptographic noise. An int makes fit and samples reproducible, for tests
        and papers; a known seed voids the guarantee.

    Attributes
    ----------
    model_ : Model
        The distribution; a `MarkovRandomField`, unless the strategy was told to combine
        its answers in another way.
    marginals_ : dict of tuple of str to ndarray
        The model's counts over the measured columns.
    measurements_ : tuple of LinearMeasurement
        The noisy answers with the standard deviation of their noise.
    loss_ : float
        Only of a graphical model, as the next three. Sum of squared standardised
        residuals, halved; about half the number of noisy numbers, give or take its
        root, if the model is right.
    gap_ : float
        The minimised objective is at most this far above its minimum.
    tau_ : float
        Strength of the pull towards independence.
    n_oracle_calls_ : int
        How often the last fit computed all marginals.
    ledger_ : PrivacyLedger
        What the fit bought; survives a failed fit.
    schema_ : Schema
        Levels of the columns.
    inferred_columns_ : tuple of str
        Columns whose levels were read off the records.
    n_records_ : int
        Number of records; public.

    References
    ----------
    McKenna, Sheldon, Miklau, *Graphical-model based estimation and inference for
    differential privacy*, ICML 2019.

    Examples
    --------
    >>> from skdp import PGMEstimator
    >>> from skdp.datasets import load_bayesian_network
    >>> network = load_bayesian_network("cancer")
    >>> X = network.sample(20_000, random_state=0)
    >>> model = PGMEstimator(epsilon=1.0, schema=network.schema, random_state=0).fit(X)
    >>> model.marginal(["Smoker"]).round(-3)
    array([ 6000., 14000.])
    >>> model.sample(3).shape
    (3, 5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateEstimator._parameter_constraints,
        "strategy": [StrOptions(set(_STRATEGIES)), Strategy],
        "workload": [Workload, None],
        "solver": [StrOptions(_SOLVERS)],
        "tau": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "gap_tol": [Interval(Real, 0, None, closed="neither")],
        "max_model_size": [Interval(Real, 1, None, closed="left")],
        "imputation": [StrOptions({"mode", "mean", "draw"})],
        "schema": [Schema, None],
        "verbose": ["verbose"],
    }

    marginals_: dict[tuple[str, ...], NDArray[np.float64]]

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        strategy: str | Strategy = "mst",
        workload: Workload | None = None,
        solver: str = "auto",
        tau: float | str = "auto",
        gap_tol: float = 1e-3,
        max_model_size: float = MAX_MODEL_SIZE,
        imputation: str = "mode",
        schema: Schema | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.strategy = strategy
        self.workload = workload
        self.solver = solver
        self.tau = tau
        self.gap_tol = gap_tol
        self.max_model_size = max_model_size
        self.imputation = imputation
        self.schema = schema
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Measure some marginals with noise and fit a model to them.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            The records; at least two. A target is modelled if it is one of the columns.
        y : None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        SchemaError
            If the records do not fit the schema; nothing was spent.
        ModelTooLargeError
            If a table or the model would be too large; nothing was spent.
        BudgetExceededError
            If an active `BudgetAccountant` has too little left; nothing was spent.

        Warns
        -----
        ConvergenceWarning
            If a solver stopped short of `gap_tol`. As an error it comes after the fit,
            which is kept: it has been paid for.
        """
        with all_or_nothing(self):
            found = read_records(self, X, None, self.schema, "", missing=True)
            self.schema_, self.inferred_columns_ = found.records.schema, found.inferred
            self._frame_categories = found.declared_by_frame
            self._form = FrameForm.of(X)
            self.__dict__.pop("_repetitions", None)
            doubts = self._estimate(found.records)
            self._write_report()
        for message, category in doubts:
            # Only now: as an error, it must not undo a fit that has been paid for.
            warn_user(message, category)
        return self

    def _estimate(self, records: CountTable) -> Doubts:
        """Run the strategy, and return what it warned of meanwhile."""
        strategy = self.strategy
        if isinstance(strategy, str):
            strategy = _STRATEGIES[strategy]()
        public = PublicFacts(records.n_records, records.schema)
        self._check_solver()
        if self.workload is not None:
            self.workload.check(public.schema)
        strategy.check(public, self.workload, float(self.max_model_size))
        self._fitter = ModelFitter(
            public.schema,
            public.n_records,
            self.solver,
            self.tau,
            float(self.gap_tol),
            float(self.max_model_size),
        )
        curator = self._open_curator(records)
        session = Session(curator, self.workload, self._fitter, self.verbose)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._set_result(strategy.run(session), session)
        found = [(str(w.message), w.category) for w in caught] + session.doubts
        if self.workload is not None and not strategy.uses_workload:
            name = type(strategy).__name__
            found.append((_UNUSED.format(name=name), UserWarning))
        return list(dict.fromkeys(found))

    def _check_solver(self) -> None:
        """Refuse a solver that could not be run, while it costs nothing."""
        if self.solver == "newton" and self.tau == 0:
            raise ValueError("solver='newton' needs 'tau' > 0; use solver='auto'.")
        if self.solver in _UNPENALISED and self.tau not in (0, "auto"):
            raise ValueError(f"solver={self.solver!r} needs 'tau' = 0, not {self.tau}.")

    def _set_result(self, model: Model, session: Session) -> None:
        self.model_ = model
        self.measurements_ = tuple(session.measurements)
        measured = dict.fromkeys(
            [m.columns for m in self.measurements_] + session.asked
        )
        self.marginals_ = {c: _marginal(c, model, session.last_fit) for c in measured}
        # Deviations are found by measuring and fitting again.
        self._is_repeatable = isinstance(model, MarkovRandomField | ClassModel) and (
            bool(session.measurements) == (session.last_fit is not None)
        )
        if session.last_fit is not None:
            self.loss_, self.gap_ = session.last_fit.loss, session.last_fit.gap
            self.tau_ = session.last_fit.tau
            self.n_oracle_calls_ = session.last_fit.n_oracle_calls
        elif self._is_repeatable:  # nothing to fit: the uniform model is exact
            self.loss_ = self.gap_ = self.tau_ = 0.0
            self.n_oracle_calls_ = 0

    def _public_facts(self) -> tuple[str, ...]:
        measured = ", ".join(" x ".join(columns) for columns in self.marginals_)
        return (*super()._public_facts(), f"measured marginals: {measured or 'none'}")

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_repetitions", None)
        return state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        # Without a schema, missing values become a level of their own.
        tags.input_tags.allow_nan = self.schema is None or any(
            column.missing for column in self.schema
        )
        return tags


def _marginal(
    columns: tuple[str, ...], model: Model, fit: Fit | None
) -> NDArray[np.float64]:
    """Return the counts over a measured set of columns.

    The fit has those that it was made from; to compute them again from the model might
    need a larger table.
    """
    clique = model.domain.sort(columns)
    if fit is None or clique not in fit.marginals:
        return model.marginal(columns)
    return fit.marginals[clique].transpose([clique.index(name) for name in columns])
