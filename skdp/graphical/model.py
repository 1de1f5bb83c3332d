"""What every model of records can be asked, whatever it is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.sampling import Method, Seed

__all__ = ["Codes", "Model"]

#: Levels of some columns: a code for all records, or an array with one code for each.
Codes = Mapping[str, int | NDArray[np.integer[Any]]]


class Model(ABC):
    """A distribution of records over named columns, in counts.

    What a model cannot do raises a ValueError that says so.

    Attributes
    ----------
    domain : Domain
        Columns and their numbers of levels.
    n_records : float
        What every marginal sums to.
    """

    domain: Domain
    n_records: float

    @abstractmethod
    def marginal(self, columns: Iterable[str]) -> NDArray[np.float64]:
        """Return the expected counts over some columns, in a clique or not.

        Parameters
        ----------
        columns : iterable of str
            In the order of the result's axes; () gives the total.

        Returns
        -------
        ndarray, one axis of length n_levels per column
            Expected numbers of records; they add up to `n_records`.

        Raises
        ------
        ValueError
            If a column is unknown or named twice.
        ModelTooLargeError
            If a table beyond the limit would be needed; nothing was allocated.
        """

    def marginals(
        self, cliques: Iterable[Iterable[str]]
    ) -> dict[tuple[str, ...], NDArray[np.float64]]:
        """Return the expected counts over many sets of columns.

        Parameters
        ----------
        cliques : iterable of iterables of str
            Sets of columns.

        Returns
        -------
        dict of tuple of str to ndarray
            See `marginal`.

        Raises
        ------
        ValueError
            If a column is unknown or named twice.
        ModelTooLargeError
            If a table beyond the limit would be needed.
        """
        return {tuple(columns): self.marginal(columns) for columns in cliques}

    @abstractmethod
    def conditional(
        self, columns: Iterable[str], evidence: Codes
    ) -> NDArray[np.float64]:
        """Return the distribution of some columns, given levels of others.

        Parameters
        ----------
        columns : iterable of str
            In the order of the result's axes.
        evidence : mapping of str to int or to ndarray of int, shape (n,)
            Codes of levels. Arrays hold the codes of n records; all that is not an
            array is the same for every one of them.

        Returns
        -------
        ndarray, one axis of length n_levels per column, after one of n for arrays
            Probabilities; they add up to 1 for each record, and are nan where the
            evidence has probability zero.

        Raises
        ------
        ValueError
            If a column is unknown, named twice or part of the evidence, or if a code
            is not a level's.
        ModelTooLargeError
            If a table beyond the limit would be needed; nothing was allocated.
        """

    @abstractmethod
    def query(self, weights: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Answer products of per-column queries, without the table of the columns.

        Parameters
        ----------
        weights : mapping of str to array-like, shape (n_levels,) or (k, n_levels)
            Per column one weight a level, or k rows of them. Columns that are not
            named have weight 1 everywhere.

        Returns
        -------
        ndarray, one axis of length k per column with rows of weights
            Expected sums over the records of the products of their weights: counts,
            where the weights are 0 and 1. The axes are in the order of the mapping.

        Raises
        ------
        ValueError
            If a column is unknown, or its weights have the wrong shape or are not
            finite.
        ModelTooLargeError
            If a table beyond the limit would be needed; nothing was allocated.
        """

    @abstractmethod
    def log_probability(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each record.

        Parameters
        ----------
        codes : array-like of int, shape (n, n_columns)
            Codes of the levels, in the order of the domain.

        Returns
        -------
        ndarray, shape (n,)
            In nats; -inf for records that the model excludes.

        Raises
        ------
        ValueError
            If the shape does not fit or a code is not a level's.
        """

    @abstractmethod
    def sample(
        self,
        n_samples: int | None = None,
        *,
        method: Method = "round",
        random_state: Seed = None,
    ) -> NDArray[np.intp]:
        """Draw records.

        Parameters
        ----------
        n_samples : int, optional
            By default `n_records`, rounded.
        method : {"round", "iid"}, default="round"
            "iid" draws independently. "round" rounds expected counts at random within
            each group of records that agree on the neighbours drawn before: a record
            has the distribution of the model, and the marginals of the sample vary
            less.
        random_state : int, Generator, RandomState or None, default=None
            Makes the sample reproducible.

        Returns
        -------
        ndarray of int, shape (n_samples, n_columns)
            Codes of levels, in the order of the domain. The order of the records is
            random.

        Raises
        ------
        ValueError
            If `n_samples` or `method` is out of range.
        ModelTooLargeError
            If a table beyond the limit would be needed; nothing was allocated.
        """
