"""Estimation from noisy marginals beside mbi (JAX), in fresh processes.

    python benchmarks/pgm_vs_mbi.py [--quick]

Needs `pip install mbi`, and Adult in shared/data beside the repository. Measured: all
one-way marginals and (a) a random 13-edge tree of pairs or (b) 14 random pairs,
sigma = 50, n known. Each library runs in a process of its own: seconds and megabytes of
the first fit over those after import, seconds of a fit in a process that is warm, and
the error (mean total variation) of all one- and two-way, 60 three-way marginals and
the measured pairs. mbi runs 1000 iterations of its mirror descent in double precision,
without the compilation cache, as its import advises.

Warm seconds are the least of several runs. CPU seconds are given beside wall seconds,
because they move less on a busy machine.
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


def domain_sizes() -> dict[str, int]:
    """Read Adult's public domain."""
    sizes: dict[str, int] = json.loads((DATA / "adult-domain.json").read_text())
    return sizes


def load() -> tuple[dict[str, int], np.ndarray]:
    """Read Adult's public domain and records."""
    sizes = domain_sizes()
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
    sizes = domain_sizes()
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


# The parent -------------------------------------------------------------------------


def in_fresh_process(
    task: dict[str, Any], script: str = __file__, limit: float = 3600.0
) -> dict[str, Any]:
    """Run a worker and read what it prints; a failure becomes part of the results."""
    started = perf_counter()
    command = [sys.executable, script, "--worker", json.dumps(task)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {limit:.0f} s"}
    if done.returncode != 0:
        return {"failed": done.stderr.strip().splitlines()[-1][:200]}
    row = json.loads(done.stdout.strip().splitlines()[-1])
    return row | {"process s": perf_counter() - started}


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
                task = {"library": library, "case": case}
                row = in_fresh_process(task | {"seed": seed, "answers": answers})
                rows.append({"case": case, "library": library, "seed": seed} | row)
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
    """Run all cases and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        task = json.loads(options.worker)
        print(json.dumps(work_on_fit(**task)))
        return
    from common import keep

    rows = compare_fits(options.quick)
    costs = ("case", "library", "seed", "first s", "warm s", "warm CPU s", "peak MB")
    show(rows, (*costs, "exact s"))
    kinds = ("1-way", "measured pairs", "all pairs", "3-way")
    show(rows, ("case", "library", "seed", *(f"TV {k}" for k in kinds)))
    name = "pgm_vs_mbi" + ("_quick" if options.quick else "")
    keep(name, {"fits": rows}, ["mbi", "jax"])


if __name__ == "__main__":
    main()
