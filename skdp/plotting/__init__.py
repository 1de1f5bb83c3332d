"""Pictures of what was learned; they need matplotlib."""

from __future__ import annotations

from skdp.plotting.causal_graph import CausalGraphDisplay
from skdp.plotting.covariance import CovarianceDisplay

__all__ = ["CausalGraphDisplay", "CovarianceDisplay"]
