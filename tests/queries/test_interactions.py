"""Interactions: what the answers hold, and their sensitivity over all records."""

from __future__ import annotations

from itertools import combinations, product
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.queries import Interactions, PairInteractions, PublicFacts
from skdp.queries.interactions import STEPS_PER_UNIT
from skdp.records import CountTable, Ordinal, Schema
from skdp.stats.simplex_codes import main_effect_weight, simplex_code

SCHEMAS = [
    (2, 2), (2, 3), (3, 4), (2, 2, 2), (3, 3, 3), (2, 3, 4), (2, 2, 5), (1, 3, 2),
    (2, 2, 2, 2), (2, 2, 3, 3), (4, 3, 2, 2), (2, 2, 2, 2, 2), (3, 3, 3, 2, 2),
]  # fmt: skip


def schema_of(levels):
    names = "abcdefghijkl"
    return Schema([Ordinal(v, range(r)) for v, r in zip(names, levels, strict=False)])


def every_record(levels):
    return np.array(list(product(*map(range, levels))))


def answers_of(query, levels, rows):
    """Return what each record adds; the answer is a sum over records."""
    schema = schema_of(levels)
    one = np.array([1])
    return np.array(
        [query.evaluate(CountTable(schema, row[None], one)) for row in rows]
    )


def largest_change(answers, ord=2):
    if ord == 2:
        # Large integers: differences first, as their squares are exact below 2^53.
        return max(
            sqrt(((answers - one).astype(float) ** 2).sum(axis=1).max())
            for one in answers
        )
    return max(np.linalg.norm(answers - one, ord, axis=1).max() for one in answers)


def literal(records, names, pairs, weight):
    """Add the exact codes up, one record after the other."""
    codes = {
        name: simplex_code(records.schema.n_levels(name))[records.rows[:, i]]
        for i, name in enumerate(records.schema.names)
    }
    n = records.counts[:, None]
    sums = [weight * (n * codes[name]).sum(axis=0) for name in names]
    sums += [((n * codes[x]).T @ codes[y]).ravel() for x, y in pairs]
    return np.concatenate(sums) * STEPS_PER_UNIT


# What the answers hold ---------------------------------------------------------------


@pytest.fixture
def records():
    levels = (2, 3, 1, 4)
    codes = np.random.default_rng(0).integers(0, levels, (500, 4))
    return CountTable.from_codes(codes, schema_of(levels))


@pytest.mark.parametrize("names", ["abcd", "db", "cab", "ac"])
def test_main_effects_come_first_then_every_pair(records, names):
    query = Interactions(tuple(names))
    public = PublicFacts(500, records.schema)
    answer = query.evaluate(records)
    pairs = tuple(combinations(names, 2))
    assert query.pairs == pairs
    weight = main_effect_weight(len(names))
    expected = literal(records, names, pairs, weight)
    assert answer.dtype == np.int64
    assert answer.shape == expected.shape == query.shape(public)
    assert abs(answer - expected).max() <= 500 * (0.5 + 1e-6)


def test_chosen_pairs_come_in_their_order(records):
    query = PairInteractions((("d", "b"), ("a", "c"), ("a", "d")))
    answer = query.evaluate(records)
    expected = literal(records, (), query.pairs, 0.0)
    assert query.columns == ("d", "b", "a", "c")
    assert answer.shape == query.shape(PublicFacts(500, records.schema)) == (9,)
    assert abs(answer - expected).max() <= 500 * (0.5 + 1e-6)


def test_variables_of_two_levels_are_exact(records):
    (answer,) = PairInteractions((("a", "b"),)).evaluate(
        CountTable.from_codes(np.array([[0, 1]] * 7 + [[1, 1]] * 4), schema_of((2, 2)))
    )
    assert answer == -3 * STEPS_PER_UNIT


def test_a_column_of_one_level_adds_nothing():
    schema = schema_of((1, 2, 1))
    records = CountTable.from_codes(np.array([[0, 1, 0], [0, 0, 0]]), schema)
    public = PublicFacts(2, schema)
    nothing = PairInteractions((("a", "b"), ("c", "a")))
    assert nothing.evaluate(records).shape == nothing.shape(public) == (0,)
    assert nothing.sensitivity(public, 2) == 0.0
    assert Interactions("ac").sensitivity(public, 2) == 0.0
    assert Interactions("ab").shape(public) == (1,)


def test_what_makes_no_sense_is_refused():
    for names in ((), ("a",), ("a", "a"), ("a", "b", "a")):
        with pytest.raises(ValueError, match="two or more"):
            Interactions(names)
    for pairs in ((), (("a", "b"), ("b", "a")), (("a", "b"), ("a", "b"))):
        with pytest.raises(ValueError, match="at least one pair"):
            PairInteractions(pairs)
    with pytest.raises(ValueError, match="two columns"):
        PairInteractions((("a", "a"),))
    public = PublicFacts(5, schema_of((2, 2)))
    for query in (Interactions("ab"), PairInteractions((("a", "b"),))):
        with pytest.raises(ValueError, match="ord must be"):
            query.sensitivity(public, 3)


# Sensitivities -----------------------------------------------------------------------


@pytest.mark.parametrize("levels", SCHEMAS, ids=str)
def test_all_pairs_of_records_attain_the_bound_and_none_exceeds_it(levels):
    schema = schema_of(levels)
    query, public = Interactions(schema.names), PublicFacts(10, schema)
    answers = answers_of(query, levels, every_record(levels))
    observed, bound = largest_change(answers), query.sensitivity(public, 2)
    assert observed <= bound
    # Variables of one level count in the weight of the main effects only.
    assert observed == pytest.approx(bound, rel=1e-5)
    assert largest_change(answers, 1) <= query.sensitivity(public, 1)
    assert largest_change(answers, inf) <= query.sensitivity(public, inf)


@pytest.mark.parametrize("levels", SCHEMAS, ids=str)
def test_the_bound_for_chosen_pairs_is_valid_and_nearly_tight(levels):
    schema, rows = schema_of(levels), every_record(levels)
    public = PublicFacts(10, schema)
    varying = [v for v in schema.names if schema.n_levels(v) > 1]
    every_pair = list(combinations(varying, 2))
    rng = np.random.default_rng(1)
    for _ in range(8):
        size = rng.integers(1, len(every_pair) + 1)
        chosen = rng.choice(len(every_pair), size, replace=False)
        query = PairInteractions(tuple(every_pair[i] for i in chosen))
        answers = np.unique(answers_of(query, levels, rows), axis=0)
        observed, bound = largest_change(answers), query.sensitivity(public, 2)
        assert observed <= bound <= 1.15 * observed, query
        assert largest_change(answers, 1) <= query.sensitivity(public, 1)


def squared_change(pairs, s):
    return sum(2 - 2 * s[x] * s[y] for x, y in pairs)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_no_pair_of_records_exceeds_the_bound_on_larger_schemas(data):
    sizes = st.sampled_from((1, 2, 2, 2, 3, 3, 4, 6))
    levels = data.draw(st.lists(sizes, min_size=2, max_size=12))
    schema = schema_of(levels)
    public = PublicFacts(10, schema)
    every_pair = list(combinations(schema.names, 2))
    pairs = st.lists(st.sampled_from(every_pair), min_size=1, unique=True)
    queries = [Interactions(schema.names), PairInteractions(tuple(data.draw(pairs)))]
    record = st.tuples(*(st.integers(0, r - 1) for r in levels))
    rows = np.array([data.draw(record), data.draw(record)])
    for query in queries:
        before, after = answers_of(query, levels, rows)
        assert np.linalg.norm(after - before) <= query.sensitivity(public, 2)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_flipping_greedily_comes_near_the_bounds_of_larger_schemas(data):
    levels = data.draw(
        st.lists(st.sampled_from((2, 2, 3, 4, 6)), min_size=3, max_size=10)
    )
    schema = schema_of(levels)
    public, names = PublicFacts(10, schema), schema.names
    pairs = data.draw(
        st.lists(st.sampled_from(list(combinations(names, 2))), min_size=1, unique=True)
    )
    flipped = dict(zip(names, (-1 / (r - 1) for r in levels), strict=True))
    best = 0.0
    for start in range(3):
        coins = np.random.default_rng(start).random(len(names))
        s = {v: flipped[v] if coin < 0.5 else 1.0
             for v, coin in zip(names, coins, strict=True)}  # fmt: skip
        now, before = squared_change(pairs, s), -1.0
        while now > before:
            before = now
            for v in names:
                other = {**s, v: flipped[v] if s[v] == 1 else 1.0}
                if squared_change(pairs, other) > squared_change(pairs, s):
                    s = other
            now = squared_change(pairs, s)
        best = max(best, now)
    bound = PairInteractions(tuple(pairs)).sensitivity(public, 2) / STEPS_PER_UNIT
    assert sqrt(best) <= bound <= 1.2 * sqrt(best)
