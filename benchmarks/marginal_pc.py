"""MarginalPC on four small networks: accuracy beside PrivPC, and what each part brings.

    python benchmarks/marginal_pc.py            # the whole grid, some minutes
    python benchmarks/marginal_pc.py --quick    # epsilon = 1, 100 000 records, seconds

Pure epsilon for all. Means over ten samples; data seeds are 5000 + i, noise seeds i.
Directed F1 and structural Hamming distance compare CPDAGs.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import cache
from statistics import mean, median, stdev
from time import perf_counter
from typing import Any

from common import RESULTS, keep, table

from skdp import PC, MarginalPC, PrivPC
from skdp.datasets import NETWORK_NAMES, load_bayesian_network
from skdp.metrics import (
    directed_f1_score,
    skeleton_f1_score,
    structural_hamming_distance,
)

SIZES = (100_000, 10_000, 1_000)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
N_SAMPLES = 10

METHODS: dict[str, Callable[..., Any]] = {
    "MarginalPC": MarginalPC,
    "PrivPC": PrivPC,
}

# Each changes one part of MarginalPC.
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "Kendall form": {"independence_test": "kendall"},
    "total variation": {"independence_test": "total_variation"},
    "chi-square within strata": {"independence_test": "strata_chi2"},
    "CMH and chi-square within strata": {"independence_test": "both"},
    "denoise calibrated": {"denoise": "calibrated"},
    "denoise None": {"denoise": None},
    "no keep rule": {"keep_rule": False},
    "alpha .01 throughout": {"alpha": 0.01},
    "pairs, delta = 1e-6": {"source": "pairs", "delta": 1e-6},
}


@cache
def samples(name: str, n_records: int) -> list[Any]:
    """Draw the samples of a network once."""
    network = load_bayesian_network(name)
    return [
        network.sample(n_records, random_state=5000 + i, as_frame=True)
        for i in range(N_SAMPLES)
    ]


def scores(name: str, n_records: int, build: Callable[[int], Any]) -> dict[str, float]:
    """Fit on every sample; return mean scores, and the median time in milliseconds."""
    network = load_bayesian_network(name)
    f1, directed, distance, times = [], [], [], []
    for i, records in enumerate(samples(name, n_records)):
        start = perf_counter()
        model = build(i).fit(records)
        times.append(1000 * (perf_counter() - start))
        f1.append(skeleton_f1_score(network.skeleton, model.skeleton_))
        graphs = network.causal_graph, model.causal_graph_
        directed.append(directed_f1_score(*graphs))
        distance.append(structural_hamming_distance(*graphs))
    return {
        "f1": mean(f1), "deviation": stdev(f1), "directed_f1": mean(directed),
        "shd": mean(distance), "milliseconds": median(times),
    }  # fmt: skip


def private(
    method: Callable[..., Any], name: str, n: int, epsilon: float, **options: Any
) -> dict[str, float]:
    """Score a private estimator on a network."""
    schema = load_bayesian_network(name).schema
    return scores(
        name,
        n,
        lambda i: method(epsilon=epsilon, schema=schema, random_state=i, **options),
    )


def grid(sizes: tuple[int, ...], epsilons: tuple[float, ...]) -> list[dict[str, Any]]:
    """Score every method on every network, size and epsilon."""
    found = []
    for n in sizes:
        for name in NETWORK_NAMES:
            schema = load_bayesian_network(name).schema
            exact = scores(
                name, n, lambda i, s=schema: PC(independence_test="chi2", schema=s)
            )
            found.append({"method": "PC", "n": n, "network": name, **exact})
            for title, method in METHODS.items():
                for epsilon in epsilons:
                    cell = {"method": title, "n": n, "network": name}
                    cell |= {"epsilon": epsilon}
                    found.append(cell | private(method, name, n, epsilon))
        show(found, n, epsilons)
    return found


def show(cells: list[dict[str, Any]], n: int, epsilons: tuple[float, ...]) -> None:
    """Print a table for each score at one size."""
    for score in ("f1", "directed_f1", "shd"):
        rows = []
        for method in METHODS:
            for name in (*NETWORK_NAMES, "mean"):
                rows.append([method, name])
                for epsilon in epsilons:
                    values = [
                        c[score]
                        for c in cells
                        if (c["method"], c["n"]) == (method, n)
                        and c.get("epsilon") == epsilon
                        and name in (c["network"], "mean")
                    ]
                    rows[-1].append(mean(values))
        print(f"\n{score}, {n} records\n")
        print(table(["method", "network", *map(str, epsilons)], rows), flush=True)


def ablation(sizes: tuple[int, ...]) -> dict[str, dict[int, list[float]]]:
    """Return each variant's mean F1 over the networks, by size, at each epsilon."""
    found: dict[str, dict[int, list[float]]] = {}
    for title, options in VARIANTS.items():
        found[title] = {
            n: [
                mean(
                    private(MarginalPC, name, n, epsilon, **options)["f1"]
                    for name in NETWORK_NAMES
                )
                for epsilon in EPSILONS
            ]
            for n in sizes
        }
        print(title, found[title], flush=True)
    return found


def draw(cells: list[dict[str, Any]], path: Any) -> None:
    """Draw mean F1 against epsilon, a panel per size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(SIZES), figsize=(12, 3.6), sharey=True)
    for axis, n in zip(axes, SIZES, strict=True):
        for method, colour in zip(METHODS, ("#0072b2", "#d55e00"), strict=True):
            f1 = [
                mean(
                    c["f1"]
                    for c in cells
                    if (c["method"], c["n"], c.get("epsilon")) == (method, n, epsilon)
                )
                for epsilon in EPSILONS
            ]
            axis.plot(EPSILONS, f1, "o-", color=colour, label=method)
        exact = mean(c["f1"] for c in cells if (c["method"], c["n"]) == ("PC", n))
        axis.axhline(exact, color="grey", linestyle=":", label="PC, no privacy")
        axis.set(xscale="log", title=f"{n} records", xlabel="epsilon", ylim=(0, 1.03))
    axes[0].set_ylabel("skeleton F1, mean of four networks")
    axes[0].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    """Run what was asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    if parser.parse_args().quick:
        keep("marginal_pc_quick", grid(SIZES[:1], (1.0,)), ["pandas"])
        return
    cells = grid(SIZES, EPSILONS)
    variants = ablation(SIZES)
    keep("marginal_pc", {"grid": cells, "variants_mean_f1": variants}, ["pandas"])
    draw(cells, RESULTS / "marginal_pc.png")


if __name__ == "__main__":
    main()
