"""Why the constants of the Priv-PC paper are not used: each has a counterexample.

The records differ in one record; the observed change exceeds the published constant
and stays within ours. (Wang, Pang, Song: Towards practical differentially private
causal graph discovery, 2020, appendices D and E.)
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from skdp.exceptions import SchemaError
from skdp.queries import (
    KendallDependence,
    NormalizedKendallDependence,
    PublicFacts,
    SpearmanDependence,
)
from skdp.records import CountTable, Numeric, Ordinal, Schema


def schema_of(levels, n_strata=1):
    """Return a schema of x, y and a conditioning column z."""
    sizes = {"x": levels, "y": levels, "z": n_strata}
    return Schema([Ordinal(name, range(size)) for name, size in sizes.items()])


def change(query, before, after, schema):
    """Return the change of the answer between two lists of coded records."""
    answers = [
        query.evaluate(CountTable.from_codes(np.array(codes), schema))
        for codes in (before, after)
    ]
    return float(abs(answers[1] - answers[0]))


def one_stratum(n):
    """Return n - 1 concordant records and one (top, bottom) that turns (top, top)."""
    common = [(i, i, 0) for i in range(1, n)]
    return [*common, (n, 0, 0)], [*common, (n, n, 0)], schema_of(n + 1)


def two_strata(a, b):
    """Return a - 1 concordant records with an odd one, and b discordant ones.

    The odd record is (top, bottom) in the first stratum and turns (top, top) in the
    second.
    """
    top = max(a, b + 1)
    common = [(i, i, 0) for i in range(1, a)] + [(i, b - i, 1) for i in range(b)]
    return [*common, (a, 0, 0)], [*common, (top, top, 1)], schema_of(top + 1, 2)


def theorem_7(n, n_strata, smallest):
    """Return the paper's bound, for a size that no stratum is smaller than."""
    c2 = 9 * smallest / (2 * (2 * smallest + 5))
    root = sqrt(c2 * (n - n_strata))
    return 27 / (4 * root) + 9 / (2 * smallest * root)


@pytest.mark.parametrize("n", [4, 10, 61, 500])
def test_theorem_6_kendalls_tau(n):
    before, after, schema = one_stratum(n)
    query, public = KendallDependence("x", "y"), PublicFacts(n, schema)
    per_tau = 1.5 * (n - 1) / sqrt(n)  # z is so many times tau in one stratum

    observed = change(query, before, after, schema) / per_tau

    assert observed == pytest.approx(4 / n, rel=1e-12)
    assert observed > 2 / (n - 1)
    assert query.sensitivity(public) / per_tau == pytest.approx(4 / n, rel=1e-12)


def test_theorem_7_one_stratum():
    n = 2000
    before, after, schema = one_stratum(n)
    query = NormalizedKendallDependence("x", "y")

    observed = change(query, before, after, schema)

    assert observed == pytest.approx(0.13405, abs=5e-6)
    assert observed * sqrt(n) == pytest.approx(5.995, abs=5e-4)
    assert theorem_7(n, 1, n) == pytest.approx(0.10074, abs=5e-6)
    ours = query.sensitivity(PublicFacts(n, schema))
    assert observed <= ours * (1 + 1e-12) <= observed * (1 + 1e-11)


def test_theorem_7_two_strata():
    n = 3000
    before, after, schema = two_strata(1498, 1502)
    query = NormalizedKendallDependence("x", "y", ("z",))

    observed = change(query, before, after, schema)

    assert observed == pytest.approx(0.16400, abs=5e-6)
    assert observed * sqrt(n) == pytest.approx(8.98, abs=5e-3)
    assert theorem_7(n, 2, n // 2) == pytest.approx(0.0823, abs=5e-5)
    assert observed <= query.sensitivity(PublicFacts(n, schema)) < 1.01 * observed


@pytest.mark.parametrize("n", [10, 61, 500])
def test_theorem_8_spearmans_rho(n):
    before, after, schema = one_stratum(n)
    query, public = SpearmanDependence("x", "y"), PublicFacts(n, schema)
    per_rho = (n - 1) / sqrt(n)

    observed = change(query, before, after, schema) / per_rho

    assert observed == pytest.approx(6 / (n + 1), rel=1e-12)
    assert observed <= query.sensitivity(public) / per_rho <= 6 / (n - 1) * (1 + 1e-15)
    assert 30 / n > 4.9 * observed  # valid, and five times too large


# Levels come from the schema --------------------------------------------------


def test_a_wrong_claim_of_binary_levels_would_not_be_private():
    n = 60
    query = KendallDependence("x", "y", ("z",))
    changes = [
        (change(query, *two_strata(a, n - a)), two_strata(a, n - a)[2])
        for a in range(2, n - 1)
    ]
    observed, schema = max(changes, key=lambda one: one[0])
    binary = query.sensitivity(PublicFacts(n, schema_of(2, 2)))

    assert observed == pytest.approx(1.110, abs=1e-3)
    assert binary == pytest.approx(0.775, abs=5e-4)
    assert observed <= query.sensitivity(PublicFacts(n, schema)) < 1.001 * observed


def test_records_cannot_have_more_levels_than_the_schema_says():
    codes = np.array([(0, 2, 0)])
    with pytest.raises(SchemaError, match="'y'"):
        CountTable.from_codes(codes, schema_of(2, 2))
    columns = [
        Numeric("x", 0, 2, bins=2),
        Ordinal("y", (0, 1), outside="clip"),
        Ordinal("z", (0, 1), outside="other", missing=True),
    ]
    values = np.array([(-5.0, 7.0, 3.0), (1.5, 0.2, 0.0), (9.0, -2.0, np.nan)])
    records = CountTable.from_frame(values, Schema(columns))
    assert records.marginal(("x", "y", "z")).shape == (2, 2, 4)
    query = KendallDependence("x", "y", ("z",))
    assert query.levels(PublicFacts(3, records.schema)) == (2, 2)
    assert query.n_strata(PublicFacts(3, records.schema)) == 4
