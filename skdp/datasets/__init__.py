"""Small public Bayesian networks to learn from, with their true graphs."""

from __future__ import annotations

from skdp.datasets.bayesian_networks import (
    NETWORK_NAMES,
    BayesianNetwork,
    load_bayesian_network,
)

__all__ = ["NETWORK_NAMES", "BayesianNetwork", "load_bayesian_network"]
