"""PrivBayes: a Bayesian network chosen column by column, then measured at once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256
from math import floor, inf, pi, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval, StrOptions, validate_parameters
from skdp.graphical import Domain, EmpiricalDistribution, Model
from skdp.graphical.bayesian_network import BayesianNetwork
from skdp.graphical.measurement import LinearMeasurement
from skdp.graphical.network_rules import NetworkRules
from skdp.pgm.budget import Budget
from skdp.pgm.session import Session
from skdp.pgm.strategies.base import (
    Strategy,
    one_way,
    refuse_large_model,
    varying_columns,
)
from skdp.pgm.workload import Workload
from skdp.privacy.budget import as_typed
from skdp.queries import (
    Marginal,
    ParentInformation,
    ParentScores,
    ParentVariation,
    PublicFacts,
)

__all__ = ["PrivBayes"]

_SCORES: dict[str, type[ParentScores]] = {
    "total_variation": ParentVariation,
    "mutual_information": ParentInformation,
}


class PrivBayes(Strategy):
    r"""Measure each column together with its parents in a Bayesian network.

    The network is chosen greedily. The first column is public: that of fewest levels,
    the first of them in the schema, so that it leaves most room as a parent (the paper
    draws it at random). Each of the d - 1 others is drawn with its parents, by the
    exponential mechanism, among all pairs of a column that is not yet in the network
    and a maximal useful set of those that are. The d tables of columns with their
    parents are then measured at once.

    *Budget.* The share `structure_share` of epsilon, or rho with delta > 0, buys the
    d - 1 draws, equal parts each; a draw for rho has epsilon = sqrt(8 rho). What is
    left, 70 %, buys the d tables, with Laplace noise of scale 2 d/epsilon_m or Gaussian
    noise of variance d/rho_m. A draw whose outcome is public, because there is one
    candidate or none has parents, costs nothing, and the tables get its part.

    *Usefulness.* A table is useful if its mean count is at least `usefulness` times the
    mean absolute noise of a cell. With k cells that is

    .. math:: k \le \frac{n \varepsilon_m}{2 d \theta}
              \quad\text{(Laplace)}, \qquad
              k \le \frac n \theta \sqrt{\frac{\pi \rho_m}{2 d}}
              \quad\text{(Gaussian)}

    for :math:`\varepsilon_m` or :math:`\rho_m`, the share of the tables, since the mean
    absolute value is the scale of Laplace noise and :math:`\sqrt{2/\pi}` standard
    deviations of Gaussian noise. A column without any useful set has no parents.

    *Admissible parents.* Parents that would make the graphical model larger than a
    tenth of `max_model_size` (cells that one pass joins, so that stored tables fit,
    too) lose one of them at a time until it fits. This depends on public sizes and on
    earlier choices, and is the same for both kinds of inference.

    Interrupted while it searches, a fit has measured nothing and passes the
    KeyboardInterrupt on: there is no model, and ``ledger_`` has the draws so far.

    Parameters
    ----------
    score : {"total_variation", "mutual_information"}, default="total_variation"
        How much a column depends on its parents: the R score of the paper, of
        sensitivity below 3/n, or the mutual information, of sensitivity about
        (2 log2(n/2) + 2.9)/n bits (see `skdp.queries.ParentVariation` and
        `ParentInformation`).
    usefulness : float > 0, default=4.0
        Least quotient theta of the mean count and the mean absolute noise of a cell.
    structure_share : float in (0, 1), default=0.3
        Share of the budget for the choice of the network.
    inference : {"graphical_model", "bayesian_network"}, default="graphical_model"
        "graphical_model" fits a Markov random field to the d noisy tables.
        "bayesian_network" is the published form: negative counts become 0, each table
        is normalised to the distribution of its column given its parents, and n
        records are drawn from their product; the model is these records. They are
        drawn with a seed made of the noisy answers, so that the same answers give the
        same records.
    max_parents : int or None, default=None
        Largest number of parents of a column.
    max_candidates : int, default=4000
        If a draw had more candidates, the number of parents is limited in it: to the
        largest for which it has not. A single parent is always allowed.

    References
    ----------
    Zhang, Cormode, Procopiuc, Srivastava, Xiao, *PrivBayes: Private data release via
    Bayesian networks*, ACM Transactions on Database Systems, 2017.

    Examples
    --------
    >>> from skdp import PGMEstimator
    >>> from skdp.datasets import load_bayesian_network
    >>> network = load_bayesian_network("cancer")
    >>> X = network.sample(20_000, random_state=0)
    >>> model = PGMEstimator(
    ...     1.0, strategy=PrivBayes(), schema=network.schema, random_state=0
    ... ).fit(X)
    >>> len(model.marginals_)
    5
    """

    uses_workload: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "score": [StrOptions(set(_SCORES))],
        "usefulness": [Interval(Real, 0, None, closed="neither")],
        "structure_share": [Interval(Real, 0, 1, closed="neither")],
        "inference": [StrOptions({"graphical_model", "bayesian_network"})],
        "max_parents": [Interval(Integral, 0, None, closed="left"), None],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        score: str = "total_variation",
        usefulness: float = 4.0,
        structure_share: float = 0.3,
        inference: str = "graphical_model",
        max_parents: int | None = None,
        max_candidates: int = 4000,
    ) -> None:
        self.score = score
        self.usefulness = usefulness
        self.structure_share = structure_share
        self.inference = inference
        self.max_parents = max_parents
        self.max_candidates = max_candidates

    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse too many records or levels; see `Strategy.check`."""
        validate_parameters(self)
        columns = varying_columns(public)
        refuse_large_model([(name,) for name in columns], public, max_model_size)
        if columns:
            ParentVariation([(name, ()) for name in columns]).check(public)

    def run(self, session: Session) -> Model:
        """Choose a network, measure its tables; see `Strategy.run`."""
        columns = varying_columns(session.public)
        if len(columns) > 1:
            # All that could make the tables too noisy, while nothing is spent.
            rest = session.budget.share(1 - as_typed(self.structure_share))
            session.refuse_small_price(one_way(columns), rest)
            families = self._network(session, self._rules(session))
        else:
            families = [query.names for query in one_way(columns)]
        tables = [Marginal(family) for family in families]
        measured = session.measure(tables, session.budget.left)
        if self.inference == "graphical_model":
            return session.fit_model()
        return _sampled(session, measured)

    def _rules(self, session: Session) -> NetworkRules:
        """Return what decides which parents are candidates; all of it public."""
        public, size = session.public, session.fitter.max_model_size
        columns = varying_columns(public)
        domain = Domain.from_schema(public.schema.select(columns))
        noise = _mean_noise(session.budget, 1 - as_typed(self.structure_share), domain)
        useful = public.n_records / self.usefulness / noise
        most = len(columns) if self.max_parents is None else self.max_parents
        return NetworkRules(
            domain=domain,
            max_cells=floor(min(useful, size / 10)),
            max_parents=most,
            max_candidates=self.max_candidates,
            max_work=size / 10,
        )

    def _network(self, session: Session, rules: NetworkRules) -> list[tuple[str, ...]]:
        """Choose parents for one column after the other; return the families."""
        domain = rules.domain
        price = session.budget.share(as_typed(self.structure_share), of=len(domain) - 1)
        families: list[tuple[str, ...]] = [(min(domain.names, key=domain.size),)]
        while len(families) < len(domain):
            candidates = rules.candidates(families)
            scores = _SCORES[self.score](candidates)
            chosen = 0
            if len(candidates) > 1 and scores.sensitivity(session.public, inf) > 0:
                chosen = session.choose(scores, price)
            families.append(rules.fitting(families, candidates[chosen]))
            *parents, child = families[-1]
            session.say(
                f"column {len(families)} of {len(domain)}: {child} given "
                f"{', '.join(parents) or 'nothing'}, out of {len(candidates)}; "
                f"model of {rules.work(families):.3g} cells"
            )
        return families


def _mean_noise(budget: Budget, share: Fraction, domain: Domain) -> float:
    """Return the mean absolute noise of a cell, if a share buys all tables."""
    d, price = len(domain), budget.share(share)
    return 2 * d / price if budget.is_pure else sqrt(2 * d / (pi * price))


def _sampled(
    session: Session, measured: Sequence[LinearMeasurement]
) -> EmpiricalDistribution:
    """Draw as many records as there are from the normalised noisy tables."""
    domain, n = Domain.from_schema(session.schema), session.public.n_records
    families, answers = [m.columns for m in measured], [m.answer for m in measured]
    network = BayesianNetwork.from_noisy_tables(domain, families, answers)
    digest = sha256(b"".join(answer.tobytes() for answer in answers)).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "little"))
    codes = network.sample(n, random_state=rng)
    session.say(f"drew {n} records from the Bayesian network")
    return EmpiricalDistribution(domain, codes, n)
