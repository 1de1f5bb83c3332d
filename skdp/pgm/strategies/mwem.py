"""MWEM: measure, round by round, what the distribution so far answers worst."""

from __future__ import annotations

from math import pi, sqrt
from numbers import Integral
from typing import Any, ClassVar

from skdp._sklearn import Interval, StrOptions, validate_parameters
from skdp.graphical import Domain, Model
from skdp.graphical.size import check_table
from skdp.pgm.mwem_inference import (
    Inference,
    ModelInference,
    Tables,
    WeightsInference,
)
from skdp.pgm.session import MeasuredQuery, Session, noise_deviation
from skdp.pgm.strategies.base import Strategy, varying_columns
from skdp.pgm.workload import Workload
from skdp.queries import (
    LinearMarginal,
    Marginal,
    MarginalDistances,
    PublicFacts,
    QueryErrors,
)

__all__ = ["MWEM"]


class MWEM(Strategy):
    """Measure in T rounds what the distribution so far answers worst.

    Parameters
    ----------
    n_rounds : int or "auto", default="auto"
        Number of rounds T.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_rounds": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "candidates": [StrOptions({"marginals", "queries"})],
        "inference": [StrOptions({"graphical_model", "multiplicative_weights"})],
        "n_replays": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_rounds: int | str = "auto",
        candidates: str = "marginals",
        inference: str = "graphical_model",
        n_replays: int = 10,
    ) -> None:
        self.n_rounds = n_rounds
        self.candidates = candidates
        self.inference = inference
        self.n_replays = n_replays

    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse workloads that do not fit or whose tables are too large."""
        validate_parameters(self)
        asked = _asked(public, workload)
        asked.check(public.schema)
        domain = Domain.from_schema(public.schema)
        for clique in asked.cliques:
            check_table(domain, domain.sort(clique), max_model_size / 10)

    def run(self, session: Session) -> Model:
        """Choose and measure in rounds; see `Strategy.run`."""
        workload = _asked(session.public, session.workload)
        inference: Inference
        if self.inference == "graphical_model":
            inference = ModelInference(session)
        else:
            inference = WeightsInference(session, self.n_replays)
        n_rounds = self._n_rounds(session)
        with session.interruptible(session.measurements):
            for done in range(n_rounds):
                tables = inference.tables(workload.cliques)
                price = session.budget.share(1, of=2 * n_rounds)
                chosen = self._choose(session, workload, tables, price)
                session.say(f"round {done + 1} of {n_rounds}: chose {chosen}")
                last = done + 1 == n_rounds
                session.measure([chosen], session.budget.left if last else price)
        return inference.model()

    def _n_rounds(self, session: Session) -> int:
        if self.n_rounds != "auto":
            return int(self.n_rounds)
        return len(varying_columns(session.public))

    def _choose(
        self, session: Session, workload: Workload, tables: Tables, price: float
    ) -> MeasuredQuery:
        """Buy the choice of a candidate, each by how far the tables are off."""
        kept = [k for k, c in enumerate(workload.cliques) if c in tables]
        cliques = [workload.cliques[k] for k in kept]
        counts = [tables[clique] for clique in cliques]
        weights = [workload.weights[k] for k in kept]
        if self.candidates == "queries":
            queries = [workload.queries[k] for k in kept]
            asked = [
                Marginal(c) if q is None else LinearMarginal(c, q)
                for c, q in zip(cliques, queries, strict=True)
            ]
            answers = [
                t if q is None else q.dot(t.ravel())
                for t, q in zip(counts, queries, strict=True)
            ]
            errors = QueryErrors(asked, answers, weights)
            return errors.candidate(session.choose(errors, price))
        marginals = [Marginal(clique) for clique in cliques]
        noise = [_expected_noise(session, m, price) for m in marginals]
        scores = MarginalDistances(marginals, counts, weights, noise)
        return marginals[session.choose(scores, price)]


def _expected_noise(session: Session, marginal: Marginal, price: float) -> float:
    """Return the mean L1 norm of the noise of a table at this price."""
    is_pure, public = session.budget.is_pure, session.public
    sigma = noise_deviation(marginal, public, price, is_pure)
    mean = sigma * (sqrt(1 / 2) if is_pure else sqrt(2 / pi))
    n_cells = 1
    for size in marginal.shape(public):
        n_cells *= size
    return mean * n_cells


def _asked(public: PublicFacts, workload: Workload | None) -> Workload:
    """Return the workload, by default all pairs, without what is public anyway."""
    columns = varying_columns(public)
    if workload is None:
        return Workload.all_marginals(columns, min(2, len(columns)))
    return workload
