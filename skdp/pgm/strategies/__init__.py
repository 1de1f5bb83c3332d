"""How a model's measurements are chosen: small objects with parameters."""

from .base import Strategy
from .dual_query import DualQuery
from .fixed_marginals import FixedMarginals
from .independent import Independent
from .mst import MST

__all__ = ["MST", "DualQuery", "FixedMarginals", "Independent", "Strategy"]
