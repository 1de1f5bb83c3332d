"""Is there a better sieve? Other ways to spend PrivPC's budget, beside its own.

    python benchmarks/priv_pc_variants.py

Every variant is pure epsilon-differentially private and buys all its answers from the
curator, whose ledger must end at epsilon. All use the default score, the noise-aware
threshold at level 0.1 and conditioning sets of at most one variable.

* "sieve and examine": PrivPC as it is.
* "batch, then sieve": the scores of all pairs in one Laplace release for half the
  budget; the rounds of the sieve are then as many as edges remain.
* "batch, then examine M": the same release also ranks the separators of an edge x - y:
  z can only separate x and y if it depends on both, so the best z have the largest
  min(score(x, z), score(y, z)). The M best of each edge are examined, with equal shares
  of the other half, without any sieve.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from statistics import mean, stdev
from typing import Any

import networkx as nx
from common import keep, table

from skdp.causal.answerers import MechanismAnswerer
from skdp.causal.skeleton import learn_skeleton
from skdp.datasets import NETWORK_NAMES, load_bayesian_network
from skdp.metrics import skeleton_f1_score
from skdp.privacy import Curator, PrivacyLedger
from skdp.queries import Batch, KendallDependence
from skdp.records import CountTable
from skdp.stats import noise_aware_threshold

ALPHA = 0.1
N_RECORDS = 100_000
N_SAMPLES, N_DRAWS = 10, 4
EPSILONS = (0.1, 0.3, 0.5, 1.0, 3.0, 10.0)


def threshold(curator: Curator, query: KendallDependence, noise_scale: float) -> float:
    """Return the level-alpha threshold under this much Laplace noise."""
    return noise_aware_threshold(ALPHA, query.null_scale(curator.public), noise_scale)


def batch(curator: Curator, epsilon: float) -> tuple[nx.Graph, dict[Any, float]]:
    """Release the scores of all pairs; return the graph of order 0 and the scores."""
    names = curator.public.schema.names
    queries = [KendallDependence(x, y) for x, y in combinations(names, 2)]
    answer = curator.laplace(Batch(tuple(queries)), epsilon=epsilon)
    noise_scale = curator.ledger.entries[-1].scale
    graph, scores = nx.Graph(), {}
    graph.add_nodes_from(names)
    for query, score in zip(queries, answer, strict=True):
        scores[frozenset((query.x, query.y))] = float(score)
        if score > threshold(curator, query, noise_scale):
            graph.add_edge(query.x, query.y)
    return graph, scores


def batch_then_sieve(curator: Curator, epsilon: float) -> nx.Graph:
    """Spend half on the batch, half on a sieve over order 1."""
    graph, _ = batch(curator, epsilon / 2)
    if not graph.number_of_edges():
        return graph
    half = epsilon / 4 / graph.number_of_edges() * (1 - 1e-12)
    mechanism = curator.sieve_and_examine(
        rounds=graph.number_of_edges(), sieve_epsilon=half, examine_epsilon=half
    )

    def question(x: str, y: str, given: tuple[str, ...]) -> tuple[Any, float]:
        query = KendallDependence(x, y, given)
        scale = query.sensitivity(curator.public) / half
        return query, threshold(curator, query, scale)

    answerer = MechanismAnswerer(mechanism, question)
    found, names = graph.copy(), list(graph)
    for x, y in graph.edges:
        for z in names:
            if z in (x, y) or not (graph.has_edge(x, z) or graph.has_edge(y, z)):
                continue
            if answerer.exhausted:
                return found
            if answerer.independent(x, y, (z,)):
                found.remove_edge(x, y)
                break
    return found


def batch_then_examine(curator: Curator, epsilon: float, n_sets: int) -> nx.Graph:
    """Spend half on the batch, half on the best separators of each edge."""
    graph, scores = batch(curator, epsilon / 2)
    questions = []
    for x, y in graph.edges:
        others = [z for z in graph if z not in (x, y)]
        reach = {z: min(scores[frozenset((v, z))] for v in (x, y)) for z in others}
        best = sorted(others, key=lambda z, reach=reach: -reach[z])[:n_sets]
        questions += [KendallDependence(x, y, (z,)) for z in best if reach[z] > 0]
    found = graph.copy()
    for query in questions:
        share = epsilon / 2 / len(questions) * (1 - 1e-12)
        score = curator.laplace(query, epsilon=share)
        scale = curator.ledger.entries[-1].scale
        if score <= threshold(curator, query, scale) and found.has_edge(
            query.x, query.y
        ):
            found.remove_edge(query.x, query.y)
    return found


def priv_pc(curator: Curator, epsilon: float) -> nx.Graph:
    """Spend as PrivPC does: half a round's share on the sieve, half on the look."""
    names = curator.public.schema.names
    rounds = len(names) * (len(names) - 1) // 2
    half = epsilon / 2 / rounds * (1 - 1e-12)
    mechanism = curator.sieve_and_examine(
        rounds=rounds, sieve_epsilon=half, examine_epsilon=half
    )

    def question(x: str, y: str, given: tuple[str, ...]) -> tuple[Any, float]:
        query = KendallDependence(x, y, given)
        scale = query.sensitivity(curator.public) / half
        return query, threshold(curator, query, scale)

    answerer = MechanismAnswerer(mechanism, question)
    return learn_skeleton(names, answerer, max_order=1).graph


VARIANTS = {
    "sieve and examine": priv_pc,
    "batch, then sieve": batch_then_sieve,
    "batch, then examine 1": lambda c, e: batch_then_examine(c, e, 1),
    "batch, then examine 2": lambda c, e: batch_then_examine(c, e, 2),
    "batch, then examine 3": lambda c, e: batch_then_examine(c, e, 3),
}


def tables_of(name: str) -> list[CountTable]:
    """Count the samples of a network once."""
    network = load_bayesian_network(name)
    return [
        CountTable.from_frame(
            network.sample(N_RECORDS, random_state=1000 + i), network.schema
        )
        for i in range(N_SAMPLES)
    ]


def main() -> None:
    """Measure, print and keep."""
    warnings.simplefilter("ignore")
    records = {name: tables_of(name) for name in NETWORK_NAMES}
    results: dict[str, Any] = {}
    for title, variant in VARIANTS.items():
        for epsilon in EPSILONS:
            f1 = []
            for name in NETWORK_NAMES:
                truth = load_bayesian_network(name).skeleton
                for i, counted in enumerate(records[name]):
                    for draw in range(N_DRAWS):
                        ledger = PrivacyLedger(epsilon)
                        curator = Curator(counted, ledger, 1000 * draw + i)
                        graph = variant(curator, epsilon)
                        assert ledger.total() <= epsilon
                        f1.append(skeleton_f1_score(truth, graph))
            error = stdev(f1) / len(f1) ** 0.5
            cell = {"mean_f1": mean(f1), "standard_error": error}
            results.setdefault(title, {})[epsilon] = cell
        print(title, [round(c["mean_f1"], 3) for c in results[title].values()])
    rows = [[t, *(c["mean_f1"] for c in cs.values())] for t, cs in results.items()]
    print(table(["mean F1 of four networks", *map(str, EPSILONS)], rows))
    keep("priv_pc_variants", results)


if __name__ == "__main__":
    main()
