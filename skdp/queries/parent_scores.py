r"""Scores of candidate parents in a Bayesian network, with their sensitivities.

A candidate is a column with its parents; the joint levels of the parents count as those
of one variable, so that its table has rows y (parents) and columns x. Two neighbouring
sets of n records share n - 1, of which :math:`C_{xy}` are in a cell; one set has a
further record (a, b), the other (a', b').

*Total variation.* :math:`S = \sum |n N_{xy} - N_x N_y|` is 4 n times a quarter of
:math:`\sum |N_{xy} - N_x N_y / n|`, which changes by at most 1.5 (n - 1)/n, and by
(n - 1)/n if the column or the parents have two joint levels: this is proved in
`skdp.queries.total_variation`, for one stratum. So S changes by at most 6 (n - 1), or
4 (n - 1), and the score :math:`R = S/(2 n^2)` by at most :math:`3 (n-1)/n^2`, or
:math:`2 (n-1)/n^2`. The published bound is :math:`3/n + 2/n^2`.

The bound is attained in the limit. Let the residuals of the common records be positive
in (a, b) and negative in the rest of row a and column b (a block by itself); negative
in (a', b') and positive in the rest of its row and column (levels that avoid each
other). With shares :math:`\varepsilon` of these four levels, moving the record changes
S by :math:`6 n (1 - O(\varepsilon) - O(1/(n \varepsilon^2)))`.

*Mutual information.* With :math:`f(m) = m \log_2 m` and :math:`g(m) = f(m+1) - f(m)`,
the record (a, b) adds -h(a, b) to n I, up to what is the same for all records:

.. math:: h(a, b) = g(C_a) + g(C_b) - g(C_{ab}) .

So n I changes by h(a', b') - h(a, b). g grows, is concave, and g(0) = 0. Hence
:math:`h \ge 0`. For an upper bound let c be :math:`C_{ab}`; :math:`C_a + C_b \le
n - 1 + c`, and by concavity two equal halves are the worst. One more in c adds one to
one half, where g is flatter than at c: so h is largest at c = 0, and

.. math:: n |I - I'| \le g\bigl(\lfloor\tfrac{n-1}2\rfloor\bigr)
          + g\bigl(\lceil\tfrac{n-1}2\rceil\bigr) .

It is attained: half of the others in row a, half in column b, none in row a' or column
b'. For odd n this is :math:`2 \log_2 \frac{n+1}2 + (n-1) \log_2 \frac{n+1}{n-1}`, the
published bound, which is not attained for even n.

If one of the two has only two levels, :math:`n |I - I'| \le g(n-1) = \log_2 n + (n-1)
\log_2 \frac n{n-1}`, which is attained, too. Let it be x, and bound h(a, b) -
h(a', b'). Where a = a' it is :math:`g(C_b) - g(C_{ab}) - g(C_{b'}) + g(C_{ab'}) \le
g(C_b)`, and where b = b' likewise at most :math:`g(C_a)`, since g grows. Otherwise
:math:`C_b = C_{ab} + C_{a'b}`, and as g is subadditive, :math:`g(C_b) \le g(C_{ab}) +
g(C_{a'})`, while :math:`g(C_{a'b'}) \le g(C_{b'})`: what is left is :math:`g(C_a)`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2, prod, sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from skdp.stats.parent_scores import information_of_table, variation_of_table

from .base import Norm, PublicFacts, Query, check_norm

if TYPE_CHECKING:
    from skdp.records import CountTable

__all__ = ["ParentInformation", "ParentScores", "ParentVariation"]

MAX_RECORDS = 2**30 - 1


@dataclass(frozen=True)
class ParentScores(Query):
    """How much columns depend on candidate sets of parents, for all candidates.

    Parameters
    ----------
    candidates : tuple of (str, tuple of str)
        Columns, each with its parents; without any the score is 0.
    """

    candidates: tuple[tuple[str, tuple[str, ...]], ...]

    def __init__(self, candidates: Iterable[tuple[str, Sequence[str]]]) -> None:
        pairs = tuple((child, tuple(parents)) for child, parents in candidates)
        object.__setattr__(self, "candidates", pairs)
        if not pairs:
            raise ValueError("There must be at least one candidate.")
        for child, parents in pairs:
            if len({child, *parents}) < 1 + len(parents):
                raise ValueError(
                    f"A column is named twice: {child!r} with the parents {parents}."
                )

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that any score depends on."""
        pairs = self.candidates
        return tuple(dict.fromkeys(c for child, p in pairs for c in (child, *p)))

    def check(self, public: PublicFacts) -> None:
        """Refuse unknown columns, and more records than can be multiplied in 64 bits.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Raises
        ------
        SchemaError
            If a column of the query is missing from the schema.
        ValueError
            If there are 2^30 records or more.
        """
        super().check(public)
        if public.n_records > MAX_RECORDS:
            raise ValueError(
                f"Products of the counts of {public.n_records} records do not fit 64 "
                f"bits; {MAX_RECORDS} is the most."
            )

    def shape(self, public: PublicFacts) -> tuple[int, ...]:
        """Return (n_candidates,)."""
        return (len(self.candidates),)

    def evaluate(self, records: CountTable) -> NDArray:
        """Compute the scores. For the curator alone.

        Parameters
        ----------
        records : CountTable
            The private records.

        Returns
        -------
        ndarray, shape (n_candidates,)
            2 n^2 R as int64 (`ParentVariation`) or bits (`ParentInformation`).
        """
        scores = []
        for child, parents in self.candidates:
            table = records.marginal((*parents, child))
            table = table.reshape(-1, table.shape[-1])
            # A single level depends on nothing: not even by its rounding.
            scores.append(self.score(table) if min(table.shape) > 1 else 0)
        return np.array(scores, dtype=np.int64 if self.integral else np.float64)

    @staticmethod
    @abstractmethod
    def score(table: NDArray[np.int64]) -> float:
        """Return the score of one candidate.

        Parameters
        ----------
        table : ndarray of int64, shape (n_parent_levels, n_levels)
            Counts.

        Returns
        -------
        int or float
            0 if the column does not depend on its parents.
        """

    @staticmethod
    @abstractmethod
    def _bound(n: int, is_binary: bool) -> float:
        """Bound the change of one score, of two variables of at least two levels."""

    def _bounds(self, public: PublicFacts) -> NDArray[np.float64]:
        """Return a bound for each candidate; 0 where the score is always 0."""
        bounds = {
            levels: self._bound(public.n_records, levels == 2) for levels in (2, 3)
        }
        found = []
        for shape in self._table_shapes(public):
            levels = min(3, *shape)
            found.append(bounds[levels] if levels > 1 else 0.0)
        return np.array(found)

    def _table_shapes(self, public: PublicFacts) -> list[tuple[int, int]]:
        """Return the declared numbers of joint levels of parents, and of the column."""
        sizes = {name: public.schema.n_levels(name) for name in self.columns}
        return [(prod(sizes[c] for c in p), sizes[x]) for x, p in self.candidates]

    def n_affected(self, public: PublicFacts) -> int:
        """Count the candidates whose score is not always 0."""
        return int(np.count_nonzero(self._bounds(public)))

    def sensitivity(self, public: PublicFacts, ord: Norm = 1) -> float:
        """Return the norm of the bounds of all candidates; see the class.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.
        ord : {1, 2, inf}, default=1
            Norm of the change.

        Returns
        -------
        float
            The bound, in units of the score.
        """
        bounds = self._bounds(public)
        if check_norm(ord) == 1:
            return float(bounds.sum())
        return sqrt(float(bounds @ bounds)) if ord == 2 else float(bounds.max())


class ParentVariation(ParentScores):
    r"""Total variation between a column with its parents and independence.

    The R score of PrivBayes, :math:`\tfrac12 \sum |P_{xy} - P_x P_y|`, as the whole
    number :math:`2 n^2 R`. Sensitivity of one score: 6 (n - 1), or 4 (n - 1) if the
    column or its parents have two joint levels, that is :math:`3 (n-1)/n^2` and
    :math:`2 (n-1)/n^2` of R. See the module for the proof.

    Parameters
    ----------
    candidates : tuple of (str, tuple of str)
        Columns, each with its parents; without any the score is 0.

    Examples
    --------
    >>> from skdp.records import Ordinal, Schema
    >>> public = PublicFacts(10, Schema([Ordinal(v, range(3)) for v in "abc"]))
    >>> ParentVariation([("a", ("b", "c")), ("b", "c")]).sensitivity(public, 2) / 54
    1.4142135623730951
    """

    integral: ClassVar[bool] = True

    @staticmethod
    def score(table: NDArray[np.int64]) -> float:
        """Return 2 n^2 R of one candidate; see `ParentScores.score`."""
        return variation_of_table(table)

    @staticmethod
    def _bound(n: int, is_binary: bool) -> float:
        return (4.0 if is_binary else 6.0) * (n - 1)


class ParentInformation(ParentScores):
    r"""Mutual information of a column and its parents, in bits.

    Sensitivity of one score, with :math:`g(m) = (m+1) \log_2 (m+1) - m \log_2 m`:
    :math:`(g(\lfloor \frac{n-1}2 \rfloor) + g(\lceil \frac{n-1}2 \rceil))/n`, or
    :math:`g(n-1)/n` if the column or its parents have two joint levels. See the module
    for the proof; both are attained.

    Parameters
    ----------
    candidates : tuple of (str, tuple of str)
        Columns, each with its parents; without any the score is 0.

    Examples
    --------
    >>> from skdp.records import Ordinal, Schema
    >>> public = PublicFacts(4, Schema([Ordinal(v, range(2)) for v in "abc"]))
    >>> ParentInformation([("a", ("b", "c"))]).sensitivity(public)  # entropy of 1/4
    0.8112781244591328
    """

    @staticmethod
    def score(table: NDArray[np.int64]) -> float:
        """Return the bits of one candidate; see `ParentScores.score`."""
        return information_of_table(table)

    @staticmethod
    def _bound(n: int, is_binary: bool) -> float:
        if is_binary:
            return _growth(n - 1) / n
        return (_growth((n - 1) // 2) + _growth(n // 2)) / n

    def evaluation_error(self, public: PublicFacts) -> float:
        """Return (cells + 16) 2^-51 log2(n); see `information_of_table`.

        Parameters
        ----------
        public : PublicFacts
            Number of records and schema.

        Returns
        -------
        float
            Largest absolute error, in bits.
        """
        n_cells = max(r * c for r, c in self._table_shapes(public))
        return (min(n_cells, public.n_records) + 16) * 2.0**-51 * log2(public.n_records)


def _growth(m: int) -> float:
    """Return (m + 1) log2(m + 1) - m log2(m), without its cancellation."""
    return log2(m + 1) + (m * log2(1 + 1 / m) if m else 0.0)
