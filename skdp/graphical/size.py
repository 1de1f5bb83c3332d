"""Refusing a model that is too large, before any of its tables exists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skdp.exceptions import ModelTooLargeError
from skdp.graphical.domain import Domain
from skdp.graphical.elimination import Elimination
from skdp.graphical.linear_queries import LinearQuery

__all__ = ["MAX_MODEL_SIZE", "check_queries", "check_table", "check_work"]

#: Cells of the eliminated cliques that are accepted unless told otherwise; they are
#: multiplied in each pass, but never stored. Stored tables may have a tenth of it.
MAX_MODEL_SIZE = 1e9

_REMEDY = (
    "Measure fewer or smaller marginals, declare the columns with fewer levels or "
    "bins, or raise max_model_size (in cells)."
)


def check_work(
    domain: Domain,
    cliques: Iterable[Sequence[str]],
    elimination: Elimination,
    max_model_size: float = MAX_MODEL_SIZE,
) -> None:
    """Refuse an elimination that joins too many cells.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : iterable of sequences of str
        What was to be modelled, for the message.
    elimination : Elimination
        The best order found.
    max_model_size : float, default=1e9
        Largest number of cells of all eliminated cliques together.

    Raises
    ------
    ModelTooLargeError
        With the size, the cliques that cause it, and what to do.
    """
    if elimination.work <= max_model_size:
        return
    largest = max(elimination.cliques, key=domain.n_cells)
    inside = _tying(list(cliques), largest)
    raise ModelTooLargeError(
        f"The model is too large: its junction tree has {_cells(elimination.work)}, "
        f"{_cells(domain.n_cells(largest))} of them in one table over "
        f"{_names(largest)}, more than max_model_size={max_model_size:.3g}. The "
        f"cliques that tie these columns together are {_listed(inside)}. {_REMEDY}"
    )


def check_table(
    domain: Domain,
    clique: Sequence[str],
    max_cells: float = MAX_MODEL_SIZE / 10,
) -> None:
    """Refuse a table that would have to be stored and is too large for that.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    clique : sequence of str
        Axes of the table.
    max_cells : float, default=1e8
        Largest number of cells.

    Raises
    ------
    ModelTooLargeError
        With the size of the table, its columns, and what to do.
    """
    n_cells = domain.n_cells(clique)
    if n_cells > max_cells:
        raise ModelTooLargeError(
            f"A table over {_names(clique)} would have {_cells(n_cells)}, more than "
            f"the {max_cells:.3g} that may be stored. {_REMEDY}"
        )


def check_queries(queries: Iterable[LinearQuery], max_model_size: float) -> None:
    """Refuse more single queries than a tenth of the size of a model.

    Parameters
    ----------
    queries : iterable of LinearQuery
        Their rows are the single queries; a few numbers are kept for each.
    max_model_size : float
        Largest number of cells of a model.

    Raises
    ------
    ModelTooLargeError
        With their number, and what to do.
    """
    n_queries = sum(query.shape[0] for query in queries)
    if n_queries > max_model_size / 10:
        raise ModelTooLargeError(
            f"The workload has {n_queries:.3g} single queries, more than "
            f"max_model_size/10 = {max_model_size / 10:.3g}. Ask fewer."
        )


def _tying(
    cliques: Sequence[Sequence[str]], largest: Sequence[str]
) -> Sequence[Sequence[str]]:
    """Return the cliques within a table, or else those that lead through others."""
    shared = [len(set(clique) & set(largest)) for clique in cliques]
    least = min(2, max(shared, default=0))
    return [c for c, n in zip(cliques, shared, strict=True) if n >= least]


def _cells(n_cells: int) -> str:
    gigabytes = 8 * n_cells / 1e9
    memory = f" ({gigabytes:.3g} GB)" if gigabytes >= 0.1 else ""
    return f"{n_cells:.3g} cells{memory}" if n_cells >= 1e5 else f"{n_cells} cells"


def _names(names: Sequence[str]) -> str:
    return "(" + ", ".join(map(repr, names)) + ")"


def _listed(cliques: Sequence[Sequence[str]], limit: int = 30) -> str:
    shown = ", ".join(_names(clique) for clique in cliques[:limit])
    more = len(cliques) - limit
    return shown + (f" and {more} more" if more > 0 else "")
