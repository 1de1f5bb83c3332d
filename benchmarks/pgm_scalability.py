"""Seconds and memory of one estimation, against domain size and measured marginals.

    python benchmarks/pgm_scalability.py [--quick]

The paper's scalability figure (McKenna, Sheldon, Miklau 2019). 100 000 records of a
chain of columns with ten levels each: a column copies the one before with probability
.6. Noisy counts (deviation 50) of marginals go into

* the graphical model, by the default solver,
* multiplicative weights on the table over all columns: one pass of updates,
* least squares on the table over all columns, to a relative tolerance of 1e-10.

"domain" measures every column, every two and every three neighbours, for 2 to 17
columns: the table over all of them has 10^2 to 10^17 cells. "measured" keeps 17 columns
and measures more and more sets inside four neighbours. "adult" measures all columns and
P random pairs on Adult's domain, 6.4 10^17 cells, where the size of the model depends
on how the pairs meet.

The other two hold the table over all columns, and the limit of this package, 10^8 cells
(800 MB a table), is where they stop here; with all the memory of the machine they would
get one or two columns further. Seconds are of the processor, memory is the peak of what
was allocated in a second run, as Python traces it.
"""

from __future__ import annotations

import argparse
import json
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from common import RESULTS, keep, table

from skdp.exceptions import ModelTooLargeError
from skdp.graphical import Domain, LinearMeasurement, fit_potentials
from skdp.graphical.least_squares.full_table import full_table
from skdp.graphical.multiplicative_weights import MultiplicativeWeights
from skdp.graphical.size import check_table

N_RECORDS, SIGMA, LEVELS = 100_000, 50.0, 10
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
Columns = tuple[str, ...]


def chain(n_columns: int) -> tuple[Domain, dict[str, np.ndarray]]:
    """Draw the records."""
    rng = np.random.default_rng(0)
    names = tuple(f"v{i:02d}" for i in range(n_columns))
    codes = {names[0]: rng.integers(LEVELS, size=N_RECORDS)}
    for before, name in zip(names[:-1], names[1:], strict=True):
        copied = rng.random(N_RECORDS) < 0.6
        fresh = rng.integers(LEVELS, size=N_RECORDS)
        codes[name] = np.where(copied, codes[before], fresh)
    return Domain(names, (LEVELS,) * n_columns), codes


def measure(
    domain: Domain, codes: dict[str, np.ndarray], cliques: Sequence[Columns]
) -> list[LinearMeasurement]:
    """Return noisy counts."""
    rng, noisy = np.random.default_rng(1), []
    for columns in cliques:
        shape = domain.shape(columns)
        cells = np.ravel_multi_index([codes[name] for name in columns], shape)
        counts = np.bincount(cells, minlength=prod(shape)).reshape(shape)
        answer = counts + SIGMA * rng.normal(size=shape)
        noisy.append(LinearMeasurement(columns, answer, SIGMA))
    return noisy


def neighbours(names: Columns, width: int) -> list[Columns]:
    """Return all runs of so many columns."""
    return [names[i : i + width] for i in range(len(names) - width + 1)]


# The three estimations ----------------------------------------------------------------


def by_model(domain: Domain, noisy: list[LinearMeasurement], n: int) -> None:
    """Fit the graphical model."""
    fit_potentials(noisy, domain, n)


def by_weights(domain: Domain, noisy: list[LinearMeasurement], n: int) -> None:
    """Update the full table by each measurement once."""
    check_table(domain, domain.names)
    table_of_all = np.full(domain.sizes, 1.0 / prod(domain.sizes))
    start = MultiplicativeWeights(domain, n, tables={domain.names: table_of_all})
    start.absorb(noisy)


def by_least_squares(domain: Domain, noisy: list[LinearMeasurement], n: int) -> None:
    """Solve for the full table."""
    check_table(domain, domain.names)
    full_table(noisy, domain.names, domain, float(n))


ARMS: dict[str, Callable[[Domain, list[LinearMeasurement], int], None]] = {
    "graphical model": by_model,
    "multiplicative weights": by_weights,
    "least squares": by_least_squares,
}


def cost(
    arm: str, domain: Domain, noisy: list[LinearMeasurement], n: int = N_RECORDS
) -> dict[str, Any]:
    """Return seconds and megabytes, or that it was refused."""
    estimate = ARMS[arm]
    try:
        seconds = []
        for _ in range(3 if arm == "graphical model" else 1):
            start = process_time()
            estimate(domain, noisy, n)
            seconds.append(process_time() - start)
        if min(seconds) > 60:
            return {"seconds": min(seconds)}
        tracemalloc.start()
        estimate(domain, noisy, n)
        megabytes = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    except ModelTooLargeError:
        return {"refused": "too large"}
    return {"seconds": min(seconds), "megabytes": megabytes}


# The three parts ----------------------------------------------------------------------


def by_domain(largest: int) -> list[dict[str, Any]]:
    """More and more columns."""
    rows = []
    for n_columns in (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17):
        domain, codes = chain(n_columns)
        widths = range(1, min(3, n_columns) + 1)
        cliques = [c for width in widths for c in neighbours(domain.names, width)]
        noisy = measure(domain, codes, cliques)
        for arm in ARMS:
            if arm != "graphical model" and n_columns > max(largest, 9):
                continue  # refused at 9 columns already
            if arm != "graphical model" and largest < n_columns < 9:
                continue
            found = cost(arm, domain, noisy)
            rows.append(
                {"columns": n_columns, "measured": len(noisy), "arm": arm} | found
            )
            print(rows[-1], flush=True)
    return rows


def by_measured() -> list[dict[str, Any]]:
    """More and more marginals of 17 columns."""
    domain, codes = chain(17)
    inside = {
        subset
        for run in neighbours(domain.names, 4)
        for size in (1, 2, 3, 4)
        for subset in combinations(run, size)
    }
    rng, every = np.random.default_rng(2), sorted(inside)
    order = rng.permutation(len(every))
    rows = []
    for k in (1, 2, 5, 10, 20, 50, 100, len(every)):
        noisy = measure(domain, codes, [every[i] for i in order[:k]])
        found = cost("graphical model", domain, noisy)
        rows.append({"measured": k, "cells": sum(m.answer.size for m in noisy)} | found)
        print(rows[-1], flush=True)
    return rows


def on_adult(most: int) -> list[dict[str, Any]]:
    """Measure more and more random pairs of Adult."""
    import pandas as pd

    sizes = json.loads((DATA / "adult-domain.json").read_text())
    frame = pd.read_csv(DATA / "adult.csv")
    domain = Domain(tuple(sizes), tuple(sizes.values()))
    codes = {name: frame[name].to_numpy() for name in domain.names}
    pairs, rows = list(combinations(domain.names, 2)), []
    for n_pairs in (0, 5, 10, 14, 17, 20):
        for seed in range(3):
            if n_pairs > most:
                continue
            picks = np.random.default_rng(seed).permutation(len(pairs))[:n_pairs]
            cliques = [(c,) for c in domain.names] + [pairs[i] for i in picks]
            noisy = measure(domain, codes, cliques)
            found = cost("graphical model", domain, noisy, len(frame))
            rows.append({"pairs": n_pairs, "seed": seed} | found)
            print(rows[-1], flush=True)
    return rows


def plot(results: dict[str, list[dict[str, Any]]], path: str) -> None:
    """Draw seconds against domain size and number of marginals."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    for arm in ARMS:
        rows = [r for r in results["domain"] if r["arm"] == arm and "seconds" in r]
        left.loglog(
            [10.0 ** r["columns"] for r in rows],
            [r["seconds"] for r in rows],
            marker=".",
            label=arm,
        )
    left.axvline(1e8, color="grey", linestyle=":")
    left.set_xlabel("cells of the table over all columns")
    left.set_ylabel("CPU seconds per estimation")
    left.legend(fontsize=8)
    rows = results["measured"]
    x, y = [r["measured"] for r in rows], [r["seconds"] for r in rows]
    right.loglog(x, y, marker=".")
    right.set_xlabel("measured marginals, 17 columns ($10^{17}$ cells)")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run all parts and keep what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small tables only")
    args = parser.parse_args()
    results = {
        "domain": by_domain(5 if args.quick else 8),
        "measured": by_measured(),
        "adult": on_adult(5 if args.quick else 20),
    }
    name = "pgm_scalability" + "_quick" * args.quick
    keep(name, results)
    plot(results, str(RESULTS / f"{name}.png"))
    header = ["columns", *ARMS]
    by_columns: dict[int, dict[str, Any]] = {}
    for row in results["domain"]:
        shown = row.get("refused") or f"{row['seconds']:.3f} s"
        by_columns.setdefault(row["columns"], {})[row["arm"]] = shown
    lines = [[n, *(r.get(a, "too large") for a in ARMS)] for n, r in by_columns.items()]
    print(table(header, lines))


if __name__ == "__main__":
    main()
