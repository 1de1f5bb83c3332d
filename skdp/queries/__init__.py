"""Questions about records that know, from public facts alone, how sensitive they are."""

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
