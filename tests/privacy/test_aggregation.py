"""The private median: its law, its refusals, its audit."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution

import skdp.privacy.aggregation as module
from skdp.exceptions import BudgetExceededError
from skdp.privacy import Curator, PrivacyLedger
from skdp.queries import KendallDependence, Marginal
from skdp.records import Categorical, CountTable, Schema

SCHEMA = Schema([Categorical("a", (0, 1)), Categorical("b", (0, 1))])
SCORE = KendallDependence("a", "b")


def records_of(n_dependent: int, n: int) -> CountTable:
    codes = np.random.default_rng(0).integers(0, 2, (n, 2))
    codes[:n_dependent, 1] = codes[:n_dependent, 0]
    return CountTable.from_codes(codes, SCHEMA)


def curator_of(records: CountTable, seed: int = 0) -> Curator:
    return Curator(records, PrivacyLedger(1e3, 1e-3, failure=5e-4), seed)


def asked(records: CountTable, seed: int = 0, **options) -> float:
    plan = {"n_blocks": 101, "low": 0.0, "high": 8.0, "epsilon": 1.0, "delta": 1e-6}
    return curator_of(records, seed).median(SCORE, **{**plan, **options})


def test_tells_dependence_from_independence() -> None:
    strong, weak = (
        [asked(records_of(n, 20_000), seed, epsilon=3.0) for seed in range(20)]
        for n in (20_000, 0)
    )
    assert min(strong) > 3.5
    assert np.median(weak) < 1.0
    assert all(0 <= value <= 8 for value in strong + weak)


def test_one_entry_holds_the_whole_price() -> None:
    curator = curator_of(records_of(50, 100))
    curator.median(SCORE, n_blocks=9, low=0, high=3, epsilon=0.4, delta=1e-5)
    (entry,) = curator.ledger.entries
    assert (entry.mechanism, entry.epsilon, entry.delta) == ("median", 0.4, 1e-5)
    assert curator.ledger.total() == pytest.approx(0.4, rel=0.01)
    assert curator.ledger.total() <= curator.ledger.total(1e-5) == 0.4
    assert curator.ledger.total(1e-6) == np.inf
    assert [access.step for access in curator.trace] == ["median"] * 9
    with pytest.raises(BudgetExceededError):
        curator.median(SCORE, n_blocks=9, low=0, high=3, epsilon=1.0, delta=1e-2)
    assert len(curator.trace) == 9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_blocks": 100}, "odd"), ({"n_blocks": 1001}, "n_blocks"),
        ({"n_blocks": 9.0}, "n_blocks"), ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"), ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1e-12}, "epsilon"), ({"low": 9.0}, "low"),
        ({"high": np.inf}, "finite"), ({"low": np.nan}, "finite"),
    ],
)  # fmt: skip
def test_refuses_before_anything_is_spent(options, words) -> None:
    curator = curator_of(records_of(50, 200))
    plan = {"n_blocks": 9, "low": 0, "high": 3, "epsilon": 0.4, "delta": 1e-5}
    with pytest.raises(ValueError, match=words):
        curator.median(SCORE, **{**plan, **options})
    with pytest.raises(ValueError, match="scalars"):
        curator.median(Marginal("a"), **plan)
    assert len(curator.ledger) == len(curator.trace) == 0


# --- audit: the worst neighbours for a smooth sensitivity ----------------------------


def lower_bound(first, second, delta: float, confidence: float = 0.999) -> float:
    """Bound epsilon from below from two samples of outputs, by the best half-line.

    The event is chosen on one half of the runs and counted on the other.
    """
    first, second = np.asarray(first), np.asarray(second)
    half = len(first) // 2
    cuts = np.quantile(
        np.concatenate([first[:half], second[:half]]), np.arange(1, 100) / 100
    )
    best = max(
        ((one, two, cut, above)
         for one, two in ((first, second), (second, first))
         for cut in cuts for above in (True, False)),
        key=lambda e: _ratio(e[0][:half], e[1][:half], e[2], e[3], delta),
    )  # fmt: skip
    one, two, cut, above = best
    hits = [int(np.sum((x[half:] >= cut) == above)) for x in (one, two)]
    n = len(one) - half
    tail = (1 - confidence) / 2
    low = beta_distribution.ppf(tail, hits[0], n - hits[0] + 1) if hits[0] else 0.0
    high = beta_distribution.ppf(1 - tail, hits[1] + 1, n - hits[1])
    return max(log((low - delta) / high), 0.0) if low > delta else 0.0


def _ratio(one, two, cut, above, delta) -> float:
    p, q = (np.mean((x >= cut) == above) for x in (one, two))
    return (p - delta) / (q + 3 / len(one))


def outputs(values: list[float], seeds: range, epsilon: float, delta: float):
    """Release the median of given block values, without any records."""

    class Blocks:
        n_records = len(values)
        schema = SCHEMA

        def partition(self, n_blocks, rng):
            return values

    class Given(KendallDependence):
        def evaluate(self, value):
            return np.asarray(value)

    blocks = Blocks()
    return [
        Curator(blocks, PrivacyLedger(1e3, 0.5, failure=0.5), seed).median(
            Given("a", "b"), n_blocks=len(values), low=0.0, high=1.0,
            epsilon=epsilon, delta=delta,
        )
        for seed in seeds
    ]  # fmt: skip


# All blocks agree but for those that one replaced record can turn: the local
# sensitivity jumps from nothing to everything a few records away.
EPSILON, DELTA, N_RUNS = 1.0, 1e-2, 3000
QUIET = [0.0] * 9
JUMPY = [0.0] * 5 + [1.0] * 4
JUMPED = [0.0] * 4 + [1.0] * 5


@pytest.mark.parametrize(
    "pair", [(QUIET, [0.0] * 8 + [1.0]), (JUMPY, JUMPED)], ids=["quiet", "jump"]
)
def test_no_more_is_lost_than_declared(pair) -> None:
    one = outputs(pair[0], range(N_RUNS), EPSILON, DELTA)
    two = outputs(pair[1], range(N_RUNS, 2 * N_RUNS), EPSILON, DELTA)
    assert lower_bound(one, two, DELTA) <= EPSILON


def test_a_quarter_of_the_noise_is_found_out(monkeypatch) -> None:
    # Half the loss is kept for changes of the scale, which this pair does not have.
    smooth = module.smooth_sensitivity_of_median
    monkeypatch.setattr(
        module, "smooth_sensitivity_of_median",
        lambda *args: 0.25 * smooth(*args),
    )  # fmt: skip
    one = outputs(JUMPY, range(N_RUNS), EPSILON, DELTA)
    two = outputs(JUMPED, range(N_RUNS, 2 * N_RUNS), EPSILON, DELTA)
    assert lower_bound(one, two, DELTA) > EPSILON


def test_the_published_beta_is_found_out(monkeypatch) -> None:
    # Appendix F of the paper: beta = epsilon ln(1/delta)/2, with the logarithm on the
    # wrong side. The scale of the noise then tells quiet data from data near a jump.
    monkeypatch.setattr(
        module,
        "largest_smoothness",
        lambda epsilon, delta: epsilon * log(1 / delta) / 2,
    )
    one = outputs(QUIET, range(N_RUNS), EPSILON, DELTA)
    two = outputs([0.0] * 8 + [1.0], range(N_RUNS, 2 * N_RUNS), EPSILON, DELTA)
    assert lower_bound(one, two, DELTA) > EPSILON
