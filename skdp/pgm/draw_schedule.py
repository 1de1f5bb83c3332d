r"""How many rounds, how many draws in each, and how strongly they lean on the records.

In round t of T, k = t - 1 synthetic records are there, and s queries are drawn with
probabilities proportional to :math:`e^{\eta k q(D)}`, up to public factors, q being in
[0, 1]. Replacing one of n records moves q(D) by at most 1/n, hence the exponent by at
most eta k/n and the logarithm of a probability by twice that: a draw costs
:math:`\varepsilon_t = 2 \eta k/n`, and all of them

.. math:: \sum_{t=1}^T s \varepsilon_t = \eta s T (T - 1)/n, \qquad
          \sum_{t=1}^T s \varepsilon_t^2/8 = \eta^2 s (T - 1) T (2 T - 1)/(12 n^2)

as pure and as zero-concentrated differential privacy. The first round is free: its
draws are uniform. Whatever eta is, round t costs the share k of 1 + 2 + ... + (T - 1),
or k^2 of 1 + 4 + ... + (T - 1)^2: so the budget is shared out exactly, and eta follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from skdp.pgm.budget import Budget

__all__ = ["DrawSchedule", "plan_draws"]

#: Learning rate, rounds per draw, and the most of both, unless told otherwise.
_RATE, _RATIO, _MOST = 1.0, 10, (200, 100)
#: Beyond this rate draws say little more; a budget that would buy it buys more draws,
#: up to this many in a round.
_LARGE_RATE, _MOST_DRAWS = 2.0, 20_000
#: More rounds than these, or draws in each, are not worth their time.
_LIMITS = (2**14, 2**20)
#: Budgets that pay for more than this, in draws of the second round, are as large.
_PLENTY = 1e100


@dataclass(frozen=True)
class DrawSchedule:
    """Rounds of draws that spend a whole budget.

    Parameters
    ----------
    n_rounds : int
        T, at least 2.
    n_draws : int
        s, in each round.
    eta : float
        Learning rate.
    """

    n_rounds: int
    n_draws: int
    eta: float

    def price(self, k: int, budget: Budget) -> float:
        """Return what the draws cost when there are k synthetic records.

        Parameters
        ----------
        k : int
            From 1 to T - 1.
        budget : Budget
            Of the whole run.

        Returns
        -------
        float
            In the unit of the budget; in the last round, all that is left.
        """
        if k == self.n_rounds - 1:
            return budget.left
        degree = 1 if budget.is_pure else 2
        return budget.share(k**degree, of=_volume(self.n_rounds, degree))


def plan_draws(
    budget: Budget,
    n_records: int,
    n_rounds: int | str,
    n_draws: int | str,
    eta: float | str,
) -> DrawSchedule:
    """Choose what is "auto", so that the budget is spent exactly.

    By default eta is about 1 and there are ten times as many rounds as draws in each,
    but no more than 200 and 100; if that would leave eta above 2, there are more draws,
    up to 20 000. (Gaboardi et al. let eta, 1/sqrt(s) and, up to a
    logarithm, 1/sqrt(T) shrink with the error that is aimed at, and so T/s is fixed.
    On Adult, eta of 0.5 to 2 was best for prefix sums, 1 to 4 for counts.)

    Parameters
    ----------
    budget : Budget
        Of the whole run.
    n_records : int
        Public.
    n_rounds, n_draws : int or "auto"
        T and s.
    eta : float or "auto"
        Learning rate. If it is given, the others that are not are the largest whole
        numbers that the budget allows, and eta is raised until it is spent.

    Returns
    -------
    DrawSchedule
        Complete.

    Raises
    ------
    ValueError
        If nothing is "auto", or the learning rate is so large that the budget does not
        allow two rounds of one draw, or so small that it allows more than 2^14 rounds
        or 2^20 draws in each.
    """
    if "auto" not in (n_rounds, n_draws, eta):
        raise ValueError(
            "The budget determines one of n_rounds, samples_per_round and "
            "learning_rate: leave one of them at 'auto'."
        )
    degree = 1 if budget.is_pure else 2
    # eta**degree * s * (1**degree + ... + (T - 1)**degree) is what there is to spend.
    means = budget.total * (n_records / 2 if degree == 1 else 2 * n_records**2)
    rate = _RATE if isinstance(eta, str) else float(eta)
    allowed = min(means ** (1 / degree) / rate, _PLENTY) ** degree
    rounds, draws = _most(allowed, degree, n_rounds, n_draws)
    if isinstance(eta, str):
        limits = [
            most if isinstance(asked, str) else asked
            for asked, most in zip((n_rounds, n_draws), _MOST, strict=True)
        ]
        rounds = max(2, min(rounds, limits[0]))
        draws = max(1, min(draws, limits[1]))
        if isinstance(n_draws, str):
            enough = means / (_LARGE_RATE**degree * _volume(rounds, degree))
            draws = max(draws, min(ceil(enough), _MOST_DRAWS))
    elif rounds < 2 or draws < 1:
        raise ValueError(
            f"learning_rate={eta} is too large for this budget and {n_records} "
            "records: it does not pay for two rounds of one draw, or for those asked."
        )
    elif (n_rounds == "auto" and rounds > _LIMITS[0]) or draws > _LIMITS[1]:
        raise ValueError(
            f"learning_rate={eta} is too small for this budget and {n_records} "
            f"records: it pays for more than {_LIMITS[0]} rounds, or more than "
            f"{_LIMITS[1]} draws in each."
        )
    whole = draws * _volume(rounds, degree)
    return DrawSchedule(rounds, draws, (means / whole) ** (1 / degree))


def _most(
    allowed: float, degree: int, n_rounds: int | str, n_draws: int | str
) -> tuple[int, int]:
    """Return the largest whole numbers with s * volume(T) <= allowed."""
    if not isinstance(n_rounds, str):
        draws = int(allowed / _volume(n_rounds, degree))
        return n_rounds, draws if isinstance(n_draws, str) else n_draws
    if not isinstance(n_draws, str):
        return _most_rounds(allowed / n_draws, degree), n_draws
    power = degree + 1  # the volume of T is about T**power/power
    draws = max(1, round((allowed * power / _RATIO**power) ** (1 / (power + 1))))
    return _most_rounds(allowed / draws, degree), draws


def _volume(n_rounds: int, degree: int) -> int:
    """Add up 1**degree to (T - 1)**degree."""
    last = n_rounds - 1
    if degree == 1:
        return last * n_rounds // 2
    return last * n_rounds * (2 * last + 1) // 6


def _most_rounds(volume: float, degree: int) -> int:
    """Return the largest T, from 1 on, whose volume is no more."""
    n_rounds, step = 1, 1 << 20
    while step:
        if _volume(n_rounds + step, degree) <= volume:
            n_rounds += step
        step //= 2
    return n_rounds
