"""Differentially private graphical models as scikit-learn estimators."""

from .causal import EMPC, PC, SVTPC, GaussianPC, MarginalPC, PrivPC
from .covariance import (
    AdaptiveCovariance,
    CoinPressCovariance,
    DenoisedCovariance,
    GaussianMechanismCovariance,
    PaceGGMCovariance,
    SeparateCovariance,
    ThresholdedCovariance,
)
from .privacy import BudgetAccountant
from .records import Categorical, Numeric, Ordinal, Schema

__version__ = "0.1.0"

__all__ = [
    "EMPC",
    "PC",
    "SVTPC",
    "AdaptiveCovariance",
    "BudgetAccountant",
    "Categorical",
    "CoinPressCovariance",
    "DenoisedCovariance",
    "GaussianMechanismCovariance",
    "GaussianPC",
    "MarginalPC",
    "Numeric",
    "Ordinal",
    "PaceGGMCovariance",
    "PrivPC",
    "Schema",
    "SeparateCovariance",
    "ThresholdedCovariance",
]
