"""Private estimators of a covariance, and the pure rooms they infer with."""

from .maximum_entropy import Completion, maximum_entropy_completion

__all__ = ["Completion", "maximum_entropy_completion"]
