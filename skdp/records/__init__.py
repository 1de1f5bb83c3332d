"""Records and their public schema: what goes in, before any question is asked.

A `Schema` says what is publicly known of the columns; a `CountTable` holds the private
records as distinct rows with counts, a `BoundedMatrix` as rows of numbers between
public bounds; both are made from a table of any kind.
"""

from skdp.records.bounded import BoundedMatrix
from skdp.records.bounds import bounds_to_schema, read_bounded
from skdp.records.discrete import CountTable
from skdp.records.frames import CodedColumn, column_names, columns
from skdp.records.inference import infer_schema
from skdp.records.reading import read_records
from skdp.records.row_grid import RowGrid
from skdp.records.schema import Categorical, Column, Numeric, Ordinal, Schema

__all__ = [
    "BoundedMatrix",
    "Categorical",
    "CodedColumn",
    "Column",
    "CountTable",
    "Numeric",
    "Ordinal",
    "RowGrid",
    "Schema",
    "bounds_to_schema",
    "column_names",
    "columns",
    "infer_schema",
    "read_bounded",
    "read_records",
]
