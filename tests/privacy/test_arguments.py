"""Numbers are taken at their exact value, or refused by name."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from skdp.privacy.arguments import exact_fraction


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (3, Fraction(3)),
        (2**70, Fraction(2**70)),
        (np.int32(-3), Fraction(-3)),
        (Fraction(1, 3), Fraction(1, 3)),
        (0.1, Fraction(3602879701896397, 2**55)),
        (np.float32(0.75), Fraction(3, 4)),
        (5e-324, Fraction(1, 2**1074)),
    ],
)
def test_numbers_of_any_type_keep_their_value(value, exact):
    found = exact_fraction(value, "scale")
    assert type(found) is Fraction
    assert found == exact


@pytest.mark.parametrize("bad", ["1", None, 1j, Decimal(1)])
def test_other_types_are_refused(bad):
    with pytest.raises(TypeError, match="scale must be a Fraction, an int or a float"):
        exact_fraction(bad, "scale")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.float32("inf")])
def test_numbers_without_a_value_are_refused(bad):
    with pytest.raises(ValueError, match="scale must be finite"):
        exact_fraction(bad, "scale")
