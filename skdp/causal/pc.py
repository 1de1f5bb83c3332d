"""PC without privacy: the reference that the private estimators converge to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skdp._sklearn import Interval, StrOptions
from skdp.causal.answerers import TableAnswerer
from skdp.causal.discovery import CausalDiscovery
from skdp.causal.scores import DEPENDENCE_QUERIES
from skdp.queries import PublicFacts
from skdp.records import CountTable, Schema
from skdp.stats import chi2_pvalue, g2_pvalue

__all__ = ["PC"]

Pvalue = Callable[[str, str, tuple[str, ...], NDArray[np.int64]], float]

_EXACT_TESTS = {"chi2": chi2_pvalue, "g2": g2_pvalue}


class PC(CausalDiscovery):
    """Learn a causal graph by the PC algorithm, **without any privacy**.

    PC-stable, so that the skeleton does not depend on the order of the columns, then
    v-structures and Meek's rules.

    Parameters
    ----------
    independence_test : {"kendall", "kendall_normalized", "spearman", \
            "total_variation", "chi2", "g2"}, default="kendall"
        The first three compare a score with its normal law under independence and
        need ordered levels; the others do not.
    alpha : float in (0, 1), default=0.05
        Level of each test.
    max_order : int, optional
        Largest size of a conditioning set; by default unlimited.
    schema : Schema, optional
        Levels of the columns; by default read off the records.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    skeleton_ : networkx.Graph
        The skeleton over the names of the variables.
    causal_graph_ : networkx.DiGraph
        The CPDAG; an undirected edge is two directed ones.
    adjacency_matrix_ : ndarray of int64, shape (n_variables, n_variables)
        1 at (i, j) for an edge from i to j in `causal_graph_`, in the order of
        `schema_`.
    separating_sets_ : dict of frozenset to tuple of str
        For each deleted pair the set that separated it.
    orientation_conflicts_ : tuple of frozenset of str
        Edges left undirected because the separating sets contradict each other.
    n_tests_, n_deletions_ : int
        Number of tests, and of edges deleted.
    is_complete_ : bool
        Always True here; see `PrivPC`.
    schema_ : Schema
        Levels of the variables.
    inferred_columns_ : tuple of str
        Variables whose levels were read off the records.

    References
    ----------
    Spirtes, Glymour, Scheines, *Causation, Prediction, and Search*, 2000; Colombo,
    Maathuis, *Order-independent constraint-based causal structure learning*, 2014.

    Examples
    --------
    >>> from skdp import PC
    >>> from skdp.datasets import load_bayesian_network
    >>> network = load_bayesian_network("cancer")
    >>> X = network.sample(20_000, random_state=0)
    >>> PC(schema=network.schema).fit(X).skeleton_.has_edge("Cancer", "Xray")
    True
    """

    _warns_of_leaks = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "independence_test": [StrOptions({*DEPENDENCE_QUERIES, *_EXACT_TESTS})],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "max_order": [Interval(Integral, 0, None, closed="left"), None],
        "schema": [Schema, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        independence_test: str = "kendall",
        alpha: float = 0.05,
        max_order: int | None = None,
        schema: Schema | None = None,
        verbose: int = 0,
    ) -> None:
        self.independence_test = independence_test
        self.alpha = alpha
        self.max_order = max_order
        self.schema = schema
        self.verbose = verbose

    def _answerer(self, records: CountTable) -> TableAnswerer:
        if self.independence_test in _EXACT_TESTS:
            test = _EXACT_TESTS[self.independence_test]
            pvalue: Pvalue = lambda x, y, given, tables: test(tables)  # noqa: E731
        else:
            public = PublicFacts(records.n_records, records.schema)
            pvalue = partial(_score_pvalue, self.independence_test, public)
        return TableAnswerer(records.strata, pvalue, self.alpha)


def _score_pvalue(
    name: str,
    public: PublicFacts,
    x: str,
    y: str,
    given: tuple[str, ...],
    tables: NDArray[np.int64],
) -> float:
    """Return the p-value of a score by its law under independence."""
    query = DEPENDENCE_QUERIES[name](x, y, given)
    return query.null_law(public).tail(query.score(tables, public.n_records))
