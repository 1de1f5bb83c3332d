"""How tight the proved sensitivities are: a search for the worst replaced record.

For each query class and case (number of strata, levels, records) two record sets that
differ in one record are sought whose answers differ as much as possible. The search
starts from constructed families and from random records and climbs: a random change
is kept if the answers then lie no closer. The largest difference found, divided by the
proved bound, tells how much noise a better proof could save at most. A quotient above 1
would be an error in a proof.

    python benchmarks/sensitivity_tightness.py

writes ``docs/sensitivity_table.rst`` and, with all digits,
``benchmarks/results/sensitivity_tightness.json``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skdp.queries import (
    Batch,
    DependenceQuery,
    KendallDependence,
    Marginal,
    NormalizedKendallDependence,
    PublicFacts,
    Query,
    SpearmanDependence,
    TotalVariationDependence,
)
from skdp.records import CountTable, Ordinal, Schema

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "sensitivity_table.rst"
COMMAND = "python benchmarks/sensitivity_tightness.py"

Codes = NDArray[np.int64]


# What is searched -------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A query, public facts, and the norm of the change.

    Records are triples of codes: of x, of y and of the conditioning column z.
    """

    query: Query
    public: PublicFacts
    ord: float = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of levels of x, y and z."""
        return self.public.schema.shape

    @property
    def n_records(self) -> int:
        """Number of records, the replaced one included."""
        return self.public.n_records

    @property
    def bound(self) -> float:
        """The proved sensitivity."""
        return self.query.sensitivity(self.public, self.ord)


@dataclass(frozen=True)
class Neighbours:
    """Two record sets: n - 1 records in common, and the one that is replaced."""

    common: Codes
    left: Codes
    right: Codes

    def sides(self) -> tuple[Codes, Codes]:
        """Return the codes of both record sets, shape (n, 3) each."""
        return tuple(np.vstack([self.common, one]) for one in (self.left, self.right))


def facts(n: int, levels: int, n_strata: int) -> PublicFacts:
    """Return public facts for x and y of so many levels, z of `n_strata`."""
    sizes = {"x": levels, "y": levels, "z": n_strata}
    return PublicFacts(n, Schema([Ordinal(c, range(k)) for c, k in sizes.items()]))


def dependence_case(
    kind: type[DependenceQuery], n: int, levels: int | None, n_strata: int
) -> Case:
    """Return a case of a dependence score; levels None: more than there are records."""
    given = ("z",) if n_strata > 1 else ()
    return Case(kind("x", "y", given), facts(n, levels or n + 1, n_strata))


def cases() -> Iterator[Case]:
    """Yield the cases of the published table."""
    for kind, n in (
        (KendallDependence, 60),
        (NormalizedKendallDependence, 200),
        (SpearmanDependence, 60),
        (SpearmanDependence, 200),
        (TotalVariationDependence, 60),
    ):
        for levels in (2, 3, None):
            for n_strata in (1, 2, 3) if levels else (1, 2):
                yield dependence_case(kind, n, levels, n_strata)
    for levels in (2, 3, 5):
        yield dependence_case(KendallDependence, 2000, levels, 3)
    for n, n_strata in ((6, 100), (60, 20)):
        for kind in (KendallDependence, NormalizedKendallDependence):
            yield dependence_case(kind, n, None, n_strata)
    pairs = tuple(map(Marginal, (("x", "y"), ("x", "z"), ("y", "z"))))
    for query in (Marginal(("x", "y")), Batch(pairs)):
        for ord in (1, 2, inf):
            yield Case(query, facts(60, 3, 3), ord)


def change(case: Case, pair: Neighbours) -> float:
    """Return the norm of the change of the answer, by way of real records."""
    schema = case.public.schema
    before, after = (
        np.ravel(case.query.evaluate(CountTable.from_codes(codes, schema)))
        for codes in pair.sides()
    )
    return float(np.linalg.norm(after - before, case.ord))


def fast_change(case: Case, pair: Neighbours) -> float:
    """Return the same for a dependence score without building count tables."""
    if not isinstance(case.query, DependenceQuery):
        return change(case, pair)
    shape = (case.shape[2], *case.shape[:2])
    values = []
    for codes in pair.sides():
        cells = np.ravel_multi_index((codes[:, 2], codes[:, 0], codes[:, 1]), shape)
        counts = np.bincount(cells, minlength=prod(shape)).reshape(shape)
        values.append(case.query.score(counts, case.n_records))
    return abs(values[1] - values[0])


# Where the search starts ------------------------------------------------------


def spread(size: int, lowest: int, highest: int) -> Codes:
    """Return `size` non-decreasing codes that use these levels evenly."""
    return lowest + np.arange(size) * (highest - lowest + 1) // max(size, 1)


def stack(x: Codes, y: Codes, z: int | Codes) -> Codes:
    """Return records with these codes."""
    return np.column_stack([x, y, np.broadcast_to(z, np.shape(x))]).astype(np.int64)


def one_stratum(case: Case, size: int) -> Neighbours:
    """Concordant records, and one that is lowest in x and turns highest in y.

    `size` records lie in the first stratum, the others alone in one each.
    """
    r, c, n_strata = case.shape
    x = spread(size - 1, 1, r - 1)
    y = spread(size - 1, 1, max(c - 2, 1))
    alone = 1 + np.arange(case.n_records - size) % max(n_strata - 1, 1)
    common = np.vstack([stack(x, y, 0), stack(0 * alone, 0 * alone, alone)])
    return Neighbours(common, np.array([0, 0, 0]), np.array([0, c - 1, 0]))


def two_strata(case: Case, first: int, third: int) -> Neighbours:
    """A record leaves discordant ones, with which it agreed, for concordant ones.

    Before, it is concordant with all the `first` records that are discordant among
    each other; after, discordant with all in the second stratum, which are
    concordant. It never shares a level with them. `third` concordant records in a
    third stratum keep the sum of the strata from changing its sign.
    """
    k = case.shape[0]
    second = case.n_records - 1 - first - third
    low, high = spread(first, 1, k - 1), spread(second, 1, k - 1)
    rest = spread(third, 0, k - 1)
    common = [stack(low, k - low, 0), stack(high, high - 1, 1), stack(rest, rest, 2)]
    left, right = np.array([0, 0, 0]), np.array([0, k - 1, 1])
    return Neighbours(np.vstack(common), left, right)


def at_random(case: Case, rng: np.random.Generator) -> Neighbours:
    """Return random records."""
    codes = rng.integers(0, case.shape, size=(case.n_records + 1, 3))
    return Neighbours(codes[:-2], codes[-2], codes[-1])


def families(case: Case) -> Iterator[Neighbours]:
    """Yield the constructed starts."""
    n, n_strata = case.n_records, case.shape[2]
    yield one_stratum(case, n)
    if n_strata > 1:
        yield one_stratum(case, min(4, n))
        step = max(n // 60, 1)
        # A few concordant records outweigh what the others leave.
        thirds = range(0, min(n // 2, 24), 2) if n_strata > 2 else (0,)
        for third in thirds:
            for first in range(1, n - third, step):
                yield two_strata(case, first, third)


# Climbing ---------------------------------------------------------------------


def perturbed(
    pair: Neighbours, shape: tuple[int, ...], rng: np.random.Generator
) -> Neighbours:
    """Move a record: anywhere, one level on, onto another one, or with its equals."""
    codes = np.vstack([pair.common, pair.left, pair.right])
    chosen = rng.integers(len(codes))
    moved = [chosen]
    kind = rng.integers(5)
    if kind == 0:
        new = codes[rng.integers(len(codes))]
    elif kind == 1:
        new = codes[chosen].copy()
        axis = rng.integers(3)
        new[axis] = np.clip(new[axis] + rng.choice([-1, 1]), 0, shape[axis] - 1)
    elif kind == 2:
        new = codes[chosen].copy()
        axis = rng.integers(3)
        new[axis] = rng.integers(shape[axis])
    else:
        new = rng.integers(0, shape)
        if kind == 4:
            moved = np.flatnonzero((codes == codes[chosen]).all(axis=1))
    codes[moved] = new
    return Neighbours(codes[:-2], codes[-2], codes[-1])


def climb(
    case: Case, start: Neighbours, steps: int, rng: np.random.Generator
) -> tuple[float, Neighbours]:
    """Keep every change after which the answers lie no closer."""
    best, value = start, fast_change(case, start)
    for _ in range(steps):
        pair = perturbed(best, case.shape, rng)
        new = fast_change(case, pair)
        if new >= value:
            best, value = pair, new
    return value, best


def largest_change(
    case: Case, steps: int = 3000, restarts: int = 3, seed: int = 0
) -> tuple[float, Neighbours]:
    """Search for the largest change.

    Parameters
    ----------
    case : Case
        What is searched.
    steps : int
        Number of steps of one climb.
    restarts : int
        Number of climbs from random records, besides the one from the best family.
    seed : int
        Of the search; the same seed finds the same records.

    Returns
    -------
    change : float
        The largest one, evaluated on count tables by the query itself.
    pair : Neighbours
        The records.
    """
    rng = np.random.default_rng(seed)
    starts = [max(families(case), key=lambda pair: fast_change(case, pair))]
    starts += [at_random(case, rng) for _ in range(restarts)]
    found = [climb(case, start, steps, rng) for start in starts]
    _, pair = max(found, key=lambda one: one[0])
    return change(case, pair), pair


# Reporting --------------------------------------------------------------------


def describe(case: Case) -> dict[str, str | int]:
    """Return the columns of the table that name a case."""
    name = type(case.query).__name__
    if not isinstance(case.query, DependenceQuery):
        norm = {1: "L1", 2: "L2", inf: "maximum"}[case.ord]
        name += f", {norm} norm"
        if isinstance(case.query, Batch):
            name = name.replace(
                "Batch", f"Batch of {len(case.query.queries)} marginals"
            )
    levels = case.shape[0]
    shown = "continuous" if levels > case.n_records else str(levels)
    return {"query": name, "K": case.shape[2], "levels": shown, "n": case.n_records}


def measure(case: Case, steps: int, restarts: int) -> dict[str, str | int | float]:
    """Return a row of the table."""
    # Tables of 200 x 200 cells: the families are exact there, and a step is slow.
    few = prod(case.shape) > 20_000
    steps, restarts = (steps // 20, 0) if few else (steps, restarts)
    observed, _ = largest_change(case, steps, restarts)
    ratio = observed / case.bound
    return describe(case) | {"observed": observed, "bound": case.bound, "ratio": ratio}


def as_table(rows: list[dict[str, str | int | float]]) -> str:
    """Return the rows as a simple reStructuredText table."""
    heads = ["query", "K", "levels", "n", "observed", "bound", "observed/bound"]
    body = [
        [str(row[key]) for key in ("query", "K", "levels", "n")]
        + [f"{row[key]:.5f}" for key in ("observed", "bound")]
        + [f"{row['ratio']:.4f}"]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(heads, *body, strict=True)]
    rule = "  ".join("=" * width for width in widths)

    def line(cells: list[str]) -> str:
        padded = (c.ljust(w) for c, w in zip(cells, widths, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([rule, line(heads), rule, *map(line, body), rule])


def fragment(rows: list[dict[str, str | int | float]]) -> str:
    """Return the page fragment with the table."""
    return (
        ".. A fragment, included in sensitivities.rst; made by the program below.\n\n"
        "Largest change that was found when one record is replaced, and the proved\n"
        "bound. K is the number of strata, n that of records; *continuous* stands for\n"
        f"more levels than records. Regenerate the table with ``{COMMAND}``.\n\n"
        f"{as_table(rows)}\n"
    )


def main() -> None:
    """Search all cases and write the table and the results."""
    from common import keep  # beside this file; the tests load the search alone

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=6000, help="steps of a climb")
    parser.add_argument("--restarts", type=int, default=3, help="random starts")
    options = parser.parse_args()
    rows = []
    for case in cases():
        rows.append(measure(case, options.steps, options.restarts))
        print(*rows[-1].values(), sep="  ", flush=True)
    TABLE.write_text(fragment(rows), encoding="utf-8")
    keep("sensitivity_tightness", rows)
    worst = max(row["ratio"] for row in rows)
    if worst > 1 + 1e-9:
        raise SystemExit(f"A bound is exceeded: observed/bound = {worst}.")


if __name__ == "__main__":
    main()
