"""Strategies in whole numbers, whose answers are integers without any rounding.

A weight that is no dyadic fraction makes sums of floating-point products, whose errors
would have to be added to the sensitivity. Instead all entries are scaled to large whole
numbers: of a product of three matrices each entry keeps some ten bits, of fewer ones
more. From here on the rounded one is the strategy: its norms, its noise, its least
squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log2

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skdp.graphical.linear_queries import Identity, Kronecker, LinearQuery, Matrix
from skdp.graphical.matrix_mechanism.strategy import Product, Strategy

__all__ = ["IntegerPart", "integer_parts"]

#: Largest entry of a product of factors: `LinearMarginal` adds up to it exactly.
_MAX_ENTRY = 2.0**31


@dataclass(frozen=True, eq=False)
class IntegerPart:
    """A part of a strategy in whole numbers.

    Parameters
    ----------
    columns : tuple of str
        Of the table that it asks about.
    asked : LinearQuery
        The matrix to measure: whole numbers.
    unit : float
        What to divide an answer by to get that of `query`.
    query : LinearQuery or None
        The same matrix in units where its columns have norm 1 at most; None if it is
        the identity.
    """

    columns: tuple[str, ...]
    asked: LinearQuery
    unit: float
    query: LinearQuery | None


def integer_parts(strategy: Strategy, ord: int, scale: float) -> list[IntegerPart]:
    """Round a strategy to whole numbers.

    Parameters
    ----------
    strategy : Strategy
        With weights of norm 1.
    ord : {1, 2}
        Norm of the columns.
    scale : float
        What a weight of 1 becomes, as far as no entry becomes too large.

    Returns
    -------
    list of IntegerPart
        One per product, in the same order.
    """
    scale = 2.0 ** floor(log2(min(scale, _MAX_ENTRY / max(strategy.weights))))
    pairs = zip(strategy.products, strategy.weights, strict=True)
    return [_integer_part(product, weight * scale, ord) for product, weight in pairs]


def _integer_part(product: Product, scale: float, ord: int) -> IntegerPart:
    n_matrices = sum(factor is not None for factor in product.factors)
    if n_matrices == 0:
        return _scaled_identity(product, max(1.0, float(np.rint(scale))))
    each = scale ** (1.0 / n_matrices)
    asked: list[LinearQuery] = []
    queries: list[LinearQuery] = []
    unit = 1.0
    for factor, size in zip(product.factors, product.sizes, strict=True):
        if factor is None:
            asked.append(Identity(size))
            queries.append(Identity(size))
            continue
        whole = _whole(factor, each)
        norm = float(np.linalg.norm(whole, ord, axis=0).max())
        unit *= norm
        asked.append(Matrix(whole))
        queries.append(Matrix(whole / norm))
    return IntegerPart(product.columns, _joined(asked), unit, _joined(queries))


def _whole(factor: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Round the entries; the rows of single cells keep at least 1."""
    whole = np.rint(factor * scale)
    n_cells = factor.shape[1]
    whole[:n_cells] = np.maximum(whole[:n_cells], np.eye(n_cells))
    return np.asarray(whole)


def _scaled_identity(product: Product, weight: float) -> IntegerPart:
    first, *others = product.sizes
    scaled = Matrix(weight * sp.eye_array(first, format="csr"))
    asked = _joined([scaled, *map(Identity, others)])
    return IntegerPart(product.columns, asked, weight, None)


def _joined(factors: list[LinearQuery]) -> LinearQuery:
    return factors[0] if len(factors) == 1 else Kronecker(tuple(factors))
