"""Graphical models from noisy marginals: pure, usable alone, without any records."""

from .class_model import ClassModel
from .common_queries import prefix, ranges, weighted
from .domain import Domain
from .empirical import EmpiricalDistribution
from .estimation import Fit, estimate, fit_potentials
from .linear_queries import Identity, Kronecker, LinearQuery, Matrix
from .markov_random_field import MarkovRandomField
from .measurement import LinearMeasurement
from .model import Model
from .multiplicative_weights import MultiplicativeWeights

__all__ = [
    "ClassModel",
    "Domain",
    "EmpiricalDistribution",
    "Fit",
    "Identity",
    "Kronecker",
    "LinearMeasurement",
    "LinearQuery",
    "MarkovRandomField",
    "Matrix",
    "Model",
    "MultiplicativeWeights",
    "estimate",
    "fit_potentials",
    "prefix",
    "ranges",
    "weighted",
]
