"""How a model's measurements are chosen: small objects with parameters."""

from .base import Strategy
from .fixed_marginals import FixedMarginals
from .independent import Independent
from .mst import MST
from .mwem import MWEM

__all__ = ["MST", "MWEM", "FixedMarginals", "Independent", "Strategy"]
