"""Copies of matrices that nobody changes any more: what is priced is what is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["own_copy"]


def own_copy(matrix: Any) -> Any:
    """Copy a matrix, read-only, with a single entry per cell where it is sparse.

    Parameters
    ----------
    matrix : array-like or scipy sparse
        Entries of a sparse matrix may repeat: they are added up. A flag of the original
        may claim that they do not, so that it is not believed.

    Returns
    -------
    ndarray or csr_array of float64
        The copy.

    Raises
    ------
    ValueError
        If indices of a sparse matrix lie outside of it.
    """
    if not sp.issparse(matrix):
        dense = np.array(matrix, dtype=np.float64)
        dense.setflags(write=False)
        return dense
    given = sp.csr_array(matrix, dtype=np.float64)
    parts = (given.data.copy(), given.indices.copy(), given.indptr.copy())
    copy = sp.csr_array(parts, shape=given.shape)
    copy.check_format(full_check=True)
    copy.sum_duplicates()
    for array in (copy.data, copy.indices, copy.indptr):
        array.setflags(write=False)
    return copy
