"""The ledger: what every answer cost, and a refusal before the budget is exceeded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from skdp.exceptions import BudgetExceededError

from .accounting import dp_from_zcdp
from .budget import (
    BudgetAccountant,
    as_typed,
    charge_accountants,
    check_budget,
    spending_lock,
)
from .plans import best_composition_epsilon

if TYPE_CHECKING:
    import pandas as pd
    from dp_accounting import DpEvent, NeighboringRelation

__all__ = ["LedgerEntry", "PrivacyLedger"]


@dataclass(frozen=True)
class LedgerEntry:
    """One purchase: a mechanism with its whole cost.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    query : str
        What was asked.
    sensitivity : float
        Replace-one sensitivity that the noise was scaled to, in units of the answer;
        1 for mechanisms that divide every question by its own sensitivity.
    norm : str
        Norm of the sensitivity: "L1", "L2" or "Linf".
    scale : float
        Scale of the noise in units of the answer (Laplace: b; Gaussian: standard
        deviation); nan where the mechanism has no single one.
    epsilon : float
        Loss as pure differential privacy; inf if there is none.
    rho : float
        Loss as zero-concentrated differential privacy.
    parts : tuple of (float, int), default=()
        The pure mechanisms of which the purchase is made, as (epsilon, count), all
        fixed before the first answer; empty if it is not pure.
    bought : str, default=""
        What the money bought, in words.
    delta : float, default=0.0
        Probability with which the losses above may be exceeded.
    """

    mechanism: str
    query: str
    sensitivity: float
    norm: str
    scale: float
    epsilon: float
    rho: float
    parts: tuple[tuple[float, int], ...] = ()
    bought: str = ""
    delta: float = 0.0


@dataclass(repr=False)
class PrivacyLedger:
    """A budget for one sequence of mechanisms, and what was spent of it.

    The guarantee is the budget, fixed beforehand. `total` is an audit figure that never
    exceeds it. A purchase is refused if neither the sum of pure losses nor the sum
    of zCDP losses (nor, for a single purchase, the optimal composition of its parts)
    keeps within the budget; each of these rules holds for purchases that are chosen
    in the light of earlier answers.

    Parameters
    ----------
    epsilon : float > 0
        Budget, finite.
    delta : float in [0, 1), default=0.0
        Budget.

    Attributes
    ----------
    entries : tuple of LedgerEntry
        The purchases so far, in order.

    Examples
    --------
    >>> ledger = PrivacyLedger(1.0)
    >>> parts = ((0.5, 1),)
    >>> ledger.spend(LedgerEntry("laplace", "n", 1.0, "L1", 2.0, 0.5, 0.12, parts))
    >>> ledger.total()
    0.5
    """

    epsilon: float
    delta: float = 0.0
    _entries: list[LedgerEntry] = field(default_factory=list, repr=False)
    _charged: list[BudgetAccountant] = field(
        default_factory=list, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        self.epsilon, self.delta = float(self.epsilon), float(self.delta)

    def __repr__(self) -> str:
        return (
            f"PrivacyLedger(epsilon={self.epsilon}, delta={self.delta}: "
            f"{self.total():.6g} spent on {len(self)} entries)"
        )

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The purchases so far, in order."""
        return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[LedgerEntry]:
        return iter(self.entries)

    def __getstate__(self) -> dict[str, Any]:
        # Which accountants were charged is a matter of this process alone.
        return {**self.__dict__, "_charged": []}

    def spend(self, entry: LedgerEntry) -> None:
        """Enter a purchase, or refuse it and leave everything as it was.

        Parameters
        ----------
        entry : LedgerEntry
            The mechanism and its whole cost.

        Raises
        ------
        BudgetExceededError
            If the purchase would exceed this budget, or that of an active
            `BudgetAccountant`.
        """
        with spending_lock:
            entries = [*self._entries, entry]
            if not self._allows(entries):
                raise BudgetExceededError(self._refusal(entries))
            charge_accountants(
                (self.epsilon, self.delta), (entry.rho, entry.delta), self._charged
            )
            self._entries.append(entry)

    def _refusal(self, entries: list[LedgerEntry]) -> str:
        entry, cost = entries[-1], _total(entries, self.delta)
        reason = (
            f"it would bring the total to epsilon = {cost:.6g} at delta = "
            f"{self.delta:.3g}, beyond the budget of {self.epsilon:.6g}"
        )
        if not isfinite(entry.epsilon) and self.delta == 0:
            reason = "it has no pure form, and this ledger's delta is 0"
        return (
            f"{entry.mechanism} of {entry.query} is refused: {reason}. No record was "
            "touched."
        )

    def _allows(self, entries: list[LedgerEntry]) -> bool:
        rest = _delta_left(entries, self.delta)
        if rest >= 0 and _pure_total(entries) <= self.epsilon:
            return True
        if rest <= 0:
            return False
        # The relative 1e-12 is the precision of the conversion from zCDP.
        return _total(entries, self.delta) <= self.epsilon * (1 + 1e-12)

    def total(self, delta: float | None = None) -> float:
        """Return the epsilon spent so far.

        Parameters
        ----------
        delta : float in [0, 1), optional
            The delta to state it at; by default that of the budget.

        Returns
        -------
        float
            The smallest epsilon that the rules named above prove; inf if delta is 0
            and a mechanism has no pure form.
        """
        delta = self.delta if delta is None else delta
        check_budget(self.epsilon, delta)
        return _total(self._entries, delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the budget, the totals and the entries as plain values.

        Returns
        -------
        dict
            Keys epsilon, delta, total_epsilon, neighbouring and entries.
        """
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "total_epsilon": self.total(),
            "neighbouring": "replace one record; the number of records is public",
            "entries": [asdict(entry) for entry in self._entries],
        }

    def to_json(self) -> str:
        """Return the ledger as JSON (infinities as the string "inf").

        Returns
        -------
        str
            A JSON object, see `to_dict`.
        """
        return json.dumps(_json_safe(self.to_dict()), allow_nan=False)

    def to_frame(self) -> pd.DataFrame:
        """Return the entries as a pandas DataFrame, one row each.

        Returns
        -------
        pandas.DataFrame
            Columns as the fields of `LedgerEntry`.

        Raises
        ------
        ImportError
            If pandas is not installed; `to_dict` needs nothing.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas (pip install pandas); to_dict does not."
            ) from error
        columns = list(LedgerEntry.__dataclass_fields__)
        return pd.DataFrame([asdict(e) for e in self._entries], columns=columns)

    def to_dp_event(self) -> tuple[DpEvent, NeighboringRelation]:
        """Return the ledger in the terms of the dp-accounting library.

        If every purchase is pure, a composition of discrete Laplace events, each the
        worst case of its epsilon, for the `PLDAccountant`; it states the optimal
        composition, which is valid if the purchases were fixed beforehand, as they
        are in every estimator of this package. Otherwise a composition of zCDP
        events for the `RdpAccountant`. Where entries have a delta of their own, ask the
        accountant for what their sum leaves of yours.

        Returns
        -------
        event : dp_accounting.DpEvent
            The composed event.
        relation : dp_accounting.NeighboringRelation
            The relation to give to the accountant. Sensitivities are for replace-one
            already, so that it is ADD_OR_REMOVE_ONE.
        """
        from dp_accounting import NeighboringRelation, dp_event

        relation = NeighboringRelation.ADD_OR_REMOVE_ONE
        if all(isfinite(entry.epsilon) for entry in self._entries):
            events = [
                dp_event.SelfComposedDpEvent(dp_event.DiscreteLaplaceDpEvent(e, 1), k)
                for entry in self._entries
                for e, k in entry.parts
            ]
        else:
            events = [dp_event.ZCDpEvent(entry.rho) for entry in self._entries]
        return dp_event.ComposedDpEvent(events), relation


def _total(entries: list[LedgerEntry], delta: float) -> float:
    """Return the smallest epsilon that a rule for adaptive purchases proves.

    A mechanism of (epsilon, delta) is one of epsilon that fails with probability delta,
    so that the deltas of the entries add up and leave the rest to the rules.
    """
    rest = _delta_left(entries, delta)
    if rest < 0:
        return inf
    pure = _pure_total(entries)
    if rest == 0:
        return pure
    rho = sum(entry.rho for entry in entries)
    concentrated = dp_from_zcdp(rho, rest) if isfinite(rho) else inf
    optimal = inf
    paid = [entry for entry in entries if entry.epsilon > 0]
    if len(paid) == 1 and paid[0].parts:
        optimal, _ = best_composition_epsilon(paid[0].parts, rest)
    return min(pure, concentrated, optimal)


def _delta_left(entries: list[LedgerEntry], delta: float) -> float:
    spent = sum((as_typed(entry.delta) for entry in entries), Fraction(0))
    return float(as_typed(delta) - spent)


def _pure_total(entries: list[LedgerEntry]) -> float:
    losses = [entry.epsilon for entry in entries]
    if not all(isfinite(loss) for loss in losses):
        return inf
    return float(sum(map(as_typed, losses), Fraction(0)))


def _json_safe(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value
