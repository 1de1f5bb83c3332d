"""The privacy report: a fit's guarantee, and what it bought, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import fsum, isclose, isfinite
from typing import TYPE_CHECKING

from skdp.privacy import dp_from_zcdp

if TYPE_CHECKING:
    from skdp.privacy import LedgerEntry

__all__ = ["PrivacyReport", "composition_in_words", "purchase_in_words"]

NEIGHBOURING = (
    "Replace one record: tables of the same number of records that differ in one "
    "record count as neighbours."
)
# What the parts of one round are called.
_ROUNDS = {
    "sieve_and_examine": ("a sieve", "an examination"),
    "sparse_vector": ("a sieve",),
}


def purchase_in_words(entry: LedgerEntry) -> str:
    """Say what was bought and what each part of it cost.

    Parameters
    ----------
    entry : LedgerEntry
        The purchase.

    Returns
    -------
    str
        A phrase without a full stop.
    """
    names = _ROUNDS.get(entry.mechanism, ())
    if names and len(names) == len(entry.parts):
        prices = [f"{epsilon:.3g} each" for epsilon, _ in entry.parts]
        prices[0] = f"epsilon {prices[0]}"
        phrases = (f"{n} ({p})" for n, p in zip(names, prices, strict=True))
        rounds = entry.parts[0][1]
        plural = "" if rounds == 1 else "s"
        return f"{rounds} round{plural} of {' and '.join(phrases)}"
    price = f"epsilon {entry.epsilon:.4g}"
    if not isfinite(entry.epsilon):
        price = f"rho {entry.rho:.4g}"
    if entry.delta:
        price += f", delta {entry.delta:.3g}"
    return f"{entry.mechanism}: {entry.bought} on {entry.query} ({price})"


def composition_in_words(
    entries: Sequence[LedgerEntry], spent: float, delta: float
) -> str:
    """Say how the purchases compose to what was spent.

    Parameters
    ----------
    entries : sequence of LedgerEntry
        The purchases.
    spent : float
        Epsilon of all of them, by the best rule.
    delta : float
        The delta that it is stated at.

    Returns
    -------
    str
        A phrase without a full stop.
    """
    added = fsum(entry.epsilon for entry in entries)
    if isclose(added, spent, rel_tol=1e-9):
        return f"adding up costs epsilon {spent:.4g}"
    rule = "optimal composition"
    rest = delta - fsum(entry.delta for entry in entries)
    if rest > 0:
        concentrated = dp_from_zcdp(fsum(entry.rho for entry in entries), rest)
        if isclose(concentrated, spent, rel_tol=1e-9):
            rule = "zCDP composition"
    proof = f"{rule} proves {spent:.4g} at delta {delta:g}"
    if not isfinite(added):
        return proof
    return f"adding up would cost epsilon {added:.4g}, {proof}"


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
        return {
            "Guarantee": [self.guarantee, NEIGHBOURING],
            "Spent": [f"epsilon {self.spent:.6g} at delta {self.delta:g}"],
            "Bought": self._bought(),
            "Public": [f"number of records: {self.n_records}", *self.public],
            "Warnings": list(self.warnings) or ["none"],
        }

    def _bought(self) -> list[str]:
        if not self.entries:
            return ["nothing: there was nothing to ask"]
        bought = [purchase_in_words(entry) for entry in self.entries]
        how = composition_in_words(self.entries, self.spent, self.delta)
        return [f"{bought[0]}; {how}"] if len(bought) == 1 else [*bought, how]

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
