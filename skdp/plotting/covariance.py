"""A picture of a covariance matrix, if wanted beside the true one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CovarianceDisplay"]

# Beyond so many features their names would not be legible.
_MANY_NAMES = 30


class CovarianceDisplay:
    """Heat map of a covariance matrix, with the measured entries marked.

    Parameters
    ----------
    covariance : array-like of shape (n_features, n_features)
        The estimate.
    measured : array-like of bool, shape (n_features, n_features), optional
        Which entries were measured; they get a dot, unless all were.
    truth : array-like of shape (n_features, n_features), optional
        The true matrix, drawn beside the estimate in the same colours.
    names : sequence of str, optional
        Names of the features.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the estimate was drawn.
    axes_ : tuple of matplotlib Axes
        This, and where the truth was drawn, if given.
    figure_ : matplotlib Figure
        The whole figure that `ax_` is in.
    image_ : matplotlib AxesImage
        The heat map of the estimate.

    Raises
    ------
    ValueError
        If shapes disagree.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.plotting import CovarianceDisplay
    >>> display = CovarianceDisplay(np.eye(3)).plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        covariance: ArrayLike,
        *,
        measured: ArrayLike | None = None,
        truth: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.covariance = np.asarray(covariance, dtype=np.float64)
        shape = self.covariance.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"covariance must be a square matrix, got shape {shape}.")
        self.measured = None if measured is None else np.asarray(measured, dtype=bool)
        self.truth = None if truth is None else np.asarray(truth, dtype=np.float64)
        for name, matrix in (("measured", self.measured), ("truth", self.truth)):
            if matrix is not None and matrix.shape != shape:
                raise ValueError(
                    f"{name} must have the shape {shape} of the covariance, got "
                    f"{matrix.shape}."
                )
        if names is not None and len(names) != shape[0]:
            raise ValueError(f"There are {len(names)} names for {shape[0]} features.")
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        truth: ArrayLike | None = None,
        correlation: bool = False,
        ax: Axes | Sequence[Axes] | None = None,
        title: str | None = None,
    ) -> CovarianceDisplay:
        """Draw the covariance of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with the attribute ``covariance_`` and maybe ``measured_``.
        truth : array-like of shape (n_features, n_features), optional
            The true matrix, drawn beside the estimate.
        correlation : bool, default=False
            Whether to draw correlations, which do not depend on units.
        ax : matplotlib Axes or two of them, optional
            Where to draw; a new figure by default. With `truth` two are needed.
        title : str, optional
            Written above the estimate.

        Returns
        -------
        CovarianceDisplay
            The drawn display, with ``ax_``, ``axes_``, ``figure_`` and ``image_``.

        Raises
        ------
        ValueError
            If shapes disagree, or `ax` is not as many as there are matrices.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ImportError
            If matplotlib is not installed.
        """
        check_is_fitted(estimator, "covariance_")
        display = cls(
            estimator.covariance_,
            measured=getattr(estimator, "measured_", None),
            truth=truth,
            names=getattr(estimator, "feature_names_in_", None),
        )
        return display.plot(ax=ax, correlation=correlation, title=title)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        correlation: bool = False,
        title: str | None = None,
    ) -> CovarianceDisplay:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes or two of them, optional
            Where to draw; a new figure by default. With a truth two are needed.
        correlation : bool, default=False
            Whether to draw correlations, which do not depend on units.
        title : str, optional
            Written above the estimate.

        Returns
        -------
        CovarianceDisplay
            The display itself, with ``ax_``, ``axes_``, ``figure_`` and ``image_``.

        Raises
        ------
        ValueError
            If `ax` is not as many as there are matrices.
        ImportError
            If matplotlib is not installed.
        """
        matrices = [self.covariance, *([] if self.truth is None else [self.truth])]
        if correlation:
            matrices = [_correlations(matrix) for matrix in matrices]
        self.axes_ = _axes(ax, len(matrices))
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure.figure
        limit = 1.0 if correlation else max(np.abs(m).max() for m in matrices) or 1.0
        images = [
            axes.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit)
            for axes, matrix in zip(self.axes_, matrices, strict=True)
        ]
        self.image_ = images[0]
        self._mark_measured()
        for axes in self.axes_:
            self._write_names(axes)
        titles = [title if title is not None else "estimate", "truth"]
        if title is not None or len(matrices) == 2:
            for axes, text in zip(self.axes_, titles, strict=False):
                axes.set_title(text, fontsize=11, parse_math=False)
        label = "correlation" if correlation else "covariance"
        self.figure_.colorbar(
            self.image_, ax=list(self.axes_), label=label, fraction=0.04, pad=0.03
        )
        return self

    def _mark_measured(self) -> None:
        """Put a dot on each measured entry, dark on light and light on dark."""
        if self.measured is None or self.measured.all():
            return
        i, j = np.nonzero(self.measured)
        shown = np.asarray(self.image_.get_array())[i, j]
        dark = np.abs(shown) > 0.6 * self.image_.get_clim()[1]
        width = self.ax_.get_window_extent().width * 72 / self.figure_.dpi
        dot = width / len(self.measured) / 4
        self.ax_.scatter(
            j, i, s=dot**2, c=np.where(dark, "white", "black"), linewidths=0,
            gid="measured",
        )  # fmt: skip

    def _write_names(self, axes: Axes) -> None:
        if self.names is None or len(self.names) > _MANY_NAMES:
            return
        positions = range(len(self.names))
        labels = [str(name) for name in self.names]
        axes.set_xticks(positions, labels, rotation=90, parse_math=False)
        axes.set_yticks(positions, labels, parse_math=False)


def _correlations(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide by the standard deviations; a constant feature has no correlation."""
    spread = np.sqrt(np.maximum(np.diag(matrix), 0))
    outer = np.outer(spread, spread)
    return np.divide(matrix, outer, out=np.zeros_like(matrix), where=outer > 0)


def _axes(ax: Axes | Sequence[Axes] | None, n_axes: int) -> tuple[Axes, ...]:
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "Plotting needs matplotlib: pip install matplotlib."
            ) from error
        size = (1.2 + 4.4 * n_axes, 4.2)
        return tuple(
            plt.subplots(1, n_axes, figsize=size, layout="constrained", squeeze=False)[
                1
            ].flat
        )
    given = tuple(np.ravel(np.array(ax, dtype=object)))
    if len(given) != n_axes:
        raise ValueError(f"{n_axes} axes are needed, got {len(given)}.")
    return given
