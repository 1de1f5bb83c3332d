"""How a model's measurements are chosen: small objects with parameters."""

from .aim import AIM
from .base import Strategy
from .dual_query import DualQuery
from .fixed_marginals import FixedMarginals
from .hdmm import HDMM
from .independent import Independent
from .mst import MST
from .mwem import MWEM
from .priv_bayes import PrivBayes

__all__ = [
    "AIM",
    "HDMM",
    "MST",
    "DualQuery",
    "MWEM",
    "FixedMarginals",
    "Independent",
    "PrivBayes",
    "Strategy",
]
