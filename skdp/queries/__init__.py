"""Questions about records, each with a sensitivity proved from public facts alone."""

from .base import Batch, PublicFacts, Query, all_queries
from .dependence import (
    DependenceQuery,
    KendallDependence,
    NormalizedKendallDependence,
    SpearmanDependence,
)
from .marginals import Marginal

__all__ = [
    "Batch",
    "DependenceQuery",
    "KendallDependence",
    "Marginal",
    "NormalizedKendallDependence",
    "PublicFacts",
    "Query",
    "SpearmanDependence",
    "all_queries",
]
