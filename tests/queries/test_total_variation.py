"""Total variation: neighbours that attain its bounds, in every case of them."""

from __future__ import annotations

import numpy as np
import pytest

from skdp.queries import PublicFacts, TotalVariationDependence
from skdp.records import CountTable, Ordinal, Schema

N = 10**8  # of the stratum in which the odd record finds too few of its kind
K = 10**5  # so many share each of its levels: K^2/N is large


def scores(levels, n_strata, cells, odd):
    """Score two record sets: cells with counts, and an odd record in either place."""
    sizes = {"x": levels[0], "y": levels[1], "z": n_strata}
    schema = Schema([Ordinal(name, range(k)) for name, k in sizes.items()])
    query = TotalVariationDependence("x", "y", ("z",) if n_strata > 1 else ())
    found = []
    for place in odd:
        counts = dict(cells)
        counts[place] = counts.get(place, 0) + 1
        rows, numbers = zip(*sorted(counts.items()), strict=True)
        records = CountTable(schema, np.array(rows, np.int8), np.array(numbers))
        found.append(float(query.evaluate(records)))
    public = PublicFacts(records.n_records, schema)
    return abs(found[0] - found[1]) / query.sensitivity(public)


CASES = {
    "one stratum, binary": ((2, 2), 1, {(0, 0, 0): 999}, [(1, 1, 0), (0, 0, 0)], 1.0),
    "one stratum, one binary": (
        (2, 5), 1, {(0, 0, 0): 999}, [(1, 4, 0), (0, 0, 0)], 1.0,
    ),
    "one stratum, three levels": (
        (3, 3), 1, {(0, 0, 0): N, (2, 0, 0): K, (0, 2, 0): K},
        [(1, 1, 0), (2, 2, 0)], 0.998,
    ),
    "two strata, binary": (
        (2, 2), 2, {(0, 0, 0): N, (0, 0, 1): N, (1, 0, 1): K, (0, 1, 1): K},
        [(1, 1, 0), (1, 1, 1)], 0.998,
    ),
    "two strata, three levels": (
        (3, 3), 2, {(0, 0, 0): N, (0, 0, 1): N, (1, 0, 1): K, (0, 1, 1): K},
        [(1, 1, 0), (1, 1, 1)], 0.998,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_bounds_are_attained(case):
    *worlds, least = CASES[case]
    assert least <= scores(*worlds) <= 1 + 1e-6


def test_effects_that_cancel_over_strata_are_seen():
    schema = Schema([Ordinal(name, range(2)) for name in "xyz"])
    rows = np.array([(0, 0, 0), (1, 1, 0), (0, 1, 1), (1, 0, 1)], np.int8)
    records = CountTable(schema, rows, np.full(4, 25))
    query = TotalVariationDependence("x", "y", ("z",))
    public = PublicFacts(100, schema)
    assert float(query.evaluate(records)) == query.largest_score(public) == 2.5
