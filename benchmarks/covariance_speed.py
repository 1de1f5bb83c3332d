"""How long the private covariances take, beside NumPy's X.T @ X.

    python benchmarks/covariance_speed.py [--quick]

Gaussian AR(1) rows with bounds at 4 standard deviations, epsilon = 1 and delta = 1e-6.
Times are the least of some runs, in seconds: wall clock, and CPU time of the process,
which tells more on a machine with other work to do. All that grows with the number of
records is one X'X, but for the products clipped one by one (`product_clip`), which no
BLAS can do.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import keep, table
from numpy.typing import NDArray

import skdp

METHODS: dict[str, Callable[..., Any]] = {
    "SSP + PSD": skdp.GaussianMechanismCovariance,
    "PACE": skdp.PaceGGMCovariance,
    "PACE, product_clip=4": lambda **kw: skdp.PaceGGMCovariance(product_clip=4.0, **kw),
    "Denoised": skdp.DenoisedCovariance,
}


def rows(d: int, n: int) -> NDArray[np.float64]:
    """Draw an AR(1) sequence in each row."""
    X = np.random.default_rng(0).standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.7**2) * X[:, j]
    return np.clip(X, -4, 4)


def least_times(run: Callable[[], Any], n_runs: int) -> tuple[float, float]:
    """Return the least wall-clock and CPU time of some runs."""
    found = []
    for _ in range(n_runs):
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        found.append((time.perf_counter() - wall, time.process_time() - cpu))
    walls, cpus = zip(*found, strict=True)
    return min(walls), min(cpus)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smaller size only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of noise; the seed is known here
    sizes = (
        [(100, 50_000, 3)] if options.quick else [(100, 50_000, 3), (500, 100_000, 1)]
    )
    found: list[list[Any]] = []
    for d, n, n_runs in sizes:
        X = rows(d, n)
        found.append([d, n, "X.T @ X", *least_times(lambda X=X: X.T @ X, n_runs)])
        for name, make in METHODS.items():
            model = make(epsilon=1.0, bounds=4.0, assume_centered=True, random_state=0)
            found.append(
                [d, n, name, *least_times(lambda m=model, X=X: m.fit(X), n_runs)]
            )
            print(*found[-1], flush=True)
    print(table(["d", "n", "what", "wall", "CPU"], found))
    if not options.quick:
        columns = ("d", "n", "what", "wall_seconds", "cpu_seconds")
        keep(
            "covariance_speed", [dict(zip(columns, row, strict=True)) for row in found]
        )


if __name__ == "__main__":
    main()
