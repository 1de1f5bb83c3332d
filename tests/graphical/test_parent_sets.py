"""Maximal parent sets against all subsets, and bounds on their number."""

from itertools import chain, combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.graphical import Domain
from skdp.graphical.parent_sets import maximal_parent_sets, parent_candidates


def literal(sizes, max_cells, max_parents):
    """List the sets that fit and that no larger set that fits contains."""
    everything = range(len(sizes))
    subsets = chain.from_iterable(
        combinations(everything, k) for k in range(max_parents + 1)
    )
    fit = [s for s in subsets if prod(sizes[i] for i in s) <= max_cells]
    return {s for s in fit if not any(set(s) < set(other) for other in fit)}


@settings(max_examples=150)
@given(
    sizes=st.lists(st.integers(2, 12), max_size=7),
    max_cells=st.integers(0, 300),
    max_parents=st.integers(0, 7),
)
def test_the_sets_are_the_maximal_ones(sizes, max_cells, max_parents):
    found = maximal_parent_sets(sizes, max_cells, max_parents, 10**6)
    assert len(set(found)) == len(found)
    assert set(found) == literal(sizes, max_cells, max_parents)
    for limit in (len(found) - 1, len(found)):
        limited = maximal_parent_sets(sizes, max_cells, max_parents, limit)
        if limit > 0 and sizes:
            assert limited == (found if limit == len(found) else None)


def test_with_too_many_candidates_there_are_fewer_parents():
    names = [f"v{i}" for i in range(40)]
    domain = Domain(names, [2] * 40)
    found = parent_candidates(domain, names[:30], names[30:], 2**9, 99, 5000)
    assert len(found) == 10 * 30 * 29 // 2  # pairs; 10 C(30, 3) would be 40 600
    assert {len(parents) for _, parents in found} == {2}
    single = parent_candidates(domain, names[:30], names[30:], 2**9, 99, 10)
    assert len(single) == 10 * 30  # a single parent is always allowed
    assert parent_candidates(domain, names[:30], names[30:], 1, 99, 10) == [
        (name, ()) for name in names[30:]
    ]
    none = parent_candidates(domain, names[:30], names[30:], 2**9, 0, 10)
    assert none == [(name, ()) for name in names[30:]]


@pytest.mark.parametrize("max_cells", [4, 30, 400])
def test_tables_are_useful_and_parents_chosen(max_cells):
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 9, 9)
    domain = Domain("abcdefghi", sizes)
    found = parent_candidates(domain, "ihgf", "abcde", max_cells, 3, 10**6)
    for child in "abcde":
        mine = {parents for c, parents in found if c == child}
        room = max_cells // domain.size(child)
        expected = literal(domain.shape("ihgf"), room, 3) or {()}
        assert mine == {tuple("ihgf"[i] for i in s) for s in expected}
