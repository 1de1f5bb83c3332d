"""MST: a spanning tree of the pairs that the independent model misses most."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skdp._sklearn import Interval, validate_parameters
from skdp.graphical import MarkovRandomField
from skdp.graphical.measurement import LinearMeasurement
from skdp.pgm.merging import Merging
from skdp.pgm.session import Session
from skdp.pgm.strategies.base import (
    Strategy,
    one_way,
    refuse_large_model,
    varying_columns,
)
from skdp.pgm.workload import Workload
from skdp.queries import MarginalDistances, PublicFacts

__all__ = ["MST"]

Pair = tuple[str, str]


class MST(Strategy):
    """Measure all columns, then the pairs of a tree chosen by what these miss.

    The budget (epsilon, or rho with delta > 0) is spent in thirds:

    1. the d one-way tables, together: Laplace noise of scale 6 d/epsilon or Gaussian
       noise of variance 3 d/rho;
    2. d - 1 edges, each by the exponential mechanism among the pairs that join two
       components of the tree so far. A pair's score is the L1 distance between its
       table and the independent model's; replacing a record changes it by at most 2.
       Each draw costs epsilon/(3 (d - 1)), or rho/(3 (d - 1)), which buys a draw of
       epsilon = sqrt(8 rho/(3 (d - 1)));
    3. the d - 1 tables of these pairs, together: Laplace noise of scale
       6 (d - 1)/epsilon or Gaussian noise of variance 3 (d - 1)/rho.

    A table of counts changes by 2 in L1 and by sqrt(2) in L2 when a record is
    replaced; `Session.measure` derives the noise of k tables from it. A single column
    gets the whole budget. Where all levels are merged there are no pairs, and the
    columns are measured a second time with what is left.

    Parameters
    ----------
    merge_below : float >= 0, default=3.0
        Levels of a column whose noisy count is below so many standard deviations of the
        noise are merged into one before pairs are scored and measured. Their shares in
        the merged level are those of the noisy one-way table. 0 merges those with a
        negative count.

    References
    ----------
    McKenna, Miklau, Sheldon, *Winning the NIST contest: a scalable and general approach
    to differentially private synthetic data*, 2021.

    Examples
    --------
    >>> from skdp import PGMEstimator
    >>> estimator = PGMEstimator(strategy=MST(merge_below=5.0))
    >>> estimator.get_params()["strategy__merge_below"]
    5.0
    """

    uses_workload: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "merge_below": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, merge_below: float = 3.0) -> None:
        self.merge_below = merge_below

    def check(
        self, public: PublicFacts, workload: Workload | None, max_model_size: float
    ) -> None:
        """Refuse schemas with too large pairs; see `Strategy.check`."""
        validate_parameters(self)
        columns = varying_columns(public)
        refuse_large_model([(name,) for name in columns], public, max_model_size)
        if len(columns) > 1:
            # No spanning tree has more cells than the star around the largest column.
            *others, largest = sorted(columns, key=public.schema.n_levels)
            star = [(other, largest) for other in reversed(others)]
            refuse_large_model(star, public, max_model_size)

    def run(self, session: Session) -> MarkovRandomField:
        """Measure, choose, measure; see `Strategy.run`."""
        columns, budget = varying_columns(session.public), session.budget
        n_edges = len(columns) - 1
        third = budget.share(1, of=3) if n_edges > 0 else budget.left
        measured = session.measure(one_way(columns), third)
        if n_edges > 0:
            merging = self._merging(measured)
            edges = _spanning_tree(session, columns, merging)
            if not session.measure([merging.table(e) for e in edges], budget.left):
                # All levels are rare: only the columns are left to be told.
                session.measure(one_way(columns), budget.left)
        return session.fit_model()

    def _merging(self, measured: list[LinearMeasurement]) -> Merging:
        """Decide, from noisy counts, which levels are merged."""
        counts = {m.columns[0]: m.answer for m in measured}
        return Merging.of_rare_levels(counts, self.merge_below * measured[0].sigma)


def _spanning_tree(
    session: Session, columns: list[str], merging: Merging
) -> list[Pair]:
    """Draw the edges, each among the pairs that join two components."""
    pairs = list(combinations(columns, 2))
    queries = {pair: merging.table(pair) for pair in pairs}
    tables = dict(zip(pairs, _independent_tables(session, pairs, merging), strict=True))
    price = session.budget.share(1, of=3 * (len(columns) - 1))
    component = {name: name for name in columns}
    edges: list[Pair] = []
    while len(edges) < len(columns) - 1:
        joining = [(a, b) for a, b in pairs if component[a] != component[b]]
        scores = MarginalDistances(
            [queries[pair] for pair in joining], [tables[pair] for pair in joining]
        )
        a, b = joining[session.choose(scores, price)]
        edges.append((a, b))
        old, new = component[b], component[a]
        component = {c: new if of == old else of for c, of in component.items()}
        session.say(f"chose the pair {a}, {b}")
    return edges


def _independent_tables(
    session: Session, pairs: list[Pair], merging: Merging
) -> Iterator[NDArray[np.float64]]:
    """Yield what the model of the one-way tables says of each pair."""
    model = session.fit_model()
    counts = {name: model.marginal(name) for name in session.schema.names}
    for a, b in pairs:
        joint = np.multiply.outer(counts[a], counts[b]) / model.n_records
        yield merging.merge(joint, (a, b))
