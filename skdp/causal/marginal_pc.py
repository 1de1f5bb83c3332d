"""MarginalPC: measure noisy tables once, then run PC on them for free."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp._sklearn import Interval, StrOptions
from skdp.base import PrivateEstimator, all_or_nothing
from skdp.causal.discovery import CausalDiscovery
from skdp.causal.findings import TABLE_TESTS, Findings, SearchSettings
from skdp.causal.pair_release import DEFAULT_ORDER, PairRelease
from skdp.causal.preconditions import refuse_large_release
from skdp.causal.skeleton import Skeleton
from skdp.causal.table_release import TableRelease
from skdp.exceptions import PrivacyBudgetWarning
from skdp.privacy import Curator, zcdp_from_dp
from skdp.progress import progress_of
from skdp.records import CountTable, Schema
from skdp.warn import warn_user

__all__ = ["MarginalPC"]

#: Above so many cells of the full table "auto" releases pairs, if delta allows it.
LARGEST_AUTO_TABLE = 10_000
#: Up to so many variables all orders are searched by default, and up to which if more.
FEW_VARIABLES = 8
FEW_VARIABLES_ORDER = 3


class MarginalPC(CausalDiscovery, PrivateEstimator):
    """Learn a causal graph with differential privacy from noisy tables.

    The records are asked once. A small domain is released as one noisy contingency
    table; of a wide one all two-way interactions, with a second look at those that
    matter and a few larger tables. PC then runs on what was released, as often as you
    like: its tests know the noise, and an edge is deleted only on evidence. The whole
    output is (epsilon, delta)-differentially private under replacement of one record.

    Parameters
    ----------
    epsilon : float > 0, default=1.0
        Total privacy loss of one `fit`.
    delta : float in [0, 1), default=0.0
        The release of pairs has Gaussian noise and needs delta > 0. A full table is
        released with pure epsilon, whatever delta.
    source : {"auto", "table", "pairs"}, default="auto"
        What is released. "auto" takes the full table if it has at most 10 000 cells,
        by the schema, or if delta is 0.
    independence_test : {"cmh", "kendall", "total_variation", "strata_chi2", "both"}, \
            default="cmh"
        Test on tables. "cmh" (generalised Cochran-Mantel-Haenszel) adds residuals up
        over strata; "kendall" does so for ordered levels; "strata_chi2" also sees
        dependence that cancels over the strata; "both" is "cmh" and "strata_chi2", each
        at half the level. The interactions of `source="pairs"` are always tested by
        "cmh".
    alpha : float in (0, 1) or "auto", default="auto"
        Level of the tests. "auto" is min(.05, .3/sqrt(n)), and on a full table up to .1
        where the privacy noise outweighs sampling.
    max_order : int, optional
        Largest size of a conditioning set. By default 2 for pairs and for tables of
        more than 10 000 cells; on smaller ones unlimited for up to 8 variables, else 3.
    denoise : {"full", "calibrated"} or None, default="full"
        Noisy tables are projected to counts without negatives. "full" finds most edges
        but its tests reject up to three times too often; "calibrated" keeps their
        level where the noise in all cells is small against n; None does not project.
    keep_rule : bool, default=True
        Delete an edge only if the dependence was explained away. False deletes it too
        where the test could not have seen the dependence, as PC does.
    stage_shares : tuple of three floats, default=(0.45, 0.45, 0.1)
        For pairs: shares of the budget for all pairs, the second look, and the tables
        of four variables; each at least .001, together at most 1.
    schema : Schema, optional
        Public levels of the columns. Without it they are read off the records, with a
        `PrivacyLeakWarning`.
    verbose : int, default=0
        Whether to show progress.
    random_state : int, RandomState or None, default=None
        None: cryptographic noise. An int makes the fit reproducible, for tests and
        papers; a known seed voids the guarantee.

    Attributes
    ----------
    skeleton_ : networkx.Graph
        The skeleton over the names of the variables.
    causal_graph_ : networkx.DiGraph
        The CPDAG; an undirected edge is two directed ones.
    edges_ : tuple of EdgeEvidence
        For each edge of the skeleton the conditional test that came nearest to deleting
        it: `x`, `y`, `given`, `statistic`, `degrees`, `p_value`, `noise_share` (of the
        variance) and `kept_for_want_of_evidence`. ``pandas.DataFrame(edges_)`` is a
        table.
    tables_ : dict of tuple of str to ndarray
        The noisy counts that were released, by their columns.
    gram_ : InteractionMoments or None
        For pairs, the noisy means and covariances of the simplex-coded variables.
    source_ : {"table", "pairs"}
        What was released.
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
    ledger_ : PrivacyLedger
        What the fit bought; survives a failed fit.
    schema_ : Schema
        Levels of the variables.
    inferred_columns_ : tuple of str
        Variables whose levels were read off the records.
    n_records_ : int
        Number of records; public.

    Notes
    -----
    Replacing a record takes one from a cell of the full table and adds one to another,
    so that discrete Laplace noise of scale 2/epsilon makes it epsilon-differentially
    private. For the interactions see `skdp.queries.Interactions`; their three
    releases add up in zero-concentrated differential privacy to the largest rho that
    (epsilon, delta) allows. Which pairs and tables are asked for in the later ones
    depends on earlier answers only, and so does all the rest.

    Examples
    --------
    >>> from skdp import MarginalPC
    >>> from skdp.datasets import load_bayesian_network
    >>> network = load_bayesian_network("asia")
    >>> X = network.sample(100_000, random_state=0)
    >>> model = MarginalPC(epsilon=1.0, schema=network.schema, random_state=0).fit(X)
    >>> sorted(model.skeleton_["smoke"])
    ['bronc', 'lung']
    >>> model.refit(alpha=0.01).ledger_.total()
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateEstimator._parameter_constraints,
        "source": [StrOptions({"auto", "table", "pairs"})],
        "independence_test": [StrOptions(set(TABLE_TESTS))],
        "alpha": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        "max_order": [Interval(Integral, 0, None, closed="left"), None],
        "denoise": [StrOptions({"full", "calibrated"}), None],
        "keep_rule": ["boolean"],
        "stage_shares": [tuple, list],
        "schema": [Schema, None],
        "verbose": ["verbose"],
    }

    _release: TableRelease | PairRelease | None

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        source: str = "auto",
        independence_test: str = "cmh",
        alpha: float | str = "auto",
        max_order: int | None = None,
        denoise: str | None = "full",
        keep_rule: bool = True,
        stage_shares: tuple[float, float, float] = (0.45, 0.45, 0.1),
        schema: Schema | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.source = source
        self.independence_test = independence_test
        self.alpha = alpha
        self.max_order = max_order
        self.denoise = denoise
        self.keep_rule = keep_rule
        self.stage_shares = stage_shares
        self.schema = schema
        self.verbose = verbose
        self.random_state = random_state

    def refit(self, **parameters: Any) -> Self:
        """Search again on what was released, with other parameters and at no cost.

        Parameters
        ----------
        **parameters : any
            New values of `independence_test`, `alpha`, `max_order`, `denoise` or
            `keep_rule`; they are set on the estimator. The others decide what is
            released.

        Returns
        -------
        self : MarginalPC
            With a new graph. ``ledger_`` stays as it is; if a later fit failed, it is
            that of the failed fit, and the report is that of the release.

        Raises
        ------
        ValueError
            If another parameter is given, or a value is not valid.
        NotFittedError
            If there is no release yet.

        Notes
        -----
        Post-processing: the records are not needed. With `source="pairs"` the tables of
        four variables are those that the search of the fit had asked for.
        """
        check_is_fitted(self)
        others = sorted(set(parameters) - _FREE)
        if others:
            raise ValueError(
                f"refit cannot change {', '.join(others)}: once the tables are "
                f"released, only {', '.join(sorted(_FREE))} are free. Set it and fit "
                "again, which has its price."
            )
        with all_or_nothing(self):
            self.set_params(**parameters)
            self._validate_params()
            self._search(self.schema_)
            self._note_refit()
        return self

    def _refuse_large_domain(self, records: CountTable) -> None:
        schema = records.schema
        if self.source == "auto":
            # Pairs have no pure form.
            table = schema.size <= LARGEST_AUTO_TABLE or not self.delta
            self.source_ = "table" if table else "pairs"
        else:
            self.source_ = self.source
        refuse_large_release(schema, self.source_)

    def _discover(self, records: CountTable) -> None:
        self._check_budget()
        curator = self._open_curator(records)
        names = tuple(c.name for c in records.schema if c.n_levels > 1)
        self._release = None
        if len(names) > 1:
            self._release = self._released(curator, names)
        self._search(records.schema)
        self._write_report()

    def _check_budget(self) -> None:
        """Refuse shares and a delta that make no release, before anything is spent."""
        shares = tuple(self.stage_shares)
        numbers = len(shares) == 3 and all(isinstance(s, Real) for s in shares)
        if not numbers or min(shares) < 0.001 or not sum(shares) <= 1 + 1e-12:
            raise ValueError(
                "The 'stage_shares' parameter of MarginalPC must be three numbers of "
                "at least .001 that add up to at most 1. Got "
                f"{self.stage_shares!r} instead."
            )
        if self.source_ == "pairs" and not self.delta > 0:
            raise ValueError(
                "source='pairs' has Gaussian noise and no pure form: pass a small "
                "delta, such as delta=1e-6, or source='table'. Nothing was spent."
            )

    def _released(
        self, curator: Curator, names: tuple[str, ...]
    ) -> TableRelease | PairRelease:
        if self.source_ == "table":
            self._warn_if_hopeless(curator)
            return TableRelease.of(curator, names, float(self.epsilon))
        rho = zcdp_from_dp(float(self.epsilon), float(self.delta))
        first, second, third = (rho * float(share) for share in self.stage_shares)
        # Rounding must not make the three more than the whole.
        second = min(second, rho - first)
        rhos = (first, second, max(0.0, min(third, rho - first - second)))
        with progress_of(self.verbose, type(self).__name__) as progress:
            return PairRelease.of(curator, names, rhos, self._settings(), progress)

    def _warn_if_hopeless(self, curator: Curator) -> None:
        noise = TableRelease.noise_in_all_cells(curator.public, float(self.epsilon))
        if 3 * noise >= curator.public.n_records:
            warn_user(
                f"With epsilon={self.epsilon} the noise in all cells of the table "
                f"together ({noise:.0f} records) is large against the "
                f"{curator.public.n_records} records: expect few of the true edges. "
                "Spend a larger epsilon, or ask about fewer columns or levels.",
                PrivacyBudgetWarning,
            )

    def _search(self, schema: Schema) -> None:
        if self._release is None:
            names = [c.name for c in schema if c.n_levels > 1]
            nothing = Skeleton(nx.complete_graph(names), {}, 0, 0, complete=True)
            found = Findings(nothing, ())
        else:
            with progress_of(self.verbose, type(self).__name__) as progress:
                found = self._release.search(self._settings(), progress)
        self.edges_ = found.edges
        self.tables_ = {} if self._release is None else self._release.counts
        self.gram_ = getattr(self._release, "moments", None)
        self._set_result(found.skeleton, schema)

    def _note_refit(self) -> None:
        """Add to the report of the fit how its release was searched again."""
        settings = ", ".join(f"{name}={getattr(self, name)}" for name in sorted(_FREE))
        kept = (fact for fact in self._report.public if not fact.startswith(_AGAIN))
        public = (*kept, f"{_AGAIN}, at no cost, with {settings}")
        self._report = replace(self._report, public=public)

    def _settings(self) -> SearchSettings:
        return SearchSettings(
            independence_test=self.independence_test,
            alpha=self.alpha,
            max_order=self._largest_order(),
            denoise=self.denoise,
            keep_rule=bool(self.keep_rule),
        )

    def _largest_order(self) -> int | None:
        if self.max_order is not None:
            return self.max_order
        if self.source_ == "pairs" or self.schema_.size > LARGEST_AUTO_TABLE:
            return DEFAULT_ORDER
        # The number of sets grows exponentially with the variables.
        return None if len(self.schema_) <= FEW_VARIABLES else FEW_VARIABLES_ORDER

    def _public_facts(self) -> tuple[str, ...]:
        released = {
            "table": "the full contingency table",
            "pairs": "all two-way interactions, and tables chosen by earlier answers",
        }
        return (*super()._public_facts(), f"released: {released[self.source_]}")


#: What may change without asking the records again.
_FREE = {"alpha", "denoise", "independence_test", "keep_rule", "max_order"}
_AGAIN = "searched again"
