"""HDMM: errors of its strategies, expected and found, and what choosing them costs.

    python benchmarks/hdmm.py [--quick]

First part, no data: root mean squared error of an answer to all prefixes and all ranges
of n cells, for noise of one standard deviation per unit of sensitivity, of measuring
the cells, a binary tree, Haar wavelets, the optimised p-identity strategy, and, for
Gaussian noise, the bound by singular values that no strategy can beat. "published" is
what the authors of HDMM report: for Laplace noise the p-identity in the README of their
code, for Gaussian noise the result of convex optimisation over all strategies, in the
results kept with it.

Second part, Adult: prefix sums along numeric columns by levels of categorical ones,
eight pairs of columns. Expected is the public error formula, found the root mean square
of the errors of all answers, of five runs each; both inferences have the same noisy
answers, seed by seed.
"""

from __future__ import annotations

import argparse
from statistics import mean, stdev
from time import process_time
from typing import Any

import numpy as np
from common import keep, table
from pgm_queries import ORDERED, load

from skdp import Categorical, Ordinal, PGMEstimator, Schema
from skdp.graphical.matrix_mechanism import Gram
from skdp.graphical.matrix_mechanism.p_identity import (
    optimal_rows,
    p_identity,
    trace_error,
)
from skdp.pgm import Workload
from skdp.pgm.strategies import HDMM
from skdp.privacy import zcdp_from_dp
from skdp.queries import PublicFacts
from skdp.records import CountTable

PUBLISHED = {
    ("all ranges", 256, 1): 5.7364,
    ("all ranges", 128, 2): 2.5992,
    ("all ranges", 256, 2): 2.9022,
    ("all ranges", 512, 2): 3.2099,
    ("all ranges", 1024, 2): 3.5681,
    ("prefixes", 128, 2): 2.3121,
    ("prefixes", 256, 2): 2.5282,
    ("prefixes", 512, 2): 2.7516,
    ("prefixes", 1024, 2): 3.0653,
}
PAIRS = [
    ("age", "workclass"),
    ("age", "marital-status"),
    ("hours-per-week", "occupation"),
    ("hours-per-week", "sex"),
    ("education-num", "income>50K"),
    ("capital-gain", "income>50K"),
    ("capital-loss", "race"),
    ("fnlwgt", "sex"),
]
INFERENCES = ("least_squares", "graphical_model")


# One column -------------------------------------------------------------------------


def tree(n: int) -> np.ndarray:
    """Sums over the nodes of a binary tree."""
    sizes = [1 << k for k in range(int(np.log2(n)) + 1)]
    return np.vstack([np.kron(np.eye(n // size), np.ones(size)) for size in sizes])


def wavelet(n: int) -> np.ndarray:
    """Haar wavelets."""
    if n == 1:
        return np.ones((1, 1))
    sums = np.kron(wavelet(n // 2), [1.0, 1.0])
    return np.vstack([sums, np.kron(np.eye(n // 2), [1.0, -1.0])])


def workload_on(name: str, n: int) -> tuple[Gram, int]:
    """Return W'W, two cells being together in so many queries, and their number."""
    cells = np.arange(n)
    first, last = np.minimum.outer(cells, cells), np.maximum.outer(cells, cells)
    if name == "prefixes":
        return Gram(n, n - last), n
    return Gram(n, (first + 1) * (n - last)), n * (n + 1) // 2


def one_column(name: str, n: int, ord: int, n_restarts: int) -> dict[str, Any]:
    """Compare the strategies for one column."""
    gram, n_queries = workload_on(name, n)

    def error(matrix: np.ndarray | None) -> float:
        norm = 1.0
        if matrix is not None:
            norm = float(np.linalg.norm(matrix, ord, axis=0).max())
        return norm * float(np.sqrt(trace_error(gram, matrix) / n_queries))

    optimal_rows.cache_clear()
    start = process_time()
    rows = optimal_rows(gram, ord, n_restarts, 0)
    seconds = process_time() - start
    found = {
        "workload": name,
        "n": n,
        "noise": {1: "Laplace", 2: "Gaussian"}[ord],
        "cells": error(None),
        "tree": error(tree(n)),
        "wavelets": error(wavelet(n)),
        "p-identity": error(None if rows is None else p_identity(rows, ord)),
        "published": PUBLISHED.get((name, n, ord)),
        "bound": None,
        "starts": n_restarts,
        "CPU s": seconds,
    }
    if ord == 2:
        values = np.sqrt(np.linalg.eigvalsh(gram.dense()).clip(0))
        found["bound"] = float(values.sum() / np.sqrt(n * n_queries))
    return found


# Adult ------------------------------------------------------------------------------


def adult() -> tuple[CountTable, Schema]:
    """Read Adult, with an order on its numeric columns only."""
    frame, plain = load()
    schema = Schema(
        [
            (Ordinal if name in ORDERED else Categorical)(name, range(n))
            for name, n in zip(plain.names, plain.shape, strict=True)
        ]
    )
    return CountTable.from_frame(frame, schema), schema


def expected(workload: Workload, public: PublicFacts, epsilon: float, delta: float):
    """Return the root mean squared error that the formula promises."""
    plan = HDMM().plan(public, workload, is_pure=delta == 0)
    variance = 1 / zcdp_from_dp(epsilon, delta) if delta else 8 / epsilon**2
    n_answers = sum(query.shape[0] for query in workload.linear(public.schema))
    return plan.kind, float(np.sqrt(plan.error * variance / n_answers))


def on_adult(epsilons: tuple[float, ...], n_seeds: int) -> list[dict[str, Any]]:
    """Run both inferences on the same noisy answers."""
    frame, _ = load()
    records, schema = adult()
    workload = Workload.prefixes(PAIRS, schema)
    public = PublicFacts(len(frame), schema)
    truth = np.concatenate(workload.answers(records))
    results = []
    for delta in (0.0, 1e-9):
        for epsilon in epsilons:
            kind, promised = expected(workload, public, epsilon, delta)
            errors: dict[str, list[float]] = {name: [] for name in INFERENCES}
            seconds: dict[str, list[float]] = {name: [] for name in INFERENCES}
            for seed in range(n_seeds):
                for name in INFERENCES:
                    model = PGMEstimator(
                        epsilon,
                        delta,
                        strategy=HDMM(inference=name),
                        workload=workload,
                        schema=schema,
                        random_state=seed,
                    )
                    start = process_time()
                    model.fit(frame)
                    seconds[name].append(process_time() - start)
                    answers = np.concatenate(workload.answers(model))
                    errors[name].append(float(np.sqrt(np.mean((answers - truth) ** 2))))
            ratios = [a / b for a, b in zip(*errors.values(), strict=True)]
            results.append(
                {
                    "epsilon": epsilon,
                    "delta": delta,
                    "kind": kind,
                    "expected": promised,
                    **{name: mean(errors[name]) for name in INFERENCES},
                    "ratio": mean(ratios),
                    "deviation": stdev(ratios),
                    **{f"CPU s, {name}": min(seconds[name]) for name in INFERENCES},
                }
            )
            print(table(list(results[-1]), [list(results[-1].values())]), flush=True)
    return results


def main() -> None:
    """Run both parts and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    sizes = (64, 128) if quick else (64, 128, 256, 512, 1024)
    columns = []
    for name in ("all ranges", "prefixes"):
        for ord in (1, 2):
            for n in sizes:
                n_restarts = 5 if n <= 256 else 1
                columns.append(one_column(name, n, ord, n_restarts))
                print(
                    table(list(columns[-1]), [list(columns[-1].values())]), flush=True
                )
    records = on_adult((1.0,) if quick else (0.1, 1.0, 10.0), 2 if quick else 5)
    keep(
        "hdmm_quick" if quick else "hdmm",
        {"one column": columns, "Adult": records},
        ["threadpoolctl"],
    )


if __name__ == "__main__":
    main()
