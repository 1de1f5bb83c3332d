"""Scores that compare a learned graph with the true one."""

from __future__ import annotations

from skdp.metrics.graphs import (
    directed_f1_score,
    skeleton_f1_score,
    skeleton_precision_score,
    skeleton_recall_score,
    structural_hamming_distance,
)

__all__ = [
    "directed_f1_score",
    "skeleton_f1_score",
    "skeleton_precision_score",
    "skeleton_recall_score",
    "structural_hamming_distance",
]
