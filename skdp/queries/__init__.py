"""Questions about records, each with a sensitivity proved from public facts alone."""

from .base import Batch, PublicFacts, Query, all_queries
from .dependence import (
    DependenceQuery,
    KendallDependence,
    NormalizedKendallDependence,
    SpearmanDependence,
)
from .linear import LinearMarginal
from .marginals import Marginal
from .scores import MarginalDistances

__all__ = [
    "Batch",
    "DependenceQuery",
    "KendallDependence",
    "LinearMarginal",
    "Marginal",
    "MarginalDistances",
    "NormalizedKendallDependence",
    "PublicFacts",
    "Query",
    "SpearmanDependence",
    "all_queries",
]
