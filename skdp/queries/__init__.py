"""Questions about records, each with a sensitivity proved from public facts alone."""

from .answer_gaps import AnswerGaps
from .base import Batch, PublicFacts, Query, all_queries
from .cross_moments import FREE_WEIGHT, CrossMoments, MomentErrors
from .dependence import (
    KendallDependence,
    NormalizedKendallDependence,
    SpearmanDependence,
)
from .dependence_base import DependenceQuery
from .eigenvalues import Eigenvalues, Trace
from .evidence import DependenceEvidence
from .interactions import Interactions, PairInteractions
from .linear import LinearMarginal
from .marginals import Marginal
from .margins import IndependenceMargins, Question
from .model_distances import ModelDistances
from .moments import Diagonal, MomentQuery, SecondMoments, Sums
from .norms import NormScores, SquaredExcess
from .parent_scores import ParentInformation, ParentScores, ParentVariation
from .query_errors import QueryErrors
from .scores import MarginalDistances
from .total_variation import TotalVariationDependence

__all__ = [
    "AnswerGaps",
    "Batch",
    "CrossMoments",
    "DependenceEvidence",
    "DependenceQuery",
    "Diagonal",
    "Eigenvalues",
    "FREE_WEIGHT",
    "IndependenceMargins",
    "Interactions",
    "KendallDependence",
    "LinearMarginal",
    "Marginal",
    "MarginalDistances",
    "ModelDistances",
    "MomentErrors",
    "MomentQuery",
    "NormScores",
    "NormalizedKendallDependence",
    "PairInteractions",
    "ParentInformation",
    "ParentScores",
    "ParentVariation",
    "PublicFacts",
    "Query",
    "QueryErrors",
    "Question",
    "SecondMoments",
    "SpearmanDependence",
    "SquaredExcess",
    "Sums",
    "TotalVariationDependence",
    "Trace",
    "all_queries",
]
