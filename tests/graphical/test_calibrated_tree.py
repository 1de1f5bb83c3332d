"""Many marginals of one model, against one elimination each."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from skdp.exceptions import ModelTooLargeError
from skdp.graphical import Domain, MarkovRandomField
from skdp.graphical.calibrated_tree import (
    CalibratedTree,
    covering_tree,
    rounding_error,
)
from skdp.graphical.named_table import NamedTable, contract, contract_at


def random_model(seed, n_columns=6, scale=1.0, zeros=False):
    """Draw a model: connected or not, with columns that no potential has."""
    rng = np.random.default_rng(seed)
    names = tuple("abcdefgh"[:n_columns])
    domain = Domain(names, tuple(rng.integers(1, 5, n_columns)))
    potentials = {}
    for _ in range(rng.integers(1, n_columns + 2)):
        columns = tuple(rng.permutation(names)[: rng.integers(1, 4)].tolist())
        table = scale * rng.normal(size=domain.shape(columns))
        if zeros:
            table[rng.random(table.shape) < 0.15] = -np.inf
        potentials[columns] = table
    return MarkovRandomField(domain, potentials, 1000.0)


def possible(model):
    try:
        return np.isfinite(model.log_partition)
    except ValueError:
        return False


def calibrated(model, **options):
    return CalibratedTree(model.domain, model.potentials, model.n_records, **options)


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("zeros", [False, True])
def test_marginals_are_those_of_an_elimination_each(scale, zeros):
    n_models = 0
    for seed in range(12):
        model = random_model(seed, scale=scale, zeros=zeros)
        if not possible(model):
            with pytest.raises(ValueError, match="leave no record"):
                calibrated(model)
            continue
        n_models += 1
        names = np.random.default_rng(seed).permutation(model.domain.names).tolist()
        asked = [c for k in range(5) for c in combinations(names, k)]
        tree = calibrated(model)
        for columns, found in model.marginals(asked).items():
            expected = model.marginal(columns)
            # Differences of logarithms of magnitude `scale` are off by its roundings.
            np.testing.assert_allclose(
                found, expected, rtol=1e-12 * max(1, scale / 100), atol=1e-200
            )
            if columns:
                cells = np.arange(found.size)[::-1]
                values = tree.values_at(columns, cells)
                np.testing.assert_allclose(values, found.ravel()[cells], rtol=1e-13)
    assert n_models > 4


def test_marginals_of_a_brute_force_joint():
    model = random_model(5, n_columns=5)
    joint = np.zeros(model.domain.sizes)
    for columns, table in model.potentials.items():
        joint = joint + model.domain.broadcast(table, columns, model.domain.names)
    joint = 1000 * np.exp(joint) / np.exp(joint).sum()
    for columns in combinations(model.domain.names, 3):
        other = tuple(
            i for i, name in enumerate(model.domain.names) if name not in columns
        )
        np.testing.assert_allclose(
            calibrated(model).marginal(columns), joint.sum(axis=other), rtol=1e-12
        )


def test_marginals_take_names_and_tuples_and_refuse_strangers():
    model = random_model(0)
    found = model.marginals(["a", ("b", "a"), ("a",)])
    assert list(found) == [("a",), ("b", "a")]
    with pytest.raises(ValueError, match="'z'"):
        model.marginals(["a", ("a", "z")])
    with pytest.raises(ValueError, match="twice"):
        model.marginals(["a", ("a", "a")])


def test_what_is_too_large_is_refused():
    names = tuple("abcd")
    domain = Domain(names, (50,) * 4)
    star = {("a", name): np.zeros((50, 50)) for name in "bcd"}
    model = MarkovRandomField(domain, star, 1.0, max_cells=3000)
    with pytest.raises(ModelTooLargeError, match=r"1.25e\+05 cells"):
        model.marginals([("a",), ("b", "c", "d")])
    # The tree is larger than allowed: one elimination each.
    assert covering_tree(domain, star).n_cells > 3000
    assert model.marginals([("a",), ("b",)])["b",].shape == (50,)
    with pytest.raises(ModelTooLargeError):
        calibrated(model, max_cells=2000)
    left = NamedTable(("a", "b"), np.ones((20, 20)))
    right = NamedTable(("b", "c"), np.ones((20, 20)))
    with pytest.raises(ModelTooLargeError, match="8e"):
        contract(left, right, {"a", "b", "c"}, max_cells=7999)
    with pytest.raises(ModelTooLargeError, match="4e"):
        model = MarkovRandomField(domain, star, 1.0)
        calibrated(model, max_cells=4e4).marginal(("b", "c", "d"))


@pytest.mark.parametrize("n", [1, 10, 5000])
@pytest.mark.parametrize("keep", ["ac", "abc", "acd", "abcd"])
def test_contraction_at_cells_is_that_of_tables(n, keep):
    rng = np.random.default_rng(n)
    sizes = {"a": 3, "b": 40, "c": 5, "d": 4, "e": 2}
    left, right = (
        NamedTable(tuple(c), rng.random([sizes[name] for name in c]))
        for c in ("bade", "dbc")
    )
    table = contract(left, right, set(keep), 1e6)
    expected = np.einsum("bade,dbc->" + keep, left.values, right.values)
    np.testing.assert_allclose(table.transpose(tuple(keep)), expected, rtol=1e-12)
    codes = {name: rng.integers(sizes[name], size=n) for name in keep}
    for limit in (1e6, 1):  # through the table, or cell by cell
        found = contract_at(left, right, codes, limit)
        np.testing.assert_allclose(found, expected[tuple(codes.values())], rtol=1e-12)


def test_values_are_within_the_proved_error():
    rng = np.random.default_rng(0)
    domain = Domain(tuple("abcd"), (7, 9, 8, 6))
    chain = {
        pair: 3 * rng.normal(size=domain.shape(pair))
        for pair in (("a", "b"), ("b", "c"), ("c", "d"))
    }
    tree = CalibratedTree(domain, chain, 10.0)
    given = [sums.to(sums.names) for sums in tree._given]
    codes = dict(zip("abcd", np.indices(domain.sizes), strict=True))
    exact = {}
    for cell in product(range(7), range(6)):
        a, d = cell
        terms = []
        for b, c in product(range(9), range(8)):
            at = dict(zip("abcd", (a, b, c, d), strict=True))
            values = [t.values[tuple(at[name] for name in t.columns)] for t in given]
            term = Fraction(1)
            for value in values:
                term *= Fraction(float(value))
            terms.append(term)
        exact[cell] = 10 * sum(terms)
    assert len(codes) == 4
    bound = rounding_error(tree.tree)
    assert bound < 1e-12
    cells = np.arange(42)
    for values in (tree.marginal("ad").ravel(), tree.values_at("ad", cells)):
        for value, true in zip(values, exact.values(), strict=True):
            assert abs(Fraction(float(value)) - true) <= Fraction(bound) * true
    few = tree.values_at("ad", cells[:1])
    assert abs(Fraction(float(few[0])) - exact[0, 0]) <= Fraction(bound) * exact[0, 0]


def test_nothing_is_remembered_of_the_cells_that_were_asked_for():
    model = random_model(3, n_columns=7)
    rng, states = np.random.default_rng(0), []
    asked = [c for k in (1, 2, 3) for c in combinations(model.domain.names, k)]
    for n_cells in (1, 1, 50, None):
        tree = calibrated(model)
        for columns in asked:
            size = model.domain.n_cells(columns)
            cells = (
                np.arange(size) if n_cells is None else rng.integers(size, size=n_cells)
            )
            tree.values_at(columns, cells)
        states.append(pickle.dumps(vars(tree)))
    assert len(set(states)) == 1


def test_messages_are_forgotten_when_they_are_many(monkeypatch):
    monkeypatch.setattr("skdp.graphical.calibrated_tree._MOST_HELD", 20)
    model = random_model(3, n_columns=7)
    tree = calibrated(model)
    for columns in combinations(model.domain.names, 3):
        np.testing.assert_allclose(
            tree.marginal(columns), model.marginal(columns), rtol=1e-12
        )
