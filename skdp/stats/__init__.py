"""Statistics of contingency tables: pure functions that never see records."""

from .contingency import chi2_pvalue, g2_pvalue
from .dependence import (
    concordance,
    kendall_score,
    normalized_kendall_score,
    spearman_score,
)
from .thresholds import noise_aware_threshold, null_scale

__all__ = [
    "chi2_pvalue",
    "concordance",
    "g2_pvalue",
    "kendall_score",
    "noise_aware_threshold",
    "normalized_kendall_score",
    "null_scale",
    "spearman_score",
]
