"""Records and their public schema: what goes in, before any question is asked.

A `Schema` says what is publicly known of the columns; a `CountTable` holds the private
records as distinct rows with counts, made in one pass over a table of any kind.
"""

from skdp.records.discrete import CountTable
from skdp.records.frames import CodedColumn, column_names, columns
from skdp.records.inference import infer_schema
from skdp.records.reading import read_records
from skdp.records.schema import Categorical, Column, Numeric, Ordinal, Schema

__all__ = [
    "Categorical",
    "CodedColumn",
    "Column",
    "CountTable",
    "Numeric",
    "Ordinal",
    "Schema",
    "column_names",
    "columns",
    "infer_schema",
    "read_records",
]
