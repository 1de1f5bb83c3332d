"""AIM on Adult: time, where it goes, and error, for three limits on the model's size.

    python benchmarks/pgm_aim.py [--quick]

epsilon = 1, delta = 1e-9, the workload is every 3-way marginal of the 14 columns,
48 842 records. Every run is a process of its own; seconds are from the start of the
fit, imports not counted, and peak memory is that of the process. Errors are mean total
variations of all 1-, 2- and 3-way marginals of the model. The parts of the time are
measured around the functions that take it: counting is the first look at the occupied
cells of all candidates.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from itertools import combinations
from statistics import mean, stdev
from time import perf_counter, process_time
from typing import Any

import numpy as np
from common import keep, table
from pgm_vs_mbi import load, marginal_of

EPSILON, DELTA = 1.0, 1e-9
LIMITS = (1.0, 8.0, 80.0)
PARTS = ("fit", "scores", "counting", "filter")


def timed(seconds: Counter[str], part: str, function: Callable[..., Any]) -> Any:
    """Add the time in a function to a part, less that of parts inside it."""

    @wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        before, start = seconds.total(), process_time()
        try:
            return function(*args, **options)
        finally:
            inside = seconds.total() - before
            seconds[part] += process_time() - start - inside

    return wrapped


def measure_parts(seconds: Counter[str]) -> None:
    """Watch the functions that take the time."""
    from skdp.graphical.model_growth import ModelGrowth
    from skdp.pgm.session import Session
    from skdp.queries import ModelDistances
    from skdp.records.tabulation import Tabulator

    for owner, name, part in (
        (Session, "fit_model", "fit"),
        (ModelDistances, "evaluate", "scores"),
        (Tabulator, "_find_occupied", "counting"),
        (ModelGrowth, "admissible", "filter"),
    ):
        setattr(owner, name, timed(seconds, part, getattr(owner, name)))


def run(limit: float, seed: int) -> dict[str, Any]:
    """Fit once and judge the model."""
    import pandas as pd

    from skdp import Ordinal, PGMEstimator, Schema
    from skdp.graphical.calibrated_tree import covering_tree
    from skdp.pgm import Workload
    from skdp.pgm.strategies import AIM

    sizes, records = load()
    X = pd.DataFrame(records, columns=list(sizes))
    schema = Schema([Ordinal(name, range(size)) for name, size in sizes.items()])
    seconds: Counter[str] = Counter()
    measure_parts(seconds)
    estimator = PGMEstimator(
        EPSILON,
        DELTA,
        strategy=AIM(max_size=limit),
        workload=Workload.all_marginals(sizes, 3),
        schema=schema,
        random_state=seed,
    )
    start, cpu = perf_counter(), process_time()
    estimator.fit(X)
    wall, cpu = perf_counter() - start, process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    model = estimator.model_
    tree = covering_tree(model.domain, model.potentials)
    return {
        "seconds": wall,
        "CPU seconds": cpu,
        **{part: seconds[part] for part in PARTS},
        "rounds": len(estimator.measurements_) - len(sizes),
        "tree MB": tree.n_cells * 8e-6,
        "MB": peak,
        "spent": estimator.ledger_.total(DELTA),
        "errors": [
            mean(
                np.abs(found - marginal_of(records, sizes, c)).sum()
                / (2 * len(records))
                for c, found in model.marginals(combinations(sizes, k)).items()
            )
            for k in (1, 2, 3)
        ],
    }


def in_a_process(limit: float, seed: int) -> dict[str, Any]:
    """Run a worker in a process of its own."""
    command = [sys.executable, __file__, "--worker", str(limit), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        limit, seed = arguments.worker
        print(json.dumps(run(float(limit), int(seed))))
        return
    seeds = range(1 if arguments.quick else 5)
    results: dict[str, list[dict[str, Any]]] = {}
    for limit in LIMITS:
        runs = results[f"{limit:g} MB"] = []
        for seed in seeds:
            runs.append(in_a_process(limit, seed))
            print(limit, seed, runs[-1], flush=True)
        keep("pgm_aim" + "_quick" * arguments.quick, results)
    header = ["limit", "s, least to most", "CPU s", *PARTS, "rounds", "tree MB", "MB",
              "1-way", "2-way", "3-way (deviation)"]  # fmt: skip
    print(table(header, [row(limit, runs) for limit, runs in results.items()]))


def row(limit: str, runs: list[dict[str, Any]]) -> list[str]:
    """Summarise the runs of a limit."""
    wall = [run["seconds"] for run in runs]
    mean_of = {
        key: mean(run[key] for run in runs)
        for key in ("CPU seconds", *PARTS, "rounds", "tree MB", "MB")
    }
    errors = np.mean([run["errors"] for run in runs], axis=0)
    third = [run["errors"][2] for run in runs]
    spread = f" ({stdev(third):.4f})" if len(runs) > 1 else ""
    return [
        limit,
        f"{min(wall):.1f} to {max(wall):.1f}",
        *(f"{value:.3g}" for value in mean_of.values()),
        *(f"{error:.4f}" for error in errors[:2]),
        f"{errors[2]:.4f}{spread}",
    ]


if __name__ == "__main__":
    main()
