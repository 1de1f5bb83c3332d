"""A fit's budget in the unit in which its answers add up, shared out without a rest."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

from skdp.privacy import PrivacyLedger, zcdp_from_dp
from skdp.privacy.budget import as_typed

__all__ = ["Budget"]


class Budget:
    """What is left for the answers of one fit.

    With delta = 0 the losses of pure mechanisms add up, as epsilon; otherwise those of
    zero-concentrated ones, as rho, and (epsilon, delta) buys the rho that
    `zcdp_from_dp` proves.

    Parameters
    ----------
    ledger : PrivacyLedger
        Says what there is to spend; `Budget` plans, the ledger enforces.

    Attributes
    ----------
    is_pure : bool
        Whether prices are in epsilon (Laplace noise) or in rho (Gaussian noise).
    total : float
        All there was.
    """

    def __init__(self, ledger: PrivacyLedger) -> None:
        self.is_pure = ledger.delta == 0
        self.total = ledger.epsilon
        if not self.is_pure:
            self.total = zcdp_from_dp(ledger.epsilon, ledger.delta)
        self._left = as_typed(self.total)

    @property
    def left(self) -> float:
        """What is left, as a price."""
        return _as_price(self._left)

    def share(self, part: int | Fraction, of: int = 1) -> float:
        """Return a share of the whole budget as a price.

        Parameters
        ----------
        part, of : int
            The share part/of.

        Returns
        -------
        float
            A price; never so much that the shares of a whole exceed it.
        """
        return _as_price(as_typed(self.total) * part / of)

    def spend(self, price: float) -> None:
        """Take a price off what is left.

        Parameters
        ----------
        price : float
            In the unit of the budget.
        """
        self._left = max(Fraction(0), self._left - as_typed(price))


def _as_price(exact: Fraction) -> float:
    """Round down to a float that is no more even when read as a decimal."""
    price = float(exact)
    while as_typed(price) > exact:
        price = nextafter(price, -inf)
    return price
