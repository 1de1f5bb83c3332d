"""Private densities: what is measured, the model of it, and what it is asked."""

from .estimator import PGMEstimator
from .session import Session
from .workload import Workload

__all__ = ["PGMEstimator", "Session", "Workload"]
