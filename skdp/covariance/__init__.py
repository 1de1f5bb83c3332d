"""Private estimators of a covariance, and the pure rooms they infer with."""

from .adaptive import AdaptiveCovariance
from .coinpress import CoinPressCovariance
from .denoised import DenoisedCovariance
from .gaussian_mechanism import GaussianMechanismCovariance
from .maximum_entropy import Completion, maximum_entropy_completion
from .pace_ggm import PaceGGMCovariance
from .separate import SeparateCovariance
from .thresholding import ThresholdedCovariance

__all__ = [
    "AdaptiveCovariance",
    "CoinPressCovariance",
    "Completion",
    "DenoisedCovariance",
    "GaussianMechanismCovariance",
    "PaceGGMCovariance",
    "SeparateCovariance",
    "ThresholdedCovariance",
    "maximum_entropy_completion",
]
