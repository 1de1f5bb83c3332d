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
from .ledger import PrivacyLedger
from .plans import scale_parts_to
from .process import process_token
from .purchases import LedgerEntry
from .sieve_and_examine import SieveAndExamine, SparseVector
from .streams import seed_of
from .subsampling import least_noise_fraction

__all__ = [
    "Access",
    "BudgetAccountant",
    "Curator",
    "LedgerEntry",
    "PrivacyLedger",
    "SieveAndExamine",
    "SparseVector",
    "accountant_is_active",
    "amplified_epsilon",
    "base_epsilon",
    "dp_from_zcdp",
    "least_noise_fraction",
    "note_seed",
    "optimal_composition_delta",
    "optimal_composition_epsilon",
    "process_token",
    "scale_parts_to",
    "seed_of",
    "zcdp_from_dp",
    "zcdp_from_pure",
]
