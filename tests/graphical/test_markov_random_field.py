"""Inference agrees with the table over all columns, on hundreds of random models."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from skdp.exceptions import ModelTooLargeError
from skdp.graphical.domain import Domain
from skdp.graphical.markov_random_field import MarkovRandomField

NAMES = "abcdef"
EXACT = {"rtol": 1e-9, "atol": 1e-9}


@st.composite
def models(draw, zeros=True):
    """Draw a model of up to six columns; its log-potentials may be huge or -inf."""
    d = draw(st.integers(1, 6))
    sizes = draw(st.lists(st.integers(1, 4), min_size=d, max_size=d))
    domain = Domain(tuple(NAMES[:d]), tuple(sizes))
    subset = st.lists(st.sampled_from(NAMES[:d]), max_size=min(d, 4), unique=True)
    cliques = draw(st.lists(subset.map(tuple), max_size=7, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from((0.0, 1.0, 30.0, 400.0)))
    share = draw(st.sampled_from((0.0, 0.2))) if zeros else 0.0
    keep = [rng.integers(size) for size in sizes]
    potentials = {}
    for clique in cliques:
        table = np.array(scale * rng.normal(size=domain.shape(clique)))
        table[rng.random(table.shape) < share] = -np.inf
        # One record stays possible.
        table[tuple(keep[domain.axis(c)] for c in clique)] = scale
        potentials[clique] = table
    return MarkovRandomField(domain, potentials, 1000.0)


def full_table(model):
    """Return log-probabilities of all records, by adding up potentials."""
    names, shape = model.domain.names, model.domain.sizes
    total = np.zeros(shape)
    for columns, table in model.potentials.items():
        total = total + model.domain.broadcast(table, columns, names)
    top = total.max()
    return total - top - np.log(np.exp(total - top).sum())


def summed(table, names, columns):
    """Sum a table over all axes but some, which come in the order given."""
    others = tuple(i for i, name in enumerate(names) if name not in columns)
    left = [name for name in names if name in columns]
    return table.sum(axis=others).transpose([left.index(c) for c in columns])


some = st.permutations(NAMES).flatmap(
    lambda order: st.integers(0, 4).map(lambda k: tuple(order[:k]))
)


@settings(max_examples=400)
@given(model=models(), columns=some)
def test_marginals_in_and_out_of_cliques(model, columns):
    columns = tuple(c for c in columns if c in model.domain)
    expected = 1000 * summed(np.exp(full_table(model)), model.domain.names, columns)
    found = model.marginal(columns)
    np.testing.assert_allclose(found, expected, **EXACT)
    assert found.shape == model.domain.shape(columns)


@settings(max_examples=300)
@given(model=models(), order=st.permutations(NAMES), data=st.data())
def test_conditionals(model, order, data):
    order = [c for c in order if c in model.domain]
    k = data.draw(st.integers(0, len(order)))
    asked, others = tuple(order[:k]), order[k:]
    given_ = others[: data.draw(st.integers(0, len(others)))]
    records = np.array(list(np.ndindex(*model.domain.shape(given_))))
    many = given_[: data.draw(st.integers(0, len(given_)))]
    fixed = {c: int(records[-1, given_.index(c)]) for c in given_ if c not in many}
    evidence = fixed | {c: records[:, given_.index(c)] for c in many}

    found = model.conditional(asked, evidence)

    p = summed(np.exp(full_table(model)), model.domain.names, (*given_, *asked))
    if not many:
        found, records = found[None], records[-1:]
    for row, record in zip(found, records, strict=True):
        levels = [fixed.get(c, code) for c, code in zip(given_, record, strict=True)]
        joint = p[tuple(levels)]
        if joint.sum() > 1e-250:
            np.testing.assert_allclose(row, joint / joint.sum(), **EXACT)
        elif joint.sum() == 0 and not np.isnan(row).any():
            # Below the smallest number of the full table, not impossible.
            assert np.isclose(row.sum(), 1)


@settings(max_examples=300)
@given(model=models(), data=st.data())
def test_product_queries(model, data):
    names = model.domain.names
    asked = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    weights, table = {}, np.exp(full_table(model))
    for name in asked:
        n_rows = data.draw(st.sampled_from((None, 1, 3)))
        shape = (model.domain.size(name),) if n_rows is None else (n_rows, -1)
        w = rng.normal(size=(n_rows or 1, model.domain.size(name)))
        w = np.maximum(w, 0) if data.draw(st.booleans()) else w
        weights[name] = w.reshape(shape)
    expected = summed(table, names, asked)
    for axis, name in enumerate(asked):
        w = np.atleast_2d(weights[name])
        expected = np.moveaxis(np.tensordot(w, expected, (1, axis)), 0, axis)
    found = model.query(weights)
    np.testing.assert_allclose(found.ravel(), 1000 * expected.ravel(), **EXACT)
    assert found.ndim == sum(w.ndim == 2 for w in weights.values())


@settings(max_examples=200)
@given(model=models())
def test_log_probability_partition_and_entropy(model):
    table = full_table(model)
    codes = np.array(list(np.ndindex(*model.domain.sizes)))
    np.testing.assert_allclose(
        model.log_probability(codes), table.ravel(), rtol=1e-9, atol=1e-9
    )
    p = np.exp(table)
    entropy = -(p * np.where(p > 0, table, 0)).sum()
    assert model.entropy == pytest.approx(entropy, rel=1e-9, abs=1e-7)


def chi_square_pvalue(model, codes):
    """Compare the full table of a sample with the model."""
    counts = np.zeros(model.domain.sizes)
    np.add.at(counts, tuple(codes.T), 1)
    expected = len(codes) * np.exp(full_table(model))
    assert counts[expected == 0].sum() == 0
    rare = expected < 5
    cells = [
        (counts[~rare], expected[~rare]),
        (counts[rare].sum(), expected[rare].sum()),
    ]
    pairs = [(o, e) for os, es in cells for o, e in np.broadcast(os, es) if e > 1]
    statistic = sum((o - e) ** 2 / e for o, e in pairs)
    return chi2.sf(statistic, max(len(pairs) - 1, 1)) if len(pairs) > 1 else 1.0


@settings(max_examples=60)
@given(model=models(), seed=st.integers(0, 2**32))
def test_independent_samples_pass_chi_square(model, seed):
    codes = model.sample(20_000, method="iid", random_state=seed)
    assert chi_square_pvalue(model, codes) > 1e-6


@settings(max_examples=10)
@given(model=models(), seed=st.integers(0, 2**32))
def test_single_records_of_rounded_samples_pass_chi_square(model, seed):
    rng = np.random.default_rng(seed)
    # Records of different samples are independent of each other.
    codes = np.array([model.sample(7, random_state=rng)[3] for _ in range(300)])
    assert chi_square_pvalue(model, codes) > 1e-6


@settings(max_examples=60)
@given(model=models(), seed=st.integers(0, 2**32))
def test_rounded_samples_hold_no_record_that_is_excluded(model, seed):
    codes = model.sample(500, random_state=seed)
    assert (model.log_probability(codes) > -np.inf).all()
    np.testing.assert_array_equal(codes, model.sample(500, random_state=seed))


# What is refused, and what is large -----------------------------------------------


def chain(d=14, n_levels=30):
    """Return a model whose full table has 30^14 cells."""
    names = tuple(f"x{i}" for i in range(d))
    domain = Domain(names, (n_levels,) * d)
    rng = np.random.default_rng(0)
    return MarkovRandomField(
        domain,
        {(a, b): rng.normal(size=(n_levels,) * 2) for a, b in pairwise(names)},
        100.0,
    )


def test_a_domain_too_large_for_a_table_is_answered():
    model = chain()
    ends = model.marginal(["x13", "x0"])
    assert ends.shape == (30, 30)
    assert ends.sum() == pytest.approx(100)
    matrices = [np.exp(t - np.max(t)) for t in model.potentials.values()]
    product = np.linalg.multi_dot(matrices)
    np.testing.assert_allclose(ends.T, 100 * product / product.sum(), **EXACT)
    half = np.arange(30) < 15
    everywhere = model.query(dict.fromkeys(model.domain.names, half))
    cut = [matrix[:15, :15] for matrix in matrices]
    expected = 100 * np.linalg.multi_dot(cut).sum() / product.sum()
    assert everywhere == pytest.approx(expected, rel=1e-9)


def test_a_table_too_large_is_refused_with_its_columns():
    model = chain()
    with pytest.raises(ModelTooLargeError, match=r"5.25e.03 GB.*'x0' \(30 levels\)"):
        model.marginal(["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"])
    with pytest.raises(ModelTooLargeError, match="limit of 100"):
        MarkovRandomField(model.domain, model.potentials, 1, max_cells=100).sample(3)


def test_potentials_and_questions_that_do_not_fit_are_refused():
    domain = Domain(("a", "b"), (2, 3))
    for potentials, words in (
        ({("a", "b"): np.zeros((3, 2))}, "must have the shape"),
        ({("a",): [0.0, np.nan]}, "NaN or"),
        ({("a",): [0.0, np.inf]}, "NaN or"),
        ({("c",): [0.0]}, "no column 'c'"),
        ({("a", "a"): np.zeros((2, 2))}, "named twice"),
    ):
        with pytest.raises(ValueError, match=words):
            MarkovRandomField(domain, potentials, 1)
    model = MarkovRandomField(domain, {("a", "b"): np.zeros((2, 3))}, 6)
    for call, words in (
        (lambda: model.marginal(["a", "a"]), "named twice"),
        (lambda: model.marginal(["c"]), "no column 'c'"),
        (lambda: model.conditional(["a"], {"a": 1}), "asked for and given"),
        (lambda: model.conditional(["a"], {"b": 3}), "from 0 to 2"),
        (lambda: model.conditional(["a"], {"b": 0.5}), "from 0 to 2"),
        (lambda: model.query({"b": [1, 2]}), "must have the shape"),
        (lambda: model.query({"b": [1, 2, np.nan]}), "finite"),
        (lambda: model.log_probability([[0, 3]]), "from 0 to 2"),
        (lambda: model.log_probability([[0]]), "shape"),
        (lambda: model.sample(-1), "n_samples"),
        (lambda: model.sample(1, method="best"), "method"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_impossible_evidence_gives_nan_and_impossible_models_an_error():
    table = np.array([[0.0, 0.0], [-np.inf, -np.inf]])
    model = MarkovRandomField(Domain(("a", "b"), (2, 2)), {("a", "b"): table}, 10)
    assert np.isnan(model.conditional(["b"], {"a": 1})).all()
    found = model.conditional(["b"], {"a": np.array([0, 1])})
    np.testing.assert_array_equal(np.isnan(found), [[False, False], [True, True]])
    empty = MarkovRandomField(model.domain, {("a",): [-np.inf, -np.inf]}, 10)
    with pytest.raises(ValueError, match="leave no record"):
        empty.marginal(["b"])


def test_rounding_varies_less_than_independent_draws():
    model = chain(4, 5)
    expected = model.marginal(["x1", "x2"]) * 20
    errors = {
        method: np.mean(
            [
                np.abs(table_of(model.sample(2000, method=method, random_state=s))
                       - expected).sum()
                for s in range(20)
            ]
        )
        for method in ("round", "iid")
    }  # fmt: skip
    assert errors["round"] < 0.6 * errors["iid"]


def table_of(codes):
    counts = np.zeros((5, 5))
    np.add.at(counts, (codes[:, 1], codes[:, 2]), 1)
    return counts


def test_a_random_state_of_any_kind_is_honoured():
    model = chain(3, 4)
    for make in (lambda: 3, lambda: np.random.default_rng(3), np.random.RandomState):
        first, second = (
            model.sample(50, random_state=make(3) if make is np.random.RandomState
                         else make())
            for _ in range(2)
        )  # fmt: skip
        np.testing.assert_array_equal(first, second)
    assert model.sample().shape == (100, 3)
