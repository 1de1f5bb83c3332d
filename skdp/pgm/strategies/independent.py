"""Every column by itself."""

from __future__ import annotations

from typing import ClassVar

from skdp.graphical import MarkovRandomField
from skdp.pgm.session import Session
from skdp.pgm.strategies.base import (
    Strategy,
    one_way,
    refuse_large_model,
    varying_columns,
)
from skdp.pgm.workload import Workload
from skdp.queries import PublicFacts

__all__ = ["Independent"]


class Independent(Strategy):
    """Measure the marginal of every column and model them as independent.

    The whole budget buys the d tables at once: Laplace noise of scale 2 d/epsilon, or
    Gaussian noise of variance d/rho.

    Examples
    --------
    >>> from skdp import PGMEstimator
    >>> PGMEstimator(strategy=Independent()).strategy
    Independent()
    """

    uses_workload: ClassVar[bool] = False

    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse a column with too many levels; see `Strategy.check`."""
        columns = varying_columns(public)
        refuse_large_model([(name,) for name in columns], public, max_model_size)

    def run(self, session: Session) -> MarkovRandomField:
        """Measure everything once; see `Strategy.run`."""
        columns = varying_columns(session.public)
        session.measure(one_way(columns), session.budget.left)
        return session.fit_model()
