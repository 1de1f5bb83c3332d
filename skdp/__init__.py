"""Differentially private graphical models as scikit-learn estimators."""

from .causal import PC, MarginalPC, PrivPC
from .privacy import BudgetAccountant
from .records import Categorical, Numeric, Ordinal, Schema

__version__ = "0.1.0"

__all__ = [
    "PC",
    "BudgetAccountant",
    "Categorical",
    "MarginalPC",
    "Numeric",
    "Ordinal",
    "PrivPC",
    "Schema",
]
