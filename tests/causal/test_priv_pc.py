"""PrivPC: its plan, its limit, its threshold."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest
from support.families import a_frame, build

from skdp import PC, BudgetAccountant, PrivPC
from skdp.datasets import NETWORK_NAMES, load_bayesian_network
from skdp.exceptions import PrivacyBudgetWarning
from skdp.metrics import skeleton_f1_score
from skdp.privacy import Curator, optimal_composition_epsilon, zcdp_from_pure
from skdp.queries import KendallDependence, PublicFacts
from skdp.stats import noise_aware_threshold, null_scale

ASIA = load_bayesian_network("asia")


@pytest.fixture(scope="module")
def records():
    return ASIA.sample(100_000, random_state=0)


def fitted(records, **options):
    return PrivPC(**{"schema": ASIA.schema, "random_state": 0, **options}).fit(records)


def test_a_pure_fit_spends_its_epsilon_on_equal_rounds(records) -> None:
    model = fitted(records, epsilon=1.4, sieve_share=0.5)
    assert model.max_deletions_ == 28
    assert model.round_epsilons_ == pytest.approx((0.025, 0.025), rel=1e-9)
    assert model.composition_ == "basic"
    assert model.ledger_.total() <= 1.4
    assert model.ledger_.total() == pytest.approx(1.4, rel=1e-9)
    (entry,) = model.ledger_.entries
    assert entry.mechanism == "sieve_and_examine"
    rounds = sum(model.round_epsilons_) * 28
    assert entry.epsilon == pytest.approx(rounds, rel=1e-12)
    rho = 28 * sum(zcdp_from_pure(e) for e in model.round_epsilons_)
    assert entry.rho == pytest.approx(rho, rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "share"), [(0.01, 0.3), (0.5, 0.511), (1.0, 0.631), (100.0, 0.7)]
)
def test_the_share_of_the_sieve_suits_the_noise(records, epsilon, share) -> None:
    model = fitted(records, epsilon=epsilon)
    sieve, examine = model.round_epsilons_
    assert sieve / (sieve + examine) == pytest.approx(share, abs=2e-3)
    assert model.ledger_.total() <= epsilon
    noise = 3 * 28 * 2 / (1e5 * epsilon) / (1.5 / 2)
    expected = np.clip(0.7 - 0.12 * np.log2(noise / 0.0015), 0.3, 0.7)
    assert sieve / (sieve + examine) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_delta_buys_larger_rounds(records, share) -> None:
    model = fitted(records, epsilon=1.0, delta=1e-6, sieve_share=share)
    assert model.composition_ == "optimal"
    sieve, examine = model.round_epsilons_
    assert sieve + examine > 1.0 / 28
    assert sieve / (sieve + examine) == pytest.approx(share)
    total = optimal_composition_epsilon(((sieve, 28), (examine, 28)), 1e-6)
    assert model.ledger_.total() == total <= 1.0
    assert total == pytest.approx(1.0, rel=1e-6)
    assert model.ledger_.total(0.0) > 1.0


def test_every_sieve_and_examination_is_paid_for(records, monkeypatch) -> None:
    curators = []
    initialise = Curator.__init__

    def noted(self, *args, **kwargs) -> None:
        initialise(self, *args, **kwargs)
        curators.append(self)

    monkeypatch.setattr(Curator, "__init__", noted)
    model = fitted(records, max_deletions=9)
    (curator,) = curators
    assert {access.entry for access in curator.trace} == {0}
    steps = [access.step for access in curator.trace]
    assert steps.count("sieve") == model.n_tests_
    assert model.n_deletions_ <= steps.count("examine") <= 9
    assert all(steps[i - 1] == "sieve" for i, s in enumerate(steps) if s == "examine")


def test_the_search_ends_with_the_rounds(records) -> None:
    with pytest.warns(PrivacyBudgetWarning, match="3 rounds"):
        model = fitted(records, max_deletions=3)
    assert not model.is_complete_
    assert model.skeleton_.number_of_edges() == 28 - model.n_deletions_ >= 25
    assert any("used up" in text for text in model.privacy_report().warnings)


@pytest.mark.parametrize("name", NETWORK_NAMES)
def test_converges_to_pc(name) -> None:
    network = load_bayesian_network(name)
    data = network.sample(100_000, random_state=2)
    truth = PC(schema=network.schema, alpha=0.1, max_order=1).fit(data).skeleton_
    model = PrivPC(1e5, schema=network.schema, random_state=0).fit(data)
    # The private test has no rule for tables that show nothing.
    assert skeleton_f1_score(truth, model.skeleton_) >= 0.9
    assert model.ledger_.total() <= 1e5


def test_subsampling(records) -> None:
    half = fitted(records, epsilon=3.0, subsample=0.5)
    assert half.sample_size_ == 50_000
    assert half.ledger_.total() == pytest.approx(3.0)
    small = fitted(records, epsilon=3.0, subsample="auto")
    assert small.sample_size_ == 5_000
    assert fitted(records, epsilon=200.0, subsample="auto").sample_size_ == 100_000
    assert fitted(records[:3], subsample=1e-9).sample_size_ == 2


def test_threshold_tweak_lets_more_through_the_sieve(records) -> None:
    fired = [
        sum(fitted(records, threshold_tweak=tweak, random_state=s).n_tests_
            for s in range(8)) for tweak in (-2.0, 2.0)
    ]  # fmt: skip
    assert fired[1] < fired[0]


def test_the_threshold_counts_the_noise_of_the_examination_in(records) -> None:
    public = PublicFacts(100_000, ASIA.schema)
    query = KendallDependence("smoke", "dysp", ("bronc",))
    noise = query.sensitivity(public) / 0.02
    threshold = noise_aware_threshold(0.1, query.null_scale(public), noise)
    assert query.null_scale(public) == null_scale(2, 2, 2 / 100_000)
    rng = np.random.default_rng(0)
    null = query.null_scale(public) * np.abs(rng.normal(size=400_000))
    rejected = np.mean(null + rng.laplace(scale=noise, size=400_000) > threshold)
    assert rejected == pytest.approx(0.1, abs=0.002)


@pytest.mark.parametrize("test", ["kendall", "kendall_normalized", "spearman"])
def test_every_score_finds_strong_edges(records, test) -> None:
    model = fitted(records, epsilon=20.0, independence_test=test)
    assert model.skeleton_.has_edge("smoke", "bronc")
    assert model.skeleton_.has_edge("bronc", "dysp")
    assert not model.skeleton_.has_edge("smoke", "asia")


def test_orders(records) -> None:
    assert fitted(records, max_order=0, epsilon=50.0).n_tests_ == 28
    unlimited = fitted(records[:2000], max_order=None)
    assert unlimited.n_tests_ >= 28
    deep = {len(s) for s in fitted(records, max_order=2, epsilon=1e4)
            .separating_sets_.values()}  # fmt: skip
    assert deep <= {0, 1, 2}


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress(records, capsys, monkeypatch, with_tqdm) -> None:
    if not with_tqdm:
        monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    else:
        pytest.importorskip("tqdm", reason="tqdm is not installed")
    quiet = fitted(records)
    assert capsys.readouterr() == ("", "")
    loud = fitted(records, verbose=1)
    assert "PrivPC" in "".join(capsys.readouterr())
    assert nx.utils.graphs_equal(quiet.causal_graph_, loud.causal_graph_)


def test_a_warning_turned_error_does_not_undo_a_paid_fit() -> None:
    model = build("PrivPC", max_deletions=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyBudgetWarning, match="1 rounds"):
            model.fit(a_frame())
    assert not model.is_complete_
    assert model.privacy_report().spent <= 1.0


def test_a_hopeless_budget_is_named_before_it_is_spent() -> None:
    model = build("PrivPC", epsilon=0.01)
    with BudgetAccountant(5) as accountant, warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyBudgetWarning, match="perfect dependence"):
            model.fit(a_frame(100))
    assert accountant.spent == (0.0, 0.0)


def test_single_precision_parameters_are_numbers() -> None:
    model = build("PrivPC", threshold_tweak=np.float32(0.1), alpha=np.float32(0.1))
    assert model.fit(a_frame()).ledger_.total() <= 1.0
