"""The matrix W'W of a workload on one column: all that its error depends on."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Gram"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Gram:
    """A symmetric positive semidefinite matrix that can be hashed by its content.

    Parameters
    ----------
    n_cells : int
        Number of rows and columns.
    matrix : array-like of shape (n_cells, n_cells) or None, default=None
        None for the identity, which is never formed.

    Examples
    --------
    >>> Gram(3) == Gram(3, np.eye(3))
    False
    >>> Gram(2, [[2, 1], [1, 1]]).total
    5.0
    """

    n_cells: int
    matrix: Array | None
    _digest: bytes = field(init=False, repr=False)

    def __init__(self, n_cells: int, matrix: ArrayLike | None = None) -> None:
        values = None if matrix is None else np.array(matrix, dtype=np.float64)
        content = b"" if values is None else values.tobytes()
        if values is not None:
            values.setflags(write=False)
        object.__setattr__(self, "n_cells", int(n_cells))
        object.__setattr__(self, "matrix", values)
        object.__setattr__(self, "_digest", sha256(content).digest())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Gram):
            return NotImplemented
        return (self.n_cells, self._digest) == (other.n_cells, other._digest)

    def __hash__(self) -> int:
        return hash((self.n_cells, self._digest))

    @property
    def trace(self) -> float:
        """Squared error of the workload if every cell has an error of variance 1."""
        return float(self.n_cells if self.matrix is None else np.trace(self.matrix))

    @property
    def total(self) -> float:
        """Sum of all entries."""
        return float(self.n_cells if self.matrix is None else self.matrix.sum())

    @property
    def is_diagonal(self) -> bool:
        """Whether no query looks at two cells; then nothing beats measuring cells."""
        if self.matrix is None:
            return True
        return bool((self.matrix == np.diag(self.matrix.diagonal())).all())

    def dense(self) -> Array:
        """Return the matrix.

        Returns
        -------
        ndarray of shape (n_cells, n_cells)
            Formed also for the identity.
        """
        return np.eye(self.n_cells) if self.matrix is None else self.matrix

    @classmethod
    def of_total(cls, n_cells: int) -> Gram:
        """Return that of the sum of all cells.

        Parameters
        ----------
        n_cells : int
            Number of cells.

        Returns
        -------
        Gram
            All entries are 1.
        """
        return cls(n_cells, np.ones((n_cells, n_cells)))
