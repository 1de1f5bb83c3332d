"""The ledger: what every answer cost, and a refusal before the budget is exceeded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
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
from .process import process_token
from .purchases import LedgerEntry, Totals

if TYPE_CHECKING:
    import pandas as pd
    from dp_accounting import DpEvent, NeighboringRelation

__all__ = ["PrivacyLedger"]


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
    failure : float in [0, delta], default=0.0
        Part of delta set aside for mechanisms that have a delta of their own, such as
        the median. Fixed beforehand: a choice that depends on earlier answers could
        spend the same delta twice.

    Attributes
    ----------
    epsilon, delta, failure : float
        The budget; read-only.
    entries : tuple of LedgerEntry
        The purchases so far, in order.

    Examples
    --------
    >>> from skdp.privacy import LedgerEntry
    >>> ledger = PrivacyLedger(1.0)
    >>> parts = ((0.5, 1),)
    >>> ledger.spend(LedgerEntry("laplace", "n", 1.0, "L1", 2.0, 0.5, 0.12, parts))
    0
    >>> ledger.total()
    0.5
    """

    def __init__(
        self, epsilon: float, delta: float = 0.0, *, failure: float = 0.0
    ) -> None:
        check_budget(epsilon, delta)
        if not 0 <= failure <= delta:
            raise ValueError(
                f"failure must lie between 0 and delta = {delta}, got {failure!r}."
            )
        self._budget = (float(epsilon), float(delta), float(failure))
        self._entries: list[LedgerEntry] = []
        self._totals = Totals()
        self._process: str | None = process_token()
        self._charged: list[BudgetAccountant] = []

    def __repr__(self) -> str:
        return (
            f"PrivacyLedger(epsilon={self.epsilon}, delta={self.delta}: "
            f"{self.total():.6g} spent on {len(self)} entries)"
        )

    @property
    def epsilon(self) -> float:
        """Epsilon of the budget."""
        return self._budget[0]

    @property
    def delta(self) -> float:
        """Delta of the budget."""
        return self._budget[1]

    @property
    def failure(self) -> float:
        """Part of delta that is set aside for mechanisms with their own."""
        return self._budget[2]

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The purchases so far, in order."""
        return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[LedgerEntry]:
        return iter(self.entries)

    def __getstate__(self) -> dict[str, Any]:
        # A copy is there to be read: to spend from it would be a second budget.
        return {**self.__dict__, "_charged": [], "_process": None}

    def spend(self, entry: LedgerEntry) -> int:
        """Enter a purchase, or refuse it and leave everything as it was.

        Parameters
        ----------
        entry : LedgerEntry
            The mechanism and its whole cost.

        Returns
        -------
        int
            Index of the entry in `entries`.

        Raises
        ------
        BudgetExceededError
            If the purchase would exceed this budget, or that of an active
            `BudgetAccountant`.
        """
        if self._process != process_token():
            raise BudgetExceededError(
                "This ledger is a copy, or was carried into a forked process: it can "
                "be read but not spent from, which would be a second budget."
            )
        with spending_lock:
            totals = self._totals.plus(entry)
            if not self._allows(totals):
                raise BudgetExceededError(self._refusal(entry, totals))
            charge_accountants((self.epsilon, self.delta), entry, self._charged)
            self._totals = totals
            self._entries.append(entry)
            return len(self._entries) - 1

    def _rest(self) -> float:
        """Return the delta that failures leave to the rules."""
        return float(as_typed(self.delta) - as_typed(self.failure))

    def _allows(self, totals: Totals) -> bool:
        if totals.delta > as_typed(self.failure):
            return False
        if totals.epsilon <= as_typed(self.epsilon):
            return True
        if self._rest() == 0:
            return False
        # The relative 1e-12 is the precision of the conversion from zCDP.
        return totals.epsilon_at(self._rest()) <= self.epsilon * (1 + 1e-12)

    def _refusal(self, entry: LedgerEntry, totals: Totals) -> str:
        cost = totals.epsilon_at(self._rest())
        reason = (
            f"it would bring the total to epsilon = {cost:.6g} at delta = "
            f"{self.delta:.3g}, beyond the budget of {self.epsilon:.6g}"
        )
        if not isfinite(entry.epsilon) and self._rest() == 0:
            reason = "it has no pure form, and this ledger has no delta for it"
        elif totals.delta > as_typed(self.failure):
            reason = (
                f"it has a delta of {entry.delta:.3g} of its own, and only "
                f"{self.failure:.3g} is set aside for such mechanisms "
                "(PrivacyLedger(..., failure=))"
            )
        return (
            f"{entry.mechanism} of {entry.query} is refused: {reason}. No record was "
            "touched."
        )

    def total(self, delta: float | None = None) -> float:
        """Return the epsilon spent so far.

        Parameters
        ----------
        delta : float in [0, 1), optional
            The delta to state it at; by default that of the budget.

        Returns
        -------
        float
            The smallest epsilon that the rules prove, with what the mechanisms' own
            deltas leave of `delta`; inf if delta is 0
            and a mechanism has no pure form.
        """
        delta = self.delta if delta is None else delta
        check_budget(self.epsilon, delta)
        return self._totals.epsilon_at(float(as_typed(delta) - self._totals.delta))

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

        If the sum of pure losses keeps within the budget, or their optimal composition
        does and zCDP does not, a composition of discrete Laplace events for the
        `PLDAccountant`, each the worst case of its epsilon. Otherwise a composition of
        zCDP events for the `RdpAccountant`: a draw of the exponential mechanism costs
        less there than the worst case of its epsilon. What the `PLDAccountant` states
        at a delta above 0 is valid if the purchases were fixed beforehand. Where
        entries have a delta of their own, ask the accountant for what their sum leaves
        of yours.

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
        if self._is_stated_by_pure_losses():
            events = [
                dp_event.SelfComposedDpEvent(dp_event.DiscreteLaplaceDpEvent(e, 1), k)
                for entry in self._entries
                for e, k in entry.parts
            ]
        else:
            events = [dp_event.ZCDpEvent(entry.rho) for entry in self._entries]
        return dp_event.ComposedDpEvent(events), relation

    def _is_stated_by_pure_losses(self) -> bool:
        """Whether it is pure losses, not zCDP, that prove the budget."""
        if not isfinite(self._totals.epsilon):
            return False
        if self._totals.epsilon <= as_typed(self.epsilon) or self._rest() <= 0:
            return True
        concentrated = dp_from_zcdp(self._totals.rho, self._rest())
        return concentrated > self.epsilon * (1 + 1e-12)


def _json_safe(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value
