"""Mechanisms with their published inference and with the graphical model.

    python benchmarks/pgm_mechanisms.py [--quick] [--large] [--tables NAME ...]
        [--workloads NAME ...] [--mechanisms NAME ...] [--resume]

The paper's experiment (McKenna, Sheldon, Miklau 2019) on three tables: Adult, 20 000
records of the CHILD network (pgmpy), and Fair's survey of marriages (statsmodels, 6366
records). Two workloads each: fifteen 3-way marginals with prefix sums along the ordered
columns, and all 3-way marginals. The fifteen are drawn among those of at most 20 000
cells, and drawn again while a model of all fifteen would join more than 10^8 cells, so
that every mechanism can be run with the model.

Both arms of a mechanism buy the same answers at the same price, with the same noise;
what the adaptive ones choose differs, because their next choice depends on the model.
MWEM chooses single queries of the prefix workloads, and whole tables of all marginals;
it has twenty rounds, for its published updates go through all records' cells for each
answer of each round.
Pure differential privacy unless --delta is given. AIM and MST, which have no other
inference, stand beside them.

Errors: for the prefix workload the mean absolute error of an answer, for all marginals
the mean total variation; both as a share of the records, means over the sets of
columns. A ratio is the error of the published inference over that of the model, its
mean and standard deviation over the seeds. "too large" is what a mechanism refused
before it spent anything. Seconds are CPU seconds of the fit.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from itertools import combinations
from statistics import mean, stdev
from time import process_time
from typing import Any

import numpy as np
from common import RESULTS, keep, table

from skdp import Ordinal, PGMEstimator, Schema
from skdp.exceptions import ModelTooLargeError
from skdp.graphical import Domain
from skdp.graphical.elimination import best_elimination
from skdp.pgm import Workload
from skdp.pgm import strategies as mechanisms
from skdp.records import CountTable

EPSILONS, SEEDS = (0.1, 1.0, 10.0), (0, 1, 2)
LARGEST_TABLE, LARGEST_MODEL = 20_000, 1e8
WORKLOADS = ("fifteen, prefix", "all 3-way")
PUBLISHED = {
    "MWEM": "multiplicative_weights",
    "PrivBayes": "bayesian_network",
    "HDMM": "least_squares",
    "DualQuery": "synthetic_records",
}
ALONE = ("AIM", "MST")
Key = tuple[str, str, str, str, float, int]


# Tables and workloads ---------------------------------------------------------------


def coded(columns: dict[str, np.ndarray], n_levels: dict[str, int]) -> CountTable:
    """Count records given as codes."""
    schema = Schema([Ordinal(name, range(n_levels[name])) for name in columns])
    return CountTable.from_codes(np.column_stack(list(columns.values())), schema)


def adult() -> tuple[CountTable, tuple[str, ...]]:
    """Read Adult and its public domain."""
    from pgm_queries import ORDERED, load

    frame, schema = load()
    columns = {name: frame[name].to_numpy() for name in schema.names}
    levels = {name: schema.n_levels(name) for name in schema.names}
    return coded(columns, levels), ORDERED


def from_pgm_tau(name: str) -> CountTable:
    """Return one of the tables of pgm_tau.py."""
    from pgm_tau import tables

    data = tables()[name][0]
    levels = dict(zip(data.domain.names, data.domain.sizes, strict=True))
    return coded(data.codes, levels)


def fair() -> tuple[CountTable, tuple[str, ...]]:
    """Return Fair's survey; all but the two occupations are in an order."""
    records = from_pgm_tau("fair")
    unordered = ("occupation", "occupation_husb")
    return records, tuple(n for n in records.schema.names if n not in unordered)


def child() -> tuple[CountTable, tuple[str, ...]]:
    """Return records of the network; none of its columns is taken to be in order."""
    return from_pgm_tau("child"), ()


TABLES = {"adult": adult, "fair": fair, "child": child}


def fifteen(schema: Schema, ordered: tuple[str, ...]) -> Workload:
    """Draw the marginals with prefix queries; always the same ones."""
    domain, rng = Domain.from_schema(schema), np.random.default_rng(0)
    small = [
        columns
        for columns in combinations(schema.names, 3)
        if domain.n_cells(columns) <= LARGEST_TABLE
    ]
    while True:
        picks = rng.choice(len(small), min(15, len(small)), replace=False)
        cliques = [small[k] for k in picks]
        if best_elimination(domain, cliques).work <= LARGEST_MODEL:
            break
    order = Schema(
        [
            column if column.name in ordered else as_unordered(column)
            for column in schema
        ]
    )
    return Workload.prefixes(cliques, order)


def as_unordered(column: Any) -> Any:
    """Return the column without its order."""
    from skdp import Categorical

    return Categorical(column.name, column.categories)


def workloads(records: CountTable, ordered: tuple[str, ...]) -> dict[str, Workload]:
    """Return both workloads."""
    schema = records.schema
    both = fifteen(schema, ordered), Workload.all_marginals(schema.names, 3)
    return dict(zip(WORKLOADS, both, strict=True))


# One fit ------------------------------------------------------------------------------


def strategy_of(name: str, arm: str, asked: str) -> Any:
    """Build a mechanism with one of its ways of inference."""
    kind = getattr(mechanisms, name)
    if name in ALONE:
        return kind()
    options: dict[str, Any] = {
        "inference": arm if arm == "graphical_model" else PUBLISHED[name]
    }
    if name == "MWEM":
        options["n_rounds"] = 20
        if asked == "all 3-way":
            options["candidates"] = "marginals"  # there are 21 million cells on Adult
    return kind(**options)


def run(
    records: CountTable, workload: Workload, strategy: Any, options: dict
) -> dict[str, Any]:
    """Fit once and return the errors, or why there are none."""
    frame = frame_of(records)
    model = PGMEstimator(
        strategy=strategy,
        workload=workload,
        schema=records.schema,
        **options,
    )
    start = process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(frame)
            seconds = process_time() - start
            errors = workload.errors(model, records)
    except ModelTooLargeError:
        return {"refused": "too large"}
    return {
        "mean absolute": errors.mean_absolute / records.n_records,
        "max absolute": errors.max_absolute / records.n_records,
        "total variation": errors.total_variation,
        "cpu seconds": seconds,
        "spent": model.ledger_.total(options["delta"]),
    }


def frame_of(records: CountTable) -> np.ndarray:
    """Return the coded records one by one; the codes are the levels."""
    return np.repeat(records.rows, records.counts, axis=0)


def error_of(row: dict[str, Any], workload: str) -> float | None:
    """Return the error that a workload is judged by."""
    measure = "mean absolute" if "prefix" in workload else "total variation"
    return row.get(measure)


# The grid -----------------------------------------------------------------------------


def settings(args: argparse.Namespace) -> Iterator[Key]:
    """List what is run: table, workload, mechanism, arm, epsilon, seed."""
    epsilons = (1.0,) if args.quick else EPSILONS
    seeds = (0,) if args.quick else range(10) if args.large else SEEDS
    for name in args.tables:
        for asked in args.workloads:
            for mechanism in args.mechanisms:
                arms = ("graphical_model", "published")
                for arm in arms[:1] if mechanism in ALONE else arms:
                    for epsilon in epsilons:
                        for seed in seeds:
                            yield name, asked, mechanism, arm, epsilon, seed


def summary(found: dict[Key, dict[str, Any]]) -> list[list[Any]]:
    """Return a row per table, workload, mechanism and epsilon."""
    rows = []
    groups = dict.fromkeys((k[0], k[1], k[2], k[4]) for k in found)
    for name, asked, mechanism, epsilon in groups:
        arms = {
            arm: {
                k[5]: row
                for k, row in found.items()
                if (k[0], k[1], k[2], k[4]) == (name, asked, mechanism, epsilon)
                and k[3] == arm
            }
            for arm in ("published", "graphical_model")
        }
        errors = {
            arm: {seed: error_of(row, asked) for seed, row in by_seed.items()}
            for arm, by_seed in arms.items()
        }
        rows.append([name, asked, mechanism, epsilon, *compared(errors, arms)])
    return rows


def compared(errors: dict[str, Any], arms: dict[str, Any]) -> list[Any]:
    """Return both errors, their ratio with its deviation, and both times."""
    shown, seconds = [], []
    for arm in ("published", "graphical_model"):
        values = [e for e in errors[arm].values() if e is not None]
        refused = [row.get("refused") for row in arms[arm].values()]
        shown.append(f"{mean(values):.4f}" if values else (refused or ["-"])[0])
        times = [row["cpu seconds"] for row in arms[arm].values() if len(row) > 1]
        seconds.append(f"{mean(times):.1f}" if times else "-")
    both = [
        (errors["published"][seed], errors["graphical_model"][seed])
        for seed in errors["published"]
        if errors["published"][seed] and errors["graphical_model"].get(seed)
    ]
    ratios = [a / b for a, b in both]
    spread = f" +- {stdev(ratios):.2f}" if len(ratios) > 1 else ""
    return [*shown, f"{mean(ratios):.2f}{spread}" if ratios else "-", *seconds]


def plot(found: dict[Key, dict[str, Any]], path: str) -> None:
    """Draw the errors of both arms against epsilon."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(k[0] for k in found))
    asked = list(dict.fromkeys(k[1] for k in found))
    figure, axes = plt.subplots(
        len(asked),
        len(names),
        figsize=(4.2 * len(names), 3.6 * len(asked)),
        squeeze=False,
    )
    drawn = {}
    for row, workload in enumerate(asked):
        for column, name in enumerate(names):
            axis = axes[row, column]
            for place, mechanism in enumerate((*PUBLISHED, *ALONE)):
                for arm, style in (("graphical_model", "-"), ("published", ":")):
                    points = {}
                    for key, result in found.items():
                        error = error_of(result, workload)
                        if key[:4] == (name, workload, mechanism, arm) and error:
                            points.setdefault(key[4], []).append(error)
                    if points:
                        x = sorted(points)
                        y = [mean(points[e]) for e in x]
                        label = mechanism + (", published" if style == ":" else "")
                        (line,) = axis.loglog(
                            x, y, style, marker=".", color=f"C{place}", label=label
                        )
                        drawn[label] = line
            axis.set_title(f"{name}: {workload}", fontsize=9)
            axis.set_xlabel("epsilon")
            axis.set_ylabel("error, share of the records")
    figure.legend(drawn.values(), drawn.keys(), loc="lower center", ncol=5, fontsize=8)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run the grid, keeping what was found after each fit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one epsilon and seed")
    parser.add_argument("--large", action="store_true", help="ten seeds")
    parser.add_argument("--resume", action="store_true", help="keep what is there")
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS))
    parser.add_argument("--mechanisms", nargs="+", default=[*PUBLISHED, *ALONE])
    args = parser.parse_args()
    name = "pgm_mechanisms" + ("_zcdp" if args.delta else "") + "_quick" * args.quick
    path = RESULTS / f"{name}.json"
    found: dict[Key, dict[str, Any]] = {}
    if args.resume and path.exists():
        fits = json.loads(path.read_text())["results"]["fits"]
        found = {tuple(key): row for *key, row in fits}  # type: ignore[misc]
    data: dict[str, Any] = {}
    for key in settings(args):
        table_name, asked, mechanism, arm, epsilon, seed = key
        if key in found:
            continue
        if table_name not in data:
            records, ordered = TABLES[table_name]()
            data[table_name] = records, workloads(records, ordered)
        records, both = data[table_name]
        options = {"epsilon": epsilon, "delta": args.delta, "random_state": seed}
        strategy = strategy_of(mechanism, arm, asked)
        found[key] = run(records, both[asked], strategy, options)
        print(*key, found[key], flush=True)
        if seed == 0:
            write(name, found)
    write(name, found)
    header = ["table", "workload", "mechanism", "epsilon", "published", "model",
              "ratio", "s published", "s model"]  # fmt: skip
    print(table(header, summary(found)))
    plot(found, str(RESULTS / f"{name}.png"))


def write(name: str, found: dict[Key, dict[str, Any]]) -> None:
    """Keep every fit and the table of means."""
    fits = [[*key, row] for key, row in found.items()]
    keep(name, {"fits": fits, "means": summary(found)}, ["pgmpy", "statsmodels"])


if __name__ == "__main__":
    main()
