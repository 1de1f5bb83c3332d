"""The main job: learn a private causal graph from an embedded Bayesian network."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import inf, nextafter
from pathlib import Path
from typing import Any

import networkx as nx

from skdp import PC, MarginalPC, PrivPC
from skdp.datasets import NETWORK_NAMES, BayesianNetwork, load_bayesian_network
from skdp.metrics import (
    skeleton_f1_score,
    skeleton_precision_score,
    skeleton_recall_score,
    structural_hamming_distance,
)
from skdp.privacy import PrivacyLedger
from skdp.report import purchase_in_words

_ESTIMATORS = {"MarginalPC": MarginalPC, "PrivPC": PrivPC}
_SMALLEST = nextafter(0.0, 1.0)
_SUFFIXES = (".png", ".pdf", ".svg", ".jpg")


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, print beside the truth, and draw where matplotlib is installed.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments; by default those of the process.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    network = load_bayesian_network(options.network)
    records = network.sample(options.records, random_state=options.data_seed)
    model = _ESTIMATORS[options.estimator](
        options.epsilon,
        options.delta,
        schema=network.schema,
        random_state=options.noise_seed,
    )
    try:
        model.fit(records)
    except ValueError as error:  # a budget too small for any noise
        parser.error(str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to warn of was said above
        reference = PC(schema=network.schema).fit(records)
    print(f"{options.records} records of {network.name}, sampled from its tables.\n")
    print(_edges(network, model), end="\n\n")
    print(_scores(network, model, reference), end="\n\n")
    print(_about_the_noise(options.noise_seed), end="\n\n")
    print(model.privacy_report(), end="\n\n")
    print(model.ledger_.to_json() if options.json else _ledger(model.ledger_))
    print(f"\n{_draw(model, network, options.picture)}")


def _number(
    kind: Callable[[str], float], low: float, high: float = inf
) -> Callable[[str], float]:
    """Return a reader of numbers from `low` on and below `high`."""
    bounds = f"at least {low:g}" if low != _SMALLEST else "above 0"
    if high < inf:
        bounds += f" and below {high:.10g}"

    def read(text: str) -> float:
        value = kind(text)
        if not low <= value < high:
            raise argparse.ArgumentTypeError(f"must be a number {bounds}, got {text}")
        return value

    read.__name__ = "number" if kind is float else "whole number"
    return read


def _picture(text: str) -> Path:
    """Read where to draw to; refuse what could not be written after the fit."""
    path = Path(text).absolute()
    if path.suffix.lower() not in _SUFFIXES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no picture: its name has to end in {', '.join(_SUFFIXES)}"
        )
    place = path if path.exists() else path.parent
    usable = path.is_file() if path.exists() else path.parent.is_dir()
    if find_spec("matplotlib") and not (usable and os.access(place, os.W_OK)):
        raise argparse.ArgumentTypeError(f"{path} cannot be written")
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m skdp",
        description="Learn a causal graph with differential privacy from records that "
        "are sampled from an embedded Bayesian network, and compare it with the truth.",
    )
    seed = _number(int, 0, 2**32)

    def add(name: str, text: str, **how: Any) -> None:
        if how.get("default") is not None:
            text += " (default: %(default)s)"
        parser.add_argument(name, help=text, **how)

    add("--network", "what to sample from", choices=NETWORK_NAMES, default="asia")
    add("--records", "how many to sample", type=_number(int, 2), default=100_000)
    add("--estimator", "what to fit", choices=_ESTIMATORS, default="MarginalPC")
    add("--epsilon", "of the fit", type=_number(float, _SMALLEST), default=1.0)
    add("--delta", "of the fit", type=_number(float, 0, 1), default=0.0)
    add("--data-seed", "of the sample", type=seed, default=0)
    secret = (
        "repeats the noise; a known seed voids the guarantee (default: fresh noise)"
    )
    add("--noise-seed", secret, type=seed)
    file = "file to draw to, if matplotlib is installed"
    add("--picture", file, type=_picture, default="skdp-graph.png")
    add("--json", "print the ledger as JSON", action="store_true")
    return parser


def _edges(network: BayesianNetwork, model: MarginalPC | PrivPC) -> str:
    """Return a line per edge that is in either graph."""
    truth, learned = network.causal_graph, model.causal_graph_
    lines = [f"  {'true graph':<24}learned by {type(model).__name__}"]
    for x, y in nx.compose(truth.to_undirected(), learned.to_undirected()).edges:
        lines.append(f"  {_arrow(truth, x, y):<24}{_arrow(learned, x, y)}")
    return "\n".join([*lines, "  '--' is an edge whose direction is left open."])


def _arrow(graph: nx.DiGraph, x: str, y: str) -> str:
    forth, back = graph.has_edge(x, y), graph.has_edge(y, x)
    if forth and back:
        return f"{x} -- {y}"
    if forth or back:
        return f"{x} -> {y}" if forth else f"{y} -> {x}"
    return "no edge"


def _scores(network: BayesianNetwork, model: MarginalPC | PrivPC, reference: PC) -> str:
    """Return a table of how near to the truth the graphs are."""
    every_pair = nx.complete_graph(network.schema.names).to_directed()
    rows = {
        _title(model): model.causal_graph_,
        "PC, without privacy": reference.causal_graph_,
        "every pair kept": every_pair,
    }
    lines = [f"  {'':<24}{'precision':>9}{'recall':>9}{'F1':>7}{'SHD':>6}"]
    for name, graph in rows.items():
        pair = network.skeleton, graph.to_undirected()
        lines.append(
            f"  {name:<24}{skeleton_precision_score(*pair):>9.2f}"
            f"{skeleton_recall_score(*pair):>9.2f}{skeleton_f1_score(*pair):>7.2f}"
            f"{structural_hamming_distance(network.causal_graph, graph):>6}"
        )
    lines += [
        "  Precision, recall and F1 judge edges without their directions; 1 is best.",
        "  SHD: pairs that differ from the true graph, directions included.",
        "  PC is a second fit on the sampled data, to compare: it protects nothing.",
    ]
    return "\n".join(lines)


def _title(model: MarginalPC | PrivPC) -> str:
    return f"{type(model).__name__}({model.epsilon:g}, {model.delta:g})"


def _about_the_noise(seed: int | None) -> str:
    if seed is None:
        return (
            "The noise is fresh: each run finds another graph; --noise-seed 0 repeats "
            "one."
        )
    return f"The noise is that of seed {seed}: each run finds this graph."


def _ledger(ledger: PrivacyLedger) -> str:
    """Return what was bought in a few lines."""
    lines = ["Ledger"]
    for entry in ledger:
        loss = f"epsilon {entry.epsilon:.4g} added up, rho {entry.rho:.4g} as zCDP"
        words = purchase_in_words(entry)
        lines += [f"  {entry.mechanism}", f"    {words}", f"    loss: {loss}"]
    spent = f"epsilon {ledger.total():.6g} at delta {ledger.delta:g}"
    return "\n".join([*lines, f"  spent: {spent}"])


def _draw(model: MarginalPC | PrivPC, network: BayesianNetwork, path: Path) -> str:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "No picture: matplotlib is not installed (pip install matplotlib)."
    from skdp.plotting import CausalGraphDisplay

    figure = Figure(figsize=(6.4, 5.4), layout="constrained")
    CausalGraphDisplay.from_estimator(
        model,
        truth=network.causal_graph,
        ax=figure.subplots(),
        title=f"{network.name}, {_title(model)}",
    )
    figure.savefig(path, dpi=150, bbox_inches="tight")
    return f"Picture saved to {path}"


if __name__ == "__main__":
    main()
