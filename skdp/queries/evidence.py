"""Evidence of chi-square tests as a query, for a median over blocks of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skdp.stats import chi2_pvalue, g2_pvalue

from .base import Norm, PublicFacts, Query, check_norm

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["DependenceEvidence"]

_TESTS = {"chi2": chi2_pvalue, "g2": g2_pvalue}


@dataclass(frozen=True)
class DependenceEvidence(Query):
    """One minus the p-value of conditional independence by a chi-square test.

    Near 1 for dependence, uniform under independence. It lies between 0 and 1 and can
    go from end to end when a record is replaced, so that its sensitivity is 1: noise
    of that size hides everything. It is meant for `Curator.median_tests`, where its
    sensitivity does not matter.

    Parameters
    ----------
    x, y : str
        The two columns.
    given : tuple of str, default=()
        The columns whose joint levels are the strata.
    test : {"chi2", "g2"}, default="chi2"
        Pearson's statistic or the likelihood-ratio statistic.
    """

    x: str
    y: str
    given: tuple[str, ...] = ()
    test: str = "chi2"

    def __post_init__(self) -> None:
        given = (self.given,) if isinstance(self.given, str) else tuple(self.given)
        object.__setattr__(self, "given", given)
        if len({self.x, self.y, *given}) < 2 + len(given):
            raise ValueError(f"A column is named twice: {self.columns}.")
        if self.test not in _TESTS:
            raise ValueError(f"test must be one of {sorted(_TESTS)}, got {self.test}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The two columns, then the conditioning ones."""
        return (self.x, self.y, *self.given)

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (), the shape of a scalar."""
        return ()

    def evaluate(self, records: CountTable) -> NDArray:
        """Compute the evidence. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray of float, shape ()
            From 0 to 1; 0 where no stratum can show a dependence.
        """
        tables = records.strata(self.x, self.y, self.given)
        return np.asarray(1.0 - _TESTS[self.test](tables))

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Return 1, the length of the range; 0 if a variable has one level.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change; all agree for a scalar.

        Returns
        -------
        float
            The bound.
        """
        check_norm(ord)
        levels = (public.schema.n_levels(name) for name in (self.x, self.y))
        return 0.0 if min(levels) == 1 or public.n_records < 2 else 1.0
