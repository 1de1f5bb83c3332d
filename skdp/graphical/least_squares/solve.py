"""From noisy answers to tables, in the best way that fits into memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from skdp.graphical.domain import Domain
from skdp.graphical.least_squares.consistent_marginals import consistent_marginals
from skdp.graphical.least_squares.estimates import Estimate, estimate_table
from skdp.graphical.least_squares.full_table import full_table
from skdp.graphical.least_squares.model import LeastSquaresModel
from skdp.graphical.linear_queries import Identity
from skdp.graphical.measurement import LinearMeasurement

__all__ = ["MAX_FULL", "solve_least_squares"]

#: Most cells of a table that is solved for as a whole.
MAX_FULL = 4_000_000


def solve_least_squares(
    measurements: Sequence[LinearMeasurement],
    domain: Domain,
    n_records: float,
    max_full: float = MAX_FULL,
) -> LeastSquaresModel:
    """Fit tables to noisy answers by weighted least squares, given the total.

    Measurements that share columns, directly or through others, are solved together:

    * a single one by its own least squares;
    * marginals without matrices in closed form, for any domain
      (`consistent_marginals`);
    * others over the table of all their columns, if that fits;
    * otherwise each by itself ("local least squares"). A marginal inside several tables
      is then the mean of what they say, weighted by inverse variances.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
        Noisy answers; each query must determine its cells.
    domain : Domain
        Columns and their numbers of levels.
    n_records : float
        Number of records, public.
    max_full : float, default=4e6
        Most cells of a table that is solved for as a whole.

    Returns
    -------
    LeastSquaresModel
        The tables.

    Raises
    ------
    ValueError
        If a query does not determine its cells.

    Examples
    --------
    >>> domain = Domain(("smoker", "cough"), (2, 2))
    >>> noisy = [
    ...     LinearMeasurement(("smoker",), [71.0, 33.0], sigma=2.0),
    ...     LinearMeasurement(("smoker", "cough"), [[60, 11], [9, 22]], sigma=2.0),
    ... ]
    >>> solve_least_squares(noisy, domain, 100).marginal(("smoker",))
    array([69.33333333, 30.66666667])
    """
    estimates: list[Estimate] = []
    for group in _connected(measurements):
        columns = domain.sort(name for m in group for name in m.columns)
        plain = all(isinstance(m.linear(domain), Identity) for m in group)
        if len(group) > 1 and plain:
            tables = consistent_marginals(group, domain, n_records)
        elif len(group) > 1 and prod(domain.shape(columns)) <= max_full:
            tables = {columns: full_table(group, columns, domain, n_records)}
        else:
            estimates += [estimate_table(m, domain, n_records) for m in group]
            continue
        # They agree where they overlap, so that their weights do not matter.
        estimates += [
            Estimate(c, table, 1.0, (None,) * table.ndim) for c, table in tables.items()
        ]
    return LeastSquaresModel(domain, n_records, tuple(estimates))


def _connected(
    measurements: Sequence[LinearMeasurement],
) -> list[list[LinearMeasurement]]:
    """Part measurements into groups that share no column."""
    groups: list[tuple[set[str], list[LinearMeasurement]]] = []
    for measurement in measurements:
        columns, members = set(measurement.columns), [measurement]
        apart = []
        for names, others in groups:
            if names & columns:
                columns, members = columns | names, others + members
            else:
                apart.append((names, others))
        groups = [*apart, (columns, members)]
    return [members for _, members in groups]
