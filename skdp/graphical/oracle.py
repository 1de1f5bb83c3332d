"""The marginal oracle: potentials in, all marginals and log Z out.

Variable elimination by batched matrix products; a backward pass shares the belief of
each message among the factors it came from. Tables are scaled probabilities. Entries
of messages below 1e-100 of the largest are cut to zero, in *both* passes: subnormal
numbers are up to a hundred times slower, and marginals that were cut in one pass only
would belong to no distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.plan import Group, Plan, Step

__all__ = ["MarginalOracle"]

Array = NDArray[np.float64]

#: Messages are cut below this part of their maximum; in logarithmic form, products
#: are cut below this part of the maxima of row and column.
_CUT, _LOG_CUT = 1e-100, 1e-250
#: Products that are cut are summed term by term if that takes no more terms than this.
_MOST_TERMS = 20_000_000
#: Potentials beyond this are balanced between tables; if that does not bring them
#: below it, the pass works with logarithms.
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
        tables, log_z, logs = self._tables(theta)
        run = _Run(self.plan, tables, logs)
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

    def _tables(self, theta: Array) -> tuple[list[Array], float, bool]:
        """Return every table with maximum 1, or its logarithms if they are large."""
        flat = theta[: self._end].copy()
        views = self._views(flat)
        for home, place, shape, _ in self._parts:
            views[home] += theta[place].reshape(shape)
        wide = _lowest(flat) < -_LARGE or flat.max() > _LARGE
        if wide:
            _balance(views, self.layout.cliques)
        log_z = 0.0
        for view in views:
            top = view.max()
            if not top > -np.inf:
                raise ValueError(_IMPOSSIBLE)
            view -= top
            log_z += float(top)
        if wide and _lowest(flat) < -_LARGE:
            return views, log_z, True
        np.exp(flat, out=flat)
        return views, log_z, False


_IMPOSSIBLE = (
    "The structural zeros leave no record possible. Allow at least one cell that is "
    "consistent with all of them."
)


def _lowest(flat: Array) -> float:
    return float(np.min(flat, initial=0.0, where=flat > -np.inf))


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


@dataclass(frozen=True)
class _Rest:
    """Entries of a message whose terms vanish beside the maxima of row and column."""

    left: tuple[NDArray[np.intp], ...]  # rows of the left matrix
    right: tuple[NDArray[np.intp], ...]  # columns of the right matrix
    where: tuple[NDArray[np.intp], ...]
    weights: Array  # of the levels summed out, per entry
    logs: Array


@dataclass(frozen=True)
class _Product:
    left: Array
    right: Array | None
    out: Array
    rest: _Rest | None = None


class _Run:
    """One forward and one backward pass over the steps of a plan.

    Factors are scaled probabilities, or their logarithms if `logs`. Then the rows and
    columns of each matrix product are scaled to maximum 1, and entries that vanish
    even so are summed one by one: potentials of thousands that cancel between tables
    do no harm, for the price of the exponentials.
    """

    def __init__(self, plan: Plan, tables: list[Array], logs: bool) -> None:
        self.steps, self.logs = plan.steps, logs
        self.n_tables = len(tables)
        self.factors: list[Array] = list(tables)
        self.products: list[_Product] = []

    def forward(self) -> float:
        """Eliminate every column; return log Z of the tables."""
        log_z = 0.0
        for step in self.steps:
            eliminate = self._eliminate_logs if self.logs else self._eliminate
            message, log_scale = eliminate(step)
            log_z += log_scale
            self.factors.append(message.reshape(step.shape))
        return log_z

    def _eliminate(self, step: Step) -> tuple[Array, float]:
        """Return the message of a step with maximum 1, and the logarithm of that."""
        left = self._product(step.left)
        right = None if step.right is None else self._product(step.right)
        out = left.sum(axis=-1) if right is None else left @ right
        scale = float(out.max())
        if not scale > 0.0:
            raise ValueError(_IMPOSSIBLE)
        if out.min() < _CUT * scale:
            out[out < _CUT * scale] = 0.0
        self.products.append(_Product(left, right, out))
        return out / scale, float(np.log(scale))

    def _eliminate_logs(self, step: Step) -> tuple[Array, float]:
        left_logs = self._product(step.left)
        left, rows = _exponentials(left_logs, -1)
        if step.right is None:
            product = _Product(left, None, left.sum(axis=-1))
            shift = rows[..., 0]
        else:
            right_logs = self._product(step.right)
            right, columns = _exponentials(right_logs, -2)
            out, shift = left @ right, rows + columns
            low = out < _LOG_CUT
            out[low] = 0.0
            rest = _sum_one_by_one(left_logs, right_logs, low) if low.any() else None
            product = _Product(left, right, out, rest)
        with np.errstate(divide="ignore"):
            logs = np.log(product.out) + shift
        if product.rest is not None:
            logs[product.rest.where] = product.rest.logs
        top = float(logs.max())
        if not top > -np.inf:
            raise ValueError(_IMPOSSIBLE)
        self.products.append(product)
        return logs - top, top

    def _product(self, group: Group) -> Array:
        parts = [
            self.factors[f].transpose(order).reshape(shape)
            for f, order, shape in zip(
                group.factors, group.orders, group.shapes, strict=True
            )
        ]
        if len(parts) == 1:
            return parts[0].reshape(group.matrix)
        product, join = np.empty(group.shape), np.add if self.logs else np.multiply
        join(parts[0], parts[1], out=product)
        for part in parts[2:]:
            join(product, part, out=product)
        return product.reshape(group.matrix)

    def backward(self, total: float, marginals: list[Array]) -> None:
        """Write the marginal of every table into `marginals`."""
        beliefs: dict[int, Array] = {}
        for k in reversed(range(len(self.steps))):
            step, product = self.steps[k], self.products[k]
            belief = beliefs.pop(self.n_tables + k, None)
            belief = np.full((), total) if belief is None else belief
            left, right = _shared_out(product, belief.reshape(step.matrix))
            self._share(step.left, left, beliefs, marginals)
            if step.right is not None and right is not None:
                self._share(step.right, right, beliefs, marginals)

    def _share(
        self,
        group: Group,
        joint: Array,
        beliefs: dict[int, Array],
        marginals: list[Array],
    ) -> None:
        """Sum the belief of a group to each of its factors."""
        joint = joint.reshape(group.shape)
        for f, back, lacks in zip(
            group.factors, group.returns, group.lacks, strict=True
        ):
            summed = np.add.reduce(joint, axis=lacks) if lacks else joint
            if f < self.n_tables:
                marginals[f][...] = summed.transpose(back)
            else:
                beliefs[f] = summed.transpose(back)


def _exponentials(logs: Array, axis: int) -> tuple[Array, Array]:
    """Exponentiate with maximum 1 along an axis; return the maxima's logarithms too."""
    tops = logs.max(axis=axis, keepdims=True)
    tops[np.isneginf(tops)] = 0.0
    return np.exp(logs - tops), tops


def _sum_one_by_one(left: Array, right: Array, low: NDArray[np.bool_]) -> _Rest | None:
    where = np.nonzero(low)
    if len(where[0]) * left.shape[-1] > _MOST_TERMS:
        return None
    rows, columns = where[:-1], (*where[:-2], where[-1])
    terms = left[rows] + right.swapaxes(-1, -2)[columns]
    tops = terms.max(axis=-1, keepdims=True)
    tops[np.isneginf(tops)] = 0.0
    weights = np.exp(terms - tops)
    sums = weights.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = (np.log(sums) + tops)[:, 0]
    return _Rest(rows, columns, where, weights / np.maximum(sums, 1.0), logs)


def _shared_out(product: _Product, belief: Array) -> tuple[Array, Array | None]:
    """Return the beliefs of the two groups, given that of their message."""
    left, right, out, rest = product.left, product.right, product.out, product.rest
    # Nothing comes back through entries that were cut.
    ratio = np.divide(belief, out, out=np.zeros(out.shape), where=out > 0.0)
    if right is None:
        return left * ratio[..., None], None
    on_left = left * (ratio @ right.swapaxes(-1, -2))
    on_right = right * (left.swapaxes(-1, -2) @ ratio)
    if rest is not None:
        shares = belief[rest.where][:, None] * rest.weights
        np.add.at(on_left, rest.left, shares)
        np.add.at(on_right.swapaxes(-1, -2), rest.right, shares)
    return on_left, on_right
