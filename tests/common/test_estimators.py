"""What holds for every estimator: scikit-learn's checks and the house's own."""

from __future__ import annotations

import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import skdp
import skdp.base
import skdp.causal.discovery
from skdp import PC, BudgetAccountant, Categorical, Numeric, Ordinal, PrivPC, Schema
from skdp.base import PrivateEstimator
from skdp.exceptions import (
    BudgetExceededError,
    ModelTooLargeError,
    PrivacyBudgetWarning,
    PrivacyLeakWarning,
    SchemaError,
    UnorderedLevelsWarning,
)
from skdp.privacy import Curator

SCHEMA = Schema(
    [
        Categorical("a", ("no", "yes")),
        Categorical("b", ("no", "yes")),
        Ordinal("c", (0, 1, 2)),
        Categorical("d", ("no", "yes")),
    ]
)

# A way to build each public estimator; a new one is listed here the day it is written.
BUILDERS = {
    "PC": lambda **kw: PC(**kw),
    "PrivPC": lambda **kw: PrivPC(**{"random_state": 0, **kw}),
}
PRIVATE = [
    name for name in BUILDERS if issubclass(getattr(skdp, name), PrivateEstimator)
]


def a_frame(n: int = 2000, seed: int = 0) -> pd.DataFrame:
    """A chain a -> b -> c and an independent d."""
    rng = np.random.default_rng(seed)
    a = rng.random(n) < 0.5
    b = np.where(rng.random(n) < 0.9, a, ~a)
    c = np.where(rng.random(n) < 0.8, 2 * b, rng.integers(0, 3, n))
    d = rng.random(n) < 0.4
    words = np.array(["no", "yes"])
    return pd.DataFrame(
        {"a": words[a * 1], "b": words[b * 1], "c": c, "d": words[d * 1]}
    )


def test_every_public_estimator_is_listed() -> None:
    public = {
        name for name in skdp.__all__ if hasattr(getattr(skdp, name), "get_params")
    }
    assert public == set(BUILDERS)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([PC(), PrivPC(), PrivPC(random_state=0), PrivPC(1.0, 1e-6)])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)  # asserts; raises where the convention is broken


# --- replay: all that follows the curator's answers is post-processing ---------------


class Recorder:
    """Wraps a mechanism with state and writes down what it lets out."""

    def __init__(self, mechanism, tape) -> None:
        self._mechanism, self._tape = mechanism, tape

    @property
    def rounds_left(self) -> int:
        return self._mechanism.rounds_left

    def ask(self, *args, **kwargs) -> bool:
        answer = self._mechanism.ask(*args, **kwargs)
        self._tape.append((answer, self._mechanism.rounds_left))
        return answer


class Player:
    """Gives out what a `Recorder` wrote down, without any records."""

    def __init__(self, rounds, tape) -> None:
        self.rounds_left, self._tape = rounds, tape

    def ask(self, *args, **kwargs) -> bool:
        answer, self.rounds_left = self._tape.pop(0)
        return answer


SINGLE_ANSWERS = ("laplace", "gaussian", "exponential", "noisy_max")
WITH_STATE = ("sparse_vector", "sieve_and_examine")


def recording(tape):
    class RecordingCurator(Curator):
        def __getattribute__(self, name):
            method = super().__getattribute__(name)
            if name in SINGLE_ANSWERS:
                return lambda *a, **kw: tape.append(method(*a, **kw)) or tape[-1]
            if name in WITH_STATE:
                return lambda *a, **kw: Recorder(method(*a, **kw), tape)
            return method

    return RecordingCurator


def replaying(tape):
    class ReplayingCurator(Curator):
        """Pays as a curator does; gives out the tape."""

        def _evaluate(self, *args, **kwargs):
            raise AssertionError("a replay must not look at records")

        def __getattribute__(self, name):
            method = super().__getattribute__(name)
            if name in SINGLE_ANSWERS:
                return lambda *a, **kw: tape.pop(0)
            if name in WITH_STATE:
                return lambda *a, **kw: Player(method(*a, **kw).rounds, tape)
            return method

    return ReplayingCurator


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("options", [{}, {"epsilon": 0.2}, {"delta": 1e-6}])
def test_replay_on_other_records_gives_the_same_pickle(name, options, monkeypatch):
    build = lambda: BUILDERS[name](schema=SCHEMA, **options)  # noqa: E731
    tape: list = []
    monkeypatch.setattr(skdp.base, "Curator", recording(tape))
    first = build().fit(a_frame(seed=0))
    assert tape
    others = a_frame(seed=1)[::-1].assign(c=0, a="no")
    plain = build().fit(others)
    assert plain.skeleton_.edges != first.skeleton_.edges  # else nothing is shown
    del tape[first.n_tests_ :]
    monkeypatch.setattr(skdp.base, "Curator", replaying(tape))
    second = build().fit(others)
    assert not tape
    assert pickle.dumps(second) == pickle.dumps(first)


# --- failures -----------------------------------------------------------------------


def state_of(estimator) -> dict:
    return {k: v for k, v in vars(estimator).items() if k != "ledger_"}


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
@pytest.mark.parametrize("fitted_before", [False, True])
def test_a_fit_that_fails_half_way_leaves_an_exact_ledger(
    name, error, fitted_before, monkeypatch
) -> None:
    model = BUILDERS[name](schema=SCHEMA)
    if fitted_before:
        model.fit(a_frame())
    before = state_of(model)
    evaluate, calls = Curator._evaluate, []

    def failing(self, query, *args, **kwargs):
        calls.append(query)
        if len(calls) == 3:
            raise error
        return evaluate(self, query, *args, **kwargs)

    monkeypatch.setattr(Curator, "_evaluate", failing)
    with pytest.raises(error):
        model.fit(a_frame(seed=3))
    assert state_of(model) == before
    assert len(model.ledger_.entries) == 1
    assert model.ledger_.total() == pytest.approx(1.0, rel=1e-9)
    assert model.ledger_.total() <= 1.0
    if not fitted_before:
        with pytest.raises(NotFittedError):
            model.privacy_report()


@pytest.mark.parametrize("name", PRIVATE)
def test_a_refused_budget_touches_no_record(name, monkeypatch) -> None:
    def untouchable(self, *args, **kwargs):
        raise AssertionError("a query was evaluated after a refusal")

    monkeypatch.setattr(Curator, "_evaluate", untouchable)
    model = BUILDERS[name](schema=SCHEMA)
    with (
        BudgetAccountant(epsilon=0.5) as accountant,
        pytest.raises(BudgetExceededError, match="No record was touched"),
    ):
        model.fit(a_frame())
    assert accountant.spent == (0.0, 0.0)
    assert not hasattr(model, "ledger_")


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


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_named_before_anything_is_spent(name, case) -> None:
    make, words = BAD_INPUT[case]
    model = BUILDERS[name](schema=SCHEMA)
    with (
        BudgetAccountant(epsilon=5) as accountant,
        pytest.raises(ValueError, match=words),
    ):
        model.fit(make())
    assert accountant.spent == (0.0, 0.0)
    assert vars(model) == vars(clone(model)) | {"schema": model.schema}


@pytest.mark.parametrize("name", BUILDERS)
def test_a_domain_too_large_is_refused_before_anything_is_spent(name) -> None:
    columns = [Numeric(v, 0.0, 1.0, bins=20_000) for v in "ab"]
    model = BUILDERS[name](schema=Schema(columns))
    with (
        BudgetAccountant(epsilon=5) as accountant,
        pytest.raises(ModelTooLargeError, match=r"'a' \(20000 levels\)"),
    ):
        model.fit(np.random.default_rng(0).random((50, 2)))
    assert accountant.spent == (0.0, 0.0)


@pytest.mark.parametrize("name", BUILDERS)
def test_bad_y_is_named(name) -> None:
    model = BUILDERS[name](schema=SCHEMA)
    y = np.arange(2000) % 2 * 1.0
    y[3] = np.nan
    with pytest.raises(SchemaError, match="'target_'"):
        model.fit(a_frame(), y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.fit(a_frame(), y[:50])
    with pytest.raises(SchemaError, match="'target_'"):
        BUILDERS[name]().fit(a_frame().assign(target_=1), np.arange(2000) % 2)


BAD_PARAMETERS = [
    ("epsilon", 0), ("epsilon", -1.0), ("epsilon", np.inf), ("epsilon", np.nan),
    ("epsilon", "much"), ("delta", 1.0), ("delta", -1e-9), ("delta", np.nan),
    ("schema", {"a": 2}), ("random_state", np.random.default_rng(0)),
]  # fmt: skip


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize(("parameter", "value"), BAD_PARAMETERS)
def test_bad_parameters_are_named(name, parameter, value) -> None:
    model = BUILDERS[name](**{"schema": SCHEMA, parameter: value})
    with (
        BudgetAccountant(epsilon=5) as accountant,
        pytest.raises(ValueError, match=f"'{parameter}'"),
    ):
        model.fit(a_frame())
    assert accountant.spent == (0.0, 0.0)


@pytest.mark.parametrize("name", PRIVATE)
def test_sample_weight_is_refused(name) -> None:
    with pytest.raises(TypeError, match="sample_weight"):
        BUILDERS[name](schema=SCHEMA).fit(a_frame(), sample_weight=np.ones(2000))


# --- ugly but lawful data ------------------------------------------------------------


@pytest.mark.parametrize("name", BUILDERS)
def test_constant_and_single_level_columns(name) -> None:
    schema = Schema([*SCHEMA, Categorical("only", ("one",))])
    frame = a_frame().assign(d="no", only="one")
    model = BUILDERS[name](schema=schema).fit(frame)
    assert list(model.skeleton_) == list(schema.names)
    assert model.skeleton_.degree["only"] == 0
    assert model.separating_sets_[frozenset({"only", "a"})] == ()


@pytest.mark.parametrize("name", BUILDERS)
def test_nothing_to_ask(name) -> None:
    schema = Schema([Categorical("a", ("no", "yes")), Categorical("only", ("one",))])
    frame = a_frame()[["a"]].assign(only="one")
    model = BUILDERS[name](schema=schema).fit(frame)
    assert model.skeleton_.number_of_edges() == 0
    if name in PRIVATE:
        assert model.ledger_.total() == 0
        assert "nothing to ask" in str(model.privacy_report())


@pytest.mark.parametrize("name", BUILDERS)
def test_two_records(name) -> None:
    model = BUILDERS[name](schema=SCHEMA).fit(a_frame(2))
    assert model.skeleton_.number_of_nodes() == 4


@pytest.mark.parametrize("name", BUILDERS)
def test_frames_and_arrays_agree(name) -> None:
    frame = a_frame()
    framed = BUILDERS[name](schema=SCHEMA).fit(frame)
    listed = BUILDERS[name](schema=SCHEMA).fit(frame.to_numpy())
    shuffled = BUILDERS[name](schema=Schema(reversed(SCHEMA.columns))).fit(frame)
    coded = BUILDERS[name](schema=SCHEMA).fit(
        frame.astype({"a": pd.CategoricalDtype(["yes", "no"])})
    )
    for model in (listed, shuffled, coded):
        assert nx.utils.graphs_equal(model.causal_graph_, framed.causal_graph_)


def test_another_engine_gives_the_same_graph() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = a_frame()
    framed = BUILDERS["PrivPC"](schema=SCHEMA).fit(frame)
    other = polars.DataFrame({name: frame[name].to_list() for name in frame})
    model = BUILDERS["PrivPC"](schema=SCHEMA).fit(other)
    assert nx.utils.graphs_equal(model.causal_graph_, framed.causal_graph_)
    with pytest.raises(SchemaError, match="[Cc]ollect"):
        BUILDERS["PrivPC"](schema=SCHEMA).fit(other.lazy())


# --- feature selection, pipelines, searches ------------------------------------------


@pytest.mark.parametrize("name", BUILDERS)
def test_selects_neighbours_of_the_target(name) -> None:
    frame = a_frame(20_000)
    schema = Schema([*SCHEMA, Categorical("target_", (False, True))])
    y = frame["b"] == "yes"
    model = BUILDERS[name](schema=schema).fit(frame, y)
    assert list(model.skeleton_)[-1] == "target_"
    chosen = model.get_feature_names_out()
    assert "b" in chosen
    assert set(chosen) == set(model.skeleton_["target_"])
    assert list(model.set_output(transform="pandas").transform(frame)) == list(chosen)


@pytest.mark.parametrize("name", BUILDERS)
def test_selects_connected_features_without_a_target(name) -> None:
    model = BUILDERS[name](schema=SCHEMA).fit(a_frame(20_000))
    connected = [v for v, degree in model.skeleton_.degree if degree]
    assert list(model.get_feature_names_out()) == connected
    assert model.transform(a_frame(20_000)).shape == (20_000, len(connected))


@pytest.mark.parametrize("name", PRIVATE)
def test_only_a_target_off_the_schema_leaks(name) -> None:
    frame = a_frame()
    y = (frame["b"] == "yes").to_numpy()
    model = BUILDERS[name](schema=SCHEMA)
    with pytest.warns(PrivacyLeakWarning, match="'target_'"):
        model.fit(frame, y)
    assert model.inferred_columns_ == ("target_",)
    assert "'target_' were read off" in str(model.privacy_report())


@pytest.mark.parametrize("name", PRIVATE)
def test_clone_pickle_and_pipeline(name) -> None:
    frame = a_frame()
    model = BUILDERS[name](schema=SCHEMA).fit(frame)
    again = clone(model).fit(frame)
    assert nx.utils.graphs_equal(again.skeleton_, model.skeleton_)
    loaded = pickle.loads(pickle.dumps(model))
    assert nx.utils.graphs_equal(loaded.skeleton_, model.skeleton_)
    assert loaded.ledger_.entries == model.ledger_.entries
    pipeline = make_pipeline(BUILDERS[name](schema=SCHEMA)).fit(frame)
    assert nx.utils.graphs_equal(pipeline[-1].skeleton_, model.skeleton_)


def edges_found(model, X, y=None) -> float:
    return float(model.skeleton_.number_of_edges())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search_in_threads_cannot_exceed_an_accountant(n_jobs) -> None:
    from joblib import parallel_backend

    search = GridSearchCV(
        PrivPC(1.0, schema=SCHEMA, random_state=0),
        {"alpha": [0.05, 0.1, 0.2, 0.3]},
        scoring=edges_found, cv=2, n_jobs=n_jobs, refit=False, error_score=np.nan,
    )  # fmt: skip
    with BudgetAccountant(epsilon=5.0) as accountant, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with parallel_backend("threading"):
            search.fit(a_frame())
    assert accountant.spent == (5.0, 0.0)
    scores = np.column_stack(
        [search.cv_results_[f"split{i}_test_score"] for i in (0, 1)]
    )
    assert np.isnan(scores).sum() == 8 - 5


def test_grid_search_in_processes_fails_closed_under_an_accountant() -> None:
    search = GridSearchCV(
        make_pipeline(PrivPC(1.0, schema=SCHEMA, random_state=0)),
        {"privpc__alpha": [0.05, 0.1]},
        scoring=lambda model, X, y=None: 1.0, cv=2, n_jobs=2, refit=False,
    )  # fmt: skip
    with BudgetAccountant(epsilon=100.0) as accountant:
        with warnings.catch_warnings(), pytest.raises(ValueError, match="fits failed"):
            warnings.simplefilter("ignore")
            search.fit(a_frame())
    assert accountant.spent == (0.0, 0.0)
    search.fit(a_frame())  # without an accountant, processes are welcome
    assert np.all(search.cv_results_["mean_test_score"] == 1.0)


# --- the report ----------------------------------------------------------------------


@pytest.mark.parametrize("name", PRIVATE)
def test_privacy_report(name) -> None:
    model = BUILDERS[name](epsilon=0.7, schema=SCHEMA).fit(a_frame())
    report = model.privacy_report()
    text = str(report)
    for words in ("0.7-differentially private", "Replace one record", "2000", "seed"):
        assert words in text
    assert report.spent <= 0.7
    assert "<dt><b>Guarantee</b></dt>" in report._repr_html_()


@pytest.mark.parametrize("name", PRIVATE)
def test_unseeded_fits_differ_and_seeded_ones_agree(name) -> None:
    frame = a_frame(500)
    noise = {
        tuple(sorted(BUILDERS[name](epsilon=0.1, schema=SCHEMA, random_state=None)
        .fit(frame).skeleton_.edges)) for _ in range(20)
    }  # fmt: skip
    assert len(noise) > 1
    one, two = (BUILDERS[name](epsilon=0.1, schema=SCHEMA).fit(frame) for _ in "ab")
    assert pickle.dumps(one) == pickle.dumps(two)


@pytest.mark.parametrize("name", PRIVATE)
def test_the_report_is_that_of_the_results(name, monkeypatch) -> None:
    model = BUILDERS[name](epsilon=3.0, schema=SCHEMA).fit(a_frame())
    model.set_params(epsilon=0.1, random_state=None)
    before = str(model.privacy_report())
    assert "3-differentially private" in before
    assert "random_state is set" in before

    def fails(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Curator, "_evaluate", fails)
    with pytest.raises(KeyboardInterrupt):
        model.fit(a_frame())
    assert str(model.privacy_report()) == before
    assert model.ledger_.epsilon == 0.1


@pytest.mark.parametrize("name", PRIVATE)
def test_a_warning_turned_error_does_not_undo_a_paid_fit(name) -> None:
    model = BUILDERS[name](schema=SCHEMA, max_deletions=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyBudgetWarning, match="1 rounds"):
            model.fit(a_frame())
    assert not model.is_complete_
    assert model.privacy_report().spent <= 1.0


@pytest.mark.parametrize("name", PRIVATE)
def test_a_hopeless_budget_is_named_before_it_is_spent(name) -> None:
    model = BUILDERS[name](epsilon=0.01, schema=SCHEMA)
    with BudgetAccountant(5) as accountant, warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyBudgetWarning, match="perfect dependence"):
            model.fit(a_frame(100))
    assert accountant.spent == (0.0, 0.0)


@pytest.mark.parametrize("name", PRIVATE)
def test_numbers_of_numpy_are_numbers(name) -> None:
    single = {k: np.float32(v) for k, v in (("epsilon", 1), ("delta", 1e-6))}
    model = BUILDERS[name](**single, schema=SCHEMA, alpha=np.float32(0.1))
    assert model.fit(a_frame()).ledger_.total() <= 1.0
    tweaked = BUILDERS[name](schema=SCHEMA, threshold_tweak=np.float32(0.1))
    assert tweaked.fit(a_frame()).ledger_.total() <= 1.0


@pytest.mark.parametrize("name", BUILDERS)
def test_names_of_the_schema_name_the_columns_of_an_array(name) -> None:
    model = BUILDERS[name](schema=SCHEMA).fit(a_frame(20_000).to_numpy())
    connected = [v for v, degree in model.skeleton_.degree if degree]
    assert list(model.get_feature_names_out()) == connected
    upper = model.get_feature_names_out(["A", "B", "C", "D"])
    assert list(upper) == [name.upper() for name in connected]


@pytest.mark.parametrize("name", BUILDERS)
def test_missing_values_that_are_declared_pass_through(name) -> None:
    columns = [Numeric(v, 0, 3, missing=True) for v in "uv"]
    rng = np.random.default_rng(0)
    X = np.where(rng.random((500, 2)) < 0.1, np.nan, rng.random((500, 1)))
    model = BUILDERS[name](schema=Schema(columns))
    assert model.fit_transform(X).shape[0] == 500
    with pytest.raises(ValueError, match="NaN"):
        BUILDERS[name]().fit(X)


@pytest.mark.parametrize("name", BUILDERS)
def test_levels_without_an_order_are_seen(name) -> None:
    schema = Schema([Categorical("a", ("no", "yes")), Categorical("c", (0, 1, 2))])
    with pytest.warns(UnorderedLevelsWarning, match="'c'"):
        BUILDERS[name](schema=schema).fit(a_frame()[["a", "c"]])


@pytest.mark.parametrize("name", PRIVATE)
def test_warnings_point_at_the_user(name) -> None:
    with pytest.warns(PrivacyLeakWarning) as seen:
        BUILDERS[name]().fit(a_frame())
    assert seen[0].filename == __file__


@pytest.mark.parametrize("name", PRIVATE)
def test_categories_of_a_frame_are_named_in_the_report(name) -> None:
    frame = a_frame().astype("category")
    text = str(BUILDERS[name]().fit(frame).privacy_report())
    assert "'a', 'b', 'c', 'd' are the categories" in text


@pytest.mark.parametrize("name", PRIVATE)
def test_a_target_finds_its_own_name_in_the_schema(name) -> None:
    frame = a_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BUILDERS[name](schema=SCHEMA).fit(frame[["a", "c"]], frame["b"])
    assert model.schema_["target_"].levels == ("no", "yes")
    y = pd.Categorical(frame["b"], categories=["no", "yes", "never"])
    declared = BUILDERS[name](schema=SCHEMA).fit(frame[["a", "c"]], y)
    assert declared.schema_["target_"].levels == ("no", "yes", "never")
    assert declared.inferred_columns_ == ()


@pytest.mark.parametrize("name", PRIVATE)
def test_notebooks_show_the_report(name) -> None:
    model = BUILDERS[name](schema=SCHEMA)
    assert "Privacy report" not in model._repr_html_()
    model.fit(a_frame())
    for html in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "<details><summary>Privacy report</summary>" in html
        assert "1-differentially private" in html
        assert name in html
