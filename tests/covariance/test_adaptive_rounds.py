"""The rounds of PACE-GGM, asked of an answerer whose truth and noise are known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from skdp.covariance.adaptive_rounds import RoundSettings, adaptive_completion


@dataclass
class Oracle:
    """Knows the moments; adds Gaussian noise of sd ``noise / sqrt(rho)``."""

    truth: np.ndarray
    noise: float = 0.0
    diagonals: bool = True
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    prices: list = field(default_factory=list)
    chosen: list = field(default_factory=list)
    limits: list = field(default_factory=list)

    def _noisy(self, values, rho):
        self.prices.append(rho)
        variance = max(self.noise**2 / rho, 1e-14)
        noise = np.sqrt(variance) * self.rng.standard_normal(np.shape(values))
        return values + noise, np.full(np.shape(values), variance)

    def diagonal(self, rho):
        return self._noisy(np.diag(self.truth), rho)

    def worst(self, expected, k, rho, limits):
        self.prices.append(rho)
        self.limits.append(limits)
        above = np.triu_indices(len(expected), 1)
        errors = np.abs(self.truth - expected)[above]
        if limits is not None:
            errors = errors / limits[above]
        return np.argsort(-errors, kind="stable")[:k]

    def pairs(self, i, j, rho, limits):
        self.chosen += [list(zip(i.tolist(), j.tolist(), strict=True))]
        self.limits.append(limits)
        columns = [self.truth[i, j], self.truth[i, i], self.truth[j, j]]
        columns = columns[: 1 if limits is not None else 3]
        answers, variances = self._noisy(np.stack(columns, axis=1), rho / len(i))
        self.prices[-1] = rho
        return answers, variances


def chain(d, weight=0.7, scale=0.3):
    return scale * weight ** np.abs(np.subtract.outer(range(d), range(d)))


def run(oracle, rho=1.0, **settings):
    return adaptive_completion(
        oracle, len(oracle.truth), rho, RoundSettings(**settings)
    )


@pytest.mark.parametrize("d", [1, 2, 3, 7, 25])
@pytest.mark.parametrize("clip", [None, 4.0])
@pytest.mark.parametrize("noise", [0.0, 0.3, 50.0])
def test_spends_the_budget_and_no_more(d, clip, noise):
    oracle = Oracle(chain(d), noise)
    run(oracle, rho=0.7, product_clip=clip)
    assert 0.7 * (1 - 2e-9) <= sum(oracle.prices) <= 0.7


def test_finds_a_sparse_model_without_noise():
    truth = chain(12)
    oracle = Oracle(truth)
    result = run(oracle)
    assert np.allclose(result.completion.covariance, truth, atol=1e-5)
    # The neighbours explain everything, so that nothing else is worth a measurement.
    assert {pair for round_ in oracle.chosen[:11] for pair in round_} == {
        (i, i + 1) for i in range(11)
    }
    assert result.n_rounds == len(oracle.chosen)
    assert result.completion.converged and result.completion.kkt_residual <= 1e-8


def test_the_precision_is_zero_where_nothing_was_measured():
    result = run(Oracle(chain(30), 0.02))
    measured = result.measured.mask
    assert not measured.all()
    assert np.array_equal(result.completion.precision.toarray() != 0, measured)
    assert np.linalg.eigvalsh(result.completion.covariance)[0] > 0


def test_first_prices_and_batches_are_as_stated():
    oracle = Oracle(chain(40), 0.001)
    result = run(oracle, annealing=None)
    # 0.1 for the diagonal; 0.9 for 160 entries, in batches of 8.
    unit = 0.9 / 160
    rounds = [0.1] + [0.45 * 8 * unit, 0.55 * 8 * unit] * 20
    assert np.allclose(oracle.prices, rounds)
    assert result.n_rounds == 20
    assert all(len(pairs) == 8 for pairs in oracle.chosen)


def test_the_last_round_takes_what_is_left():
    oracle = Oracle(chain(25), 0.001)
    run(oracle, n_entries=19, batch_size=8, annealing=None)
    assert [len(pairs) for pairs in oracle.chosen] == [8, 11]
    oracle = Oracle(chain(25), 0.001)
    run(oracle, n_entries=21, batch_size=8, annealing=None)
    assert [len(pairs) for pairs in oracle.chosen] == [8, 8, 5]


def test_where_all_pairs_are_measured_nothing_is_spent_on_choosing():
    oracle = Oracle(chain(3), 0.001)
    run(oracle, batch_size=10)
    assert np.allclose(oracle.prices, [0.1, 0.9])
    assert oracle.chosen == [[(0, 1), (0, 2), (1, 2)]]


def test_annealing_raises_the_price_where_noise_hides_everything():
    quiet, loud = Oracle(np.eye(30) * 0.3, 3.0), Oracle(np.eye(30) * 0.3, 3.0)
    run(quiet)
    run(loud, annealing=None)
    assert len(quiet.chosen) < len(loud.chosen)
    prices = quiet.prices[2::2]
    assert any(np.isclose(b, 2 * a) for a, b in zip(prices, prices[1:], strict=False))


def test_entries_are_measured_again():
    truth = np.full((4, 4), 0.2) + 0.1 * np.eye(4)
    oracle = Oracle(truth, 0.3)
    result = run(oracle, n_entries=30)
    pairs = [pair for round_ in oracle.chosen for pair in round_]
    assert len(pairs) > len(set(pairs))
    i, j = pairs[0]
    times = pairs.count((i, j))
    unit = 0.9 * 0.55 / 30
    assert result.measured.variances[i, j] <= 0.3**2 / unit / times * (1 + 1e-6)


def test_limits_come_from_the_variances_and_stay():
    truth = np.diag([0.01, 0.04, 0.16, 1.0])
    oracle = Oracle(truth)
    run(oracle, product_clip=4.0)
    spread = np.sqrt(np.maximum(np.diag(truth), 0.05 * np.diag(truth).mean()))
    expected = np.minimum(4 * np.outer(spread, spread), 1)
    for limits in oracle.limits:
        assert np.allclose(limits, expected, atol=1e-6)
        assert limits.max() <= 1


def test_a_mean_is_taken_off_before_the_completion():
    covariance, mean = chain(8), np.linspace(-0.5, 0.5, 8)
    oracle = Oracle(covariance + np.outer(mean, mean))
    result = run(oracle, mean=mean)
    assert np.allclose(result.completion.covariance, covariance, atol=1e-5)
    assert {pair for round_ in oracle.chosen[:7] for pair in round_} == {
        (i, i + 1) for i in range(7)
    }


@pytest.mark.parametrize("d", [1, 2, 6, 30])
@pytest.mark.parametrize("truth", ["constant", "dependent", "empty"])
@pytest.mark.parametrize("noise", [0.0, 0.1, 1e4])
def test_ugly_moments_have_a_positive_definite_completion(d, truth, noise):
    matrix = {
        "constant": np.ones((d, d)),
        "dependent": np.outer(*[np.where(np.arange(d) % 2, 1.0, -1.0)] * 2),
        "empty": np.zeros((d, d)),
    }[truth]
    result = run(Oracle(matrix, noise))
    covariance = result.completion.covariance
    assert np.isfinite(covariance).all()
    assert np.linalg.eigvalsh(covariance)[0] > 0
    assert np.isfinite(result.completion.precision.toarray()).all()
