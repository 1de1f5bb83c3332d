"""The best record for some functions, against trying all records."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.graphical import Domain
from skdp.graphical.max_sum import Term, max_sum

DOMAIN = Domain(tuple("abcde"), (3, 4, 1, 5, 2))
RECORDS = np.array(list(product(*map(range, DOMAIN.sizes))))


def random_terms(rng, n_terms):
    """Make boxes and tables on one to three columns, of either sign."""
    terms = []
    for _ in range(n_terms):
        size = rng.integers(1, 4)
        columns = tuple(rng.choice(list(DOMAIN.names), size, replace=False))
        shape = DOMAIN.shape(columns)
        if rng.random() < 0.7:
            values = tuple((rng.random(n) < 0.4) * 1.0 for n in shape)
        else:
            values = rng.normal(size=shape)
        terms.append(Term(columns, values, float(rng.normal())))
    return terms


def values_of(terms, records=RECORDS):
    """Add the functions up, one by one, at every record."""
    total = np.zeros(len(records))
    for term in terms:
        codes = [records[:, DOMAIN.axis(name)] for name in term.columns]
        if isinstance(term.values, tuple):
            pairs = zip(term.values, codes, strict=True)
            total += term.weight * np.prod([v[c] for v, c in pairs], axis=0)
        else:
            total += term.weight * term.values[tuple(codes)]
    return total


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), n_terms=st.integers(0, 12))
def test_elimination_finds_the_best_record(seed, n_terms):
    rng = np.random.default_rng(seed)
    terms = random_terms(rng, n_terms)
    record, exact = max_sum(DOMAIN, terms, rng)
    assert exact
    best = values_of(terms).max()
    assert values_of(terms, record[None])[0] == pytest.approx(best, abs=1e-12)


def test_the_search_says_that_it_is_one_and_is_good():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(20):
        terms = random_terms(rng, 8)
        record, exact = max_sum(DOMAIN, terms, rng, max_cells=0)
        assert not exact
        everywhere = values_of(terms)
        found = values_of(terms, record[None])[0]
        shares.append((found - everywhere.min()) / np.ptp(everywhere))
    assert min(shares) > 0.95
    assert np.mean(np.array(shares) > 1 - 1e-12) >= 0.9


def test_levels_that_are_not_told_apart_are_all_chosen():
    term = Term(("d",), (np.array([0.0, 1.0, 1.0, 0.0, 1.0]),))
    rng = np.random.default_rng(0)
    records = np.array([max_sum(DOMAIN, [term], rng)[0] for _ in range(200)])
    assert set(records[:, DOMAIN.axis("d")]) == {1, 2, 4}
    assert set(records[:, DOMAIN.axis("b")]) == {0, 1, 2, 3}


def test_many_levels_cost_nothing_where_few_are_told_apart():
    domain = Domain(tuple(f"v{i}" for i in range(12)), (10**5,) * 12)
    terms = []
    for i in range(12):
        low = (np.arange(10**5) < 10_000 * (i % 9 + 1)) * 1.0
        terms.append(Term((f"v{i}", f"v{(i + 5) % 12}"), (low, 1 - low), 1.0))
    record, exact = max_sum(domain, terms, np.random.default_rng(0))
    assert exact
    assert record.shape == (12,)
