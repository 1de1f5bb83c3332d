"""Differentially private graphical models as scikit-learn estimators."""

from .causal import EMPC, PC, SVTPC, GaussianPC, MarginalPC, PrivPC
from .pgm import PGMEstimator
from .privacy import BudgetAccountant
from .records import Categorical, Numeric, Ordinal, Schema

__version__ = "0.1.0"

__all__ = [
    "EMPC",
    "PC",
    "SVTPC",
    "BudgetAccountant",
    "Categorical",
    "GaussianPC",
    "MarginalPC",
    "Numeric",
    "Ordinal",
    "PGMEstimator",
    "PrivPC",
    "Schema",
]
