"""What all tests share: a deterministic Hypothesis, and data beside the repository."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# No window is opened by a test, whatever the machine's default is.
os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples in every run, on fast and on slow machines alike, and no
# folder of remembered examples beside the sources.
settings.register_profile(
    "deterministic", derandomize=True, deadline=None, database=None
)
settings.load_profile("deterministic")

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED_DATA = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root folder of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Find a data file in the folder `shared/data` beside the repository.

    The file is no part of the package: where it is absent the test that asks
    for it is skipped with a reason.
    """

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.exists():
            pytest.skip(f"needs shared/data/{name} beside the repository")
        return path

    return find
