"""What holds for every causal estimator: input, search, feature selection."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from support.families import CAUSAL, PRIVATE, a_frame, build

from skdp import BudgetAccountant, Categorical, Numeric, Schema
from skdp.exceptions import (
    ModelTooLargeError,
    PrivacyLeakWarning,
    SchemaError,
    UnorderedLevelsWarning,
)

SCHEMA = CAUSAL.schema
NAMES = list(CAUSAL.builders)
PRIVATE_NAMES = [name for name in NAMES if name in PRIVATE]


def with_value(column: str, value) -> pd.DataFrame:
    frame = a_frame().astype(object)
    frame.loc[7, column] = value
    return frame


def duplicated() -> pd.DataFrame:
    return a_frame().rename(columns={"b": "a"})


BAD_INPUT = {
    "NaN in a category": (lambda: with_value("a", np.nan), "'a'"),
    "None in a category": (lambda: with_value("b", None), "'b'"),
    "NaN in a number": (lambda: with_value("c", np.nan), "'c'"),
    "infinity in a number": (lambda: with_value("c", np.inf), "'c'"),
    "unseen level": (lambda: with_value("d", "perhaps"), "'d'"),
    "number outside": (lambda: with_value("c", 17), "'c'"),
    "text in a number": (lambda: with_value("c", "many"), "'c'"),
    "duplicate names": (duplicated, "'a'"),
    "unknown column": (lambda: a_frame().assign(e=1), "'e'"),
    "column names that are no text": (
        lambda: a_frame().set_axis(range(4), axis=1),
        "0",
    ),
    "one row": (lambda: a_frame(1), "1 sample"),
    "no rows": (lambda: a_frame(0), "0 sample"),
    "no columns": (lambda: a_frame()[[]], "0 feature"),
    "wrong number of columns": (lambda: a_frame().to_numpy()[:, :3], "3 columns"),
    "one dimension": (lambda: a_frame()["a"].to_numpy(), "2D"),
    "complex numbers": (lambda: np.ones((9, 4), dtype=complex), "omplex"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_named_before_anything_is_spent(name, case) -> None:
    make, words = BAD_INPUT[case]
    model = build(name)
    with (
        BudgetAccountant(epsilon=5) as accountant,
        pytest.raises(ValueError, match=words),
    ):
        model.fit(make())
    assert accountant.spent == (0.0, 0.0)
    assert vars(model) == vars(clone(model)) | {"schema": model.schema}


@pytest.mark.parametrize("name", NAMES)
def test_a_domain_too_large_is_refused_before_anything_is_spent(name) -> None:
    columns = [Numeric(v, 0.0, 1.0, bins=20_000) for v in "ab"]
    model = build(name, schema=Schema(columns))
    with (
        BudgetAccountant(epsilon=5) as accountant,
        pytest.raises(ModelTooLargeError, match=r"'a' \(20000 levels\)"),
    ):
        model.fit(np.random.default_rng(0).random((50, 2)))
    assert accountant.spent == (0.0, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_bad_y_is_named(name) -> None:
    model = build(name)
    y = np.arange(2000) % 2 * 1.0
    y[3] = np.nan
    with pytest.raises(SchemaError, match="'target_'"):
        model.fit(a_frame(), y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.fit(a_frame(), y[:50])
    with pytest.raises(SchemaError, match="'target_'"):
        build(name, schema=None).fit(a_frame().assign(target_=1), np.arange(2000) % 2)


@pytest.mark.parametrize("name", NAMES)
def test_constant_and_single_level_columns(name) -> None:
    schema = Schema([*SCHEMA, Categorical("only", ("one",))])
    frame = a_frame().assign(d="no", only="one")
    model = build(name, schema=schema).fit(frame)
    assert list(model.skeleton_) == list(schema.names)
    assert model.skeleton_.degree["only"] == 0
    assert model.separating_sets_[frozenset({"only", "a"})] == ()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_ask(name) -> None:
    schema = Schema([Categorical("a", ("no", "yes")), Categorical("only", ("one",))])
    frame = a_frame()[["a"]].assign(only="one")
    model = build(name, schema=schema).fit(frame)
    assert model.skeleton_.number_of_edges() == 0
    if name in PRIVATE_NAMES:
        assert model.ledger_.total() == 0
        assert "nothing to ask" in str(model.privacy_report())


@pytest.mark.parametrize("name", NAMES)
def test_two_records(name) -> None:
    model = build(name).fit(a_frame(2))
    assert model.skeleton_.number_of_nodes() == 4


@pytest.mark.parametrize("name", NAMES)
def test_frames_and_arrays_agree(name) -> None:
    frame = a_frame()
    framed = build(name).fit(frame)
    listed = build(name).fit(frame.to_numpy())
    shuffled = build(name, schema=Schema(reversed(SCHEMA.columns))).fit(frame)
    coded = build(name).fit(frame.astype({"a": pd.CategoricalDtype(["yes", "no"])}))
    for model in (listed, shuffled, coded):
        assert nx.utils.graphs_equal(model.causal_graph_, framed.causal_graph_)


@pytest.mark.parametrize("name", NAMES)
def test_selects_neighbours_of_the_target(name) -> None:
    frame = a_frame(20_000)
    schema = Schema([*SCHEMA, Categorical("target_", (False, True))])
    y = frame["b"] == "yes"
    model = build(name, schema=schema).fit(frame, y)
    assert list(model.skeleton_)[-1] == "target_"
    chosen = model.get_feature_names_out()
    assert "b" in chosen
    assert set(chosen) == set(model.skeleton_["target_"])
    assert list(model.set_output(transform="pandas").transform(frame)) == list(chosen)


@pytest.mark.parametrize("name", NAMES)
def test_selects_connected_features_without_a_target(name) -> None:
    model = build(name).fit(a_frame(20_000))
    connected = [v for v, degree in model.skeleton_.degree if degree]
    assert list(model.get_feature_names_out()) == connected
    assert model.transform(a_frame(20_000)).shape == (20_000, len(connected))


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_only_a_target_off_the_schema_leaks(name) -> None:
    frame = a_frame()
    y = (frame["b"] == "yes").to_numpy()
    model = build(name)
    with pytest.warns(PrivacyLeakWarning, match="'target_'"):
        model.fit(frame, y)
    assert model.inferred_columns_ == ("target_",)
    assert "'target_' were read off" in str(model.privacy_report())


@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_schema_name_the_columns_of_an_array(name) -> None:
    model = build(name).fit(a_frame(20_000).to_numpy())
    connected = [v for v, degree in model.skeleton_.degree if degree]
    assert list(model.get_feature_names_out()) == connected
    upper = model.get_feature_names_out(["A", "B", "C", "D"])
    assert list(upper) == [name.upper() for name in connected]


@pytest.mark.parametrize("name", NAMES)
def test_missing_values_that_are_declared_pass_through(name) -> None:
    columns = [Numeric(v, 0, 3, missing=True) for v in "uv"]
    rng = np.random.default_rng(0)
    X = np.where(rng.random((500, 2)) < 0.1, np.nan, rng.random((500, 1)))
    model = build(name, schema=Schema(columns))
    assert model.fit_transform(X).shape[0] == 500
    with pytest.raises(ValueError, match="NaN"):
        build(name, schema=None).fit(X)


@pytest.mark.parametrize("name", NAMES)
def test_levels_without_an_order_are_seen(name) -> None:
    schema = Schema([Categorical("a", ("no", "yes")), Categorical("c", (0, 1, 2))])
    with pytest.warns(UnorderedLevelsWarning, match="'c'"):
        build(name, schema=schema, independence_test="kendall").fit(
            a_frame()[["a", "c"]]
        )


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_categories_of_a_frame_are_named_in_the_report(name) -> None:
    frame = a_frame().astype("category")
    text = str(build(name, schema=None).fit(frame).privacy_report())
    assert "'a', 'b', 'c', 'd' are the categories" in text


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_a_target_finds_its_own_name_in_the_schema(name) -> None:
    frame = a_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = build(name).fit(frame[["a", "c"]], frame["b"])
    assert model.schema_["target_"].levels == ("no", "yes")
    y = pd.Categorical(frame["b"], categories=["no", "yes", "never"])
    declared = build(name).fit(frame[["a", "c"]], y)
    assert declared.schema_["target_"].levels == ("no", "yes", "never")
    assert declared.inferred_columns_ == ()
