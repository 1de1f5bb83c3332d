"""Estimation from noisy marginals beside mbi (JAX), in fresh processes.

    python benchmarks/pgm_vs_mbi.py [--quick] [--parts fits,oracle]

Needs `pip install mbi`, and Adult in shared/data beside the repository.

fits: all one-way marginals with (a) a random 13-edge tree of pairs and (b) 14 random
pairs, sigma = 50, n known. Each library runs in a process of its own: seconds and
megabytes of the first fit over those after import, seconds of a fit in a process that
is warm, and the error (mean total variation) of all one-, two- and 60 three-way
marginals and of the measured pairs. mbi runs 1000 iterations of its mirror descent in
double precision, without the compilation cache, as its import advises.

oracle: milliseconds of one computation of all marginals, and memory, for clique sets
whose junction trees have 10^3 to 3 x 10^7 cells: variable elimination as built here,
a plain NumPy propagation that materialises the cliques, and mbi's default and
materialising oracles after compilation.

Seconds are the least of several runs where a run can be repeated; CPU seconds are given
beside them, because they move less on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SIGMA, N = 50.0, 48842
Cliques = list[tuple[str, ...]]


# The cases ----------------------------------------------------------------------


def load() -> tuple[dict[str, int], np.ndarray]:
    """Read Adult's public domain and records."""
    sizes = json.loads((DATA / "adult-domain.json").read_text())
    records = np.loadtxt(DATA / "adult.csv", delimiter=",", skiprows=1, dtype=int)
    return sizes, records


def marginal_of(
    records: np.ndarray, sizes: dict[str, int], columns: tuple[str, ...]
) -> np.ndarray:
    """Count the records."""
    names = list(sizes)
    shape = tuple(sizes[name] for name in columns)
    codes = [records[:, names.index(name)] for name in columns]
    cells = np.ravel_multi_index(codes, shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def cliques_of(case: str, names: list[str], seed: int) -> Cliques:
    """Draw the measured marginals of a case."""
    rng = np.random.default_rng(seed)
    chosen: Cliques = [(name,) for name in names]
    if case == "a":
        order = rng.permutation(len(names))
        edges = [(order[rng.integers(i)], order[i]) for i in range(1, len(names))]
    else:
        every = list(combinations(range(len(names)), 2))
        picks = rng.choice(len(every), 14, replace=False)
        edges = [every[i] for i in picks]
    return chosen + [tuple(names[i] for i in sorted(edge)) for edge in edges]


def noisy_answers(
    records: np.ndarray, sizes: dict[str, int], cliques: Cliques, seed: int
) -> list[np.ndarray]:
    """Measure the marginals."""
    rng = np.random.default_rng(seed + 1000)
    exact = [marginal_of(records, sizes, clique) for clique in cliques]
    return [table + SIGMA * rng.normal(size=table.shape) for table in exact]


# Workers: one library in one process ------------------------------------------------


def peak_megabytes() -> float:
    """Return the largest memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def megabytes() -> float:
    """Return the memory that this process has now (Linux; elsewhere the largest)."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return peak_megabytes()
    return int(statm.read_text().split()[1]) * resource.getpagesize() / 2**20


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return a result with its wall and CPU seconds."""
    wall, cpu = perf_counter(), process_time()
    result = run()
    return result, perf_counter() - wall, process_time() - cpu


def skdp_fit(sizes: dict[str, int], cliques: Cliques, answers: list[np.ndarray]) -> Any:
    """Return a function that fits, and one that makes marginals of the result."""
    from skdp.graphical import Domain, LinearMeasurement, fit_potentials

    domain = Domain(tuple(sizes), tuple(sizes.values()))
    pairs = zip(cliques, answers, strict=True)

    measurements = [LinearMeasurement(c, y, SIGMA) for c, y in pairs]

    def fit(**options: Any) -> Any:
        found = fit_potentials(measurements, domain, N, **options)
        return found, found.model()

    return fit, lambda result: result[1].marginal


def mbi_fit(sizes: dict[str, int], cliques: Cliques, answers: list[np.ndarray]) -> Any:
    """Return a function that fits, and one that makes marginals of the result."""
    import mbi

    domain = mbi.Domain(tuple(sizes), tuple(sizes.values()))
    pairs = zip(cliques, answers, strict=True)
    measurements = [mbi.LinearMeasurement(y.ravel(), c, SIGMA) for c, y in pairs]

    def fit() -> Any:
        model = mbi.estimation.MirrorDescent().estimate(
            domain, measurements, known_total=N, iters=1000
        )
        np.asarray(model.project(cliques[0]).datavector())  # waits for the result
        return model

    def reader(model: Any) -> Callable[[tuple[str, ...]], np.ndarray]:
        # Its own answers about other columns compile for a second each.
        from skdp.graphical import Domain, MarkovRandomField

        ours = Domain(tuple(sizes), tuple(sizes.values()))
        potentials = {
            tuple(c): np.asarray(model.potentials[c].values) for c in model.cliques
        }
        field = MarkovRandomField(ours, potentials, N)
        check = np.asarray(model.project(cliques[-1]).datavector())
        assert np.allclose(field.marginal(cliques[-1]).ravel(), check, atol=1e-3)
        return field.marginal

    return fit, reader


def import_library(library: str) -> None:
    """Import what a user would, so that it is not counted."""
    if library == "mbi":
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_enable_compilation_cache", False)
        import mbi  # noqa: F401
    else:
        import skdp.graphical  # noqa: F401


def work_on_fit(library: str, case: str, seed: int, answers: str) -> dict[str, Any]:
    """Fit once cold and some times warm; then ask for the errors."""
    sizes = json.loads((DATA / "adult-domain.json").read_text())
    cliques = cliques_of(case, list(sizes), seed)
    with np.load(answers) as arrays:
        noisy = [arrays[f"y{k}"] for k in range(len(cliques))]
    import_library(library)
    before = megabytes()
    fit, reader = (mbi_fit if library == "mbi" else skdp_fit)(sizes, cliques, noisy)
    result, wall, cpu = timed(fit)
    row = {
        "first s": wall,
        "first CPU s": cpu,
        "peak MB": peak_megabytes() - before,
        "MB before": before,
    }
    warm = [timed(fit)[1:] for _ in range(1 if library == "mbi" else 5)]
    row["warm s"], row["warm CPU s"] = (min(part) for part in zip(*warm, strict=True))
    if library == "skdp":
        row["oracle calls"] = result[0].n_oracle_calls
        row["loss"], row["gap"] = result[0].loss, result[0].gap
        exact = [timed(lambda: fit(tau=0)) for _ in range(3)]
        row["exact s"] = min(wall for _, wall, _ in exact)
        row["exact CPU s"] = min(cpu for *_, cpu in exact)
        row["exact loss"], row["exact gap"] = exact[0][0][0].loss, exact[0][0][0].gap
    _, records = load()
    row |= errors(reader(result), records, sizes, cliques)
    return row


def errors(
    answer: Callable[[tuple[str, ...]], np.ndarray],
    records: np.ndarray,
    sizes: dict[str, int],
    cliques: Cliques,
) -> dict[str, float]:
    """Return the mean total variation of several sets of marginals."""
    names, rng = list(sizes), np.random.default_rng(0)
    triples = list(combinations(names, 3))
    triples = [t for t in triples if np.prod([sizes[c] for c in t]) <= 100_000]
    picks = rng.choice(len(triples), 60, replace=False)
    asked = {
        "1-way": [(name,) for name in names],
        "measured pairs": [c for c in cliques if len(c) == 2],
        "all pairs": list(combinations(names, 2)),
        "3-way": [triples[i] for i in picks],
    }
    return {
        f"TV {kind}": float(
            np.mean(
                [
                    np.abs(answer(c) - marginal_of(records, sizes, c)).sum() / (2 * N)
                    for c in columns
                ]
            )
        )
        for kind, columns in asked.items()
    }


# The oracle -------------------------------------------------------------------------


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
    sizes, _ = load()
    import_library("mbi" if which.startswith("mbi") else "skdp")
    before = megabytes()
    if which.startswith("mbi"):
        run = mbi_oracle(sizes, cliques, which.removeprefix("mbi "))
    else:
        run = {"factored": factored, "materialised": materialised}[which](
            sizes, cliques
        )
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


# The parent -------------------------------------------------------------------------


def in_fresh_process(task: dict[str, Any], limit: float = 3600.0) -> dict[str, Any]:
    """Run a worker and read what it prints; a failure becomes part of the results."""
    started = perf_counter()
    command = [sys.executable, __file__, "--worker", json.dumps(task)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {limit:.0f} s"}
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[-1][:200]}
    row = json.loads(done.stdout.strip().splitlines()[-1])
    return row | {"process s": perf_counter() - started}


def work(task: dict[str, Any]) -> None:
    """Do one task and print the result as JSON."""
    if task["part"] == "fit":
        row = work_on_fit(task["library"], task["case"], task["seed"], task["answers"])
    else:
        row = work_on_oracle(task["which"], [tuple(c) for c in task["cliques"]])
    print(json.dumps(row))


def compare_fits(quick: bool) -> list[dict[str, Any]]:
    """Run the cases (a) and (b) with both libraries on the same noisy answers."""
    rows = []
    sizes, records = load()
    for case, seed in product("ab", range(1 if quick else 3)):
        cliques = cliques_of(case, list(sizes), seed)
        noisy = noisy_answers(records, sizes, cliques, seed)
        with TemporaryDirectory() as folder:
            answers = str(Path(folder) / "answers.npz")
            np.savez(answers, **{f"y{k}": y for k, y in enumerate(noisy)})
            for library in ("skdp", "mbi"):
                task = {"part": "fit", "library": library, "case": case}
                row = in_fresh_process(task | {"seed": seed, "answers": answers})
                rows.append({"case": case, "library": library, "seed": seed} | row)
                print(rows[-1], flush=True)
    return rows


def compare_oracles(quick: bool) -> list[dict[str, Any]]:
    """Run all oracles on models of growing size."""
    rows = []
    for name, cliques in oracle_cases(load()[0], quick).items():
        for which in ORACLES:
            task = {"part": "oracle", "which": which, "cliques": cliques}
            row = in_fresh_process(task, 300.0)
            rows.append({"tree": name, "oracle": which} | row)
            print(rows[-1], flush=True)
    return rows


def show(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> None:
    """Print some columns as a table."""
    from common import table

    print(
        table(
            keys,
            [[row.get(key, row.get("failed", "")) for key in keys] for row in rows],
        )
    )


def main() -> None:
    """Run all parts and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default="fits,oracle")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(json.loads(options.worker))
        return
    from common import keep

    results: dict[str, Any] = {}
    if "fits" in options.parts:
        results["fits"] = compare_fits(options.quick)
        costs = (
            "case",
            "library",
            "seed",
            "first s",
            "warm s",
            "warm CPU s",
            "peak MB",
        )
        show(results["fits"], (*costs, "exact s"))
        kinds = ("1-way", "measured pairs", "all pairs", "3-way")
        show(results["fits"], ("case", "library", "seed", *(f"TV {k}" for k in kinds)))
    if "oracle" in options.parts:
        results["oracle"] = compare_oracles(options.quick)
        show(
            results["oracle"], ("tree", "oracle", "ms", "CPU ms", "first s", "peak MB")
        )
    keep("pgm_vs_mbi" + ("_quick" if options.quick else ""), results, ["mbi", "jax"])


if __name__ == "__main__":
    main()
