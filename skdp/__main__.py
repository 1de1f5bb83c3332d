"""The main job: learn a private causal graph from an embedded Bayesian network."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import networkx as nx

from skdp import PrivPC
from skdp.datasets import NETWORK_NAMES, BayesianNetwork, load_bayesian_network
from skdp.metrics import (
    skeleton_f1_score,
    skeleton_precision_score,
    skeleton_recall_score,
    structural_hamming_distance,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, print beside the truth, and draw where matplotlib is installed.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments; by default those of the process.
    """
    options = _parser().parse_args(arguments)
    network = load_bayesian_network(options.network)
    records = network.sample(options.records, random_state=options.data_seed)
    model = PrivPC(
        options.epsilon,
        options.delta,
        schema=network.schema,
        random_state=options.noise_seed,
    ).fit(records)
    print(f"{options.records} records of {network.name}, sampled from its tables\n")
    print(_edges_beside(network.skeleton, model.skeleton_))
    print(_scores(network, model))
    print(model.privacy_report())
    print(f"\nLedger\n  {model.ledger_.to_json()}")
    print(_draw(model, network, options.picture))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m skdp",
        description="Learn a causal graph with differential privacy from records that "
        "are sampled from an embedded Bayesian network.",
    )
    parser.add_argument("--network", choices=NETWORK_NAMES, default="asia")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--data-seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--noise-seed",
        type=int,
        default=None,
        help="makes the noise reproducible; a known seed voids the guarantee",
    )
    parser.add_argument("--picture", default="skdp-graph.png", help="file to draw to")
    return parser


def _edges_beside(truth: nx.Graph, learned: nx.Graph) -> str:
    """Return a line per edge that is in either graph."""
    lines = [f"  {'edge':<24}{'true':<8}learned"]
    for x, y in nx.compose(truth, learned).edges:
        marks = ("yes" if graph.has_edge(x, y) else "-" for graph in (truth, learned))
        lines.append(f"  {f'{x} - {y}':<24}{next(marks):<8}{next(marks)}")
    return "\n".join(lines)


def _scores(network: BayesianNetwork, model: PrivPC) -> str:
    pair = network.skeleton, model.skeleton_
    distance = structural_hamming_distance(network.causal_graph, model.causal_graph_)
    return (
        f"\nskeleton precision {skeleton_precision_score(*pair):.2f}, recall "
        f"{skeleton_recall_score(*pair):.2f}, F1 {skeleton_f1_score(*pair):.2f}; "
        f"structural Hamming distance {distance}\n"
    )


def _draw(model: PrivPC, network: BayesianNetwork, path: str) -> str:
    try:
        import matplotlib

        matplotlib.use("Agg")
    except ImportError:
        return "\nNo picture: matplotlib is not installed (pip install 'skdp[plots]')."
    from skdp.plotting import CausalGraphDisplay

    display = CausalGraphDisplay.from_estimator(model, truth=network.causal_graph)
    display.figure_.savefig(path, dpi=150, bbox_inches="tight")
    return f"\nPicture saved to {path}"


if __name__ == "__main__":
    main()
