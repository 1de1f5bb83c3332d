"""PrivPC in brief: skeleton F1 at epsilon = 1 on four networks, and time of a fit.

python benchmarks/priv_pc_small.py
"""

from __future__ import annotations

import warnings
from statistics import mean, median, stdev
from time import perf_counter

from common import keep, table

from skdp import PC, PrivPC
from skdp.datasets import NETWORK_NAMES, load_bayesian_network
from skdp.metrics import skeleton_f1_score

N_RECORDS = 100_000
N_SAMPLES = 10


def accuracy(name: str) -> dict[str, float]:
    """Learn from ten samples; compare with PC, and with keeping every edge."""
    network = load_bayesian_network(name)
    private, exact = [], []
    for seed in range(N_SAMPLES):
        records = network.sample(N_RECORDS, random_state=1000 + seed, as_frame=True)
        model = PrivPC(1.0, random_state=seed, schema=network.schema).fit(records)
        private.append(skeleton_f1_score(network.skeleton, model.skeleton_))
        model = PC(schema=network.schema).fit(records)
        exact.append(skeleton_f1_score(network.skeleton, model.skeleton_))
    n_edges, d = network.skeleton.number_of_edges(), len(network.schema)
    density = n_edges / (d * (d - 1) / 2)
    return {
        "f1": mean(private), "deviation": stdev(private), "pc_f1": mean(exact),
        "every_edge_f1": 2 * density / (1 + density),
    }  # fmt: skip


def milliseconds_a_fit(n_fits: int = 30) -> dict[str, float]:
    """Time fits on Asia from a frame of categoricals and from an array of text."""
    network = load_bayesian_network("asia")
    times = {}
    for kind, as_frame in (("frame", True), ("text array", False)):
        records = network.sample(N_RECORDS, random_state=0, as_frame=as_frame)
        spent = []
        for seed in range(n_fits):
            start = perf_counter()
            PrivPC(1.0, random_state=seed, schema=network.schema).fit(records)
            spent.append(1000 * (perf_counter() - start))
        times[kind] = median(spent[1:])
    return times


def main() -> None:
    """Measure, print and keep."""
    warnings.simplefilter("ignore")
    f1 = {name: accuracy(name) for name in NETWORK_NAMES}
    times = milliseconds_a_fit()
    rows = [[name, *scores.values()] for name, scores in f1.items()]
    means = [mean(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    header = ["network", "PrivPC F1", "deviation", "PC F1", "every edge"]
    print(table(header, [*rows, ["mean", *means]]))
    print(f"PrivPC on Asia, {N_RECORDS} x 8, milliseconds a fit: {times}")
    keep("priv_pc_small", {"f1": f1, "milliseconds_a_fit": times})


if __name__ == "__main__":
    main()
