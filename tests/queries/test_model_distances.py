"""What scores of a graphical model refuse before they are paid for."""

import numpy as np
import pytest

from skdp import Ordinal, Schema
from skdp.exceptions import ModelTooLargeError, SchemaError
from skdp.graphical import Domain, MarkovRandomField
from skdp.privacy import Curator, PrivacyLedger
from skdp.queries import ModelDistances
from skdp.records import CountTable

SCHEMA = Schema([Ordinal("h", range(2)), *(Ordinal(x, range(9)) for x in "xyz")])
RECORDS = CountTable.from_codes(np.zeros((5, 4), dtype=int), SCHEMA)


def star(max_cells):
    """A hub of two levels with three columns of nine."""
    rng = np.random.default_rng(0)
    potentials = {("h", x): rng.normal(size=(2, 9)) for x in "xyz"}
    return MarkovRandomField(Domain.from_schema(SCHEMA), potentials, 5, max_cells)


def test_tables_on_the_way_are_refused_before_they_cost_anything():
    curator = Curator(RECORDS, PrivacyLedger(1.0), random_state=0)
    small = ModelDistances([("h", "x"), ("x", "y")], star(100))
    assert curator.exponential(small, epsilon=0.5) in (0, 1)
    with pytest.raises(ModelTooLargeError):  # (h, x, y) has 162 cells
        curator.exponential(ModelDistances([tuple("xyz")], star(100)), epsilon=0.5)
    assert len(curator.ledger) == 1


def test_models_of_other_columns_are_refused():
    other = MarkovRandomField(Domain(("h", "x"), (2, 3)), {}, 5)
    curator = Curator(RECORDS, PrivacyLedger(1.0), random_state=0)
    for names in (("h", "x"), ("h", "y"), ("h", "q")):
        with pytest.raises(SchemaError):
            curator.exponential(ModelDistances([names], other), epsilon=0.5)
    assert len(curator.ledger) == 0
