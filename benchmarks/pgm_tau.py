"""How strong the pull towards independence should be: tau = c / sigma.

    python benchmarks/pgm_tau.py [--quick]

Two tables besides Adult: 20 000 records of the CHILD network (pgmpy, 20 columns) and
Fair's survey of marriages (statsmodels, 6366 records, 9 columns, the job columns and
the rest as they are). Measured: all one-way marginals and the pairs of the spanning
tree of largest mutual information ("tree"), or as many pairs drawn at random ("random",
which has loops), with Gaussian noise. Compared, over five draws of the noise: several
c, the optimum without penalty (c = 0), and mirror descent stopped after 1000 calls of
the oracle (the paper's Algorithm 1 from uniform). Reported: mean total variation of
all one-way, 100 two-way (all 36 of Fair's) and 60 three-way marginals.

The last part adds Laplace noise and compares the L1 with the L2 loss.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
from common import keep, table
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mutual_info_score

from skdp.graphical import Domain, LinearMeasurement, fit_potentials

STRENGTHS = (10.0, 3.0, 1.0, 0.5, 0.2, 0.0)
Columns = tuple[str, ...]


class Table:
    """Records of codes with their domain, and their marginals."""

    def __init__(self, frame: Any) -> None:
        codes = [np.unique(frame[name], return_inverse=True) for name in frame]
        self.domain = Domain(
            tuple(map(str, frame.columns)), tuple(len(levels) for levels, _ in codes)
        )
        self.codes = dict(zip(self.domain.names, (c for _, c in codes), strict=True))
        self.n = len(frame)

    def marginal(self, columns: Columns) -> np.ndarray:
        """Count the records."""
        shape = self.domain.shape(columns)
        cells = np.ravel_multi_index([self.codes[name] for name in columns], shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def tables() -> dict[str, tuple[Table, tuple[float, ...]]]:
    """Return the tables with the noise that is added to them."""
    import statsmodels.api as sm
    from pgmpy.utils import get_example_model

    child = get_example_model("child").simulate(20_000, seed=0, show_progress=False)
    fair = sm.datasets.fair.load_pandas().data
    return {
        "child": (Table(child[sorted(child.columns)]), (10.0, 50.0, 250.0)),
        "fair": (Table(fair.assign(affairs=fair["affairs"] > 0)), (4.0, 20.0, 100.0)),
    }


def pairs_of(data: Table, graph: str, seed: int) -> list[Columns]:
    """Choose the measured pairs."""
    names = data.domain.names
    every = list(combinations(names, 2))
    if graph == "random":
        rng = np.random.default_rng(seed)
        picks = rng.choice(len(every), len(names), replace=False)
        return [every[i] for i in picks]
    weighted = nx.Graph()
    for a, b in every:
        score = mutual_info_score(data.codes[a], data.codes[b])
        weighted.add_edge(a, b, weight=score)
    tree = nx.maximum_spanning_tree(weighted)
    return [data.domain.sort(edge) for edge in tree.edges]


def asked_of(data: Table) -> dict[str, list[Columns]]:
    """Choose the marginals that are asked for."""
    names, rng = data.domain.names, np.random.default_rng(0)
    found: dict[str, list[Columns]] = {"1-way": [(name,) for name in names]}
    for size, most in ((2, 100), (3, 60)):
        every = list(combinations(names, size))
        picks = rng.choice(len(every), min(most, len(every)), replace=False)
        found[f"{size}-way"] = [every[i] for i in picks]
    return found


def errors(
    model: Any, data: Table, truth: dict[str, list[tuple[Columns, np.ndarray]]]
) -> list[float]:
    """Return the mean total variation per kind of marginal."""
    return [
        float(
            np.mean(
                [np.abs(model.marginal(c) - t).sum() / (2 * data.n) for c, t in asked]
            )
        )
        for asked in truth.values()
    ]


def measure(
    data: Table, cliques: list[Columns], sigma: float, seed: int, law: str
) -> list[LinearMeasurement]:
    """Add noise of standard deviation sigma to the marginals."""
    rng = np.random.default_rng(seed)
    found = []
    for clique in cliques:
        exact = data.marginal(clique)
        noise = rng.normal(size=exact.shape)
        if law == "laplace":
            noise = rng.laplace(scale=0.5**0.5, size=exact.shape)
        found.append(LinearMeasurement(clique, exact + sigma * noise, sigma))
    return found


def arms_of(law: str, quick: bool) -> dict[str, dict[str, Any]]:
    """Return the options of every arm, but for the division by sigma."""
    if law == "laplace":
        l2: dict[str, dict[str, Any]] = {"L2, default": {}}
        l2 |= {f"L2, c = {c:g}": {"c": c} for c in (3.0, 1.0, 0.3)}
        l1 = {f"L1, c = {c:g}": {"c": c, "loss": "l1"} for c in (3.0, 1.0, 0.3, 0.1)}
        return l2 | l1 | {"L1, default": {"loss": "l1"}}
    arms: dict[str, dict[str, Any]] = {f"c = {c:g}": {"c": c} for c in STRENGTHS}
    arms["default"] = {}
    limit = 200 if quick else 1000
    arms["mirror descent"] = {
        "c": 0.0,
        "solver": "mirror_descent",
        "max_iter": limit,
        "gap_tol": 1e-6,
    }
    return arms


def compare(data: Table, sigma: float, graph: str, law: str, quick: bool) -> Any:
    """Return mean and standard error per arm and kind of marginal."""
    found: dict[str, list[list[float]]] = {}
    asked = asked_of(data)
    truth = {kind: [(c, data.marginal(c)) for c in cs] for kind, cs in asked.items()}
    for seed in range(2 if quick else 5):
        cliques = [(a,) for a in data.domain.names] + pairs_of(data, graph, seed)
        measurements = measure(data, cliques, sigma, seed, law)
        for arm, options in arms_of(law, quick).items():
            tau = options["c"] / sigma if "c" in options else "auto"
            rest = {k: v for k, v in options.items() if k != "c"}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fit = fit_potentials(measurements, data.domain, data.n, tau=tau, **rest)
            row = [*errors(fit.model(), data, truth), fit.tau * sigma]
            found.setdefault(arm, []).append(row)
    return {
        arm: {"mean": np.mean(rows, axis=0).tolist(), "each": rows}
        for arm, rows in found.items()
    }


def main() -> None:
    """Run all settings and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    results: list[dict[str, Any]] = []
    for name, (data, noise) in tables().items():
        settings = [(s, g, "gauss") for s in noise for g in ("tree", "random")]
        settings += [(s, "tree", "laplace") for s in noise[1:]]
        for sigma, graph, law in settings[:2] if quick else settings:
            arms = compare(data, sigma, graph, law, quick)
            row = {"table": name, "sigma": sigma, "pairs": graph, "noise": law}
            results.append(row | {"arms": arms})
            print(f"\n{name}, sigma = {sigma:g}, {graph} pairs, {law} noise")
            lines = [[arm, *content["mean"]] for arm, content in arms.items()]
            print(table(["", "1-way", "2-way", "3-way", "c"], lines), flush=True)
    keep("pgm_tau" + ("_quick" if quick else ""), results, ["pgmpy", "statsmodels"])


if __name__ == "__main__":
    main()
