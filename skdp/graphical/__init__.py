"""Graphical models from noisy marginals: pure, usable alone, without any records."""

from .domain import Domain

__all__ = ["Domain"]
