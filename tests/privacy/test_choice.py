"""Choices: the law of the top k, their price, their refusals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Curator, PrivacyLedger
from skdp.queries import KendallDependence, Marginal, Query
from skdp.records import Categorical, CountTable, Schema

SCHEMA = Schema([Categorical("a", range(4)), Categorical("one", ("x",))])
COUNTS = (3, 1, 2, 2)


def curator_of(seed: int, epsilon: float = 10.0) -> Curator:
    codes = np.column_stack([np.repeat(range(4), COUNTS), np.zeros(8, int)])
    records = CountTable.from_codes(codes, SCHEMA)
    return Curator(records, PrivacyLedger(epsilon), seed)


def test_the_top_k_have_the_law_of_peeling() -> None:
    epsilon, k = 1.6, 2
    weights = [exp(epsilon / k * count / 2) for count in COUNTS]
    law = {
        (i, j): weights[i] / sum(weights) * weights[j] / (sum(weights) - weights[i])
        for i, j in permutations(range(4), 2)
    }
    seen = dict.fromkeys(law, 0)
    curator = curator_of(0, 1e9)
    for _ in range(6000):
        seen[tuple(curator.top_k(Marginal("a"), k, epsilon=epsilon))] += 1
    expected = 6000 * np.array(list(law.values()))
    assert chisquare(list(seen.values()), expected).pvalue > 1e-3
    halved = [w**2 for w in weights]
    wrong = [
        halved[i] / sum(halved) * halved[j] / (sum(halved) - halved[i]) for i, j in law
    ]
    assert chisquare(list(seen.values()), 6000 * np.array(wrong)).pvalue < 1e-6


def test_the_price_of_the_top_k() -> None:
    curator = curator_of(0)
    assert sorted(curator.top_k(Marginal("a"), 4, epsilon=2.0)) == [0, 1, 2, 3]
    (entry,) = curator.ledger.entries
    assert (entry.epsilon, entry.rho) == (2.0, 2.0**2 / 32)
    assert entry.parts == ((0.5, 4),)
    assert (entry.sensitivity, entry.norm) == (1.0, "Linf")
    with pytest.raises(BudgetExceededError):
        curator.top_k(Marginal("a"), 2, epsilon=9.0)


@pytest.mark.parametrize("k", [0, 5, 1.5, -1, True])
def test_other_numbers_are_refused(k) -> None:
    curator = curator_of(0)
    with pytest.raises(ValueError, match="k must be"):
        curator.top_k(Marginal("a"), k, epsilon=1.0)
    assert len(curator.ledger) == len(curator.trace) == 0


def test_a_constant_is_chosen_for_nothing() -> None:
    curator = curator_of(0)
    assert list(curator.top_k(Marginal("one"), 1, epsilon=1.0)) == [0]
    assert curator.top_k(KendallDependence("a", "one"), 1, epsilon=1.0).shape == (1,)
    assert len(curator.ledger) == 0


@pytest.mark.parametrize("ask", ["laplace", "exponential", "noisy_max"])
def test_what_is_no_query_is_named(ask) -> None:
    with pytest.raises(TypeError, match="Expected a query"):
        getattr(curator_of(0), ask)("a", epsilon=1.0)
    with pytest.raises(TypeError, match="epsilon must be a number"):
        getattr(curator_of(0), ask)(Marginal("a"), epsilon="1")


@dataclass(frozen=True)
class Scores(Query):
    """Scores that are made up, with a bound that came out a little short."""

    scores: tuple[float, ...]
    bound: float
    integral = True

    columns = ()

    def shape(self, public):
        return (len(self.scores),)

    def evaluate(self, records):
        return np.array(self.scores)

    def sensitivity(self, public, ord=1):
        return self.bound


def test_a_bound_a_little_short_of_whole_is_meant_whole() -> None:
    query = Scores((0, 2), 2 * (1 - 2.0**-53))
    curator = curator_of(0, 1e9)
    chosen = sum(curator.exponential(query, epsilon=3.0) for _ in range(2000))
    assert chosen / 2000 == pytest.approx(exp(1.5) / (1 + exp(1.5)), abs=0.03)


@pytest.mark.parametrize("scores", [(0, 2**62), (-(2**62), 0)])
def test_large_scores_are_no_error(scores) -> None:
    assert curator_of(0).exponential(Scores(scores, 1.0), epsilon=1.0) == 1


def test_a_false_claim_of_no_sensitivity_leaks_nothing() -> None:
    class Liar(Marginal):
        def sensitivity(self, public, ord=1):
            return 0.0

    answer = curator_of(0).laplace(Liar("a"), epsilon=1.0)
    assert answer.tolist() == [8, 0, 0, 0]  # of made-up records


def test_draws_have_the_law_of_single_choices_and_one_price() -> None:
    curator, epsilon = curator_of(0, 1e9), 2.4
    drawn = curator.exponential(Marginal("a"), epsilon=6000 * epsilon, size=6000)
    weights = np.exp(epsilon * np.array(COUNTS) / 2)
    seen = np.bincount(drawn, minlength=4)
    assert chisquare(seen, 6000 * weights / weights.sum()).pvalue > 1e-3
    assert chisquare(seen, 6000 * weights**2 / (weights**2).sum()).pvalue < 1e-6
    # Independent of each other: pairs have the product of the laws.
    pairs = np.bincount(4 * drawn[::2] + drawn[1::2], minlength=16)
    law = np.outer(weights, weights).ravel() / weights.sum() ** 2
    assert chisquare(pairs, 3000 * law).pvalue > 1e-3
    (entry,) = curator.ledger.entries
    assert (entry.epsilon, entry.parts) == (6000 * epsilon, ((epsilon, 6000),))
    assert entry.rho == pytest.approx(6000 * epsilon**2 / 8)
    assert len(curator.trace) == 1


@pytest.mark.parametrize("size", [0, 1.5, -1, True, 2**20 + 1])
def test_other_sizes_are_refused(size) -> None:
    curator = curator_of(0)
    with pytest.raises(ValueError, match="size must be"):
        curator.exponential(Marginal("a"), epsilon=1.0, size=size)
    assert len(curator.ledger) == len(curator.trace) == 0


@pytest.mark.parametrize(
    ("epsilon", "n_chosen"), [(1.0, 5), (0.7, 9), (2.1, 3), (0.3, 3)]
)
def test_all_choices_together_cost_no_more_than_the_price(epsilon, n_chosen) -> None:
    curator = curator_of(0)
    curator.exponential(Marginal("a"), epsilon=epsilon, size=n_chosen)
    if n_chosen < 4:
        curator.top_k(Marginal("a"), n_chosen, epsilon=epsilon)
    for entry in curator.ledger.entries:
        ((share, count),) = entry.parts
        assert count == n_chosen
        assert Fraction(share) * count <= Fraction(epsilon)
        assert Fraction(np.nextafter(share, 1)) * count > Fraction(epsilon)


def test_a_refused_draw_touches_nothing_and_a_constant_is_free() -> None:
    curator = curator_of(0)
    with pytest.raises(BudgetExceededError):
        curator.exponential(Marginal("a"), epsilon=11.0, size=2)
    assert len(curator.trace) == 0
    assert curator.exponential(Marginal("one"), epsilon=1.0, size=3).tolist() == 3 * [0]
    assert len(curator.ledger) == 0
