"""Graphical models from noisy marginals: pure, usable alone, without any records."""

from .domain import Domain
from .markov_random_field import MarkovRandomField

__all__ = ["Domain", "MarkovRandomField"]
