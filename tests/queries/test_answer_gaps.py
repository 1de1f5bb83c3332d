"""Gaps between answers: large numbers, small ones, and what may not change."""

from __future__ import annotations

from fractions import Fraction
from math import inf, sqrt

import numpy as np
import pytest
from pytest import approx

from skdp.exceptions import SchemaError
from skdp.graphical import Kronecker
from skdp.graphical.single_queries import row_scales
from skdp.queries import AnswerGaps, LinearMarginal, PublicFacts
from skdp.records import CountTable, Ordinal, Schema

SCHEMA = Schema([Ordinal("a", range(3)), Ordinal("b", range(2))])
PUBLIC = PublicFacts(10, SCHEMA)


def test_products_with_the_number_of_synthetic_records_do_not_wrap():
    n, weight, k = 2**20, 2.0**32 - 1, 4096
    query = LinearMarginal("a", [[0, weight, 0]])
    assert query.integral  # its answers are 64-bit integers
    gaps = AnswerGaps([query], [[0.0]], k)
    gaps.check(PublicFacts(n, SCHEMA))
    last = int(2**63 // (k * int(weight)))
    scores = [
        gaps.evaluate(CountTable(SCHEMA, np.array([[0, 0], [1, 0]]), np.array(counts)))
        for counts in ([n - last, last], [n - last - 1, last + 1])
    ]
    np.testing.assert_allclose(scores[0], [k * last, -k * last], rtol=1e-12)
    change = np.abs(scores[1] - scores[0]).max()
    allowed = gaps.sensitivity(PublicFacts(n, SCHEMA), inf)
    assert 0 < change <= allowed + 2 * gaps.evaluation_error(PublicFacts(n, SCHEMA))


@pytest.mark.parametrize(
    ("query", "weight"),
    [
        ([[1e307, 0, 0]], 1.0),
        ([[1.5e308, -1.5e308, 0]], 1.0),
        ([[1e-300, 0, 0]], 1e8),
        ([[1e-320, 0, 0]], 1.0),
        ([[1, 0, 0]], 1e302),
    ],
)
def test_sums_that_could_overflow_are_refused(query, weight):
    gaps = AnswerGaps([LinearMarginal("a", query)], [[0.0]], 2, [weight])
    with pytest.raises(SchemaError, match="overflow|range of floats"):
        gaps.check(PUBLIC)


def test_partial_products_that_could_overflow_are_refused():
    hidden = Kronecker([[[1e200, 0, 0]], [[0.0, 0.0]]])
    huge = Kronecker([[[1e200, 0, 0]], [[1e150, 0.0]]])
    AnswerGaps([LinearMarginal(("a", "b"), hidden)], [[0.0]], 2).check(PUBLIC)
    with pytest.raises(SchemaError, match="overflow|range of floats"):
        AnswerGaps([LinearMarginal(("a", "b"), huge)], [[0.0]], 2).check(PUBLIC)


def test_norms_of_small_weights_do_not_vanish():
    parts = [LinearMarginal("a", [[1, 0, 0]]), LinearMarginal("b", [[0, 1]])]
    gaps = AnswerGaps(parts, [[0.0], [0.0]], 2, [3e-200, 4e-200])
    assert gaps.sensitivity(PUBLIC, 2) == approx(2 * sqrt(2) * 5e-200, rel=1e-9)
    assert gaps.sensitivity(PUBLIC, 1) == approx(4 * 7e-200, rel=1e-9)


def test_the_answers_cannot_be_changed():
    gaps = AnswerGaps([LinearMarginal("a", [[1, 0, 0]])], [np.array([2.0])], 2)
    with pytest.raises(ValueError, match="read-only"):
        gaps.answers[0][0] = 1


def test_rounded_products_of_integers_are_never_scaled_too_much():
    rng = np.random.default_rng(0)
    for _ in range(200):
        power = int(rng.integers(27, 60))
        rows = [
            [float(2**power + int(x)) for x in rng.integers(-3, 4, size)]
            for size in (3, 2)
        ]
        query = LinearMarginal(("a", "b"), Kronecker([[row] for row in rows]))
        gaps = AnswerGaps([query], [[0.0]], 3)
        products = [Fraction(x) * Fraction(y) for x in rows[0] for y in rows[1]]
        scale = Fraction(float(row_scales(query.query)[0]))
        change = 3 * scale * (max(products) - min(products))
        assert change <= Fraction(gaps.sensitivity(PUBLIC, inf))
