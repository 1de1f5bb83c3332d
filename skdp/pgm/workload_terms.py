"""A workload as the matrix mechanism sees it: W'W for every column."""

from __future__ import annotations

from math import prod, sqrt

from skdp.exceptions import SchemaError
from skdp.graphical import Domain, Identity, Kronecker, LinearQuery
from skdp.graphical.matrix_mechanism import MAX_DENSE, Gram, Term
from skdp.pgm.workload import Workload

__all__ = ["axis_sizes", "workload_terms"]


def workload_terms(workload: Workload, domain: Domain) -> tuple[Term, ...]:
    """Return the queries of a workload as products over columns.

    Parameters
    ----------
    workload : Workload
        Checked against the schema.
    domain : Domain
        Columns and their numbers of levels.

    Returns
    -------
    tuple of Term
        One per set of columns, with columns in the order of the domain unless a matrix
        is given for all of them together. Columns of one level are left out, and tables
        of nothing else, whose count is known; and matrices of zeros.

    Raises
    ------
    SchemaError
        If a matrix is for more than 2000 cells.
    """
    parts = zip(workload.cliques, workload.queries, workload.weights, strict=True)
    terms = [
        _term(columns, query, weight, domain)
        for columns, query, weight in parts
        if domain.n_cells(columns) > 1
    ]
    return tuple(term for term in terms if _asks_something(term))


def axis_sizes(terms: tuple[Term, ...], domain: Domain) -> dict[tuple[str, ...], int]:
    """Return the numbers of cells of all axes, in the order of the domain.

    Parameters
    ----------
    terms : tuple of Term
        A workload.
    domain : Domain
        Columns and their numbers of levels.

    Returns
    -------
    dict of tuple of str to int
        By axis.
    """
    axes = {axis for term in terms for axis in term.axes}
    ordered = sorted(axes, key=lambda axis: [domain.axis(name) for name in axis])
    return {axis: domain.n_cells(axis) for axis in ordered}


def _term(
    columns: tuple[str, ...], query: LinearQuery | None, weight: float, domain: Domain
) -> Term:
    varying = tuple(name for name in columns if domain.size(name) > 1)
    factors: tuple[LinearQuery, ...]
    if isinstance(query, Kronecker):
        factors = query.factors
    elif query is None or isinstance(query, Identity):
        factors = tuple(Identity(domain.size(name)) for name in columns)
    else:
        return Term((varying,), (_gram(query, varying),), weight)
    by_column = dict(zip(columns, factors, strict=True))
    # A matrix for a single level repeats the queries of the others, times its entries.
    repeats = prod(
        _gram(by_column[name], (name,)).trace for name in set(columns) - set(varying)
    )
    ordered = domain.sort(varying)
    grams = tuple(_gram(by_column[name], (name,)) for name in ordered)
    return Term(tuple((name,) for name in ordered), grams, weight * sqrt(repeats))


def _asks_something(term: Term) -> bool:
    return term.weight > 0 and all(gram.trace > 0 for gram in term.grams)


def _gram(query: LinearQuery, columns: tuple[str, ...]) -> Gram:
    n_cells = query.shape[1]
    if isinstance(query, Identity):
        return Gram(n_cells)
    if n_cells > MAX_DENSE:
        raise SchemaError(
            f"HDMM optimises what it measures for matrices on up to {MAX_DENSE} cells; "
            f"the one on {columns} is for {n_cells}. Declare fewer levels or bins, or "
            "give a Kronecker product of a matrix per column."
        )
    return Gram(n_cells, query.gram())
