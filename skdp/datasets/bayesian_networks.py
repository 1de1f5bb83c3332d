"""Bayesian networks of the literature: a true graph, and records drawn from it.

The four networks are those of the experiments of Priv-PC (Wang, Pang & Song
2020, section 4). Their tables are part of the package, so nothing is downloaded.
Records are simulated, not private, and drawn with NumPy's ordinary generators.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from skdp.causal.orientation import cpdag_of
from skdp.records import Categorical, Ordinal, Schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NETWORK_NAMES", "BayesianNetwork", "load_bayesian_network"]

NETWORK_NAMES = ("earthquake", "cancer", "asia", "survey")

RandomState = int | np.random.Generator | np.random.RandomState | None


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """A directed acyclic graph with a probability table for every node.

    Parameters
    ----------
    name : str
        What the network is called.
    schema : Schema
        The nodes as columns, with their levels; parents come before children.
    parents : dict of str to tuple of str
        The parents of each node.
    conditional_probabilities : dict of str to ndarray
        For each node its probabilities given its parents: one axis per parent,
        in the order of `parents`, then one for the node, each in the order of
        the levels.
    reference : str
        Where the network was published.
    """

    name: str
    schema: Schema
    parents: Mapping[str, tuple[str, ...]]
    conditional_probabilities: Mapping[str, NDArray[np.float64]]
    reference: str

    @property
    def dag(self) -> nx.DiGraph:
        """The true graph (networkx.DiGraph), an arrow from parent to child."""
        dag = nx.DiGraph()
        dag.add_nodes_from(self.schema.names)
        dag.add_edges_from(
            (parent, node) for node in dag for parent in self.parents[node]
        )
        return dag

    @property
    def skeleton(self) -> nx.Graph:
        """The true graph without directions (networkx.Graph)."""
        return self.dag.to_undirected()

    @property
    def causal_graph(self) -> nx.DiGraph:
        """The true CPDAG (networkx.DiGraph): all that records can tell of `dag`."""
        return cpdag_of(self.dag)

    def sample(
        self,
        n_samples: int,
        *,
        random_state: RandomState = None,
        as_frame: bool = False,
    ) -> NDArray[np.str_] | pd.DataFrame:
        """Draw independent records from the joint distribution.

        Parameters
        ----------
        n_samples : int
            Number of records, at least 1.
        random_state : int, numpy Generator, RandomState or None
            Seed of the simulation, or the generator to draw from.
        as_frame : bool, default=False
            Whether to return a pandas frame.

        Returns
        -------
        ndarray of str of shape (n_samples, n_nodes), or pandas.DataFrame
            One column per node, in the order of the schema. The frame's columns
            are categorical and declare every level of the schema, drawn or not.

        Raises
        ------
        ValueError
            If `n_samples` is less than 1.
        ImportError
            If `as_frame` is true and pandas is not installed.

        Examples
        --------
        >>> network = load_bayesian_network("asia")
        >>> network.sample(1000, random_state=0).shape
        (1000, 8)
        """
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
        codes = self._sample_codes(n_samples, _generator(random_state))
        return self._to_frame(codes) if as_frame else self._to_array(codes)

    def _sample_codes(
        self, n_samples: int, rng: np.random.Generator
    ) -> dict[str, NDArray[np.int8]]:
        """Draw each node given its parents, which come first."""
        codes: dict[str, NDArray[np.int8]] = {}
        for node in self.schema.names:
            cumulative = np.cumsum(self.conditional_probabilities[node], axis=-1)
            given = tuple(codes[parent] for parent in self.parents[node])
            uniform = rng.random(n_samples)
            codes[node] = np.zeros(n_samples, dtype=np.int8)
            for level in range(cumulative.shape[-1] - 1):
                codes[node] += uniform >= cumulative[..., level][given]
        return codes

    def _to_array(self, codes: Mapping[str, NDArray[np.int8]]) -> NDArray[np.str_]:
        columns = [
            np.array(column.levels)[codes[column.name]] for column in self.schema
        ]
        return np.column_stack(columns)

    def _to_frame(self, codes: Mapping[str, NDArray[np.int8]]) -> pd.DataFrame:
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "as_frame=True needs pandas: pip install pandas, or leave as_frame "
                "at False for a NumPy array."
            ) from error
        return pd.DataFrame(
            {
                column.name: pd.Categorical.from_codes(
                    codes[column.name], pd.Index(column.levels), ordered=column.ordered
                )
                for column in self.schema
            }
        )


def load_bayesian_network(name: str) -> BayesianNetwork:
    """Load one of the Bayesian networks that come with the package.

    ========== ===== ===== =================================================
    name       nodes edges
    ========== ===== ===== =================================================
    earthquake 5     4     an alarm that burglars and earthquakes set off
    cancer     5     4     causes and symptoms of lung cancer
    asia       8     8     lung diseases; `either` is `lung` or `tub`
    survey     6     6     who travels by car, train or other means
    ========== ===== ===== =================================================

    Parameters
    ----------
    name : {"earthquake", "cancer", "asia", "survey"}
        Which network.

    Returns
    -------
    BayesianNetwork
        Its graph and tables, from which records can be drawn.

    Raises
    ------
    ValueError
        If there is no network of this name.

    References
    ----------
    Korb, K. B. & Nicholson, A. E. (2010). Bayesian Artificial Intelligence, 2nd
    edition (earthquake, cancer). Lauritzen, S. L. & Spiegelhalter, D. J. (1988).
    Local computations with probabilities on graphical structures, Journal of the
    Royal Statistical Society B 50 (asia). Scutari, M. & Denis, J.-B. (2014).
    Bayesian Networks: with Examples in R (survey).

    Examples
    --------
    >>> network = load_bayesian_network("cancer")
    >>> list(network.dag.edges)[:2]
    [('Pollution', 'Cancer'), ('Smoker', 'Cancer')]
    >>> network.schema["Xray"].levels
    ('positive', 'negative')
    """
    if name not in NETWORK_NAMES:
        raise ValueError(f"name must be one of {list(NETWORK_NAMES)}, got {name!r}.")
    path = files("skdp.datasets") / "data" / "bayesian_networks.json"
    network = json.loads(path.read_text(encoding="utf-8"))[name]
    nodes = network["nodes"]
    return BayesianNetwork(
        name=name,
        schema=Schema(tuple(_column(*node) for node in nodes.items())),
        parents={node: tuple(facts["parents"]) for node, facts in nodes.items()},
        conditional_probabilities={
            node: _table(facts["table"]) for node, facts in nodes.items()
        },
        reference=network["reference"],
    )


def _column(name: str, facts: Mapping[str, Any]) -> Categorical | Ordinal:
    kind = Ordinal if facts.get("ordered", False) else Categorical
    return kind(name, tuple(facts["levels"]))


def _table(values: list[Any]) -> NDArray[np.float64]:
    table = np.array(values, dtype=np.float64)
    table.setflags(write=False)
    return table


def _generator(random_state: RandomState) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)
