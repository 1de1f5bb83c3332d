"""Published Bayesian networks that pgmpy bundles: graph, schema and samples."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cache

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skdp import Categorical, Schema
from skdp.causal import cpdag_of


@dataclass(frozen=True)
class PublishedNetwork:
    """A network whose variables are in alphabetical order, so that none is favoured."""

    schema: Schema
    dag: nx.DiGraph
    #: For each variable, causes first: its parents, and its probabilities given them
    #: on the last axis.
    tables: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]]

    @property
    def skeleton(self) -> nx.Graph:
        """The edges without directions."""
        return self.dag.to_undirected()

    @property
    def causal_graph(self) -> nx.DiGraph:
        """The CPDAG."""
        return cpdag_of(self.dag)

    def sample(self, n_samples: int, seed: int) -> pd.DataFrame:
        """Draw records; the levels are the numbers of the states."""
        rng = np.random.default_rng(seed)
        drawn: dict[str, NDArray[np.int64]] = {}
        for name, (parents, probabilities) in self.tables.items():
            given = probabilities[tuple(drawn[p] for p in parents)]
            edges = np.broadcast_to(given, (n_samples, given.shape[-1])).cumsum(axis=1)
            below = rng.random((n_samples, 1)) * edges[:, -1:] >= edges
            drawn[name] = np.minimum(below.sum(axis=1), given.shape[-1] - 1)
        return pd.DataFrame(
            {
                c.name: pd.Categorical.from_codes(drawn[c.name], categories=c.levels)
                for c in self.schema
            }
        )


@cache
def published_network(name: str) -> PublishedNetwork:
    """Read a network by the name that pgmpy gives it."""
    logging.disable(logging.WARNING)
    from pgmpy.utils import get_example_model

    model = get_example_model(name)
    dag = nx.DiGraph()
    dag.add_nodes_from(sorted(model.nodes()))
    dag.add_edges_from(model.edges())
    tables = {}
    for variable in nx.lexicographical_topological_sort(dag):
        table = model.get_cpds(variable)
        values = np.moveaxis(np.asarray(table.values, dtype=float), 0, -1)
        tables[variable] = (tuple(table.variables[1:]), values)
    schema = Schema([Categorical(v, range(tables[v][1].shape[-1])) for v in dag])
    return PublishedNetwork(schema, dag, tables)
