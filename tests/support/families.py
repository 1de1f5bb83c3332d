"""Every public estimator with records it is made for, for the tests that hold for all.

A new estimator is listed here the day it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import skdp
from skdp import (
    EMPC,
    PC,
    SVTPC,
    Categorical,
    GaussianPC,
    MarginalPC,
    Numeric,
    Ordinal,
    PGMEstimator,
    PrivPC,
    Schema,
)
from skdp.base import PrivateEstimator


@dataclass(frozen=True)
class Family:
    """Estimators that share their kind of records and of result."""

    #: Ways to build the estimators, by class name; keywords override.
    builders: dict[str, Callable[..., Any]]
    #: The public levels or bounds of `frame`.
    schema: Schema
    #: ``frame(n, seed)`` draws records.
    frame: Callable[..., pd.DataFrame]
    #: ``others(n)`` makes records of the same schema with quite another result.
    others: Callable[..., pd.DataFrame]
    #: What a fit found, to compare by ``==``.
    result: Callable[[Any], Any]


def a_frame(n: int = 2000, seed: int = 0) -> pd.DataFrame:
    """A chain a -> b -> c and an independent d."""
    rng = np.random.default_rng(seed)
    a = rng.random(n) < 0.5
    b = np.where(rng.random(n) < 0.9, a, ~a)
    c = np.where(rng.random(n) < 0.8, 2 * b, rng.integers(0, 3, n))
    d = rng.random(n) < 0.4
    words = np.array(["no", "yes"])
    return pd.DataFrame(
        {"a": words[a * 1], "b": words[b * 1], "c": c, "d": words[d * 1]}
    )


def _other_frame(n: int = 2000) -> pd.DataFrame:
    return a_frame(n, seed=1)[::-1].assign(c=0, a="no")


CAUSAL = Family(
    builders={
        "MarginalPC": lambda **kw: MarginalPC(**{"random_state": 0, **kw}),
        "PC": lambda **kw: PC(**kw),
        "PrivPC": lambda **kw: PrivPC(**{"random_state": 0, **kw}),
        "EMPC": lambda **kw: EMPC(**{"random_state": 0, **kw}),
        "GaussianPC": lambda **kw: GaussianPC(**{"random_state": 0, **kw}),
        "SVTPC": lambda **kw: SVTPC(**{"random_state": 0, **kw}),
    },
    schema=Schema(
        [
            Categorical("a", ("no", "yes")),
            Categorical("b", ("no", "yes")),
            Ordinal("c", (0, 1, 2)),
            Categorical("d", ("no", "yes")),
        ]
    ),
    frame=a_frame,
    others=_other_frame,
    result=lambda model: set(model.causal_graph_.edges),
)


def numbers(n: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Four columns of unlike units; the first two go together, the third is skewed."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.uniform(-1, 1, (4, n))
    both = np.clip(0.7 * a + 0.6 * b, -1, 1)
    values = {"a": 50 + 50 * a, "b": 1e-3 * both, "c": 2 * c**2, "d": d}
    return pd.DataFrame(values)


def _other_numbers(n: int = 2000) -> pd.DataFrame:
    return numbers(n, seed=1)[::-1].assign(b=0.0, c=2.0)


def _covariance(kind: type) -> Callable[..., Any]:
    return lambda **kw: kind(**{"random_state": 0, **kw})


COVARIANCE = Family(
    builders={
        kind.__name__: _covariance(kind)
        for kind in (
            skdp.AdaptiveCovariance,
            skdp.CoinPressCovariance,
            skdp.DenoisedCovariance,
            skdp.GaussianMechanismCovariance,
            skdp.PaceGGMCovariance,
            skdp.SeparateCovariance,
            skdp.ThresholdedCovariance,
        )
    },
    schema=Schema(
        [
            Numeric("a", 0, 100),
            Numeric("b", -1e-3, 1e-3),
            Numeric("c", 0, 2),
            Numeric("d", -1, 1),
        ]
    ),
    frame=numbers,
    others=_other_numbers,
    result=lambda model: model.covariance_.tolist(),
)

DENSITY = Family(
    builders={"PGMEstimator": lambda **kw: PGMEstimator(**{"random_state": 0, **kw})},
    schema=CAUSAL.schema,
    frame=a_frame,
    others=_other_frame,
    result=lambda model: {c: t.tolist() for c, t in model.marginals_.items()},
)

FAMILIES = (CAUSAL, COVARIANCE, DENSITY)

#: The family of each public estimator.
FAMILY_OF = {name: family for family in FAMILIES for name in family.builders}


def is_private(name: str) -> bool:
    """Say whether a public estimator spends a privacy budget."""
    return issubclass(getattr(skdp, name), PrivateEstimator)


PRIVATE = [name for name in FAMILY_OF if is_private(name)]


def build(name: str, **parameters: Any) -> Any:
    """Build an estimator with the schema of its family, unless told otherwise."""
    family = FAMILY_OF[name]
    return family.builders[name](**{"schema": family.schema, **parameters})
