"""Workloads against tables counted by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from skdp import Categorical, Numeric, Ordinal, PGMEstimator, Schema
from skdp.exceptions import SchemaError
from skdp.graphical import Domain, EmpiricalDistribution, Kronecker, Matrix
from skdp.pgm import Workload
from skdp.records import CountTable

SCHEMA = Schema(
    [
        Ordinal("age", (0, 1, 2), missing=True),
        Categorical("sex", ("f", "m")),
        Numeric("pay", 0.0, 4.0, bins=4),
    ]
)
DOMAIN = Domain.from_schema(SCHEMA)
CODES = np.random.default_rng(0).integers(0, SCHEMA.shape, size=(40, 3))
RECORDS = CountTable.from_codes(CODES, SCHEMA)


def test_all_and_random_marginals():
    names = "abcdefg"
    assert len(Workload.all_marginals(names, 3)) == 35
    some = Workload.random_marginals(names, 3, 15, random_state=1)
    assert len(set(some.cliques)) == 15
    assert set(some.cliques) < set(Workload.all_marginals(names, 3).cliques)
    assert some == Workload.random_marginals(names, 3, 15, random_state=1)
    many = [f"v{i}" for i in range(400)]
    drawn = Workload.random_marginals(many, 3, 20, random_state=0)
    assert len(set(drawn.cliques)) == 20
    assert len(Workload.random_marginals(names, 1, 99)) == 7


def test_prefixes_follow_the_order_and_leave_other_levels_alone():
    workload = Workload.prefixes([("sex", "age"), ("pay",)], SCHEMA)
    by_sex_and_age, by_pay = workload.answers(RECORDS)
    table = RECORDS.marginal(("sex", "age"))
    expected = np.c_[table[:, :3].cumsum(axis=1), table[:, 3]]  # 3 is "missing"
    assert np.array_equal(by_sex_and_age, expected.ravel())
    assert np.array_equal(by_pay, RECORDS.marginal(("pay",)).cumsum())


def test_ranges_are_all_differences_of_prefixes():
    (answers,) = Workload.ranges([("pay",)], SCHEMA).answers(RECORDS)
    sums = np.r_[0, RECORDS.marginal(("pay",)).cumsum()]
    assert answers.tolist() == [
        sums[b] - sums[a] for a in range(4) for b in range(a + 1, 5)
    ]


def test_errors_are_those_of_the_answers():
    other = EmpiricalDistribution(DOMAIN, CODES[:20], 40)
    matrix = sp.csr_array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, -2.0, 0.0]])
    workload = Workload(["pay", ("age", "sex")], weights=[1, 3], queries=[matrix, None])
    errors = workload.errors(other, RECORDS)
    pay = matrix @ (other.marginal(("pay",)) - RECORDS.marginal(("pay",)))
    pair = other.marginal(("age", "sex")) - RECORDS.marginal(("age", "sex"))
    means = np.abs(pay).mean(), np.abs(pair).mean()
    assert errors.mean_absolute == pytest.approx((means[0] + 3 * means[1]) / 4)
    assert errors.max_absolute == max(np.abs(pay).max(), np.abs(pair).max())
    variation = np.abs(pair).sum() / 80
    assert errors.by_order[2].total_variation == pytest.approx(variation)
    assert errors.by_order[2].mean_absolute == pytest.approx(means[1])
    true = np.maximum(RECORDS.marginal(("age", "sex")), 0.04)
    assert errors.max_relatives[1] == pytest.approx((np.abs(pair) / true).max())
    assert list(errors.to_frame().index) == ["pay", "age x sex"]
    assert "total variation" in repr(errors)
    nothing = workload.errors(RECORDS, RECORDS)
    assert nothing.max_absolute == nothing.max_relative == 0


def test_errors_of_an_estimator_from_a_frame():
    X = pd.DataFrame(
        {
            "age": CODES[:, 0] % 3,
            "sex": np.array(["f", "m"])[CODES[:, 1]],
            "pay": CODES[:, 2] + 0.5,
        }
    )
    model = PGMEstimator(1e6, strategy="independent", schema=SCHEMA, random_state=0)
    errors = Workload(["sex", "pay"]).errors(model.fit(X), X)
    assert errors.total_variation < 1e-3
    both = Workload(["sex"]) + Workload([("age", "pay")], [2.0])
    assert both.errors(model, X).weights == (1.0, 2.0)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Workload(["a"], [0]), "positive"),
        (lambda: Workload(["a"], [1, 2]), "one weight and one query"),
        (lambda: Workload([("a", "a")]), "repeats"),
        (lambda: Workload([()]), "empty"),
        (lambda: Workload([]).check(SCHEMA), "at least one set"),
        (lambda: Workload(["height"]).check(SCHEMA), "height"),
        (lambda: Workload(["pay"], queries=[np.eye(3)]).check(SCHEMA), "shape"),
        (
            lambda: Workload(
                [("sex", "pay")], queries=[Kronecker((Matrix(np.eye(4)),) * 2)]
            ).check(SCHEMA),
            "shape",
        ),
    ],
)
def test_what_is_refused(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_products_of_products_are_refused():
    inner = Kronecker((Matrix(np.eye(2)), Matrix(np.eye(2))))
    nested = Workload([("sex", "pay")], queries=[Kronecker((Matrix(np.eye(2)), inner))])
    with pytest.raises(TypeError, match="Kronecker product of matrices"):
        nested.check(SCHEMA)


def test_what_fits_is_not_refused():
    fits = Workload([("sex", "pay")], queries=[np.ones((1, 8))])
    fits.check(SCHEMA)
    Workload.prefixes([("sex", "pay")], SCHEMA).check(SCHEMA)
    assert isinstance(fits + fits, Workload)
    with pytest.raises(SchemaError):
        fits.check(SCHEMA.select(("sex", "age")))
