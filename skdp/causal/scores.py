"""The dependence scores by the names that estimators use for them."""

from __future__ import annotations

from skdp.queries import (
    DependenceQuery,
    KendallDependence,
    NormalizedKendallDependence,
    SpearmanDependence,
    TotalVariationDependence,
)

__all__ = ["BLOCK_TESTS", "DEPENDENCE_QUERIES", "RANK_TESTS"]

DEPENDENCE_QUERIES: dict[str, type[DependenceQuery]] = {
    "kendall": KendallDependence,
    "kendall_normalized": NormalizedKendallDependence,
    "spearman": SpearmanDependence,
    "total_variation": TotalVariationDependence,
}

#: The tests that take levels as ranks.
RANK_TESTS = frozenset(n for n, query in DEPENDENCE_QUERIES.items() if query.ordinal)

#: The tests of unbounded sensitivity: a median over blocks of records, or no privacy.
BLOCK_TESTS = frozenset({"chi2", "g2"})
