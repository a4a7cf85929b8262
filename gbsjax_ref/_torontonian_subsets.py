"""Torontonians and loop torontonians by their definition: one determinant for every subset of modes."""

from __future__ import annotations

from itertools import combinations

import mpmath
import numpy.typing as npt

from ._exact import GaussianMatrix, MpmathNumber
from ._inputs import MatrixLike, finite_vector, refuse_beyond
from ._minors import check_positive_definite, identity_minus
from ._symmetric import hermitian_matrix

_MOST_SUBSETS = 2**10


def torontonian_by_subsets(matrix: MatrixLike, *, dps: int = 30) -> MpmathNumber:
    """Torontonian by its definition, in `dps`-digit arithmetic throughout.

    tor O = sum over subsets S of the m modes of (-1)^(m - |S|) / sqrt(det(I - O_S)), each determinant by
    mpmath's pivoted elimination; mode k owns the rows and columns k and k + m.

    Args:
        matrix: (2m, 2m) Hermitian O, as `torontonian_mpmath` takes it.
        dps: decimal digits of the arithmetic, 1 or more, not of the result.

    Returns:
        The torontonian as an mpf: about log10(kappa cond(I - O)) of the digits are lost
        (`torontonian_condition`, `cond_identity_minus`); 1 for m = 0.

    Raises:
        ValueError: as `torontonian_mpmath`, or m above 10.
        TypeError: entries that are not numbers.

    Notes:
        2^m determinants of up to 2m rows. One mode with O = diag(a, a) gives a / (1 - a).
    """
    return _definition("torontonian_by_subsets", matrix, None, dps)


def loop_torontonian_by_subsets(matrix: MatrixLike, gamma: npt.ArrayLike, *, dps: int = 30) -> MpmathNumber:
    """Loop torontonian by its definition, in `dps`-digit arithmetic throughout.

    Each term of `torontonian_by_subsets` times exp(gamma_S^T (I - O_S)^-1 conj(gamma_S) / 2), the linear
    systems solved by mpmath.

    Args:
        matrix: (2m, 2m) Hermitian O, as `torontonian_mpmath` takes it.
        gamma: (2m,) as `loop_torontonian_mpmath` takes it.
        dps: decimal digits of the arithmetic, 1 or more, not of the result.

    Returns:
        The loop torontonian as an mpf, the digits lost as in `torontonian_by_subsets`; 1 for m = 0.

    Raises:
        ValueError: as `loop_torontonian_mpmath`, or m above 10.
        TypeError: entries that are not numbers.

    Notes:
        2^m determinants and linear systems of up to 2m rows. One mode with O = 0 and gamma = (g, conj g)
        gives exp(|g|^2) - 1.
    """
    return _definition("loop_torontonian_by_subsets", matrix, gamma, dps)


def _definition(name: str, matrix: MatrixLike, gamma: npt.ArrayLike | None, dps: int) -> MpmathNumber:
    if dps < 1:
        raise ValueError(f"{name}: dps must be 1 or more, got {dps}.")
    given = hermitian_matrix(name, matrix)
    modes = len(given.real) // 2
    vector = None if gamma is None else finite_vector(name, "gamma", gamma, 2 * modes)
    refuse_beyond(name, 2**modes, _MOST_SUBSETS, "mode subsets")
    check_positive_definite(name, identity_minus(given))
    with mpmath.workdps(dps):
        difference = [[(i == j) - entry for j, entry in enumerate(row)] for i, row in enumerate(_rounded(given))]
        shift = None if vector is None else _rounded(vector)[0]
        total = mpmath.mpf(0)
        for size in range(modes + 1):
            for subset in combinations(range(modes), size):
                rows = [*subset, *(k + modes for k in subset)]
                total += (-1) ** (modes - size) * _term(difference, shift, rows)
        return total


def _term(difference: list[list[MpmathNumber]], shift: list[MpmathNumber] | None, rows: list[int]) -> MpmathNumber:
    if not rows:
        return mpmath.mpf(1)
    block = mpmath.matrix([[difference[i][j] for j in rows] for i in rows])
    term = 1 / mpmath.sqrt(mpmath.re(mpmath.det(block)))
    if shift is None:
        return term
    part = mpmath.matrix([shift[i] for i in rows])
    solution = mpmath.lu_solve(block, part.conjugate())
    return term * mpmath.exp(mpmath.re((part.T * solution)[0]) / 2)


def _rounded(given: GaussianMatrix) -> list[list[MpmathNumber]]:
    planes = zip(given.real, given.imaginary(), strict=True)
    return [[mpmath.mpc(a, b) / given.denominator for a, b in zip(*row, strict=True)] for row in planes]
