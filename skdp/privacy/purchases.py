"""Purchases, and the rules by which they add up.

Each rule holds for purchases that are chosen in the light of earlier answers: the sum
of pure losses; the sum of zCDP losses, converted once; and, for a single purchase that
was fixed beforehand, the optimal composition of its parts. A ledger may use whichever
allows more: every course of events falls under one of them, only the second and the
third spend delta, and never both in one budget. What mechanisms of their own delta may
spend is set aside beforehand, since to choose between the two in the light of earlier
answers would spend the same delta twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isclose, isfinite

from .accounting import dp_from_zcdp
from .budget import as_typed
from .plans import best_composition_epsilon

__all__ = ["LedgerEntry", "Totals"]


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

    def __post_init__(self) -> None:
        losses = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
        for name, loss in losses.items():
            if not loss >= 0:  # also refuses nan: neither may give budget back
                raise ValueError(f"{name} of a purchase must be >= 0, got {loss!r}.")
        if not self.delta < 1:
            raise ValueError(f"delta of a purchase must be < 1, got {self.delta!r}.")
        sum_of_parts = sum(epsilon * count for epsilon, count in self.parts)
        if self.parts and not isclose(sum_of_parts, self.epsilon, rel_tol=1e-9):
            raise ValueError(
                f"The parts of a purchase add up to epsilon = {sum_of_parts!r}, not to "
                f"its {self.epsilon!r}."
            )


@dataclass(frozen=True)
class Totals:
    """The running sums of a ledger.

    Parameters
    ----------
    epsilon : Fraction or float
        Sum of the pure losses as decimals, exact; inf if a purchase is not pure.
    rho : float
        Sum of the zCDP losses.
    delta : Fraction
        Sum of the purchases' own deltas, exact.
    paid : tuple of LedgerEntry
        The first two purchases that cost something.
    """

    epsilon: Fraction | float = Fraction(0)
    rho: float = 0.0
    delta: Fraction = Fraction(0)
    paid: tuple[LedgerEntry, ...] = ()

    def plus(self, entry: LedgerEntry) -> Totals:
        """Add a purchase.

        Parameters
        ----------
        entry : LedgerEntry
            The purchase.

        Returns
        -------
        Totals
            The new sums.
        """
        pure = isfinite(entry.epsilon) and self.epsilon != inf
        costs = entry.epsilon > 0 or entry.rho > 0
        return Totals(
            self.epsilon + as_typed(entry.epsilon) if pure else inf,
            self.rho + entry.rho,
            self.delta + as_typed(entry.delta),
            (*self.paid, entry)[:2] if costs else self.paid,
        )

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest epsilon that a rule proves, failures apart.

        Parameters
        ----------
        delta : float
            What the failures of the purchases leave of the delta; negative for nothing.

        Returns
        -------
        float
            The loss; inf if no rule applies.
        """
        if delta < 0:
            return inf
        pure = float(self.epsilon)
        if delta == 0:
            return pure
        concentrated = dp_from_zcdp(self.rho, delta) if isfinite(self.rho) else inf
        optimal = inf
        if len(self.paid) == 1 and self.paid[0].parts:
            optimal, _ = best_composition_epsilon(self.paid[0].parts, delta)
        return min(pure, concentrated, optimal)
