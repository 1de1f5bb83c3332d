"""MarginalPC, PrivPC and PC on wide networks: accuracy, time and memory.

    python benchmarks/marginal_pc_wide.py           # half an hour
    python benchmarks/marginal_pc_wide.py --networks child alarm
    python benchmarks/marginal_pc_wide.py --quick   # alarm at epsilon = 1, one sample

delta = 1e-6. Data seeds are 7000 + i, noise seeds i. The constants of MarginalPC were
chosen on child and alarm and compared on insurance (five samples each); the other
networks were not looked at before (two samples). Time is that of the processor. Memory
is the largest traced allocation of one fit beyond its input.
"""

from __future__ import annotations

import argparse
import tracemalloc
import warnings
from collections.abc import Callable
from statistics import mean, median
from time import process_time
from typing import Any

from common import keep, table
from published_networks import published_network

from skdp import PC, MarginalPC, PrivPC
from skdp.metrics import (
    directed_f1_score,
    skeleton_f1_score,
    skeleton_precision_score,
    skeleton_recall_score,
    structural_hamming_distance,
)

#: Names and numbers of samples.
NETWORKS = {
    "child": 5,
    "insurance": 5,
    "alarm": 5,
    "water": 2,
    "hepar2": 2,
    "win95pts": 2,
    "hailfinder": 2,
}
SIZES = (10_000, 100_000)
EPSILONS = (0.3, 1.0, 3.0, 10.0)
DELTA = 1e-6

Build = Callable[[Any, float, int], Any]

METHODS: dict[str, Build] = {
    "MarginalPC": lambda schema, epsilon, seed: MarginalPC(
        epsilon, DELTA, schema=schema, random_state=seed
    ),
    "PrivPC": lambda schema, epsilon, seed: PrivPC(
        epsilon, DELTA, schema=schema, random_state=seed
    ),
}


def exact_pc(schema: Any, epsilon: float, seed: int) -> PC:
    """Return PC without privacy, at the level of MarginalPC's order and tests."""
    return PC(independence_test="chi2", alpha=0.001, max_order=2, schema=schema)


def scores(
    name: str, n: int, epsilon: float, build: Build, n_samples: int
) -> dict[str, float]:
    """Fit on every sample; return mean scores, median seconds, peak megabytes."""
    network = published_network(name)
    found: list[dict[str, float]] = []
    for i in range(n_samples):
        records = network.sample(n, 7000 + i)
        model = build(network.schema, epsilon, i)
        start = process_time()
        model.fit(records)
        seconds = process_time() - start
        skeletons = network.skeleton, model.skeleton_
        graphs = network.causal_graph, model.causal_graph_
        found.append(
            {
                "f1": skeleton_f1_score(*skeletons),
                "precision": skeleton_precision_score(*skeletons),
                "recall": skeleton_recall_score(*skeletons),
                "directed_f1": directed_f1_score(*graphs),
                "shd": structural_hamming_distance(*graphs),
                "cpu_seconds": seconds,
            }
        )
    cell = {score: mean(f[score] for f in found) for score in found[0]}
    cell["cpu_seconds"] = median(f["cpu_seconds"] for f in found)
    tracemalloc.start()
    build(network.schema, epsilon, 0).fit(records)
    cell["megabytes"] = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return cell


def grid(
    networks: dict[str, int], sizes: tuple[int, ...], epsilons: tuple[float, ...]
) -> list[dict[str, Any]]:
    """Score every method; print each network as it is done."""
    cells = []
    for name, k in networks.items():
        for n in sizes:
            row = {"network": name, "n": n}
            exact = scores(name, n, 0.0, exact_pc, min(k, 2))
            cells.append({**row, "method": "PC", **exact})
            for epsilon in epsilons:
                for method, build in METHODS.items():
                    private = {**row, "method": method, "epsilon": epsilon}
                    cells.append({**private, **scores(name, n, epsilon, build, k)})
        show([c for c in cells if c["network"] == name])
    return cells


def show(cells: list[dict[str, Any]]) -> None:
    """Print the cells of a network."""
    columns = [
        "network", "n", "method", "epsilon", "f1", "precision", "recall",
        "directed_f1", "shd", "cpu_seconds", "megabytes",
    ]  # fmt: skip
    print(table(columns, [[c.get(k, "") for k in columns] for c in cells]), flush=True)


def main() -> None:
    """Run what was asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=[*NETWORKS])
    options = parser.parse_args()
    if options.quick:
        keep("marginal_pc_wide_quick", grid({"alarm": 1}, (100_000,), (1.0,)), PEERS)
        return
    networks = {name: NETWORKS[name] for name in options.networks}
    keep("marginal_pc_wide", grid(networks, SIZES, EPSILONS), PEERS)


PEERS = ["pandas", "pgmpy"]

if __name__ == "__main__":
    main()
