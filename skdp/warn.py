"""Warnings that point at the line of the user, however deep they arise."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = ["warn_user"]

_OURS = ("skdp", "sklearn", "contextlib", "joblib", "importlib")


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside this package and scikit-learn.

    Python shows a warning once per line: pointed at our own, a second fit elsewhere
    would be silent.

    Parameters
    ----------
    message : str
        The text.
    category : type of Warning
        Its class.
    """
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module != "skdp.__main__" and module.partition(".")[0] in _OURS
