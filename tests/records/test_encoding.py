"""Small tools for values of any kind."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from skdp.records.encoding import is_missing, some_values


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.nan, np.float32("nan"), np.datetime64("NaT")]
)
def test_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize(
    "value", ["", "nan", 0, 0.0, False, np.inf, [], np.zeros(2), Decimal(1), ()]
)
def test_not_missing(value):
    assert not is_missing(value)


def test_missing_in_pandas():
    pandas = pytest.importorskip("pandas")
    assert is_missing(pandas.NA)
    assert is_missing(pandas.NaT)


def test_some_values_are_few_short_and_different():
    values = np.array(["a", "a", "b" * 100, "c", "d", "e"], dtype=object)
    where = np.array([True] * 5 + [False])
    shown = some_values(values, where)
    assert shown.startswith("'a', 'bbb")
    assert shown.endswith("'c'")
    assert len(shown) < 60
