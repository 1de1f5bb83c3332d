"""What the tests of the trust boundary share: small records, and odd queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from skdp.queries import PublicFacts, Query
from skdp.records import Categorical, CountTable, Schema


@dataclass(frozen=True)
class ScoreQuery(Query):
    """A scalar with a known answer, so that the law of a mechanism is known."""

    value: float
    bound: float = 1.0
    columns: tuple[str, ...] = ()

    def evaluate(self, records: CountTable) -> np.ndarray:
        if isinstance(self.value, BaseException):
            raise self.value
        return np.asarray(self.value)

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        return ()

    def sensitivity(self, public: PublicFacts, ord: float = 1) -> float:
        return self.bound


class PoisonedRecords:
    """Records of which nothing but the public facts may be touched."""

    def __init__(self, schema: Schema, n_records: int) -> None:
        self.schema = schema
        self.n_records = n_records

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the records were touched: {name}")


@pytest.fixture(scope="session")
def score_query() -> type[ScoreQuery]:
    """The class of queries with a known answer."""
    return ScoreQuery


@pytest.fixture(scope="session")
def binary_schema() -> Schema:
    """Four columns of two levels: a, b, c, d."""
    return Schema([Categorical(name, ("no", "yes")) for name in "abcd"])


@pytest.fixture(scope="session")
def binary_records(binary_schema: Schema) -> Callable[[Any], CountTable]:
    """Make records of binary columns from rows of codes."""

    def make(rows: Any) -> CountTable:
        codes = np.asarray(rows)
        names = binary_schema.names[: codes.shape[1]]
        return CountTable.from_codes(codes, binary_schema.select(names))

    return make


@pytest.fixture(scope="session")
def records(binary_records: Callable[[Any], CountTable]) -> CountTable:
    """Twenty records of four binary columns."""
    return binary_records(np.random.default_rng(7).integers(0, 2, (20, 4)))


@pytest.fixture
def poisoned(binary_schema: Schema) -> PoisonedRecords:
    """Records that raise when they are touched."""
    return PoisonedRecords(binary_schema, 20)
