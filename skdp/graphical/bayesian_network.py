"""Bayesian networks from noisy tables of each column with its parents.

The estimation of PrivBayes (Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017): what
is negative counts as 0, and every table is normalised by itself, so that only the
conditional distribution of the column is used of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.factor import Factor
from skdp.graphical.markov_random_field import MarkovRandomField
from skdp.graphical.sampling import Seed, draw_column, generator

__all__ = ["BayesianNetwork", "conditional_table"]


def conditional_table(noisy: ArrayLike) -> NDArray[np.float64]:
    """Turn noisy counts into the distributions of the last axis given the others.

    Parameters
    ----------
    noisy : array-like
        Counts; the last axis is the column, the others are its parents.

    Returns
    -------
    ndarray of the same shape
        Sums to 1 over the last axis. Negative counts are taken as 0, and what has no
        positive count is uniform.

    Examples
    --------
    >>> conditional_table([[30.0, 10.0], [-2.0, 5.0], [-1.0, -3.0]])
    array([[0.75, 0.25],
           [0.  , 1.  ],
           [0.5 , 0.5 ]])
    """
    counts = np.maximum(np.asarray(noisy, dtype=np.float64), 0.0)
    counts[counts.sum(axis=-1) == 0] = 1.0
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """The product of the distributions of each column given its parents.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels. Columns outside the network are uniform.
    tables : mapping of tuple of str to ndarray
        Per column the table of its probabilities: the axes are the parents, then the
        column. Parents come before children.

    Raises
    ------
    ValueError
        If a table has the wrong shape, or a parent comes after its child.

    Examples
    --------
    >>> domain = Domain(("smoker", "cough"), (2, 2))
    >>> smoker, cough = np.array([0.7, 0.3]), np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> tables = {("smoker",): smoker, ("smoker", "cough"): cough}
    >>> network = BayesianNetwork(domain, tables)
    >>> network.distribution(1000).marginal(["cough"])
    array([750., 250.])
    >>> network.sample(5, random_state=0).shape
    (5, 2)
    """

    domain: Domain
    tables: Mapping[tuple[str, ...], NDArray[np.float64]]

    def __post_init__(self) -> None:
        known: set[str] = set()
        for family, table in self.tables.items():
            if np.shape(table) != self.domain.shape(family):
                raise ValueError(
                    f"The table over {family} must have the shape "
                    f"{self.domain.shape(family)}, not {np.shape(table)}."
                )
            if not set(family[:-1]) <= known or family[-1] in known:
                raise ValueError(
                    f"The parents of {family[-1]!r} must come before it, and it once: "
                    f"{list(self.tables)}."
                )
            known.add(family[-1])

    @classmethod
    def from_noisy_tables(
        cls,
        domain: Domain,
        families: Iterable[Sequence[str]],
        noisy: Iterable[ArrayLike],
    ) -> BayesianNetwork:
        """Normalise noisy counts; see `conditional_table`.

        Parameters
        ----------
        domain : Domain
            Columns and their numbers of levels.
        families : iterable of sequences of str
            The parents of each column, then the column.
        noisy : iterable of array-like
            The counts over each family.

        Returns
        -------
        BayesianNetwork
            The network.
        """
        pairs = zip(families, noisy, strict=True)
        tables = {tuple(family): conditional_table(counts) for family, counts in pairs}
        return cls(domain, tables)

    def sample(self, n_samples: int, random_state: Seed = None) -> NDArray[np.intp]:
        """Draw independent records, every column given its parents.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int, Generator, RandomState or None, default=None
            Makes the sample reproducible.

        Returns
        -------
        ndarray of int, shape (n_samples, n_columns)
            Codes of levels, in the order of the domain.
        """
        rng = generator(random_state)
        codes = np.zeros((len(self.domain), n_samples), dtype=np.intp)
        factors = {factor.columns[-1]: [factor] for factor in self._factors()}
        alone = [name for name in self.domain.names if name not in factors]
        for name in (*factors, *alone):
            given = factors.get(name, [])
            drawn = draw_column(name, given, codes, self.domain, "iid", rng)
            codes[self.domain.axis(name)] = drawn
        return codes.T

    def distribution(self, n_records: float) -> MarkovRandomField:
        """Return the same distribution as a Markov random field.

        Its inference is exact, and as costly as the parents make it.

        Parameters
        ----------
        n_records : float
            What every marginal sums to.

        Returns
        -------
        MarkovRandomField
            With the logarithms of the tables as potentials.
        """
        potentials = {factor.columns: factor.log_values for factor in self._factors()}
        return MarkovRandomField(self.domain, potentials, n_records)

    def _factors(self) -> list[Factor]:
        with np.errstate(divide="ignore"):
            return [Factor(f, np.log(table)) for f, table in self.tables.items()]
