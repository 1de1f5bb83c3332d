"""PrivBayes on Adult: the published estimation beside the graphical model's.

    python benchmarks/priv_bayes.py [--quick]

14 columns, 48 842 records, all 364 marginals of three columns; mean total variation, of
3 seeds. In each row the network and the noisy tables are the same for all columns:
n records drawn from the Bayesian network (the published form), the network itself
without the error of sampling, and the graphical model. Seconds are of CPU time of the
whole fit, the least of the seeds, with the network's and the model's estimation.
"""

from __future__ import annotations

import argparse
from itertools import combinations, product
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from common import keep, table
from pgm_vs_mbi import load

from skdp import Ordinal, PGMEstimator, Schema
from skdp.graphical import Domain
from skdp.graphical.bayesian_network import BayesianNetwork
from skdp.pgm import Workload
from skdp.pgm.strategies import PrivBayes
from skdp.records import CountTable

DELTA = 1e-9


def one_run(
    X: pd.DataFrame, schema: Schema, epsilon: float, delta: float, score: str, seed: int
) -> dict[str, Any]:
    """Fit both ways on the same answers; return errors and times."""
    records = CountTable.from_frame(X, schema)
    workload = Workload(combinations(schema.names, 3))
    models, seconds = {}, {}
    for inference in ("bayesian_network", "graphical_model"):
        strategy = PrivBayes(score, inference=inference)
        model = PGMEstimator(
            epsilon, delta, strategy=strategy, schema=schema, random_state=seed
        )
        start = process_time()
        model.fit(X)
        seconds[inference] = process_time() - start
        models[inference] = model
    sampled, fitted = models.values()
    for one, other in zip(sampled.measurements_, fitted.measurements_, strict=True):
        assert one.columns == other.columns  # the same noise in both arms
        assert np.array_equal(one.answer, other.answer)
    measured = sampled.measurements_
    network = BayesianNetwork.from_noisy_tables(
        Domain.from_schema(schema),
        [m.columns for m in measured],
        [m.answer for m in measured],
    )
    arms = {
        "sample": sampled.model_,
        "network": network.distribution(len(X)),
        "model": fitted.model_,
    }
    errors = {
        arm: workload.errors(model, records).total_variation
        for arm, model in arms.items()
    }
    degrees = [len(m.columns) - 1 for m in measured]
    return {
        "errors": errors,
        "seconds": seconds,
        "parents": float(np.mean(degrees)),
        "cells": sum(m.answer.size for m in measured),
    }


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one seed")
    seeds = range(1 if parser.parse_args().quick else 3)
    sizes, codes = load()
    X = pd.DataFrame(codes, columns=list(sizes))
    schema = Schema([Ordinal(name, range(size)) for name, size in sizes.items()])
    rows, results = [], {}
    scores = ("total_variation", "mutual_information")
    for score, delta, epsilon in product(scores, (0.0, DELTA), (0.1, 1.0, 10.0)):
        runs = [one_run(X, schema, epsilon, delta, score, seed) for seed in seeds]
        results[f"{score}, delta {delta:g}, epsilon {epsilon:g}"] = runs
        errors = {
            arm: np.array([run["errors"][arm] for run in runs])
            for arm in runs[0]["errors"]
        }
        ratios = errors["sample"] / errors["model"]
        least = [min(run["seconds"][arm] for run in runs) for arm in runs[0]["seconds"]]
        rows.append(
            [
                score,
                f"{delta:g}",
                epsilon,
                *(float(e.mean()) for e in errors.values()),
                f"{ratios.mean():.2f} +- {ratios.std():.2f}",
                *least,
            ]
        )
        print(rows[-1], flush=True)
    header = ["score", "delta", "epsilon", "sample", "network", "model"]
    header += ["sample/model", "s, sample", "s, model"]
    print(table(header, rows))
    keep("priv_bayes" + "_quick" * (len(seeds) == 1), results)


if __name__ == "__main__":
    main()
