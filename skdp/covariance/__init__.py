"""Private estimators of a covariance, and the pure rooms they infer with."""

from .gaussian_mechanism import GaussianMechanismCovariance
from .maximum_entropy import Completion, maximum_entropy_completion
from .pace_ggm import PaceGGMCovariance

__all__ = [
    "Completion",
    "GaussianMechanismCovariance",
    "PaceGGMCovariance",
    "maximum_entropy_completion",
]
