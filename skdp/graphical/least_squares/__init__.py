"""Least squares without a model: what the matrix mechanism does with noisy answers.

Tables that fit the answers best, whatever they are: with negative counts, and with
nothing to say about columns that were not measured together. The estimation of
`skdp.graphical` does better; this is what it is compared with.
"""

from .estimates import Estimate
from .model import LeastSquaresModel
from .solve import MAX_FULL, solve_least_squares

__all__ = ["MAX_FULL", "Estimate", "LeastSquaresModel", "solve_least_squares"]
