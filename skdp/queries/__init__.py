"""Questions about records, each with a sensitivity proved from public facts alone."""

from .base import Batch, PublicFacts, Query, all_queries
from .dependence import (
    KendallDependence,
    NormalizedKendallDependence,
    SpearmanDependence,
)
from .dependence_base import DependenceQuery
from .evidence import DependenceEvidence
from .interactions import Interactions, PairInteractions
from .linear import LinearMarginal
from .marginals import Marginal
from .margins import IndependenceMargins, Question
from .scores import MarginalDistances
from .total_variation import TotalVariationDependence

__all__ = [
    "Batch",
    "DependenceEvidence",
    "DependenceQuery",
    "IndependenceMargins",
    "Interactions",
    "KendallDependence",
    "LinearMarginal",
    "Marginal",
    "MarginalDistances",
    "NormalizedKendallDependence",
    "PairInteractions",
    "PublicFacts",
    "Query",
    "Question",
    "SpearmanDependence",
    "TotalVariationDependence",
    "all_queries",
]
