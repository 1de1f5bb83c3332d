"""The data sets of benchmarks/covariance.py: rows within [-1, 1], about a centre of 0.

Four data sets of scikit-learn, centred and divided by the largest absolute value, which
is taken as public; Gaussians of several structures with bounds at 4 standard
deviations; their signs, for which the bounds are tight; uniform margins.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn import datasets

__all__ = ["DATA_SETS", "TIGHT"]

Matrix = NDArray[np.float64]


def as_correlation(covariance: Matrix) -> Matrix:
    """Scale a covariance to variances of 1."""
    spread = np.sqrt(np.diag(covariance))
    return covariance / np.outer(spread, spread)


def ar(d: int, rng: np.random.Generator) -> Matrix:
    """Auto-regression of order 1 with correlation 0.7 between neighbours."""
    return 0.7 ** np.abs(np.subtract.outer(range(d), range(d)))


def sparse(d: int, rng: np.random.Generator) -> Matrix:
    """A precision matrix with two entries of random sign a feature."""
    precision = np.eye(d)
    for _ in range(2 * d):
        i, j = rng.choice(d, 2, replace=False)
        precision[i, j] = precision[j, i] = rng.choice([-0.3, 0.3])
    least = np.linalg.eigvalsh(precision)[0]
    return as_correlation(np.linalg.inv(precision + max(0.0, 0.1 - least) * np.eye(d)))


def blocks(d: int, rng: np.random.Generator) -> Matrix:
    """Groups of 5 with correlation 0.8."""
    return np.kron(np.eye(d // 5), 0.8 * np.ones((5, 5)) + 0.2 * np.eye(5))


def spikes(d: int, rng: np.random.Generator) -> Matrix:
    """Three large principal components in random directions."""
    directions = np.linalg.qr(rng.standard_normal((d, 3)))[0]
    size = d * np.array([0.4, 0.25, 0.15])
    return as_correlation(0.2 * np.eye(d) + (directions * size) @ directions.T)


STRUCTURES = {"ar": ar, "sparse": sparse, "blocks": blocks, "spikes": spikes}
MARGINS: dict[str, Callable[[Matrix], Matrix]] = {
    "Gaussian": lambda Z: np.clip(Z / 4, -1, 1),
    "signs": np.sign,
    "uniform": lambda Z: 2 * norm.cdf(Z) - 1,
}


def real(name: str) -> Matrix:
    """Load a data set of scikit-learn, without its constant columns."""
    X = getattr(datasets, f"load_{name}")().data.astype(float)
    X -= X.mean(axis=0)
    X = X[:, np.abs(X).max(axis=0) > 0]
    return X / np.abs(X).max(axis=0)


def synthetic(margin: str, structure: str, d: int, n: int) -> Matrix:
    """Draw n rows; the draw depends on nothing but the arguments."""
    rng = np.random.default_rng([ord(c) for c in f"{margin}{structure}"] + [d, n])
    factor = np.linalg.cholesky(STRUCTURES[structure](d, rng))
    return MARGINS[margin](rng.standard_normal((n, d)) @ factor.T)


_SYNTHETIC = [
    ("Gaussian", "ar", 50, 1000),
    ("Gaussian", "ar", 50, 5000),
    ("Gaussian", "ar", 100, 50_000),
    ("Gaussian", "ar", 200, 20_000),
    ("Gaussian", "sparse", 100, 5000),
    ("Gaussian", "sparse", 200, 20_000),
    ("Gaussian", "blocks", 100, 5000),
    ("Gaussian", "spikes", 50, 5000),
    ("Gaussian", "spikes", 100, 50_000),
    ("signs", "ar", 100, 10_000),
    ("signs", "blocks", 100, 10_000),
    ("signs", "sparse", 200, 20_000),
    ("signs", "spikes", 50, 5000),
    ("uniform", "ar", 100, 10_000),
]

#: By name, how to make the rows.
DATA_SETS: dict[str, Callable[[], Matrix]] = {
    **{
        name: (lambda name=name: real(name))
        for name in ("breast_cancer", "digits", "wine", "diabetes")
    },
    **{
        f"{margin} {structure} {d}/{n}": (
            lambda a=(margin, structure, d, n): synthetic(*a)
        )
        for margin, structure, d, n in _SYNTHETIC
    },
}
#: Those whose bounds are tight.
TIGHT = tuple(name for name in DATA_SETS if name.split()[0] in ("signs", "uniform"))
