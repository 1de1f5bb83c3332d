"""The only rooms that see a raw answer or draw privacy noise."""

from .accounting import (
    amplified_epsilon,
    base_epsilon,
    dp_from_zcdp,
    zcdp_from_dp,
    zcdp_from_pure,
)
from .budget import BudgetAccountant, accountant_is_active, note_seed
from .composition import optimal_composition_delta, optimal_composition_epsilon
from .curator import Access, Curator
from .gaussian_tests import GaussianTests
from .ledger import PrivacyLedger
from .median_tests import MedianTests
from .plans import scale_parts_to
from .process import process_token
from .purchases import LedgerEntry
from .renyi import noise_multiplier
from .sieve_and_examine import SieveAndExamine, SparseVector, sparse_vector_scales
from .streams import seed_of
from .subsampling import least_noise_fraction

__all__ = [
    "Access",
    "BudgetAccountant",
    "Curator",
    "GaussianTests",
    "LedgerEntry",
    "MedianTests",
    "PrivacyLedger",
    "SieveAndExamine",
    "SparseVector",
    "accountant_is_active",
    "amplified_epsilon",
    "base_epsilon",
    "dp_from_zcdp",
    "least_noise_fraction",
    "noise_multiplier",
    "note_seed",
    "optimal_composition_delta",
    "optimal_composition_epsilon",
    "process_token",
    "scale_parts_to",
    "seed_of",
    "sparse_vector_scales",
    "zcdp_from_dp",
    "zcdp_from_pure",
]
