"""All two-way interactions, looked at twice where it pays, and a few larger tables.

For domains whose full table cannot exist. Three stages, each with a share of rho:
all pairs; again the pairs that may be dependent; then, for the edges that a search on
these leaves, the tables that could explain them away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod, sqrt
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from skdp.causal.answerers import EvidenceAnswerer
from skdp.causal.findings import Findings, SearchSettings
from skdp.causal.skeleton import Progress, Skeleton, learn_skeleton
from skdp.causal.table_release import denoised
from skdp.privacy import Curator
from skdp.queries import Batch, Interactions, Marginal, PairInteractions
from skdp.queries.interactions import STEPS_PER_UNIT
from skdp.records import Schema
from skdp.stats.evidence import IndependenceTest, KeepRule
from skdp.stats.interactions import InteractionMoments, InteractionTests
from skdp.stats.released_tables import ReleasedTable
from skdp.stats.simplex_codes import main_effect_weight

__all__ = ["PairRelease"]

Pair = tuple[str, str]

#: Level at which a pair is worth a second look.
SCREEN = 0.2
#: Order of the search, unless told otherwise, and of the sets that tables are for.
DEFAULT_ORDER = 2
#: Tables for each edge, and the largest noise in all cells of one, in records.
TABLES_PER_EDGE = 2
LARGEST_NOISE = 0.3

_PAIR_RULE = KeepRule(kappa=0.7, least_noncentrality=1.0, least_tolerance=0.02)
_TABLE_RULE = KeepRule(kappa=0.5, least_noncentrality=6.0)
#: A test that leaves so much of an effect is no reason to look closer.
_HOPELESS_RATIO = 0.9


@dataclass(frozen=True)
class PairRelease:
    """What was released about a wide table.

    Parameters
    ----------
    tests : InteractionTests
        On the noisy means and covariances of the coded variables, second looks averaged
        in.
    tables : mapping of tuple of str to ReleasedTable
        Larger tables by their columns.
    """

    tests: InteractionTests
    tables: Mapping[tuple[str, ...], ReleasedTable]

    @classmethod
    def of(
        cls,
        curator: Curator,
        names: Sequence[str],
        rhos: tuple[float, float, float],
        settings: SearchSettings,
        progress: Progress | None,
    ) -> PairRelease:
        """Buy the three stages.

        Parameters
        ----------
        curator : Curator
            Holds the records.
        names : sequence of str
            Two or more variables of two or more levels.
        rhos : (float, float, float)
            Price of each stage; zero-concentrated differential privacy. The second look
            gets what the tables cannot put to use, by the answers of the first stage.
        settings : SearchSettings
            Of the search between the second and the third stage.
        progress : callable or None
            See `learn_skeleton`.

        Returns
        -------
        PairRelease
            All that follows is post-processing.
        """
        found = cls(InteractionTests(_all_pairs(curator, tuple(names), rhos[0])), {})
        second, third = rhos[1:]
        if not found.affordable_tables(settings, third, progress):
            second, third = second + third, 0.0
        found = cls(InteractionTests(_second_look(curator, found.tests, second)), {})
        wanted = found.affordable_tables(settings, third, progress)
        return (
            replace(found, tables=_tables(curator, wanted, third)) if wanted else found
        )

    @property
    def moments(self) -> InteractionMoments:
        """The noisy means and covariances."""
        return self.tests.moments

    @property
    def counts(self) -> dict[tuple[str, ...], NDArray[np.float64]]:
        """The noisy counts of the larger tables by their columns."""
        return {columns: table.counts for columns, table in self.tables.items()}

    def search(self, settings: SearchSettings, progress: Progress | None) -> Findings:
        """Learn a skeleton from what was released.

        Parameters
        ----------
        settings : SearchSettings
            How.
        progress : callable or None
            See `learn_skeleton`.

        Returns
        -------
        Findings
            Without any further cost.
        """
        answerer, skeleton = self.search_pairs(settings, progress)
        if settings.reaches(DEFAULT_ORDER):
            skeleton = self._examined(skeleton, settings, answerer)
        return Findings(skeleton, answerer.edges(skeleton.graph))

    def search_pairs(
        self, settings: SearchSettings, progress: Progress | None
    ) -> tuple[EvidenceAnswerer, Skeleton]:
        """Learn a skeleton from the interactions alone.

        Parameters
        ----------
        settings : SearchSettings
            How.
        progress : callable or None
            See `learn_skeleton`.

        Returns
        -------
        answerer : EvidenceAnswerer
            What it remembers of the tests.
        skeleton : Skeleton
            What the search found.
        """
        answerer = EvidenceAnswerer(
            self.tests,
            settings.level(self.moments.n_records),
            _PAIR_RULE if settings.keep_rule else None,
        )
        skeleton = learn_skeleton(
            list(self.moments.levels),
            answerer,
            max_order=settings.max_order,
            progress=progress,
        )
        return answerer, skeleton

    def affordable_tables(
        self, settings: SearchSettings, rho: float, progress: Progress | None = None
    ) -> list[tuple[str, ...]]:
        """Choose the tables that could explain edges away and are not all noise.

        Parameters
        ----------
        settings : SearchSettings
            Of the search for the edges.
        rho : float
            Price of all tables together.
        progress : callable or None
            See `learn_skeleton`.

        Returns
        -------
        list of tuple of str
            Their columns, the smallest table first.
        """
        if not rho or not settings.reaches(DEFAULT_ORDER):
            return []
        answerer, skeleton = self.search_pairs(settings, progress)
        levels, largest_noise = (
            self.moments.levels,
            LARGEST_NOISE * self.moments.n_records,
        )
        sizes = {
            columns: prod(levels[v] for v in columns)
            for edge in skeleton.graph.edges
            for columns, _ in self.promising_sets(edge, skeleton.graph, answerer)
        }
        chosen = sorted(sizes, key=sizes.__getitem__)
        largest_noise = LARGEST_NOISE * self.moments.n_records
        # Together they have the squared L2 sensitivity 2 len(chosen).
        while chosen and sqrt(len(chosen) / rho) * sizes[chosen[-1]] > largest_noise:
            chosen.pop()
        return chosen

    def promising_sets(
        self, edge: Pair, graph: nx.Graph, answerer: EvidenceAnswerer
    ) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Choose sets that may explain an edge away.

        Parameters
        ----------
        edge : (str, str)
            The edge.
        graph : networkx.Graph
            The skeleton.
        answerer : EvidenceAnswerer
            Of the search that found it.

        Returns
        -------
        list of (tuple of str, tuple of str)
            The columns of a table, in the order of the variables, and the conditioning
            set; the most promising first.
        """
        x, y = edge
        ratios = []
        for given in _pairs_of_neighbours(x, y, graph):
            test = answerer.test(x, y, given)
            expected = answerer.expected_excess(x, y, test)
            if test.tolerance >= _PAIR_RULE.least_tolerance and expected > 0:
                ratios.append((test.excess / expected, given))
        ratios = sorted(r for r in ratios if r[0] < _HOPELESS_RATIO)
        order = list(self.moments.levels).index
        return [
            (tuple(sorted((x, y, *given), key=order)), given)
            for _, given in ratios[:TABLES_PER_EDGE]
        ]

    def _examined(
        self, skeleton: Skeleton, settings: SearchSettings, answerer: EvidenceAnswerer
    ) -> Skeleton:
        """Delete the edges that a released table explains away."""
        n = self.moments.n_records
        tables = {
            columns: denoised(table, n, settings.denoise)
            for columns, table in self.tables.items()
        }
        rule = _TABLE_RULE if settings.keep_rule else None
        graph, separating_sets = skeleton.graph.copy(), dict(skeleton.separating_sets)
        n_tests = skeleton.n_tests
        for x, y in skeleton.graph.edges:
            edge = (x, y)
            for columns, given in self.promising_sets(edge, skeleton.graph, answerer):
                if columns not in tables:
                    continue
                n_tests += 1
                test = settings.table_test(*tables[columns].strata(x, y, given))
                test = self._in_units_of_pairs(test, edge)
                if answerer.judge(x, y, given, test, rule):
                    graph.remove_edge(*edge)
                    separating_sets[frozenset(edge)] = given
                    break
        return replace(
            skeleton,
            graph=graph,
            separating_sets=separating_sets,
            n_tests=n_tests,
            n_deletions=len(separating_sets),
        )

    def _in_units_of_pairs(
        self, test: IndependenceTest, edge: Pair
    ) -> IndependenceTest:
        """Restate the information of a table test in the units of the simplex code."""
        r, c = (self.moments.levels[v] for v in edge)
        factor = r * c / ((r - 1) * (c - 1)) ** 2
        return replace(test, information=test.information * factor)


def _pairs_of_neighbours(x: str, y: str, graph: nx.Graph) -> Iterator[tuple[str, ...]]:
    seen = set()
    for one, other in ((x, y), (y, x)):
        neighbours = [v for v in graph if graph.has_edge(one, v) and v != other]
        for given in combinations(neighbours, 2):
            if given not in seen:
                seen.add(given)
                yield given


def _sigma(curator: Curator) -> float:
    """Return the scale of the noise that was bought last."""
    return curator.ledger.entries[-1].scale


def _all_pairs(curator: Curator, names: tuple[str, ...], rho: float) -> Any:
    query = Interactions(names)
    schema = curator.public.schema
    levels = {name: schema.n_levels(name) for name in names}
    answer = curator.gaussian(query, rho=rho) / STEPS_PER_UNIT
    variance = (_sigma(curator) / STEPS_PER_UNIT) ** 2
    weight = main_effect_weight(len(names))
    n_effects = sum(r - 1 for r in levels.values())
    ends = np.cumsum([r - 1 for r in levels.values()])[:-1]
    effects = np.split(answer[:n_effects] / weight, ends)
    interactions = _blocks(answer[n_effects:], query.pairs, schema)
    return InteractionMoments.from_sums(
        levels,
        curator.public.n_records,
        dict(zip(names, effects, strict=True)),
        interactions,
        (variance / weight**2, dict.fromkeys(query.pairs, variance)),
    )


def _second_look(
    curator: Curator, test: InteractionTests, rho: float
) -> InteractionMoments:
    moments = test.moments
    pairs = tuple(
        pair for pair in combinations(moments.levels, 2) if test(*pair).p_value < SCREEN
    )
    if not pairs:
        return moments
    answer = curator.gaussian(PairInteractions(pairs), rho=rho) / STEPS_PER_UNIT
    variance = (_sigma(curator) / STEPS_PER_UNIT) ** 2
    blocks = _blocks(answer, pairs, curator.public.schema)
    return moments.averaged(blocks, variance)


def _blocks(
    answer: NDArray[np.float64], pairs: Sequence[Pair], schema: Schema
) -> dict[Pair, NDArray[np.float64]]:
    shapes = [(schema.n_levels(x) - 1, schema.n_levels(y) - 1) for x, y in pairs]
    ends = np.cumsum([r * c for r, c in shapes])[:-1]
    parts = np.split(answer, ends)
    return {
        pair: part.reshape(shape)
        for pair, part, shape in zip(pairs, parts, shapes, strict=True)
    }


def _tables(
    curator: Curator, wanted: list[tuple[str, ...]], rho: float
) -> dict[tuple[str, ...], ReleasedTable]:
    batch = Batch(tuple(map(Marginal, wanted)))
    answer = curator.gaussian(batch, rho=rho)
    variance = _sigma(curator) ** 2
    parts = batch.split(answer, curator.public)
    return {
        columns: ReleasedTable(columns, part.astype(float), variance)
        for columns, part in zip(wanted, parts, strict=True)
    }
