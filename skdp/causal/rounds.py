"""The rounds of a private search: how many, and what each may cost.

Fixed from public facts before the first question, so that the guarantee is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, log2

from skdp.privacy import scale_parts_to
from skdp.queries import DependenceQuery, PublicFacts

__all__ = ["Rounds", "adapted_share", "plan_rounds"]


@dataclass(frozen=True)
class Rounds:
    """A plan of rounds.

    Parameters
    ----------
    cap : int
        Number of rounds; 0 if there is nothing to ask.
    sieve_epsilon, examine_epsilon : float
        Price of a round's two halves.
    composition : {"basic", "zcdp", "optimal"}
        How the halves are composed.
    """

    cap: int = 0
    sieve_epsilon: float = 0.0
    examine_epsilon: float = 0.0
    composition: str = "basic"


def plan_rounds(
    public: PublicFacts,
    score: type[DependenceQuery],
    budget: tuple[float, float],
    max_deletions: int | None,
    sieve_share: float | str,
) -> Rounds:
    """Divide a budget into equal rounds.

    Parameters
    ----------
    public : PublicFacts
        Number of records and schema.
    score : type of DependenceQuery
        The dependence score.
    budget : tuple of (float, float)
        Total epsilon and delta.
    max_deletions : int or None
        Number of rounds; None for the number of pairs of variables.
    sieve_share : float in (0, 1) or "auto"
        Share of a round for the sieve; see `adapted_share`.

    Returns
    -------
    Rounds
        The plan; its cost is at most the budget.
    """
    n_pairs = comb(sum(column.n_levels > 1 for column in public.schema), 2)
    if n_pairs == 0:
        return Rounds()
    cap = n_pairs if max_deletions is None else max_deletions
    if sieve_share == "auto":
        halves = _divided(budget, cap, 0.5)
        sieve_share = adapted_share(public, score, halves.examine_epsilon)
    return _divided(budget, cap, float(sieve_share))


def _divided(budget: tuple[float, float], cap: int, share: float) -> Rounds:
    unit = ((share, cap), (1 - share, cap))
    scale, composition = scale_parts_to(*budget, unit)
    return Rounds(cap, scale * share, scale * (1 - share), composition)


def adapted_share(
    public: PublicFacts, score: type[DependenceQuery], examine_epsilon: float
) -> float:
    r"""Return the sieve's share of a round that suits the noise.

    Where the noise is large against the scores, little passes the sieve and the
    examination needs the budget; where it is small, the sieve is the weaker half, since
    it answers many questions. Found on the four small networks, at 10^4 and at 10^5
    records:

    .. math:: \mathrm{share} = .7 - .12 \log_2(m / .0015)
              \text{, at least .3 and at most .7}

    with m the scale of the noise of an examination at equal shares over the largest
    score, for the pair of variables where it is worst. A public fact.

    Parameters
    ----------
    public : PublicFacts
        Number of records and schema.
    score : type of DependenceQuery
        The dependence score.
    examine_epsilon : float
        Price of an examination at equal shares.

    Returns
    -------
    float
        The share.
    """
    names = [column.name for column in public.schema if column.n_levels > 1]
    queries = [score(x, y) for x, y in combinations(names, 2)]
    noise = max(q.sensitivity(public) / q.largest_score(public) for q in queries)
    share = 0.7 - 0.12 * log2(noise / examine_epsilon / 0.0015)
    return min(0.7, max(0.3, share))
