"""Weighted marginals as a strategy: errors in closed form, however large the domain.

All matrices here are sums of products with I or 11' for every column, and so commute:
they are diagonal on the same 2^d subspaces, one per set T of columns, of the tables
over T that sum to 0 along each of their axes (McKenna et al. 2018, section 6.3, uses
the same algebra). Measuring the marginals over S with weights w_S tells the part in T
of a distribution of N cells with a precision of N p_T per cell,

    p_T = sum over S that hold T of w_S^2 / N_S,    N_S the number of cells of S,

and so the error of every product workload is a sum of a_T / p_T with numbers a_T that
depend on the workload alone. Only subsets of what is asked for need to be looked at:
the empty one, the total, is part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from math import prod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize

from skdp.graphical.matrix_mechanism.strategy import Product, Search, Strategy, Term

__all__ = ["closure", "coefficients", "marginals_error", "optimal_marginals"]

Array = NDArray[np.float64]
Columns = tuple[str, ...]

#: Marginals of less than this share of the largest weight are tried without.
_NEGLIGIBLE = 0.01
_FLOOR = 1e-6
_MAX_STEPS = 2000


def closure(sets: Sequence[Columns]) -> list[Columns]:
    """Return all subsets of some sets of columns, the empty one first.

    Parameters
    ----------
    sets : sequence of tuple of str
        Each in the same order of the columns.

    Returns
    -------
    list of tuple of str
        By size.

    Examples
    --------
    >>> closure([("a", "b"), ("b",)])
    [(), ('a',), ('b',), ('a', 'b')]
    """
    found = chain.from_iterable(
        combinations(columns, size)
        for columns in sets
        for size in range(len(columns) + 1)
    )
    return sorted(dict.fromkeys(found), key=len)


def coefficients(
    terms: Sequence[Term], subsets: Sequence[Columns], sizes: Mapping[str, int]
) -> Array:
    """Return how much the part of a distribution in each subset matters.

    With noise that is independent between the parts, the marginal over U has the
    covariance sum over T in U of 1/(N_U p_T) times the product of I - J for columns in
    T and J for the others, J = 11'/n. Its trace with W'W is a product over the columns.

    Parameters
    ----------
    terms : sequence of Term
        A workload whose axes are single columns.
    subsets : sequence of tuple of str
        The closure of its sets of columns.
    sizes : mapping of str to int
        Numbers of levels.

    Returns
    -------
    ndarray of shape (n_subsets,)
        The numbers a_T.
    """
    place = {subset: i for i, subset in enumerate(subsets)}
    result = np.zeros(len(subsets))
    for term in terms:
        columns = term.columns
        means = [g.total / g.n_cells for g in term.grams]
        rests = [g.trace - m for g, m in zip(term.grams, means, strict=True)]
        scale = term.weight**2 / prod(sizes[name] for name in columns)
        for subset in closure([columns]):
            parts = zip(columns, means, rests, strict=True)
            share = prod(rest if name in subset else mean for name, mean, rest in parts)
            result[place[subset]] += scale * share
    return result


def marginals_error(weights: Array, shares: sp.csr_array, matters: Array) -> float:
    """Return the expected squared error of weighted marginals.

    Parameters
    ----------
    weights : ndarray of shape (n_subsets,)
        The weights w_S.
    shares : sparse array of shape (n_subsets, n_subsets)
        1/N_S where the column's set S holds the row's T.
    matters : ndarray of shape (n_subsets,)
        From `coefficients`.

    Returns
    -------
    float
        For noise of variance 1; infinite if what matters is not measured.
    """
    precision = shares @ weights**2
    needed = matters > 0
    if (precision[needed] <= 0).any():
        return np.inf
    return float((matters[needed] / precision[needed]).sum())


def optimal_marginals(
    terms: Sequence[Term], sizes: Mapping[str, int], search: Search
) -> Strategy:
    """Return the marginals and weights that answer a workload best.

    Candidates are all subsets of the sets of columns in the workload; larger marginals
    would make the model larger as well. With Gaussian noise the problem is convex in
    the squared weights. With Laplace noise it is not, and several starts are tried.

    Parameters
    ----------
    terms : sequence of Term
        A workload whose axes are single columns.
    sizes : mapping of str to int
        Numbers of levels.
    search : Search
        How to look.

    Returns
    -------
    Strategy
        Its error is that of one consistent least-squares estimate.
    """
    subsets = closure([term.columns for term in terms])
    matters = coefficients(terms, subsets, sizes)
    shares = containment(subsets, sizes)
    weights = _optimal_weights(shares, matters, search)
    kept = [(s, w) for s, w in zip(subsets, weights, strict=True) if w > 0]
    products = tuple(_marginal(s, sizes, w, search.ord) for s, w in kept)
    error = marginals_error(weights, shares, matters)
    return Strategy("marginals", products, tuple(float(w) for _, w in kept), error)


def containment(subsets: Sequence[Columns], sizes: Mapping[str, int]) -> sp.csr_array:
    """Return by how much each marginal tells of each part.

    Parameters
    ----------
    subsets : sequence of tuple of str
        A closure.
    sizes : mapping of str to int
        Numbers of levels.

    Returns
    -------
    sparse array of shape (n_subsets, n_subsets)
        1/N_S where the column's set S holds the row's T. The total is not measured: it
        is known.
    """
    place = {subset: i for i, subset in enumerate(subsets)}
    entries = [
        (place[part], j, 1.0 / prod(sizes[name] for name in columns))
        for j, columns in enumerate(subsets)
        if columns
        for part in closure([columns])
    ]
    rows, columns_of, values = zip(*entries, strict=True)
    shape = (len(subsets), len(subsets))
    return sp.csr_array((values, (rows, columns_of)), shape=shape)


def _optimal_weights(shares: sp.csr_array, matters: Array, search: Search) -> Array:
    """Minimise ||w||^2 sum a_T/p_T over the weights; the result has norm 1."""
    ord, n = search.ord, len(matters)
    scale = matters.sum()
    transposed = shares.T.tocsr()

    def objective(values: Array) -> tuple[float, Array]:
        # The variables are w in L1 and w^2 in L2: then both norms are plain sums.
        squares = values if ord == 2 else values**2
        precision = shares @ squares
        terms = matters / scale / precision
        error, norm = terms.sum(), values.sum()
        slope = -(transposed @ (terms / precision))
        if ord == 1:
            slope = slope * 2.0 * values
        power = 1 if ord == 2 else 2
        gradient = power * norm ** (power - 1) * error + norm**power * slope
        return norm**power * error, gradient

    found = [
        minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(_FLOOR, None)] * n,
            options={"maxiter": _MAX_STEPS, "maxfun": 2 * _MAX_STEPS},
        )
        for start in _starts(shares, matters, search)
    ]
    best = min(found, key=lambda result: result.fun).x
    return _pruned(best if ord == 1 else np.sqrt(best), shares, matters, ord)


def _starts(shares: sp.csr_array, matters: Array, search: Search) -> list[Array]:
    """Return weights to start from: all alike, the largest sets alone, at random."""
    n = len(matters)
    rng = np.random.default_rng(search.seed)
    largest = np.asarray((shares > 0).sum(axis=1) <= 1, dtype=float)
    starts = [np.ones(n), largest + 0.01]
    starts += [rng.random(n) + _FLOOR for _ in range(search.n_restarts - 1)]
    return [start * n / start.sum() for start in starts]


def _pruned(weights: Array, shares: sp.csr_array, matters: Array, ord: int) -> Array:
    """Leave out what is not worth a measurement, if that does not raise the error."""
    weights = np.where(weights <= 2 * _FLOOR, 0.0, weights)
    weights[0] = 0.0  # the total
    fewer = np.where(weights < _NEGLIGIBLE * weights.max(), 0.0, weights)
    full, lean = (w / np.linalg.norm(w, ord) for w in (weights, fewer))
    errors = [marginals_error(w, shares, matters) for w in (full, lean)]
    return lean if errors[1] <= errors[0] * 1.001 else full


def _marginal(
    columns: Columns, sizes: Mapping[str, int], weight: float, ord: int
) -> Product:
    axes = tuple((name,) for name in columns)
    shape = tuple(sizes[name] for name in columns)
    return Product(axes, shape, (None,) * len(axes), float(prod(shape)))
