"""The marginal oracle: potentials in, all marginals and log Z out.

Variable elimination by batched matrix products, and its adjoint: the derivatives of
log Z with respect to the potentials are the marginals. Tables are scaled
probabilities. Entries below 1e-100 of the largest are cut to zero, in *both* passes:
subnormal numbers are up to a hundred times slower, and marginals that were cut in one
pass only would belong to no distribution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.plan import Group, Plan, Step

__all__ = ["MarginalOracle"]

Array = NDArray[np.float64]

_CUT = 1e-100
#: Potentials beyond this are balanced between tables before they are exponentiated.
_LARGE = 100.0


class MarginalOracle:
    """Marginals of the distribution p(x) ~ exp(sum over cliques of theta_C(x_C)).

    Parameters
    ----------
    plan : Plan
        What to multiply with what.
    total : float
        What every marginal sums to.

    Attributes
    ----------
    n_calls : int
        How often it was called.
    """

    def __init__(self, plan: Plan, total: float) -> None:
        self.plan, self.layout, self.total = plan, plan.layout, total
        self.n_calls = 0
        layout, domain = plan.layout, plan.layout.domain
        self._slices = layout.slices()
        self._shapes = [domain.shape(clique) for clique in layout.cliques]
        self._n_tables = layout.n_maximal
        self._end = layout.offsets[layout.n_maximal]
        self._parts = [self._part(k) for k in range(self._n_tables, len(self._shapes))]

    def _part(self, k: int) -> tuple[int, slice, tuple[int, ...], tuple[int, ...]]:
        """Describe a clique inside a table: home, cells, shape there, lacking axes."""
        domain, home = self.layout.domain, self.layout.homes[k]
        own, axes = self.layout.cliques[k], self.layout.cliques[home]
        shape = tuple(domain.size(name) if name in own else 1 for name in axes)
        lacks = tuple(i for i, name in enumerate(axes) if name not in own)
        return home, self._slices[k], shape, lacks

    def __call__(self, theta: Array) -> tuple[Array, float]:
        """Compute all marginals.

        Parameters
        ----------
        theta : ndarray of shape (n_cells,)
            Potentials of all cliques, as the layout has them; -inf is allowed.

        Returns
        -------
        marginals : ndarray of shape (n_cells,)
            Of the same cliques, each with sum `total`.
        log_z : float
            Logarithm of the normalising constant over the columns of the cliques.

        Raises
        ------
        ValueError
            If no record is possible.
        """
        self.n_calls += 1
        tables, log_z = self._tables(theta)
        run = _Run(self.plan, tables)
        log_z += run.forward()
        marginals = np.empty(self.layout.n_cells)
        views = self._views(marginals)
        run.backward(self.total, views)
        for home, place, shape, lacks in self._parts:
            np.add.reduce(
                views[home],
                axis=lacks,
                out=marginals[place].reshape(_kept(shape, lacks)),
            )
        return marginals, log_z

    def _views(self, flat: Array) -> list[Array]:
        return [
            flat[self._slices[h]].reshape(self._shapes[h])
            for h in range(self._n_tables)
        ]

    def _tables(self, theta: Array) -> tuple[list[Array], float]:
        """Exponentiate the potentials, each table scaled to maximum 1."""
        flat = theta[: self._end].copy()
        views = self._views(flat)
        for home, place, shape, _ in self._parts:
            views[home] += theta[place].reshape(shape)
        if max(flat.max(), -flat.min(initial=0.0, where=flat > -np.inf)) > _LARGE:
            _balance(views, self.layout.cliques)
        log_z = 0.0
        for view in views:
            top = view.max()
            if not top > -np.inf:
                raise ValueError(_IMPOSSIBLE)
            view -= top
            log_z += float(top)
        np.exp(flat, out=flat)
        if flat.min() < _CUT:
            flat[flat < _CUT] = 0.0
        return views, log_z


_IMPOSSIBLE = (
    "The structural zeros leave no record possible. Allow at least one cell that is "
    "consistent with all of them."
)


def _kept(shape: tuple[int, ...], lacks: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for i, size in enumerate(shape) if i not in lacks)


def _balance(views: list[Array], cliques: tuple[tuple[str, ...], ...]) -> None:
    """Move the row maxima of all tables into the first table that has the column.

    At tau = 0 potentials of overlapping tables grow like +-hundreds and cancel: moved
    to one place they cancel before they are exponentiated.
    """
    unary: dict[str, Array] = {}
    home: dict[str, tuple[int, int]] = {}
    for h, view in enumerate(views):
        for i, name in enumerate(cliques[h]):
            other = tuple(j for j in range(view.ndim) if j != i)
            tops = view.max(axis=other, keepdims=True)
            tops[~np.isfinite(tops)] = 0.0
            view -= tops
            unary[name] = unary.get(name, 0.0) + tops.ravel()
            home.setdefault(name, (h, i))
    for name, (h, i) in home.items():
        shape = [1] * views[h].ndim
        shape[i] = -1
        views[h] += unary[name].reshape(shape)


class _Run:
    """One forward and one backward pass over the steps of a plan."""

    def __init__(self, plan: Plan, tables: list[Array]) -> None:
        self.steps = plan.steps
        self.n_tables = len(tables)
        self.factors: list[Array] = list(tables)
        self.groups: list[tuple[Array, Array | None]] = []
        self.scales: list[float] = []
        self.cuts: list[bool] = []

    def forward(self) -> float:
        """Eliminate every column; return log Z of the tables."""
        for step in self.steps:
            left = self._product(step.left)
            right = None if step.right is None else self._product(step.right)
            out = left.sum(axis=-1) if right is None else left @ right
            scale = float(out.max())
            if not scale > 0.0:
                raise ValueError(_IMPOSSIBLE)
            out /= scale
            cut = bool(out.min() < _CUT)
            if cut:
                out[out < _CUT] = 0.0
            self.groups.append((left, right))
            self.factors.append(out.reshape(step.shape))
            self.scales.append(scale)
            self.cuts.append(cut)
        return float(np.log(self.scales).sum())

    def _product(self, group: Group) -> Array:
        parts = [
            self.factors[f].transpose(order).reshape(shape)
            for f, order, shape in zip(
                group.factors, group.orders, group.shapes, strict=True
            )
        ]
        if len(parts) == 1:
            return parts[0].reshape(group.matrix)
        product = np.empty(group.shape)
        np.multiply(parts[0], parts[1], out=product)
        for part in parts[2:]:
            product *= part
        return product.reshape(group.matrix)

    def backward(self, total: float, marginals: list[Array]) -> None:
        """Write the marginal of every table into `marginals`."""
        adjoints: dict[int, Array] = {}
        for k in reversed(range(len(self.steps))):
            step, out = self.steps[k], self.n_tables + k
            if step.shape == ():
                adjoints[out] = np.full((), total)
            down = adjoints.pop(out) / self.scales[k]
            if self.cuts[k]:
                down = np.where(self.factors[out] > 0.0, down, 0.0)
            for group, table, d in self._derivatives(step, k, down):
                self._hand_down(group, table, d, adjoints, marginals)

    def _derivatives(
        self, step: Step, k: int, down: Array
    ) -> list[tuple[Group, Array, Array]]:
        left, right = self.groups[k]
        down = down.reshape(step.matrix)
        if right is None or step.right is None:
            return [(step.left, left, np.broadcast_to(down[..., None], left.shape))]
        return [
            (step.left, left, down @ right.swapaxes(-1, -2)),
            (step.right, right, left.swapaxes(-1, -2) @ down),
        ]

    def _hand_down(
        self,
        group: Group,
        table: Array,
        derivative: Array,
        adjoints: dict[int, Array],
        marginals: list[Array],
    ) -> None:
        single = len(group.factors) == 1
        if single and group.factors[0] >= self.n_tables:
            derivative = derivative.reshape(group.shape).transpose(group.returns[0])
            adjoints[group.factors[0]] = derivative
            return
        joint = (table * derivative).reshape(group.shape)
        for f, back, lacks in zip(
            group.factors, group.returns, group.lacks, strict=True
        ):
            summed = joint if single else np.add.reduce(joint, axis=lacks)
            summed = summed.transpose(back)
            if f < self.n_tables:
                marginals[f][...] = summed
            else:
                own = self.factors[f]
                adjoints[f] = np.divide(
                    summed, own, out=np.zeros_like(own), where=own > 0.0
                )
