"""SVTPC, GaussianPC and medians in PrivPC against slow, literal readings."""

from __future__ import annotations

import warnings
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy import stats
from support.families import a_frame, build
from support.literal import GaussianReading, SparseVectorReading, pc_stable

from skdp import SVTPC, GaussianPC, Ordinal, PrivPC, Schema
from skdp.exceptions import PrivacyBudgetWarning
from skdp.privacy import dp_from_zcdp, sparse_vector_scales
from skdp.privacy.noise import discrete_laplace
from skdp.privacy.streams import RandomStreams
from skdp.queries import KendallDependence, PublicFacts
from skdp.records import CountTable
from skdp.stats import GaussianNoise, NullLaw, TwoLaplaceNoise, level_threshold
from skdp.stats.smooth_sensitivity import (
    largest_smoothness,
    smooth_sensitivity_of_median,
)

SCHEMA = Schema(
    [Ordinal(v, range(k)) for v, k in zip("abcd", (2, 3, 2, 3), strict=True)]
)
LEVELS = {column.name: column.n_levels for column in SCHEMA}
N = 40


def tiny(seed):
    """Records with some dependence, as rows and as dictionaries."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, SCHEMA.shape, (N, 4))
    X[:, 1] = np.where(rng.random(N) < 0.7, 2 * X[:, 0], X[:, 1])
    X[:, 3] = np.where(rng.random(N) < 0.6, X[:, 1], X[:, 3])
    return X, [dict(zip("abcd", map(int, row), strict=True)) for row in X]


def quietly(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def thresholds(noise):
    public = PublicFacts(N, SCHEMA)

    def of(x, y, given):
        query = KendallDependence(x, y, given)
        null = NullLaw(query.null_scale(public))
        return level_threshold(0.1, null, noise(query.sensitivity(public)))

    return of


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rounds", [2, 6])
def test_svt_pc_is_what_it_says(seed, rounds):
    X, records = tiny(seed)
    model = SVTPC(
        6.0, schema=SCHEMA, max_order=2, max_deletions=rounds, random_state=seed
    )
    quietly(model, X)
    epsilon = model.round_epsilon_
    assert epsilon == pytest.approx(6 / rounds, rel=1e-12)
    first, second = sparse_vector_scales(epsilon)
    noise = thresholds(lambda unit: TwoLaplaceNoise(unit * first, unit * second))
    reading = SparseVectorReading(records, LEVELS, noise, epsilon, rounds, seed)
    expected = pc_stable("abcd", reading, 2)
    assert {tuple(sorted(edge)) for edge in model.skeleton_.edges} == expected
    assert model.n_deletions_ == rounds - reading.left


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("max_tests", [4, 40])
def test_gaussian_pc_is_what_it_says(seed, max_tests):
    X, records = tiny(seed)
    model = GaussianPC(
        9.0, 1e-3, schema=SCHEMA, max_order=2, max_tests=max_tests, random_state=seed
    )
    quietly(model, X)
    multiplier = model.noise_multiplier_
    rho = max_tests / (2 * multiplier**2)
    assert dp_from_zcdp(rho, 1e-3) == pytest.approx(9.0, rel=1e-6)
    noise = thresholds(lambda unit: GaussianNoise(unit * multiplier))
    reading = GaussianReading(records, LEVELS, noise, multiplier, max_tests, seed)
    expected = pc_stable("abcd", reading, 2)
    assert {tuple(sorted(edge)) for edge in model.skeleton_.edges} == expected
    assert model.n_tests_ == max_tests - reading.left


def chi2_evidence(records, x, y):
    """One minus the p-value by SciPy, over the levels that occur."""
    table = records.strata(x, y)[0]
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    if min(table.shape) < 2:
        return 0.0
    return 1 - stats.chi2_contingency(table, correction=False).pvalue


@pytest.mark.parametrize("seed", range(3))
def test_chi2_in_priv_pc_is_the_median_over_blocks(seed):
    n, n_blocks, delta = 400, 21, 1e-3
    rng = np.random.default_rng(seed)
    X = rng.integers(0, SCHEMA.shape, (n, 4))
    X[:, 1] = np.where(rng.random(n) < 0.7, 2 * X[:, 0], X[:, 1])
    model = PrivPC(
        400.0, delta, schema=SCHEMA, independence_test="chi2", max_order=0,
        n_blocks=n_blocks, random_state=seed,
    )  # fmt: skip
    quietly(model, X)
    (entry,) = model.ledger_
    ((epsilon, count),) = entry.parts
    assert count == model.max_tests_ == 6
    streams = RandomStreams.from_random_state(seed)
    blocks = CountTable.from_codes(X, SCHEMA).partition(n_blocks, streams.subsampling)
    beta = largest_smoothness(epsilon, entry.delta / 6 / 2)
    from skdp.stats import median_threshold

    limit = min(median_threshold(0.1, n_blocks, epsilon, beta), 2.0)
    for i, x in enumerate("abcd"):
        for y in "abcd"[i + 1 :]:
            values = [chi2_evidence(block, x, y) for block in blocks]
            steps = np.sort(np.floor(np.array(values) * 2**20 + 0.5))
            smooth = smooth_sensitivity_of_median(steps, 0, 2**20, beta)
            scale = Fraction(float(np.nextafter(2 * smooth, np.inf)))
            noise = int(discrete_laplace(scale / Fraction(epsilon), (), streams.noise))
            noisy = min(max(steps[n_blocks // 2] + noise, 0), 2**20)
            assert model.skeleton_.has_edge(x, y) == (noisy > limit * 2**20)


# --- plans and limits -----------------------------------------------------------------


def test_svt_pc_composes_its_rounds():
    pure, approximate = (
        build("SVTPC", delta=delta).fit(a_frame()) for delta in (0.0, 1e-6)
    )
    assert pure.round_epsilon_ == pytest.approx(1 / 6)
    assert pure.composition_ == "basic"
    assert approximate.round_epsilon_ >= pure.round_epsilon_
    assert approximate.ledger_.total() <= 1.0


@pytest.mark.parametrize("name", ["SVTPC", "GaussianPC"])
def test_limits_are_named(name):
    cap = {"SVTPC": "max_deletions", "GaussianPC": "max_tests"}[name]
    model = build(name, epsilon=50.0, **{cap: 1})
    with pytest.warns(PrivacyBudgetWarning, match=f"Raise {cap}"):
        model.fit(a_frame())
    assert not model.is_complete_
    assert "used up" in str(model.privacy_report())
    model = build(name, epsilon=0.01, **{cap: 6})
    with pytest.warns(PrivacyBudgetWarning, match=f"cap {cap}"):
        model.fit(a_frame(100))


@pytest.mark.parametrize(
    ("name", "options"),
    [("GaussianPC", {}), ("PrivPC", {"independence_test": "g2"})],
)
def test_what_has_no_pure_form_asks_for_delta(name, options):
    model = build(name, delta=0.0, **options)
    with pytest.raises(ValueError, match="delta=1e-6"):
        model.fit(a_frame())
    assert not hasattr(model, "ledger_")


@pytest.mark.parametrize("subsample", [0.3, 1.0])
def test_gaussian_pc_sub_samples(subsample):
    model = build("GaussianPC", epsilon=5.0, subsample=subsample).fit(a_frame())
    assert model.sample_size_ == 2000 * subsample
    assert model.ledger_.total() <= 5.0
    (entry,) = model.ledger_
    assert entry.scale == model.noise_multiplier_
    whole = build("GaussianPC", epsilon=5.0).fit(a_frame())
    assert model.noise_multiplier_ <= whole.noise_multiplier_


@pytest.mark.parametrize("test", ["chi2", "g2"])
def test_medians_find_strong_edges_with_a_large_budget(test):
    options = {"epsilon": 300.0, "delta": 1e-4, "n_blocks": 101, "max_order": 0}
    model = build("PrivPC", independence_test=test, **options).fit(a_frame(10_000))
    edges = {tuple(sorted(edge)) for edge in model.skeleton_.edges}
    assert {("a", "b"), ("b", "c")} <= edges
    assert not any("d" in edge for edge in edges)
    assert model.ledger_.total() <= 300
    assert "101 blocks" in str(model.privacy_report())


def test_medians_under_a_small_budget_are_hopeless():
    model = build("PrivPC", delta=1e-6, independence_test="chi2")
    with pytest.warns(PrivacyBudgetWarning, match="cap max_tests"):
        model.fit(a_frame())
    assert model.ledger_.total() <= 1.0
    assert model.max_tests_ == 18
    capped = build(
        "PrivPC", epsilon=40.0, delta=1e-3, independence_test="chi2", max_tests=2
    )
    with pytest.warns(PrivacyBudgetWarning, match="Raise max_tests"):
        capped.fit(a_frame())
    assert not capped.is_complete_


def test_the_noise_of_two_laplace_variables_has_its_level():
    rng = np.random.default_rng(0)
    first, second, size = 1.3, 2.1, 200_000
    noise = rng.laplace(scale=first, size=size) + rng.laplace(scale=second, size=size)
    score = 0.75 * abs(rng.standard_normal(size))
    limit = level_threshold(0.1, NullLaw(0.75), TwoLaplaceNoise(first, second))
    assert np.mean(score + noise > limit) == pytest.approx(
        0.1, abs=4 * sqrt(0.09 / size)
    )
