"""Every pair of neighbouring record sets of a few records over small tables.

Two sets that differ in one record share a table of n - 1 records. So all such tables
are made, a record is added in every cell, and the answers are compared.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, inf

import numpy as np
import pytest

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
from skdp.queries.dependence import kendall_weights
from skdp.records import CountTable, Ordinal, Schema
from skdp.stats import concordance

CHUNK = 1 << 20  # cells of the tables that are evaluated at once

# Number of strata, levels, and the largest number of records.
SHAPES = [
    (1, 2, 2, 12),
    (1, 2, 3, 8),
    (1, 3, 3, 7),
    (1, 4, 4, 5),
    (2, 2, 2, 8),
    (2, 2, 3, 6),
    (2, 3, 3, 5),
    (3, 2, 2, 6),
    (3, 2, 3, 5),
    (3, 3, 3, 4),
]
LARGER_SHAPES = [
    (1, 3, 3, 9),
    (1, 5, 5, 5),
    (2, 2, 2, 12),
    (2, 3, 3, 6),
    (2, 4, 4, 4),
    (3, 2, 2, 8),
    (3, 2, 3, 6),
    (3, 3, 3, 5),
    (4, 2, 2, 6),
]
ALL_SHAPES = SHAPES + [pytest.param(s, marks=pytest.mark.slow) for s in LARGER_SHAPES]


def count_tables(n, n_cells):
    """Return every way to put n records into the cells, shape (n_tables, n_cells)."""
    n_tables = comb(n + n_cells - 1, n)
    bars = np.array(list(combinations(range(n + n_cells - 1), n_cells - 1)), dtype=int)
    bars = bars.reshape(n_tables, n_cells - 1)
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, 0)))
    edges[:, -1] = n + n_cells - 1
    return np.diff(edges, axis=1) - 1


# Scores of many sets at once: shape (n_sets, n_strata, r, c) -> (n_sets,) -----


def pairs_and_sizes(tables):
    """Return S and n of each stratum of each set, shape (n_sets, n_strata) each."""
    flat = tables.reshape(-1, *tables.shape[2:])
    return concordance(flat).reshape(tables.shape[:2]), tables.sum(axis=(2, 3))


def kendall(tables, n):
    s, sizes = pairs_and_sizes(tables)
    return 3 * abs((s / np.maximum(sizes, 1)).sum(axis=1)) / np.sqrt(n)


def kendall_normalized(tables, n):
    s, sizes = pairs_and_sizes(tables)
    weight = kendall_weights(sizes).sum(axis=1)
    total = abs((9 * s / (2 * sizes + 5)).sum(axis=1))
    return total / np.sqrt(np.where(weight > 0, weight, 1))


def spearman(tables, n):
    sizes = tables.sum(axis=(2, 3))
    x, y = (signed_ranks(tables.sum(axis=axis)) for axis in (3, 2))
    moments = (tables * x[..., :, None] * y[..., None, :]).sum(axis=(2, 3))
    terms = 3 * moments / np.maximum(sizes * (sizes + 1), 1)
    return abs(terms.sum(axis=1)) / np.sqrt(n)


def total_variation(tables, n):
    sizes = np.maximum(tables.sum(axis=(2, 3), keepdims=True), 1)
    rows, columns = (tables.sum(axis=axis, keepdims=True) for axis in (3, 2))
    return abs(tables - rows * columns / sizes).sum(axis=(1, 2, 3)) / (4 * np.sqrt(n))


def signed_ranks(counts):
    """Return records below minus records above, for each level."""
    levels = np.arange(counts.shape[-1])
    return counts @ np.sign(levels[None, :] - levels[:, None])


SCORES = {
    KendallDependence: kendall,
    NormalizedKendallDependence: kendall_normalized,
    SpearmanDependence: spearman,
    TotalVariationDependence: total_variation,
}


# The comparison ---------------------------------------------------------------


def facts(n, n_strata, r, c):
    """Return public facts for columns x, y and the conditioning column z."""
    sizes = {"z": n_strata, "x": r, "y": c}
    return PublicFacts(n, Schema([Ordinal(s, range(k)) for s, k in sizes.items()]))


def largest_change(score, n, shape):
    """Return the largest change of a score, over all pairs of neighbours."""
    n_cells = int(np.prod(shape))
    cells = np.eye(n_cells, dtype=np.int64)
    common = count_tables(n - 1, n_cells)
    largest = 0.0
    for part in np.array_split(common, -(-common.size * n_cells // CHUNK)):
        tables = (part[:, None, :] + cells).reshape(-1, *shape)
        scores = score(tables, n).reshape(-1, n_cells)
        largest = max(largest, np.ptp(scores, axis=1).max())
    return largest


@pytest.mark.parametrize("shape", ALL_SHAPES, ids=str)
@pytest.mark.parametrize("kind", SCORES)
def test_no_neighbours_exceed_the_bound_of_a_score(kind, shape):
    *shape, most = shape
    query = kind("x", "y", ("z",))
    for n in range(1, most + 1):
        public = facts(n, *shape)
        slack = 2 * query.evaluation_error(public)
        observed = largest_change(SCORES[kind], n, shape)
        assert observed <= query.sensitivity(public) + slack, f"n = {n}"


@pytest.mark.parametrize("kind", SCORES)
def test_the_scores_above_are_those_of_the_queries(kind):
    rng = np.random.default_rng(0)
    for shape in [(1, 2, 2), (2, 3, 2), (3, 3, 3)]:
        means = rng.choice([0.2, 1, 3], size=(50, 1, 1, 1))
        tables = rng.poisson(means, size=(50, *shape))
        for table in tables[tables.any(axis=(1, 2, 3))]:
            n = int(table.sum())
            expected = SCORES[kind](table[None], n)[0]
            assert kind.score(table, n) == pytest.approx(expected, abs=1e-12)


# The answers of the queries themselves ----------------------------------------


def linear_examples(shape):
    """Return queries of integers, of one sign, of both, and with merged levels."""
    n_cells = shape[0] * shape[2]
    rng = np.random.default_rng(0)
    merged = [np.eye(shape[1])[[0]], np.ones((1, shape[2]))]
    return [
        LinearMarginal("z", np.tri(shape[0])),
        LinearMarginal(("x", "y"), Kronecker([np.tri(n) for n in shape[1:]])),
        LinearMarginal(("x", "y"), Kronecker(merged)),
        LinearMarginal(("z", "y"), rng.random((3, n_cells))),
        LinearMarginal(("z", "y"), rng.normal(size=(3, n_cells))),
        LinearMarginal(
            ("x", "z"), Kronecker([[np.arange(n)] for n in (shape[1], shape[0])])
        ),
        LinearMarginal(
            ("x", "y"), Kronecker([rng.normal(size=(1, n)) for n in shape[1:]])
        ),
    ]


def gaps_examples(shape):
    """Return gaps that are whole numbers, of scaled queries, and of constant ones."""
    linear = linear_examples(shape)
    answers = [np.arange(query.query.shape[0]) for query in linear]
    return [
        AnswerGaps(linear[:2], answers[:2], 3),
        AnswerGaps(linear, answers, 2, [1.0, 0.5, 1.0, 2.0, 0.3, 1.5, 0.7]),
        AnswerGaps([LinearMarginal("x", np.full((1, shape[1]), 7.0))], [[1.0]], 4),
        AnswerGaps(linear[:2], answers[:2], 0),
    ]


def distances_example(shape, weights=None):
    """Return distances from uneven tables, one of them with merged levels."""
    marginals = [
        Marginal(("x", "y")),
        Marginal("z"),
        LinearMarginal(
            ("x", "z"), Kronecker([np.ones((1, shape[1])), np.eye(shape[0])])
        ),
    ]
    tables = [
        np.arange(shape[1] * shape[2]).reshape(shape[1:]) / 3,
        *2 * [[0.7] * shape[0]],
    ]
    return MarginalDistances(marginals, tables, weights, [0.0, 2.0, 0.1])


def query_errors_examples(shape):
    """Return errors of a table and of linear queries, with and without weights."""
    several = [Marginal(("x", "y")), *linear_examples(shape)[:2]]
    answers = [np.full(query.shape(facts(1, *shape)), 0.7) for query in several]
    rows = [LinearMarginal(q.names, q.query.row(0)) for q in linear_examples(shape)]
    return [
        QueryErrors(several, answers),
        QueryErrors(several, answers, [2.0, 0.3, 1.0]),
        QueryErrors(rows, [[1.3]] * len(rows)),
    ]


def model_distances_example(shape, weights=None):
    """Return distances from a chain with a cell that no record can have."""
    rng = np.random.default_rng(0)
    chain = {pair: rng.normal(size=shape_of(pair, shape)) for pair in ("zx", "xy")}
    chain["xy"][0, -1] = -np.inf
    model = MarkovRandomField(Domain("zxy", shape), chain, 3.3)
    return ModelDistances(
        ["x", tuple("zy"), tuple("yxz")], model, weights, [0.0, 2.0, 0.1]
    )


def shape_of(names, shape):
    return [shape["zxy".index(name)] for name in names]


PARENTS = [("x", "y"), ("y", "zx"), ("z", ()), ("x", "y"), ("z", "yx")]


def examples(kind, shape):
    """Return queries of a class over columns x, y, z; sizes are those of z, x, y."""
    made = {
        Batch: [
            Batch((Marginal(("x", "y")), Marginal("z"), KendallDependence("x", "y"))),
            Batch((Marginal("x"), Marginal("x"), Marginal(()))),
            Batch((KendallDependence("x", "y"), SpearmanDependence("x", "z"))),
        ],
        AnswerGaps: gaps_examples(shape),
        LinearMarginal: linear_examples(shape),
        MarginalDistances: [
            distances_example(shape),
            distances_example(shape, [1, 3, 0.3]),
        ],
        QueryErrors: query_errors_examples(shape),
        ModelDistances: [
            model_distances_example(shape),
            model_distances_example(shape, [1, 3, 0.3]),
        ],
        Interactions: [Interactions(names) for names in ("xy", "zyx")],
        DependenceEvidence: [
            DependenceEvidence("x", "y", ("z",), test) for test in ("chi2", "g2")
        ],
        IndependenceMargins: [
            IndependenceMargins(
                [
                    [Question(kind("x", "y"), 0.3), Question(kind("x", "y", "z"), 0.4)],
                    [Question(kind("x", "z"), -0.1)],
                ]
            )
            for kind in (KendallDependence, TotalVariationDependence)
        ],
        Marginal: [Marginal(names) for names in ((), "x", ("z", "x"), ("x", "y", "z"))],
        **{
            kind: [kind(PARENTS), kind(PARENTS[:1])]
            for kind in (ParentInformation, ParentVariation)
        },
        PairInteractions: [
            PairInteractions(pairs) for pairs in (("xy",), ("yz", "xy"))
        ],
    }
    scores = [kind("x", "y", given) for given in ((), ("z",))] if kind in SCORES else []
    return made.get(kind, []) + scores


# Queries about matrices have a search of their own (test_moments.py).
@pytest.mark.parametrize(
    "name, kind", [q for q in all_queries() if not issubclass(q[1], MomentQuery)]
)
@pytest.mark.parametrize("sizes", [(2, 2, 2, 4), (1, 2, 3, 4), (3, 2, 2, 3)], ids=str)
def test_no_neighbours_exceed_the_bound_of_an_answer(name, kind, sizes):
    *shape, most = sizes
    queries = examples(kind, shape)
    assert queries, f"Add an example of {name}."
    for n in range(1, most + 1):
        public = facts(n, *shape)
        rows = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
        for common in count_tables(n - 1, len(rows)):
            base = np.repeat(rows, common, axis=0)
            records = [
                CountTable.from_codes(np.vstack([base, row]), public.schema)
                for row in rows
            ]
            for query in queries:
                answers = [np.ravel(query.evaluate(table)) for table in records]
                assert_bounded(query, public, np.array(answers))


def assert_bounded(query, public, answers):
    """Compare all answers, shape (n_tables, n_answers), with each other."""
    changes = answers[:, None] - answers
    n_affected = query.n_affected(public)
    assert np.count_nonzero(changes, axis=2).max() <= n_affected
    error = 2 * query.evaluation_error(public)
    for ord in (1, 2, inf):
        slack = 1e-14 + error * n_affected ** (1 / ord)
        largest = np.linalg.norm(changes, ord, axis=2).max()
        assert largest <= query.sensitivity(public, ord) + slack
