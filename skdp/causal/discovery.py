"""What every causal discovery estimator shares: input, search, result, selection."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._sklearn import BaseEstimator, fit_context
from skdp.base import all_or_nothing
from skdp.causal.orientation import orient
from skdp.causal.preconditions import refuse_large_tables, warn_of_unordered_levels
from skdp.causal.scores import RANK_TESTS
from skdp.causal.skeleton import Answerer, Skeleton, learn_skeleton
from skdp.exceptions import PrivacyBudgetWarning
from skdp.progress import progress_of
from skdp.records import CountTable, Schema, read_records
from skdp.warn import warn_user

__all__ = ["TARGET", "CausalDiscovery"]

#: Name of the variable that `y` becomes.
TARGET = "target_"


class CausalDiscovery(SelectorMixin, BaseEstimator):
    """Base of the estimators that learn a causal skeleton and its CPDAG.

    A subclass implements `_answerer`. As a feature selector it keeps the neighbours of
    the target if `fit` was given one, else the features with at least one edge.
    """

    #: Whether levels read off the records are worth a `PrivacyLeakWarning`.
    _warns_of_leaks = True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the skeleton and its orientation.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            The records; at least two.
        y : array-like of shape (n_samples,), optional
            A target; joins the graph as the variable ``target_``.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        SchemaError
            If the records do not fit the schema; nothing was spent.
        ModelTooLargeError
            If the table of some question would not fit into memory; nothing was spent.
        BudgetExceededError
            If an active `BudgetAccountant` has too little left; nothing was spent.
        """
        with all_or_nothing(self):
            found = read_records(
                self, X, y, self.schema, TARGET, warn=self._warns_of_leaks
            )
            records = found.records
            self.schema_, self.inferred_columns_ = records.schema, found.inferred
            self._frame_categories = found.declared_by_frame
            self._has_target = y is not None
            self._refuse_large_domain(records)
            if self.independence_test in RANK_TESTS:
                warn_of_unordered_levels(records.schema, self.independence_test)
            self._discover(records)
        if not self.is_complete_:
            self._warn_of_used_up_rounds()
        return self

    def _refuse_large_domain(self, records: CountTable) -> None:
        """Raise a `ModelTooLargeError` for what would not fit into memory."""
        refuse_large_tables(records.schema, records.n_records, self.max_order)

    def _answerer(self, records: CountTable) -> Answerer:
        """Return who answers the questions about these records."""
        raise TypeError(f"{type(self).__name__} does not say who answers.")

    def _discover(self, records: CountTable) -> None:
        varying = [c.name for c in records.schema if c.n_levels > 1]
        answerer = self._answerer(records)
        with progress_of(self.verbose, type(self).__name__) as progress:
            skeleton = learn_skeleton(
                varying, answerer, max_order=self.max_order, progress=progress
            )
        self._set_result(skeleton, records.schema)

    def _warn_of_used_up_rounds(self) -> None:
        # Only now: as an error, it must not undo a fit that has been paid for.
        what, cap = self._cap()
        warn_user(
            f"{type(self).__name__} has used up its {getattr(self, cap + '_')} {what} "
            "before the search ended: the edges not yet examined are kept. Raise "
            f"{cap}, or epsilon.",
            PrivacyBudgetWarning,
        )

    def _cap(self) -> tuple[str, str]:
        """Say what is limited, and by which parameter."""
        return "rounds", "max_deletions"

    def _set_result(self, skeleton: Skeleton, schema: Schema) -> None:
        graph, separating_sets = with_constants(skeleton, schema)
        orientation = orient(graph, separating_sets)
        self.skeleton_ = graph
        self.separating_sets_ = separating_sets
        self.causal_graph_ = orientation.cpdag
        self.orientation_conflicts_ = orientation.conflicts
        self.adjacency_matrix_ = nx.to_numpy_array(
            orientation.cpdag, nodelist=schema.names, dtype=np.int64
        )
        self.n_tests_ = skeleton.n_tests
        self.n_deletions_ = skeleton.n_deletions
        self.is_complete_ = skeleton.complete

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        features = self.schema_.names[: self.n_features_in_]
        if self._has_target:
            chosen = set(self.skeleton_[TARGET])
        else:
            chosen = {name for name, degree in self.skeleton_.degree if degree}
        return np.array([name in chosen for name in features])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the selected features.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features. By default ``feature_names_in_``; for an array, the
            names in its schema, else ``x0``, ``x1``, ...

        Returns
        -------
        ndarray of str objects
            The selected names.
        """
        check_is_fitted(self)
        if input_features is None and not hasattr(self, "feature_names_in_"):
            input_features = self.schema_.names[: self.n_features_in_]
        return super().get_feature_names_out(input_features)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        # A schema can declare missing values; without one they are refused.
        tags.input_tags.allow_nan = any(c.missing for c in self.schema or ())
        return tags


def with_constants(
    skeleton: Skeleton, schema: Schema
) -> tuple[nx.Graph, dict[frozenset[str], tuple[str, ...]]]:
    """Add the variables of one declared level, which depend on nothing.

    Parameters
    ----------
    skeleton : Skeleton
        The search over the other variables.
    schema : Schema
        All variables.

    Returns
    -------
    graph : networkx.Graph
        Over all names, in the order of the schema.
    separating_sets : dict of frozenset to tuple of str
        The empty set for every pair with a constant.
    """
    graph = nx.Graph()
    graph.add_nodes_from(schema.names)
    graph.add_edges_from(skeleton.graph.edges)
    constant = {c.name for c in schema if c.n_levels == 1}
    separating_sets: dict[frozenset[str], tuple[str, ...]] = {
        frozenset(pair): ()
        for pair in combinations(schema.names, 2)
        if not constant.isdisjoint(pair)
    }
    return graph, separating_sets | skeleton.separating_sets
