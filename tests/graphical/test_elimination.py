import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.exceptions import ModelTooLargeError
from skdp.graphical.domain import Domain
from skdp.graphical.elimination import (
    best_elimination,
    eliminate,
    work_with_each,
)
from skdp.graphical.junction_tree import junction_tree
from skdp.graphical.plan import make_plan
from skdp.graphical.size import check_table, check_work

ADULT = Domain(
    tuple("abcdefghijklmn"), (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
)


@st.composite
def clique_sets(draw, max_columns=7):
    n = draw(st.integers(1, max_columns))
    sizes = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    domain = Domain(tuple(f"v{i}" for i in range(n)), tuple(sizes))
    clique = st.lists(
        st.sampled_from(domain.names), min_size=1, max_size=3, unique=True
    )
    return domain, draw(st.lists(clique.map(tuple), min_size=1, max_size=9))


def random_pairs(n_pairs, seed):
    rng = np.random.default_rng(seed)
    names = ADULT.names
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    chosen = rng.choice(len(pairs), n_pairs, replace=False)
    return [(name,) for name in names] + [pairs[k] for k in chosen]


@given(clique_sets(max_columns=5))
@settings(max_examples=60, deadline=None)
def test_the_best_order_is_found_on_small_domains(case):
    # Not a theorem, but six greedy searches over at most 120 orders come close.
    domain, cliques = case
    found = best_elimination(domain, cliques)
    every = permutations(found.order)
    best = min(eliminate(domain, cliques, order).work for order in every)
    assert best <= found.work <= 1.5 * best


@given(clique_sets())
@settings(max_examples=100, deadline=None)
def test_junction_trees_have_the_running_intersection_property(case):
    domain, cliques = case
    tree = junction_tree(domain, cliques)
    sets = [set(clique) for clique in tree.cliques]
    for clique in cliques:
        assert any(set(clique) <= other for other in sets)
    for i, clique in enumerate(sets):
        assert not any(clique <= other for j, other in enumerate(sets) if i != j)
        parent = tree.parents[i]
        assert parent < i
        shared = clique & sets[parent] if parent >= 0 else set()
        assert set(tree.separators[i]) == shared
    for name in {name for clique in cliques for name in clique}:
        holding = [i for i, clique in enumerate(sets) if name in clique]
        assert sum(tree.parents[i] not in holding for i in holding) == 1
    assert tree.n_cells == sum(map(domain.n_cells, tree.cliques))


def test_kept_columns_are_not_eliminated():
    found = best_elimination(ADULT, [("a", "b"), ("b", "c")], keep=("b",))
    assert set(found.order) == {"a", "c"}


def test_orders_are_the_same_every_time():
    cliques = random_pairs(30, seed=0)
    assert best_elimination(ADULT, cliques) == best_elimination(ADULT, cliques)


def test_restarts_help_on_dense_graphs():
    work = [
        [
            best_elimination(ADULT, random_pairs(30, s), n_restarts=r).work
            for s in range(8)
        ]
        for r in (0, 90)
    ]
    assert all(b <= a for a, b in zip(*work, strict=True))
    assert math.prod(work[0]) > 1.2 * math.prod(work[1])


def test_a_model_of_66_gigabytes_is_refused_at_once():
    cliques = random_pairs(60, seed=5)
    with pytest.raises(ModelTooLargeError) as error:
        make_plan(ADULT, cliques)
    message = str(error.value)
    assert "GB" in message and "max_model_size" in message
    largest = max(best_elimination(ADULT, cliques).cliques, key=ADULT.n_cells)
    inside = [c for c in cliques if len(c) == 2 and set(c) <= set(largest)]
    assert inside
    assert all(f"('{c[0]}', '{c[1]}')" in message for c in inside[:3])


def test_a_grid_too_large_names_cliques():
    names = tuple(f"x{i}{j}" for i in range(6) for j in range(6))
    grid = Domain(names, (100,) * 36)
    down = [(f"x{i}{j}", f"x{i + 1}{j}") for i in range(5) for j in range(6)]
    right = [(f"x{j}{i}", f"x{j}{i + 1}") for i in range(5) for j in range(6)]
    with pytest.raises(ModelTooLargeError, match=r"together are \('x\d\d', 'x\d\d'\)"):
        make_plan(grid, down + right)


def test_a_table_that_holds_no_clique_names_those_that_touch_it():
    domain, cliques = Domain(("a", "b", "c", "d"), (9,) * 4), [("a", "c"), ("c", "d")]
    elimination = eliminate(domain, [("a", "b")], ("a", "b", "c", "d"))
    with pytest.raises(ModelTooLargeError, match=r"are \('a', 'c'\)\. Measure"):
        check_work(domain, cliques, elimination, 1)


def test_the_limit_can_be_moved():
    cliques = random_pairs(14, seed=0)
    work = make_plan(ADULT, cliques).work
    make_plan(ADULT, cliques, max_model_size=10 * work)
    with pytest.raises(ModelTooLargeError):
        make_plan(ADULT, cliques, max_model_size=work - 1)


def test_a_huge_measured_table_is_refused():
    with pytest.raises(ModelTooLargeError, match="may be stored"):
        check_table(ADULT, ("a", "c", "j", "k", "l"))
    with pytest.raises(ModelTooLargeError):
        make_plan(ADULT, [("a", "c", "j", "k")], max_model_size=5e8)


def test_a_hundred_columns_take_no_time():
    names = tuple(f"v{i}" for i in range(100))
    domain = Domain(names, (4,) * 100)
    chain = [(names[i], names[i + 1]) for i in range(99)]
    assert best_elimination(domain, chain).work == 99 * 16 + 4


@settings(max_examples=60)
@given(st.data())
def test_the_work_with_each_of_many_cliques_bounds_the_best(data):
    names = "abcdefgh"
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=8, max_size=8))
    domain = Domain(names, sizes)
    clique = st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)
    cliques = data.draw(st.lists(clique, max_size=6))
    additions = data.draw(st.lists(clique, min_size=1, max_size=5))
    found = work_with_each(domain, cliques, additions)
    for addition, work in zip(additions, found, strict=True):
        whole = [*cliques, addition]
        assert best_elimination(domain, whole).work <= work
        assert work >= domain.n_cells(addition)
        # Alone and in company the bound is the same.
        assert work_with_each(domain, cliques, [addition])[0] == work
