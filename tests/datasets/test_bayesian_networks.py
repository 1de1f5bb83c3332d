"""The embedded networks: their facts, and samples against the exact joint law."""

from __future__ import annotations

import json
import pickle
import sys
from itertools import combinations, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from skdp.datasets import NETWORK_NAMES, load_bayesian_network
from skdp.records import Categorical, Ordinal, Schema

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "bayesian_networks.json"
SIZES = {"earthquake": (5, 4), "cancer": (5, 4), "asia": (8, 8), "survey": (6, 6)}

every_network = pytest.mark.parametrize("name", NETWORK_NAMES)


def exact_joint(network):
    """Multiply the tables out, one configuration of all nodes at a time."""
    names = network.schema.names
    joint = np.zeros(network.schema.shape)
    for codes in product(*map(range, joint.shape)):
        at = dict(zip(names, codes, strict=True))
        joint[codes] = np.prod(
            [
                network.conditional_probabilities[node][
                    (*(at[parent] for parent in network.parents[node]), at[node])
                ]
                for node in names
            ]
        )
    return joint


def codes_of(network, sample):
    return np.column_stack(
        [
            np.argmax(values[:, None] == np.array(column.levels), axis=1)
            for column, values in zip(network.schema, sample.T, strict=True)
        ]
    )


@every_network
def test_graphs_and_tables_fit_together(name):
    network = load_bayesian_network(name)
    names = list(network.schema.names)
    assert network.name == name
    assert network.reference
    assert (len(names), network.dag.number_of_edges()) == SIZES[name]
    assert nx.is_directed_acyclic_graph(network.dag)
    assert list(network.dag) == list(network.skeleton) == names
    assert list(network.causal_graph) == names
    for position, node in enumerate(names):
        assert set(network.parents[node]) <= set(names[:position])
        table = network.conditional_probabilities[node]
        expected = [*network.parents[node], node]
        assert table.shape == network.schema.select(expected).shape
        assert np.all(table >= 0)
        np.testing.assert_allclose(table.sum(axis=-1), 1)


def test_true_cpdags():
    def arrows(name):
        graph = load_bayesian_network(name).causal_graph
        return {e for e in graph.edges if not graph.has_edge(*e[::-1])}

    # Every edge of earthquake and cancer follows from one v-structure.
    for name in ("earthquake", "cancer"):
        assert arrows(name) == set(load_bayesian_network(name).dag.edges)
    assert arrows("asia") == {
        ("tub", "either"),
        ("lung", "either"),
        ("either", "xray"),
        ("either", "dysp"),
        ("bronc", "dysp"),
    }


@every_network
def test_marginals_of_a_sample_are_those_of_the_joint(name):
    network = load_bayesian_network(name)
    n = 200_000
    joint = exact_joint(network)
    assert joint.sum() == pytest.approx(1)
    codes = codes_of(network, network.sample(n, random_state=0))
    for axes in combinations(range(joint.ndim), 3):
        others = tuple(set(range(joint.ndim)) - set(axes))
        expected = joint.sum(axis=others)
        counts = np.zeros(expected.shape)
        np.add.at(counts, tuple(codes[:, axes].T), 1)
        deviation = np.sqrt(n * expected * (1 - expected))
        assert np.all(np.abs(counts - n * expected) <= 5 * deviation + 1e-9)


def test_either_is_lung_or_tub():
    network = load_bayesian_network("asia")
    frame = dict(
        zip(network.schema.names, network.sample(10_000, random_state=1).T, strict=True)
    )
    either = (frame["lung"] == "yes") | (frame["tub"] == "yes")
    assert np.array_equal(frame["either"] == "yes", either)


@every_network
def test_array_sample(name):
    network = load_bayesian_network(name)
    sample = network.sample(50, random_state=3)
    assert sample.shape == (50, len(network.schema))
    assert sample.dtype.kind == "U"
    for column, values in zip(network.schema, sample.T, strict=True):
        assert set(values) <= set(column.levels)


@every_network
def test_frame_sample_declares_the_schema(name):
    pytest.importorskip("pandas")
    network = load_bayesian_network(name)
    frame = network.sample(3, random_state=3, as_frame=True)
    assert list(frame) == list(network.schema.names)
    for column in network.schema:
        dtype = frame[column.name].dtype
        assert tuple(dtype.categories) == column.levels
        assert dtype.ordered == column.ordered
    array = network.sample(3, random_state=3)
    assert np.array_equal(frame.to_numpy().astype(str), array)


@every_network
def test_schema_round_trips(name):
    schema = load_bayesian_network(name).schema
    assert Schema.from_json(schema.to_json()) == schema


def test_only_age_groups_are_ordered():
    columns = [c for name in NETWORK_NAMES for c in load_bayesian_network(name).schema]
    assert [c.name for c in columns if isinstance(c, Ordinal)] == ["A"]
    assert sum(isinstance(c, Categorical) for c in columns) == len(columns) - 1


def test_seeds_are_deterministic():
    network = load_bayesian_network("survey")
    seeds = {
        "int": lambda: 5,
        "Generator": lambda: np.random.default_rng(5),
        "RandomState": lambda: np.random.RandomState(5),
    }
    for make in seeds.values():
        first, again = (network.sample(100, random_state=make()) for _ in range(2))
        assert np.array_equal(first, again)
    assert np.array_equal(
        network.sample(100, random_state=5),
        network.sample(100, random_state=np.random.default_rng(5)),
    )
    shared = np.random.RandomState(5)
    first, then = (network.sample(100, random_state=shared) for _ in range(2))
    assert not np.array_equal(first, then)
    first, then = (network.sample(100) for _ in range(2))
    assert not np.array_equal(first, then)


def test_global_random_state_is_untouched():
    before = np.random.get_state()[1].copy()
    load_bayesian_network("asia").sample(10)
    assert np.array_equal(np.random.get_state()[1], before)


def test_network_survives_pickling_and_its_tables_are_read_only():
    network = load_bayesian_network("asia")
    copy = pickle.loads(pickle.dumps(network))
    assert np.array_equal(
        copy.sample(20, random_state=0), network.sample(20, random_state=0)
    )
    with pytest.raises(ValueError, match="read-only"):
        network.conditional_probabilities["asia"][0] = 1
    network.dag.remove_node("asia")
    assert "asia" in network.dag


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match="earthquake.*'alarm'"):
        load_bayesian_network("alarm")
    network = load_bayesian_network("asia")
    with pytest.raises(ValueError, match="n_samples"):
        network.sample(0)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        network.sample(2, as_frame=True)


@every_network
def test_facts_are_the_published_ones(name):
    if not PUBLISHED.exists():
        pytest.skip("the published tables are not beside the repository")
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert set(published) == set(NETWORK_NAMES)
    facts, network = published[name], load_bayesian_network(name)
    assert facts["nodes"] == list(network.schema.names)
    for node in facts["nodes"]:
        levels = {p: network.schema[p].levels for p in (node, *network.parents[node])}
        assert facts["states"][node] == list(levels[node])
        assert facts["parents"][node] == list(network.parents[node])
        table = network.conditional_probabilities[node]
        assert len(facts["cpt"][node]) == table[..., 0].size
        for row in facts["cpt"][node]:
            at = tuple(
                levels[parent].index(value)
                for parent, value in zip(
                    network.parents[node], row["given"], strict=True
                )
            )
            assert row["p"] == table[at].tolist()
