"""What the declarations of all columns check alike."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.exceptions import SchemaError

__all__ = ["check_declaration", "checked_codes", "is_whole", "missing_error"]


def check_declaration(name: object, outside: str, allowed: tuple[str, ...]) -> None:
    """Raise SchemaError unless name and outside are what they may be."""
    if not isinstance(name, str):
        raise SchemaError(f"A column's name must be a str, not {name!r}.")
    if outside not in allowed:
        raise SchemaError(
            f"Column {name!r}: outside must be one of {', '.join(map(repr, allowed))}, "
            f"not {outside!r}."
        )


def checked_codes(codes: ArrayLike, n_levels: int, name: str) -> NDArray[np.intp]:
    """Return codes as integers, or raise SchemaError if one is not a level's."""
    array = np.asarray(codes)
    if array.size and array.dtype.kind not in "iu":
        raise SchemaError(
            f"Column {name!r}: codes must be integers, not {array.dtype.name}."
        )
    array = np.ascontiguousarray(array, dtype=np.intp)
    if array.size and (array.min() < 0 or array.max() >= n_levels):
        raise SchemaError(
            f"Column {name!r}: codes must be integers from 0 to {n_levels - 1}."
        )
    return array


def missing_error(name: str) -> SchemaError:
    """Return the error for a missing value where none is declared."""
    return SchemaError(
        f"Column {name!r} contains NaN or another missing value. Fill it in before, "
        "or declare the column with missing=True, which makes it a level of its own."
    )


def is_whole(value: object) -> bool:
    """Say whether a parameter is an integer; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)
