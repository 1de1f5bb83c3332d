"""Convex losses of the marginals, for the solvers that need only a gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from skdp.graphical.plan import Layout
from skdp.graphical.problem import Problem

__all__ = ["CustomLoss", "HuberLoss", "L1Loss", "L2Loss", "Loss"]

Array = NDArray[np.float64]
#: Marginals in, loss and its gradient per marginal out.
LossFunction = Callable[
    [Mapping[tuple[str, ...], Array]], tuple[float, Mapping[tuple[str, ...], Array]]
]


class Loss(ABC):
    """A convex function of the marginals of all cliques, as one flat array.

    Attributes
    ----------
    smoothness : float
        Constant K with divergence(new, old) <= K/2 ||new - old||_1^2: what matters
        because entropy is strongly convex in that norm.
    proven : bool
        Whether that inequality is known to hold.
    """

    smoothness: float
    proven: bool = True

    @abstractmethod
    def value_and_gradient(self, marginals: Array) -> tuple[float, Array]:
        """Evaluate the loss.

        Parameters
        ----------
        marginals : ndarray of shape (n_cells,)
            Of all cliques.

        Returns
        -------
        tuple of (float, ndarray of shape (n_cells,))
            The loss and its gradient.
        """

    def divergence(self, new: Array, old: Array) -> float:
        """Return how far the loss lies above its tangent.

        Parameters
        ----------
        new, old : ndarray of shape (n_cells,)
            Where it is compared, and where the tangent touches.

        Returns
        -------
        float
            L(new) - L(old) - <grad L(old), new - old>, less its round-off.
        """
        value, gradient = self.value_and_gradient(old)
        raised = self.value_and_gradient(new)[0] - value
        noise = 1e-14 * abs(value)
        return raised - float(gradient @ (new - old)) - noise


class L2Loss(Loss):
    """Half the squared residuals with inverse variances: Gaussian noise.

    Parameters
    ----------
    problem : Problem
        Answers and queries.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.smoothness = sum(
            (block.query.column_norm(2) / problem.sigma[block.answers][0]) ** 2
            for block in problem.blocks
        )

    def value_and_gradient(self, marginals: Array) -> tuple[float, Array]:
        """Evaluate the loss; see `Loss.value_and_gradient`."""
        problem = self.problem
        scaled = (problem.dot(marginals) - problem.answers) / problem.sigma
        return float(scaled @ scaled) / 2.0, problem.adjoint(scaled / problem.sigma)

    def divergence(self, new: Array, old: Array) -> float:
        """Return it exactly; see `Loss.divergence`."""
        change = self.problem.dot(new - old) / self.problem.sigma
        return float(change @ change) / 2.0


class HuberLoss(Loss):
    """Absolute residuals over sigma, rounded off near zero.

    Parameters
    ----------
    problem : Problem
        Answers and queries.
    width : float
        Residuals below this many sigma are squared; the loss is at most width/2 per
        answer below the L1 loss.
    """

    def __init__(self, problem: Problem, width: float) -> None:
        self.problem, self.width = problem, width
        self.smoothness = L2Loss(problem).smoothness / width

    def value_and_gradient(self, marginals: Array) -> tuple[float, Array]:
        """Evaluate the loss; see `Loss.value_and_gradient`."""
        problem, width = self.problem, self.width
        scaled = (problem.dot(marginals) - problem.answers) / problem.sigma
        slope = np.clip(scaled / width, -1.0, 1.0)
        value = float(np.sum(slope * scaled - width * slope**2 / 2.0))
        return value, problem.adjoint(slope / problem.sigma)


class L1Loss(Loss):
    """Absolute residuals over sigma: Laplace noise. Not smooth.

    Parameters
    ----------
    problem : Problem
        Answers and queries.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.smoothness = np.inf

    def value_and_gradient(self, marginals: Array) -> tuple[float, Array]:
        """Evaluate the loss and a subgradient; see `Loss.value_and_gradient`."""
        problem = self.problem
        scaled = (problem.dot(marginals) - problem.answers) / problem.sigma
        gradient = problem.adjoint(np.sign(scaled) / problem.sigma)
        return float(np.abs(scaled).sum()), gradient


class CustomLoss(Loss):
    """A differentiable convex function written down by the user.

    Parameters
    ----------
    layout : Layout
        Where the cells lie.
    function : callable
        Takes a mapping from cliques (names in the order of the domain) to marginals in
        counts; returns the loss and a mapping from cliques to gradients. Cliques that
        it leaves out have gradient zero.
    smoothness : float
        A first guess of `Loss.smoothness`; it is corrected while solving.
    """

    proven = False

    def __init__(
        self, layout: Layout, function: LossFunction, smoothness: float
    ) -> None:
        self.layout, self.function, self.smoothness = layout, function, smoothness
        self._seen: list[tuple[Array, tuple[float, Array]]] = []

    def value_and_gradient(self, marginals: Array) -> tuple[float, Array]:
        """Evaluate the loss, or recall it; see `Loss.value_and_gradient`."""
        for known, result in self._seen:
            if known is marginals:
                return result
        result = self._evaluate(marginals)
        self._seen = [(marginals, result), *self._seen[:1]]
        return result

    def _evaluate(self, marginals: Array) -> tuple[float, Array]:
        layout = self.layout
        tables = {
            clique: marginals[place].reshape(layout.domain.shape(clique))
            for clique, place in zip(layout.cliques, layout.slices(), strict=True)
        }
        value, gradients = self.function(tables)
        flat = np.zeros(layout.n_cells)
        for clique, gradient in gradients.items():
            if tuple(clique) not in tables:
                raise ValueError(
                    f"The loss returned a gradient for {tuple(clique)}, which is not "
                    f"among the cliques {layout.cliques}."
                )
            flat[layout.place(clique)] = np.asarray(gradient, dtype=float).ravel()
        if not (np.isfinite(value) and np.isfinite(flat).all()):
            raise ValueError("The loss or its gradient is not finite.")
        return float(value), flat
