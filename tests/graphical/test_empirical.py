"""Synthetic records as a model, against a random field over all of their cells."""

import numpy as np
import pytest

from skdp.graphical import Domain, EmpiricalDistribution, MarkovRandomField

DOMAIN = Domain(("a", "b", "c"), (2, 3, 2))
CODES = np.random.default_rng(0).integers(0, (2, 2, 2), size=(25, 3))
CODES[:, 1] += CODES[:, 0]  # so that some cells are empty


@pytest.fixture
def both():
    """The same distribution, counted and as a field with a potential for all."""
    table = np.zeros(DOMAIN.sizes)
    np.add.at(table, tuple(CODES.T), 1)
    with np.errstate(divide="ignore"):
        field = MarkovRandomField(DOMAIN, {DOMAIN.names: np.log(table)}, 100)
    return EmpiricalDistribution(DOMAIN, CODES, 100), field


@pytest.mark.parametrize("columns", [(), ("c",), ("c", "a"), ("b", "c", "a")])
def test_marginals(both, columns):
    counted, field = both
    assert np.allclose(counted.marginal(columns), field.marginal(columns))
    assert counted.marginals([columns])[columns].shape == DOMAIN.shape(columns)


@pytest.mark.parametrize(
    "evidence",
    [
        {},
        {"c": 1},
        {"a": 0, "b": 2},
        {"c": np.array([0, 1, 1])},
        {"a": np.array([1, 0, 1, 0]), "b": 2},
        {"a": np.array([1, 0]), "b": np.array([0, 1])},
    ],
)
def test_conditionals(both, evidence):
    counted, field = both
    asked = [name for name in ("b", "a", "c") if name not in evidence]
    expected = field.conditional(asked, evidence)
    assert np.allclose(counted.conditional(asked, evidence), expected, equal_nan=True)


def test_queries_probabilities_and_entropy(both):
    counted, field = both
    weights = {"b": [[1.0, -2.0, 0.5], [0, 1, 0]], "a": [0.0, 3.0]}
    assert np.allclose(counted.query(weights), field.query(weights))
    everything = np.array(list(np.ndindex(*DOMAIN.sizes)))
    expected = field.log_probability(everything)
    assert np.allclose(counted.log_probability(everything), expected)
    assert counted.entropy == pytest.approx(field.entropy)


def test_a_sample_of_all_of_them_is_all_of_them():
    model = EmpiricalDistribution(DOMAIN, CODES, 25)
    drawn = model.sample(random_state=0)
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, CODES))
    independent = model.sample(20_000, method="iid", random_state=0)
    again = EmpiricalDistribution(DOMAIN, independent, 25)
    assert np.allclose(again.marginal("b"), model.marginal("b"), atol=0.5)


def test_what_is_refused():
    with pytest.raises(ValueError, match="at least one record"):
        EmpiricalDistribution(DOMAIN, np.zeros((0, 3), dtype=int), 5)
    with pytest.raises(ValueError, match="from 0 to 1"):
        EmpiricalDistribution(DOMAIN, [[2, 0, 0]], 5)
    model = EmpiricalDistribution(DOMAIN, CODES, 25)
    with pytest.raises(ValueError, match="asked for and given"):
        model.conditional(["a"], {"a": 1})
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(-1)
