"""The record that a sum of functions of few columns likes best.

Levels of a column that no function tells apart are one, and few functions tell few
apart: each one that asks for a cell or a box adds at most two classes to a column. On
the classes the columns are eliminated, as a marginal is computed, with a maximum in
place of the sum. Where even that would be too large, records climb from many starts,
one column at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.elimination import best_elimination

__all__ = ["Term", "max_sum"]

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Tables = dict[tuple[str, ...], Array]

_MAX_CELLS = 2**21
_N_STARTS = 64


@dataclass(frozen=True, eq=False)
class Term:
    """A function of some columns.

    Parameters
    ----------
    columns : tuple of str
        Different names.
    values : ndarray or tuple of ndarray
        A table with one axis per column; or one vector per column, for their product.
    weight : float, default=1.0
        A factor.
    """

    columns: tuple[str, ...]
    values: Array | tuple[Array, ...]
    weight: float = 1.0

    def by_level(self, column: str) -> Array:
        """Return what tells the levels of a column apart.

        Parameters
        ----------
        column : str
            One of the columns.

        Returns
        -------
        ndarray of shape (n_levels, k)
            Levels with the same row are exchangeable.
        """
        axis = self.columns.index(column)
        if isinstance(self.values, tuple):
            return self.values[axis][:, None]
        first = np.moveaxis(self.values, axis, 0)
        return first.reshape(len(first), -1)

    def at(self, levels: Mapping[str, Codes]) -> Array:
        """Tabulate the function at some levels of each column.

        Parameters
        ----------
        levels : mapping of str to ndarray of int
            Per column.

        Returns
        -------
        ndarray
            One axis per column; times the weight.
        """
        chosen = [levels[name] for name in self.columns]
        if not isinstance(self.values, tuple):
            return self.weight * self.values[np.ix_(*chosen)]
        table = np.array(self.weight)
        for vector, at in zip(self.values, chosen, strict=True):
            table = np.multiply.outer(table, vector[at])
        return table


def max_sum(
    domain: Domain,
    terms: Sequence[Term],
    rng: np.random.Generator,
    max_cells: int = _MAX_CELLS,
) -> tuple[Codes, bool]:
    """Find the record with the largest sum of some functions.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    terms : sequence of Term
        What is added up.
    rng : numpy.random.Generator
        Chooses among levels that no term tells apart, and the starts of a search.
    max_cells : int, default=2**21
        Largest number of cells that the elimination may join; beyond it there is a
        coordinate ascent from 64 random records.

    Returns
    -------
    codes : ndarray of int, shape (n_columns,)
        A level of each column of the domain.
    exact : bool
        Whether no record has a larger sum.

    Examples
    --------
    >>> domain = Domain(("a", "b"), (2, 3))
    >>> terms = [
    ...     Term(("a",), np.array([0.0, 1.0])),
    ...     Term(("a", "b"), (np.array([1.0, 0.0]), np.array([0.0, 0.0, 1.0])), 2.0),
    ... ]
    >>> max_sum(domain, terms, np.random.default_rng(0))
    (array([0, 2]), True)
    """
    classes = {name: _classes(domain, name, terms, rng) for name in domain.names}
    first = {name: groups[0] for name, groups in classes.items()}
    tables = _added_up(domain, terms, first)
    reduced = Domain(domain.names, tuple(len(first[name]) for name in domain.names))
    plan = best_elimination(reduced, list(tables))
    exact = plan.work <= max_cells
    if exact:
        best = _eliminated(reduced, tables, plan.order)
    else:
        best = _climbed(reduced, tables, rng)
    codes = np.empty(len(domain), dtype=np.intp)
    for axis, name in enumerate(domain.names):
        members = classes[name][1] == best[axis]
        codes[axis] = rng.choice(np.flatnonzero(members))
    return codes, exact


def _classes(
    domain: Domain, name: str, terms: Sequence[Term], rng: np.random.Generator
) -> tuple[Codes, Codes]:
    """Return a level of each class, and the class of each level, in random order."""
    seen = [term.by_level(name) for term in terms if name in term.columns]
    if not seen:
        return np.zeros(1, dtype=np.intp), np.zeros(domain.size(name), dtype=np.intp)
    _, first, class_of = np.unique(
        np.hstack(seen), axis=0, return_index=True, return_inverse=True
    )
    order = rng.permutation(len(first))  # so that ties are not won by low levels
    return first[order], np.argsort(order)[np.ravel(class_of)]


def _added_up(
    domain: Domain, terms: Sequence[Term], levels: Mapping[str, Codes]
) -> Tables:
    """Add up the terms on the same columns."""
    tables: Tables = {}
    for term in terms:
        clique = domain.sort(term.columns)
        axes = [term.columns.index(name) for name in clique]
        table = term.at(levels).transpose(axes)
        tables[clique] = tables[clique] + table if clique in tables else table
    return tables


def _eliminated(domain: Domain, tables: Tables, order: Sequence[str]) -> Codes:
    """Take the maximum over one column after the other, and then look back."""
    live = list(tables.items())
    choices: list[tuple[str, tuple[str, ...], Codes]] = []
    for name in order:
        touched = [factor for factor in live if name in factor[0]]
        live = [factor for factor in live if name not in factor[0]]
        union = domain.sort({c for columns, _ in touched for c in columns} - {name})
        joined = np.zeros((*domain.shape(union), domain.size(name)))
        for columns, table in touched:
            joined += domain.broadcast(table, columns, (*union, name))
        choices.append((name, union, joined.argmax(axis=-1)))
        live.append((union, joined.max(axis=-1)))
    codes = np.zeros(len(domain), dtype=np.intp)
    for name, union, choice in reversed(choices):
        codes[domain.axis(name)] = choice[tuple(codes[domain.axis(c)] for c in union)]
    return codes


def _climbed(domain: Domain, tables: Tables, rng: np.random.Generator) -> Codes:
    """Improve many records by one column at a time until none gets any better."""
    codes = rng.integers(0, domain.sizes, size=(_N_STARTS, len(domain)))
    free = [axis for axis, size in enumerate(domain.sizes) if size > 1]
    values = np.full(_N_STARTS, -np.inf)
    while True:
        for axis in rng.permutation(free):
            sums = _by_level(domain, tables, codes, int(axis))
            codes[:, axis] = sums.argmax(axis=1)
        before, values = values, sums.max(axis=1) + _others(domain, tables, codes, axis)
        if not (values > before + 1e-9 * np.abs(values)).any():
            return codes[values.argmax()]


def _by_level(domain: Domain, tables: Tables, codes: Codes, axis: int) -> Array:
    """Add up the tables that hold a column, for each of its levels."""
    name = domain.names[axis]
    sums = np.zeros((len(codes), domain.sizes[axis]))
    for columns, table in tables.items():
        if name in columns:
            moved = np.moveaxis(table, columns.index(name), -1)
            known = (codes[:, domain.axis(c)] for c in columns if c != name)
            sums += moved[tuple(known)]
    return sums


def _others(domain: Domain, tables: Tables, codes: Codes, axis: int) -> Array:
    """Add up the tables without a column."""
    name, sums = domain.names[axis], np.zeros(len(codes))
    for columns, table in tables.items():
        if name not in columns:
            sums += table[tuple(codes[:, domain.axis(c)] for c in columns)]
    return sums
