"""The estimation problem over flat arrays: answers, queries, base distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.base_distribution import base_potentials
from skdp.graphical.domain import Domain
from skdp.graphical.linear_queries import Identity, LinearQuery
from skdp.graphical.measurement import LinearMeasurement
from skdp.graphical.oracle import MarginalOracle
from skdp.graphical.plan import Layout, Plan, make_plan

__all__ = ["Block", "Problem", "make_problem", "plan_once"]

Array = NDArray[np.float64]
Zeros = Mapping[tuple[str, ...], NDArray[np.bool_]]


@dataclass(frozen=True)
class Block:
    """Where one measurement lies.

    Parameters
    ----------
    answers, cells : slice
        Its answers and the cells of its clique, in the flat arrays.
    query : LinearQuery
        What was asked of the cells.
    shape : tuple of int
        Of the clique, in the order of the domain.
    order : tuple of int or None
        Transposition into the order of the measurement; None if it is the same, or
        the answers were transposed instead (a measured marginal).
    """

    answers: slice
    cells: slice
    query: LinearQuery
    shape: tuple[int, ...]
    order: tuple[int, ...] | None

    def from_clique(self, cells: Array) -> Array:
        """Bring cells into the order of the measurement.

        Parameters
        ----------
        cells : ndarray
            The cells of the clique.

        Returns
        -------
        ndarray
            The same cells, as the query expects them.
        """
        if self.order is None:
            return cells
        return cells.reshape(self.shape).transpose(self.order).ravel()

    def to_clique(self, cells: Array) -> Array:
        """Bring cells back into the order of the clique.

        Parameters
        ----------
        cells : ndarray
            In the order of the measurement.

        Returns
        -------
        ndarray
            In the order of the clique.
        """
        if self.order is None:
            return cells
        there = [self.shape[i] for i in self.order]
        return cells.reshape(there).transpose(np.argsort(self.order)).ravel()


class Problem:
    """All measurements as one: y = Q mu + noise.

    Parameters
    ----------
    oracle : MarginalOracle
        Over the measured cliques and those of the structural zeros.
    blocks : sequence of Block
        One per measurement, in the order of the measurements.
    answers, sigma : ndarray of shape (n_answers,)
        Noisy answers and their standard deviations.
    base : ndarray of shape (n_cells,)
        Potentials of the base distribution, -inf on structural zeros.

    Attributes
    ----------
    base_log_z : float
        Logarithm of the normalising constant of the base.
    """

    def __init__(
        self,
        oracle: MarginalOracle,
        blocks: Sequence[Block],
        answers: Array,
        sigma: Array,
        base: Array,
    ) -> None:
        self.oracle, self.blocks = oracle, tuple(blocks)
        self.answers, self.sigma, self.base = answers, sigma, base
        self.total = oracle.total
        # Then answers and cells are the same array, and nothing has to be moved.
        self._aligned = len(answers) == len(base) and all(
            isinstance(b.query, Identity) and b.order is None and b.answers == b.cells
            for b in blocks
        )
        _, self.base_log_z = oracle(base)

    @property
    def layout(self) -> Layout:
        """Where the cells of each clique lie."""
        return self.oracle.layout

    def rebased(self, base: Array) -> Problem:
        """Return the same problem with another base distribution.

        Parameters
        ----------
        base : ndarray of shape (n_cells,)
            Its potentials.

        Returns
        -------
        Problem
            It shares the oracle.
        """
        return Problem(self.oracle, self.blocks, self.answers, self.sigma, base)

    def dot(self, cells: Array) -> Array:
        """Answer all queries.

        Parameters
        ----------
        cells : ndarray of shape (n_cells,)
            Marginals.

        Returns
        -------
        ndarray of shape (n_answers,)
            The product Q mu.
        """
        if self._aligned:
            return cells
        out = np.empty(len(self.answers))
        for block in self.blocks:
            mine = block.from_clique(cells[block.cells])
            out[block.answers] = block.query.dot(mine)
        return out

    def squared_dot(self, cells: Array) -> Array:
        """Return the diagonal of Q diag(mu) Q'.

        Parameters
        ----------
        cells : ndarray of shape (n_cells,)
            Marginals.

        Returns
        -------
        ndarray of shape (n_answers,)
            One number per answer.
        """
        if self._aligned:
            return cells
        out = np.empty(len(self.answers))
        for block in self.blocks:
            mine = block.from_clique(cells[block.cells])
            out[block.answers] = block.query.squared_dot(mine)
        return out

    def adjoint(self, answers: Array) -> Array:
        """Multiply with the transposed queries.

        Parameters
        ----------
        answers : ndarray of shape (n_answers,)
            One number per answer.

        Returns
        -------
        ndarray of shape (n_cells,)
            The product Q' d: what it adds to the potentials.
        """
        if self._aligned:
            return answers
        out = np.zeros(len(self.base))
        for block in self.blocks:
            mine = block.query.adjoint(answers[block.answers])
            out[block.cells] += block.to_clique(mine)
        return out

    def loss(self, marginals: Array) -> float:
        """Return half the sum of squared standardised residuals.

        Parameters
        ----------
        marginals : ndarray of shape (n_cells,)
            Of all cliques.

        Returns
        -------
        float
            The L2 loss; n_answers/2 +- sqrt(n_answers/2) at the truth.
        """
        residual = (self.dot(marginals) - self.answers) / self.sigma
        return float(residual @ residual) / 2.0


def make_problem(
    domain: Domain,
    measurements: Sequence[LinearMeasurement],
    total: float,
    *,
    base: str = "independent",
    cliques: Sequence[tuple[str, ...]] = (),
    structural_zeros: Zeros | None = None,
    max_model_size: float,
) -> Problem:
    """Check measurements against a domain and lay them out.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    measurements : sequence of LinearMeasurement
        Noisy answers.
    total : float
        Number of records.
    base : {"independent", "uniform"}, default="independent"
        Distribution that the penalty pulls towards.
    cliques : sequence of tuple of str, default=()
        Further cliques of the model.
    structural_zeros : mapping of tuple of str to bool ndarray, or None
        Per clique, True where no record can be.
    max_model_size : float
        Limit on the plan.

    Returns
    -------
    Problem
        Ready for a solver.

    Raises
    ------
    ValueError
        If a measurement or a structural zero does not fit the domain, or no record is
        possible.
    ModelTooLargeError
        Before anything is allocated.
    """
    queries = [measurement.linear(domain) for measurement in measurements]
    zeros = _checked_zeros(domain, structural_zeros or {})
    wanted = [m.columns for m in measurements] + [tuple(c) for c in cliques]
    plan = plan_once(domain, tuple(dict.fromkeys([*wanted, *zeros])), max_model_size)
    blocks = _blocks(plan.layout, measurements, queries)
    n_answers = sum(query.shape[0] for query in queries)
    answers, sigma = np.empty(n_answers), np.empty(n_answers)
    for block, measurement in zip(blocks, measurements, strict=True):
        answers[block.answers] = _sorted_answer(domain, measurement)
        sigma[block.answers] = measurement.sigma
    potentials = np.zeros(plan.layout.n_cells)
    if base == "independent":
        potentials = base_potentials(plan.layout, measurements, queries)
    for clique, impossible in zeros.items():
        potentials[plan.layout.place(clique)][impossible] = -np.inf
    oracle = MarginalOracle(plan, float(total))
    return Problem(oracle, blocks, answers, sigma, potentials)


@lru_cache(maxsize=4)
def plan_once(
    domain: Domain, cliques: tuple[tuple[str, ...], ...], max_model_size: float
) -> Plan:
    """Plan once for all fits of the same cliques: a search for the best order.

    Parameters
    ----------
    domain : Domain
        Columns and their numbers of levels.
    cliques : tuple of tuple of str
        Different ones.
    max_model_size : float
        Limit on the plan.

    Returns
    -------
    Plan
        See `make_plan`.

    Raises
    ------
    ModelTooLargeError
        If it is beyond the limit.
    """
    return make_plan(domain, cliques, max_model_size=max_model_size)


def _blocks(
    layout: Layout,
    measurements: Sequence[LinearMeasurement],
    queries: Sequence[LinearQuery],
) -> list[Block]:
    """Place the answers in the order of their cliques in the layout."""
    places = [layout.place(m.columns) for m in measurements]
    starts, end = {}, 0
    for k in sorted(range(len(places)), key=lambda k: places[k].start):
        starts[k] = end
        end += queries[k].shape[0]
    blocks = []
    for k, measurement in enumerate(measurements):
        clique = layout.domain.sort(measurement.columns)
        order = tuple(clique.index(name) for name in measurement.columns)
        same = order == tuple(range(len(order))) or isinstance(queries[k], Identity)
        blocks.append(
            Block(
                slice(starts[k], starts[k] + queries[k].shape[0]),
                places[k],
                queries[k],
                layout.domain.shape(clique),
                None if same else order,
            )
        )
    return blocks


def _sorted_answer(domain: Domain, measurement: LinearMeasurement) -> Array:
    """Return the answer flat; a measured marginal in the order of the domain."""
    columns, answer = measurement.columns, measurement.answer
    if not isinstance(measurement.linear(domain), Identity):
        return answer.ravel()
    order = [columns.index(name) for name in domain.sort(columns)]
    return answer.reshape(domain.shape(columns)).transpose(order).ravel()


def _checked_zeros(
    domain: Domain, zeros: Zeros
) -> dict[tuple[str, ...], NDArray[np.bool_]]:
    """Return the structural zeros with cliques in the order of the domain, flat."""
    checked: dict[tuple[str, ...], NDArray[np.bool_]] = {}
    for names, given in zeros.items():
        columns = (names,) if isinstance(names, str) else tuple(names)
        impossible = np.asarray(given)
        if impossible.dtype != bool or impossible.shape != domain.shape(columns):
            raise ValueError(
                f"The structural zeros of {columns} must be an array of booleans of "
                f"shape {domain.shape(columns)} (True: no record can be there), not "
                f"{impossible.dtype} of shape {impossible.shape}."
            )
        clique = domain.sort(columns)
        flat = impossible.transpose([columns.index(name) for name in clique]).ravel()
        checked[clique] = checked.get(clique, np.zeros(flat.shape, dtype=bool)) | flat
    return checked
