"""Pictures of what was learned; they need matplotlib."""

from __future__ import annotations

from skdp.plotting.causal_graph import CausalGraphDisplay

__all__ = ["CausalGraphDisplay"]
