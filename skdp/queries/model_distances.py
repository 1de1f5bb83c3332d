"""How far a graphical model is off on marginals, looked at where the records are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import ModelTooLargeError, SchemaError
from skdp.graphical.calibrated_tree import (
    CalibratedTree,
    covering_tree,
    rounding_error,
)
from skdp.graphical.junction_tree import JunctionTree
from skdp.graphical.markov_random_field import MarkovRandomField

from .base import LARGEST_SUM, Norm, PublicFacts, Query, check_norm, scaled_norm

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["ModelDistances"]

#: More than the relative rounding error of a norm.
_UP = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class ModelDistances(Query):
    """How far a model is off on each of some marginals, in L1: the scores of AIM.

    Score r is ``w_r (||M_r(D) - M_r||_1 - b_r)``, M_r being what the model expects,
    w_r > 0 a weight and b_r a penalty. It is worked out as ::

        n + sum over the cells with records of (|M_r(D) - M_r| - M_r),

    which is the same, as the model's counts add up to n; the many cells without records
    are not visited. By the triangle inequality a replaced record, which takes one from
    a cell and adds one to another, changes either form by at most 2, whatever numbers
    M_r holds. So the scores together change by at most 2 max w in Linf, 2 sqrt(sum w^2)
    in L2 and 2 sum w in L1.

    The tables of the model that are needed are made for each evaluation and forgotten
    after it: nothing is left that depends on which cells have records.

    Parameters
    ----------
    marginals : iterable of tuple of str
        The candidates' columns.
    model : MarkovRandomField
        Public. No callable and no other class will do: that it returns the same counts
        for other records is what the proof needs.
    weights : array-like of shape (n_marginals,), optional
        How much each marginal matters; positive, public. By default 1.
    penalties : array-like of shape (n_marginals,), optional
        Taken off each distance, in records; public. By default 0.

    Examples
    --------
    >>> from skdp.graphical import Domain
    >>> from skdp.records import Categorical, Schema
    >>> public = PublicFacts(10, Schema([Categorical("smoker", ("no", "yes"))]))
    >>> uniform = MarkovRandomField(Domain(("smoker",), (2,)), {}, 10)
    >>> scores = ModelDistances([("smoker",)], uniform, weights=[3.0])
    >>> scores.sensitivity(public, float("inf"))
    6.0
    """

    marginals: tuple[tuple[str, ...], ...]
    model: MarkovRandomField
    weights: NDArray[np.float64]
    penalties: NDArray[np.float64]

    def __init__(
        self,
        marginals: Iterable[Iterable[str]],
        model: MarkovRandomField,
        weights: ArrayLike | None = None,
        penalties: ArrayLike | None = None,
    ) -> None:
        names = tuple((m,) if isinstance(m, str) else tuple(m) for m in marginals)
        k = len(names)
        importance = np.ones(k) if weights is None else np.array(weights, dtype=float)
        taken_off = np.zeros(k) if penalties is None else np.array(penalties, float)
        if type(model) is not MarkovRandomField:
            raise TypeError(f"The model must be a MarkovRandomField, not {model!r}.")
        if not names or not importance.shape == taken_off.shape == (k,):
            raise ValueError(
                "There must be a marginal, and for each of them a weight and a penalty."
            )
        if not ((importance > 0) & np.isfinite(importance + taken_off)).all():
            raise ValueError("Weights must be positive, and all numbers finite.")
        for columns in names:
            if not columns or len(set(columns)) < len(columns):
                raise SchemaError(f"A set of columns is empty or repeats: {columns}.")
        for array in (importance, taken_off):
            array.setflags(write=False)
        values = (names, model, importance, taken_off)
        for field, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, field, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelDistances) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[Any, ...]:
        model = self.model
        tables = frozenset((c, t.tobytes()) for c, t in model.potentials.items())
        numbers = self.weights.tobytes(), self.penalties.tobytes()
        return self.marginals, model.domain, tables, model.n_records, numbers

    @cached_property
    def _tree(self) -> JunctionTree:
        return covering_tree(self.model.domain, self.model.potentials)

    def __repr__(self) -> str:
        return f"ModelDistances({len(self.marginals)} marginals)"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that any score depends on."""
        return tuple(dict.fromkeys(c for names in self.marginals for c in names))

    def check(self, public: PublicFacts) -> None:
        """Refuse columns that the schema lacks, and models of another one.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column is missing or has other levels in the model.
        ValueError
            If the model allows no record.
        ModelTooLargeError
            If a clique of its junction tree, or a table on the way to a marginal, is
            beyond what it may store.
        """
        domain = self.model.domain
        for name in self.columns:
            n_levels = public.schema.n_levels(name)
            if name not in domain or domain.size(name) != n_levels:
                raise SchemaError(
                    f"The model must have a column {name!r} of {n_levels} levels."
                )
        if not self._largest_total(public) * max(1.0, float(self.weights.max())) < (
            LARGEST_SUM
        ):
            raise ValueError("Weights, penalties or the model's total are too large.")
        if max(map(domain.n_cells, self.marginals)) >= 2**62:
            raise ModelTooLargeError("A marginal of a score has more than 2^62 cells.")
        tree = self._calibrated()
        for names in self.marginals:
            tree.check(names)

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (n_marginals,)."""
        return (len(self.marginals),)

    def evaluate(self, records: CountTable) -> NDArray:
        """Compute the distances. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray, shape (n_marginals,)
            In records, times the weights.
        """
        tree = self._calibrated()
        distances = np.full(len(self.marginals), float(records.n_records))
        for k, names in enumerate(self.marginals):
            cells, counts = records.occupied(names)
            expected = tree.values_at(names, cells)
            distances[k] += (np.abs(counts - expected) - expected).sum()
        return np.asarray(self.weights * (distances - self.penalties))

    def _calibrated(self) -> CalibratedTree:
        """Return the model's tree; a new one, so that nothing private stays in it."""
        model = self.model
        return CalibratedTree(
            model.domain, model.potentials, model.n_records, model.max_cells, self._tree
        )

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Return 2 in Linf, 2 sqrt(k) in L2 and 2 k in L1, with weights in them.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound, in units of the scores; tables of a single cell do not count.
        """
        n_levels = public.schema.n_levels
        moves = [prod(map(n_levels, names)) > 1 for names in self.marginals]
        each = 2.0 * self.weights[np.array(moves)]
        if check_norm(ord) == inf:
            return float(each.max(initial=0.0))
        return _UP * (float(each.sum()) if ord == 1 else scaled_norm(each))

    def _largest_total(self, public: PublicFacts) -> float:
        """Bound the sum of the numbers that go into a score, without its weight."""
        counts = 2.0 * public.n_records + 2.0 * self.model.n_records
        return counts + float(np.abs(self.penalties).max())

    def evaluation_error(self, public: PublicFacts) -> float:
        """Bound the rounding of a score.

        Let e be the relative error of the model's counts (`rounding_error`), whose sum
        is N, and u = 2^-53. A term ``|D - M| - M`` moves by 2 e M at most with M, its
        two operations by at most about 2 u D + u M; its magnitude is at most D. To add
        up n and m terms, no more than records or cells, in any order, moves the sum by
        at most about 2 m u n. With the penalty taken off and the weight multiplied all
        this is below ``w (4 e N + (3 m + 16) u (2 n + 2 N + |b|))``.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Largest absolute error, in units of the scores.
        """
        n, total = public.n_records, self.model.n_records
        n_cells = max(map(self.model.domain.n_cells, self.marginals))
        size = self._largest_total(public)
        error = 4 * rounding_error(self._tree) * total
        error += (3 * min(n, n_cells) + 16) * 2.0**-53 * size
        return error * float(self.weights.max())
