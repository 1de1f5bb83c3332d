"""What scores of a graphical model refuse before they are paid for."""

import pickle

import numpy as np
import pytest

from skdp import Ordinal, Schema
from skdp.exceptions import ModelTooLargeError, SchemaError
from skdp.graphical import Domain, MarkovRandomField
from skdp.privacy import Curator, PrivacyLedger
from skdp.queries import Marginal, MarginalDistances, ModelDistances, PublicFacts
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


@pytest.mark.parametrize("kind", ["model", "table"])
def test_numbers_whose_sums_would_overflow_are_refused(kind):
    weight, penalty = 1.7976931348623157e308 / 1e13, -1e13
    if kind == "model":
        scores = ModelDistances([("h",), ("x",)], star(100), [weight, 1], [penalty, 0])
    else:
        tables = [np.zeros(2), np.zeros(9)]
        scores = MarginalDistances(
            [Marginal("h"), Marginal("x")], tables, [weight, 1], [penalty, 0]
        )
    curator = Curator(RECORDS, PrivacyLedger(1.0), random_state=0)
    with pytest.raises(ValueError, match="too large"):
        curator.exponential(scores, epsilon=0.5)
    assert len(curator.ledger) == 0
    with pytest.raises(ValueError, match="read-only"):
        scores.weights[0] = 1.0


def test_tiny_weights_keep_their_norm():
    tiny = ModelDistances([("h",), ("x",)], star(100), [3e-170, 4e-170])
    facts = PublicFacts(5, SCHEMA)
    assert tiny.sensitivity(facts, 2) == pytest.approx(1e-169)


def test_models_that_are_no_distribution_are_refused():
    domain = Domain.from_schema(SCHEMA)
    for total in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="n_records"):
            MarkovRandomField(domain, {}, total)
    huge = {("h",): np.array([0, 1.5e308]), ("h", "x"): np.full((2, 9), 1.5e308)}
    with pytest.raises(ValueError, match="overflows"):
        MarkovRandomField(domain, huge, 5)
    model = star(100)
    with pytest.raises(TypeError):
        model.potentials[("h", "x")] = np.full((2, 9), np.nan)
    assert pickle.loads(pickle.dumps(model)).marginal("h") == pytest.approx(
        model.marginal("h")
    )
