"""Queries on Adult with and without graphical-model inference, at equal noise.

    python benchmarks/pgm_queries.py [--quick]

The paper's claim (McKenna, Sheldon, Miklau 2019). Measured: all one-way marginals, the
pairs of a spanning tree, ten three-way and five four-way marginals, drawn at random
among those of at most 5000 cells, by Laplace noise of equal scale (one budget, divided
evenly). Asked: every one- to four-way marginal inside a measured one, prefix queries on
the ordered columns and rectangles on the pairs of them. The very same noisy tables are
answered from in four ways:

* noisy: the measured table over these columns, or the sum of the smallest that holds
  them;
* averaged: the inverse-variance mean of the sums of all tables that hold them;
* clipped: the averaged answer, negative counts set to 0 and scaled to n;
* model: the graphical model, by the default solver and pull, and by the paper's
  mirror descent on the loss alone, stopped after 300 steps.

A full contingency table of these 14 columns would have 10^17 cells: least squares and
multiplicative weights on it do not run. The last part asks the model what no measured
table holds: marginals of columns that were never measured together, and a conjunction
over all 14 columns.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from common import keep, table

from skdp import Ordinal, PGMEstimator, Schema
from skdp.graphical import estimate
from skdp.pgm.strategies import FixedMarginals

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ORDERED = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss",
           "hours-per-week")  # fmt: skip
LARGEST = 5000
ARMS = ("noisy", "averaged", "clipped", "model", "model, mirror descent")
Columns = tuple[str, ...]


def load() -> tuple[pd.DataFrame, Schema]:
    """Read Adult and its public domain."""
    sizes = json.loads((DATA / "adult-domain.json").read_text())
    schema = Schema([Ordinal(name, range(size)) for name, size in sizes.items()])
    return pd.read_csv(DATA / "adult.csv"), schema


def truth_of(X: pd.DataFrame, schema: Schema, columns: Columns) -> np.ndarray:
    """Count the records."""
    shape = tuple(schema.n_levels(name) for name in columns)
    cells = np.ravel_multi_index([X[name].to_numpy() for name in columns], shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def cliques_to_measure(schema: Schema) -> list[Columns]:
    """Draw the measured marginals; always the same ones."""
    rng = np.random.default_rng(0)
    names = schema.names
    chosen: list[Columns] = [(name,) for name in names]
    order = rng.permutation(len(names))
    for i in range(1, len(names)):
        chosen.append((names[order[rng.integers(i)]], names[order[i]]))
    for size, how_many in ((3, 10), (4, 5)):
        small = [
            columns
            for columns in combinations(names, size)
            if np.prod([schema.n_levels(c) for c in columns]) <= LARGEST
        ]
        picks = rng.choice(len(small), how_many, replace=False)
        chosen += [small[i] for i in picks]
    return chosen


class NoisyTables:
    """Answers from the measured tables alone."""

    def __init__(self, model: PGMEstimator, n: int) -> None:
        self.measured = model.measurements_
        self.shapes = {
            m.columns: [model.schema_.n_levels(c) for c in m.columns]
            for m in self.measured
        }
        self.n = n

    def sums(self, columns: Columns) -> list[tuple[np.ndarray, float]]:
        """Return the measured tables that hold the columns, summed, and variances."""
        found = []
        for m in self.measured:
            if set(columns) <= set(m.columns):
                cells = m.answer.reshape(self.shapes[m.columns])
                others = tuple(i for i, c in enumerate(m.columns) if c not in columns)
                left = [c for c in m.columns if c in columns]
                summed = cells.sum(axis=others)
                n_summed = cells.size // summed.size
                axes = [left.index(c) for c in columns]
                found.append((summed.transpose(axes), n_summed * m.sigma**2))
        return found

    def answer(self, arm: str, columns: Columns) -> np.ndarray:
        """Answer in one of the ways without a model."""
        found = self.sums(columns)
        if arm == "noisy":
            return min(found, key=lambda pair: pair[1])[0]
        weights = np.array([1 / variance for _, variance in found])
        tables = np.array([cells for cells, _ in found])
        averaged = np.tensordot(weights / weights.sum(), tables, 1)
        if arm == "averaged":
            return averaged
        positive = np.maximum(averaged, 0)
        return positive * self.n / max(positive.sum(), 1e-9)


def errors(answer: Any, truth: Any, asked: dict[str, list[Columns]], n: int) -> dict:
    """Return the mean error per kind of query."""
    result: dict[str, float] = {}
    for kind, sets in asked.items():
        found = []
        for columns in sets:
            difference = answer(columns) - truth(columns)
            if kind.startswith(("prefix", "rectangle")):
                for axis in range(difference.ndim):
                    difference = difference.cumsum(axis=axis)
                found.append(np.abs(difference).mean() / n)
            else:
                found.append(np.abs(difference).sum() / (2 * n))
        result[kind] = mean(found)
    return result


def questions(cliques: list[Columns]) -> dict[str, list[Columns]]:
    """List all that lies inside a measured table, by kind."""
    inside = {
        k: sorted({s for c in cliques for s in combinations(c, k)}) for k in range(1, 5)
    }
    return {
        **{f"{k}-way": sets for k, sets in inside.items()},
        "prefix, 1 column": [s for s in inside[1] if s[0] in ORDERED],
        "rectangle, 2 columns": [s for s in inside[2] if set(s) <= set(ORDERED)],
    }


def run(epsilon: float, seed: int, X: pd.DataFrame, schema: Schema) -> dict:
    """Measure once, answer in all ways."""
    cliques = cliques_to_measure(schema)
    strategy, start = FixedMarginals(cliques), process_time()
    model = PGMEstimator(epsilon, strategy=strategy, schema=schema, random_state=seed)
    model.fit(X)
    seconds = {"model": process_time() - start}
    start = process_time()
    published = mirror_descent(model)
    seconds["model, mirror descent"] = process_time() - start
    print("  " + ", ".join(f"{a}: {s:.1f} s" for a, s in seconds.items()), flush=True)
    models = {"model": model, "model, mirror descent": published}
    n, noisy = len(X), NoisyTables(model, len(X))
    truths: dict[Columns, np.ndarray] = {}

    def truth(columns: Columns) -> np.ndarray:
        return truths.setdefault(columns, truth_of(X, schema, columns))

    found: dict[str, Any] = {"seconds": seconds}
    for arm in ARMS:
        if arm in models:
            answer = models[arm].marginal
        else:
            answer = lambda columns, arm=arm: noisy.answer(arm, columns)  # noqa: E731
        found[arm] = errors(answer, truth, questions(cliques), n)
    found["never measured"] = never_measured(model, X, schema, cliques)
    return found


def mirror_descent(model: PGMEstimator) -> Any:
    """Fit the same noisy tables by Algorithm 1 of the paper."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops early
        return estimate(
            model.measurements_,
            model.schema_,
            model.n_records_,
            tau=0.0,
            solver="mirror_descent",
            max_iter=300,
        )


def never_measured(
    model: PGMEstimator, X: pd.DataFrame, schema: Schema, cliques: list[Columns]
) -> dict[str, float]:
    """Ask for pairs in no measured table, and a conjunction over all columns."""
    inside = {frozenset(s) for c in cliques for s in combinations(c, 2)}
    pairs = [p for p in combinations(schema.names, 2) if frozenset(p) not in inside]
    n = len(X)
    tv = [
        np.abs(model.marginal(p) - truth_of(X, schema, p)).sum() / (2 * n)
        for p in pairs
    ]
    start = perf_counter()
    low = {c: (0, int(X[c].quantile(0.9))) for c in schema.names}
    found = model.query(low)
    seconds = perf_counter() - start
    inside_all = np.all([X[c] <= high for c, (_, high) in low.items()], axis=0).sum()
    return {
        "pairs": len(pairs),
        "2-way": float(np.mean(tv)),
        "conjunction of 14 columns, model": float(found) / n,
        "conjunction of 14 columns, records": float(inside_all) / n,
        "seconds": seconds,
    }


def summary(runs: list[dict]) -> dict[str, dict[str, list[float]]]:
    """Average over the seeds."""
    kinds = runs[0]["noisy"]
    return {
        arm: {
            kind: [
                mean(r[arm][kind] for r in runs),
                stdev(r[arm][kind] for r in runs) if len(runs) > 1 else 0.0,
            ]
            for kind in kinds
        }
        for arm in ARMS
    }


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one seed, one epsilon")
    quick = parser.parse_args().quick
    X, schema = load()
    results: dict[str, Any] = {}
    for epsilon in (1.0,) if quick else (0.1, 1.0, 10.0):
        runs = [run(epsilon, seed, X, schema) for seed in range(1 if quick else 3)]
        means = summary(runs)
        results[str(epsilon)] = means | {
            "never measured": [r["never measured"] for r in runs],
            "seconds of CPU": [r["seconds"] for r in runs],
        }
        kinds = list(means["noisy"])
        rows = [[arm, *(means[arm][kind][0] for kind in kinds)] for arm in ARMS]
        ratios = ["noisy / model"] + [
            f"{means['noisy'][k][0] / means['model'][k][0]:.1f}" for k in kinds
        ]
        print(f"\nepsilon = {epsilon}")
        print(table(["answers from", *kinds], [*rows, ratios]))
        print(results[str(epsilon)]["never measured"][0], flush=True)
        keep("pgm_queries_quick" if quick else "pgm_queries", results)


if __name__ == "__main__":
    main()
