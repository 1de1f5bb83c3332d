"""Statistics of contingency tables: pure functions that never see records."""

from .contingency import chi2_pvalue, g2_pvalue
from .dependence import (
    concordance,
    kendall_score,
    normalized_kendall_score,
    spearman_score,
)
from .median_level import median_threshold
from .noisy_levels import (
    GaussianNoise,
    LaplaceNoise,
    Noise,
    NullLaw,
    TwoLaplaceNoise,
    level_threshold,
)
from .thresholds import noise_aware_threshold, null_scale
from .total_variation import total_variation_null, total_variation_score

__all__ = [
    "GaussianNoise",
    "LaplaceNoise",
    "Noise",
    "NullLaw",
    "TwoLaplaceNoise",
    "chi2_pvalue",
    "concordance",
    "g2_pvalue",
    "kendall_score",
    "level_threshold",
    "median_threshold",
    "noise_aware_threshold",
    "normalized_kendall_score",
    "null_scale",
    "spearman_score",
    "total_variation_null",
    "total_variation_score",
]
