"""Errors and warnings that name what went wrong with privacy, data or schema.

Every error is also a `ValueError`, so that code written for scikit-learn
catches it where it catches bad input.
"""

from __future__ import annotations

__all__ = [
    "BudgetExceededError",
    "ClippedValuesWarning",
    "ModelTooLargeError",
    "PrivacyBudgetWarning",
    "PrivacyLeakWarning",
    "SchemaError",
    "UnorderedLevelsWarning",
]


class BudgetExceededError(ValueError):
    """A mechanism asked for more privacy budget than is left.

    Raised before any record is touched: the refused mechanism has seen nothing.
    """


class ModelTooLargeError(ValueError):
    """The public domain needs tables that do not fit into memory.

    Raised from public facts alone, before anything is allocated or spent.
    """


class SchemaError(ValueError):
    """A table does not fit its public schema, or the schema itself is wrong.

    The message can depend on private records (it may name an unexpected value):
    it is meant for the curator's eyes only.
    """


class ClippedValuesWarning(UserWarning):
    """Some values lay outside their public bounds and were moved to the nearest."""


class PrivacyBudgetWarning(UserWarning):
    """A budget ran out before the work did, so that part of it was not done."""


class UnorderedLevelsWarning(UserWarning):
    """Levels without an order meet a score that reads them as ranks."""


class PrivacyLeakWarning(UserWarning):
    """Something about the private records became public outside the guarantee."""
