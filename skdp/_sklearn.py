"""The only place that touches scikit-learn names without a stability promise."""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.base import _clone_parametrized as clone_parametrized
from sklearn.base import _fit_context as fit_context
from sklearn.utils import estimator_html_repr
from sklearn.utils._param_validation import Interval, StrOptions

__all__ = [
    "BaseEstimator",
    "Interval",
    "StrOptions",
    "clone_parametrized",
    "estimator_html_repr",
    "fit_context",
    "validate_parameters",
]


def validate_parameters(estimator: BaseEstimator) -> None:
    """Check the parameters of an object that has no fit of its own.

    Parameters
    ----------
    estimator : BaseEstimator
        With `_parameter_constraints`.

    Raises
    ------
    InvalidParameterError
        Names the parameter.
    """
    estimator._validate_params()
