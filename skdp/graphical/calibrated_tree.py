"""A junction tree with all its conditionals: many marginals from two passes.

Every clique holds P(clique | separator to its parent) and P(clique). Columns below a
separator speak to the rest only through it: a message P(q | separator) is computed once
for every set q that is asked about, and a marginal joins the messages at the clique
where its columns meet (Koller and Friedman, *Probabilistic Graphical Models*, 10.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.inference import Columns
from skdp.graphical.junction_tree import JunctionTree, junction_tree
from skdp.graphical.named_table import NamedTable, contract, contract_at
from skdp.graphical.size import MAX_MODEL_SIZE, check_table

__all__ = ["CalibratedTree", "covering_tree", "rounding_error"]

Array = NDArray[np.float64]
Names = frozenset[str]

#: Cells of remembered messages beyond which all are forgotten.
_MOST_HELD = 1 << 24


def covering_tree(domain: Domain, cliques: Iterable[Sequence[str]]) -> JunctionTree:
    """Return a junction tree in which every column of the domain is.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : iterable of sequences of str
        Columns that stand in a table together.

    Returns
    -------
    JunctionTree
        Columns outside the cliques stand alone.
    """
    return junction_tree(domain, [*cliques, *((name,) for name in domain.names)])


def rounding_error(tree: JunctionTree) -> float:
    """Bound the relative rounding error of every value of a `CalibratedTree`.

    A value is a fixed sum of products of the non-negative numbers that the cliques hold
    (and `n_records`), worked out by additions and multiplications alone. So its error
    is at most (1 + u)^k - 1, u = 2^-53, if no term passes through more than k of them,
    whatever their order. In a clique of N cells a term passes at most N additions when
    the clique is summed to the columns that matter, one multiplication with the message
    of each child, and N additions when separators are summed out: k <= 3 (cells of the
    tree) + 1, with the multiplication by `n_records`. The bound is 2 k u, of which less
    than half is needed: the rest is more than what products lose below 2^-1022.

    Parameters
    ----------
    tree : JunctionTree
        The cliques.

    Returns
    -------
    float
        Of the computed value, relative to the exact one; the same for any set of cells
        and for every way in which `CalibratedTree` may get at it.
    """
    return (3 * tree.n_cells + 1) * 2.0**-52


class CalibratedTree:
    """Marginals of p(x) ~ exp(sum of potentials), many of them at little cost.

    What is remembered between questions are tables of probabilities, by the names of
    the columns they are over. Of the cells that `values_at` is asked for nothing is
    kept, neither which nor how many.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    potentials : mapping of tuple of str to ndarray
        Log-potentials, -inf allowed; columns without any are uniform.
    n_records : float
        What every marginal sums to.
    max_cells : float, default=1e8
        Largest table of an answer or on the way to one.
    tree : JunctionTree, optional
        Of the keys of `potentials`, with every column in it.

    Raises
    ------
    ValueError
        If structural zeros leave no record.
    ModelTooLargeError
        If a clique of the tree has more than `max_cells`.

    Examples
    --------
    >>> domain = Domain(("a", "b", "c"), (2, 2, 2))
    >>> copy = np.log([[0.4, 0.1], [0.1, 0.4]])
    >>> tree = CalibratedTree(domain, {("a", "b"): copy, ("b", "c"): copy}, 100)
    >>> tree.marginal(("a", "c")).round(6)
    array([[34., 16.],
           [16., 34.]])
    >>> tree.values_at(("a", "c"), np.array([3])).round(6)
    array([34.])
    """

    def __init__(
        self,
        domain: Domain,
        potentials: Mapping[Columns, Array],
        n_records: float,
        max_cells: float = MAX_MODEL_SIZE / 10,
        tree: JunctionTree | None = None,
    ) -> None:
        self.domain, self.n_records, self.max_cells = domain, n_records, max_cells
        self.tree = tree or covering_tree(domain, potentials)
        for clique in self.tree.cliques:
            check_table(domain, clique, max_cells)
        n_cliques = len(self.tree.cliques)
        # Components hang together by separators without columns.
        parents = [max(p, 0) for p in self.tree.parents]
        self._children = [
            [c for c in range(1, n_cliques) if parents[c] == k]
            for k in range(n_cliques)
        ]
        self._separators = [frozenset(s) for s in self.tree.separators]
        self._reach = [frozenset(c) for c in self.tree.cliques]
        for k in range(n_cliques - 1, 0, -1):
            self._reach[parents[k]] |= self._reach[k]
        given = _conditionals(domain, self.tree, parents, potentials)
        self._given = [_Sums(table) for table in given]
        joint: list[NamedTable] = []
        for k, table in enumerate(given):
            joint.append(table)
            if self._separators[k]:
                above = joint[parents[k]].sum_to(self._separators[k])
                spread = domain.broadcast(above.values, above.columns, table.columns)
                joint[k] = NamedTable(table.columns, table.values * spread)
        self._joint = [_Sums(table) for table in joint]
        self._messages: dict[tuple[int, Names], NamedTable] = {}
        self._n_held = 0

    def marginal(self, columns: Iterable[str]) -> Array:
        """Return the expected counts over some columns.

        Parameters
        ----------
        columns : iterable of str
            Different, in the order of the result's axes.

        Returns
        -------
        ndarray, one axis of length n_levels per column
            They add up to `n_records`.

        Raises
        ------
        ModelTooLargeError
            If a table of more than `max_cells` would be needed.
        """
        names = tuple(columns)
        check_table(self.domain, names, self.max_cells)
        left, right = self._factors(frozenset(names))
        if right is not None:
            left = contract(left, right, names, self.max_cells)
        return self.n_records * left.sum_to(names).transpose(names)

    def values_at(self, columns: Sequence[str], cells: NDArray[np.integer]) -> Array:
        """Return the expected counts in some cells of a marginal.

        Parameters
        ----------
        columns : sequence of str
            Different names.
        cells : ndarray of int, shape (m,)
            Positions in the raveled table over `columns`.

        Returns
        -------
        ndarray, shape (m,)
            As `marginal` has them; its whole table is formed only where that is faster.

        Raises
        ------
        ModelTooLargeError
            If a message of more than `max_cells` would be needed.
        """
        names = tuple(columns)
        left, right = self._factors(frozenset(names))
        codes: dict[str, NDArray[np.intp]] = {}
        rest = cells.astype(np.intp, copy=False)
        for name in names[:0:-1]:
            size = self.domain.size(name)
            above = rest // size
            codes[name], rest = rest - above * size, above
        codes[names[0]] = rest
        if right is None:
            return self.n_records * left.at(codes)
        return self.n_records * contract_at(left, right, codes, self.max_cells)

    def check(self, columns: Iterable[str]) -> None:
        """Refuse a marginal whose messages would be too large; that is public.

        Parameters
        ----------
        columns : iterable of str
            Different names.

        Raises
        ------
        ModelTooLargeError
            If a message of more than `max_cells` would be needed.
        """
        self._factors(frozenset(columns))

    def _factors(self, asked: Names) -> tuple[NamedTable, NamedTable | None]:
        """Return one or two tables whose product sums to the asked distribution."""
        if self._n_held > _MOST_HELD:
            self._messages.clear()
            self._n_held = 0
        meeting = self._meeting(asked)
        below = self._parts(meeting, asked)
        involved, last = list(below), 0
        while last < len(involved):
            part = involved[last]
            last += 1
            if part not in self._messages:
                involved += self._parts(*part)
        for part in reversed(involved):
            if part not in self._messages:
                message = self._message(*part)
                self._n_held += message.values.size
                self._messages[part] = message
        separators = frozenset().union(*(self._separators[k] for k, _ in below))
        wanted = (asked & self._own(meeting)) | separators
        table = self._joint[meeting].to(wanted)
        if not below:
            return table, None
        table = self._join(table, below[:-1], asked | self._separators[below[-1][0]])
        return table, self._messages[below[-1]]

    def _message(self, k: int, asked: Names) -> NamedTable:
        """Return P(asked | separator of clique k), all asked being below it."""
        below, separator = self._parts(k, asked), self._separators[k]
        separators = frozenset().union(*(self._separators[c] for c, _ in below))
        wanted = (asked & self._own(k)) | separator | separators
        return self._join(self._given[k].to(wanted), below, asked | separator)

    def _join(
        self, table: NamedTable, parts: list[tuple[int, Names]], keep: Names
    ) -> NamedTable:
        """Multiply messages into a table, summing columns out as early as possible."""
        for i, part in enumerate(parts):
            later = (self._separators[k] for k, _ in parts[i + 1 :])
            needed = keep.union(*later)
            table = contract(table, self._messages[part], needed, self.max_cells)
        return table

    def _meeting(self, asked: Names) -> int:
        """Return the lowest clique that has all asked columns in it or below."""
        meeting, found = -1, [0]
        while found:
            meeting = found[0]
            found = [c for c in self._children[meeting] if asked <= self._reach[c]]
        return meeting

    def _parts(self, k: int, asked: Names) -> list[tuple[int, Names]]:
        """Return the children of a clique with what is asked below their separators."""
        away = asked - self._own(k)
        if not away:
            return []
        parts = ((c, away & self._reach[c]) for c in self._children[k])
        return [(c, there) for c, there in parts if there]

    def _own(self, k: int) -> Names:
        return self._joint[k].names


class _Sums:
    """A table with the sums of it that were asked for."""

    def __init__(self, table: NamedTable) -> None:
        self.names = frozenset(table.columns)
        self._found = {self.names: table}

    def to(self, keep: Names) -> NamedTable:
        """Sum the smallest table at hand that has the columns."""
        if keep not in self._found:
            holding = (t for names, t in self._found.items() if keep <= names)
            smallest = min(holding, key=lambda table: table.values.size)
            self._found[keep] = smallest.sum_to(keep)
        return self._found[keep]


def _conditionals(
    domain: Domain,
    tree: JunctionTree,
    parents: list[int],
    potentials: Mapping[Columns, Array],
) -> list[NamedTable]:
    """Return P(clique | separator) of each clique, passing messages to the parents.

    Each is 0 where the separator is impossible. Logarithms are exponentiated relative
    to their largest per cell of the separator: nothing that matters is lost, however
    large they are.
    """
    logs = [np.zeros(domain.shape(clique)) for clique in tree.cliques]
    sets = [frozenset(clique) for clique in tree.cliques]
    for columns, table in potentials.items():
        holding = [k for k, names in enumerate(sets) if names.issuperset(columns)]
        home = min(holding, key=lambda k: logs[k].size)
        logs[home] += domain.broadcast(table, columns, tree.cliques[home])
    found: list[NamedTable] = []
    for k in range(len(sets) - 1, -1, -1):
        clique, separator = tree.cliques[k], tree.separators[k]
        axes = tuple(i for i, name in enumerate(clique) if name not in separator)
        top = logs[k].max(axis=axes, keepdims=True)
        top[np.isneginf(top)] = 0.0
        values = np.exp(np.subtract(logs[k], top, out=logs[k]), out=logs[k])
        total = values.sum(axis=axes, keepdims=True)
        if not total.any():
            raise ValueError("The structural zeros of the model leave no record.")
        values /= np.where(total > 0.0, total, 1.0)
        found.append(NamedTable(clique, values))
        if separator:
            with np.errstate(divide="ignore"):
                message = np.log(total) + top
            message = message.reshape(domain.shape(domain.sort(separator)))
            onto = tree.cliques[parents[k]]
            logs[parents[k]] += domain.broadcast(message, domain.sort(separator), onto)
    return found[::-1]
