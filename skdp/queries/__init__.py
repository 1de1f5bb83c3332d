"""Questions about records, each with a sensitivity proved from public facts alone."""

from .base import Batch, PublicFacts, Query, all_queries
from .cross_moments import FREE_WEIGHT, CrossMoments, MomentErrors
from .dependence import (
    KendallDependence,
    NormalizedKendallDependence,
    SpearmanDependence,
)
from .dependence_base import DependenceQuery
from .eigenvalues import Eigenvalues, Trace
from .evidence import DependenceEvidence
from .interactions import Interactions, PairInteractions
from .marginals import Marginal
from .margins import IndependenceMargins, Question
from .moments import Diagonal, MomentQuery, SecondMoments, Sums
from .norms import NormScores, SquaredExcess
from .total_variation import TotalVariationDependence

__all__ = [
    "FREE_WEIGHT",
    "Batch",
    "CrossMoments",
    "DependenceEvidence",
    "DependenceQuery",
    "Diagonal",
    "Eigenvalues",
    "IndependenceMargins",
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
    "Question",
    "SecondMoments",
    "SpearmanDependence",
    "SquaredExcess",
    "Sums",
    "TotalVariationDependence",
    "Trace",
    "all_queries",
]
