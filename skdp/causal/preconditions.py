"""What a search asks of its schema, before anything is spent."""

from __future__ import annotations

from math import prod

from skdp.exceptions import ModelTooLargeError, UnorderedLevelsWarning
from skdp.records import Schema
from skdp.warn import warn_user

__all__ = [
    "LARGEST_TABLE",
    "refuse_large_release",
    "refuse_large_tables",
    "warn_of_unordered_levels",
]

#: Largest number of cells of a table in memory (1 GiB).
LARGEST_TABLE = 2**27
#: Largest number of cells of a release, each of which needs noise of its own.
LARGEST_RELEASE = 2**24
#: Largest number of coordinates of the interaction of two columns.
LARGEST_INTERACTION = 2**10


def refuse_large_tables(schema: Schema, n_records: int, max_order: int | None) -> None:
    """Refuse a schema for which the table of one question could be too large.

    Parameters
    ----------
    schema : Schema
        Public levels.
    n_records : int
        Number of records; no more strata than these are ever occupied.
    max_order : int or None
        Largest size of a conditioning set.

    Raises
    ------
    ModelTooLargeError
        If the largest table may have more than 2^27 cells (1 GiB).
    """
    largest = sorted(schema, key=lambda column: -column.n_levels)
    pair, others = largest[:2], largest[2:]
    strata = others if max_order is None else others[:max_order]
    n_cells = prod(c.n_levels for c in pair)
    n_cells *= min(n_records, prod(c.n_levels for c in strata))
    if n_cells > LARGEST_TABLE:
        named = ", ".join(f"{c.name!r} ({c.n_levels} levels)" for c in largest[:4])
        asked = "any order" if max_order is None else f"order up to {max_order}"
        raise ModelTooLargeError(
            f"A question of {asked} may need a table of {n_cells} cells, more than "
            f"{LARGEST_TABLE}. The columns with most levels are {named}: give them "
            "fewer levels or bins, or set a lower max_order (None is unlimited). "
            "Nothing was spent."
        )


def refuse_large_release(schema: Schema, source: str) -> None:
    """Refuse a schema for which a single release of everything would be too large.

    Parameters
    ----------
    schema : Schema
        Public levels.
    source : {"table", "pairs"}
        Release of the full contingency table, or of all pairs.

    Raises
    ------
    ModelTooLargeError
        If it would have more than 2^24 cells, or the interaction of two columns more
        than 2^10 coordinates, whose covariance a test inverts.
    """
    _refuse_large_interactions(schema)
    size = schema.size if source == "table" else sum(schema.shape) ** 2
    if size > LARGEST_RELEASE:
        largest = sorted(schema, key=lambda column: -column.n_levels)[:4]
        named = ", ".join(f"{c.name!r} ({c.n_levels} levels)" for c in largest)
        other = ", or take source='pairs' and a delta > 0" if source == "table" else ""
        raise ModelTooLargeError(
            f"source={source!r} needs a table of {size} cells, more than "
            f"{LARGEST_RELEASE}. The columns with most levels are {named}: give them "
            f"fewer levels or bins{other}. Nothing was spent."
        )


def _refuse_large_interactions(schema: Schema) -> None:
    largest = sorted(schema, key=lambda column: -column.n_levels)[:2]
    size = prod(column.n_levels - 1 for column in largest)
    if len(largest) == 2 and size > LARGEST_INTERACTION:
        named = " and ".join(f"{c.name!r} ({c.n_levels} levels)" for c in largest)
        raise ModelTooLargeError(
            f"The interaction of {named} has {size} coordinates, more than "
            f"{LARGEST_INTERACTION}: give them fewer levels or bins. Nothing was spent."
        )


def warn_of_unordered_levels(schema: Schema, independence_test: str) -> None:
    """Warn where a rank score meets three or more levels without an order.

    Parameters
    ----------
    schema : Schema
        Public levels.
    independence_test : str
        Name of the score.

    Warns
    -----
    UnorderedLevelsWarning
        Names the columns.
    """
    unordered = [c.name for c in schema if not c.ordered and len(c.levels) > 2]
    if unordered:
        warn_user(
            f"independence_test={independence_test!r} reads levels as ranks, but "
            f"{', '.join(map(repr, unordered))} have more than two levels without an "
            "order (a level for missing or other values counts as the highest): "
            "whether an edge is found can depend on how they are arranged. Declare "
            "them Ordinal in a meaningful order, or make an indicator of each level.",
            UnorderedLevelsWarning,
        )
