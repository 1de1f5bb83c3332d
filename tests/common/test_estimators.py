"""What holds for every estimator: scikit-learn's checks and the house's own."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.families import COVARIANCE, FAMILY_OF, PRIVATE, a_frame, build

import skdp
import skdp.base
from skdp import (
    EMPC,
    PC,
    SVTPC,
    BudgetAccountant,
    GaussianPC,
    MarginalPC,
    PGMEstimator,
    PrivPC,
)
from skdp.exceptions import BudgetExceededError, PrivacyLeakWarning, SchemaError
from skdp.pgm.strategies import MWEM, Independent
from skdp.privacy import Curator


def records_of(name: str, **options):
    return FAMILY_OF[name].frame(**options)


def result_of(name: str, model):
    return FAMILY_OF[name].result(model)


def test_every_public_estimator_is_listed() -> None:
    public = {
        name for name in skdp.__all__ if hasattr(getattr(skdp, name), "get_params")
    }
    assert public == set(FAMILY_OF)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        *(PC(), PrivPC(), PrivPC(random_state=0), PrivPC(1.0, 1e-6)),
        *(MarginalPC(), EMPC(), GaussianPC(), SVTPC()),
        *(getattr(skdp, name)(random_state=0) for name in COVARIANCE.builders),
        PGMEstimator(),
        PGMEstimator(1.0, 1e-6, imputation="draw", random_state=0),
        PGMEstimator(strategy=Independent(), imputation="mean"),
        PGMEstimator(strategy=MWEM(n_rounds=3), random_state=0),
    ]
)
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


SINGLE_ANSWERS = (
    "laplace", "gaussian", "exponential", "noisy_max", "top_k", "subset", "subset_size",
)  # fmt: skip
WITH_STATE = (
    "sparse_vector", "sieve_and_examine", "gaussian_tests", "median_tests",
)  # fmt: skip


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
        """Pays as a curator does, looks at no record, and gives out the tape."""

        def _evaluate(self, query, *args, **kwargs):
            kind = np.int64 if query.integral else np.float64
            return np.zeros(query.shape(self.public), dtype=kind)

        def _sample(self, *args, **kwargs):
            return None

        def __getattribute__(self, name):
            method = super().__getattribute__(name)
            if name in SINGLE_ANSWERS:
                return lambda *a, **kw: (method(*a, **kw), tape.pop(0))[1]
            if name in WITH_STATE:
                return lambda *a, **kw: Player(method(*a, **kw).rounds, tape)
            return method

    return ReplayingCurator


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("options", [{}, {"epsilon": 0.2}, {"delta": 1e-6}])
def test_replay_on_other_records_gives_the_same_pickle(name, options, monkeypatch):
    tape: list = []
    monkeypatch.setattr(skdp.base, "Curator", recording(tape))
    first = build(name, **options).fit(records_of(name))
    n_answers = len(tape)
    assert n_answers
    others = FAMILY_OF[name].others()
    plain = build(name, **options).fit(others)
    assert result_of(name, plain) != result_of(name, first)  # else nothing is shown
    del tape[n_answers:]
    monkeypatch.setattr(skdp.base, "Curator", replaying(tape))
    second = build(name, **options).fit(others)
    assert not tape
    assert pickle.dumps(second) == pickle.dumps(first)


# --- failures -----------------------------------------------------------------------


def state_of(estimator) -> dict:
    return {k: v for k, v in vars(estimator).items() if k != "ledger_"}


@pytest.fixture
def evaluations(monkeypatch) -> list:
    """Queries evaluated so far."""
    evaluate, calls = Curator._evaluate, []

    def noted(self, query, *args, **kwargs):
        calls.append(query)
        return evaluate(self, query, *args, **kwargs)

    monkeypatch.setattr(Curator, "_evaluate", noted)
    return calls


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
@pytest.mark.parametrize("fitted_before", [False, True])
def test_a_fit_that_fails_half_way_leaves_an_exact_ledger(
    name, error, fitted_before, evaluations, monkeypatch
) -> None:
    whole = build(name).fit(records_of(name, seed=3))
    half = (len(evaluations) + 1) // 2
    model = build(name)
    if fitted_before:
        model.fit(records_of(name))
    before = state_of(model)
    evaluate = Curator._evaluate
    evaluations.clear()

    def failing(self, query, *args, **kwargs):
        answer = evaluate(self, query, *args, **kwargs)
        if len(evaluations) == half:
            raise error
        return answer

    monkeypatch.setattr(Curator, "_evaluate", failing)
    with pytest.raises(error):
        model.fit(records_of(name, seed=3))
    assert state_of(model) == before
    entries = model.ledger_.entries
    assert entries and entries == whole.ledger_.entries[: len(entries)]
    assert model.ledger_.total() <= whole.ledger_.total() <= 1.0
    if not fitted_before:
        with pytest.raises(NotFittedError):
            model.privacy_report()


@pytest.mark.parametrize("name", PRIVATE)
def test_a_refused_budget_touches_no_record(name, monkeypatch) -> None:
    def untouchable(self, *args, **kwargs):
        raise AssertionError("a query was evaluated after a refusal")

    monkeypatch.setattr(Curator, "_evaluate", untouchable)
    model = build(name)
    with (
        BudgetAccountant(epsilon=0.5) as accountant,
        pytest.raises(BudgetExceededError, match="No record was touched"),
    ):
        model.fit(records_of(name))
    assert accountant.spent == (0.0, 0.0)
    assert not hasattr(model, "ledger_")


BAD_PARAMETERS = [
    ("epsilon", 0), ("epsilon", -1.0), ("epsilon", np.inf), ("epsilon", np.nan),
    ("epsilon", "much"), ("delta", 1.0), ("delta", -1e-9), ("delta", np.nan),
    ("schema", {"a": 2}), ("random_state", np.random.default_rng(0)),
]  # fmt: skip


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize(("parameter", "value"), BAD_PARAMETERS)
def test_bad_parameters_are_named(name, parameter, value) -> None:
    model = build(name, **{parameter: value})
    with (
        BudgetAccountant(epsilon=5) as accountant,
        pytest.raises(ValueError, match=f"'{parameter}'"),
    ):
        model.fit(records_of(name))
    assert accountant.spent == (0.0, 0.0)


@pytest.mark.parametrize("name", PRIVATE)
def test_sample_weight_is_refused(name) -> None:
    with pytest.raises(TypeError, match="sample_weight"):
        build(name).fit(records_of(name), sample_weight=np.ones(2000))


@pytest.mark.parametrize("name", FAMILY_OF)
def test_another_engine_gives_the_same_result(name) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = records_of(name)
    other = polars.DataFrame({column: frame[column].to_list() for column in frame})
    models = [build(name).fit(records) for records in (frame, other)]
    assert result_of(name, models[0]) == result_of(name, models[1])
    with pytest.raises(SchemaError, match="[Cc]ollect"):
        build(name).fit(other.lazy())


@pytest.mark.parametrize("name", PRIVATE)
def test_clone_pickle_and_pipeline(name) -> None:
    frame = records_of(name)
    model = build(name).fit(frame)
    found = result_of(name, model)
    assert result_of(name, clone(model).fit(frame)) == found
    loaded = pickle.loads(pickle.dumps(model))
    assert result_of(name, loaded) == found
    assert loaded.ledger_.to_json() == model.ledger_.to_json()
    pipeline = make_pipeline(build(name)).fit(frame)
    assert result_of(name, pipeline[-1]) == found


def edges_found(model, X, y=None) -> float:
    return float(model.skeleton_.number_of_edges())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search_in_threads_cannot_exceed_an_accountant(n_jobs) -> None:
    from joblib import parallel_backend

    search = GridSearchCV(
        build("PrivPC"),
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
        make_pipeline(build("PrivPC")),
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


@pytest.mark.parametrize("name", PRIVATE)
def test_privacy_report(name) -> None:
    model = build(name, epsilon=0.7).fit(records_of(name))
    report = model.privacy_report()
    text = str(report)
    words = ("0.7", "differentially private", "Replace one record", "2000", "seed")
    for word in words:
        assert word in text
    assert report.spent <= 0.7
    assert "<dt><b>Guarantee</b></dt>" in report._repr_html_()


@pytest.mark.parametrize("name", PRIVATE)
def test_unseeded_fits_differ_and_seeded_ones_agree(name) -> None:
    frame = records_of(name, n=500)
    unseeded = build(name, epsilon=0.1, random_state=None)
    results = [result_of(name, clone(unseeded).fit(frame)) for _ in range(20)]
    assert any(result != results[0] for result in results)
    one, two = (build(name, epsilon=0.1).fit(frame) for _ in "ab")
    assert pickle.dumps(one) == pickle.dumps(two)


@pytest.mark.parametrize("name", PRIVATE)
def test_the_report_is_that_of_the_results(name, monkeypatch) -> None:
    model = build(name, epsilon=3.0).fit(records_of(name))
    model.set_params(epsilon=0.1, random_state=None)
    before = str(model.privacy_report())
    assert model.privacy_report().epsilon == 3.0
    assert "random_state is set" in before

    def fails(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Curator, "_evaluate", fails)
    with pytest.raises(KeyboardInterrupt):
        model.fit(records_of(name))
    assert str(model.privacy_report()) == before
    assert model.ledger_.epsilon == 0.1


@pytest.mark.parametrize("name", PRIVATE)
def test_numbers_of_numpy_are_numbers(name) -> None:
    single = {k: np.float32(v) for k, v in (("epsilon", 1), ("delta", 1e-6))}
    model = build(name, **single).fit(records_of(name))
    assert 0 < model.ledger_.total() <= 1.0


@pytest.mark.parametrize("name", PRIVATE)
def test_warnings_point_at_the_user(name) -> None:
    with pytest.warns(PrivacyLeakWarning) as seen:
        build(name, schema=None).fit(records_of(name))
    assert seen[0].filename == __file__


@pytest.mark.parametrize("name", PRIVATE)
def test_notebooks_show_the_report(name) -> None:
    model = build(name)
    assert "Privacy report" not in model._repr_html_()
    model.fit(records_of(name))
    for html in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "<details><summary>Privacy report</summary>" in html
        assert "differentially private" in html
        assert name in html
