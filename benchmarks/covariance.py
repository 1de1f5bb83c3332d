"""Private covariances side by side, over 18 data sets and four budgets.

    python benchmarks/covariance.py [--quick] [--methods ...] [--data-sets ...]

Every estimator is fitted to centred rows within known bounds, five times with other
noise. A cell, a data set with a budget rho, has the median errors over these fits,
against the empirical second moments; methods are compared by the geometric mean over
the cells of the ratio to the Gaussian mechanism with projection ("SSP + PSD"). The
estimators are given the epsilon that the tight conversion makes of rho at delta = 1e-6.

With --methods or --data-sets only these are fitted again, and the others are taken from
the kept results; with none after --methods, these are only summed up.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from common import RESULTS, keep, table
from covariance_data import DATA_SETS, TIGHT
from numpy.typing import NDArray

import skdp
from skdp.privacy import dp_from_zcdp

RHOS = (0.005, 0.05, 0.5, 5.0)
DELTA = 1e-6
REFERENCE = "SSP + PSD"
METHODS: dict[str, Callable[..., Any]] = {
    "SSP": lambda **kw: skdp.GaussianMechanismCovariance(
        free_diagonal=False, psd=False, **kw
    ),
    REFERENCE: lambda **kw: skdp.GaussianMechanismCovariance(free_diagonal=False, **kw),
    "SSP + PSD, free diagonal": skdp.GaussianMechanismCovariance,
    "thresholding, 4": lambda **kw: skdp.ThresholdedCovariance(
        noise_multiple=4.0, **kw
    ),
    "thresholding, 1.5": skdp.ThresholdedCovariance,
    "CoinPress": skdp.CoinPressCovariance,
    "SeparateCov": skdp.SeparateCovariance,
    "AdaptiveCov": skdp.AdaptiveCovariance,
    "PACE": skdp.PaceGGMCovariance,
    "PACE, product_clip=4": lambda **kw: skdp.PaceGGMCovariance(product_clip=4.0, **kw),
    "Denoised": skdp.DenoisedCovariance,
}
#: Of the paper's set, without its own method and ours.
PAPER = ("SSP", REFERENCE, "thresholding, 4", "CoinPress", "SeparateCov", "AdaptiveCov")
METRICS = ("frobenius", "spectral", "captured variance", "excess risk")


def frobenius(estimate: NDArray, truth: NDArray) -> float:
    """Return the relative Frobenius error."""
    return float(np.linalg.norm(estimate - truth) / np.linalg.norm(truth))


def spectral(estimate: NDArray, truth: NDArray) -> float:
    """Return the relative spectral error."""
    return float(np.linalg.norm(estimate - truth, 2) / np.linalg.norm(truth, 2))


def captured_variance(estimate: NDArray, truth: NDArray, k: int = 3) -> float:
    """Return the variance along the first components, relative to the best."""
    axes = np.linalg.eigh(estimate)[1][:, -k:]
    best = np.linalg.eigvalsh(truth)[-k:].sum()
    return float(np.trace(axes.T @ truth @ axes) / best)


def excess_risk(estimate: NDArray, truth: NDArray) -> float:
    """Return how much worse than the best a regression predicts.

    The column of largest variance from all others; in units of its variance.
    """
    target = int(np.argmax(np.diag(truth)))
    others = np.delete(np.arange(len(truth)), target)

    def risk(matrix: NDArray) -> float:
        inner = matrix[np.ix_(others, others)]
        slope = (
            np.linalg.pinv(inner, rcond=1e-10, hermitian=True) @ matrix[others, target]
        )
        cross = truth[others, target]
        return float(slope @ truth[np.ix_(others, others)] @ slope - 2 * slope @ cross)

    return (risk(estimate) - risk(truth)) / float(truth[target, target])


def cell(method: str, X: NDArray, rho: float, n_seeds: int) -> dict[str, float]:
    """Fit some times, and return the median of each metric."""
    truth = X.T @ X / len(X)
    measures = (frobenius, spectral, captured_variance, excess_risk)
    found: list[list[float]] = []
    for seed in range(n_seeds):
        model = METHODS[method](
            epsilon=dp_from_zcdp(rho, DELTA),
            delta=DELTA,
            bounds=1.0,
            assume_centered=True,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of noise; seeds are known here
            model.fit(X)
        found.append([measure(model.covariance_, truth) for measure in measures])
    medians = (median(values) for values in zip(*found, strict=True))
    return dict(zip(METRICS, medians, strict=True))


def measure(
    method: str, names: list[str], n_seeds: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the metrics of a method in every cell: data set, rho, metric."""
    results = {}
    for name in names:
        X = DATA_SETS[name]()
        results[name] = {str(rho): cell(method, X, rho, n_seeds) for rho in RHOS}
        shown = "  ".join(f"{c['frobenius']:.3f}" for c in results[name].values())
        print(f"{method:26s} {name:26s} {shown}", flush=True)
    return results


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean; nan of nothing."""
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def ratios(
    cells: dict[str, Any], method: str, metric: str, rho: float, names: list[str]
) -> list[float]:
    """Return a method's errors in units of the reference's."""
    one, other = cells[method], cells[REFERENCE]
    key = str(rho)
    return [one[n][key][metric] / other[n][key][metric] for n in names]


def summary(cells: dict[str, Any], names: list[str], metric: str) -> str:
    """Lay out the geometric means of the ratios, by budget."""
    rows = []
    for method in cells:
        by_rho = [ratios(cells, method, metric, rho, names) for rho in RHOS]
        every = [ratio for values in by_rho for ratio in values]
        rows.append([method, *map(geometric_mean, by_rho), geometric_mean(every)])
    return table(["ratio to " + REFERENCE, *map(str, RHOS), "all"], rows)


def averages(cells: dict[str, Any], names: list[str], metric: str) -> str:
    """Lay out the medians over the data sets of a metric, by budget."""
    rows = [
        [
            method,
            *(
                median(cells[method][n][str(rho)][metric] for n in names)
                for rho in RHOS
            ),
        ]
        for method in cells
    ]
    return table([metric, *map(str, RHOS)], rows)


def wins(cells: dict[str, Any], names: list[str], methods: list[str]) -> dict[str, int]:
    """Count the cells in which each method has the least Frobenius error."""
    count = dict.fromkeys(methods, 0)
    for name in names:
        for rho in RHOS:
            best = min(methods, key=lambda m: cells[m][name][str(rho)]["frobenius"])
            count[best] += 1
    return count


def claims(cells: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Put numbers to what the paper claims of PACE-GGM."""

    def ratio(chosen: list[str], rho: float) -> float:
        return geometric_mean(ratios(cells, "PACE", "frobenius", rho, chosen))

    sizes = {n: int(n.split()[-1].split("/")[0]) for n in names if "/" in n}
    by_size = {
        d: [n for n, size in sizes.items() if size == d]
        for d in sorted(set(sizes.values()))
    }
    paper = [m for m in PAPER if m in cells]
    won = {
        str(rho): sum(
            cells["PACE"][n][str(rho)]["frobenius"]
            < min(cells[m][n][str(rho)]["frobenius"] for m in paper)
            for n in names
        )
        for rho in RHOS
    }
    return {
        "ratio by features, synthetic": {
            str(d): {str(rho): ratio(chosen, rho) for rho in RHOS}
            for d, chosen in by_size.items()
        },
        "ratio by rho": {str(rho): ratio(names, rho) for rho in RHOS},
        "ratio by rho, tight bounds": {
            str(rho): ratio([n for n in names if n in TIGHT], rho) for rho in RHOS
        },
        f"cells of {len(names)} won against the paper's other methods": won,
    }


def draw(cells: dict[str, Any], names: list[str]) -> None:
    """Plot the ratios over the budgets, loose and tight bounds apart."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="tight")
    panels = {
        "loose bounds (13 data sets)": [n for n in names if n not in TIGHT],
        "tight bounds (5 data sets)": [n for n in names if n in TIGHT],
    }
    colours = plt.get_cmap("tab10")
    for ax, (title, chosen) in zip(axes, panels.items(), strict=True):
        for k, method in enumerate(m for m in cells if not m.startswith("SSP")):
            ours = method.split(",")[0] in ("PACE", "Denoised")
            heights = [
                geometric_mean(ratios(cells, method, "frobenius", rho, chosen))
                for rho in RHOS
            ]
            ax.plot(
                RHOS, heights, "o-" if ours else "s--", color=colours(k),
                linewidth=2.2 if ours else 1.2, markersize=5, label=method,
            )  # fmt: skip
        ax.axhline(1, color="grey", linewidth=0.8)
        ax.set(xscale="log", yscale="log", xlabel="rho (zCDP)", title=title)
    axes[0].set_ylabel(f"Frobenius error in units of {REFERENCE}")
    axes[1].legend(fontsize=8, frameon=False)
    figure.savefig(RESULTS / "covariance.png", dpi=130)


def kept(name: str) -> dict[str, Any]:
    """Return the kept cells of all methods."""
    path = RESULTS / f"{name}.json"
    return (
        dict(json.loads(path.read_text())["results"]["cells"]) if path.exists() else {}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 data sets, 1 seed")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--data-sets", nargs="+", choices=DATA_SETS)
    options = parser.parse_args()
    names, n_seeds, name = list(DATA_SETS), 5, "covariance"
    if options.quick:
        names, n_seeds, name = (
            ["wine", "Gaussian ar 50/1000", "signs spikes 50/5000"],
            1,
            "covariance_quick",
        )
    chosen = options.data_sets or names
    measured: dict[str, Any] = {method: {} for method in options.methods}
    for method in options.methods:
        for data_set in chosen:
            measured[method] |= measure(method, [data_set], n_seeds)
        report(merged(kept(name), measured), names, name, n_seeds)
    if not options.methods:
        report(kept(name), names, name, n_seeds)


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of both, the new ones where they are."""
    return old | {method: old.get(method, {}) | cells for method, cells in new.items()}


def report(cells: dict[str, Any], names: list[str], name: str, n_seeds: int) -> None:
    """Print and keep what there is so far."""
    every_cell = cells
    cells = {m: cells[m] for m in METHODS if set(names) <= set(cells.get(m, ()))}
    tables = {metric: summary(cells, names, metric) for metric in METRICS[:2]}
    tables |= {metric: averages(cells, names, metric) for metric in METRICS[2:]}
    results: dict[str, Any] = {
        "seeds": n_seeds,
        "delta": DELTA,
        "tables": {metric: text.splitlines() for metric, text in tables.items()},
        "wins": wins(cells, names, list(cells)),
    }
    if "PACE" in cells:
        results["claims"] = claims(cells, names)
    keep(name, results | {"cells": every_cell}, ["matplotlib"])
    if len(cells) == len(METHODS):
        print("\n\n".join(tables.values()))
        print(json.dumps({k: results[k] for k in ("wins", "claims")}, indent=1))
        if name == "covariance":
            draw(cells, names)


if __name__ == "__main__":
    main()
