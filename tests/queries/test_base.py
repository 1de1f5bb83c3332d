"""The contract of a query, batches, and the list of all queries."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, fields
from math import inf, sqrt

import numpy as np
import pytest

import skdp.queries
from skdp.exceptions import SchemaError
from skdp.graphical import Domain, MarkovRandomField
from skdp.queries import (
    AnswerGaps,
    Batch,
    CrossMoments,
    Diagonal,
    Eigenvalues,
    IndependenceMargins,
    Interactions,
    KendallDependence,
    LinearMarginal,
    Marginal,
    MarginalDistances,
    ModelDistances,
    MomentErrors,
    MomentQuery,
    NormScores,
    PairInteractions,
    ParentInformation,
    ParentVariation,
    PublicFacts,
    Query,
    QueryErrors,
    Question,
    SecondMoments,
    SquaredExcess,
    Sums,
    Trace,
    all_queries,
)
from skdp.records import CountTable, Ordinal, RowGrid, Schema

SCHEMA = Schema([Ordinal("a", range(2)), Ordinal("b", range(3)), Ordinal("c", [1])])
PUBLIC = PublicFacts(10, SCHEMA)


@pytest.fixture
def records():
    codes = np.random.default_rng(0).integers(0, SCHEMA.shape, size=(10, 3))
    return CountTable.from_codes(codes, SCHEMA)


# All queries ------------------------------------------------------------------


def test_all_queries_lists_the_concrete_public_classes_by_name():
    found = all_queries()
    assert [name for name, _ in found] == sorted(name for name, _ in found)
    public = {
        name
        for name, value in vars(skdp.queries).items()
        if inspect.isclass(value) and issubclass(value, Query)
    }
    assert {name for name, kind in found} == {
        name for name in public if not inspect.isabstract(getattr(skdp.queries, name))
    }


def test_all_queries_leaves_out_classes_of_others():
    class Foreign(Marginal):
        """A query that a test defines."""

    assert "Foreign" not in dict(all_queries())


MOMENTS = {
    "CrossMoments": lambda: CrossMoments([(0, 1), (1, 1)], clip=np.full((2, 2), 0.5)),
    "MomentErrors": lambda: MomentErrors(np.eye(2)),
    "NormScores": lambda: NormScores((1.0, 2.0), 3.0, (0.0, 1.0)),
    "SecondMoments": lambda: SecondMoments(free_diagonal=True),
    "SquaredExcess": lambda: SquaredExcess(0.5, rows=RowGrid(8)),
} | {
    kind.__name__: lambda kind=kind: kind(rows=RowGrid(8, radius=0.5))
    for kind in (Diagonal, Eigenvalues, Sums, Trace)
}


@pytest.mark.parametrize("name, kind", all_queries())
def test_queries_are_frozen_hashable_values(name, kind):
    query = {
        "AnswerGaps": lambda: AnswerGaps([LinearMarginal("a", [[1, 0]])], [[2.0]], 3),
        "Batch": lambda: Batch([Marginal("a")]),
        "Interactions": lambda: Interactions(["a", "b"]),
        "IndependenceMargins": lambda: IndependenceMargins(
            [[Question(KendallDependence("a", "b"), 1.0)]]
        ),
        "Marginal": lambda: Marginal(["a", "b"]),
        "PairInteractions": lambda: PairInteractions([["a", "b"]]),
        "LinearMarginal": lambda: LinearMarginal("a", [[1.0, 1.0]]),
        "MarginalDistances": lambda: MarginalDistances([Marginal("a")], [[3.0, 4.0]]),
        "QueryErrors": lambda: QueryErrors([Marginal("a")], [[3.0, 4.0]], [2.0]),
        "ModelDistances": lambda: ModelDistances(
            ["a"], MarkovRandomField(Domain("a", (2,)), {("a",): np.zeros(2)}, 7)
        ),
        "ParentInformation": lambda: ParentInformation([("a", ["b"]), ("b", ())]),
        "ParentVariation": lambda: ParentVariation([("a", ["b"]), ("b", ())]),
        **MOMENTS,
    }.get(name, lambda: kind("a", "b", ["c"]))
    made = query()
    assert made == query()
    assert hash(made) == hash(query())
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(made)[0].name, "x")


# Matrices and the tables of a model are checked against the schema.
OWN = {
    "x", "y", "given", "names", "pairs", "queries", "edges", "test",
    "query", "marginals", "tables", "weights", "penalties", "model", "candidates",
    "answers", "n_synthetic",
}  # fmt: skip


@pytest.mark.parametrize("name, kind", all_queries())
def test_queries_hold_no_claim_about_levels(name, kind):
    # Column names and parameters of their own only: levels come from the schema.
    if issubclass(kind, MomentQuery):
        assert {f.type for f in fields(kind)}.isdisjoint({"Schema", "PublicFacts"})
        return
    assert {f.name for f in fields(kind)} <= OWN


# Batches ----------------------------------------------------------------------


def test_a_batch_concatenates_and_splits_answers(records):
    parts = (Marginal(("b", "a")), KendallDependence("a", "b"), Marginal(()))
    batch = Batch(parts)
    answer = batch.evaluate(records)
    assert answer.shape == batch.shape(PUBLIC) == (8,)
    for part, query in zip(batch.split(answer, PUBLIC), parts, strict=True):
        assert part.shape == query.shape(PUBLIC)
        np.testing.assert_array_equal(part, query.evaluate(records))


def test_the_norms_of_a_batch_add_up():
    batch = Batch([Marginal("a"), Marginal("b"), Marginal(("a", "b"))])
    assert batch.sensitivity(PUBLIC, 1) == 6
    assert batch.sensitivity(PUBLIC, 2) == pytest.approx(sqrt(6), rel=1e-15)
    assert batch.sensitivity(PUBLIC, inf) == 1
    assert batch.n_affected(PUBLIC) == 6
    assert batch.integral
    assert batch.evaluation_error(PUBLIC) == 0


def test_a_batch_with_a_score_is_not_integral():
    score = KendallDependence("a", "b")
    batch = Batch([Marginal("a"), score])
    assert not batch.integral
    assert batch.columns == ("a", "b")
    assert batch.evaluation_error(PUBLIC) == score.evaluation_error(PUBLIC) > 0
    assert batch.sensitivity(PUBLIC) == 2 + score.sensitivity(PUBLIC)


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="at least one query"):
        Batch(())


# What all queries refuse ------------------------------------------------------

QUERIES = [
    Batch([Marginal("a")]),
    Interactions("ab"),
    KendallDependence("a", "b"),
    Marginal("a"),
    PairInteractions(["ab"]),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
@pytest.mark.parametrize("ord", [0, 3, -1, "inf"])
def test_other_norms_are_refused(query, ord):
    with pytest.raises(ValueError, match="ord must be 1, 2 or inf"):
        query.sensitivity(PUBLIC, ord)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
def test_columns_that_the_schema_lacks_are_refused(query):
    other = PublicFacts(10, Schema([Ordinal("z", range(2))]))
    with pytest.raises(SchemaError, match="'a'"):
        query.check(other)
    query.check(PUBLIC)


def test_a_batch_refuses_what_its_parts_refuse():
    schema = SCHEMA
    batch = Batch((Marginal("a"), KendallDependence("a", "b")))
    batch.check(PublicFacts(10, schema))
    with pytest.raises(ValueError, match="64 bits"):
        batch.check(PublicFacts(4 * 10**9, schema))
