"""Errors of single queries: which they are, what they measure, what they refuse."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from pytest import approx

from skdp.exceptions import SchemaError
from skdp.graphical import Kronecker, prefix, ranges
from skdp.queries import LinearMarginal, Marginal, PublicFacts, QueryErrors
from skdp.records import CountTable, Ordinal, Schema

SCHEMA = Schema([Ordinal("a", range(2)), Ordinal("b", range(3)), Ordinal("c", [1])])
PUBLIC = PublicFacts(50, SCHEMA)
SUMS = LinearMarginal(("b", "a"), Kronecker([prefix(3), prefix(2)]))
RANGES = LinearMarginal("b", ranges(3))


@pytest.fixture
def records():
    codes = np.random.default_rng(0).integers(0, SCHEMA.shape, size=(50, 3))
    return CountTable.from_codes(codes, SCHEMA)


def test_every_candidate_is_measured_as_it_is_scored(records):
    asked = [Marginal(("b", "a")), SUMS, RANGES, Marginal(("c", "b", "a"))]
    answers = [np.arange(np.prod(q.shape(PUBLIC))) * 7.0 for q in asked]
    answers = [a.reshape(q.shape(PUBLIC)) for a, q in zip(answers, asked, strict=True)]
    scores = QueryErrors(asked, answers, [1, 2, 3, 4])
    scores.check(PUBLIC)
    found = scores.evaluate(records)
    n_varying = [6, 5, 5, 6]  # the last prefix sum and the full range are n
    assert found.shape == scores.shape(PUBLIC) == (sum(n_varying),)
    of_part = np.repeat(range(4), n_varying)
    for i, (score, part) in enumerate(zip(found, of_part, strict=True)):
        single = scores.candidate(i)
        assert single.names == asked[part].names
        assert single.shape(PUBLIC) == (1,)
        assert [single.sensitivity(PUBLIC, p) for p in (1, 2, inf)] == [1, 1, 1]
        exact = single.evaluate(records)[0]
        rest = exact + np.array([1, -1]) * score / (part + 1)
        assert np.isin(rest, answers[part]).any()
    with pytest.raises(IndexError):
        scores.candidate(sum(n_varying))


def test_sensitivity_is_that_of_the_answers():
    scores = QueryErrors([Marginal("b"), SUMS], [np.zeros(3), np.zeros(6)])
    assert scores.sensitivity(PUBLIC, inf) == 1
    assert scores.sensitivity(PUBLIC, 1) == 2 + SUMS.sensitivity(PUBLIC, 1)
    weighted = QueryErrors([Marginal("b"), SUMS], [np.zeros(3), np.zeros(6)], [5, 2])
    assert weighted.sensitivity(PUBLIC, inf) == 5
    assert weighted.sensitivity(PUBLIC, 1) == 10 + 2 * SUMS.sensitivity(PUBLIC, 1)
    heavy = LinearMarginal("b", [[0.0, 2.5, 7.0]])
    assert QueryErrors([heavy], [[1.0]]).sensitivity(PUBLIC, inf) == approx(7.0)


def test_errors_are_exact_unless_weights_are_not_whole():
    scores = QueryErrors([Marginal("b")], [[1 / 3, 2 / 3, 49.0]])
    assert (scores.answers[0] * 1024 % 1 == 0).all()
    assert scores.evaluation_error(PUBLIC) == 0
    for inexact in (
        QueryErrors([Marginal("b")], [[1 / 3, 2 / 3, 49.0]], [0.1]),
        QueryErrors([LinearMarginal("b", [[0.1, 0.2, 0.3]])], [[1.0]]),
        QueryErrors([Marginal("b")], [[2.0**43, 0, 0]]),
    ):
        assert 0 < inexact.evaluation_error(PUBLIC) < 1e-2


def test_constants_are_no_candidates():
    scores = QueryErrors([Marginal("c"), Marginal("a")], [[50.0], [20.0, 30.0]])
    assert scores.shape(PUBLIC) == (2,)
    assert scores.candidate(0).names == ("a",)
    zeros = LinearMarginal("b", [[0.0, 0, 0], [2, 2, 2], [0, 1, 0]])
    assert QueryErrors([zeros], [[0.0, 100, 9]]).shape(PUBLIC) == (1,)
    product = LinearMarginal(("a", "b"), Kronecker([np.ones((2, 2)), np.ones((2, 3))]))
    assert QueryErrors([product], [np.full(4, 50.0)]).shape(PUBLIC) == (0,)


def test_rows_that_vary_little_are_candidates():
    nearly = LinearMarginal("b", [[1e7, 1e7 + 1, 1e7], [1e7, 1e7, 1e7]])
    scores = QueryErrors([nearly], [[0.0, 0.0]])
    assert scores.shape(PUBLIC) == (1,)
    assert scores.candidate(0).query.matrix[0, 1] == 1e7 + 1


def test_a_single_row_changes_by_its_largest_less_its_smallest_entry():
    signed = Kronecker([[[1.0, -2.0]], [[3.0, -1.0, 2.0]]])  # from -6 to 3
    for ord in (1, 2, inf):
        assert LinearMarginal(("a", "b"), signed).sensitivity(PUBLIC, ord) == 9
    assert LinearMarginal("b", [[0.5, 0.5, 0.5]]).sensitivity(PUBLIC) == 0
    positive = LinearMarginal(("a", "b"), Kronecker([[[2.0, 3.0]], [[1.0, 1.0, 4.0]]]))
    assert positive.sensitivity(PUBLIC) == 12 - 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], []), "at least one"),
        (([Marginal("a")], []), "not 0 and 1 for 1"),
        (([Marginal("a")], [[np.nan, 1]]), "finite"),
        (([Marginal("a")], [[3, 4]], [0.0]), "positive"),
        (([Marginal("a")], [[3, 4]], [1.0, 2.0]), "not 1 and 2 for 1"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        QueryErrors(*arguments)


def test_answers_of_another_shape_are_refused():
    with pytest.raises(SchemaError, match=r"shape \(3,\), not \(2,\)"):
        QueryErrors([Marginal("b")], [[1.0, 2.0]]).check(PUBLIC)


def test_sums_that_could_overflow_are_refused():
    for query, answer, weight in (
        ([[1e305, 0, 0]], 0.0, 1.0),
        ([[1.0, 0, 0]], 0.0, 1e305),
        ([[1.0, 0, 0]], 1e302, 1.0),
        ([[1.0, 0, 0]], 1e200, 1e105),
    ):
        scores = QueryErrors([LinearMarginal("b", query)], [[answer]], [weight])
        with pytest.raises(SchemaError, match="overflow|range of floats"):
            scores.check(PUBLIC)


def test_norms_of_small_weights_do_not_vanish():
    parts = [LinearMarginal("a", [[1.0, 0]]), LinearMarginal("b", [[1.0, 0, 0]])]
    scores = QueryErrors(parts, [[1.0], [1.0]], [3e-200, 4e-200])
    assert scores.sensitivity(PUBLIC, 2) == approx(5e-200, rel=1e-12)


def test_the_answers_cannot_be_changed():
    scores = QueryErrors([Marginal("a")], [[3.0, 4.0]])
    with pytest.raises(ValueError, match="read-only"):
        scores.answers[0][0] = 1
