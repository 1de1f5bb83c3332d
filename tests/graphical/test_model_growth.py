"""Sizes of models with one more marginal, against a plain elimination."""

from __future__ import annotations

from itertools import combinations
from math import log, log1p, prod

import numpy as np
import pytest

import skdp.graphical.model_growth
from skdp.graphical import Domain
from skdp.graphical.model_growth import ModelGrowth, tree_cliques


def plain_tree(domain, cliques):
    """Eliminate by weighted min-fill with sets, and keep the maximal cliques."""
    near = {name: set() for name in domain.names}
    for a, b in (pair for c in cliques for pair in combinations(c, 2)):
        near[a].add(b)
        near[b].add(a)
    found = []
    while near:

        def score(name):
            joined = (p for p in combinations(near[name], 2) if p[1] not in near[p[0]])
            fill = sum(domain.n_cells(pair) for pair in joined)
            return log1p(fill) + 1e-9 * log(domain.n_cells({name, *near[name]}))

        name = min(near, key=lambda name: round(score(name), 13))
        neighbours = near.pop(name)
        found.append(frozenset({name, *neighbours}))
        for other in neighbours:
            near[other] |= neighbours
            near[other] -= {name, other}
    return {c for c in found if not any(c < other for other in found)}


def plain_admissible(domain, measured, candidates, limit):
    """Return the candidates inside a clique, or with a small enough tree."""
    inside = plain_tree(domain, measured)
    return [
        k
        for k, candidate in enumerate(candidates)
        if any(clique.issuperset(candidate) for clique in inside)
        or sum(
            prod(map(domain.size, clique))
            for clique in plain_tree(domain, [*measured, candidate])
        )
        <= limit
    ]


def drawn(seed):
    rng = np.random.default_rng(seed)
    # Sizes without ties: any order of equal scores would do.
    names, sizes = tuple("abcdefg"), rng.permutation([2, 3, 5, 7, 11, 13, 17])
    domain = Domain(names, tuple(sizes))
    pairs = list(combinations(names, 2))
    measured = [pairs[i] for i in rng.choice(len(pairs), rng.integers(0, 9))]
    return rng, domain, measured


@pytest.mark.parametrize("seed", range(15))
def test_cliques_are_those_of_a_plain_elimination(seed):
    _, domain, measured = drawn(seed)
    graph = np.zeros((7, 7), dtype=bool)
    for a, b in measured:
        i, j = domain.axis(a), domain.axis(b)
        graph[i, j] = graph[j, i] = True
    (found,) = tree_cliques(np.array([domain.sizes], dtype=float), graph[None])
    names = np.array(domain.names)
    expected = plain_tree(domain, measured)
    assert {frozenset(names[row].tolist()) for row in found} == expected
    assert len(found) == len(expected)


def test_candidates_are_those_that_a_plain_elimination_admits(monkeypatch):
    monkeypatch.setattr(skdp.graphical.model_growth, "_BATCH", 300)  # several batches
    for seed in range(6):
        rng, domain, measured = drawn(seed)
        candidates = [c for k in (1, 2, 3) for c in combinations(domain.names, k)]
        growth = ModelGrowth(domain, candidates)
        for limit in (50, 400, 2000, 400):
            expected = plain_admissible(domain, measured, candidates, limit)
            assert growth.admissible(measured, limit) == expected
            measured.append(candidates[rng.choice(expected)])


def test_a_measured_marginal_that_changes_no_clique_costs_nothing(monkeypatch):
    _, domain, measured = drawn(0)
    candidates = [c for k in (1, 2, 3) for c in combinations(domain.names, k)]
    growth = ModelGrowth(domain, candidates)
    first = growth.admissible(measured, 2000)
    eliminated = []
    monkeypatch.setattr(
        skdp.graphical.model_growth, "tree_cliques", lambda *a: eliminated.append(a)
    )
    again = growth.admissible([*measured, measured[0], ("a",)], 2000)
    assert again == first
    assert set(growth.admissible(measured, 100)) <= set(first)
    assert not eliminated
