"""The dependence scores by the names that estimators use for them."""

from __future__ import annotations

from skdp.queries import (
    DependenceQuery,
    KendallDependence,
    NormalizedKendallDependence,
    SpearmanDependence,
    TotalVariationDependence,
)

__all__ = ["DEPENDENCE_QUERIES"]

DEPENDENCE_QUERIES: dict[str, type[DependenceQuery]] = {
    "kendall": KendallDependence,
    "kendall_normalized": NormalizedKendallDependence,
    "spearman": SpearmanDependence,
    "total_variation": TotalVariationDependence,
}
