r"""The likelihood of queries that were drawn by how far off synthetic records are.

In round t, k = t - 1 synthetic records are there, and a query q or its negation 1 - q,
q on a record being in [0, 1], is drawn with probabilities

.. math:: Q^t(\pm q) = e^{\pm g_{tq}} / Z_t, \quad
          g_{tq} = \eta \bigl(k\, q(\mu) - \textstyle\sum_{r \le k} q(x_r)\bigr), \quad
          Z_t = \textstyle\sum_q 2 \cosh g_{tq} ,

q(mu) being the mean over the records. So -log of the likelihood is linear minus a
log-sum-exp of functions that are linear in the marginals: convex.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.single_queries import SingleQueries

__all__ = ["DrawLikelihood"]

Array = NDArray[np.float64]

_LARGEST_EXPONENT = 300.0


class DrawLikelihood:
    """Minus the logarithm of the likelihood, and its gradient: a custom loss.

    Parameters
    ----------
    queries : SingleQueries
        The m queries.
    n_records : float
        What every marginal sums to.
    eta : float
        Learning rate.
    draws : sequence of ndarray of int
        Per round the queries that were drawn: q or, for its negation, m + q.
    records : ndarray of int, shape (n_rounds, n_columns)
        The synthetic record of each round, of which round t has seen those before it.
    """

    def __init__(
        self,
        queries: SingleQueries,
        n_records: float,
        eta: float,
        draws: Sequence[NDArray[np.intp]],
        records: NDArray[np.intp],
    ) -> None:
        self.queries, self.n_records, self.eta = queries, n_records, eta
        self.records, self.n_draws = records, [len(drawn) for drawn in draws]
        m = len(queries)
        signs = [
            np.bincount(drawn[drawn < m], minlength=m)
            - np.bincount(drawn[drawn >= m] - m, minlength=m)
            for drawn in draws
        ]
        # The drawn queries' exponents add up to slope @ answers - constant.
        self._slope, self._constant = np.zeros(m), 0.0
        for k, behind in enumerate(self._sums()):
            self._slope += eta * k * signs[k]
            self._constant += eta * float(signs[k] @ behind)

    def _sums(self) -> Iterator[Array]:
        """Yield, per round, the sums of the scaled queries over the records so far."""
        behind = np.zeros(len(self.queries))
        for k in range(len(self.n_draws)):
            yield behind
            behind += self.queries.scales * self.queries.of_record(self.records[k])

    def __call__(
        self, tables: Mapping[tuple[str, ...], Array]
    ) -> tuple[float, dict[tuple[str, ...], Array]]:
        """Evaluate the loss in memory of a few numbers per query.

        Parameters
        ----------
        tables : mapping of tuple of str to ndarray
            Marginals in counts, cliques in the order of the domain.

        Returns
        -------
        tuple of (float, dict of tuple of str to ndarray)
            Loss, and its gradient per clique.
        """
        queries = self.queries
        factor = queries.scales / self.n_records
        answers = factor * queries.of_tables(tables)
        value = self._constant - float(self._slope @ answers)
        slope = -self._slope
        for k, behind in enumerate(self._sums()):
            log_z, difference = _log_normaliser(self.eta * (k * answers - behind))
            value += self.n_draws[k] * log_z
            slope += self.n_draws[k] * self.eta * k * difference
        return value, queries.adjoint(factor * slope)


def _log_normaliser(exponents: Array) -> tuple[float, Array]:
    """Return log Z, and by how much each query is likelier than its negation."""
    top = float(np.abs(exponents).max(initial=0.0))
    shift = top if top > _LARGEST_EXPONENT else 0.0
    rise = np.exp(exponents - shift)
    fall = np.exp(-exponents - shift) if shift else 1.0 / rise
    total = float(rise.sum() + fall.sum())
    return shift + float(np.log(total)), (rise - fall) / total
