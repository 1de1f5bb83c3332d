"""Questions about records, each with a sensitivity proved from public facts alone."""

from .base import Batch, PublicFacts, Query, all_queries
from .cross_moments import FREE_WEIGHT, CrossMoments, MomentErrors
from .dependence import (
    DependenceQuery,
    KendallDependence,
    NormalizedKendallDependence,
    SpearmanDependence,
)
from .eigenvalues import Eigenvalues, Trace
from .interactions import Interactions, PairInteractions
from .marginals import Marginal
from .moments import Diagonal, MomentQuery, SecondMoments, Sums
from .norms import NormScores, SquaredExcess

__all__ = [
    "FREE_WEIGHT",
    "Batch",
    "CrossMoments",
    "DependenceQuery",
    "Diagonal",
    "Eigenvalues",
    "Interactions",
    "KendallDependence",
    "Marginal",
    "MomentErrors",
    "MomentQuery",
    "NormScores",
    "NormalizedKendallDependence",
    "PairInteractions",
    "PublicFacts",
    "Query",
    "SecondMoments",
    "SpearmanDependence",
    "SquaredExcess",
    "Sums",
    "Trace",
    "all_queries",
]
