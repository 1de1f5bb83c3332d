"""MWEM: measure, round by round, what the distribution so far answers worst."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from skdp._sklearn import Interval, StrOptions, validate_parameters
from skdp.graphical import Domain, LinearQuery, Model
from skdp.graphical.single_queries import row_ranges
from skdp.graphical.size import check_queries, check_table
from skdp.pgm.mwem_inference import Inference, ModelInference, Tables, WeightsInference
from skdp.pgm.mwem_prices import most_steps
from skdp.pgm.mwem_rounds import default_rounds, expected_noise
from skdp.pgm.session import MeasuredQuery, Session
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
    """Measure, in rounds, what the distribution so far answers worst.

    The budget (epsilon, or rho with delta > 0) is cut into 2 T equal parts. Each of T
    rounds spends one to choose among the workload's questions by the exponential
    mechanism, and one to measure what was chosen; the last spends what is left.

    * ``candidates="queries"``: every single query is a candidate, a cell of a table
      or a row of a query matrix, and scores ``w |q(D) - q(model)|`` with the weight w
      of its set of columns. Replacing a record changes a score by no more than w times
      the largest change of the answer, 1 for queries of zeros and ones. The answer
      gets Laplace noise of scale 2 T/epsilon or Gaussian noise of variance T/rho.
    * ``candidates="marginals"``: every set of columns is a candidate, with the score
      ``w (||M(D) - M(model)||_1 - expected L1 norm of the noise)``, which changes by at
      most 2 w. The whole table is measured, with Laplace noise of scale 4 T/epsilon or
      Gaussian noise of variance 2 T/rho; the workload's query matrices, which follow
      from it, do not matter.

    A row of equal entries asks for a multiple of the public number of records and is no
    candidate; without candidates, nothing is spent and the model is uniform.

    A set of columns is left out of a round if the model would become too large with it,
    which depends on what was measured before and on public facts alone.

    Parameters
    ----------
    candidates : {"queries", "marginals"}, default="queries"
        What a round chooses among. Single queries suit large tables, whose cells drown
        in noise; marginals suit small ones.
    n_rounds : int or "auto", default="auto"
        Number of rounds T. "auto" takes the largest T, up to 50 and for queries
        to their number, for which

        * a query is chosen well: ``n sqrt(log(X)/T) >= 5 log(Q)/e``, with X the number
          of cells of all the workload's columns together, Q that of its queries and e
          the epsilon of one draw. With delta = 0 this is where the published bound is
          smallest, ``T = (n epsilon sqrt(log X)/(10 log Q))^(2/3)``;
        * a marginal is measured well: the noise of the T-th smallest table has an
          expected L1 norm of at most n. No more rounds than tables or columns.
    inference : {"graphical_model", "multiplicative_weights"}, default="graphical_model"
        How the answers are combined: a graphical model is fitted to all of them after
        each round, or they update a table of probabilities, as published. The table is
        factored over the groups of columns that measurements join; each of these may
        have a tenth of ``max_model_size`` cells, and where whole marginals are measured
        a thousandth, since every update goes through all of them.
    n_replays : int >= 0, default=20
        With multiplicative weights: after the update by a new answer, so many passes
        over all answers so far. The last iterate is the result.

    References
    ----------
    Hardt, Ligett, McSherry, *A simple and practical algorithm for differentially
    private data release*, NeurIPS 2012. Replays and the last iterate are their
    improvements; the basic algorithm has no replays and returns an average.

    Examples
    --------
    >>> from skdp import PGMEstimator
    >>> from skdp.datasets import load_bayesian_network
    >>> from skdp.pgm import Workload
    >>> network = load_bayesian_network("survey")
    >>> X = network.sample(20_000, random_state=0)
    >>> pairs = Workload.all_marginals(network.schema.names, 2)
    >>> model = PGMEstimator(
    ...     strategy=MWEM("marginals", n_rounds=4),
    ...     workload=pairs, schema=network.schema, random_state=0,
    ... ).fit(X)
    >>> [entry.mechanism for entry in model.ledger_][:2]
    ['exponential', 'laplace']
    >>> len(model.measurements_)
    4
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "candidates": [StrOptions({"queries", "marginals"})],
        "n_rounds": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "inference": [StrOptions({"graphical_model", "multiplicative_weights"})],
        "n_replays": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        candidates: str = "queries",
        n_rounds: int | str = "auto",
        inference: str = "graphical_model",
        n_replays: int = 20,
    ) -> None:
        self.candidates = candidates
        self.n_rounds = n_rounds
        self.inference = inference
        self.n_replays = n_replays

    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse workloads that do not fit or whose tables are too large."""
        validate_parameters(self)
        if workload is not None:
            workload.check(public.schema)
        domain = Domain.from_schema(public.schema)
        asked = _asked(public, workload)
        for clique in asked.cliques:
            check_table(domain, domain.sort(clique), max_model_size / 20)
        if self.candidates == "queries":
            check_queries(asked.linear(public.schema), max_model_size)
        if self.inference == "multiplicative_weights" and asked.cliques:
            smallest = min(asked.cliques, key=domain.n_cells)
            check_table(domain, smallest, self._largest_group(max_model_size))

    def _largest_group(self, max_model_size: float) -> float:
        """Return the most cells of a table of probabilities."""
        # A row updates a few classes of levels, a whole table every cell.
        return max_model_size / (10 if self.candidates == "queries" else 1000)

    def run(self, session: Session) -> Model:
        """Choose and measure in rounds; see `Strategy.run`."""
        workload = self._candidates(_asked(session.public, session.workload))
        inference = self._inference(session, workload)
        if not workload.cliques:
            return inference.model()
        n_rounds = self._n_rounds(session, workload)
        price = session.budget.share(1, of=2 * n_rounds)
        steps = most_steps(workload, session.public, self.candidates)
        session.refuse_steps(steps, price)
        with session.interruptible(session.measurements):
            for done in range(n_rounds):
                tables = inference.tables(workload.cliques)
                chosen = self._choose(session, workload, tables, price)
                session.say(
                    f"round {done + 1} of {n_rounds}, model of {inference.n_cells} "
                    f"cells: chose {_described(chosen)}"
                )
                is_last = done + 1 == n_rounds
                session.measure([chosen], session.budget.left if is_last else price)
        return inference.model()

    def _candidates(self, workload: Workload) -> Workload:
        """Leave out parts without a single query that a record can change."""
        if self.candidates == "marginals":
            return workload
        return _part(
            workload, [k for k, q in enumerate(workload.queries) if _varies(q)]
        )

    def _inference(self, session: Session, workload: Workload) -> Inference:
        if self.inference == "graphical_model":
            return ModelInference(session, workload.cliques)
        largest = self._largest_group(session.fitter.max_model_size)
        return WeightsInference(session, int(self.n_replays), largest)

    def _n_rounds(self, session: Session, workload: Workload) -> int:
        if self.n_rounds == "auto":
            return default_rounds(
                session.public, session.budget, workload, self.candidates
            )
        return int(self.n_rounds)

    def _choose(
        self, session: Session, workload: Workload, tables: Tables, price: float
    ) -> MeasuredQuery:
        """Buy the choice of a candidate, each by how far the tables are off."""
        places = [k for k, c in enumerate(workload.cliques) if c in tables]
        weights = [workload.weights[k] for k in places]
        counts = [tables[workload.cliques[k]] for k in places]
        if self.candidates == "queries":
            asked = [_question(workload, k) for k in places]
            answers = [_answer(q, t) for q, t in zip(asked, counts, strict=True)]
            errors = QueryErrors(asked, answers, weights)
            return errors.candidate(session.choose(errors, price))
        marginals = [Marginal(workload.cliques[k]) for k in places]
        is_pure = session.budget.is_pure
        noise = [expected_noise(session.public, is_pure, m, price) for m in marginals]
        distances = MarginalDistances(marginals, counts, weights, noise)
        return marginals[session.choose(distances, price)]


def _asked(public: PublicFacts, workload: Workload | None) -> Workload:
    """Return what can be asked: the workload, by default all pairs.

    Left out are sets of columns with a single cell, whose count is n.
    """
    varying = varying_columns(public)
    if workload is None:
        n = min(2, len(varying))
        return Workload.all_marginals(varying, n) if n else Workload([])
    sets = enumerate(workload.cliques)
    return _part(workload, [k for k, c in sets if set(c) & set(varying)])


def _varies(query: LinearQuery | None) -> bool:
    """Whether the entries of any row are not all equal."""
    if query is None:
        return True
    low, high = row_ranges(query)
    return bool((high > low).any())


def _part(workload: Workload, places: list[int]) -> Workload:
    return Workload(
        [workload.cliques[k] for k in places],
        [workload.weights[k] for k in places],
        [workload.queries[k] for k in places],
    )


def _question(workload: Workload, place: int) -> MeasuredQuery:
    clique, query = workload.cliques[place], workload.queries[place]
    return Marginal(clique) if query is None else LinearMarginal(clique, query)


def _answer(question: MeasuredQuery, table: Any) -> Any:
    """Answer from a table of the model."""
    if isinstance(question, Marginal):
        return table
    return question.query.dot(table.ravel())


def _described(chosen: MeasuredQuery) -> str:
    columns = ", ".join(chosen.names)
    return columns if isinstance(chosen, Marginal) else f"a query on {columns}"
