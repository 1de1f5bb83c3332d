"""Missing entries of columns of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skdp.exceptions import SchemaError
from skdp.records import CodedColumn, infer_schema
from skdp.records.missing import missing_entries, select_entries

COLUMNS = {
    "floats": np.array([1.0, np.nan]),
    "integers": np.array([1, 2]),
    "objects": np.array(["a", None], dtype=object),
    "nullable": np.array([3, pd.NA], dtype=object),
    "coded": CodedColumn(np.array([0, -1]), np.array(["a", "b"]), False),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_missing_entries(name):
    values = COLUMNS[name]
    found = missing_entries(values)
    assert found.dtype == np.bool_
    assert found.tolist() == [False, name != "integers"]
    known = select_entries(values, ~found)
    assert len(known) == (~found).sum()
    assert not missing_entries(known).any()


def test_a_schema_may_be_read_off_incomplete_records():
    frame = pd.DataFrame(
        {
            "x": [0.5, np.nan, 2.0],
            "k": pd.array([1, pd.NA, 3], dtype="Int64"),
            "c": pd.Categorical(["u", None, "v"]),
            "full": [1, 2, 3],
        }
    )
    with pytest.raises(SchemaError, match="'x'"):
        infer_schema(frame, warn=False)
    schema = infer_schema(frame, warn=False, missing=True)
    assert [column.missing for column in schema] == [True, True, True, False]
    assert schema["k"].categories == (1, 2, 3)
    assert schema["c"].encode(np.array(["v", None], dtype=object)).tolist() == [1, 2]
    with pytest.raises(SchemaError, match="'x'"):
        infer_schema(frame[["x"]][1:2], warn=False, missing=True)
