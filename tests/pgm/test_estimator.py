"""What a fitted density is asked: counts, records, gaps and synthetic tables."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skdp import Categorical, Numeric, Ordinal, PGMEstimator, Schema
from skdp.exceptions import ModelTooLargeError, PrivacyLeakWarning, SchemaError
from skdp.graphical import MarkovRandomField
from skdp.pgm import Workload
from skdp.pgm.model_fitter import ModelFitter
from skdp.pgm.strategies import MST, FixedMarginals, Independent

SCHEMA = Schema(
    [
        Categorical("sex", ("female", "male")),
        Numeric("age", 0, 100, bins=5),
        Ordinal("rooms", (1, 2, 3)),
        Numeric("income", 0.0, 1000.0, bins=4),
        Categorical("owner", (False, True)),
    ]
)
EVERYTHING = FixedMarginals([SCHEMA.names])


def people(n=3000, seed=0):
    """Draw records in which everything depends on age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 101, n)
    return pd.DataFrame(
        {
            "sex": pd.Categorical(np.where(rng.random(n) < 0.4, "male", "female")),
            "age": age,
            "rooms": np.clip(1 + age // 34 + rng.integers(-1, 2, n), 1, 3),
            "income": np.clip(10 * age * rng.random(n), 0, 1000).astype("float32"),
            "owner": rng.random(n) < age / 100,
        }
    )


def estimator(epsilon=5.0, **parameters):
    given = {"schema": SCHEMA, "random_state": 0, **parameters}
    return PGMEstimator(epsilon, **given)


@pytest.fixture(scope="module")
def model():
    return estimator().fit(people())


@pytest.fixture(scope="module")
def exact():
    """A model that holds the full table, nearly without noise."""
    return estimator(1e6, strategy=EVERYTHING, tau=1e-9).fit(people(600))


def full_table(model):
    return model.marginal(SCHEMA.names) / model.n_records_


# Counts -------------------------------------------------------------------------


def test_marginals_are_counts_that_sum_to_n(model):
    for columns in [("age",), ("rooms", "sex"), ("owner", "income", "age"), ()]:
        table = model.marginal(columns)
        assert table.shape == tuple(SCHEMA.n_levels(c) for c in columns)
        assert table.sum() == pytest.approx(3000)
    np.testing.assert_allclose(model.marginal("age"), model.marginal(["age"]))
    truth = np.bincount(SCHEMA["age"].encode(people()["age"]), minlength=5)
    np.testing.assert_allclose(model.marginal("age"), truth, atol=60)
    assert len(model.marginals_) == 5 + 4
    for columns, table in model.marginals_.items():
        np.testing.assert_allclose(table, model.marginal(columns))


def test_standard_deviations_are_those_of_repeated_fits():
    columns = ("age", "rooms")
    frame = people()
    fits = [
        estimator(1.0, strategy=FixedMarginals([columns, ("sex",)]), random_state=seed)
        for seed in range(25)
    ]
    tables = np.array([fit.fit(frame).marginal(columns) for fit in fits])
    counts, std = fits[0].marginal(columns, return_std=True)
    np.testing.assert_array_equal(counts, tables[0])
    truth = pd.crosstab(SCHEMA["age"].encode(frame["age"]), frame["rooms"]).to_numpy()
    error = np.sqrt(np.mean((tables - truth) ** 2, axis=0))
    assert std.mean() == pytest.approx(error.mean(), rel=0.3)
    again = fits[0].marginal(columns, return_std=True)[1]
    np.testing.assert_array_equal(std, again)
    state = pickle.loads(pickle.dumps(fits[0]))
    assert "_repetitions" not in vars(state)


QUERIES = [
    {"sex": "male", "owner": True},
    {"rooms": [1, 3]},
    {"rooms": (2, 3), "sex": ["female"]},
    {"age": (20, 60)},
    {"age": (-5, 30), "income": (0, 625)},
    {"age": np.array([1.0, -2.0, 0.5, 0, 3]), "sex": np.eye(2)},
]


@pytest.mark.parametrize("conditions", QUERIES)
def test_queries_are_weighted_sums_of_the_table(exact, conditions):
    weights = {
        "sex": {"male": [0, 1]}.get(str(conditions.get("sex")), [1, 1]),
        "age": [1] * 5,
        "rooms": [1] * 3,
        "income": [1] * 4,
        "owner": [0, 1] if conditions.get("owner") else [1, 1],
    }
    if "rooms" in conditions:
        weights["rooms"] = [1, 0, 1] if conditions["rooms"] == [1, 3] else [0, 1, 1]
        weights["sex"] = [1, 0] if "sex" in conditions else [1, 1]
    if conditions.get("age") is not None:
        if isinstance(conditions["age"], tuple):
            by_range = {(20, 60): [0, 1, 1, 0, 0], (-5, 30): [1, 0.5, 0, 0, 0]}
            weights["age"] = by_range[conditions["age"]]
        else:
            weights["age"] = conditions["age"]
    if "income" in conditions:
        weights["income"] = [1, 1, 0.5, 0]
    if isinstance(conditions.get("sex"), np.ndarray):
        expected = [
            np.einsum("abcde,b->a", 600 * full_table(exact), weights["age"])[i]
            for i in range(2)
        ]
    else:
        expected = np.einsum(
            "abcde,a,b,c,d,e->", 600 * full_table(exact), *weights.values()
        )
    np.testing.assert_allclose(exact.query(conditions), expected, rtol=1e-9)


def test_conditions_that_make_no_sense_are_named(model):
    for conditions, words in (
        ({"sex": "other"}, "'sex' has no level 'other'"),
        ({"sex": ("female", "male")}, "'sex': a range"),
        ({"age": 30}, "'age' is numeric"),
        ({"height": 3}, "no column 'height'"),
        ({"age": np.ones(3)}, "'age' must have the shape"),
        ({"rooms": (1, 9)}, "no level 9"),
        ({"age": ("a", "b")}, "'age': the ends"),
    ):
        with pytest.raises(ValueError, match=words):
            model.query(conditions)


# Records ------------------------------------------------------------------------


def test_scores_and_predictions_are_those_of_the_table(exact):
    frame, table = people(200, seed=1), full_table(exact)
    codes = [SCHEMA[name].encode(frame[name].to_numpy()) for name in SCHEMA.names]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(
            np.exp(exact.score_samples(frame)), table[tuple(codes)], atol=1e-9
        )
    for place, target in enumerate(SCHEMA.names):
        joint = np.moveaxis(table, place, -1)
        p = joint[tuple(c for j, c in enumerate(codes) if j != place)]
        p = p / p.sum(axis=1, keepdims=True)
        found = exact.predict_proba(frame, target)
        np.testing.assert_allclose(found, p, atol=1e-6)
        lacking = exact.predict_proba(frame.drop(columns=target), target)
        np.testing.assert_array_equal(lacking, found)
    np.testing.assert_array_equal(exact.predict_proba(frame), found)


def test_predictions_do_not_look_at_the_target(model):
    frame = people(20)
    expected = model.predict_proba(frame.drop(columns="rooms"), "rooms")
    for values in ("unheard of", None, -1):
        strange = frame.assign(rooms=values)
        np.testing.assert_array_equal(model.predict_proba(strange, "rooms"), expected)


def test_predictions_sum_out_what_is_missing(exact):
    frame, table = people(50, seed=1), full_table(exact)
    gaps = frame.astype(object)
    gaps.loc[:20, "rooms"] = None
    gaps.loc[10:30, "income"] = np.nan
    found = exact.predict_proba(gaps, "owner")
    sex, age = (SCHEMA[c].encode(frame[c].to_numpy()) for c in ("sex", "age"))
    both = table.sum(axis=(2, 3))[sex, age]
    expected = both / both.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found[10:21], expected[10:21], atol=1e-6)
    whole = exact.predict_proba(frame, "owner")
    np.testing.assert_allclose(found[31:], whole[31:], atol=1e-9)


def test_what_the_model_excludes_gets_the_marginal():
    schema = SCHEMA.select(["sex", "owner"])
    frame = people(400)[["sex", "owner"]].assign(sex="female")
    strategy = FixedMarginals([("sex", "owner")])
    model = estimator(strategy=strategy, schema=schema).fit(frame)
    zeros = {("sex", "owner"): [[0.0, 1.0], [-np.inf, -np.inf]]}
    model.model_ = MarkovRandomField(model.model_.domain, zeros, 400)
    assert model.score_samples(frame.assign(sex="male"))[0] == -np.inf
    p = model.predict_proba(frame.assign(sex="male"), "owner")
    np.testing.assert_allclose(p[0], model.marginal("owner") / 400)


# Gaps ---------------------------------------------------------------------------


def with_gaps(frame, seed=0):
    rng = np.random.default_rng(seed)
    gaps = frame.astype({"age": "float64", "rooms": "Int64", "owner": object})
    for name in gaps:
        chosen = rng.random(len(gaps)) < 0.3
        gaps[name] = gaps[name].mask(chosen)
    return gaps


@pytest.mark.parametrize("imputation", ["mode", "mean", "draw"])
def test_gaps_are_filled_and_nothing_else_is_touched(model, imputation):
    gaps = with_gaps(people(300, seed=2))
    filled = (
        clone(model).set_params(imputation=imputation).fit(people()).transform(gaps)
    )
    assert not filled.isna().any().any()
    assert (filled.dtypes == gaps.dtypes).all()
    known = gaps.notna()
    assert (filled.where(known) == gaps.where(known)).to_numpy()[known].all()
    assert filled.index.equals(gaps.index)
    for column in SCHEMA:
        column.encode(filled[column.name].to_numpy())  # all within the schema


def test_modes_means_and_draws_follow_the_conditional_distribution(exact):
    n = 4000
    frame = pd.DataFrame(
        {"sex": "male", "age": 90.0, "rooms": 3, "income": np.nan, "owner": [True] * n}
    )
    p = exact.predict_proba(frame[:1], "income")[0]
    middles = np.array([125.0, 375, 625, 875])
    for imputation, check in (
        ("mode", lambda x: (x == middles[p.argmax()]).all()),
        ("mean", lambda x: np.allclose(x, p @ middles)),
        ("draw", lambda x: np.allclose(np.histogram(x, 4, (0, 1000))[0] / n, p,
                                       atol=0.03)),
    ):  # fmt: skip
        exact.set_params(imputation=imputation)
        assert check(exact.transform(frame)["income"].to_numpy())
    exact.set_params(imputation="mode")


def test_draws_of_several_gaps_are_joint(exact):
    n = 5000
    frame = pd.DataFrame(
        {"sex": "male", "age": np.nan, "rooms": pd.array([pd.NA] * n, dtype="Int64"),
         "income": 10.0, "owner": [True] * n}
    )  # fmt: skip
    drawn = exact.set_params(imputation="draw").transform(frame)
    exact.set_params(imputation="mode")
    table = full_table(exact)[1, :, :, 0, 1]
    table = table / table.sum()
    codes = [SCHEMA[c].encode(drawn[c].to_numpy()) for c in ("age", "rooms")]
    counts = np.zeros((5, 3))
    np.add.at(counts, tuple(codes), 1)
    np.testing.assert_allclose(counts / n, table, atol=0.03)


def test_missing_values_off_the_schema_become_a_level():
    frame = with_gaps(people(500))[["age", "owner"]]
    with pytest.warns(PrivacyLeakWarning):
        model = PGMEstimator(5.0, random_state=0).fit(frame)
    assert all(column.missing for column in model.schema_)
    assert model.marginal("age")[-1] == pytest.approx(150, abs=40)
    assert not model.transform(frame).isna().any().any()
    assert model.sample()["age"].isna().sum() == pytest.approx(150, abs=40)
    known = frame.notna().all(axis=1)
    np.testing.assert_array_equal(model.transform(frame)[known], frame[known])
    with pytest.raises(SchemaError, match="'age'"):
        estimator(schema=SCHEMA.select(["age", "owner"])).fit(frame)


def test_arrays_and_other_engines_are_filled():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    X = np.column_stack([people()["age"], people()["income"]]).astype("float32")
    schema = SCHEMA.select(["age", "income"])
    model = estimator(schema=schema).fit(X)
    gaps = X[:50].copy()
    gaps[::3, 0], gaps[::7, 1] = np.nan, np.nan
    filled = model.transform(gaps)
    assert filled.dtype == np.float32
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[1::3][:, 0], gaps[1::3][:, 0])
    frame = polars.DataFrame({"age": X[:, 0].tolist(), "income": X[:, 1].tolist()})
    framed = estimator(schema=schema).fit(frame)
    holes = frame.with_columns(
        polars.when(polars.int_range(polars.len()) % 3 == 0)
        .then(None)
        .otherwise(polars.col("age"))
        .alias("age")
    )
    done = framed.transform(holes)
    assert isinstance(done, polars.DataFrame)
    assert done.null_count().sum_horizontal().item() == 0
    assert done.schema == holes.schema


# Synthetic tables ---------------------------------------------------------------


def total_variation(model, frame, columns):
    codes = [SCHEMA[c].encode(frame[c].to_numpy()) for c in columns]
    counts = np.zeros([SCHEMA.n_levels(c) for c in columns])
    np.add.at(counts, tuple(codes), 1)
    return abs(counts / len(frame) - model.marginal(columns) / 3000).sum() / 2


@pytest.mark.parametrize(("method", "most"), [("round", 0.03), ("iid", 0.04)])
def test_samples_look_like_the_records_and_have_the_model_s_pairs(model, method, most):
    frame = model.sample(method=method)
    original = people()
    assert frame.shape == original.shape
    assert list(frame) == list(original)
    assert frame.dtypes.drop("sex").equals(original.dtypes.drop("sex"))
    assert list(frame["sex"].cat.categories) == ["female", "male"]
    assert frame["age"].between(0, 100).all()
    assert frame["age"].nunique() > 50
    for pair in combinations(SCHEMA.names, 2):
        assert total_variation(model, frame, pair) < most


def test_samples_are_reproducible_and_of_any_size(model):
    pd.testing.assert_frame_equal(model.sample(50), model.sample(50))
    assert model.sample(0).shape == (0, 5)
    unseeded = estimator(random_state=None).fit(people())
    assert not unseeded.sample(50).equals(unseeded.sample(50))
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(-1)


def test_whole_numbers_stay_in_their_bins():
    schema = Schema([Numeric("x", -2.5, 7, bins=4), Numeric("y", 0.2, 0.8, bins=2)])
    frame = pd.DataFrame({"x": np.arange(-2, 8), "y": [0.5] * 10})
    model = estimator(schema=schema, strategy="independent").fit(frame)
    drawn = model.sample(2000)
    assert drawn["x"].dtype == np.int64
    codes = schema["x"].encode(drawn["x"])
    counts = np.bincount(codes, minlength=4)
    np.testing.assert_allclose(counts / 2000, model.marginal("x") / 10, atol=1e-3)


def test_samples_have_the_engine_of_the_records():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = people()
    model = estimator().fit(polars.from_pandas(frame))
    drawn = model.sample(40)
    assert isinstance(drawn, polars.DataFrame)
    assert drawn.schema["age"] == polars.Int64
    assert drawn.schema["income"] == polars.Float32
    text = estimator(schema=SCHEMA.select(["sex"])).fit(frame[["sex"]].to_numpy(str))
    assert text.sample(3).dtype.kind == "U"
    short = frame[["sex"]].assign(sex="male").to_numpy(str)
    assert estimator(schema=text.schema).fit(short)._form == text._form
    mixed = estimator().fit(frame.astype(object).to_numpy()).sample(3)
    assert mixed.dtype == object
    numbers = frame[["age", "rooms"]].to_numpy()
    whole = estimator(schema=SCHEMA.select(["age", "rooms"])).fit(numbers).sample(3)
    assert whole.dtype == numbers.dtype


WIDE = Schema([Numeric("x", -300, 1000, bins=4), Ordinal("y", (1, 2, 500))])


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "Int8", "UInt8"])
@pytest.mark.parametrize("engine", ["pandas", "array", "polars"])
def test_narrow_integers_do_not_wrap_around(kind, engine):
    low = 0 if kind.lower().startswith("u") else -300
    schema = Schema([Numeric("x", low, 70_000, bins=4), WIDE["y"]])
    frame = pd.DataFrame({"x": [5, 100] * 20, "y": [1, 2] * 20})
    if engine == "array":
        X = frame.to_numpy(kind.lower())
    elif engine == "pandas":
        X = frame.astype(kind)
    else:
        polars = pytest.importorskip("polars", reason="polars is not installed")
        X = polars.from_pandas(frame.astype(kind))
    drawn = estimator(0.01, schema=schema, strategy="independent").fit(X).sample(500)
    table = np.asarray(drawn)
    assert table.dtype.kind in "iuO"
    assert low <= table[:, 0].min() and 2000 < table[:, 0].max() <= 70_000
    assert set(table[:, 1].tolist()) <= {1, 2, 500}
    assert 500 in table[:, 1]


def test_narrow_integers_are_filled():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    full = pd.DataFrame({"x": [900] * 40, "y": [500] * 40})
    model = estimator(schema=WIDE, strategy="independent").fit(full)
    gaps = pd.DataFrame({"x": [None, 5], "y": [1, 2]}).astype("Int8")
    assert model.transform(gaps)["x"].tolist()[0] > 600
    filled = model.transform(polars.from_pandas(gaps))["x"].to_list()
    assert filled[0] > 600
    assert filled[1] == 5


def test_the_type_of_nested_lists_is_not_looked_for():
    rows = [[1, 2], [-300, 1], [7, 500]]
    strange = [[1.5, 2], [2.5, 1], [-0.5, 2]]
    forms = [estimator(schema=WIDE).fit(X)._form for X in (rows, strange)]
    assert forms[0] == forms[1]
    drawn = estimator(schema=WIDE).fit(rows).sample(20)
    assert drawn.shape == (20, 2)
    assert drawn.dtype.kind == "f"
    words = [["male", 30], ["female", 20]]
    mixed = estimator(schema=SCHEMA.select(["sex", "age"])).fit(words).sample(9)
    assert set(mixed[:, 0]) <= {"male", "female"}


# scikit-learn -------------------------------------------------------------------


def test_grid_search_over_strategy_and_epsilon():
    grid = {"strategy": ["mst", "independent", MST(merge_below=1.0)], "epsilon": [1, 9]}
    search = GridSearchCV(estimator(), grid, cv=2).fit(people(600))
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    nested = estimator(strategy=MST()).set_params(strategy__merge_below=7.0)
    assert nested.strategy.merge_below == 7.0
    assert clone(nested).strategy is not nested.strategy


def test_imputation_in_front_of_a_classifier():
    frame = people(600)
    X, y = with_gaps(frame[["sex", "age", "rooms", "income", "owner"]]), frame["owner"]
    X = X.drop(columns="owner")
    schema = Schema(
        [Categorical("sex", ("female", "male"), missing=True),
         Numeric("age", 0, 100, bins=5, missing=True),
         Ordinal("rooms", (1, 2, 3), missing=True),
         Numeric("income", 0.0, 1000.0, bins=4, missing=True)]
    )  # fmt: skip
    pipeline = make_pipeline(
        estimator(schema=schema),
        OneHotEncoder(handle_unknown="ignore", min_frequency=5),
        LogisticRegression(max_iter=200),
    )
    assert pipeline.fit(X, y).score(X, y) > 0.6


def test_pandas_output_and_names():
    model = estimator().fit(people()).set_output(transform="pandas")
    assert list(model.transform(people(5))) == list(SCHEMA.names)
    assert list(model.get_feature_names_out()) == list(SCHEMA.names)


def test_methods_refuse_before_a_fit_and_other_columns_after_it(model):
    for method in ("sample", "marginal", "query"):
        with pytest.raises(NotFittedError):
            getattr(PGMEstimator(), method)({"age": (0, 1)} if method == "query" else 1)
    for method in ("transform", "score_samples", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(PGMEstimator(), method)(people(5))
        with pytest.raises(ValueError, match="feature names"):
            getattr(model, method)(people(5).iloc[:, ::-1])
    with pytest.raises(SchemaError, match="no column 'height'"):
        model.predict_proba(people(5), "height")


def test_a_marginal_too_large_is_refused():
    names = [f"x{i}" for i in range(12)]
    schema = Schema([Numeric(name, 0, 1, bins=10) for name in names])
    X = np.random.default_rng(0).random((50, 12))
    model = estimator(schema=schema, strategy=Independent()).fit(X)
    with pytest.raises(ModelTooLargeError, match="8e.03 GB"):
        model.marginal(names)
    assert model.query(dict.fromkeys(names, (0, 0.5))) >= 0


@pytest.mark.parametrize(
    ("solver", "tau"), [("newton", 0), ("mirror_descent", 0.1), ("forest", 0)]
)
def test_a_solver_that_cannot_run_costs_nothing(solver, tau):
    model = estimator(solver=solver, tau=tau)
    with pytest.raises(ValueError, match="tau|solver"):
        model.fit(people(50))
    assert not hasattr(model, "ledger_")


@pytest.mark.parametrize("solver", ["auto", "accelerated", "dual_averaging"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_loss_alone_is_fitted_by_every_solver(solver):
    model = estimator(50.0, solver=solver, tau=0).fit(people())
    assert model.tau_ == 0
    np.testing.assert_allclose(
        model.marginal("sex"), np.bincount(people()["sex"].cat.codes), atol=5
    )


@pytest.mark.parametrize("solver", ["auto", "accelerated", "mirror_descent"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_marginals_of_the_fit_are_those_of_the_model(solver):
    strategy = FixedMarginals([("rooms", "sex"), ("age", "rooms"), ("rooms",)])
    model = estimator(strategy=strategy, solver=solver).fit(people(300))
    assert list(model.marginals_) == [m.columns for m in model.measurements_]
    for columns, table in model.marginals_.items():
        np.testing.assert_allclose(table, model.marginal(columns), rtol=1e-6, atol=1e-6)


def test_a_warning_that_is_an_error_keeps_what_was_paid_for():
    model = estimator(gap_tol=1e-30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="gap"):
            model.fit(people(200))
    assert len(model.ledger_)
    assert model.sample(5).shape == (5, 5)
    assert model.gap_ > 0
    with pytest.warns(ConvergenceWarning, match="gap") as shown:
        model.fit(people(200))
    assert shown[0].filename == __file__


def test_a_fit_that_measures_nothing_has_all_attributes():
    schema = Schema([Categorical("owner", ("no",)), Categorical("pet", ("dog",))])
    X = pd.DataFrame({"owner": 50 * ["no"], "pet": 50 * ["dog"]})
    model = estimator(strategy="independent", schema=schema).fit(X)
    assert (model.loss_, model.gap_, model.tau_, model.n_oracle_calls_) == (0, 0, 0, 0)
    assert model.marginals_ == {}
    assert len(model.ledger_) == 0
    np.testing.assert_allclose(model.marginal(["owner"]), [50])


def test_verbose_says_what_is_bought(capsys):
    estimator(verbose=1).fit(people())
    text = capsys.readouterr().out
    assert "measured 5 marginals" in text
    assert "chose the pair" in text
    assert "epsilon left: 0" in text


def test_the_report_names_what_was_measured(model):
    text = str(model.privacy_report())
    assert "measured marginals: sex, age, rooms, income, owner, " in text
    assert " x " in text


@pytest.mark.parametrize("strategy", ["mst", "independent", "priv_bayes"])
def test_a_workload_that_is_not_used_is_said_to_be_so(strategy):
    workload = Workload([SCHEMA.names[:2]])
    with pytest.warns(UserWarning, match="does not look at the workload"):
        estimator(strategy=strategy, workload=workload).fit(people(200))
    with pytest.raises(SchemaError, match="nope"):
        estimator(strategy=strategy, workload=Workload(["nope"])).fit(people(200))


def test_all_of_the_budget_is_spent_where_all_levels_are_rare():
    model = estimator(0.01).fit(people(60))
    assert model.ledger_.total() == pytest.approx(0.01, rel=1e-9)


def test_only_the_last_fit_of_a_run_is_warned_of(monkeypatch):
    fits = []

    def fit(self, measurements, warm_start=None):
        fits.append(measurements)
        warnings.warn(f"gap {len(fits)}", ConvergenceWarning, stacklevel=2)
        return original(self, measurements, warm_start)

    original = ModelFitter.__call__
    monkeypatch.setattr(ModelFitter, "__call__", fit)
    with pytest.warns(ConvergenceWarning) as caught:
        estimator(strategy="mst").fit(people())
    assert len(fits) == 2
    assert [str(w.message) for w in caught] == ["gap 2"]
