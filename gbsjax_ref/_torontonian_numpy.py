"""Float64 torontonians and loop torontonians in plain NumPy: batched determinants of all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from ._hafnian_numpy import floats
from ._inputs import MatrixLike, finite_vector, refuse_beyond
from ._symmetric import hermitian_matrix

_MOST_SUBSETS = 2**20


def torontonian_numpy(matrix: MatrixLike) -> np.float64:
    """Torontonian in float64: the sum over subsets S of the m modes of (-1)^(m - |S|) / sqrt(det(I - O_S)).

    Mode k owns the rows and columns k and k + m.

    Args:
        matrix: (2m, 2m) Hermitian O: finite numbers of any kind, rounded to float64 or complex128.

    Returns:
        The torontonian; 1 for m = 0; NaN where a determinant is negative.

    Raises:
        ValueError: not of shape (2m, 2m), not Hermitian, NaN or infinite entries, or m above 20.
        TypeError: entries that are not numbers.

    Notes:
        2^m determinants by LAPACK. Loses about log10(`torontonian_condition`) digits; whether I - O is positive
        definite is not checked. One mode with O = diag(a, a) gives a / (1 - a).
    """
    return _sum_over_subsets("torontonian_numpy", matrix, None)


def loop_torontonian_numpy(matrix: MatrixLike, gamma: npt.ArrayLike) -> np.float64:
    """Loop torontonian in float64: each term times exp(gamma_S^T (I - O_S)^-1 conj(gamma_S) / 2).

    Args:
        matrix: (2m, 2m) Hermitian O, as `torontonian_numpy` takes it.
        gamma: (2m,) finite numbers of any kind, rounded to float64 or complex128.

    Returns:
        The loop torontonian; 1 for m = 0; NaN where a determinant is negative.

    Raises:
        ValueError: as `torontonian_numpy`, or gamma of another shape or not finite.
        TypeError: entries that are not numbers.

    Notes:
        2^m determinants and linear systems by LAPACK. Loses about log10(`loop_torontonian_condition`) digits.
        One mode with O = 0 and gamma = (g, conj g) gives exp(|g|^2) - 1.
    """
    return _sum_over_subsets("loop_torontonian_numpy", matrix, gamma)


def _sum_over_subsets(name: str, matrix: MatrixLike, gamma: npt.ArrayLike | None) -> np.float64:
    hermitian = _hermitian_floats(name, matrix)
    modes = len(hermitian) // 2
    vector = None if gamma is None else finite_vector(name, "gamma", gamma, 2 * modes)
    refuse_beyond(name, 2**modes, _MOST_SUBSETS, "mode subsets")
    difference = np.eye(2 * modes) - hermitian
    shift = None if vector is None else floats(vector, np.complex128)[0]
    total = np.float64((-1.0) ** modes)
    for size in range(1, modes + 1):
        subsets = np.array(list(combinations(range(modes), size)))
        rows = np.concatenate([subsets, subsets + modes], axis=1)
        blocks = difference[rows[:, :, None], rows[:, None, :]]
        with np.errstate(invalid="ignore"):
            terms = 1 / np.sqrt(np.linalg.det(blocks).real)
        if shift is not None:
            parts = shift[rows]
            solutions = np.linalg.solve(blocks, parts.conj()[:, :, None])[:, :, 0]
            terms = terms * np.exp((parts * solutions).sum(axis=1).real / 2)
        total += (-1.0) ** (modes - size) * terms.sum()
    return total


def _hermitian_floats(name: str, matrix: MatrixLike) -> np.ndarray:
    """The Hermitian part in float64 or complex128."""
    # The exact door takes milliseconds, more than a small torontonian: not for an array that it would not change.
    if isinstance(matrix, np.ndarray) and matrix.dtype in (np.float64, np.complex128):
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.shape[0] % 2 == 0
        if square and np.isfinite(matrix).all() and (matrix == matrix.conj().T).all():
            return matrix
    given = hermitian_matrix(name, matrix)
    return floats(given, np.complex128 if given.is_complex else np.float64)
