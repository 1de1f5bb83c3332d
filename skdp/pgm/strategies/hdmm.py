"""HDMM: measure what serves a workload of linear queries best, chosen beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from numbers import Integral
from typing import Any, ClassVar

from skdp._sklearn import Interval, StrOptions, validate_parameters
from skdp.exceptions import ModelTooLargeError, SchemaError
from skdp.graphical import Domain, Model
from skdp.graphical import matrix_mechanism as mechanism
from skdp.graphical.least_squares import MAX_FULL, solve_least_squares
from skdp.graphical.measurement import LinearMeasurement
from skdp.graphical.size import MAX_MODEL_SIZE, check_table
from skdp.pgm.session import Session
from skdp.pgm.strategies.base import Strategy, refuse_large_model, varying_columns
from skdp.pgm.workload import Workload
from skdp.pgm.workload_terms import axis_sizes, workload_terms
from skdp.queries import LinearMarginal, PublicFacts

__all__ = ["HDMM"]

#: Noise of this many steps, and sums of this size, leave room for what follows.
_MAX_NOISE = 2.0**48
_MAX_SUM = 2.0**51
_MAX_WEIGHT = 1e100


class HDMM(Strategy):
    """Measure the queries that answer a workload with the least expected error.

    The high-dimensional matrix mechanism looks at the workload alone. It chooses a
    strategy A, other queries than those of the workload, whose noisy answers give the
    workload's by least squares; among the strategies of the kinds below that with the
    least expected squared error ||A||^2 tr(W'W (A'A)^-1). The weight of a set of
    columns multiplies its rows of W. The whole budget buys the answers to A at once,
    with noise for the sensitivity of A under replacement of a record. For the whole
    numbers to which A is rounded this is 2 ||A||_1 (Laplace noise, scale
    2 ||A||_1/epsilon) and sqrt(2) ||A||_2 (Gaussian noise, variance ||A||_2^2/rho),
    ||A|| being the largest norm of a column, for its entries are not negative; of
    parts on a single column it is the largest distance of two columns, which is no
    more (`LinearMarginal`).

    Parameters
    ----------
    strategies : {"auto", "union", "kronecker", "marginals"} or sequence, default="auto"
        Which kinds to choose from; "auto" is all that the workload allows.

        * "union": for each set of columns a product with a matrix per column: the cells
          themselves, or with some weighted sums of them (a p-identity matrix) where
          sums are asked for, as of prefixes and ranges. The weights of the sets of
          columns are optimal.
        * "kronecker": one such product over all columns, where their table fits.
        * "marginals": tables of counts over the sets of columns and their subsets, with
          optimal weights.
    inference : {"graphical_model", "least_squares"}, default="graphical_model"
        How the answers are combined. "least_squares" is the published form: its counts
        may be negative, and it knows only columns that were measured together. It is
        solved as a whole where only tables of counts were measured, or the table over
        all columns that are tied together has no more than four million cells; else by
        each set of columns ("local least squares"). The total is known to both.
    n_restarts : int > 0, default=5
        How often each search for a strategy starts anew. Searches are cached.
    random_state : int >= 0, default=0
        Seed of these starts; public, and no part of the privacy mechanism.

    Notes
    -----
    Without a workload all pairs of columns are asked for. Its weights must be from
    1e-100 to 1e100. A graphical model of all
    pairs of many columns is too large, which is refused before anything is spent.

    References
    ----------
    McKenna, Miklau, Hay, Machanavajjhala, *Optimizing error of high-dimensional
    statistical queries under differential privacy*, PVLDB 11(10), 2018.

    Examples
    --------
    >>> from skdp import PGMEstimator
    >>> strategy = HDMM(inference="least_squares")
    >>> PGMEstimator(strategy=strategy).get_params()["strategy__inference"]
    'least_squares'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "strategies": [
            StrOptions({"auto", *mechanism.KINDS}),
            "array-like",
        ],
        "inference": [StrOptions({"graphical_model", "least_squares"})],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        strategies: str | Sequence[str] = "auto",
        *,
        inference: str = "graphical_model",
        n_restarts: int = 5,
        random_state: int = 0,
    ) -> None:
        self.strategies = strategies
        self.inference = inference
        self.n_restarts = n_restarts
        self.random_state = random_state

    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse queries, kinds and sizes that do not fit; see `Strategy.check`."""
        validate_parameters(self)
        asked = _asked(public, workload)
        asked.check(public.schema)
        if not all(1 / _MAX_WEIGHT <= w <= _MAX_WEIGHT for w in asked.weights):
            raise ValueError(
                f"The weights of a workload for HDMM must be from {1 / _MAX_WEIGHT:g} "
                f"to {_MAX_WEIGHT:g}, for it squares them; they go from "
                f"{min(asked.weights):g} to {max(asked.weights):g}."
            )
        domain = Domain.from_schema(public.schema)
        for clique in asked.cliques:
            check_table(domain, clique, max_model_size / 10)
        if terms := workload_terms(asked, domain):
            self._kinds(terms, domain, max_model_size)
        if self.inference == "graphical_model":
            _refuse_large_model(asked.cliques, public, max_model_size)

    def run(self, session: Session) -> Model:
        """Measure the best strategy; see `Strategy.run`."""
        public, is_pure = session.public, session.budget.is_pure
        max_model_size = session.fitter.max_model_size
        chosen = self.plan(public, session.workload, is_pure, max_model_size)
        if chosen is not None:
            if self.inference == "graphical_model":
                # It may join its parts in another way than the workload does.
                parts = [product.columns for product in chosen.products]
                _refuse_large_model(parts, public, max_model_size)
            session.say(
                f"chose {len(chosen.products)} parts ({chosen.kind}), expected squared "
                f"error {chosen.error:.4g} for noise of variance 1"
            )
            _measure(session, chosen)
        if self.inference == "graphical_model":
            return session.fit_model()
        domain = Domain.from_schema(public.schema)
        return solve_least_squares(session.measurements, domain, public.n_records)

    def plan(
        self,
        public: PublicFacts,
        workload: Workload | None,
        is_pure: bool = True,
        max_model_size: float = MAX_MODEL_SIZE,
    ) -> mechanism.Strategy | None:
        """Return what would be measured, with its expected error; no record is seen.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        workload : Workload or None
            What is asked for.
        is_pure : bool, default=True
            Whether the noise is to be Laplace noise, with delta = 0.
        max_model_size : float, default=1e9
            As of the estimator.

        Returns
        -------
        Strategy or None
            Its `error` times the variance of the noise, 2 (2/epsilon)^2 or 1/rho, is
            the expected squared error of all answers together by least squares. None
            if there is nothing to measure.
        """
        domain = Domain.from_schema(public.schema)
        terms = workload_terms(_asked(public, workload), domain)
        if not terms:
            return None
        kinds = self._kinds(terms, domain, max_model_size)
        sizes = tuple(axis_sizes(terms, domain).items())
        search = mechanism.Search(
            1 if is_pure else 2, int(self.n_restarts), int(self.random_state)
        )
        return mechanism.best_strategy(terms, sizes, kinds, search)

    def _kinds(
        self, terms: tuple[mechanism.Term, ...], domain: Domain, max_model_size: float
    ) -> tuple[str, ...]:
        """Return the kinds to choose from, refusing what is impossible."""
        wanted = self.strategies
        if isinstance(wanted, str):
            wanted = mechanism.KINDS if wanted == "auto" else (wanted,)
        if not len(wanted) or not set(wanted) <= set(mechanism.KINDS):
            raise ValueError(
                f"The 'strategies' of HDMM must be 'auto' or some of {mechanism.KINDS},"
                f" not {self.strategies!r}."
            )
        limit = min(max_model_size / 10, MAX_FULL)
        reasons = mechanism.possible_kinds(terms, axis_sizes(terms, domain), limit)
        possible = tuple(kind for kind in wanted if reasons[kind] is None)
        if not possible:
            why = "; ".join(f"{kind!r}: {reasons[kind]}" for kind in wanted)
            raise SchemaError(
                f"HDMM cannot serve this workload by the given strategies ({why}). Use "
                "strategies='auto'."
            )
        return possible


def _asked(public: PublicFacts, workload: Workload | None) -> Workload:
    """Return the workload; by default all pairs of columns that vary."""
    if workload is not None:
        return workload
    columns = varying_columns(public) or list(public.schema.names[:1])
    return Workload.all_marginals(columns, min(2, len(columns)))


def _refuse_large_model(
    cliques: Sequence[tuple[str, ...]], public: PublicFacts, max_model_size: float
) -> None:
    try:
        refuse_large_model(cliques, public, max_model_size)
    except ModelTooLargeError as error:
        raise ModelTooLargeError(
            f"{error} HDMM measures what the workload= of the estimator asks for; "
            "without one all pairs are asked for. inference='least_squares' needs no "
            "model."
        ) from None


def _measure(session: Session, chosen: mechanism.Strategy) -> None:
    """Measure a strategy in whole numbers and note the answers in its own units."""
    budget, n = session.budget, session.public.n_records
    price = budget.left
    # Noise in steps for a strategy whose norm is one step.
    noise = 2.0 / price if budget.is_pure else 1.0 / sqrt(price)
    scale = min(_MAX_NOISE / noise, _MAX_SUM / (n * max(chosen.weights)))
    parts = mechanism.integer_parts(chosen, 1 if budget.is_pure else 2, scale)
    queries = [LinearMarginal(part.columns, part.asked) for part in parts]
    new = session.measure(queries, price)
    session.measurements[-len(new) :] = [
        LinearMeasurement(
            m.columns, m.answer / part.unit, m.sigma / part.unit, part.query
        )
        for m, part in zip(new, parts, strict=True)
    ]
