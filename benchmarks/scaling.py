"""How PrivPC and PC grow with the number of records and of variables.

    python benchmarks/scaling.py

1. PrivPC on Asia with up to 10^7 x 8 records of int8 codes: seconds, peak memory beside
   the input, and time beside the cheapest count of distinct rows (one `np.bincount` of
   keys made in place, which knows that all levels are two).
2. PC on alarm (37 variables, 100 000 records, sampled by pgmpy) beside the PC of pgmpy
   and of causal-learn, all with the chi-square test at level 0.01, pgmpy with sets of
   up to three variables and causal-learn without a limit; each in one process, in the
   same run.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from common import keep, table

from skdp import PC, PrivPC
from skdp.datasets import load_bayesian_network

SIZES = (10**4, 10**5, 10**6, 10**7)
N_RUNS = 3


def codes_of_asia(n: int) -> np.ndarray:
    """Sample codes, a million records at a time."""
    network = load_bayesian_network("asia")
    parts = []
    for seed in range(0, n, 10**6):
        text = network.sample(min(n, 10**6), random_state=seed)
        parts.append((text == "no").astype(np.int8))
    return np.concatenate(parts)


def schema_of_codes() -> Any:
    """Declare the levels 0 and 1 for every variable of Asia."""
    from skdp import Categorical, Schema

    names = load_bayesian_network("asia").schema.names
    return Schema([Categorical(name, (0, 1)) for name in names])


def cheapest_count(codes: np.ndarray) -> np.ndarray:
    """Count the distinct rows of binary codes with as little work as can be."""
    keys = codes[:, 0].astype(np.uint8)
    for column in codes.T[1:]:
        keys <<= 1
        keys |= column.view(np.uint8)
    return np.bincount(keys, minlength=256)


def seconds(task: Any) -> float:
    """Return the median time of a few runs."""
    spent = []
    for _ in range(N_RUNS):
        start = perf_counter()
        task()
        spent.append(perf_counter() - start)
    return median(spent)


def peak_memory(reset: bool = False) -> int:
    """Return the peak of resident memory in bytes; `reset` brings it down to now's.

    Linux only. Without the reset, a peak of the imports would hide that of a fit.
    """
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def grow_in_records(path: str) -> dict[str, float]:
    """Measure one size; run in a process of its own, so that its peak is its own."""
    codes, schema = np.load(path), schema_of_codes()
    before = peak_memory(reset=True)
    model = PrivPC(1.0, schema=schema, random_state=0)
    fit = seconds(lambda: model.fit(codes))
    peak = peak_memory()
    count = seconds(lambda: cheapest_count(codes))
    return {
        "fit_seconds": fit, "cheapest_count_seconds": count, "ratio": fit / count,
        "input_megabytes": codes.nbytes / 1e6,
        "memory_beside_input_megabytes": max(0.0, peak - before) / 1e6,
    }  # fmt: skip


def alarm(n: int = 100_000) -> Any:
    """Sample alarm with pgmpy."""
    from pgmpy.utils import get_example_model

    frame = get_example_model("alarm").simulate(n, seed=0, show_progress=False)
    return frame[sorted(frame.columns)].astype("category")


def same_edges(frame: Any, graph: Any, edges: Any) -> bool:
    """Compare skeletons."""
    return {frozenset(e) for e in graph.edges} == {frozenset(e) for e in edges}


def grow_in_variables() -> dict[str, Any]:
    """Time PC on alarm beside its peers, with the same test."""
    from causallearn.search.ConstraintBased.PC import pc
    from pgmpy.causal_discovery import PC as PgmpyPC

    frame = alarm()
    names = list(frame.columns)
    ours = PC(independence_test="chi2", alpha=0.01, max_order=3)
    found: dict[str, Any] = {"skdp_seconds": seconds(lambda: ours.fit(frame))}
    theirs = PgmpyPC(
        variant="stable", ci_test="chi_square", significance_level=0.01,
        max_cond_vars=3, n_jobs=1, show_progress=False,
    )  # fmt: skip
    start = perf_counter()
    theirs.fit(frame)
    found["pgmpy_seconds"] = perf_counter() - start
    graph = theirs.causal_graph_
    edges = [*graph.directed_edges, *graph.undirected_edges]
    found["same_skeleton_as_pgmpy"] = same_edges(frame, ours.skeleton_, edges)
    codes = np.column_stack([frame[name].cat.codes for name in names])
    start = perf_counter()
    other = pc(codes, alpha=0.01, indep_test="chisq", stable=True, show_progress=False)
    found["causal_learn_seconds"] = perf_counter() - start
    matrix = other.G.graph
    edges = [(names[i], names[j]) for i, j in zip(*np.nonzero(matrix), strict=True)]
    # causal-learn has no limit to the order here, and no correction for 2 x 2.
    unlimited = PC(independence_test="chi2", alpha=0.01).fit(frame)
    found["skdp_unlimited_seconds"] = seconds(lambda: unlimited.fit(frame))
    found["same_skeleton_as_causal_learn"] = same_edges(
        frame, unlimited.skeleton_, edges
    )
    found["edges"] = {
        "skdp": ours.skeleton_.number_of_edges(),
        "skdp_unlimited": unlimited.skeleton_.number_of_edges(),
        "causal_learn": len({frozenset(e) for e in edges}),
    }
    for peer, own in (("pgmpy", "skdp"), ("causal_learn", "skdp_unlimited")):
        ratio = found[f"{peer}_seconds"] / found[f"{own}_seconds"]
        found[f"times_faster_than_{peer}"] = ratio
    return found


def main() -> None:
    """Measure both; print and keep."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    if len(sys.argv) == 3 and sys.argv[1] == "--records":
        print(json.dumps(grow_in_records(sys.argv[2])))
        return
    in_records = {}
    for n in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "codes.npy"))
            np.save(path, codes_of_asia(n))
            command = [sys.executable, __file__, "--records", path]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        in_records[n] = json.loads(done.stdout)
    rows = [[n, *cells.values()] for n, cells in in_records.items()]
    print(table(["records", *next(iter(in_records.values()))], rows))
    in_variables = grow_in_variables()
    print(in_variables)
    packages = ["pgmpy", "causal-learn", "pandas"]
    keep("scaling", {"records": in_records, "alarm": in_variables}, packages)


if __name__ == "__main__":
    main()
