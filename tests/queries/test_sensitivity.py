"""One property for every query: no replaced record moves the answer past the bound.

The classes come from :func:`skdp.queries.all_queries`, so that a new one is tested the
day it is written: without a strategy in `STRATEGIES` its test fails. The records are
raw values, some of them outside the schema where the schema says where they go.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations, product
from math import inf

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.moment_queries import MOMENT_STRATEGIES, neighbours

from skdp.graphical import Domain, MarkovRandomField
from skdp.graphical.linear_queries import Kronecker
from skdp.queries import (
    AnswerGaps,
    Batch,
    DependenceEvidence,
    IndependenceMargins,
    Interactions,
    KendallDependence,
    LinearMarginal,
    Marginal,
    MarginalDistances,
    ModelDistances,
    MomentErrors,
    MomentQuery,
    NormalizedKendallDependence,
    PairInteractions,
    ParentInformation,
    ParentVariation,
    PublicFacts,
    QueryErrors,
    Question,
    SpearmanDependence,
    TotalVariationDependence,
    all_queries,
)
from skdp.records import Categorical, CountTable, Numeric, Ordinal, Schema

NORMS = (1, 2, inf)

# Schemas and records ----------------------------------------------------------


@st.composite
def columns(draw, name):
    """Draw a column together with the values that records may have in it."""
    size = draw(st.sampled_from((1, 2, 2, 3, 3, 4, 12)))
    missing = draw(st.booleans())
    kind = draw(st.sampled_from((Categorical, Ordinal, Numeric)))
    if kind is Numeric:
        values = [-7.5, *(np.arange(size) + 0.25).tolist(), size + 100.0]
        column = Numeric(name, 0, size, size, outside="clip", missing=missing)
    else:
        ways_out = ("refuse", "other") + (("clip",) if kind is Ordinal else ())
        outside = draw(st.sampled_from(ways_out))
        values = list(range(size)) + ([-3, size + 3] if outside != "refuse" else [])
        column = kind(name, range(size), outside=outside, missing=missing)
    return column, values + [None] * missing


@st.composite
def tables(draw, fewest=2):
    """Draw a schema and n - 1 records, sorted or not, with two ways to add one."""
    names = "abcde"[: draw(st.integers(fewest, 5))]
    drawn = [draw(columns(name)) for name in names]
    n = draw(st.integers(2, 12))
    filled = [draw(fill(values, n - 1)) for _, values in drawn]
    common = list(zip(*filled, strict=True))
    one = st.tuples(*(st.sampled_from(values) for _, values in drawn))
    schema = Schema([column for column, _ in drawn])
    return schema, common, draw(one), draw(one)


def fill(values, size):
    """Fill a column: anyhow, with one value, or upwards or downwards."""
    anyhow = st.binary(min_size=size, max_size=size).map(
        lambda places: [values[place % len(values)] for place in places]
    )
    rising = [values[i * len(values) // size] for i in range(size)]
    constant = st.sampled_from(values).map(lambda value: [value] * size)
    return st.one_of(anyhow, constant, st.just(rising), st.just(rising[::-1]))


def count(records, schema):
    """Count raw records by the schema."""
    cells = np.empty((len(records), len(schema)), dtype=object)
    cells[:] = records
    return CountTable.from_frame(cells, schema)


# Queries ----------------------------------------------------------------------


def marginals(names):
    """Draw a marginal, the empty one included."""
    return st.lists(st.sampled_from(names), unique=True).map(
        lambda chosen: Marginal(tuple(chosen))
    )


def dependence(kind):
    """Make a strategy of a score of two columns, given any of the others."""

    def strategy(names):
        return st.permutations(names).flatmap(
            lambda order: st.integers(2, len(names)).map(
                lambda stop: kind(order[0], order[1], tuple(order[2:stop]))
            )
        )

    return strategy


@st.composite
def matrices(draw, n_cells):
    """Draw a matrix: integers or not, of one sign or both, 0/1 merging levels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(("tri", "integers", "positive", "signed", "merge")))
    n_rows = draw(st.sampled_from((1, 1, 2, 3, 4)))
    if kind == "tri":
        return np.tri(n_cells)
    if kind == "merge":
        return (rng.integers(n_rows, size=n_cells) == np.arange(n_rows)[:, None]) * 1.0
    draws = {
        "integers": rng.integers(-3, 4, (n_rows, n_cells)),
        "positive": rng.random((n_rows, n_cells)),
        "signed": rng.normal(size=(n_rows, n_cells)),
    }
    return draws[kind] * 1.0


@st.composite
def linear_marginals(draw, schema):
    """Draw a linear query on one table, as one matrix or as a Kronecker product."""
    names = tuple(draw(st.permutations(schema.names)))[: draw(st.integers(1, 2))]
    sizes = [schema.n_levels(name) for name in names]
    if draw(st.booleans()):
        return LinearMarginal(names, Kronecker([draw(matrices(n)) for n in sizes]))
    matrix = draw(matrices(int(np.prod(sizes))))
    return LinearMarginal(names, sp.csr_array(matrix) if len(names) == 1 else matrix)


@st.composite
def distances(draw, schema):
    """Draw distances of marginals, merged or not, from tables of any total."""
    marginals, tables = [], []
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(schema.names))
        size = schema.n_levels(name)
        groups = rng.integers(2, size=size) == np.arange(2)[:, None]
        merged = draw(st.booleans())
        marginals.append(
            LinearMarginal(name, groups * 1.0) if merged else Marginal(name)
        )
        tables.append(5 * rng.normal(size=2 if merged else size))
    k = len(marginals)
    weights = draw(st.none() | st.just(rng.uniform(0.1, 3, k)))
    return MarginalDistances(marginals, tables, weights, rng.normal(size=k))


@st.composite
def gaps(draw, schema):
    """Draw gaps of queries of any kind, scaled or not, from any synthetic answers."""
    queries = draw(st.lists(linear_marginals(schema), min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    k = draw(st.integers(0, 5))
    answers = [k * rng.normal(size=query.query.shape[0]) for query in queries]
    if draw(st.booleans()):
        answers = [np.rint(answer) for answer in answers]
    weights = draw(st.none() | st.just(rng.uniform(0.1, 3, len(queries))))
    return AnswerGaps(queries, answers, k, weights)


@st.composite
def query_errors(draw, schema):
    """Draw errors of tables, queries and single rows against answers of any size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    facts = PublicFacts(3, schema)
    asked = draw(st.lists(marginals(schema.names), max_size=2))
    asked += draw(st.lists(linear_marginals(schema), min_size=1, max_size=2))
    answers = [5 * rng.normal(size=query.shape(facts)) for query in asked]
    weights = draw(st.sampled_from((None, rng.uniform(0.1, 9, size=len(asked)))))
    return QueryErrors(asked, answers, weights)


@st.composite
def model_distances(draw, schema):
    """Draw distances from a model of any total, with zeros, connected or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    domain, potentials = Domain.from_schema(schema), {}
    for _ in range(draw(st.integers(0, 4))):
        columns = tuple(rng.permutation(schema.names)[: rng.integers(1, 4)].tolist())
        table = rng.choice([1, 30]) * rng.normal(size=domain.shape(columns))
        table[rng.random(table.shape) < 0.1] = -np.inf
        table.flat[0] = 0.0  # the record of first levels stays possible
        potentials[columns] = table
    model = MarkovRandomField(domain, potentials, rng.choice([0.5, 10, 1000]))
    chosen = st.lists(st.sampled_from(schema.names), min_size=1, unique=True)
    asked = draw(st.lists(chosen, min_size=1, max_size=4))
    weights = draw(st.none() | st.just(rng.uniform(0.1, 3, len(asked))))
    return ModelDistances(asked, model, weights, rng.normal(size=len(asked)))


def batches(names):
    """Draw a batch of the other queries, possibly of one twice."""
    by_names = STRATEGIES.keys() - {Batch, *BY_SCHEMA}
    parts = st.one_of(*(s(names) for kind, s in STRATEGIES.items() if kind in by_names))
    return st.lists(parts, min_size=1, max_size=4).map(Batch)


def interactions(names):
    """Draw the interactions of two or more columns."""
    return st.lists(st.sampled_from(names), min_size=2, unique=True).map(
        lambda chosen: Interactions(tuple(chosen))
    )


def pair_interactions(names):
    """Draw pairs of columns, each in either order."""
    pairs = list(permutations(names, 2))
    return st.lists(st.sampled_from(pairs), min_size=1, unique_by=frozenset).map(
        lambda chosen: PairInteractions(tuple(chosen))
    )


def parents(kind):
    """Make a strategy of candidates: columns with none, some or all others."""

    def strategy(names):
        candidate = st.permutations(names).flatmap(
            lambda order: st.integers(0, len(names) - 1).map(
                lambda stop: (order[0], tuple(order[1 : 1 + stop]))
            )
        )
        return st.lists(candidate, min_size=1, max_size=4).map(kind)

    return strategy


def margins(names):
    """Draw edges, each with some questions of any score."""
    kinds = (KendallDependence, TotalVariationDependence, SpearmanDependence)
    score = st.one_of(*(dependence(kind)(names) for kind in kinds))
    question = st.builds(Question, score, st.floats(-3, 3))
    edge = st.lists(question, min_size=1, max_size=3)
    return st.lists(edge, min_size=1, max_size=3).map(IndependenceMargins)


def evidence(names):
    """Draw a test of two columns, given any of the others."""
    scores = dependence(DependenceEvidence)(names)
    return scores.flatmap(
        lambda q: st.sampled_from(("chi2", "g2")).map(lambda t: replace(q, test=t))
    )


STRATEGIES = {
    AnswerGaps: gaps,
    Batch: batches,
    DependenceEvidence: evidence,
    IndependenceMargins: margins,
    Interactions: interactions,
    KendallDependence: dependence(KendallDependence),
    LinearMarginal: linear_marginals,
    Marginal: marginals,
    MarginalDistances: distances,
    ModelDistances: model_distances,
    NormalizedKendallDependence: dependence(NormalizedKendallDependence),
    PairInteractions: pair_interactions,
    QueryErrors: query_errors,
    ParentInformation: parents(ParentInformation),
    ParentVariation: parents(ParentVariation),
    SpearmanDependence: dependence(SpearmanDependence),
    TotalVariationDependence: dependence(TotalVariationDependence),
}


# These need to know the levels.
BY_SCHEMA = (AnswerGaps, LinearMarginal, MarginalDistances, ModelDistances, QueryErrors)


def instances(kind, schema):
    """Return the strategy of a class, or fail: it has to be tested."""
    if kind not in STRATEGIES:
        pytest.fail(f"{kind.__name__} has no strategy in STRATEGIES: add one.")
    return STRATEGIES[kind](schema if kind in BY_SCHEMA else list(schema.names))


# Exact answers ----------------------------------------------------------------


def sign(a, b):
    return (a > b) - (a < b)


def exact_terms(kind, pairs):
    """Return the stratum's part of the score, and its weight, by a double loop."""
    m = len(pairs)
    if kind is TotalVariationDependence:
        counts, xs, ys = (Counter(seen) for seen in (pairs, *zip(*pairs, strict=True)))
        cells = product(xs, ys)
        off = (abs(counts[a, b] - Fraction(xs[a] * ys[b], m)) for a, b in cells)
        return sum(off, Fraction(0)) / 4, Fraction(0)
    if kind is SpearmanDependence:
        ranks = [
            [sum(sign(one[axis], other[axis]) for other in pairs) for one in pairs]
            for axis in (0, 1)
        ]
        moment = sum(a * b for a, b in zip(*ranks, strict=True))
        return Fraction(3 * moment, m * (m + 1)), Fraction(0)
    s = sum(
        sign(pairs[i][0], pairs[j][0]) * sign(pairs[i][1], pairs[j][1])
        for i in range(m)
        for j in range(i)
    )
    if kind is KendallDependence:
        return Fraction(3 * s, m), Fraction(0)
    return Fraction(9 * s, 2 * m + 5), Fraction(9 * m * (m - 1), 2 * (2 * m + 5))


def exact_score(query, codes, schema):
    """Evaluate a dependence score from records, to 50 digits."""
    places = [schema.names.index(name) for name in query.columns]
    strata = {}
    for x, y, *stratum in codes[:, places].tolist():
        strata.setdefault(tuple(stratum), []).append((x, y))
    terms = [exact_terms(type(query), pairs) for pairs in strata.values()]
    total, weight = (sum(column, Fraction(0)) for column in zip(*terms, strict=True))
    if not isinstance(query, NormalizedKendallDependence):
        weight = Fraction(len(codes))
    with localcontext() as context:
        context.prec = 50
        root = as_decimal(weight).sqrt()
        return as_decimal(abs(total)) / root if root else Decimal(0)


def as_decimal(fraction):
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)


def expand(records):
    """Return the codes of all records of a count table."""
    return np.repeat(records.rows, records.counts, axis=0)


# The property -----------------------------------------------------------------

QUERIES = [pytest.param(kind, id=name) for name, kind in all_queries()]


def assert_within_bounds(query, before, after):
    """Compare the answers of two neighbouring tables with all that is claimed."""
    public = PublicFacts(before.n_records, before.schema)
    query.check(public)
    answer = query.evaluate(before)
    difference = np.ravel(query.evaluate(after) - answer) * query.unit

    assert answer.shape == query.shape(public)
    np.testing.assert_array_equal(answer, query.evaluate(before))  # deterministic
    n_affected = query.n_affected(public)
    assert np.count_nonzero(difference) <= n_affected
    bounds = {ord: query.sensitivity(public, ord) for ord in NORMS}
    error = 2 * query.evaluation_error(public)
    for ord, bound in bounds.items():
        slack = error * n_affected ** (1 / ord) + 1e-15 * bound
        assert np.linalg.norm(difference, ord) <= bound + slack
    assert bounds[inf] <= bounds[2] * (1 + 1e-15) <= bounds[1] * (1 + 2e-15)
    if query.integral:
        assert answer.dtype == np.int64
        assert error == 0


@pytest.mark.parametrize("kind", QUERIES)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_replaced_record_exceeds_the_bound(kind, data):
    if issubclass(kind, MomentQuery):
        d, before, after = data.draw(neighbours())
        assume(d > 1 or kind is not MomentErrors)
        query = data.draw(MOMENT_STRATEGIES[kind](d))
        assert_within_bounds(query, before, after)
        return
    fewest = 1 if kind is Marginal else 2
    schema, common, left, right = data.draw(tables(fewest))
    query = data.draw(instances(kind, schema))
    before, after = (count([*common, one], schema) for one in (left, right))
    assert_within_bounds(query, before, after)


@pytest.mark.parametrize(
    "kind",
    [
        KendallDependence,
        NormalizedKendallDependence,
        SpearmanDependence,
        TotalVariationDependence,
    ],
)
@settings(max_examples=100)
@given(table=tables(), data=st.data())
def test_scores_lie_within_their_evaluation_error(kind, table, data):
    schema, common, left, _ = table
    query = data.draw(STRATEGIES[kind](list(schema.names)))
    records = count([*common, left], schema)
    error = query.evaluation_error(PublicFacts(records.n_records, schema))

    score = Decimal(float(query.evaluate(records)))

    assert abs(score - exact_score(query, expand(records), schema)) <= error
    assert error < 1e-12


# The checker itself -----------------------------------------------------------


def test_every_query_class_has_a_strategy():
    assert {kind for _, kind in all_queries()} <= {*STRATEGIES, *MOMENT_STRATEGIES}


def test_a_class_without_a_strategy_fails():
    class Untested(Marginal):
        """A new query whose author forgot to say how it is tested."""

    with pytest.raises(pytest.fail.Exception, match="Untested has no strategy"):
        instances(Untested, Schema([Numeric("a", 0, 1)]))


def test_too_small_a_claim_is_found():
    class Careless(Marginal):
        """A marginal that claims the sensitivity of adding a record."""

        def sensitivity(self, public, ord=1):
            return 1.0

    schema = Schema([Ordinal("a", range(2))])
    before, after = (count([(0,), (one,)], schema) for one in (0, 1))
    assert_within_bounds(Marginal("a"), before, after)
    with pytest.raises(AssertionError):
        assert_within_bounds(Careless("a"), before, after)
