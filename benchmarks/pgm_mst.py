"""MST end to end on Adult: PGMEstimator beside the same mechanism on mbi (JAX).

    python benchmarks/pgm_mst.py [--quick] [--no-mbi]

epsilon = 1, delta = 1e-9, 14 columns, 48 842 records. Every run is a process of its
own; seconds are from the start of the fit, imports not counted, and peak memory is that
of the process. mbi has no such estimator: its arm is MST written on its public
interface (mirror descent of 1000 iterations twice, in double precision and without the
compilation cache, as its import advises), with the same merging of rare levels, whose
records are spread evenly over them in its synthetic table.

Noise: "replace" is scaled for replacement of a record, as in this package; "add" for
adding or removing one, as in mbi's own scripts, which is sqrt(2) smaller. Ours gets the
smaller noise by asking for the epsilon of twice the rho. Errors are mean total
variations of all 1-, 2- and 3-way marginals: of the model, and of a synthetic table.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from itertools import combinations
from statistics import mean
from time import perf_counter, process_time
from typing import Any

import numpy as np
from common import keep, table
from pgm_vs_mbi import load, marginal_of

EPSILON, DELTA = 1.0, 1e-9
NOISES = ("replace", "add")


def rho_of(noise: str) -> float:
    """Return the rho whose replace-one noise is that of the arm."""
    from skdp.privacy import zcdp_from_dp

    return zcdp_from_dp(EPSILON, DELTA) * (2 if noise == "add" else 1)


def errors(answer: Any, records: np.ndarray, sizes: dict[str, int]) -> list[float]:
    """Return the mean total variation of all marginals of one to three columns."""
    return [
        mean(
            np.abs(answer(c) - marginal_of(records, sizes, c)).sum()
            / (2 * len(records))
            for c in combinations(sizes, k)
        )
        for k in (1, 2, 3)
    ]


# Workers ---------------------------------------------------------------------------


def ours(noise: str, seed: int) -> dict[str, Any]:
    """Fit and sample with this package."""
    import pandas as pd

    from skdp import Ordinal, PGMEstimator, Schema
    from skdp.privacy import dp_from_zcdp

    sizes, records = load()
    X = pd.DataFrame(records, columns=list(sizes))
    schema = Schema([Ordinal(name, range(size)) for name, size in sizes.items()])
    epsilon = dp_from_zcdp(rho_of(noise), DELTA)
    start, cpu = perf_counter(), process_time()
    model = PGMEstimator(epsilon, DELTA, schema=schema, random_state=seed).fit(X)
    fitted, cpu = perf_counter(), process_time() - cpu
    synthetic = model.sample().to_numpy()
    sampled = perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pairs = combinations(sizes, 2)
    distance = mean(
        np.abs(model.marginal(p) - marginal_of(synthetic, sizes, p)).sum()
        / (2 * len(records))
        for p in pairs
    )
    return {
        "seconds": fitted - start,
        "CPU seconds": cpu,
        "sampling": sampled - fitted,
        "MB": peak,
        "model": errors(model.marginal, records, sizes),
        "sample": errors(lambda c: marginal_of(synthetic, sizes, c), records, sizes),
        "pairs, sample to model": distance,
    }


def with_mbi(noise: str, seed: int) -> dict[str, Any]:
    """Run MST on mbi's estimation."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    import mbi

    sizes, records = load()
    start, cpu = perf_counter(), process_time()
    synthetic = mst_on_mbi(mbi, sizes, records, rho_of(noise), seed)
    seconds, cpu = perf_counter() - start, process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer = lambda c: marginal_of(synthetic, sizes, c)  # noqa: E731
    return {
        "seconds": seconds,
        "CPU seconds": cpu,
        "MB": peak,
        "sample": errors(answer, records, sizes),
    }


def mst_on_mbi(
    mbi: Any, sizes: dict[str, int], records: np.ndarray, rho: float, seed: int
) -> np.ndarray:
    """Measure, choose, measure, and return a synthetic table."""
    rng, names, n = np.random.default_rng(seed), list(sizes), len(records)
    d = len(names)
    one_way = {
        (c,): marginal_of(records, sizes, (c,)) + rng.normal(0, (3 * d / rho) ** 0.5, k)
        for c, k in sizes.items()
    }
    sigma = (3 * d / rho) ** 0.5
    groups = {c: grouped(one_way[c,], 3 * sigma) for c in names}
    merged_sizes = {c: int(groups[c].max()) + 1 for c in names}
    merged = np.column_stack([groups[c][records[:, j]] for j, c in enumerate(names)])
    domain = mbi.Domain(tuple(names), tuple(merged_sizes.values()))
    measured = [measured_group(mbi, c, one_way[c,], groups[c], sigma) for c in names]
    measured = [m for parts in measured for m in parts]
    model = fit(mbi, domain, measured, n)
    scores = {}
    for pair in combinations(names, 2):
        exact = marginal_of(merged, merged_sizes, pair)
        independent = np.asarray(model.project(pair).datavector())
        scores[pair] = np.abs(exact.ravel() - independent).sum()
    epsilon = (8 * rho / 3 / (d - 1)) ** 0.5
    for pair in tree(names, scores, epsilon, rng):
        sigma_pair = (3 * (d - 1) / rho) ** 0.5
        exact = marginal_of(merged, merged_sizes, pair).ravel()
        answer = exact + rng.normal(0, sigma_pair, exact.shape)
        measured.append(mbi.LinearMeasurement(answer, pair, sigma_pair))
    model = fit(mbi, domain, measured, n)
    data = model.synthetic_data(rows=n)
    drawn = np.column_stack([np.asarray(data.to_dict()[c]) for c in names])
    return np.column_stack(
        [spread(drawn[:, j], groups[c], rng) for j, c in enumerate(names)]
    )


def fit(mbi: Any, domain: Any, measured: list[Any], n: int) -> Any:
    """Estimate as the library does by default."""
    estimator = mbi.estimation.MirrorDescent()
    return estimator.estimate(domain, measured, known_total=n, iters=1000)


def grouped(counts: np.ndarray, threshold: float) -> np.ndarray:
    """Number the levels, the rare ones all alike."""
    rare = counts < threshold
    if rare.sum() < 2:
        return np.arange(len(counts))
    groups = np.cumsum(~rare) - 1
    groups[rare] = (~rare).sum()
    return groups


def measured_group(
    mbi: Any, column: str, counts: np.ndarray, groups: np.ndarray, sigma: float
) -> list[Any]:
    """Add up the counts of merged levels; all levels in units of equal noise."""
    sums = np.bincount(groups, weights=counts)
    sizes = np.bincount(groups) ** 0.5

    def scaled(factor: Any, weights: np.ndarray = 1 / sizes) -> Any:
        return factor.datavector() * weights

    return [mbi.LinearMeasurement(sums / sizes, (column,), sigma, scaled)]


def tree(
    names: list[str], scores: dict[Any, float], epsilon: float, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Draw a spanning tree by exponential mechanisms of sensitivity 2."""
    component, chosen = {c: c for c in names}, []
    while len(chosen) < len(names) - 1:
        pairs = [p for p in scores if component[p[0]] != component[p[1]]]
        noisy = [epsilon * scores[p] / 4 + rng.gumbel() for p in pairs]
        a, b = pairs[int(np.argmax(noisy))]
        chosen.append((a, b))
        old, new = component[b], component[a]
        component = {c: new if of == old else of for c, of in component.items()}
    return chosen


def spread(
    codes: np.ndarray, groups: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw a level of each group, all alike."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    first = np.cumsum(sizes) - sizes
    return order[first[codes] + (rng.random(len(codes)) * sizes[codes]).astype(int)]


# Runs ------------------------------------------------------------------------------


def in_a_process(library: str, noise: str, seed: int) -> dict[str, Any]:
    """Run a worker in a process of its own."""
    command = [sys.executable, __file__, "--worker", library, noise, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--no-mbi", action="store_true")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        library, noise, seed = arguments.worker
        worker = {"skdp": ours, "mbi": with_mbi}[library]
        print(json.dumps(worker(noise, int(seed))))
        return
    seeds = range(1 if arguments.quick else 3)
    results: dict[str, list[dict[str, Any]]] = {}
    for library in ("skdp",) if arguments.no_mbi else ("skdp", "mbi"):
        for noise in NOISES:
            # mbi takes minutes a run: fewer seeds.
            runs = seeds if library == "skdp" else range(min(2, len(seeds)))
            name = f"{library}, {noise}"
            results[name] = [in_a_process(library, noise, seed) for seed in runs]
            print(name, results[name][0], flush=True)
            file = "pgm_mst_alone" if arguments.no_mbi else "pgm_mst"
            keep(file + "_quick" * arguments.quick, results, ("mbi", "jax"))
    rows = []
    for name, runs in results.items():
        for kind in ("model", "sample"):
            if kind in runs[0]:
                tv = np.mean([run[kind] for run in runs], axis=0).tolist()
                least = [
                    min(run[k] for run in runs) for k in ("seconds", "CPU seconds")
                ]
                rows.append([name, kind, *least, max(r["MB"] for r in runs), *tv])
    ways = ["1-way", "2-way", "3-way"]
    header = ["arm", "of", "s, least", "CPU s, least", "MB", *ways]
    print(table(header, [[c if isinstance(c, str) else f"{c:.4g}" for c in r]
                         for r in rows]))  # fmt: skip


if __name__ == "__main__":
    main()
