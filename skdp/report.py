"""The privacy report: a fit's guarantee in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skdp.privacy import LedgerEntry

__all__ = ["PrivacyReport"]

NEIGHBOURING = (
    "Replace one record: tables of the same number of records that differ in one "
    "record count as neighbours."
)


@dataclass(frozen=True)
class PrivacyReport:
    """What a fitted private estimator promises, what is public, what was bought.

    Parameters
    ----------
    estimator : str
        Name of the estimator.
    epsilon, delta : float
        The guarantee of one fit, fixed beforehand.
    spent : float
        Epsilon that the ledger adds up at `delta`; at most `epsilon`.
    n_records : int
        Number of records; public.
    public : tuple of str
        What the guarantee takes as known to everybody.
    entries : tuple of LedgerEntry
        What each part of the budget bought.
    warnings : tuple of str
        What weakens the guarantee, or was left undone.
    """

    estimator: str
    epsilon: float
    delta: float
    spent: float
    n_records: int
    public: tuple[str, ...]
    entries: tuple[LedgerEntry, ...]
    warnings: tuple[str, ...]

    @property
    def guarantee(self) -> str:
        """The guarantee in one sentence."""
        kind = f"{self.epsilon:g}"
        if self.delta:
            kind = f"({kind}, {self.delta:g})"
        return f"{self.estimator} is {kind}-differentially private."

    def _sections(self) -> dict[str, list[str]]:
        bought = [
            f"{e.mechanism}: {e.bought} on {e.query} (epsilon {e.epsilon:.4g}, rho "
            f"{e.rho:.4g})"
            for e in self.entries
        ]
        return {
            "Guarantee": [self.guarantee, NEIGHBOURING],
            "Spent": [f"epsilon {self.spent:.6g} at delta {self.delta:g}"],
            "Bought": bought or ["nothing: there was nothing to ask"],
            "Public": [f"number of records: {self.n_records}", *self.public],
            "Warnings": list(self.warnings) or ["none"],
        }

    def __str__(self) -> str:
        lines = [f"Privacy report of {self.estimator}"]
        for title, items in self._sections().items():
            lines += ["", title, *(f"  - {item}" for item in items)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [f"<h4>Privacy report of {escape(self.estimator)}</h4><dl>"]
        for title, items in self._sections().items():
            body = "<br>".join(escape(item) for item in items)
            parts.append(f"<dt><b>{title}</b></dt><dd>{body}</dd>")
        return "".join([*parts, "</dl>"])
