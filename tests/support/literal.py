"""Slow, literal readings of published algorithms, on lists of records.

Scores come from double loops over records. The noise comes from the streams of the
package in the order of the definition, so that answers can be compared one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import exp, floor, sqrt

import numpy as np

from skdp.privacy.noise import discrete_gaussian, discrete_laplace
from skdp.privacy.streams import RandomStreams

STEPS = 2**20  # of a grid in units of the sensitivity


def sign(a, b):
    return (a > b) - (a < b)


def kendall(records, x, y, given):
    """1.5 |sum of 2 S/n over strata| / sqrt(n)."""
    strata = {}
    for record in records:
        strata.setdefault(tuple(record[z] for z in given), []).append(record)
    total = Fraction(0)
    for stratum in strata.values():
        pairs = combinations(stratum, 2)
        s = sum(sign(a[x], b[x]) * sign(a[y], b[y]) for a, b in pairs)
        total += Fraction(2 * s, len(stratum))
    return 1.5 * abs(float(total)) / sqrt(len(records))


def sensitivity(n, levels, x, y, given):
    """The table of the default score."""
    binary = levels[x] == levels[y] == 2
    if not given:
        return (3 if binary else 6) * (n - 1) / n**1.5
    k = min(levels[x], levels[y])
    spread = 2 + (1 - 1 / (k - 1))
    return min(1.5 * max(6 - 16 / (n + 1), 4 - 4 / n), 3 * spread) / sqrt(n)


def pc_stable(names, independent: Callable, max_order):
    """Return the edges that are left, with neighbourhoods frozen per order."""
    edges = set(combinations(names, 2))
    for order in range(max_order + 1):
        frozen = {v: [w for w in names if {(v, w), (w, v)} & edges] for v in names}
        for x, y in combinations(names, 2):
            if (x, y) not in edges:
                continue
            of_x = [z for z in frozen[x] if z != y]
            of_y = [z for z in frozen[y] if z != x]
            sets = list(combinations(of_x, order))
            sets += [s for s in combinations(of_y, order) if s not in sets]
            for given in sets:
                answer = independent(x, y, given)
                if answer is None:
                    return edges
                if answer:
                    edges.discard((x, y))
                    break
    return edges


class SparseVectorReading:
    """Above-threshold with noise that is drawn anew after every "independent"."""

    def __init__(self, records, levels, thresholds, epsilon, rounds, seed):
        self.records, self.levels, self.thresholds = records, levels, thresholds
        self.noise = RandomStreams.from_random_state(seed).noise
        share = epsilon / (1 + 2 ** (2 / 3))
        self.scales = [
            Fraction(units * (STEPS + 1)) / Fraction(price)
            for units, price in ((1, share), (2, epsilon - share))
        ]
        self.left = rounds
        self.threshold = None

    def __call__(self, x, y, given):
        if self.left == 0:
            return None
        if self.threshold is None:
            self.threshold = int(discrete_laplace(self.scales[0], (), self.noise))
        margin = margin_of(self.records, self.levels, self.thresholds, x, y, given)
        yes = margin + int(discrete_laplace(self.scales[1], (), self.noise))
        if yes < self.threshold:
            return False
        self.threshold, self.left = None, self.left - 1
        return True


class GaussianReading:
    """Every score gets fresh Gaussian noise."""

    def __init__(self, records, levels, thresholds, multiplier, n_tests, seed):
        self.records, self.levels, self.thresholds = records, levels, thresholds
        self.noise = RandomStreams.from_random_state(seed).noise
        self.variance = (Fraction(multiplier) * (STEPS + 1)) ** 2
        self.left = n_tests

    def __call__(self, x, y, given):
        if self.left == 0:
            return None
        self.left -= 1
        margin = margin_of(self.records, self.levels, self.thresholds, x, y, given)
        return margin + int(discrete_gaussian(self.variance, (), self.noise)) >= 0


def margin_of(records, levels, thresholds, x, y, given):
    """How far the score lies below its threshold, in steps of the sensitivity."""
    z = kendall(records, x, y, given)
    unit = sensitivity(len(records), levels, x, y, given)
    return floor((thresholds(x, y, given) - z) / unit * STEPS + 0.5)


def best_margins(records, levels, thresholds, candidates):
    """For each edge the largest margin over its sets, in units of the sensitivity."""
    return np.array(
        [
            max(
                (thresholds(x, y, s) - kendall(records, x, y, s))
                / sensitivity(len(records), levels, x, y, s)
                for s in sets
            )
            for (x, y), sets in candidates.items()
        ]
    )


def multiplicative_weights(records, measurements, n):
    """Figure 1 of Hardt, Ligett, McSherry (2012), step 3, from a uniform start.

    A measurement is a list of (query, answer) pairs that are updated together; for a
    single query this is the published rule, p(x) times exp(q(x) (y - q(p))/2n).
    """
    p = {x: 1 / len(records) for x in records}
    for pairs in measurements:
        errors = [(q, y - n * sum(q(x) * p[x] for x in records)) for q, y in pairs]
        p = {
            x: p[x] * exp(sum(q(x) * error for q, error in errors) / (2 * n))
            for x in records
        }
        total = sum(p.values())
        p = {x: p[x] / total for x in records}
    return p


def exponential_law(scores, epsilon, sensitivity):
    """The probability of each candidate: proportional to exp(eps score/2 Delta)."""
    weights = [exp(epsilon * (s - max(scores)) / (2 * sensitivity)) for s in scores]
    return [w / sum(weights) for w in weights]
