"""Checks of what a model is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skdp.graphical.domain import Domain
from skdp.graphical.model import Codes

__all__ = [
    "checked_codes",
    "checked_columns",
    "checked_evidence",
    "checked_size",
    "checked_weights",
]


def checked_columns(domain: Domain, columns: Iterable[str]) -> tuple[str, ...]:
    """Return some columns, a single name as one; refuse unknown and repeated ones.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    columns : iterable of str
        Names.

    Returns
    -------
    tuple of str
        In the order given.

    Raises
    ------
    ValueError
        If a column is unknown or named twice.
    """
    columns = (columns,) if isinstance(columns, str) else tuple(columns)
    domain.shape(columns)  # raises for what it does not know
    if len(set(columns)) < len(columns):
        raise ValueError(f"A column is named twice: {columns}.")
    return columns


def checked_evidence(
    domain: Domain, evidence: Codes
) -> tuple[dict[str, int], dict[str, NDArray[np.intp]]]:
    """Part evidence into what holds for every record and what differs.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    evidence : mapping of str to int or to ndarray of int, shape (n,)
        Codes of levels.

    Returns
    -------
    single : dict of str to int
        One code for all records.
    many : dict of str to ndarray of int, shape (n,)
        A code for each record.

    Raises
    ------
    ValueError
        If a code is not a level's, or arrays differ in length.
    """
    single, many = {}, {}
    for name, given in evidence.items():
        codes, n_levels = np.asarray(given), domain.size(name)
        outside = codes.size and not 0 <= codes.min() <= codes.max() < n_levels
        if codes.dtype.kind not in "iu" or codes.ndim > 1 or outside:
            raise ValueError(
                f"Evidence on {name!r} must be a code from 0 to {n_levels - 1}, "
                "or a 1-d array of them."
            )
        if codes.ndim:
            many[name] = codes.astype(np.intp)
        else:
            single[name] = int(codes)
    if len({len(codes) for codes in many.values()}) > 1:
        raise ValueError("Arrays of evidence must have one code per record each.")
    return single, many


def checked_codes(domain: Domain, codes: ArrayLike) -> NDArray[np.intp]:
    """Return coded records as an array.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    codes : array-like of int, shape (n, n_columns)
        In the order of the domain.

    Returns
    -------
    ndarray of int, shape (n, n_columns)
        The same.

    Raises
    ------
    ValueError
        If the shape does not fit or a code is not a level's.
    """
    array = np.asarray(codes)
    if array.ndim != 2 or array.shape[1] != len(domain):
        raise ValueError(
            f"Records must have the shape (n, {len(domain)}), not {array.shape}."
        )
    checked_evidence(domain, dict(zip(domain.names, array.T, strict=True)))
    return array.astype(np.intp, copy=False)


def checked_weights(
    domain: Domain, name: str, weights: ArrayLike
) -> NDArray[np.float64]:
    """Return the weights of a column's levels as rows.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    name : str
        The column.
    weights : array-like, shape (n_levels,) or (k, n_levels)
        One weight a level, or k rows of them.

    Returns
    -------
    ndarray, shape (k, n_levels)
        k is 1 for a single row.

    Raises
    ------
    ValueError
        If the column is unknown, or the weights have another shape or are not finite.
    """
    table: NDArray[Any] = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    n_levels = domain.size(name)
    if table.ndim != 2 or table.shape[1] != n_levels:
        raise ValueError(
            f"The weights of {name!r} must have the shape ({n_levels},) or "
            f"(k, {n_levels}), not {np.shape(weights)}."
        )
    if not np.isfinite(table).all():
        raise ValueError(f"The weights of {name!r} must be finite.")
    return table


def checked_size(n_samples: float, method: str) -> int:
    """Return the size of a sample, rounded if it is a number of records.

    Parameters
    ----------
    n_samples : float
        How many records to draw.
    method : str
        "round" or "iid".

    Returns
    -------
    int
        The size.

    Raises
    ------
    ValueError
        If the size is negative or no integer, or there is no such method.
    """
    if n_samples < 0 or n_samples != int(n_samples):
        raise ValueError(f"n_samples must be an integer >= 0, not {n_samples!r}.")
    if method not in ("round", "iid"):
        raise ValueError(f"method must be 'round' or 'iid', not {method!r}.")
    return int(n_samples)
