"""Questions about records, each with a sensitivity proved from public facts alone."""

from .base import Batch, PublicFacts, Query, all_queries
from .dependence import (
    DependenceQuery,
    KendallDependence,
    NormalizedKendallDependence,
    SpearmanDependence,
)
from .interactions import Interactions, PairInteractions
from .marginals import Marginal

__all__ = [
    "Batch",
    "DependenceQuery",
    "Interactions",
    "KendallDependence",
    "Marginal",
    "NormalizedKendallDependence",
    "PairInteractions",
    "PublicFacts",
    "Query",
    "SpearmanDependence",
    "all_queries",
]
