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
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.single_queries import SingleQueries

__all__ = ["DrawLikelihood"]

Array = NDArray[np.float64]

#: Exponentials are inverted up to here, and shifted beyond it.
_LARGEST_EXPONENT = 300.0
#: Numbers that are worked on at a time, and that are kept between evaluations.
_BLOCK, _MAX_KEPT = 2**16, 2**24


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
    records : sequence of ndarray of int, shape (n_columns,)
        The synthetic record of each round but the last, at least.
    """

    def __init__(
        self,
        queries: SingleQueries,
        n_records: float,
        eta: float,
        draws: Sequence[NDArray[np.intp]],
        records: Sequence[NDArray[np.intp]],
    ) -> None:
        self.queries, self.n_records, self.eta = queries, n_records, eta
        self.records = records
        self.n_draws = np.array([len(drawn) for drawn in draws], dtype=np.float64)
        m = len(queries)
        # The exponents of the drawn queries add up to slope @ answers - constant.
        self._slope, self._constant, first = np.zeros(m), 0.0, 0
        self._kept: list[Array] | None = None
        for behind in self._blocks():
            for t, exponents in enumerate(behind, first):
                signs = _signed_counts(draws[t], m)
                self._slope += eta * t * signs
                self._constant += float(signs @ exponents)
            first += len(behind)
        if len(draws) * m <= _MAX_KEPT:
            self._kept = list(self._blocks())
        largest = eta * len(draws) * max(queries.weights)
        self._is_small = largest <= _LARGEST_EXPONENT

    @property
    def sigma(self) -> float:
        """Noise of a count of records that tells as much of it as all draws do.

        As long as the m queries and their negations are about as likely, a draw at
        exponent eta k q(mu) has the information (eta k/n)^2/m of each count; as for m
        counts with Gaussian noise of the same price together. inf for uniform draws.
        """
        k = np.arange(len(self.n_draws))
        information = float(self.n_draws @ (self.eta * k) ** 2)
        if information == 0:
            return inf
        return self.n_records * sqrt(len(self.queries) / information)

    def _blocks(self) -> Iterator[Array]:
        """Yield the public part of the exponents, one row per round.

        It is eta times the sum of the scaled queries over the records so far; in
        blocks of rounds that hold few numbers.
        """
        if self._kept is not None:
            yield from self._kept
            return
        n_rounds, m = len(self.n_draws), len(self.queries)
        size = max(1, _BLOCK // m)
        behind, factor = np.zeros(m), self.eta * self.queries.scales
        for first in range(0, n_rounds, size):
            block = np.empty((min(size, n_rounds - first), m))
            for row, k in enumerate(range(first, first + len(block))):
                if k:
                    behind += factor * self.queries.of_record(self.records[k - 1])
                block[row] = behind
            yield block

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
        queries, first = self.queries, 0
        factor = queries.scales / self.n_records
        answers = factor * queries.of_tables(tables)
        value = self._constant - float(self._slope @ answers)
        slope = -self._slope
        for behind in self._blocks():
            steps = self.eta * np.arange(first, first + len(behind))
            n_draws = self.n_draws[first : first + len(behind)]
            exponents = np.multiply.outer(steps, answers)
            exponents -= behind
            shift, rise, fall = self._exponentials(exponents)
            total = rise.sum(axis=1) + fall.sum(axis=1)
            value += float(n_draws @ (shift + np.log(total)))
            shares = steps * n_draws / total
            slope += shares @ rise
            slope -= shares @ fall
            first += len(behind)
        return value, queries.adjoint(factor * slope)

    def _exponentials(self, exponents: Array) -> tuple[Array, Array, Array]:
        """Return the exponentials of numbers and their negatives, less a shift."""
        shift = np.zeros(len(exponents))
        if self._is_small:
            rise = np.exp(exponents, out=exponents)
            return shift, rise, 1.0 / rise
        shift = np.abs(exponents).max(axis=1)
        rise = np.exp(exponents - shift[:, None])
        return shift, rise, np.exp(-exponents - shift[:, None])


def _signed_counts(drawn: NDArray[np.intp], m: int) -> Array:
    """Count how often each of m queries was drawn, less its negation."""
    signs = np.where(drawn < m, 1.0, -1.0)
    counts = np.bincount(drawn % m, weights=signs, minlength=m)
    return counts.astype(np.float64, copy=False)
