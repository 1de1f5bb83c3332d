r"""Rank scores of conditional dependence as queries, with their proved sensitivities.

The bounds hold for replacing one record, for every number of records n and every
number of strata K, empty ones included. Notation: (r, c) are the *public* numbers
of levels of the two variables, k = min(r, c), and

.. math:: \alpha_k = 1 - \frac{1}{k-1}, \qquad \alpha_2 = 0 .

*Proof sketch.* Let a stratum grow from m - 1 to m records, so that S = S' + s.
Then :math:`|2S/m - 2S'/(m-1)| \le \frac{2}{m(m-1)}\binom{m-1}{2} + \frac{2(m-1)}{m}
= 3 - 4/m`; a record that moves touches two strata. With declared levels, records
discordant with the new one avoid both of its levels, so that at most
:math:`\alpha_k D^2/2` pairs among them are untied (Turan), which leaves
:math:`(2 + \alpha_k)(m-1)/m` a side. Inside one stratum S changes by at most
2(m - 1), or m - 1 in a 2 x 2 table.

The constants published with Priv-PC (theorems 3, 6, 7) are smaller and wrong:
their proof looks at one stratum and one direction only.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from skdp.stats.dependence import (
    kendall_score,
    kendall_weights,
    normalized_kendall_score,
    spearman_score,
)
from skdp.stats.thresholds import null_scale

from .base import PublicFacts
from .dependence_base import DependenceQuery

__all__ = [
    "KendallDependence",
    "NormalizedKendallDependence",
    "SpearmanDependence",
]


def _untied_share(r: int, c: int) -> float:
    """Return alpha_k, the largest untied share of pairs that avoid one level each."""
    return 1.0 - 1.0 / (min(r, c) - 1)


class KendallDependence(DependenceQuery):
    r"""Kendall's score with a normaliser that no record can change (the default).

    .. math:: z = \frac{3}{2\sqrt n}\left|\sum_i \frac{2 S_i}{n_i}\right|

    Sensitivity: one stratum :math:`6(n-1)/n^{3/2}`, half of it for two binary
    variables; otherwise :math:`3(2 + \alpha_k)/\sqrt n`, at most
    :math:`\max(9 - 24/(n+1),\ 6 - 6/n)/\sqrt n`. See the module for the proof.

    Parameters
    ----------
    x, y : str
        The two columns; their levels are taken in the order of the schema.
    given : tuple of str, default=()
        The columns whose joint levels are the strata.
    """

    def largest_score(self, public: PublicFacts) -> float:
        """Return 1.5 sqrt(n) (1 - 1/k), the score of k equal levels on a diagonal."""
        return 1.5 * sqrt(public.n_records) * (1 - 1 / min(self.levels(public)))

    def null_scale(self, public: PublicFacts) -> float:
        """Bound the standard deviation of the signed score under independence."""
        strata_per_record = self.n_strata(public) / public.n_records
        return null_scale(*self.levels(public), strata_per_record)

    @staticmethod
    def score(tables: NDArray[np.int64], n_records: int) -> float:
        return kendall_score(tables, n_records)

    @staticmethod
    def _bound(n: int, n_strata: int, r: int, c: int) -> float:
        if n_strata == 1:
            return (3 if r == c == 2 else 6) * (n - 1) / (n * sqrt(n))
        any_levels = 1.5 * max(6 - 16 / (n + 1), 4 - 4 / n)
        return min(any_levels, 3 * (2 + _untied_share(r, c))) / sqrt(n)


class NormalizedKendallDependence(DependenceQuery):
    r"""Kendall's score as the Priv-PC paper defines it, normalised by its variance.

    .. math:: z = \Bigl|\sum_i \frac{9 S_i}{2 n_i + 5}\Bigr| \Big/ \sqrt{\sum_i w(n_i)},
              \qquad w(m) = \frac{9 m (m-1)}{2(2m+5)}

    Sensitivity: one stratum :math:`6\sqrt{2(n-1)/(n(2n+5))}`, half of it for two
    binary variables; otherwise the least of 2.0887, :math:`\sqrt{w(n)}` and
    :math:`\min(13.5,\ 4.5(2 + \alpha_k))/\sqrt{W}`, with W the sum of w over n
    records spread evenly over the strata (w is convex, so no allocation has less).
    Where the normaliser grows, :math:`|z - z'| \le (|\Delta A| + \Delta W/2)/\sqrt{W'}`
    for the numerator A, which stays below the same constants.

    Parameters
    ----------
    x, y : str
        The two columns; their levels are taken in the order of the schema.
    given : tuple of str, default=()
        The columns whose joint levels are the strata.
    """

    def largest_score(self, public: PublicFacts) -> float:
        """Return 1.5 sqrt(n) (1 - 1/k), the score of k equal levels on a diagonal."""
        return 1.5 * sqrt(public.n_records) * (1 - 1 / min(self.levels(public)))

    def null_scale(self, public: PublicFacts) -> float:
        """Bound the standard deviation of the signed score under independence."""
        return null_scale(*self.levels(public))

    @staticmethod
    def score(tables: NDArray[np.int64], n_records: int) -> float:
        return normalized_kendall_score(tables)

    @staticmethod
    def _bound(n: int, n_strata: int, r: int, c: int) -> float:
        if n_strata == 1:
            bound = 6 * sqrt(2) * sqrt((n - 1) / (n * (2 * n + 5)))
            return bound / 2 if r == c == 2 else bound
        spread = sqrt(_least_weight(n, n_strata))
        slope = min(13.5, 4.5 * (2 + _untied_share(r, c)))
        whole = float(np.sqrt(kendall_weights(np.array([n]))[0]))
        return min(2.0887, whole, slope / spread if spread else inf)


def _least_weight(n: int, n_strata: int) -> float:
    """Return the least sum of w(n_i) over all ways to fill the strata."""
    size, larger = divmod(n, n_strata)
    small, large = kendall_weights(np.array([size, size + 1]))
    return float((n_strata - larger) * small + larger * large)


class SpearmanDependence(DependenceQuery):
    r"""Spearman's score in covariance form with mid-ranks.

    .. math:: z = \frac{1}{\sqrt n}\Bigl|\sum_i (n_i - 1)\rho_i\Bigr|

    Sensitivity: one stratum :math:`6(n-1)/((n+1)\sqrt n)`, half of it for two binary
    variables; otherwise :math:`\max(10 - 48/(n+3),\ 6 - 12/(n+1))/\sqrt n`, and
    :math:`6(n-1)/((n+3)\sqrt n)` for two binary variables.

    *Proof sketch.* A stratum that grows to m records moves its term by at most
    (5m - 7)/(m + 1), or 3(m - 1)/(m + 1) in a 2 x 2 table, where the term is
    3S/(m + 1). Both are concave in m, so that two strata of (n + 1)/2 are the worst.

    Parameters
    ----------
    x, y : str
        The two columns; their levels are taken in the order of the schema.
    given : tuple of str, default=()
        The columns whose joint levels are the strata.
    """

    def largest_score(self, public: PublicFacts) -> float:
        """Return sqrt(n) (1 - 1/k^2), the score of k equal levels on a diagonal."""
        return sqrt(public.n_records) * (1 - min(self.levels(public)) ** -2)

    def null_scale(self, public: PublicFacts) -> float:
        """Bound the standard deviation of the signed score under independence."""
        return null_scale(*self.levels(public))

    @staticmethod
    def score(tables: NDArray[np.int64], n_records: int) -> float:
        return spearman_score(tables, n_records)

    @staticmethod
    def _bound(n: int, n_strata: int, r: int, c: int) -> float:
        within = (3 if r == c == 2 else 6) * (n - 1) / (n + 1)
        if n_strata == 1:
            return within / sqrt(n)
        between = 6 * (n - 1) / (n + 3) if r == c == 2 else 10 - 48 / (n + 3)
        return max(within, between) / sqrt(n)
