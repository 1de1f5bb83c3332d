"""Workloads and strategies as products over columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.matrix_mechanism.gram import Gram
from skdp.graphical.matrix_mechanism.p_identity import (
    optimal_rows,
    p_identity,
    trace_error,
)

__all__ = ["Axes", "Product", "Search", "Strategy", "Term", "optimal_product"]

Array = NDArray[np.float64]

#: What a factor of a product acts on: a column, or several whose cells are not told
#: apart by column.
Axes = tuple[tuple[str, ...], ...]

_MAX_SWEEPS = 10
_SWEEP_TOL = 1e-4


@dataclass(frozen=True)
class Term:
    """Queries on one set of columns: weight times a product of matrices per axis.

    Parameters
    ----------
    axes : tuple of tuple of str
        What the factors act on; different ones.
    grams : tuple of Gram
        W'W per axis.
    weight : float
        Factor of all queries: their squared errors count with its square.
    """

    axes: Axes
    grams: tuple[Gram, ...]
    weight: float = 1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in order."""
        return tuple(name for axis in self.axes for name in axis)

    def grams_on(self, axes: Axes, sizes: Sequence[int]) -> list[Gram]:
        """Return W'W per axis of a larger table: sums over those that are not asked.

        Parameters
        ----------
        axes : tuple of tuple of str
            Must hold all axes of the term.
        sizes : sequence of int
            Their numbers of cells.

        Returns
        -------
        list of Gram
            One per axis.
        """
        own = dict(zip(self.axes, self.grams, strict=True))
        pairs = zip(axes, sizes, strict=True)
        return [own[axis] if axis in own else Gram.of_total(n) for axis, n in pairs]


@dataclass(frozen=True, eq=False)
class Product:
    """A strategy on one set of columns: a Kronecker product of a matrix per axis.

    Parameters
    ----------
    axes : tuple of tuple of str
        What the factors act on.
    sizes : tuple of int
        Their numbers of cells.
    factors : tuple of (ndarray or None)
        A matrix with columns of norm 1 per axis, None for the identity.
    error : float
        Squared error of the terms that it serves, for noise of variance 1.
    """

    axes: Axes
    sizes: tuple[int, ...]
    factors: tuple[Array | None, ...]
    error: float

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in order."""
        return tuple(name for axis in self.axes for name in axis)


@dataclass(frozen=True, eq=False)
class Strategy:
    """What to measure: a weighted union of products.

    Parameters
    ----------
    kind : str
        How it was found.
    products : tuple of Product
        The parts A_k.
    weights : tuple of float
        Their weights w_k, normalised so that w_k ||A_k|| add up to 1 in L1, and their
        squares do in L2.
    error : float
        Expected squared error of the workload for noise of variance 1.
    """

    kind: str
    products: tuple[Product, ...]
    weights: tuple[float, ...]
    error: float


@dataclass(frozen=True)
class Search:
    """How to look for strategies.

    Parameters
    ----------
    ord : {1, 2}
        Norm of the columns: 1 for Laplace noise, 2 for Gaussian noise.
    n_restarts : int, default=5
        Random starts of every optimiser.
    seed : int, default=0
        Of these starts.
    """

    ord: int
    n_restarts: int = 5
    seed: int = 0


def optimal_product(
    axes: Axes, sizes: tuple[int, ...], terms: Sequence[Term], search: Search
) -> Product:
    """Return the product that answers some terms best, axis by axis.

    With all other factors fixed, the error is that of a single column whose W'W is a
    weighted sum of those of the terms. For one term the axes do not depend on each
    other; for several the sweep over the axes is repeated until it gains nothing
    (McKenna et al. 2018, section 6.2).

    Parameters
    ----------
    axes : tuple of tuple of str
        What is measured.
    sizes : tuple of int
        Numbers of cells.
    terms : sequence of Term
        Queries on some or all of the axes.
    search : Search
        How to look.

    Returns
    -------
    Product
        With columns of norm 1.
    """
    grams = [term.grams_on(axes, sizes) for term in terms]
    weights = np.array([term.weight**2 for term in terms])
    errors = np.array([[gram.trace for gram in row] for row in grams])
    factors: list[Array | None] = [None] * len(axes)
    total = float(weights @ errors.prod(axis=1))
    for _ in range(_MAX_SWEEPS):
        for i in range(len(axes)):
            others = weights * np.delete(errors, i, axis=1).prod(axis=1)
            column = [row[i] for row in grams]
            factors[i] = _optimal_factor(column, others, search)
            errors[:, i] = [trace_error(gram, factors[i]) for gram in column]
        before, total = total, float(weights @ errors.prod(axis=1))
        if len(terms) == 1 or total > before * (1.0 - _SWEEP_TOL):
            break
    return Product(axes, sizes, tuple(factors), total)


def _optimal_factor(
    grams: Sequence[Gram], weights: NDArray[np.float64], search: Search
) -> Array | None:
    """Return the best matrix for one axis, all terms considered."""
    gram = grams[0]
    if len(set(grams)) > 1:
        shares = weights / weights.sum()
        pairs = zip(shares, grams, strict=True)
        gram = Gram(gram.n_cells, sum(w * g.dense() for w, g in pairs))
    rows = optimal_rows(gram, search.ord, search.n_restarts, search.seed)
    return None if rows is None else p_identity(rows, search.ord)
