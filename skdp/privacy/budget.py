"""One budget over many fits.

`BudgetAccountant` is a context manager. The active ones stand on a process-wide,
lock-guarded stack, so that the threads of a grid search see them too (a context
variable does not reach joblib's threads). Another process cannot report into them:
estimators that are sent to one refuse to fit there.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from numbers import Real
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from skdp.exceptions import BudgetExceededError, PrivacyLeakWarning
from skdp.warn import warn_user

from .accounting import dp_from_zcdp, zcdp_from_dp
from .process import process_token

if TYPE_CHECKING:
    from .purchases import LedgerEntry

__all__ = [
    "BudgetAccountant",
    "accountant_is_active",
    "as_typed",
    "charge_accountants",
    "check_budget",
    "note_seed",
    "spending_lock",
]

#: Held while a purchase is checked and entered.
spending_lock = threading.RLock()
_active: list[BudgetAccountant] = []


def check_budget(epsilon: float, delta: float) -> None:
    """Refuse a budget that is no budget.

    Parameters
    ----------
    epsilon : float
        Must be positive and finite.
    delta : float
        Must lie in [0, 1).

    Raises
    ------
    TypeError
        If either is no number.
    ValueError
        If either is out of range.
    """
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not isinstance(value, Real):
            kind = type(value).__name__
            raise TypeError(f"{name} must be a number, got {value!r} ({kind}).")
    if not (epsilon > 0 and isfinite(epsilon)):
        raise ValueError(f"epsilon must be positive and finite, got {epsilon!r}.")
    if not 0 <= delta < 1:
        raise ValueError(f"delta must lie in [0, 1), got {delta!r}.")


def as_typed(x: float) -> Fraction:
    """Return a float as the decimal number that its user wrote.

    Three times 0.1 is then exactly 0.3, and not refused under a budget of 0.3.

    Parameters
    ----------
    x : float
        A finite number.

    Returns
    -------
    Fraction
        The shortest decimal that rounds to `x`.
    """
    return Fraction(repr(float(x)))


@dataclass(frozen=True)
class _Loss:
    """What an accountant was charged: ledgers' guarantees, and mechanisms' losses."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: float = 0.0


class BudgetAccountant:
    """Cap the privacy loss of all fits inside a ``with`` block.

    Every ledger that spends while the block is active is charged, in every thread of
    this process. A fit that would exceed the cap is refused before it touches a
    record. A fit pays when its first mechanism runs, so bad input costs nothing; what
    was paid is never given back, also if the fit fails later.

    Parameters
    ----------
    epsilon : float > 0
        Budget for the sum over all fits.
    delta : float in [0, 1), default=0.0
        Budget for the sum over all fits.
    composition : {"basic", "zcdp"}, default="basic"
        "basic" adds the epsilons and the deltas of the fits, each at the full
        guarantee of its ledger. "zcdp" adds the zCDP loss of every mechanism and
        converts once; it needs ``delta > 0``, and refuses mechanisms that have a delta
        of their own.

    Attributes
    ----------
    spent : tuple of (float, float)
        The (epsilon, delta) charged so far.

    Notes
    -----
    A worker process cannot report into the accountant of its parent. An estimator that
    is pickled while an accountant is active marks the copy, and `fit` refuses in
    another process; so does an accountant that was copied by a fork. Use threads
    (``joblib.parallel_backend("threading")``) or no parallelism. An estimator that
    a worker builds for itself cannot be seen.

    Both rules hold for fits that are chosen in the light of earlier results.

    Examples
    --------
    >>> from skdp.privacy import LedgerEntry, PrivacyLedger
    >>> entry = LedgerEntry("laplace", "n", 1.0, "L1", 1.0, 1.0, 0.46, ((1.0, 1),))
    >>> with BudgetAccountant(epsilon=1.5) as accountant:
    ...     PrivacyLedger(1.0).spend(entry)
    0
    >>> accountant.spent
    (1.0, 0.0)
    """

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        composition: Literal["basic", "zcdp"] = "basic",
    ) -> None:
        check_budget(epsilon, delta)
        if composition not in ("basic", "zcdp"):
            raise ValueError(
                f"composition must be 'basic' or 'zcdp', got {composition!r}."
            )
        if composition == "zcdp" and delta == 0:
            raise ValueError("composition='zcdp' needs delta > 0.")
        self.epsilon = float(epsilon)
        self.delta = float(delta)
        self.composition = composition
        self._loss = _Loss()
        self._seeds: set[int] = set()
        self._process = process_token()

    def __repr__(self) -> str:
        return (
            f"BudgetAccountant(epsilon={self.epsilon}, delta={self.delta}, "
            f"composition={self.composition!r}, spent={self.spent})"
        )

    def __enter__(self) -> Self:
        with spending_lock:
            if self in _active:
                raise RuntimeError("This BudgetAccountant is active already.")
            self._refuse_other_process()
            _active.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with spending_lock:
            _active.remove(self)

    def __reduce__(self) -> str:
        raise TypeError(
            "A BudgetAccountant cannot be copied or pickled: the copy would be a "
            "second budget. Enter it with `with` around the fits instead."
        )

    @property
    def spent(self) -> tuple[float, float]:
        """The (epsilon, delta) charged so far."""
        if self.composition == "basic":
            return float(self._loss.epsilon), float(self._loss.delta)
        if self._loss.rho == 0:
            return 0.0, 0.0
        return dp_from_zcdp(self._loss.rho, self.delta), self.delta

    def _refuse_other_process(self) -> None:
        if self._process != process_token():
            raise BudgetExceededError(
                "This process was forked from the one that the BudgetAccountant "
                "belongs to and cannot report into it: fit in the parent process or "
                "in its threads."
            )

    def _check(self, loss: _Loss) -> None:
        """Refuse a loss that does not fit the cap."""
        self._refuse_other_process()
        if self.composition == "zcdp":
            # The relative 1e-12 is the precision of the conversion.
            cap = zcdp_from_dp(self.epsilon, self.delta) * (1 + 1e-12)
            fits = loss.rho <= cap
        else:
            fits = loss.epsilon <= as_typed(self.epsilon)
            fits = fits and loss.delta <= as_typed(self.delta)
        if not fits:
            raise BudgetExceededError(
                f"The fit is refused: it does not fit into what is left of the "
                f"{self!r} around it. No record was touched."
            )


def charge_accountants(
    guarantee: tuple[float, float],
    entry: LedgerEntry,
    charged: list[BudgetAccountant],
) -> None:
    """Charge a purchase to every active accountant, or to none and raise.

    Parameters
    ----------
    guarantee : tuple of (float, float)
        Epsilon and delta of the ledger that makes the purchase; added once per
        accountant that adds guarantees.
    entry : LedgerEntry
        The purchase; its rho is added each time where losses are added, which refuse
        a purchase with a delta of its own.
    charged : list of BudgetAccountant
        The accountants that have counted the ledger's guarantee already; extended.

    Raises
    ------
    BudgetExceededError
        If it does not fit into one of them, or this is not the process that it
        was entered in.
    """
    with spending_lock:
        losses = []
        for accountant in _active:
            before = accountant._loss
            new = not any(accountant is known for known in charged)
            after = _Loss(
                before.epsilon + new * as_typed(guarantee[0]),
                before.delta + new * as_typed(guarantee[1]),
                before.rho + (entry.rho if entry.delta == 0 else inf),
            )
            accountant._check(after)
            losses.append((accountant, after, new))
        for accountant, after, new in losses:
            accountant._loss = after
            if new:
                charged.append(accountant)


def note_seed(seed: int) -> None:
    """Warn if a fit under an active accountant repeats the seed of an earlier one.

    Parameters
    ----------
    seed : int
        The `random_state` of a fit.

    Warns
    -----
    PrivacyLeakWarning
        Equal seeds give perfectly correlated noise, also at different epsilons.
    """
    with spending_lock:
        repeated = [a for a in _active if seed in a._seeds]
        for accountant in _active:
            accountant._seeds.add(seed)
    if repeated:
        warn_user(
            f"random_state={seed} was used before under this BudgetAccountant. Equal "
            "seeds repeat the noise, so that the difference of two results can reveal "
            "the records: leave random_state=None for anything that is released.",
            PrivacyLeakWarning,
        )


def accountant_is_active() -> bool:
    """Return whether a `BudgetAccountant` is active in this process.

    Returns
    -------
    bool
        True inside a ``with`` block of any thread.
    """
    return bool(_active)
