"""MarginalPC: what it buys, what a refit costs, what it finds and what it refuses."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations
from math import isinf

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.exceptions import NotFittedError
from support.families import a_frame, build

import skdp.base
from skdp import (
    BudgetAccountant,
    Categorical,
    MarginalPC,
    Ordinal,
    PrivPC,
    Schema,
)
from skdp.datasets import NETWORK_NAMES, load_bayesian_network
from skdp.exceptions import ModelTooLargeError, PrivacyBudgetWarning
from skdp.metrics import skeleton_f1_score
from skdp.privacy import Curator, zcdp_from_dp
from skdp.queries import Batch, Interactions, PairInteractions
from skdp.records import CountTable
from skdp.stats.interactions import places_of

ASIA = load_bayesian_network("asia")
TESTS = ("cmh", "kendall", "total_variation", "strata_chi2", "both")


@pytest.fixture(scope="module")
def asia():
    return ASIA.sample(100_000, random_state=0)


def wide_frame(n=20_000, d=14, seed=0):
    """A tree of unequal levels, two common effects, and three bystanders."""
    rng = np.random.default_rng(seed)
    columns = {}
    for i in range(d):
        levels = 2 + i % 3
        drawn = rng.integers(0, levels, n)
        if 0 < i < d - 3:
            cause = columns[f"v{(i - 1) // 2}"]
            if i in (6, 9):  # of two causes, not additively
                cause = cause * columns[f"v{i - 2}"]
            drawn = np.where(rng.random(n) < 0.7, cause % levels, drawn)
        columns[f"v{i}"] = drawn
    return pd.DataFrame(columns)


WIDE = Schema([Ordinal(f"v{i}", range(2 + i % 3)) for i in range(14)])
PAIRS = {"source": "pairs", "delta": 1e-6, "schema": WIDE, "random_state": 0}


@pytest.fixture(scope="module")
def wide():
    return wide_frame()


def on_table(records, **options):
    options = {"schema": ASIA.schema, "random_state": 0, **options}
    return MarginalPC(**options).fit(records)


def on_pairs(records, **options):
    return MarginalPC(**{**PAIRS, **options}).fit(records)


def result(model):
    """All that a search leaves, in comparable form."""
    return (
        list(model.skeleton_.edges), model.edges_, model.separating_sets_,
        model.adjacency_matrix_.tolist(), model.n_tests_, model.orientation_conflicts_,
    )  # fmt: skip


# The ledger ------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.7])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_table_is_one_pure_purchase_of_all_epsilon(asia, epsilon, delta):
    model = on_table(asia, epsilon=epsilon, delta=delta)
    (entry,) = model.ledger_.entries
    assert (entry.mechanism, entry.norm, entry.sensitivity) == ("laplace", "L1", 2.0)
    assert entry.epsilon == epsilon == model.ledger_.total(0.0)
    assert entry.scale == pytest.approx(2 / epsilon, rel=1e-12)
    assert model.ledger_.total() <= epsilon


@pytest.fixture
def curators(monkeypatch):
    """Collect the curators that fits open."""
    opened = []

    class Spy(Curator):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            opened.append(self)

    monkeypatch.setattr(skdp.base, "Curator", Spy)
    return opened


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-6), (1.0, 1e-9), (10.0, 1e-5)])
def test_the_three_stages_are_all_of_the_budget_and_no_more(
    wide, epsilon, delta, curators
):
    model = on_pairs(wide, epsilon=epsilon, delta=delta)
    rho = zcdp_from_dp(epsilon, delta)
    entries = model.ledger_.entries
    assert 1 <= len(entries) <= 3
    assert {entry.mechanism for entry in entries} == {"gaussian"}
    assert all(isinf(entry.epsilon) for entry in entries)
    spent = sum(entry.rho for entry in entries)
    assert spent <= rho
    assert model.ledger_.total() <= epsilon
    assert entries[0].rho == pytest.approx(0.45 * rho, rel=1e-9)
    if len(entries) == 3:
        assert entries[2].rho == pytest.approx(0.10 * rho, rel=1e-9)
        assert spent == pytest.approx(rho, rel=1e-12)
        assert model.ledger_.total() == pytest.approx(epsilon, rel=1e-6)
    # Every look at the records is the one that its entry paid for.
    (curator,) = curators
    assert [access.entry for access in curator.trace] == list(range(len(entries)))
    kinds = (Interactions, PairInteractions, Batch)[: len(entries)]
    assert all(map(isinstance, [a.query for a in curator.trace], kinds))
    for access, entry in zip(curator.trace, entries, strict=True):
        sensitivity = access.query.sensitivity(curator.public, 2)
        assert entry.sensitivity == sensitivity
        assert entry.scale == pytest.approx(sensitivity / np.sqrt(2 * entry.rho))


def test_a_generous_budget_buys_all_three_stages(wide):
    model = on_pairs(wide, epsilon=10.0)
    assert len(model.ledger_) == 3
    assert model.ledger_.total() == pytest.approx(10.0, rel=1e-6)
    assert model.tables_


def test_shares_that_leave_something_leave_it_unspent(wide):
    model = on_pairs(wide, epsilon=10.0, stage_shares=(0.3, 0.3, 0.1))
    rho = zcdp_from_dp(10.0, 1e-6)
    rhos = [entry.rho for entry in model.ledger_]
    assert rhos == pytest.approx([0.3 * rho, 0.3 * rho, 0.1 * rho], rel=1e-9)
    assert model.ledger_.total() < 10.0


@pytest.mark.parametrize("max_order", [0, 1])
def test_no_tables_are_bought_for_a_search_that_does_not_reach_them(wide, max_order):
    model = on_pairs(wide, epsilon=10.0, max_order=max_order)
    assert model.tables_ == {}
    assert len(model.ledger_) == 2
    assert max(map(len, model.separating_sets_.values())) <= max_order


# Refits ----------------------------------------------------------------------------

RELEASES = {
    "table": lambda: MarginalPC(schema=ASIA.schema, random_state=0),
    "pairs": lambda: MarginalPC(3.0, **PAIRS),
}
each_source = pytest.mark.parametrize("source", RELEASES)


@pytest.fixture(scope="module")
def fits(asia, wide):
    """Pickles of one fit on each release."""
    records = {"table": asia, "pairs": wide}
    return {s: pickle.dumps(make().fit(records[s])) for s, make in RELEASES.items()}


CHANGES = [
    {"alpha": 0.2}, {"alpha": 1e-9}, {"max_order": 0}, {"max_order": 1},
    {"denoise": None}, {"denoise": "calibrated"}, {"keep_rule": False},
    {"independence_test": "kendall", "alpha": 0.05},
]  # fmt: skip


@each_source
def test_a_refit_costs_nothing_and_can_be_undone(fits, source, curators):
    model = pickle.loads(fits[source])
    before, entries, total = (
        result(model), model.ledger_.entries, model.ledger_.total()
    )  # fmt: skip
    released = pickle.dumps((model.tables_, model.gram_))
    defaults = model.get_params()
    different = 0
    for change in CHANGES:
        assert model.refit(**change) is model
        assert model.ledger_.entries == entries
        assert model.ledger_.total() == total
        assert {name: getattr(model, name) for name in change} == change
        different += result(model) != before
        model.refit(**{name: defaults[name] for name in change})
        assert result(model) == before
    assert different >= 5
    assert pickle.dumps((model.tables_, model.gram_)) == released
    assert not curators  # nobody was given records


@each_source
def test_a_refit_under_an_accountant_is_free(fits, source):
    model = pickle.loads(fits[source])
    with BudgetAccountant(epsilon=1e-6) as accountant:
        model.refit(alpha=0.01)
    assert accountant.spent == (0.0, 0.0)


def test_a_refit_is_what_a_fit_with_these_parameters_would_be(asia):
    for change in ({"alpha": 0.01}, {"independence_test": "both"}, {"max_order": 1}):
        refitted = on_table(asia[:5000]).refit(**change)
        assert result(refitted) == result(on_table(asia[:5000], **change))


@each_source
@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 2.0}, {"delta": 1e-6}, {"source": "table"}, {"schema": None},
        {"stage_shares": (0.5, 0.4, 0.1)}, {"random_state": 1}, {"nonsense": 1},
        {"alpha": 0.01, "epsilon": 2.0}, {"schema__columns": ()},
    ],
    ids=str,
)  # fmt: skip
def test_what_decides_the_release_cannot_be_refitted(fits, source, change):
    model = pickle.loads(fits[source])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="refit cannot change .*" + max(change)):
        model.refit(**change)
    assert pickle.dumps(model) == before


@each_source
@pytest.mark.parametrize(
    "change",
    [{"alpha": 0.0}, {"alpha": "small"}, {"max_order": -1}, {"denoise": "half"},
     {"independence_test": "spearman"}, {"keep_rule": "yes"}],
    ids=str,
)  # fmt: skip
def test_a_failing_refit_leaves_the_estimator_as_it_was(fits, source, change):
    model = pickle.loads(fits[source])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=f"'{next(iter(change))}'"):
        model.refit(**{"max_order": 1, **change})
    assert pickle.dumps(model) == before


def test_an_interrupted_refit_leaves_the_estimator_as_it_was(fits, monkeypatch):
    model = pickle.loads(fits["table"])
    before = pickle.dumps(model)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("skdp.causal.table_release.learn_skeleton", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.refit(alpha=0.01)
    assert pickle.dumps(model) == before


def test_there_is_no_refit_before_a_fit():
    with pytest.raises(NotFittedError):
        MarginalPC().refit(alpha=0.01)


def test_a_refit_is_reported_with_the_budget_of_its_release(fits):
    model = pickle.loads(fits["table"])
    report = model.refit(alpha=0.01).privacy_report()
    assert (report.epsilon, report.spent) == (1.0, 1.0)
    assert report.entries == model.ledger_.entries
    assert "alpha=0.01" in str(report)


def test_a_refit_reports_its_release_whatever_was_tried_or_set_since(fits, monkeypatch):
    model = pickle.loads(fits["table"]).set_params(epsilon=0.1, random_state=None)

    def fails(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Curator, "_evaluate", fails)
    with pytest.raises(KeyboardInterrupt):
        model.fit(ASIA.sample(100, random_state=0))
    report = model.refit(alpha=0.01).privacy_report()
    assert (report.epsilon, report.spent) == (1.0, 1.0)
    assert "random_state is set" in str(report)


def test_interactions_too_large_to_test_are_refused_before_anything_is_spent():
    schema = Schema([Ordinal(v, range(100)) for v in "ab"])
    X = np.random.default_rng(0).integers(0, 100, (500, 2))
    for source in ("auto", "table", "pairs"):
        model = MarginalPC(1.0, 1e-6, source=source, schema=schema)
        with (
            BudgetAccountant(5, 1e-5) as accountant,
            pytest.raises(ModelTooLargeError, match=r"'a' \(100 levels\)"),
        ):
            model.fit(X)
        assert accountant.spent == (0.0, 0.0)


# What is kept ----------------------------------------------------------------------


def assert_edges_are_explained(model):
    assert [{e.x, e.y} for e in model.edges_] == [set(e) for e in model.skeleton_.edges]
    for edge in model.edges_:
        assert not {edge.x, edge.y} & set(edge.given)
        if edge.degrees and model.independence_test != "both":
            p_value = chi2(edge.degrees).sf(edge.statistic)
            assert edge.p_value == pytest.approx(p_value, rel=1e-6, abs=1e-300)
        assert 0 <= edge.noise_share <= 1
    frame = pd.DataFrame(model.edges_)
    assert frame.kept_for_want_of_evidence.dtype == bool


def test_what_a_table_fit_keeps(asia):
    model = on_table(asia)
    assert model.source_ == "table"
    assert model.gram_ is None
    ((columns, counts),) = model.tables_.items()
    assert columns == ASIA.schema.names
    assert counts.shape == ASIA.schema.shape
    exact = CountTable.from_frame(asia, ASIA.schema).marginal(columns)
    noise = counts - exact
    np.testing.assert_array_equal(noise, np.rint(noise))
    assert 1.5 < noise.std() < 4.5  # of discrete Laplace noise of scale 2: 2.8
    assert_edges_are_explained(model)
    assert model.is_complete_


def test_what_a_fit_of_pairs_keeps(wide):
    model = on_pairs(wide, epsilon=10.0)
    assert model.source_ == "pairs"
    gram = model.gram_
    assert gram.levels == {c.name: c.n_levels for c in WIDE}
    assert gram.n_records == model.n_records_ == len(wide)
    p = sum(r - 1 for r in gram.levels.values())
    assert gram.means.shape == (p,) and gram.covariances.shape == (p, p)
    np.testing.assert_allclose(gram.covariances, gram.covariances.T, atol=1e-15)
    assert gram.variances.shape == (14, 14)
    off = gram.variances[~np.eye(14, dtype=bool)]
    assert len(set(off)) == 2  # looked at once, and twice
    for columns, counts in model.tables_.items():
        assert len(columns) == 4
        assert counts.shape == WIDE.select(columns).shape
        exact = np.zeros(counts.shape)
        np.add.at(exact, tuple(wide[c] for c in columns), 1)
        deviation = (counts - exact).std()
        scale = model.ledger_.entries[-1].scale
        assert 0.6 * scale < deviation < 1.4 * scale
    assert_edges_are_explained(model)


def test_the_interactions_that_are_kept_are_those_of_the_records_with_noise(wide):
    one, exact = (on_pairs(wide, epsilon=e, max_order=0).gram_ for e in (1.0, 1e5))
    error = one.covariances - exact.covariances
    places = places_of(one.levels)
    scaled = [
        error[places[x], places[y]].ravel() / np.sqrt(one.variances[i, j])
        for (i, x), (j, y) in combinations(enumerate(one.levels), 2)
    ]  # nearly: the noise of the means is small
    assert 0.85 < np.concatenate(scaled).std() < 1.2


@pytest.mark.parametrize("denoise", ["full", "calibrated", None])
@pytest.mark.parametrize("test", TESTS)
def test_every_test_and_denoising_finds_the_strong_edges(asia, test, denoise):
    model = on_table(asia, epsilon=3.0, independence_test=test, denoise=denoise)
    assert model.skeleton_.has_edge("smoke", "bronc")
    assert model.skeleton_.has_edge("bronc", "dysp")
    assert not model.skeleton_.has_edge("smoke", "asia")
    assert_edges_are_explained(model)


def test_the_keep_rule_keeps_the_edges_of_the_deterministic_node(asia):
    edges = [("either", "lung"), ("either", "tub"), ("either", "xray")]
    model = on_table(asia, epsilon=10.0)
    for x, y in edges:
        assert model.skeleton_.has_edge(x, y)
    kept = {frozenset((e.x, e.y)) for e in model.edges_ if e.kept_for_want_of_evidence}
    assert frozenset(("either", "xray")) in kept
    bare = model.refit(keep_rule=False)
    assert not all(bare.skeleton_.has_edge(x, y) for x, y in edges)
    assert not any(e.kept_for_want_of_evidence for e in bare.edges_)


@pytest.mark.parametrize("name", NETWORK_NAMES)
def test_a_huge_epsilon_finds_the_truth(name):
    network = load_bayesian_network(name)
    data = network.sample(100_000, random_state=1)
    model = MarginalPC(1e5, schema=network.schema, random_state=0).fit(data)
    for denoise in ("full", "calibrated", None):
        model.refit(denoise=denoise)
        assert skeleton_f1_score(network.dag, model.skeleton_) >= 0.9


def test_pairs_with_a_huge_epsilon_find_the_truth():
    network = load_bayesian_network("survey")
    data = network.sample(100_000, random_state=1)
    model = MarginalPC(
        1e5, 1e-6, source="pairs", schema=network.schema, random_state=0
    ).fit(data)
    assert skeleton_f1_score(network.dag, model.skeleton_) >= 0.9


@pytest.mark.parametrize(
    ("n", "epsilon"), [(100_000, 0.3), (100_000, 1.0), (10_000, 1.0)]
)
def test_it_is_never_below_priv_pc(n, epsilon):
    scores = {MarginalPC: [], PrivPC: []}
    for name in NETWORK_NAMES:
        network = load_bayesian_network(name)
        data = network.sample(n, random_state=5)
        for kind, found in scores.items():
            model = kind(epsilon, schema=network.schema, random_state=5)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(data)
            found.append(skeleton_f1_score(network.dag, model.skeleton_))
    assert np.mean(scores[MarginalPC]) > np.mean(scores[PrivPC]) + 0.05
    for ours, theirs in zip(*scores.values(), strict=True):
        assert ours >= theirs - 0.05


# The source ------------------------------------------------------------------------


def of_levels(*levels):
    return Schema([Ordinal(f"x{i}", range(r)) for i, r in enumerate(levels)])


def few_records(schema, n=50):
    codes = np.random.default_rng(0).integers(0, schema.shape, (n, len(schema)))
    return pd.DataFrame(codes, columns=schema.names)


@pytest.mark.parametrize(
    ("levels", "source"),
    [((10, 10, 10, 10), "table"), ((10, 10, 10, 11), "pairs"), ((2,) * 13, "table"),
     ((2,) * 14, "pairs"),],
    ids=str,
)  # fmt: skip
def test_auto_goes_by_the_schema_alone(levels, source):
    schema = of_levels(*levels)
    for records in (few_records(schema, 60), few_records(schema, 2) * 0):
        model = MarginalPC(1.0, 1e-6, schema=schema, max_order=1, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyBudgetWarning)
            assert model.fit(records).source_ == source


def test_a_wide_domain_without_delta_is_one_pure_table_up_to_order_two():
    schema = of_levels(*(2,) * 14)
    model = MarginalPC(1.0, schema=schema, random_state=0).fit(few_records(schema))
    assert model.source_ == "table"
    assert model.ledger_.total(0.0) == 1.0
    assert max(map(len, model.separating_sets_.values())) <= 2


def test_pairs_need_a_delta_and_say_so_before_anything_is_spent():
    schema = of_levels(*(2,) * 14)
    model = MarginalPC(1.0, source="pairs", schema=schema)
    with (
        BudgetAccountant(5) as accountant,
        pytest.raises(ValueError, match=r"delta=1e-6.* Nothing was spent"),
    ):
        model.fit(few_records(schema))
    assert accountant.spent == (0.0, 0.0)
    assert not hasattr(model, "ledger_")


@pytest.mark.parametrize(
    ("source", "levels"),
    [("table", (2,) * 25), ("pairs", (3000, 1500)), ("auto", (5000,) * 2)],
)
def test_domains_that_are_too_large_are_refused(source, levels):
    schema = of_levels(*levels)
    with (
        BudgetAccountant(5) as accountant,
        pytest.raises(ModelTooLargeError, match=r"'x0'.*Nothing was spent"),
    ):
        MarginalPC(1.0, 1e-6, source=source, schema=schema).fit(few_records(schema))
    assert accountant.spent == (0.0, 0.0)


@pytest.mark.parametrize(
    "shares",
    [(0.5, 0.5), (0.5, 0.5, 0.5), (0.5, 0.6, -0.1), (0.0, 0.9, 0.1), (1.0,), (),
     ("a", "b", "c"), (0.5, np.nan, 0.1), (0.3, 0.3, 0.3, 0.1), (np.inf, 0.1, 0.1), 0.5,
     "abc", None],
    ids=str,
)  # fmt: skip
def test_bad_stage_shares_are_named(shares):
    for source in ("pairs", "table"):
        with (
            BudgetAccountant(5) as accountant,
            pytest.raises(ValueError, match="'stage_shares'"),
        ):
            build("MarginalPC", source=source, stage_shares=shares).fit(a_frame(100))
        assert accountant.spent == (0.0, 0.0)


@pytest.mark.parametrize("shares", [(1 / 3,) * 3, [0.7, 0.2, 0.1], (0.1, 0.2, 0.7)])
def test_shares_that_add_up_to_one_by_rounding(wide, shares):
    model = on_pairs(wide[:2000], epsilon=10.0, stage_shares=shares)
    assert model.ledger_.total() <= 10.0 * (1 + 1e-12)


# Odd tables ------------------------------------------------------------------------

BOTH = [{"source": "table"}, {"source": "pairs", "delta": 1e-6}]
each_variant = pytest.mark.parametrize("options", BOTH, ids=lambda o: o["source"])


@each_variant
def test_constant_columns_have_no_edges(options):
    schema = of_levels(2, 1, 3, 1)
    frame = few_records(schema, 1000).assign(x2=lambda f: f.x0 * 2)
    model = MarginalPC(5.0, schema=schema, random_state=0, **options).fit(frame)
    assert list(model.skeleton_) == list(schema.names)
    assert list(model.skeleton_.edges) == [("x0", "x2")]
    assert model.separating_sets_[frozenset(("x1", "x3"))] == ()
    assert not {"x1", "x3"} & {name for columns in model.tables_ for name in columns}


@each_variant
def test_a_column_that_is_constant_in_the_records(options):
    schema = of_levels(2, 3, 2)
    frame = few_records(schema, 2000).assign(x1=1, x2=lambda f: f.x0)
    model = MarginalPC(5.0, schema=schema, random_state=0, **options).fit(frame)
    assert model.skeleton_.has_edge("x0", "x2")
    assert model.refit(denoise="calibrated").skeleton_.has_edge("x0", "x2")


@each_variant
@pytest.mark.parametrize("dependent", [True, False])
def test_two_variables(options, dependent):
    schema = of_levels(2, 3)
    frame = few_records(schema, 5000)
    if dependent:
        frame["x1"] = frame.x0 * 2
    model = MarginalPC(2.0, schema=schema, random_state=0, **options).fit(frame)
    assert model.skeleton_.number_of_edges() == dependent
    assert model.refit(denoise="calibrated").skeleton_.number_of_edges() == dependent
    assert model.ledger_.total() <= 2.0


@each_variant
@pytest.mark.parametrize("levels", [(1, 1, 1), (1, 2, 1)])
def test_where_nothing_can_depend_nothing_is_bought(options, levels):
    schema = of_levels(*levels)
    model = MarginalPC(schema=schema, **options).fit(few_records(schema))
    assert model.ledger_.total() == 0.0
    assert model.edges_ == () and model.tables_ == {} and model.gram_ is None
    assert list(model.skeleton_) == list(schema.names)
    assert model.skeleton_.number_of_edges() == 0
    assert model.refit(alpha=0.5).skeleton_.number_of_edges() == 0


@each_variant
@pytest.mark.parametrize("epsilon", [0.01, 1e6])
@pytest.mark.parametrize("n", [2, 40])
def test_extreme_budgets_and_few_records_give_a_graph(options, epsilon, n):
    frame = a_frame(n)
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyBudgetWarning)
            warnings.simplefilter("error", RuntimeWarning)
            model = build("MarginalPC", epsilon=epsilon, random_state=seed, **options)
            model.fit(frame)
            for change in (
                {"denoise": None}, {"denoise": "calibrated"}, {"keep_rule": False}
            ):  # fmt: skip
                model.refit(**change)
        assert all(0 <= edge.p_value <= 1 for edge in model.edges_)
        assert model.ledger_.total() <= epsilon


def test_a_hopeless_budget_is_named_before_it_is_spent():
    model = build("MarginalPC", epsilon=0.01)
    with BudgetAccountant(5) as accountant, warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyBudgetWarning, match="noise in all cells"):
            model.fit(a_frame(100))
    assert accountant.spent == (0.0, 0.0)


@each_variant
def test_a_target_and_feature_selection(options):
    X = a_frame(5000)
    y = X.pop("c")
    model = MarginalPC(3.0, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert "target_" in model.skeleton_
    assert list(model.get_feature_names_out()) == ["b"]


@each_variant
def test_progress(options, capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    quiet = build("MarginalPC", **options).fit(a_frame())
    assert capsys.readouterr() == ("", "")
    loud = build("MarginalPC", verbose=1, **options).fit(a_frame())
    assert "MarginalPC" in "".join(capsys.readouterr())
    assert nx.utils.graphs_equal(quiet.causal_graph_, loud.causal_graph_)


# Replay ----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.3, 10.0])
def test_all_stages_follow_from_the_answers_alone(wide, epsilon, monkeypatch):
    tape = []

    class Recording(Curator):
        def gaussian(self, query, *, rho):
            answer = super().gaussian(query, rho=rho)
            tape.append((query, rho, answer))
            return answer

    class Replaying(Curator):
        """Pays as a curator does, and gives out the tape."""

        def _evaluate(self, query, *args, **kwargs):
            return np.zeros(query.shape(self.public), dtype=np.int64)

        def gaussian(self, query, *, rho):
            super().gaussian(query, rho=rho)
            (asked, price, answer) = tape.pop(0)
            assert (asked, price) == (query, rho)
            return answer

    monkeypatch.setattr(skdp.base, "Curator", Recording)
    first = on_pairs(wide, epsilon=epsilon)
    assert len(tape) == len(first.ledger_) >= 2
    monkeypatch.setattr(skdp.base, "Curator", Replaying)
    second = on_pairs(wide[::-1] * 0, epsilon=epsilon)
    assert not tape
    assert pickle.dumps(second) == pickle.dumps(first)


def test_the_stages_ask_nothing_of_variables_that_look_independent():
    schema = Schema([Categorical(f"x{i}", ["a", "b"]) for i in range(14)])
    letters = np.random.default_rng(0).choice(["a", "b"], (3000, 14))
    frame = pd.DataFrame(letters, columns=schema.names)
    model = MarginalPC(1.0, 1e-6, schema=schema, random_state=0).fit(frame)
    assert len(model.ledger_) <= 2
    assert model.skeleton_.number_of_edges() <= 3
