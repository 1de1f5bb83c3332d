"""Tests of conditional independence on contingency tables with known noise.

Every stratum of the conditioning set has an r x c table m of counts with independent
noise of variance s2 in each entry. Its residual of independence D = (I - p1') m (I -
q1')' is, given the shares p and q of the margins, linear in m, so that its covariance
under independence is known: N (P x Q) from sampling, P = diag p - pp', Q = diag q -
qq', and s2 (AA' x BB') from the noise, A = I - p1', B = I - q1'. A stratum weighs as
much as sampling has part in its variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtrc, poch

from skdp.stats.evidence import IndependenceTest

__all__ = [
    "both_tests",
    "cmh_test",
    "kendall_test",
    "strata_chi2_test",
    "total_variation_test",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Residuals:
    """Residuals of independence of the strata that hold evidence."""

    #: (k, r, c)
    residuals: Floats
    #: (k,), (k, r), (k, c): sizes and shares.
    sizes: Floats
    p: Floats
    q: Floats
    #: Of every entry of the tables.
    noise: float

    @cached_property
    def sampling(self) -> tuple[Floats, Floats]:
        """P and Q, shapes (k, r, r) and (k, c, c)."""
        return _multinomial(self.p), _multinomial(self.q)

    @cached_property
    def mixing(self) -> tuple[Floats, Floats]:
        """AA' and BB', shapes (k, r, r) and (k, c, c)."""
        return _mixed(self.p), _mixed(self.q)

    def covariances(self, weights: Floats) -> Floats:
        """Sum the weighted covariances of D, first r-1 rows and c-1 columns."""
        (P, Q), (A, B) = self.sampling, self.mixing
        total = _kron_sum(weights * self.sizes, P, Q)
        if self.noise:
            total = total + _kron_sum(weights * self.noise, A, B)
        return total


def _residuals(tables: Floats, noise: float) -> _Residuals:
    """Compute the residuals of the strata that hold evidence.

    A stratum holds none unless its size and the second largest sums of its rows and
    of its columns stand out from the noise: a variable that is constant in a stratum
    says nothing there. A table without strata is tested as it is.
    """
    k, r, c = tables.shape
    doubt = noise if k > 1 else 0.0
    sizes = tables.sum(axis=(1, 2))
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    second_row = np.partition(rows, r - 2, axis=1)[:, r - 2]
    second_column = np.partition(columns, c - 2, axis=1)[:, c - 2]
    evident = (
        (sizes > 3 * sqrt(doubt * r * c))
        & (second_row > 2 * sqrt(doubt * c) + 0.5)
        & (second_column > 2 * sqrt(doubt * r) + 0.5)
    )
    tables, sizes = tables[evident], sizes[evident]
    p, q = _shares(rows[evident]), _shares(columns[evident])
    centred = tables - p[:, :, None] * tables.sum(axis=1)[:, None, :]
    centred = centred - centred.sum(axis=2)[:, :, None] * q[:, None, :]
    return _Residuals(centred, sizes, p, q, noise)


def _shares(sums: Floats) -> Floats:
    positive = np.maximum(sums, 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def _multinomial(p: Floats) -> Floats:
    return p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])


def _mixed(p: Floats) -> Floats:
    """Return (I - p1')(I - p1')' for every stratum."""
    r = p.shape[1]
    outer = p[:, :, None] * p[:, None, :]
    return np.asarray(np.eye(r) - p[:, :, None] - p[:, None, :] + r * outer)


def _kron_sum(weights: Floats, left: Floats, right: Floats) -> Floats:
    k, a, b = len(weights), left.shape[1] - 1, right.shape[1] - 1
    flat_left = (weights[:, None, None] * left[:, :-1, :-1]).reshape(k, a * a)
    flat_right = right[:, :-1, :-1].reshape(k, b * b)
    product = (flat_left.T @ flat_right).reshape(a, a, b, b)
    return np.asarray(product.transpose(0, 2, 1, 3).reshape(a * b, a * b))


def _outcome(
    statistic: float, degrees: float, sampling: Floats, noise: Floats
) -> IndependenceTest:
    """Attach what the strata could have shown, by their variances."""
    total = sampling + noise
    weights = sampling / total
    information = float((weights * sampling).sum())
    noise_part = float((weights**2 * noise).sum())
    return IndependenceTest(
        statistic=statistic,
        degrees=degrees,
        p_value=float(chdtrc(degrees, statistic)) if degrees else 1.0,
        information=information,
        noise_share=noise_part / information if information else 1.0,
    )


def cmh_test(tables: Floats, noise: float) -> IndependenceTest:
    """Generalised Cochran-Mantel-Haenszel test of noisy tables.

    Adds the residuals up over the strata, so that weak dependence of one sign is seen
    in many small strata, and dependence that cancels over them is not.

    Parameters
    ----------
    tables : ndarray of float64, shape (n_strata, r, c)
        Noisy counts.
    noise : float >= 0
        Variance of the noise in each entry.

    Returns
    -------
    IndependenceTest
        With at most (r - 1)(c - 1) degrees of freedom, fewer where levels do not occur.

    References
    ----------
    Landis, Heyman, Koch 1978, with weights and a covariance that count the noise in.
    """
    found = _residuals(tables, noise)
    sampling, added = _trace_variances(found)
    if not len(sampling):
        return _NOTHING_TO_TEST
    weights = sampling / (sampling + added)
    total = np.tensordot(weights, found.residuals[:, :-1, :-1], axes=1).ravel()
    statistic, degrees = _quadratic_form(total, found.covariances(weights**2))
    return _outcome(statistic, degrees, sampling, added)


def strata_chi2_test(tables: Floats, noise: float) -> IndependenceTest:
    """Sum of the strata's own chi-square statistics.

    Sees dependence of any pattern over the strata, with less power against one that
    is alike in all of them.

    Parameters
    ----------
    tables : ndarray of float64, shape (n_strata, r, c)
        Noisy counts.
    noise : float >= 0
        Variance of the noise in each entry.

    Returns
    -------
    IndependenceTest
        With at most (r - 1)(c - 1) degrees of freedom for each stratum with evidence.
    """
    found = _residuals(tables, noise)
    sampling, added = _trace_variances(found)
    if not len(sampling):
        return _NOTHING_TO_TEST
    statistic, degrees = 0.0, 0.0
    for stratum, own in zip(found.residuals, np.eye(len(sampling)), strict=True):
        part = _quadratic_form(stratum[:-1, :-1].ravel(), found.covariances(own))
        statistic, degrees = statistic + part[0], degrees + part[1]
    return _outcome(statistic, degrees, sampling, added)


def both_tests(tables: Floats, noise: float) -> IndependenceTest:
    """Test by `cmh_test` and `strata_chi2_test`, each at half the level.

    Parameters
    ----------
    tables : ndarray of float64, shape (n_strata, r, c)
        Noisy counts.
    noise : float >= 0
        Variance of the noise in each entry.

    Returns
    -------
    IndependenceTest
        That of `cmh_test` with Bonferroni's p-value of the two.
    """
    pooled, apart = cmh_test(tables, noise), strata_chi2_test(tables, noise)
    if len(tables) == 1:
        return pooled
    p_value = min(1.0, 2 * min(pooled.p_value, apart.p_value))
    return replace(pooled, p_value=p_value)


def kendall_test(tables: Floats, noise: float) -> IndependenceTest:
    """Test ordered levels by concordant less discordant pairs.

    Parameters
    ----------
    tables : ndarray of float64, shape (n_strata, r, c)
        Noisy counts, levels in their order.
    noise : float >= 0
        Variance of the noise in each entry.

    Returns
    -------
    IndependenceTest
        With one degree of freedom.
    """
    found = _residuals(tables, noise)
    if not len(found.sizes):
        return _NOTHING_TO_TEST
    u, v = _ridits(found.p), _ridits(found.q)
    (P, Q), (A, B) = found.sampling, found.mixing
    sampling = found.sizes * _forms(u, P) * _forms(v, Q)
    added = found.noise * _forms(u, A) * _forms(v, B)
    scores = np.einsum("ka,kab,kb->k", u, found.residuals, v)
    weights = sampling / (sampling + added)
    variance = (weights**2 * (sampling + added)).sum()
    statistic = float((weights @ scores) ** 2 / variance)
    return _outcome(statistic, 1.0, sampling, added)


def total_variation_test(tables: Floats, noise: float) -> IndependenceTest:
    """Test by the sum of the absolute residuals.

    Parameters
    ----------
    tables : ndarray of float64, shape (n_strata, r, c)
        Noisy counts.
    noise : float >= 0
        Variance of the noise in each entry.

    Returns
    -------
    IndependenceTest
        The statistic is the squared sum, scaled to the chi-square law whose root has
        the mean and the variance that folded normal residuals give; that law is exact
        for one 2 x 2 table.
    """
    found = _residuals(tables, noise)
    sampling, added = _trace_variances(found)
    if not len(sampling):
        return _NOTHING_TO_TEST
    weights = sampling / (sampling + added)
    total = float(weights @ np.abs(found.residuals).sum(axis=(1, 2)))
    mean, variance = _folded_moments(found, weights)
    scale, degrees = _chi_law(mean, variance)
    return _outcome((total / scale) ** 2, degrees, sampling, added)


_NOTHING_TO_TEST = IndependenceTest(0.0, 0.0, 1.0, 0.0, 1.0)


def _trace_variances(found: _Residuals) -> tuple[Floats, Floats]:
    """Return per stratum the total variance of D from sampling and from the noise."""
    sampling, mixing = (
        np.prod([np.trace(part, axis1=1, axis2=2) for part in parts], axis=0)
        for parts in (found.sampling, found.mixing)
    )
    return found.sizes * sampling, found.noise * mixing


def _quadratic_form(vector: Floats, covariance: Floats) -> tuple[float, float]:
    """Return v' C^-1 v and the rank of C; directions without variance count nothing."""
    values, directions = np.linalg.eigh(covariance)
    kept = values > 1e-9 * values[-1]
    projections = directions[:, kept].T @ vector
    return float((projections**2 / values[kept]).sum()), float(kept.sum())


def _ridits(p: Floats) -> Floats:
    """Return the share below less the share above each level."""
    below = np.cumsum(p, axis=1)
    return np.asarray(2 * below - p - 1)


def _forms(vectors: Floats, matrices: Floats) -> Floats:
    return np.asarray(np.einsum("ka,kab,kb->k", vectors, matrices, vectors))


def _folded_moments(found: _Residuals, weights: Floats) -> tuple[float, float]:
    """Return mean and variance of the weighted sum of absolute residuals."""
    (P, Q), (A, B) = found.sampling, found.mixing
    k, cells = len(weights), found.p.shape[1] * found.q.shape[1]
    covariances = sum(
        np.einsum("k,kab,kcd->kacbd", size, left, right).reshape(k, cells, cells)
        for size, left, right in (
            (found.sizes, P, Q),
            (np.full(k, found.noise), A, B),
        )
    )
    deviations = np.sqrt(np.maximum(np.einsum("kii->ki", covariances), 1e-300))
    pairs = deviations[:, :, None] * deviations[:, None, :]
    correlations = np.clip(covariances / pairs, -1.0, 1.0)
    # The covariance of |X| and |Y| for normal X and Y.
    folded = np.sqrt(1 - correlations**2) + correlations * np.arcsin(correlations) - 1
    variances = (2 / pi * pairs * folded).sum(axis=(1, 2))
    mean = sqrt(2 / pi) * float(weights @ deviations.sum(axis=1))
    return mean, float(weights**2 @ variances)


def _chi_law(mean: float, variance: float) -> tuple[float, float]:
    """Return scale and degrees of freedom of the chi law with these moments."""

    def excess(log_degrees: float) -> float:
        return _relative_variance(exp(log_degrees)) - variance / mean**2

    if excess(0.0) <= 0:  # no sum of folded normals is wider than one of them
        degrees = 1.0 if excess(0.0) > -1e-9 else exp(brentq(excess, -3.0, 0.0))
    else:
        degrees = exp(brentq(excess, 0.0, 25.0))
    return mean / _chi_mean(degrees), degrees


def _chi_mean(degrees: float) -> float:
    return sqrt(2) * float(poch(degrees / 2, 0.5))


def _relative_variance(degrees: float) -> float:
    """Variance of a chi variable over its squared mean."""
    if degrees > 1e5:
        return 1 / (2 * degrees)
    return degrees / _chi_mean(degrees) ** 2 - 1
