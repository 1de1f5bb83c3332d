"""DualQuery: records that make up for drawn queries, and what the draws tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skdp._sklearn import Interval, StrOptions, validate_parameters
from skdp.graphical import Domain, EmpiricalDistribution, Model
from skdp.graphical.draw_likelihood import DrawLikelihood
from skdp.graphical.max_sum import max_sum
from skdp.graphical.single_queries import SingleQueries
from skdp.graphical.size import check_queries, check_table
from skdp.pgm.draw_schedule import DrawSchedule, plan_draws
from skdp.pgm.session import Session
from skdp.pgm.strategies.base import Strategy, refuse_large_model, varying_columns
from skdp.pgm.workload import Workload
from skdp.queries import AnswerGaps, LinearMarginal, PublicFacts

__all__ = ["DualQuery"]

Codes = NDArray[np.intp]


class DualQuery(Strategy):
    r"""Draw queries that synthetic records answer badly, and add records that help.

    Each single query q of the workload, scaled to values in [0, 1], is there with its
    negation 1 - q. In round t

    1. s queries are drawn, independently, with probabilities proportional to
       :math:`\exp(\eta \sum_{r<t} (q(D) - q(x_r)))`, q(D) being the mean over the
       records and :math:`x_r` the synthetic record of round r;
    2. :math:`x_t` is a record with the largest sum of the drawn queries: no record of D
       is looked at. It is found exactly, by elimination of columns
       (`skdp.graphical.max_sum`), or by a local search where that would be too large,
       which `verbose` tells.

    Only the draws are private. Each is an exponential mechanism: with :math:`n` records
    and t - 1 synthetic ones, replacing a record changes the exponent by at most
    :math:`\eta (t - 1)/n`, so that a draw costs :math:`\varepsilon_t = 2 \eta (t-1)/n`,
    which is :math:`\varepsilon_t^2/8`-zCDP. The first round is free, its queries being
    uniform. All T rounds cost :math:`\eta s T (T - 1)/n`, or
    :math:`\eta^2 s (T-1) T (2T-1)/(12 n^2)` as zCDP; see `skdp.pgm.draw_schedule`. The
    budget fixes one of eta, s and T, and is spent exactly.

    Parameters
    ----------
    n_rounds : int >= 2 or "auto", default="auto"
        T.
    samples_per_round : int from 1 to 2^20, or "auto", default="auto"
        s.
    learning_rate : float > 0 or "auto", default="auto"
        eta. If it is given, what is left of the last whole draw or round raises it.
    inference : {"graphical_model", "synthetic_records"}, default="graphical_model"
        What is made of the draws: the graphical model on the cliques of the workload
        under which they are most likely, with a pull towards the uniform distribution
        (`tau` of the estimator) of 1/sigma, sigma being the noise of which a count
        would tell as much; or the T synthetic records, as published. Both buy the same
        draws.

    Notes
    -----
    The workload defaults to all pairs of columns. Its weights scale the ranges of the
    queries, the largest to 1. With "graphical_model" a model on all cliques of the
    workload must fit `max_model_size`.

    References
    ----------
    Gaboardi, Gallego Arias, Hsu, Roth, Wu, *Dual Query: practical private query release
    for high dimensional data*, 2014. McKenna, Sheldon, Miklau, *Graphical-model based
    estimation and inference for differential privacy*, 2019.

    Examples
    --------
    >>> from skdp import PGMEstimator
    >>> estimator = PGMEstimator(strategy=DualQuery(n_rounds=30))
    >>> estimator.get_params()["strategy__n_rounds"]
    30
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_rounds": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "samples_per_round": [
            Interval(Integral, 1, 2**20, closed="both"),
            StrOptions({"auto"}),
        ],
        "learning_rate": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "inference": [StrOptions({"graphical_model", "synthetic_records"})],
    }

    def __init__(
        self,
        n_rounds: int | str = "auto",
        samples_per_round: int | str = "auto",
        learning_rate: float | str = "auto",
        inference: str = "graphical_model",
    ) -> None:
        self.n_rounds = n_rounds
        self.samples_per_round = samples_per_round
        self.learning_rate = learning_rate
        self.inference = inference

    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse a workload whose model is too large; see `Strategy.check`."""
        validate_parameters(self)
        asked = _asked(public, workload)
        domain = Domain.from_schema(public.schema)
        for clique in asked.cliques:
            check_table(domain, clique, max_model_size / 10)
        if self.inference == "graphical_model":
            refuse_large_model(asked.cliques, public, max_model_size)
        check_queries(asked.linear(public.schema), max_model_size)

    def run(self, session: Session) -> Model:
        """Draw and answer in turns; see `Strategy.run`."""
        game = _Game(session, _asked(session.public, session.workload))
        session.asked += game.asked.cliques
        if not game.queries.scales.any():  # nothing tells two records apart
            return session.fit_model()
        with_model = self.inference == "graphical_model"
        if with_model:
            session.fitter.check_custom_loss()
        schedule = plan_draws(
            session.budget,
            session.public.n_records,
            self.n_rounds,
            self.samples_per_round,
            self.learning_rate,
        )
        with session.interruptible(game.records):
            for k in range(schedule.n_rounds):
                game.play(k, schedule)
        if not with_model:
            domain, n = game.queries.domain, session.public.n_records
            return EmpiricalDistribution(domain, np.array(game.records), n)
        draws = game.draws[: len(game.records)]  # interrupted, one may be alone
        loss = DrawLikelihood(
            game.queries, session.public.n_records, schedule.eta, draws, game.records
        )
        # At the truth, a draw among many queries costs about what a uniform one does.
        expected = sum(map(len, draws)) * log(2 * len(game.queries))
        return session.fit_loss(loss, game.asked.cliques, expected, 1.0 / loss.sigma)


@dataclass
class _Game:
    """What was drawn, and which records answered it."""

    session: Session
    asked: Workload
    draws: list[Codes] = field(default_factory=list)
    records: list[Codes] = field(default_factory=list)

    def __post_init__(self) -> None:
        schema, asked = self.session.schema, self.asked
        largest = max(asked.weights)
        self.weights = [weight / largest for weight in asked.weights]
        self.queries = SingleQueries(
            Domain.from_schema(schema),
            asked.cliques,
            asked.linear(schema),
            self.weights,
        )
        self.answers = np.zeros(len(self.queries))  # of the records so far, added up
        # Public: for the free round, and to choose among records that are as good.
        self.rng = np.random.default_rng(0)

    def play(self, k: int, schedule: DrawSchedule) -> None:
        """Draw queries and add a record, when there are k."""
        m = len(self.queries)
        if k == 0:
            drawn = self.rng.integers(0, 2 * m, size=schedule.n_draws)
        else:
            price = schedule.price(k, self.session.budget)
            drawn = self.session.draw(self._gaps(k), price, schedule.n_draws)
        self.draws.append(drawn)
        numbers, repeats = np.unique(drawn, return_counts=True)
        terms = [
            self.queries.term(int(q % m), float(repeat if q < m else -repeat))
            for q, repeat in zip(numbers, repeats, strict=True)
        ]
        record, exact = max_sum(self.queries.domain, terms, self.rng)
        self.records.append(record)
        self.answers = self.answers + self.queries.of_record(record)
        how = "the best record" if exact else "a good record, by search,"
        self.session.say(
            f"round {k + 1} of {schedule.n_rounds}: drew {schedule.n_draws} of "
            f"{2 * m} queries and added {how} for them"
        )

    def _gaps(self, k: int) -> AnswerGaps:
        parts = zip(self.asked.cliques, self.queries.queries, strict=True)
        queries = [LinearMarginal(clique, query) for clique, query in parts]
        return AnswerGaps(queries, self.queries.split(self.answers), k, self.weights)


def _asked(public: PublicFacts, workload: Workload | None) -> Workload:
    """Return the workload, by default all pairs of columns."""
    if workload is None:
        columns = varying_columns(public) or list(public.schema.names)[:1]
        return Workload.all_marginals(columns, min(2, len(columns)))
    workload.check(public.schema)
    return workload
