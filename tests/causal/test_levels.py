"""Level and power of every test, with its privacy noise, on simulated records.

Level: all variables are independent, and the share of pairs that are kept must not
exceed alpha by more than two standard errors. Power: two strengths of dependence.
"""

from __future__ import annotations

import warnings
from math import sqrt

import numpy as np
import pytest

from skdp import EMPC, PC, SVTPC, GaussianPC, Ordinal, PrivPC, Schema

ALPHA = 0.1
N = 4000
SCORES = ("kendall", "kendall_normalized", "spearman", "total_variation")
SHAPES = [(2, 2), (2, 8), (3, 3), (5, 5), (8, 8)]

PRIVATE = {
    "PrivPC": lambda **kw: PrivPC(20.0, sieve_share=0.9, threshold_tweak=50.0, **kw),
    "SVTPC": lambda **kw: SVTPC(20.0, **kw),
    "GaussianPC": lambda **kw: GaussianPC(5.0, **kw),
}


def share_kept(make, draw, levels, n_runs):
    """Return the share of edges kept, over samples of independent pairs."""
    schema = Schema([Ordinal(f"v{i}", range(k)) for i, k in enumerate(levels)])
    kept = []
    for seed in range(n_runs):
        X = draw(np.random.default_rng((seed, 1)), levels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(schema=schema, max_order=0, alpha=ALPHA, random_state=seed)
            model.fit(X)
        kept.append(model.skeleton_.number_of_edges())
    return np.mean(kept) / (len(levels) * (len(levels) - 1) / 2)


def independent(rng, levels):
    """Uniform margins, where the scores are largest."""
    return np.column_stack([rng.integers(0, k, N) for k in levels])


def skewed(rng, levels):
    """Margins that fall off by halves."""
    return np.column_stack(
        [np.minimum(rng.geometric(0.5, N) - 1, k - 1) for k in levels]
    )


def exact(**kw):
    kw.pop("random_state")
    return PC(**kw)


def assert_level(share, n_pairs):
    assert share <= ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / n_pairs)


@pytest.mark.parametrize("test", [*SCORES, "chi2", "g2"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("draw", [independent, skewed])
def test_the_level_of_a_score_without_noise(test, shape, draw):
    if draw is skewed and test not in SCORES:
        pytest.skip("the chi-square law fails where few records are expected in a cell")
    levels = shape * 2
    make = lambda **kw: exact(independence_test=test, **kw)  # noqa: E731
    share = share_kept(make, draw, levels, 50)
    assert_level(share, 50 * 6)
    if draw is independent:
        assert share > 0.02  # and is not conservative for nothing


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("test", SCORES)
@pytest.mark.parametrize("shape", [(2, 2), (5, 5)], ids=str)
def test_the_level_of_a_private_test(name, test, shape):
    # One pair at a time: the questions of a sparse vector share their threshold.
    make = lambda **kw: PRIVATE[name](independence_test=test, **kw)  # noqa: E731
    share = share_kept(make, independent, shape, 150)
    assert_level(share, 150)
    # A sieve makes PrivPC's deletions rarer, never its kept edges; here it is open.
    assert share > 0.03


@pytest.mark.parametrize("test", ["chi2", "g2"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 3)], ids=str)
def test_the_level_of_a_private_median(test, shape):
    make = lambda **kw: PrivPC(  # noqa: E731
        200.0, 1e-3, independence_test=test, n_blocks=41, **kw
    )
    assert_level(share_kept(make, independent, shape * 2, 6), 6 * 6)


@pytest.mark.parametrize("test", SCORES)
def test_em_pc_deletes_what_is_independent(test):
    make = lambda **kw: EMPC(10.0, independence_test=test, **kw)  # noqa: E731
    assert_level(share_kept(make, independent, (2, 2, 3, 3, 5), 100), 100 * 10)


def test_the_level_of_total_variation_within_strata():
    """Given z, with as many strata as make them small."""
    from skdp.stats import NullLaw, total_variation_null, total_variation_score

    rng = np.random.default_rng(0)
    for r, c, n_strata, n in [(2, 2, 4, 2000), (3, 3, 30, 900), (8, 8, 8, 4000)]:
        null = NullLaw(*total_variation_null(r, c, n_strata, n))
        limit = null.quantile(ALPHA)
        cells = n_strata * r * c
        tables = rng.multinomial(n, np.full(cells, 1 / cells), size=300)
        scores = [
            total_variation_score(table.reshape(n_strata, r, c), n) for table in tables
        ]
        assert_level(np.mean(np.array(scores) > limit), 300)


# --- power ----------------------------------------------------------------------------


def monotone(strength):
    """One variable follows the other with a probability."""

    def draw(rng, levels):
        x = rng.integers(0, levels[0], N)
        follows = rng.random(N) < strength
        return np.column_stack([x, np.where(follows, x, rng.integers(0, levels[1], N))])

    return draw


def cyclic(strength):
    """The same dependence, of a kind that ranks do not see: up and down alike."""

    def draw(rng, levels):
        k = levels[0]
        x = rng.integers(0, k, N)
        turned = np.where(rng.random(N) < 0.5, x, k - 1 - x)
        follows = rng.random(N) < strength
        return np.column_stack([x, np.where(follows, turned, rng.integers(0, k, N))])

    return draw


@pytest.mark.parametrize("test", SCORES)
@pytest.mark.parametrize("shape", [(2, 2), (4, 4), (8, 8)], ids=str)
def test_power_grows_with_the_strength(test, shape):
    make = lambda **kw: PrivPC(1.0, independence_test=test, **kw)  # noqa: E731
    weak, strong = (share_kept(make, monotone(s), shape, 20) for s in (0.05, 0.3))
    assert strong > 0.9
    assert weak <= strong


@pytest.mark.parametrize("shape", [(4, 4), (8, 8)], ids=str)
def test_total_variation_sees_what_ranks_do_not(shape):
    make = lambda **kw: PrivPC(1.0, **kw)  # noqa: E731
    found = {
        test: share_kept(
            lambda test=test, **kw: make(independence_test=test, **kw),
            cyclic(0.3), shape, 20,
        ) for test in ("kendall", "total_variation")
    }  # fmt: skip
    assert found["total_variation"] > 0.9
    assert found["kendall"] < 0.5
