"""One computation of all marginals, by four oracles on models of growing size.

    python benchmarks/pgm_oracles.py [--quick]

Needs `pip install mbi`, and Adult's domain in shared/data beside the repository. Clique
sets (pairs of Adult's columns) whose junction trees have 10^3 to 3 x 10^7 cells. Beside
each other, each in a process of its own: variable elimination as built here (one BLAS
thread, as in a fit), a plain NumPy propagation that materialises the cliques, and
mbi's default and materialising oracles after compilation. Reported: the least wall and
CPU milliseconds of several calls, seconds of the first call, and megabytes over those
after import.

Last, a model whose junction tree would take about 66 GB is asked for.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import nullcontext
from itertools import combinations, product
from time import perf_counter
from typing import Any

import numpy as np
from pgm_vs_mbi import (
    SIGMA,
    Cliques,
    N,
    domain_sizes,
    import_library,
    in_fresh_process,
    megabytes,
    peak_megabytes,
    show,
    timed,
)
from threadpoolctl import threadpool_limits


def oracle_cases(sizes: dict[str, int], quick: bool) -> dict[str, Cliques]:
    """Choose clique sets whose junction trees grow tenfold."""
    from skdp.graphical.domain import Domain
    from skdp.graphical.junction_tree import junction_tree

    domain = Domain(tuple(sizes), tuple(sizes.values()))
    names = list(sizes)
    goals = [1e3, 1e4, 1e5, 1e6] if quick else [1e3, 1e4, 1e5, 1e6, 1e7, 3e7]
    found: dict[float, tuple[float, int, Cliques]] = {}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        small = [n for n in names if sizes[n] <= (20 if seed % 3 == 0 else 100)]
        every = list(combinations(small, 2))
        picks = rng.choice(len(every), min(rng.integers(6, 31), len(every)), False)
        cliques: Cliques = [(n,) for n in small] + [every[i] for i in picks]
        n_cells = junction_tree(domain, cliques).n_cells
        for goal in goals:
            off = abs(np.log(n_cells / goal))
            if goal not in found or off < found[goal][0]:
                found[goal] = (off, n_cells, cliques)
    return {f"{found[g][1]:.2e} cells": found[g][2] for g in goals}


def materialised(sizes: dict[str, int], cliques: Cliques) -> Callable[[], Any]:
    """Prepare plain propagation over the tables of all junction-tree cliques."""
    from skdp.graphical.domain import Domain
    from skdp.graphical.junction_tree import junction_tree

    domain = Domain(tuple(sizes), tuple(sizes.values()))
    tree = junction_tree(domain, cliques)
    rng = np.random.default_rng(0)
    homes: list[list[tuple[tuple[str, ...], np.ndarray]]] = [[] for _ in tree.cliques]
    for clique in map(domain.sort, cliques):
        home = next(k for k, c in enumerate(tree.cliques) if set(clique) <= set(c))
        homes[home].append((clique, rng.normal(size=domain.shape(clique))))

    def axes(k: int, kept: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(i for i, a in enumerate(tree.cliques[k]) if a not in kept)

    def run() -> list[np.ndarray]:
        tables = []
        for k, clique in enumerate(tree.cliques):
            table = np.zeros(domain.shape(clique))
            for names, potential in homes[k]:
                table += domain.broadcast(potential, names, clique)
            tables.append(np.exp(table - table.max()))
        up: dict[int, np.ndarray] = {}
        for k in reversed(range(len(tables))):
            separator, parent = tree.separators[k], tree.parents[k]
            if parent >= 0:
                up[k] = tables[k].sum(axis=axes(k, separator))
                up[k] /= up[k].max()
                onto = tree.cliques[parent]
                tables[parent] *= domain.broadcast(up[k], separator, onto)
        for k, parent in enumerate(tree.parents):
            if parent >= 0:
                separator = tree.separators[k]
                ratio = tables[parent].sum(axis=axes(parent, separator)) / up[k]
                tables[k] *= domain.broadcast(ratio, separator, tree.cliques[k])
            else:
                tables[k] *= N / tables[k].sum()
        return [
            tables[k].sum(axis=axes(k, names))
            for k, home in enumerate(homes)
            for names, _ in home
        ]

    return run


def factored(sizes: dict[str, int], cliques: Cliques) -> Callable[[], Any]:
    """Prepare the oracle of this library."""
    from skdp.graphical.domain import Domain
    from skdp.graphical.oracle import MarginalOracle
    from skdp.graphical.plan import make_plan

    domain = Domain(tuple(sizes), tuple(sizes.values()))
    oracle = MarginalOracle(make_plan(domain, cliques, max_model_size=1e10), N)
    theta = np.random.default_rng(0).normal(size=oracle.layout.n_cells)
    return lambda: oracle(theta)


def mbi_oracle(
    sizes: dict[str, int], cliques: Cliques, which: str
) -> Callable[[], Any]:
    """Prepare an oracle of mbi, compiled."""
    import jax
    import mbi

    domain = mbi.Domain(tuple(sizes), tuple(sizes.values()))
    vector = mbi.CliqueVector.random(domain, cliques)
    oracle: Any = mbi.marginal_oracles.message_passing_shafer_shenoy
    if which == "default":
        oracle = mbi.marginal_oracles.default_oracle(cliques, domain)
    compiled = jax.jit(lambda theta: oracle(theta, N))
    return lambda: jax.block_until_ready(compiled(vector))


ORACLES = ("factored", "materialised", "mbi default", "mbi materialised")


def work_on_oracle(which: str, cliques: Cliques) -> dict[str, Any]:
    """Time one oracle after a first call."""
    cliques = [tuple(clique) for clique in cliques]
    sizes = domain_sizes()
    import_library("mbi" if which.startswith("mbi") else "skdp")
    before = megabytes()
    if which.startswith("mbi"):
        run = mbi_oracle(sizes, cliques, which.removeprefix("mbi "))
    else:
        run = {"factored": factored, "materialised": materialised}[which](
            sizes, cliques
        )
    threads = nullcontext() if which.startswith("mbi") else threadpool_limits(1, "blas")
    with threads:  # as in a fit
        _, first, _ = timed(run)
        started, times = perf_counter(), []
        while len(times) < 3 or (len(times) < 200 and perf_counter() - started < 2):
            times.append(timed(run)[1:])
    wall, cpu = (1000 * min(column) for column in zip(*times, strict=True))
    return {
        "ms": wall,
        "CPU ms": cpu,
        "first s": first,
        "peak MB": peak_megabytes() - before,
    }


def compare_oracles(quick: bool) -> list[dict[str, Any]]:
    """Run all oracles on models of growing size."""
    rows = []
    for name, cliques in oracle_cases(domain_sizes(), quick).items():
        for which in ORACLES:
            task = {"which": which, "cliques": cliques}
            row = in_fresh_process(task, __file__, 300.0)
            rows.append({"tree": name, "oracle": which} | row)
            print(rows[-1], flush=True)
    return rows


def refusal() -> dict[str, Any]:
    """Ask for a model whose junction tree would take about 66 GB."""
    from skdp.exceptions import ModelTooLargeError
    from skdp.graphical import Domain, LinearMeasurement, estimate
    from skdp.graphical.junction_tree import junction_tree

    sizes = domain_sizes()
    domain = Domain(tuple(sizes), tuple(sizes.values()))
    every = list(combinations(sizes, 2))
    best: tuple[float, float, Cliques] = (np.inf, 0.0, [])
    for n_pairs, seed in product((30, 34, 38), range(60)):
        rng = np.random.default_rng(seed)
        picks = rng.choice(len(every), n_pairs, replace=False)
        cliques: Cliques = [(name,) for name in sizes] + [every[i] for i in picks]
        gigabytes = junction_tree(domain, cliques).n_cells * 8e-9
        off = abs(np.log(gigabytes / 66))
        best = min(best, (off, gigabytes, cliques), key=lambda found: found[0])
    measurements = [
        LinearMeasurement(c, np.zeros(domain.shape(c)), SIGMA) for c in best[2]
    ]

    def ask() -> str:
        try:
            estimate(measurements, domain, N)
        except ModelTooLargeError as error:
            return str(error)
        raise AssertionError("the model was not refused")

    message, wall, cpu = timed(ask)
    return {"GB": best[1], "s": wall, "CPU s": cpu, "message": message}


def main() -> None:
    """Run all oracles and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(work_on_oracle(**json.loads(options.worker))))
        return
    from common import keep

    rows = compare_oracles(options.quick)
    show(rows, ("tree", "oracle", "ms", "CPU ms", "first s", "peak MB"))
    refused = refusal()
    print(refused)
    name = "pgm_oracles" + ("_quick" if options.quick else "")
    keep(name, {"oracles": rows, "refusal": refused}, ["mbi", "jax"])


if __name__ == "__main__":
    main()
