"""What to measure, so that a workload of linear queries has the least error.

The matrix mechanism (Li et al. 2010) measures the queries of a *strategy* A instead of
the workload W, and derives the answers by least squares. With noise of one standard
deviation per unit of sensitivity the squared errors add up to
||A||^2 tr(W'W (A'A)^-1) in expectation, ||A|| being the largest L1 norm of a column
(Laplace noise) or L2 norm (Gaussian noise). Public numbers alone decide which A is
best. The forms of A are those of the high-dimensional matrix mechanism (McKenna et al.
2018): p-identity matrices, Kronecker products, unions, weighted marginals.
"""

from .choice import KINDS, MAX_DENSE, best_strategy, possible_kinds
from .gram import Gram
from .rounding import IntegerPart, integer_parts
from .strategy import Product, Search, Strategy, Term

__all__ = [
    "KINDS",
    "MAX_DENSE",
    "Gram",
    "IntegerPart",
    "Product",
    "Search",
    "Strategy",
    "Term",
    "best_strategy",
    "integer_parts",
    "possible_kinds",
]
