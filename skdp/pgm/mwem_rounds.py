"""How many rounds MWEM has unless told otherwise: a function of public facts."""

from __future__ import annotations

from math import log, pi, prod, sqrt

from skdp.graphical import Domain
from skdp.pgm.budget import Budget
from skdp.pgm.session import noise_deviation
from skdp.pgm.workload import Workload
from skdp.queries import Marginal, PublicFacts

__all__ = ["default_rounds", "expected_noise"]

#: More rounds than these are not worth the time.
_MOST = 50


def default_rounds(
    public: PublicFacts, budget: Budget, workload: Workload, candidates: str
) -> int:
    """Return the default of `MWEM.n_rounds`.

    Parameters
    ----------
    public : PublicFacts
        Number of records and schema.
    budget : Budget
        Before anything is spent.
    workload : Workload
        Not empty.
    candidates : {"queries", "marginals"}
        What a round chooses among.

    Returns
    -------
    int
        From 1 to 50, and no more than there are queries.
    """
    rule = _enough_for_choices if candidates == "queries" else _enough_for_tables
    n_asked = sum(query.shape[0] for query in workload.linear(public.schema))
    most = min(_MOST, n_asked)  # none has to be asked twice
    passed = (t for t in range(most, 1, -1) if rule(t, public, budget, workload))
    return next(passed, 1)


def _enough_for_choices(
    n_rounds: int, public: PublicFacts, budget: Budget, workload: Workload
) -> bool:
    """Whether choices are better than the distribution after so many updates."""
    domain = Domain.from_schema(public.schema)
    columns = {name for clique in workload.cliques for name in clique}
    log_cells = sum(log(domain.size(name)) for name in columns)
    log_queries = log(sum(q.shape[0] for q in workload.linear(public.schema)))
    price = budget.total / (2 * n_rounds)
    epsilon = price if budget.is_pure else sqrt(8 * price)
    bound = public.n_records * sqrt(log_cells / n_rounds)
    return bound >= 5 * log_queries / epsilon


def _enough_for_tables(
    n_rounds: int, public: PublicFacts, budget: Budget, workload: Workload
) -> bool:
    """Whether the noise of the T-th smallest table is no more than the records.

    A round per column is enough to tie them all together; with more, noise grows faster
    than knowledge.
    """
    columns = {name for clique in workload.cliques for name in clique}
    if n_rounds > min(len(workload.cliques), len(columns)):
        return False
    domain = Domain.from_schema(public.schema)
    clique = sorted(workload.cliques, key=domain.n_cells)[n_rounds - 1]
    price = budget.total / (2 * n_rounds)
    noise = expected_noise(public, budget.is_pure, Marginal(clique), price)
    return noise <= public.n_records


def expected_noise(
    public: PublicFacts, is_pure: bool, marginal: Marginal, price: float
) -> float:
    """Return the mean L1 norm of the noise of a measured table.

    Parameters
    ----------
    public : PublicFacts
        Number of records and schema.
    is_pure : bool
        Whether the price is an epsilon (Laplace noise) or a rho (Gaussian).
    marginal : Marginal
        The table.
    price : float
        Of its measurement.

    Returns
    -------
    float
        In records; a close approximation where the noise is below one record.
    """
    sigma = noise_deviation(marginal, public, price, is_pure)
    mean = sigma * (sqrt(1 / 2) if is_pure else sqrt(2 / pi))
    return mean * prod(marginal.shape(public))
