"""Differentially private graphical models as scikit-learn estimators."""

from .causal import PC, PrivPC
from .pgm import PGMEstimator
from .privacy import BudgetAccountant
from .records import Categorical, Numeric, Ordinal, Schema

__version__ = "0.1.0"

__all__ = [
    "PC",
    "BudgetAccountant",
    "Categorical",
    "Numeric",
    "Ordinal",
    "PGMEstimator",
    "PrivPC",
    "Schema",
]
