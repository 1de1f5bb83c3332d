"""The setting of the paper: what is measured is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skdp.graphical import MarkovRandomField
from skdp.pgm.session import MeasuredQuery, Session
from skdp.pgm.strategies.base import Strategy, refuse_large_model
from skdp.pgm.workload import Workload
from skdp.queries import LinearMarginal, Marginal, PublicFacts

__all__ = ["FixedMarginals"]


class FixedMarginals(Strategy):
    """Measure given marginals, or linear queries on them, with equal noise.

    The whole budget buys all of them at once. k tables of counts get Laplace noise of
    scale 2 k/epsilon or Gaussian noise of variance k/rho; with queries Q_k the L1
    sensitivities, and the squares of the L2 sensitivities, add up (`LinearMarginal`).

    Parameters
    ----------
    cliques : sequence of sequences of str, optional
        The sets of columns; by default those of the estimator's workload, with its
        queries.
    queries : sequence, optional
        For each set of columns a matrix with one column per cell of the marginal (see
        `skdp.graphical.linear_queries`), or None for the marginal itself.

    Examples
    --------
    >>> from skdp import PGMEstimator
    >>> strategy = FixedMarginals([("age", "sex"), ("age", "income")])
    >>> PGMEstimator(epsilon=1.0, strategy=strategy).strategy.cliques
    [('age', 'sex'), ('age', 'income')]
    """

    def __init__(
        self,
        cliques: Sequence[Sequence[str]] | None = None,
        queries: Sequence[Any] | None = None,
    ) -> None:
        self.cliques = cliques
        self.queries = queries

    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse unknown columns and models that are too large."""
        asked = self._asked(workload)
        for query in asked:
            query.check(public)
        moving = [query.names for query in asked if query.sensitivity(public, 1) > 0]
        refuse_large_model(moving, public, max_model_size)

    def run(self, session: Session) -> MarkovRandomField:
        """Measure everything once; see `Strategy.run`."""
        session.measure(self._asked(session.workload), session.budget.left)
        return session.fit_model()

    def _asked(self, workload: Workload | None) -> list[MeasuredQuery]:
        if self.cliques is not None:
            workload = Workload(self.cliques, queries=self.queries)
        if workload is None or not workload.cliques:
            raise ValueError(
                "FixedMarginals needs cliques=, or a workload= of the estimator, with "
                "at least one set of columns."
            )
        return [
            Marginal(columns) if query is None else LinearMarginal(columns, query)
            for columns, query in zip(workload.cliques, workload.queries, strict=True)
        ]
