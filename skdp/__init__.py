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
from .pgm import PGMEstimator
from .privacy import BudgetAccountant
from .records import Categorical, Numeric, Ordinal, Schema

__version__ = "0.1.0"

__all__ = [
    "AdaptiveCovariance",
    "BudgetAccountant",
    "Categorical",
    "CoinPressCovariance",
    "DenoisedCovariance",
    "EMPC",
    "GaussianMechanismCovariance",
    "GaussianPC",
    "MarginalPC",
    "Numeric",
    "Ordinal",
    "PC",
    "PGMEstimator",
    "PaceGGMCovariance",
    "PrivPC",
    "SVTPC",
    "Schema",
    "SeparateCovariance",
    "ThresholdedCovariance",
]
