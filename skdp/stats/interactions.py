"""Tests of conditional independence from noisy two-way interactions alone.

With every variable in a simplex code, the regression of x on a single variable z is
its conditional mean. So the residual covariance of x and y given z, the numerator of
the generalised Cochran-Mantel-Haenszel statistic, is a function of the two-way tables.
For two and more conditioning variables it is the additive approximation (main effects).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from skdp.stats.evidence import IndependenceTest
from skdp.stats.simplex_codes import simplex_code

__all__ = ["InteractionMoments", "InteractionTests", "places_of"]

Floats = NDArray[np.float64]
Pair = tuple[str, str]

#: Smallest eigenvalue of a residual variance, relative to a code's squared norm 1.
_LEAST_VARIANCE = 1e-4


@dataclass(frozen=True)
class InteractionMoments:
    """Noisy means and covariances of simplex-coded variables.

    Parameters
    ----------
    levels : mapping of str to int
        The variables, in order, with their numbers of levels.
    n_records : int
        Public number of records.
    means : ndarray of float64, shape (p,)
        Of the coordinates of all variables, one variable after the other.
    covariances : ndarray of float64, shape (p, p)
        Of the coordinates; the blocks of single variables follow from their means.
    mean_variance : float
        Variance of the noise in a mean.
    variances : ndarray of float64, shape (d, d)
        Variance of the noise in the covariances of each pair of variables.
    """

    levels: Mapping[str, int]
    n_records: int
    means: Floats
    covariances: Floats
    mean_variance: float
    variances: Floats

    @classmethod
    def from_sums(
        cls,
        levels: Mapping[str, int],
        n_records: int,
        effects: Mapping[str, Floats],
        interactions: Mapping[Pair, Floats],
        sum_variances: tuple[float, Mapping[Pair, float]],
    ) -> InteractionMoments:
        """Turn noisy sums over the records into moments.

        Parameters
        ----------
        levels : mapping of str to int
            The variables with their numbers of levels.
        n_records : int
            Public number of records.
        effects : mapping of str to ndarray, shape (r - 1,)
            Noisy sums of each variable's code.
        interactions : mapping of (str, str) to ndarray, shape (r - 1, c - 1)
            Noisy sums of the outer products, for every pair in order.
        sum_variances : (float, mapping of (str, str) to float)
            Variances of the noise in the effects, and in the interactions of each pair.

        Returns
        -------
        InteractionMoments
            With no share of a level at 0: less than half a record counts as half.
        """
        shares = {v: _shares(effects[v], r, n_records) for v, r in levels.items()}
        means = [shares[v] @ simplex_code(r) for v, r in levels.items()]
        places = places_of(levels)
        p = sum(len(mean) for mean in means)
        covariances, variances = np.zeros((p, p)), np.zeros((len(levels),) * 2)
        for v, r in levels.items():
            spread = np.diag(shares[v]) - np.outer(shares[v], shares[v])
            code = simplex_code(r)
            covariances[places[v], places[v]] = code.T @ spread @ code
        order = {v: i for i, v in enumerate(levels)}
        for (x, y), block in interactions.items():
            i, j = order[x], order[y]
            centred = block / n_records - np.outer(means[i], means[j])
            covariances[places[x], places[y]] = centred
            covariances[places[y], places[x]] = centred.T
            noise = sum_variances[1][x, y] / n_records**2
            variances[i, j] = variances[j, i] = noise
        mean_variance = sum_variances[0] / n_records**2
        return cls(
            levels, n_records, np.concatenate(means), covariances, mean_variance,
            variances,
        )  # fmt: skip

    def averaged(
        self, interactions: Mapping[Pair, Floats], sum_variance: float
    ) -> InteractionMoments:
        """Take a second look at some pairs in, weighted by inverse variances.

        Parameters
        ----------
        interactions : mapping of (str, str) to ndarray, shape (r - 1, c - 1)
            Noisy sums of outer products for pairs of variables.
        sum_variance : float
            Variance of their noise.

        Returns
        -------
        InteractionMoments
            With less noise at these pairs.
        """
        covariances, variances = self.covariances.copy(), self.variances.copy()
        order = {v: i for i, v in enumerate(self.levels)}
        places = places_of(self.levels)
        new = sum_variance / self.n_records**2
        for (x, y), block in interactions.items():
            a, b, (i, j) = places[x], places[y], (order[x], order[y])
            look = block / self.n_records - np.outer(self.means[a], self.means[b])
            old = variances[i, j]
            mean = (new * covariances[a, b] + old * look) / (new + old)
            covariances[a, b], covariances[b, a] = mean, mean.T
            variances[i, j] = variances[j, i] = new * old / (new + old)
        return replace(self, covariances=covariances, variances=variances)


class InteractionTests:
    """Tests of conditional independence on the moments; each is made once.

    Parameters
    ----------
    moments : InteractionMoments
        Noisy means and covariances.
    """

    def __init__(self, moments: InteractionMoments) -> None:
        self.moments = moments
        self._places = places_of(moments.levels)
        self._order = {v: i for i, v in enumerate(moments.levels)}
        self._inverses: dict[tuple[str, ...], Floats] = {}
        self._residuals: dict[tuple[str, tuple[str, ...]], _Residual] = {}
        self._tests: dict[tuple[str, str, tuple[str, ...]], IndependenceTest] = {}

    def __call__(self, x: str, y: str, given: tuple[str, ...] = ()) -> IndependenceTest:
        """Test two variables given others.

        Parameters
        ----------
        x, y : str
            The variables.
        given : tuple of str
            The conditioning set.

        Returns
        -------
        IndependenceTest
            With (r - 1)(c - 1) degrees of freedom.
        """
        found = self._tests.get((x, y, given))
        if found is None:
            found = self._tests[x, y, given] = self._test(x, y, given)
        return found

    def __reduce__(self) -> tuple[type, tuple[InteractionMoments]]:
        return InteractionTests, (self.moments,)

    def _test(self, x: str, y: str, given: tuple[str, ...]) -> IndependenceTest:
        left, right = self._residual(x, given), self._residual(y, given)
        covariance = _sum_of_krons(left.parts, self._weights(left, right), right.parts)
        vector = self._cross_covariance(left, y, given).ravel()
        statistic = _quadratic_form(vector, covariance)
        spread, total = left.spread * right.spread, float(covariance.trace())
        return IndependenceTest(
            statistic=statistic,
            degrees=float(vector.size),
            p_value=float(chdtrc(vector.size, statistic)),
            information=spread**2 / (vector.size * total),
            noise_share=1 - spread / self.moments.n_records / total,
            tolerance=min(left.tolerance, right.tolerance),
        )

    def _cross_covariance(
        self, left: _Residual, y: str, given: tuple[str, ...]
    ) -> Floats:
        covariances, at = self.moments.covariances, self._places[y]
        direct = covariances[self._places[left.name], at]
        if not given:
            return direct
        return np.asarray(direct - left.slopes @ covariances[self._span(given), at])

    def _weights(self, left: _Residual, right: _Residual) -> Floats:
        """Return the weight of each pair of the residuals' parts in the covariance.

        Interactions of members have their own noise; the blocks of one variable, where
        `variances` is 0, come of the means, whose noise is the last but one term.
        """
        k = len(left.members)
        weights = np.zeros((k + 3, k + 3))
        for i, member in enumerate(left.members):
            weights[i, :k] = self.moments.variances[member, right.members]
        weights[k, k + 1] = weights[k + 1, k] = self.moments.mean_variance
        weights[k + 2, k + 2] = 1 / self.moments.n_records
        return weights

    def _residual(self, x: str, given: tuple[str, ...]) -> _Residual:
        found = self._residuals.get((x, given))
        if found is None:
            found = self._residuals[x, given] = self._regressed(x, given)
        return found

    def _regressed(self, x: str, given: tuple[str, ...]) -> _Residual:
        at, covariances = self._places[x], self.moments.covariances
        own, mean = covariances[at, at], self.moments.means[at]
        slopes, variance, squares = np.zeros((len(own), 0)), own, [np.eye(len(own))]
        if given:
            span = self._span(given)
            slopes = covariances[at, span] @ self._inverse(given)
            variance = own - slopes @ covariances[span, at]
            mean = mean - slopes @ self.moments.means[span]
            squares += self._squares(slopes, given)
        variance = _floored(variance, _LEAST_VARIANCE)
        return _Residual(
            name=x,
            members=[self._order[v] for v in (x, *given)],
            slopes=slopes,
            parts=np.array([*squares, np.outer(mean, mean), sum(squares), variance]),
            spread=float(variance.trace()),
            tolerance=float(variance.trace() / own.trace()),
        )

    def _squares(self, slopes: Floats, given: tuple[str, ...]) -> list[Floats]:
        """Return L L' for the block of slopes L of each conditioning variable."""
        squares, start = [], 0
        for z in given:
            end = start + self.moments.levels[z] - 1
            block = slopes[:, start:end]
            squares.append(block @ block.T)
            start = end
        return squares

    def _span(self, given: tuple[str, ...]) -> NDArray[np.intp]:
        spans = [np.arange(self._places[z].start, self._places[z].stop) for z in given]
        return np.concatenate(spans)

    def _inverse(self, given: tuple[str, ...]) -> Floats:
        found = self._inverses.get(given)
        if found is None:
            span = self._span(given)
            block = self.moments.covariances[span[:, None], span]
            if len(given) > 1:
                block = _floored(block, self._least_eigenvalue(given))
            found = self._inverses[given] = np.asarray(np.linalg.inv(block))
        return found

    def _least_eigenvalue(self, given: tuple[str, ...]) -> float:
        """Return the size of an eigenvalue that noise alone would make."""
        members = [self._order[z] for z in given]
        noise = self.moments.variances[np.ix_(members, members)].max()
        return max(0.001, sqrt(noise * len(self._span(given))))


@dataclass(frozen=True)
class _Residual:
    """What is left of a variable's code after regression on a conditioning set."""

    name: str
    #: Positions of the variable and of the k - 1 conditioning ones.
    members: list[int]
    slopes: Floats
    #: L L' for the coefficient block L of each member, m m' for the residual's mean,
    #: the sum of all L L', and the residual variance; shape (k + 3, r - 1, r - 1).
    parts: Floats
    spread: float
    tolerance: float


def places_of(levels: Mapping[str, int]) -> dict[str, slice]:
    """Return where each variable's coordinates lie.

    Parameters
    ----------
    levels : mapping of str to int
        The variables, in order, with their numbers of levels.

    Returns
    -------
    dict of str to slice
        r - 1 coordinates each.
    """
    ends = np.cumsum([r - 1 for r in levels.values()])
    return {
        v: slice(int(end) - r + 1, int(end))
        for (v, r), end in zip(levels.items(), ends, strict=True)
    }


def _shares(effect: Floats, n_levels: int, n_records: int) -> Floats:
    """Return the shares of the levels, none below half a record."""
    counts = (n_records + (n_levels - 1) * (simplex_code(n_levels) @ effect)) / n_levels
    counts = np.maximum(counts, 0.5)
    return np.asarray(counts / counts.sum())


def _quadratic_form(vector: Floats, covariance: Floats) -> float:
    """Return v' C^-1 v, also where noise has made C singular to working precision."""
    try:
        solved = np.linalg.solve(covariance, vector)
    except np.linalg.LinAlgError:
        solved = np.linalg.pinv(covariance, hermitian=True) @ vector
    return max(float(vector @ solved), 0.0)


def _floored(matrix: Floats, least: float) -> Floats:
    """Return a symmetric matrix with no eigenvalue below `least`."""
    if len(matrix) == 1:
        return np.maximum(matrix, least)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= least:
        return matrix
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def _sum_of_krons(left: Floats, weights: Floats, right: Floats) -> Floats:
    """Return the sum of weights[u, v] times the Kronecker product of two parts."""
    a, b = left.shape[1], right.shape[1]
    flat = left.reshape(-1, a * a).T @ weights @ right.reshape(-1, b * b)
    blocks = flat.reshape(a, a, b, b).transpose(0, 2, 1, 3)
    return np.asarray(blocks.reshape(a * b, a * b))
