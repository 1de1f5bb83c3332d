"""Missing entries, filled from what a model says of them given the known ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skdp.graphical import Model
from skdp.pgm.coding import GAP, gap_patterns
from skdp.pgm.frames import Filling, decode, middles
from skdp.records import Column, Numeric, Schema

__all__ = ["distribution_of", "fill_gaps"]


def fill_gaps(
    model: Model,
    schema: Schema,
    codes: NDArray[np.intp],
    how: str,
    rng: np.random.Generator,
    whole: Sequence[bool],
) -> Iterator[Filling]:
    """Find values for the gaps of records.

    Parameters
    ----------
    model : Model
        Over the columns of the schema.
    schema : Schema
        Their levels.
    codes : ndarray of int, shape (n, d)
        With gaps.
    how : {"mode", "mean", "draw"}
        The most probable value of each entry by itself; the mean of numeric columns and
        the mode of the others; or a draw, joint over the gaps of a record.
    rng : numpy.random.Generator
        For draws.
    whole : sequence of bool
        Which columns are of integers.

    Yields
    ------
    records : ndarray of int, shape (k,)
        Which records.
    place : int
        Which column.
    values : ndarray, shape (k,)
        Its values.
    """
    for gaps, records in gap_patterns(codes):
        known = codes[records]
        for place in gaps:
            column = schema.columns[place]
            p = distribution_of(model, schema, known, place)
            if column.missing:
                p = _without_last(p, model.marginal(column.name))
            if how == "draw":
                # The next gap of the record is filled in the light of this one.
                known[:, place] = _draw(p, rng)
                values = decode(column, known[:, place], rng, whole[place])
            else:
                values = _best(column, p, how == "mean", whole[place])
            yield records, place, values


def distribution_of(
    model: Model, schema: Schema, codes: NDArray[np.intp], place: int
) -> NDArray[np.float64]:
    """Return the distribution of a column for records with the same gaps.

    Parameters
    ----------
    model : Model
        Over the columns of the schema.
    schema : Schema
        Their levels.
    codes : ndarray of int, shape (n, d)
        With gaps in the same columns; the column that is asked for is not looked at.
    place : int
        Position of the column that is asked for.

    Returns
    -------
    ndarray, shape (n, n_levels)
        Where the model excludes what is known of a record: the marginal.
    """
    name = schema.names[place]
    seen = [j for j in range(len(schema)) if j != place and (codes[:, j] != GAP).all()]
    marginal = model.marginal(name) / model.n_records
    if not seen or not len(codes):
        return np.tile(marginal, (len(codes), 1))
    distinct, which = np.unique(codes[:, seen], axis=0, return_inverse=True)
    evidence = {schema.names[j]: distinct[:, k] for k, j in enumerate(seen)}
    p = model.conditional((name,), evidence)
    excluded = np.isnan(p).any(axis=1)
    p[excluded] = marginal
    return p[which.ravel()]


def _without_last(
    p: NDArray[np.float64], marginal: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Condition on an entry that is not missing."""
    p = p[:, :-1]
    total = p.sum(axis=1, keepdims=True)
    fallback = np.where(marginal[:-1].sum() > 0, marginal[:-1], 1.0)
    p = np.where(total > 0, p, fallback)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _draw(p: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    cumulated = np.cumsum(p, axis=1)
    u = rng.random((len(p), 1)) * cumulated[:, -1:]
    return np.asarray((cumulated <= u).sum(axis=1), dtype=np.intp)


def _best(
    column: Column, p: NDArray[np.float64], mean: bool, whole: bool
) -> NDArray[Any]:
    if not isinstance(column, Numeric):
        return column.decode(p.argmax(axis=1))
    numbers = middles(column, whole)
    if not mean:
        return numbers[p.argmax(axis=1)]
    means = p[:, : column.bins] @ numbers
    return np.asarray(np.rint(means) if whole else means)
