"""What can be made of one noisy matrix of second moments. Pure: post-processing.

Several denoisers are good at different truths: sparse precisions, low ranks, dense
matrices. Data fission says how good each is on this very matrix Y: Y1 = Y + a Z and
Y2 = Y - Z/a, with Z of the noise's law, are independent, so that |f(Y1) - Y2|^2 is the
error of f plus a constant, in expectation. The same holds for convex combinations, and
the best of these is better than the best denoiser.

References
----------
Gavish and Donoho, "Optimal shrinkage of singular values", 2017. Leiner, Duan,
Wasserman and Ramdas, "Data fission: splitting a single data point", 2023. Breiman,
"Stacked regressions", 1996.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from skdp.covariance.entries import shrunken_diagonal
from skdp.covariance.maximum_entropy import maximum_entropy_completion
from skdp.covariance.measurement import Measurement
from skdp.covariance.spectra import project_to_psd

__all__ = [
    "candidates",
    "denoise",
    "diagonal_only",
    "graphical",
    "shrink_residual",
    "shrink_spectrum",
    "threshold",
]

Matrix = NDArray[np.float64]

#: Share of the noise that is added for the split.
_FISSION = 0.7

#: In more columns than these one split tells enough, and a dense graph takes long.
_MANY_COLUMNS = 200

#: An entry that is this many times the noise away from a graphical model counts as
#: measured; the looser cut is in units of the largest of m noises, sqrt(2 log m).
_CUTS = (0.9, 2.6)
_MOST_ROUNDS = 3

#: A completion that is combined with others need not be exact.
_LOOSE = 1e-2


def threshold(matrix: Matrix, least: float) -> Matrix:
    """Set small entries off the diagonal to zero, and project.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric.
    least : float
        Entries of a smaller magnitude are dropped.

    Returns
    -------
    ndarray of shape (d, d)
        Positive semi-definite.

    Examples
    --------
    >>> threshold(np.array([[1.0, 0.2], [0.2, 1.0]]), 0.3).round(12)
    array([[1., 0.],
           [0., 1.]])
    """
    kept = np.where(np.abs(matrix) >= least, matrix, 0.0)
    np.fill_diagonal(kept, matrix.diagonal())
    return project_to_psd(kept)


def diagonal_only(measured: Measurement) -> Matrix:
    """Keep the diagonal alone, shrunken to its mean as the noise asks for.

    Parameters
    ----------
    measured : Measurement
        The noisy matrix.

    Returns
    -------
    ndarray of shape (d, d)
        Diagonal, positive.
    """
    diagonal = measured.matrix.diagonal()
    variances = np.full(len(diagonal), measured.diagonal_noise**2)
    return np.diag(shrunken_diagonal(diagonal, variances)[0])


def graphical(measured: Measurement, cut: float) -> Matrix:
    """Complete the entries that stand out from a graphical model, again and again.

    Parameters
    ----------
    measured : Measurement
        The noisy matrix.
    cut : float
        Entries further from the model than this many times the noise are taken in,
        the furthest first.

    Returns
    -------
    ndarray of shape (d, d)
        Positive definite.
    """
    d = len(measured.matrix)
    model, precision = diagonal_only(measured), None
    values = measured.matrix.copy()
    np.fill_diagonal(values, model.diagonal())
    variances = measured.standard_error**2
    mask = np.eye(d, dtype=bool)
    for _ in range(_MOST_ROUNDS):
        far = np.triu(np.abs(values - model), 1)
        far[mask] = 0
        chosen = np.flatnonzero(far > cut * measured.noise)
        if not chosen.size:
            break
        chosen = chosen[np.argsort(-far.ravel()[chosen], kind="stable")[: 2 * d]]
        mask.ravel()[chosen] = True
        mask |= mask.T
        completion = maximum_entropy_completion(
            values, variances, mask, initial=precision, tol=_LOOSE
        )
        model, precision = completion.covariance, completion.precision
    return model


def shrink_spectrum(measured: Measurement, model: Matrix) -> Matrix:
    """Shrink the eigenvalues of what a model leaves over.

    Eigenvalues of pure noise fill [-2 sigma sqrt d, 2 sigma sqrt d]; one that comes
    from w beyond it stands for sqrt(w^2 - 4 d sigma^2), in the sense of the Frobenius
    norm.

    Parameters
    ----------
    measured : Measurement
        The noisy matrix.
    model : ndarray of shape (d, d)
        The model.

    Returns
    -------
    ndarray of shape (d, d)
        Positive semi-definite.
    """
    values, vectors = np.linalg.eigh(measured.matrix - model)
    edge = 4 * len(values) * measured.noise**2
    shrunken = np.sign(values) * np.sqrt(np.maximum(values**2 - edge, 0))
    return project_to_psd(model + (vectors * shrunken) @ vectors.T)


def shrink_residual(measured: Measurement, model: Matrix) -> Matrix:
    """Shrink a matrix towards a model, as James and Stein do.

    Parameters
    ----------
    measured : Measurement
        The noisy matrix.
    model : ndarray of shape (d, d)
        The model.

    Returns
    -------
    ndarray of shape (d, d)
        Positive semi-definite.
    """
    residual = measured.matrix - model
    square = float(np.sum(residual**2))
    noise = float(np.sum(measured.standard_error**2))
    kept = max(0.0, 1 - noise / square) if square > 0 else 0.0
    return project_to_psd(model + kept * residual)


def candidates(
    measured: Measurement, more: Mapping[str, Matrix] | None = None
) -> dict[str, Matrix]:
    """Denoise in every way there is.

    Parameters
    ----------
    measured : Measurement
        The noisy matrix; d >= 2.
    more : mapping of str to ndarray of shape (d, d), optional
        Further models, made without this matrix.

    Returns
    -------
    dict of str to ndarray of shape (d, d)
        Positive semi-definite matrices, by the name of the denoiser.
    """
    d = len(measured.matrix)
    largest = sqrt(2 * log(max(d * (d - 1) / 2, 2)))
    diagonal = diagonal_only(measured)
    found = {
        "projection": project_to_psd(measured.matrix),
        "diagonal": diagonal,
        "threshold": threshold(measured.matrix, _CUTS[0] * largest * measured.noise),
    }
    models = {
        "diagonal": diagonal,
        "graphical": graphical(measured, _CUTS[0] * largest),
        **(more or {}),
    }
    if d <= _MANY_COLUMNS:
        models["dense graphical"] = graphical(measured, _CUTS[1])
    for name, model in models.items():
        spectral = shrink_spectrum(measured, model)
        found[name] = model
        found[f"{name} + spectral"] = spectral
        found[f"{name} + spectral, shrunken"] = shrink_residual(measured, spectral)
    return found


def denoise(
    measured: Measurement, more: Mapping[str, Matrix] | None = None
) -> tuple[Matrix, dict[str, float]]:
    """Combine the denoisers by their errors on splits of the noisy matrix.

    Parameters
    ----------
    measured : Measurement
        The noisy matrix, with Gaussian noise of known size.
    more : mapping of str to ndarray of shape (d, d), optional
        Further models, made of other answers: independent of this noise.

    Returns
    -------
    matrix : ndarray of shape (d, d)
        Positive semi-definite.
    weights : dict of str to float
        What each denoiser contributes; they add up to 1.
    """
    if len(measured.matrix) == 1:
        return diagonal_only(measured), {"diagonal": 1.0}
    # Z has to be independent of the noise, not secret: the draws are the same always.
    rng = np.random.default_rng(0)
    gram: float | Matrix = 0.0
    for _ in range(3 if len(measured.matrix) <= _MANY_COLUMNS else 1):
        first, second = measured.split(_FISSION, rng)
        errors = np.array(
            [(f - second.matrix).ravel() for f in candidates(first, more).values()]
        )
        gram = gram + errors @ errors.T
    found = candidates(measured, more)
    weights = _best_weights(np.asarray(gram))
    matrix = sum(w * f for w, f in zip(weights, found.values(), strict=True))
    return np.asarray(matrix), dict(zip(found, weights.tolist(), strict=True))


def _best_weights(gram: Matrix) -> NDArray[np.float64]:
    """Minimise w' G w over w >= 0 that add up to 1."""
    k = len(gram)
    scale = float(np.trace(gram)) / k
    root = np.linalg.cholesky(gram / scale + 1e-10 * np.eye(k)).T
    heavy = 1e3  # makes up for the constraint, with nnls for a solver
    weights, _ = nnls(
        np.vstack([root, np.full(k, heavy)]), np.append(np.zeros(k), heavy)
    )
    return weights / weights.sum()
