"""The questions that matter to the user of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb, inf, prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skdp.exceptions import SchemaError
from skdp.graphical import (
    Domain,
    Identity,
    Kronecker,
    LinearQuery,
    Matrix,
    prefix,
    ranges,
)
from skdp.graphical.linear_queries import as_linear_query
from skdp.graphical.sampling import Seed, generator
from skdp.pgm.workload_errors import WorkloadErrors, clique_errors, tables_of
from skdp.queries import LinearMarginal
from skdp.records import CountTable, Schema

__all__ = ["Workload"]

#: More sets of columns than this are not listed in order to draw some of them.
_MAX_LISTED = 1_000_000


@dataclass(frozen=True)
class Workload:
    """Linear queries on the joint counts of some sets of columns.

    Strategies measure what serves these questions; `errors` says how well a model
    answers them. Public: it must not depend on the records.

    Parameters
    ----------
    cliques : iterable of sequences of str
        The sets of columns.
    weights : iterable of float, optional
        How much each of them matters; by default all alike.
    queries : iterable of LinearQuery, array-like or None, optional
        For each set of columns a matrix with one column per cell of its table (see
        `skdp.graphical.prefix`, `ranges`, `Kronecker`), or None for the counts
        themselves.

    Raises
    ------
    ValueError
        If the numbers of cliques, weights and queries differ, or a weight is not
        positive and finite.
    SchemaError
        If a set of columns is empty or names one twice.

    Examples
    --------
    >>> Workload.all_marginals(("a", "b", "c"), order=2).cliques
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    >>> from skdp.records import Categorical, Ordinal, Schema
    >>> schema = Schema([Ordinal("age", (0, 1, 2)), Categorical("sex", ("f", "m"))])
    >>> workload = Workload.prefixes([("age", "sex")], schema)
    >>> workload.linear(schema)[0].dot(np.array([5, 3, 2, 2, 1, 0.0]))
    array([5., 3., 7., 5., 8., 5.])
    """

    cliques: tuple[tuple[str, ...], ...]
    weights: tuple[float, ...]
    queries: tuple[LinearQuery | None, ...]

    def __init__(
        self,
        cliques: Iterable[Iterable[str]],
        weights: Iterable[float] | None = None,
        queries: Iterable[Any] | None = None,
    ) -> None:
        sets = _as_sets(cliques)
        importance = (1.0,) * len(sets) if weights is None else tuple(weights)
        asked = (None,) * len(sets) if queries is None else tuple(queries)
        linear = tuple(None if q is None else as_linear_query(q) for q in asked)
        object.__setattr__(self, "cliques", sets)
        object.__setattr__(self, "weights", tuple(map(float, importance)))
        object.__setattr__(self, "queries", linear)
        if not len(sets) == len(self.weights) == len(linear):
            raise ValueError(
                f"A workload needs one weight and one query per set of columns: there "
                f"are {len(sets)} sets, {len(self.weights)} weights and {len(linear)} "
                "queries."
            )
        if not all(0 < weight < inf for weight in self.weights):
            raise ValueError("The weights of a workload must be positive and finite.")
        for columns in sets:
            if not columns or len(set(columns)) < len(columns):
                raise SchemaError(f"A set of columns is empty or repeats: {columns}.")

    def __len__(self) -> int:
        return len(self.cliques)

    def __add__(self, other: Workload) -> Workload:
        return Workload(
            self.cliques + other.cliques,
            self.weights + other.weights,
            self.queries + other.queries,
        )

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.cliques[:3]))
        more = f", and {len(self) - 3} more" if len(self) > 3 else ""
        return f"Workload({shown}{more})"

    # Usual ones -------------------------------------------------------------------

    @classmethod
    def all_marginals(cls, names: Iterable[str], order: int) -> Workload:
        """Return every set of so many columns.

        Parameters
        ----------
        names : iterable of str
            The columns, for instance ``schema.names``.
        order : int
            Columns per set.

        Returns
        -------
        Workload
            All with weight 1.
        """
        return cls(combinations(tuple(names), order))

    @classmethod
    def random_marginals(
        cls, names: Iterable[str], order: int, n_cliques: int, random_state: Seed = None
    ) -> Workload:
        """Return some different sets of so many columns, drawn at random.

        Parameters
        ----------
        names : iterable of str
            The columns.
        order : int
            Columns per set.
        n_cliques : int
            How many sets; all of them if there are no more.
        random_state : int, Generator, RandomState or None, default=None
            Makes the choice reproducible.

        Returns
        -------
        Workload
            All with weight 1.
        """
        names, rng = tuple(names), generator(random_state)
        total = comb(len(names), order)
        if total <= max(n_cliques, _MAX_LISTED):
            everything = list(combinations(names, order))
            drawn = rng.permutation(total)[:n_cliques]
            return cls(everything[k] for k in sorted(drawn))
        found: set[tuple[int, ...]] = set()
        while len(found) < n_cliques:
            found.add(tuple(sorted(rng.choice(len(names), order, replace=False))))
        return cls(tuple(names[k] for k in places) for places in sorted(found))

    @classmethod
    def prefixes(cls, cliques: Iterable[Iterable[str]], schema: Schema) -> Workload:
        """Return prefix sums along the ordered columns of some sets of columns.

        Parameters
        ----------
        cliques : iterable of sequences of str
            The sets of columns. "At most this level" is asked of those with an order,
            "this level" of the others, in every combination.
        schema : Schema
            Says which columns have an order, and how many levels.

        Returns
        -------
        Workload
            One query matrix per set, kept as a product.
        """
        return cls._along_ordered(cliques, schema, prefix)

    @classmethod
    def ranges(cls, cliques: Iterable[Iterable[str]], schema: Schema) -> Workload:
        """Return all ranges along the ordered columns of some sets of columns.

        Parameters
        ----------
        cliques : iterable of sequences of str
            The sets of columns. "Between these levels" is asked of those with an order,
            "this level" of the others, in every combination.
        schema : Schema
            Says which columns have an order, and how many levels.

        Returns
        -------
        Workload
            One query matrix per set, kept as a product.
        """
        return cls._along_ordered(cliques, schema, ranges)

    @classmethod
    def _along_ordered(
        cls,
        cliques: Iterable[Iterable[str]],
        schema: Schema,
        query: Callable[[int], LinearQuery],
    ) -> Workload:
        sets = cls(cliques).cliques
        queries = []
        for columns in sets:
            factors = [_along(schema[name], query) for name in columns]
            queries.append(
                factors[0] if len(factors) == 1 else Kronecker(tuple(factors))
            )
        return cls(sets, queries=queries)

    # What it asks -----------------------------------------------------------------

    def check(self, schema: Schema) -> None:
        """Refuse what does not fit a schema.

        Parameters
        ----------
        schema : Schema
            The public columns.

        Raises
        ------
        SchemaError
            If there is nothing in the workload, a column is unknown, or a matrix is for
            another number of cells.
        TypeError
            If a query is neither a matrix nor a Kronecker product of matrices.
        """
        if not self.cliques:
            raise SchemaError(
                "The workload is empty: name at least one set of columns."
            )
        for columns, query in zip(self.cliques, self.queries, strict=True):
            shape = tuple(schema.n_levels(name) for name in columns)
            sizes = shape if query is None else _sizes(query)
            if sizes != shape and sizes != (prod(shape),):
                raise SchemaError(
                    f"The query on {columns} is for {sizes} cells, but the schema "
                    f"gives the table the shape {shape}."
                )
            if query is not None:
                LinearMarginal(columns, query)  # refuses matrices of other classes

    def linear(self, schema: Schema) -> tuple[LinearQuery, ...]:
        """Return the matrix of each set of columns.

        Parameters
        ----------
        schema : Schema
            The public columns.

        Returns
        -------
        tuple of LinearQuery
            `Identity` where the counts themselves are asked for.
        """
        domain = Domain.from_schema(schema)
        return tuple(
            Identity(domain.n_cells(columns)) if query is None else query
            for columns, query in zip(self.cliques, self.queries, strict=True)
        )

    def answers(self, model: Any) -> list[NDArray[np.float64]]:
        """Answer all queries.

        Parameters
        ----------
        model : PGMEstimator, Model or CountTable
            What has marginals. Answers from records are exact, hence not private.

        Returns
        -------
        list of ndarray of shape (n_answers,)
            One per set of columns, in records.
        """
        tables = tables_of(model, self.cliques)
        return [
            table.ravel() if query is None else query.dot(table.ravel())
            for table, query in zip(tables, self.queries, strict=True)
        ]

    def errors(
        self, model: Any, X: Any, schema: Schema | None = None
    ) -> WorkloadErrors:
        """Compare a model's answers with those of records; the result is not private.

        Parameters
        ----------
        model : PGMEstimator or Model
            What is judged.
        X : frame, array-like, Model or CountTable
            What is true: records, or anything that has marginals.
        schema : Schema, optional
            Of the records; by default that of the estimator.

        Returns
        -------
        WorkloadErrors
            Per set of columns, and on average.
        """
        if not hasattr(X, "marginal"):
            X = CountTable.from_frame(X, schema or model.schema_)
        estimated, true = (tables_of(of, self.cliques) for of in (model, X))
        found = np.array(
            list(map(clique_errors, estimated, true, self.queries)), dtype=np.float64
        )
        return WorkloadErrors(self.cliques, self.weights, *found.T)


def _as_sets(cliques: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Return sets of columns as tuples; a name alone is a set of one."""
    try:
        if isinstance(cliques, str):
            raise TypeError
        return tuple((c,) if isinstance(c, str) else tuple(c) for c in cliques)
    except TypeError:
        raise SchemaError(
            "Sets of columns are given as a list of lists of names, such as "
            f"[('age', 'sex'), ('age',)]; got {cliques!r}."
        ) from None


def _along(column: Any, query: Callable[[int], LinearQuery]) -> LinearQuery:
    """Ask along the order of a column; levels for missing or other values alone."""
    if not column.ordered:
        return Identity(column.n_levels)
    n_apart = column.missing + (column.outside == "other")
    ordered = query(column.n_levels - n_apart)
    if n_apart == 0:
        return ordered
    blocks = [sp.csr_array(ordered.matrix), sp.eye_array(n_apart)]  # type: ignore[attr-defined]
    return Matrix(sp.block_diag(blocks, format="csr"))


def _sizes(query: LinearQuery) -> tuple[int, ...]:
    parts = query.factors if isinstance(query, Kronecker) else (query,)
    return tuple(part.shape[1] for part in parts)
