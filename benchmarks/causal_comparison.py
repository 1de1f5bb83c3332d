"""Every private PC beside every other, at equal total guarantees.

    python benchmarks/causal_comparison.py            # four small networks, an hour
    python benchmarks/causal_comparison.py --quick    # three epsilons, three samples
    python benchmarks/causal_comparison.py --wide     # child, insurance, alarm
    python benchmarks/causal_comparison.py --draw     # the plot again, from the results
    python benchmarks/causal_comparison.py --only EMPC    # one method again; or --wide

After figure 1 and table 2 of the Priv-PC paper: skeleton F1 on earthquake, cancer, asia
and survey, ten samples of 100 000 records, and the time of a fit. Each method gets the
same total (epsilon, delta = 1e-6), and those that have a pure form once more with
delta = 0. Data seeds are 1000 + i, noise seeds i. Times are of the processor.
"""

from __future__ import annotations

import argparse
import json
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import mean, median, stdev
from time import process_time
from typing import Any

from common import RESULTS, keep, table

import skdp
from skdp import EMPC, PC, SVTPC, GaussianPC, PrivPC
from skdp.datasets import NETWORK_NAMES, load_bayesian_network
from skdp.metrics import (
    skeleton_f1_score,
    skeleton_precision_score,
    skeleton_recall_score,
    structural_hamming_distance,
)

N_RECORDS = 100_000
N_SAMPLES = 10
EPSILONS = (0.1, 0.3, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0)
DELTA = 1e-6
WIDE_NETWORKS = ("child", "insurance", "alarm")

Build = Callable[..., Any]

METHODS: dict[str, Build] = {
    "PrivPC": PrivPC,
    "PrivPC, sub-sampled": lambda *a, **kw: PrivPC(*a, subsample="auto", **kw),
    "SVTPC": SVTPC,
    "GaussianPC": GaussianPC,
    "EMPC": EMPC,
    "EMPC, a draw per order": lambda *a, **kw: EMPC(*a, selection="edges", **kw),
    "EMPC, count then edges": lambda *a, **kw: EMPC(
        *a, selection="count_then_edges", **kw
    ),
}
if hasattr(skdp, "MarginalPC"):
    METHODS["MarginalPC"] = skdp.MarginalPC


def exact_pc(epsilon: float, delta: float, schema: Any, random_state: int) -> PC:
    """Return PC without privacy, at the level and order of the private ones."""
    return PC(alpha=0.1, max_order=1, schema=schema)


# --- the four networks of the paper ---------------------------------------------------


@cache
def sample(name: str, i: int) -> Any:
    """Draw a sample of a network once."""
    network = load_bayesian_network(name)
    return network.sample(N_RECORDS, random_state=1000 + i, as_frame=True)


def scores(
    build: Build, name: str, epsilon: float, delta: float, n_samples: int
) -> dict[str, float]:
    """Fit on every sample; return mean F1, its deviation, mean distance and time."""
    network = load_bayesian_network(name)
    f1, distance, times = [], [], []
    for i in range(n_samples):
        records = sample(name, i)
        start = process_time()
        model = build(epsilon, delta, schema=network.schema, random_state=i)
        model.fit(records)
        times.append(1000 * (process_time() - start))
        f1.append(skeleton_f1_score(network.skeleton, model.skeleton_))
        truth, found = network.causal_graph, model.causal_graph_
        distance.append(structural_hamming_distance(truth, found))
        if delta is not None and hasattr(model, "ledger_"):
            assert model.ledger_.total(delta) <= epsilon * (1 + 1e-9)
    return {
        "f1": mean(f1), "deviation": stdev(f1), "shd": mean(distance),
        "milliseconds": median(times),
    }  # fmt: skip


def rows_of(
    methods: dict[str, Build], epsilons: tuple[float, ...], n_samples: int
) -> Iterator[dict[str, Any]]:
    """Yield a row for each method, delta, network and epsilon."""
    for name in NETWORK_NAMES:
        found = scores(exact_pc, name, 1.0, 0.0, n_samples)
        yield {"method": "PC", "delta": None, "network": name, "epsilon": None} | found
    for title, build in methods.items():
        for delta in (DELTA,) if title == "GaussianPC" else (DELTA, 0.0):
            for name in NETWORK_NAMES:
                for epsilon in epsilons:
                    found = scores(build, name, epsilon, delta, n_samples)
                    row = {"method": title, "delta": delta, "network": name}
                    yield row | {"epsilon": epsilon} | found
            print("measured", title, delta, flush=True)


def every_edge(name: str) -> float:
    """Return the F1 of the complete graph."""
    graph = load_bayesian_network(name).skeleton
    d = graph.number_of_nodes()
    density = graph.number_of_edges() / (d * (d - 1) / 2)
    return 2 * density / (1 + density)


def cells(rows: list[dict[str, Any]], what: str, **wanted: Any) -> list[float]:
    """Pick a figure from the rows that agree with what is wanted."""
    return [r[what] for r in rows if all(r[k] == v for k, v in wanted.items())]


def show(rows: list[dict[str, Any]], epsilons: tuple[float, ...]) -> None:
    """Print mean F1 and distance over the networks, F1 at epsilon = 1, and times."""
    labels = sorted(
        {(r["method"], r["delta"]) for r in rows if r["delta"] is not None},
        key=lambda label: (-label[1], list(METHODS).index(label[0])),
    )
    for what in ("f1", "shd"):
        exact = [mean(cells(rows, what, method="PC"))] * len(epsilons)
        lines = [["PC, no privacy", "", *exact]]
        for method, delta in labels:
            wanted = {"method": method, "delta": delta}
            means = [mean(cells(rows, what, epsilon=e, **wanted)) for e in epsilons]
            lines.append([method, f"{delta:g}", *means])
        print(f"\nmean {what} of the four networks")
        print(table(["method", "delta", *map(str, epsilons)], lines))
    for what in ("f1", "milliseconds"):
        lines = [["PC, no privacy", "", *cells(rows, what, method="PC")]]
        for method, delta in labels:
            wanted = {"method": method, "delta": delta, "epsilon": 1.0}
            lines.append([method, f"{delta:g}", *cells(rows, what, **wanted)])
        print(f"\n{what} at epsilon = 1")
        print(table(["method", "delta", *NETWORK_NAMES], lines))


COLOURS = ("#0072b2", "#56b4e9", "#999999", "#e69f00", "#d55e00", "#cc79a7", "#f0a3ff")


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw F1 against epsilon, a panel per network, at delta = 1e-6."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    methods = list(dict.fromkeys(r["method"] for r in rows if r["delta"] == DELTA))
    figure, axes = plt.subplots(2, 2, figsize=(11, 8), sharex=True, sharey=True)
    for axis, name in zip(axes.flat, NETWORK_NAMES, strict=True):
        for method, colour in zip(methods, (*COLOURS, "#009e73"), strict=False):
            wanted = {"method": method, "network": name, "delta": DELTA}
            epsilons, f1, spread = (
                cells(rows, what, **wanted) for what in ("epsilon", "f1", "deviation")
            )
            axis.plot(epsilons, f1, "o-", color=colour, label=method, ms=4)
            low, high = ([f + s * d for f, d in zip(f1, spread, strict=True)]
                         for s in (-0.5, 0.5))  # fmt: skip
            axis.fill_between(epsilons, low, high, color=colour, alpha=0.12)
        exact = cells(rows, "f1", method="PC", network=name)[0]
        axis.axhline(exact, color="black", lw=1, label="PC, no privacy")
        axis.axhline(every_edge(name), color="grey", ls=":", label="every edge")
        axis.set(xscale="log", title=name, ylim=(0, 1.03))
    for axis in axes[1]:
        axis.set_xlabel("total epsilon (delta = 1e-6)")
    for axis in axes[:, 0]:
        axis.set_ylabel("skeleton F1, mean and deviation")
    axes[0, 0].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


# --- wide networks --------------------------------------------------------------------


def wide_methods() -> dict[str, Build]:
    """List the methods with a score for levels without an order where there is one."""
    nominal = {"independence_test": "total_variation"}
    chosen = {
        title: lambda *a, build=build, **kw: build(*a, **nominal, **kw)
        for title, build in METHODS.items()
        if title not in ("PrivPC, sub-sampled", "MarginalPC")
    }
    if "MarginalPC" in METHODS:
        chosen["MarginalPC"] = METHODS["MarginalPC"]
    chosen["PC, no privacy"] = lambda epsilon, delta, schema, random_state: PC(
        independence_test="chi2", alpha=0.001, max_order=2, schema=schema
    )
    return chosen


def wide_row(build: Build, name: str, epsilon: float) -> dict[str, float]:
    """Fit on one sample; return scores, the number of edges, time and memory."""
    from published_networks import published_network

    network = published_network(name)
    records = network.sample(N_RECORDS, 7000)
    times = []
    for traced in (False, True):  # tracing takes time
        model = build(epsilon, DELTA, schema=network.schema, random_state=0)
        if traced:
            tracemalloc.start()
        start = process_time()
        model.fit(records)
        times.append(process_time() - start)
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    truth, found = network.skeleton, model.skeleton_
    return {
        "f1": skeleton_f1_score(truth, found),
        "precision": skeleton_precision_score(truth, found),
        "recall": skeleton_recall_score(truth, found),
        "edges": found.number_of_edges(), "complete": model.is_complete_,
        "tests": model.n_tests_, "seconds": times[0], "megabytes": megabytes,
    }  # fmt: skip


def wide(only: str | None) -> None:
    """Measure the wide networks at epsilon 1 and 10; print and keep."""
    methods = {t: b for t, b in wide_methods().items() if only in (None, t)}
    found = others("causal_comparison_wide", set(methods) if only else None)
    for name, (title, build) in (
        (name, method) for name in WIDE_NETWORKS for method in methods.items()
    ):
        for epsilon in (1.0, 10.0):
            row = {"network": name, "method": title, "epsilon": epsilon}
            found.append(row | wide_row(build, name, epsilon))
            print(found[-1], flush=True)
    print(table(list(found[0]), [list(row.values()) for row in found]))
    keep("causal_comparison_wide", found, ["pgmpy", "pandas"])


def others(name: str, methods: set[str] | None) -> list[dict[str, Any]]:
    """Return the rows that were kept of other methods; none if all are measured."""
    if methods is None:
        return []
    rows = json.loads((RESULTS / f"{name}.json").read_text())["results"]
    return [row for row in rows if row["method"] not in methods]


def main() -> None:
    """Run what was asked for."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--quick", "--wide", "--draw"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--only", choices=METHODS)
    asked = parser.parse_args()
    if asked.wide:
        wide(asked.only)
        return
    kept = RESULTS / "causal_comparison.json"
    if not asked.draw:
        epsilons = (0.3, 1.0, 10.0) if asked.quick else EPSILONS
        methods = {t: b for t, b in METHODS.items() if asked.only in (None, t)}
        rows = list(rows_of(methods, epsilons, 3 if asked.quick else N_SAMPLES))
        rows += others("causal_comparison", {"PC", asked.only} if asked.only else None)
        show(rows, epsilons)
        if asked.quick:
            return
        keep("causal_comparison", rows, ["pandas", "matplotlib"])
    draw(json.loads(kept.read_text())["results"], RESULTS / "causal_comparison.png")


if __name__ == "__main__":
    main()
