"""Causal discovery: which variable hangs on which."""

from .marginal_pc import MarginalPC
from .orientation import Orientation, cpdag_of, orient
from .pc import PC
from .priv_pc import PrivPC
from .skeleton import Answerer, Skeleton, learn_skeleton

__all__ = [
    "PC",
    "Answerer",
    "MarginalPC",
    "Orientation",
    "PrivPC",
    "Skeleton",
    "cpdag_of",
    "learn_skeleton",
    "orient",
]
