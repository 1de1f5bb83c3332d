r"""Total variation from independence as a query, for levels without an order.

*Proof of the sensitivity.* Let a stratum of m - 1 records have shares p and q of the
levels of the two variables. A record (a, b) that joins it changes the residuals
:math:`N_{xy} - N_x N_y / m` by exactly :math:`\frac{m-1}{m}(1_{x=a} - p_x)(1_{y=b} -
q_y)`, whose absolute values add up to :math:`4 \frac{m-1}{m}(1 - p_a)(1 - q_b)`. A
quarter of that is at most (m - 1)/m. A record that leaves one stratum and joins another
adds two of these; the two share n + 1 memberships, so that they add up to at most
2 - 4/(n + 1).

*Within one stratum* of m records, from (a, b) to (a', b'), the products of p and q
cancel in the difference of the two changes:

.. math:: \frac{m-1}{m}\bigl(1_{x=a} 1_{y=b} - 1_{x=a'} 1_{y=b'}
          - (1_{x=a} - 1_{x=a'}) q_y - p_x (1_{y=b} - 1_{y=b'})\bigr) .

The absolute values add up to at most 6 (m - 1)/m, a quarter of which is 1.5 (m - 1)/m.
With a binary variable it is no more than (m - 1)/m: a record that changes in both has
:math:`(1-p_a)(1-q_b) + (1-p_{a'})(1-q_{b'})` with :math:`p_a + p_{a'} = 1`, and one
that keeps a level of one variable, of share p over all m records, changes the residuals
by :math:`(1_{x=a} - p_x)(1_{y=b'} - 1_{y=b})`, a quarter of whose absolute values is
1 - p.
"""

from __future__ import annotations

from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from skdp.stats.noisy_levels import NullLaw
from skdp.stats.total_variation import total_variation_null, total_variation_score

from .base import PublicFacts
from .dependence_base import DependenceQuery

__all__ = ["TotalVariationDependence"]


class TotalVariationDependence(DependenceQuery):
    r"""Total variation from independence within strata: no order of levels needed.

    .. math:: z = \frac{1}{4\sqrt n} \sum_{i, x, y}
              \Bigl|N_{xyi} - \frac{N_{xi} N_{yi}}{N_i}\Bigr|

    Sensitivity: :math:`1.5(n-1)/n^{3/2}` in one stratum, :math:`(n-1)/n^{3/2}` if a
    variable is binary; in several strata :math:`2(n-1)/((n+1)\sqrt n)`, if more.
    See the module for the proof. Unlike the rank scores it sees effects that cancel
    over strata or levels, and unlike theirs its mean under independence is not 0: see
    `skdp.stats.total_variation_null`.

    Parameters
    ----------
    x, y : str
        The two columns.
    given : tuple of str, default=()
        The columns whose joint levels are the strata.
    """

    ordinal: ClassVar[bool] = False

    def largest_score(self, public: PublicFacts) -> float:
        """Return sqrt(n) (1 - 1/k)/2, the score of k equal levels on a diagonal."""
        return sqrt(public.n_records) * (1 - 1 / min(self.levels(public))) / 2

    def null_scale(self, public: PublicFacts) -> float:
        """Return the root mean square of the score under independence, at most."""
        law = self.null_law(public)
        return law.scale * sqrt(law.degrees)

    def null_law(self, public: PublicFacts) -> NullLaw:
        """Return the largest law of the score under independence."""
        shape = (*self.levels(public), self.n_strata(public))
        if min(self.levels(public)) == 1:
            return NullLaw(0.0)
        return NullLaw(*total_variation_null(*shape, public.n_records))

    @staticmethod
    def score(tables: NDArray[np.int64], n_records: int) -> float:
        return total_variation_score(tables, n_records)

    @staticmethod
    def _bound(n: int, n_strata: int, r: int, c: int) -> float:
        within = (1.0 if min(r, c) == 2 else 1.5) * (n - 1) / n
        between = 2 * (n - 1) / (n + 1) if n_strata > 1 else 0.0
        return max(within, between) / sqrt(n)
