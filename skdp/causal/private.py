"""What the private causal estimators share: a plan, a mechanism, a report."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

from skdp._sklearn import Interval
from skdp.base import PrivateEstimator
from skdp.causal.discovery import CausalDiscovery
from skdp.causal.skeleton import Skeleton
from skdp.exceptions import PrivacyBudgetWarning
from skdp.records import Schema
from skdp.warn import warn_user

__all__ = ["NothingToAsk", "PrivateCausalDiscovery", "default_tests", "n_pairs"]


class NothingToAsk:
    """Answers for graphs of fewer than two variables."""

    exhausted = False

    def independent(self, x: str, y: str, given: tuple[str, ...]) -> bool:
        """Refuse: there is no pair of variables to ask about."""
        raise AssertionError("There is no pair of variables to ask about.")


def n_pairs(schema: Schema) -> int:
    """Count the pairs of variables that have more than one level.

    Parameters
    ----------
    schema : Schema
        Public levels.

    Returns
    -------
    int
        The number of edges to begin with.
    """
    varying = sum(column.n_levels > 1 for column in schema)
    return varying * (varying - 1) // 2


def default_tests(schema: Schema, max_order: int | None) -> int:
    """Return the default cap on tests that are paid for one by one.

    Parameters
    ----------
    schema : Schema
        Public levels.
    max_order : int or None
        Largest size of a conditioning set.

    Returns
    -------
    int
        The number of pairs; if some tests are conditional, times three or half the
        number of other variables, whichever is more.
    """
    if max_order == 0:
        return n_pairs(schema)
    varying = sum(column.n_levels > 1 for column in schema)
    return n_pairs(schema) * max(3, (varying - 2) // 2)


class PrivateCausalDiscovery(CausalDiscovery, PrivateEstimator):
    """Base of the private estimators of a causal graph.

    A subclass implements `_answerer`: it opens a curator, fixes its plan from public
    facts, and returns who answers.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateEstimator._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "max_order": [Interval(Integral, 0, None, closed="left"), None],
        "schema": [Schema, None],
        "verbose": ["verbose"],
    }

    def _set_result(self, skeleton: Skeleton, schema: Schema) -> None:
        super()._set_result(skeleton, schema)
        self._write_report()

    def _refuse_pure(self, reason: str) -> None:
        if self.delta == 0:
            raise ValueError(
                f"{type(self).__name__} needs a delta > 0 here, for instance "
                f"delta=1e-6: {reason}. Nothing was spent."
            )

    def _warn_of_noise(self, n_records: int, remedy: str) -> None:
        advice = "" if self.delta else ", a small delta > 0"
        warn_user(
            f"With epsilon={self.epsilon} and {n_records} records the noise hides even "
            f"perfect dependence of any two columns. Spend a larger epsilon{advice}, "
            f"{remedy}, or ask about fewer columns.",
            PrivacyBudgetWarning,
        )

    def _privacy_warnings(self) -> Iterator[str]:
        yield from super()._privacy_warnings()
        if not self.is_complete_:
            yield (
                f"All {self._cap()[0]} were used up before the search ended; the edges "
                "not yet examined were kept."
            )
