"""How close a learned graph is to the true one.

Skeleton scores ask which pairs of nodes are connected and drop directions; the
structural Hamming distance compares partially directed graphs, in which an
undirected edge is a pair of opposite arrows (Tsamardinos, Brown & Aliferis 2006).
"""

from __future__ import annotations

from itertools import combinations

import networkx as nx

__all__ = [
    "directed_f1_score",
    "skeleton_f1_score",
    "skeleton_precision_score",
    "skeleton_recall_score",
    "structural_hamming_distance",
]

Edges = set[frozenset[object]]


def skeleton_precision_score(true: nx.Graph, learned: nx.Graph) -> float:
    """Return the share of the learned edges that are true.

    Parameters
    ----------
    true, learned : networkx.Graph or networkx.DiGraph
        Graphs over the same nodes; directions are dropped.

    Returns
    -------
    float
        In [0, 1]; 1 if neither graph has an edge, 0 if only `learned` has none.

    Raises
    ------
    TypeError
        If one of them is not a networkx graph.
    ValueError
        If the graphs have different nodes.

    Examples
    --------
    >>> true = nx.Graph([("a", "b"), ("b", "c")])
    >>> learned = nx.Graph([("a", "b"), ("a", "c"), ("b", "c")])
    >>> round(skeleton_precision_score(true, learned), 3)
    0.667
    """
    true_edges, learned_edges = _skeletons(true, learned)
    return _share_in(learned_edges, true_edges)


def skeleton_recall_score(true: nx.Graph, learned: nx.Graph) -> float:
    """Return the share of the true edges that were learned.

    Parameters
    ----------
    true, learned : networkx.Graph or networkx.DiGraph
        Graphs over the same nodes; directions are dropped.

    Returns
    -------
    float
        In [0, 1]; 1 if neither graph has an edge, 0 if only `true` has none.

    Raises
    ------
    TypeError
        If one of them is not a networkx graph.
    ValueError
        If the graphs have different nodes.

    Examples
    --------
    >>> true = nx.Graph([("a", "b"), ("b", "c")])
    >>> learned = nx.Graph([("a", "b"), ("a", "c"), ("b", "c")])
    >>> skeleton_recall_score(true, learned)
    1.0
    """
    true_edges, learned_edges = _skeletons(true, learned)
    return _share_in(true_edges, learned_edges)


def skeleton_f1_score(true: nx.Graph, learned: nx.Graph) -> float:
    """Return the harmonic mean of skeleton precision and recall.

    Parameters
    ----------
    true, learned : networkx.Graph or networkx.DiGraph
        Graphs over the same nodes; directions are dropped.

    Returns
    -------
    float
        In [0, 1]; 1 if neither graph has an edge, 0 if only one has none.

    Raises
    ------
    TypeError
        If one of them is not a networkx graph.
    ValueError
        If the graphs have different nodes.

    Examples
    --------
    >>> true = nx.Graph([("a", "b"), ("b", "c")])
    >>> learned = nx.Graph([("a", "b"), ("a", "c"), ("b", "c")])
    >>> skeleton_f1_score(true, learned)
    0.8
    """
    true_edges, learned_edges = _skeletons(true, learned)
    n_edges = len(true_edges) + len(learned_edges)
    return 2 * len(true_edges & learned_edges) / n_edges if n_edges else 1.0


def directed_f1_score(true: nx.Graph, learned: nx.Graph) -> float:
    """Return the harmonic mean of precision and recall of the arrows.

    An edge between the right nodes that has another direction than the true one, or
    none where the true one has one, is half right or wrong.

    Parameters
    ----------
    true, learned : networkx.DiGraph
        Graphs over the same nodes, an undirected edge as both arrows: two CPDAGs, as a
        rule. A networkx.Graph counts as wholly undirected.

    Returns
    -------
    float
        In [0, 1]; 1 if neither graph has an edge, 0 if only one has none.

    Raises
    ------
    TypeError
        If one of them is not a networkx graph.
    ValueError
        If the graphs have different nodes.

    Examples
    --------
    >>> true = nx.DiGraph([("a", "b"), ("c", "b")])
    >>> learned = nx.DiGraph([("a", "b"), ("b", "c")])
    >>> directed_f1_score(true, learned)
    0.5
    """
    _check_same_nodes(true, learned)
    true_arrows, learned_arrows = (
        set(nx.DiGraph(graph).edges) for graph in (true, learned)
    )
    n_arrows = len(true_arrows) + len(learned_arrows)
    return 2 * len(true_arrows & learned_arrows) / n_arrows if n_arrows else 1.0


def structural_hamming_distance(true: nx.Graph, learned: nx.Graph) -> int:
    """Count the pairs of nodes that two partially directed graphs connect differently.

    A pair is unconnected, connected without direction, or connected in one of
    two directions. Compare two CPDAGs (or two DAGs): a DAG differs from its own
    CPDAG by every edge whose direction data cannot tell.

    Parameters
    ----------
    true, learned : networkx.DiGraph
        Graphs over the same nodes, an undirected edge as both arrows. A
        networkx.Graph counts as wholly undirected.

    Returns
    -------
    int
        At least 0, at most the number of pairs of nodes.

    Raises
    ------
    TypeError
        If one of them is not a networkx graph.
    ValueError
        If the graphs have different nodes.

    References
    ----------
    Tsamardinos, I., Brown, L. E. & Aliferis, C. F. (2006). The max-min
    hill-climbing Bayesian network structure learning algorithm. Machine
    Learning 65.

    Examples
    --------
    >>> true = nx.DiGraph([("a", "b"), ("c", "b")])
    >>> learned = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "b")])
    >>> structural_hamming_distance(true, learned)
    1
    """
    _check_same_nodes(true, learned)
    return sum(
        true.has_edge(x, y) != learned.has_edge(x, y)
        or true.has_edge(y, x) != learned.has_edge(y, x)
        for x, y in combinations(true, 2)
    )


def _share_in(edges: Edges, reference: Edges) -> float:
    """Return the share of the edges that are also edges of the reference."""
    if not edges:
        return float(not reference)
    return len(edges & reference) / len(edges)


def _skeletons(true: nx.Graph, learned: nx.Graph) -> tuple[Edges, Edges]:
    """Return the edges of both graphs as sets of unordered pairs."""
    _check_same_nodes(true, learned)
    return (
        {frozenset((x, y)) for x, y in true.edges()},
        {frozenset((x, y)) for x, y in learned.edges()},
    )


def _check_same_nodes(true: nx.Graph, learned: nx.Graph) -> None:
    for name, graph in (("true", true), ("learned", learned)):
        if not isinstance(graph, nx.Graph):
            raise TypeError(
                f"{name} must be a networkx graph, got {type(graph).__name__}; "
                "of a fitted estimator pass skeleton_ or causal_graph_."
            )
    if set(true) != set(learned):
        raise ValueError(
            "The graphs must have the same nodes; "
            f"only in true: {sorted(set(true) - set(learned), key=str)}, "
            f"only in learned: {sorted(set(learned) - set(true), key=str)}."
        )
