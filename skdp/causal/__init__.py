"""Causal discovery: which variable hangs on which."""

from .em_pc import EMPC
from .gaussian_pc import GaussianPC
from .marginal_pc import MarginalPC
from .orientation import Orientation, cpdag_of, orient
from .pc import PC
from .priv_pc import PrivPC
from .skeleton import Answerer, Skeleton, learn_skeleton
from .svt_pc import SVTPC

__all__ = [
    "EMPC",
    "PC",
    "SVTPC",
    "Answerer",
    "GaussianPC",
    "MarginalPC",
    "Orientation",
    "PrivPC",
    "Skeleton",
    "cpdag_of",
    "learn_skeleton",
    "orient",
]
