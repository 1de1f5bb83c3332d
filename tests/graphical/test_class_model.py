"""Fits over classes of levels are those over levels, whatever is asked of them."""

from __future__ import annotations

import numpy as np
import pytest

from skdp.graphical import (
    Domain,
    Identity,
    Kronecker,
    LinearMeasurement,
    estimation,
    fit_potentials,
    prefix,
)
from skdp.graphical.class_model import ClassModel
from skdp.graphical.level_merging import LevelMerging

DOMAIN = Domain(("a", "b", "c", "d"), (6, 7, 3, 4))


def measured(seed=0):
    """Measure single rectangles, ranges of one column, and one whole table."""
    rng = np.random.default_rng(seed)
    rows = [(("a", "b"), 2, 3), (("b", "a"), 1, 4), (("a", "c"), 4, 0)]
    found = [
        LinearMeasurement(
            names,
            [rng.uniform(100, 600)],
            9.0,
            Kronecker(
                [prefix(DOMAIN.size(n)).row(k) for n, k in zip(names, at, strict=True)]
            ),
        )
        for names, *at in rows
    ]
    found.append(LinearMeasurement(("b",), [500.0, 200.0], 5.0, np.eye(7)[[0, 3]]))
    return [*found, LinearMeasurement(("c",), [100.0, 300.0, 600.0], 9.0)]


@pytest.fixture
def unmerged(monkeypatch):
    """The fit over all levels, with the same strength of the pull."""

    def fit(measurements, **options):
        with monkeypatch.context() as patch:
            none = classmethod(lambda cls, domain, measurements: cls(domain, {}))
            patch.setattr(estimation.LevelMerging, "of", none)
            return fit_potentials(measurements, DOMAIN, 1000, **options)

    return fit


def test_classes_are_levels_with_the_same_weights():
    merging = LevelMerging.of(DOMAIN, measured())
    assert set(merging.classes) == {"a", "b"}
    of_a, of_b = (merging.classes[name] for name in "ab")
    assert of_a[0] == of_a[1] == of_a[2] != of_a[3] == of_a[4] != of_a[5]
    assert of_b[4] == of_b[5] == of_b[6] and len(set(of_b)) == 5
    assert sorted(merging.sizes["b"]) == [1, 1, 1, 1, 3]
    assert merging.domain.size("d") == 4  # nothing is known of it


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_the_fit_is_that_over_all_levels(unmerged, loss):
    options = {"tau": 0.02, "gap_tol": 1e-9, "loss": loss}
    if loss == "l1":
        options["gap_tol"] = 1e-4
    merged = fit_potentials(measured(), DOMAIN, 1000, **options)
    plain = unmerged(measured(), **options)
    assert merged.merging.classes and not plain.merging.classes
    assert merged.objective == pytest.approx(plain.objective, rel=1e-4, abs=1e-6)
    tables = [f.model().marginal(DOMAIN.names) for f in (merged, plain)]
    np.testing.assert_allclose(*tables, atol=2e-2 if loss == "l1" else 1e-3)
    for clique, counts in merged.marginals.items():
        np.testing.assert_allclose(counts, merged.model().marginal(clique), atol=1e-8)


def test_the_compact_model_answers_as_the_field_of_all_levels():
    fit = fit_potentials(measured(), DOMAIN, 1000)
    compact, plain = fit.compact_model(), fit.model()
    assert isinstance(compact, ClassModel)
    assert compact.domain == plain.domain
    assert compact.entropy == pytest.approx(plain.entropy)
    cliques = [("a",), ("d", "b"), ("c", "a", "b"), DOMAIN.names, ()]
    for clique, table in compact.marginals(cliques).items():
        np.testing.assert_allclose(table, plain.marginal(clique), rtol=1e-10)
        np.testing.assert_allclose(table, compact.marginal(clique))
    codes = np.array([[0, 1, 2, 3], [5, 4, 0, 0], [3, 2, 1, 1]])
    np.testing.assert_allclose(
        compact.log_probability(codes), plain.log_probability(codes), rtol=1e-10
    )
    for evidence in ({"c": 1}, {"b": codes[:, 1], "c": codes[:, 2]}, {}):
        for columns in (("a",), ("d", "a")):
            np.testing.assert_allclose(
                compact.conditional(columns, evidence),
                plain.conditional(columns, evidence),
                rtol=1e-9,
            )
    rng = np.random.default_rng(0)
    weights = {"b": rng.normal(size=(3, 7)), "a": rng.normal(size=6), "d": [1, 0, 0, 2]}
    np.testing.assert_allclose(compact.query(weights), plain.query(weights), rtol=1e-9)


@pytest.mark.parametrize(("method", "deviations"), [("iid", 5), ("round", 2)])
def test_samples_have_the_counts_of_the_model(method, deviations):
    model = fit_potentials(measured(), DOMAIN, 1000).compact_model()
    codes = model.sample(40_000, method=method, random_state=0)
    assert codes.shape == (40_000, 4)
    for columns in (("a",), ("b",), ("a", "b")):
        expected = 40 * model.marginal(columns)
        places = [DOMAIN.axis(name) for name in columns]
        flat = np.ravel_multi_index(codes[:, places].T, expected.shape)
        found = np.bincount(flat, minlength=expected.size).reshape(expected.shape)
        assert (abs(found - expected) <= deviations * np.sqrt(expected) + 3).all()
    again = model.sample(40_000, method=method, random_state=0)
    np.testing.assert_array_equal(codes, again)
    assert model.sample(random_state=0).shape == (1000, 4)


def test_tables_tell_all_levels_apart():
    whole = [
        LinearMeasurement(("a", "b"), np.ones((6, 7)), 1.0),
        LinearMeasurement(("c",), np.ones(3), 1.0, Identity(3)),
        LinearMeasurement(("c", "d"), [5.0], 1.0, np.ones((1, 12))),
    ]
    assert not LevelMerging.of(DOMAIN, whole).classes
    assert LevelMerging.of(DOMAIN, whole).merge(whole[0]) is whole[0]
