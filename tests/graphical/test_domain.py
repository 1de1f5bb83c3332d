import numpy as np
import pytest

from skdp.graphical import Domain
from skdp.records import Categorical, Numeric, Schema

DOMAIN = Domain(("a", "b", "c"), (2, 3, 4))


def test_shapes_follow_the_names():
    assert DOMAIN.shape(("c", "a")) == (4, 2)
    assert DOMAIN.n_cells(("c", "b")) == 12
    assert DOMAIN.n_cells(()) == 1
    assert DOMAIN.sort(("c", "a", "c")) == ("a", "c")
    assert "a" in DOMAIN and "z" not in DOMAIN
    assert len(DOMAIN) == 3


def test_a_schema_gives_its_domain():
    schema = Schema([Categorical("a", ("no", "yes")), Numeric("b", 0, 1, bins=7)])
    assert Domain.from_schema(schema) == Domain(("a", "b"), (2, 7))
    assert Domain.from_schema(DOMAIN) is DOMAIN


def test_broadcast_puts_axes_where_they_belong():
    table = np.arange(8.0).reshape(4, 2)
    wide = DOMAIN.broadcast(table, ("c", "a"), ("a", "b", "c"))
    assert wide.shape == (2, 1, 4)
    assert np.array_equal(wide[:, 0, :], table.T)


@pytest.mark.parametrize(
    ("names", "sizes", "message"),
    [
        (("a",), (2, 3), "one size per name"),
        (("a", "a"), (2, 3), "different"),
        (("a",), (0,), "at least 1 level"),
    ],
)
def test_bad_domains_are_refused(names, sizes, message):
    with pytest.raises(ValueError, match=message):
        Domain(names, sizes)


def test_an_unknown_column_is_named():
    with pytest.raises(ValueError, match="no column 'z'"):
        DOMAIN.shape(("a", "z"))
