"""One noisy table of all variables, and the search on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.causal.answerers import EvidenceAnswerer
from skdp.causal.findings import Findings, SearchSettings
from skdp.causal.skeleton import Progress, learn_skeleton
from skdp.privacy import Curator
from skdp.queries import Marginal, PublicFacts
from skdp.stats.evidence import IndependenceTest, KeepRule
from skdp.stats.released_tables import ReleasedTable

__all__ = ["TableRelease", "denoised"]

_RULE = KeepRule(kappa=0.5, least_noncentrality=3.0)


@dataclass(frozen=True)
class TableRelease:
    """The contingency table of all variables with discrete Laplace noise.

    Parameters
    ----------
    table : ReleasedTable
        Noisy counts.
    n_records : int
        Public number of records.
    """

    table: ReleasedTable
    n_records: int

    @classmethod
    def of(cls, curator: Curator, names: Sequence[str], epsilon: float) -> TableRelease:
        """Buy the table.

        Parameters
        ----------
        curator : Curator
            Holds the records.
        names : sequence of str
            The variables.
        epsilon : float
            Price; pure differential privacy.

        Returns
        -------
        TableRelease
            All that follows is post-processing.
        """
        counts = curator.laplace(Marginal(tuple(names)), epsilon=epsilon)
        scale = curator.ledger.entries[-1].scale
        table = ReleasedTable(
            tuple(names), counts.astype(float), discrete_laplace_variance(scale)
        )
        return cls(table, curator.public.n_records)

    @staticmethod
    def noise_in_all_cells(public: PublicFacts, epsilon: float) -> float:
        """Return the standard deviation of the noise in the sum of all cells.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        epsilon : float
            Price of the table.

        Returns
        -------
        float
            In records.
        """
        return sqrt(public.schema.size * discrete_laplace_variance(2 / epsilon))

    @property
    def counts(self) -> dict[tuple[str, ...], NDArray[np.float64]]:
        """The noisy counts by their columns."""
        return {self.table.names: self.table.counts}

    def search(self, settings: SearchSettings, progress: Progress | None) -> Findings:
        """Learn a skeleton from the table.

        Parameters
        ----------
        settings : SearchSettings
            How.
        progress : callable or None
            See `learn_skeleton`.

        Returns
        -------
        Findings
            Without any further cost.
        """
        table = denoised(self.table, self.n_records, settings.denoise)

        def test(x: str, y: str, given: tuple[str, ...]) -> IndependenceTest:
            return settings.table_test(*table.strata(x, y, given))

        level = settings.level(self.n_records, lenient=True)
        answerer = EvidenceAnswerer(test, level, _RULE if settings.keep_rule else None)
        skeleton = learn_skeleton(
            self.table.names,
            answerer,
            max_order=settings.max_order,
            progress=progress,
        )
        return Findings(skeleton, answerer.edges(skeleton.graph))


def discrete_laplace_variance(scale: float) -> float:
    """Return the variance of discrete Laplace noise.

    Parameters
    ----------
    scale : float > 0
        The probability of k falls as exp(-|k|/scale).

    Returns
    -------
    float
        2a/(1 - a)^2 with a = exp(-1/scale).
    """
    if scale > 1e8:  # the limit, before the root of the denominator underflows
        return 2 * scale * scale
    # In this form nothing cancels at a large scale, and nothing overflows at a small.
    return 2 * exp(-1 / scale) / expm1(-1 / scale) ** 2


def denoised(table: ReleasedTable, n_records: int, how: str | None) -> ReleasedTable:
    """Denoise a table as the name says.

    Parameters
    ----------
    table : ReleasedTable
        As released.
    n_records : int
        Public number of records.
    how : {"full", "calibrated"} or None
        None leaves it as it is.

    Returns
    -------
    ReleasedTable
        See its methods `projected` and `calibrated`.
    """
    if how == "calibrated":
        return table.calibrated(n_records)
    return table if how is None else table.projected(n_records)
