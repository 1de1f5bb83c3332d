"""AIM: measure, round by round, what the model misses most and what it can hold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from skdp._sklearn import Interval, validate_parameters
from skdp.exceptions import ModelTooLargeError
from skdp.graphical import MarkovRandomField
from skdp.graphical.model_growth import ModelGrowth
from skdp.pgm.session import Session, noise_deviation
from skdp.pgm.strategies.base import (
    Strategy,
    one_way,
    refuse_large_model,
    varying_columns,
)
from skdp.pgm.strategies.candidates import Candidates
from skdp.pgm.workload import Workload
from skdp.queries import Marginal, ModelDistances, PublicFacts

__all__ = ["AIM"]

#: Part of the budget that buys measurements; the rest buys choices.
_MEASURED = Fraction(9, 10)


class AIM(Strategy):
    """Measure in each round the marginal that matters most and is modelled worst.

    First the columns of the workload are measured, each by itself. Then each round
    draws a marginal r by the exponential mechanism among the candidates, measures it
    and fits the model again. Candidates are the sets of the workload and all their
    subsets; the score is ::

        w_r (||M_r(D) - M_r(model)||_1 - E|noise| n_r),    w_r = sum_s c_s |r n s|

    with n_r cells and c_s the weights of the workload: what the model misses beyond
    what the noise would hide. Replacing a record changes it by at most 2 w_r
    (`skdp.queries.ModelDistances`). Only those candidates are scored that leave the
    model small enough: its junction tree may have ``max_size`` times the part of the
    budget that is used.

    The budget is planned for T = ``n_rounds`` rounds, nine tenths of each for the
    measurement and one for the choice. With delta > 0 the noise has variance
    T/(.9 rho), and a draw epsilon = sqrt(.8 rho/T), which costs epsilon^2/8; with
    delta = 0 noise is Laplace of scale 2 T/(.9 epsilon), a draw costs .1 epsilon/T. If
    a measurement moved the model by no more than the noise would, the noise of the
    following rounds is halved and the epsilon of their draws doubled. If less than two
    rounds are left, one round spends it all.

    Parameters
    ----------
    n_rounds : int, optional
        T; by default 16 times the number of columns. There are fewer rounds if noise
        is halved early. At least the number of columns.
    max_size : float > 0, default=80.0
        Largest size of the model, in megabytes of its junction tree. Larger models are
        more accurate and take longer.

    Notes
    -----
    Without a workload the candidates are all sets of up to three columns. Of a workload
    with queries only the sets of columns count. Columns outside it are not measured,
    and come out uniform. The estimator's ``max_model_size`` holds as well.

    A round goes through all candidates: with more than some thirty columns name the
    sets that matter in a workload.

    References
    ----------
    McKenna, Mullins, Sheldon, Miklau, *AIM: an adaptive and iterative mechanism for
    differentially private synthetic data*, 2022; here for replacement of a record.

    Examples
    --------
    >>> from skdp import PGMEstimator
    >>> estimator = PGMEstimator(strategy=AIM(max_size=8))
    >>> estimator.get_params()["strategy__max_size"]
    8
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "max_size": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, n_rounds: int | None = None, max_size: float = 80.0) -> None:
        self.n_rounds = n_rounds
        self.max_size = max_size

    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse limits that leave nothing to choose; see `Strategy.check`."""
        validate_parameters(self)
        candidates = Candidates.of(workload, public)
        columns = [(name,) for name in candidates.domain.names]
        if self.n_rounds is not None and self.n_rounds < len(columns):
            raise ValueError(
                f"'n_rounds' of AIM must be at least the number of columns, "
                f"{len(columns)}, not {self.n_rounds}: each is measured by itself."
            )
        # Columns outside the workload are in the model as well.
        everything = [query.names for query in one_way(varying_columns(public))]
        refuse_large_model(everything, public, max_model_size)
        self._refuse_small_limit(candidates, max_model_size)

    def _refuse_small_limit(
        self, candidates: Candidates, max_model_size: float
    ) -> None:
        """Refuse a limit under which nothing but columns could be measured."""
        domain, limit = candidates.domain, self._largest(max_model_size)
        alone = sum(domain.sizes)
        joint = [clique for clique in candidates.cliques if len(clique) > 1]
        sizes = [alone + domain.n_cells(c) - sum(domain.shape(c)) for c in joint]
        if joint and min(sizes) > limit:
            smallest = joint[int(np.argmin(sizes))]
            raise ModelTooLargeError(
                f"No candidate of AIM leaves a model of at most {limit:.3g} cells: "
                f"with the smallest, {smallest}, it has {min(sizes)}. Raise max_size "
                "or max_model_size, or declare the columns with fewer levels or bins."
            )

    def run(self, session: Session) -> MarkovRandomField:
        """Measure the columns, then go through the rounds; see `Strategy.run`."""
        candidates = Candidates.of(session.workload, session.public)
        columns, budget = candidates.domain.names, session.budget
        if not columns:
            return session.fit_model()
        n_rounds = self.n_rounds or 16 * len(columns)
        session.measure(
            one_way(columns), budget.share(_MEASURED * len(columns), of=n_rounds)
        )
        plan = _Plan(
            measuring=budget.share(_MEASURED, of=n_rounds),
            choosing=budget.share(1 - _MEASURED, of=n_rounds),
        )
        limit = self._largest(session.fitter.max_model_size)
        rounds = _Rounds(session, candidates, limit, session.fit_model())
        with session.interruptible(session.measurements):
            while not rounds.finished:
                plan = rounds.next(plan)
        # Interrupted, the last measurement may wait for its fit.
        return rounds.model if rounds.finished else session.fit_model()

    def _largest(self, max_model_size: float) -> float:
        """Return the most cells that a junction tree may have.

        An elimination joins at most twice its cells; so the solver, which holds tables
        of up to a tenth of `max_model_size`, refuses none of them.
        """
        return min(self.max_size * 1e6 / 8, max_model_size / 20)


@dataclass(frozen=True)
class _Plan:
    """Prices of a round, in the unit of the budget."""

    measuring: float
    choosing: float

    @property
    def total(self) -> float:
        return self.measuring + self.choosing

    def annealed(self, is_pure: bool) -> _Plan:
        """Halve the noise and double the epsilon of a draw."""
        factor = 2 if is_pure else 4
        return _Plan(factor * self.measuring, factor * self.choosing)


class _Rounds:
    """The rounds of one run."""

    def __init__(
        self,
        session: Session,
        candidates: Candidates,
        max_cells: float,
        model: MarkovRandomField,
    ) -> None:
        self.session, self.candidates, self.model = session, candidates, model
        self.max_cells, self.n_done, self.finished = max_cells, 0, False
        self.growth = ModelGrowth(candidates.domain, candidates.cliques)
        shapes = [candidates.domain.n_cells(clique) for clique in candidates.cliques]
        self.n_cells = np.array(shapes, dtype=float)
        self.weights = np.array(candidates.weights)

    def next(self, plan: _Plan) -> _Plan:
        """Choose, measure and fit; return the prices of the following round."""
        session, budget = self.session, self.session.budget
        left = budget.left
        is_last = left < 2 * plan.total
        if is_last:
            plan = _Plan(float(_MEASURED) * left, float(1 - _MEASURED) * left)
        noise = self._expected_noise(plan.measuring)
        used = 1.0 if is_last else 1.0 - (left - plan.total) / budget.total
        chosen = self._choose(plan, noise, used)
        clique = self.candidates.cliques[chosen]
        before = self.model.marginals([clique])[clique]
        price = budget.left if is_last else plan.measuring
        session.measure([Marginal(clique)], price)
        self.model = session.fit_model()
        self.n_done, self.finished = self.n_done + 1, is_last
        after = self.model.marginals([clique])[clique]
        moved = float(np.abs(after - before).sum())
        small = moved <= noise * self.n_cells[chosen]
        return plan.annealed(budget.is_pure) if small else plan

    def _choose(self, plan: _Plan, noise: float, used: float) -> int:
        measured = {m.columns for m in self.session.measurements}
        limit = used * self.max_cells
        fits = self.growth.admissible(measured, limit)
        try:
            place = self._draw(fits, plan, noise)
        except ModelTooLargeError:  # of a score, before it was paid for
            fits = self.growth.admissible(measured, 0.0)  # inside the model's cliques
            place = self._draw(fits, plan, noise)
        names = ", ".join(self.candidates.cliques[fits[place]])
        self.session.say(
            f"round {self.n_done + 1}, model of {self.growth.n_cells} cells: chose "
            f"{names} among {len(fits)} candidates that leave at most {limit:.3g}"
        )
        return fits[place]

    def _draw(self, fits: list[int], plan: _Plan, noise: float) -> int:
        scores = ModelDistances(
            [self.candidates.cliques[k] for k in fits],
            self.model,
            self.weights[fits],
            noise * self.n_cells[fits],
        )
        return self.session.choose(scores, plan.choosing)

    def _expected_noise(self, price: float) -> float:
        """Return the expected magnitude of the noise on a count."""
        session, is_pure = self.session, self.session.budget.is_pure
        one = Marginal(self.candidates.cliques[0])
        sigma = noise_deviation(one, session.public, price, is_pure)
        return sigma * (sqrt(0.5) if is_pure else sqrt(2 / pi))
