"""Torontonians and loop torontonians to any number of digits, and the condition of their sums."""

from __future__ import annotations

import math

import mpmath
import numpy.typing as npt

from ._exact import MpmathNumber
from ._inputs import MatrixLike, finite_vector, refuse_beyond
from ._minors import (
    SubsetTerms,
    check_positive_definite,
    eigenvalues,
    identity_minus,
    is_zero,
    rounded_sum,
    subset_terms,
)
from ._symmetric import hermitian_matrix

_MOST_SUBSETS = 2**20

# A sum so much smaller than its terms is looked at for an exact zero before it is computed further.
_SUSPICIOUS_BITS = 2**12


def torontonian_mpmath(matrix: MatrixLike, *, dps: int = 30) -> MpmathNumber:
    """Torontonian to `dps` decimal digits, from exact subset determinants.

    tor O = sum over subsets S of the m modes of (-1)^(m - |S|) / sqrt(det(I - O_S)); mode k owns the rows and
    columns k and k + m (Quesada, Arrazola and Killoran, Phys. Rev. A 98 (2018) 062322, equation 11).

    Args:
        matrix: (2m, 2m) Hermitian O, I - O positive definite: finite numbers of any kind (float, complex, int,
            Fraction, mpmath), taken exactly. Entries that differ from the conjugates of their mirror images by
            at most 2^-47 of the largest modulus are replaced by the exact mean.
        dps: decimal digits wanted, 1 or more.

    Returns:
        The torontonian, a real mpf with a relative error below 10^-dps; 1 for m = 0; 0 exactly where and only
        where it is zero.

    Raises:
        ValueError: not of shape (2m, 2m), not Hermitian, NaN or infinite entries, I - O not positive definite
            (no Gaussian state has it), dps below 1, or m above 20.
        TypeError: entries that are not numbers.

    Notes:
        2^m determinants by elimination in integers: 12 modes of complex float64 take two seconds, 16 modes
        a minute or two and 250 MB. One mode with O = diag(a, a) gives a / (1 - a).
    """
    name = "torontonian_mpmath"
    return _value(name, _terms(name, matrix), dps)


def loop_torontonian_mpmath(matrix: MatrixLike, gamma: npt.ArrayLike, *, dps: int = 30) -> MpmathNumber:
    """Loop torontonian to `dps` decimal digits, from exact subset determinants and exponents.

    Each term 1 / sqrt(det(I - O_S)) of the torontonian is multiplied by
    exp(gamma_S^T (I - O_S)^-1 conj(gamma_S) / 2) (Bulmer, Paesani, Chadwick and Quesada, Phys. Rev. A 106
    (2022) 043712, in the convention of The Walrus).

    Args:
        matrix: (2m, 2m) Hermitian O, I - O positive definite: as `torontonian_mpmath` takes it.
        gamma: (2m,) finite numbers of any kind, taken exactly; entries k and k + m belong to mode k.
        dps: decimal digits wanted, 1 or more.

    Returns:
        The loop torontonian, a real mpf with a relative error below 10^-dps; 1 for m = 0; 0 exactly where and
        only where it is zero.

    Raises:
        ValueError: as `torontonian_mpmath`, or gamma of another shape or not finite.
        TypeError: entries that are not numbers.

    Notes:
        The cost of `torontonian_mpmath`, twice. One mode with O = 0 and gamma = (g, conj g) gives
        exp(|g|^2) - 1.
    """
    name = "loop_torontonian_mpmath"
    return _value(name, _terms(name, matrix, gamma), dps)


def torontonian_condition(matrix: MatrixLike) -> float:
    """Condition of the torontonian's sum: kappa = (sum of 1 / sqrt(det(I - O_S)) over all S) / |tor O|.

    A float64 sum loses about log10(kappa) digits, and more where I - O is nearly singular
    (`cond_identity_minus`).

    Args:
        matrix: (2m, 2m) Hermitian O: as `torontonian_mpmath` takes it.

    Returns:
        kappa, 1 or more up to rounding; inf for a zero torontonian and beyond the range of float64; 1.0 for
        m = 0.

    Raises:
        ValueError: as `torontonian_mpmath`.
        TypeError: entries that are not numbers.

    Notes:
        The cost of `torontonian_mpmath`. One mode with O = diag(a, a), a > 0, gives (2 - a) / a.
    """
    name = "torontonian_condition"
    return _condition(name, _terms(name, matrix))


def loop_torontonian_condition(matrix: MatrixLike, gamma: npt.ArrayLike) -> float:
    """Condition of the loop torontonian's sum: the sum of its terms without signs over the modulus of the value.

    Args:
        matrix: (2m, 2m) Hermitian O: as `torontonian_mpmath` takes it.
        gamma: (2m,) as `loop_torontonian_mpmath` takes it.

    Returns:
        kappa, 1 or more up to rounding; inf for a zero loop torontonian and beyond the range of float64; 1.0
        for m = 0.

    Raises:
        ValueError: as `loop_torontonian_mpmath`.
        TypeError: entries that are not numbers.

    Notes:
        The cost of `loop_torontonian_mpmath`. One mode with O = 0, gamma = (g, conj g) gives
        coth(|g|^2 / 2).
    """
    name = "loop_torontonian_condition"
    return _condition(name, _terms(name, matrix, gamma))


def cond_identity_minus(matrix: MatrixLike) -> float:
    """Condition number of I - O in the 2-norm: its largest eigenvalue over its smallest.

    Args:
        matrix: (2m, 2m) Hermitian O: as `torontonian_mpmath` takes it.

    Returns:
        The condition number, 1 or more up to rounding; inf beyond the range of float64; 1.0 for m = 0.

    Raises:
        ValueError: not of shape (2m, 2m), not Hermitian, NaN or infinite entries, or I - O not positive
            definite.
        TypeError: entries that are not numbers.

    Notes:
        About m^3 operations in mpmath. One mode with O = diag(1/2, 0) gives 2.
    """
    name = "cond_identity_minus"
    difference = identity_minus(hermitian_matrix(name, matrix))
    check_positive_definite(name, difference)
    if not difference.real:
        return 1.0
    dps = 30
    while True:
        with mpmath.workdps(dps):
            spectrum = eigenvalues(difference)
            # The eigenvalues are good to about 10^-dps of the largest.
            if min(spectrum) > max(spectrum) * mpmath.mpf(10) ** (20 - dps):
                return float(max(spectrum) / min(spectrum))
        dps *= 2


def _terms(name: str, matrix: MatrixLike, gamma: npt.ArrayLike | None = None) -> SubsetTerms:
    given = hermitian_matrix(name, matrix)
    size = len(given.real)
    vector = None if gamma is None else finite_vector(name, "gamma", gamma, size)
    refuse_beyond(name, 2 ** (size // 2), _MOST_SUBSETS, "mode subsets")
    check_positive_definite(name, identity_minus(given))
    return subset_terms(identity_minus(given, vector))


def _value(name: str, terms: SubsetTerms, dps: int) -> MpmathNumber:
    if dps < 1:
        raise ValueError(f"{name}: dps must be 1 or more, got {dps}.")
    precision = math.ceil(dps * math.log2(10)) + 64
    suspected = False
    while True:
        with mpmath.workprec(precision):
            value, _, error = rounded_sum(terms)
            if not error or error < abs(value) * mpmath.mpf(10) ** -(dps + 1):
                break
        if precision > _SUSPICIOUS_BITS and not suspected:
            suspected = True
            if is_zero(terms):
                return mpmath.mpf(0)
        precision *= 2
    with mpmath.workdps(dps + 1):
        return +value


def _condition(name: str, terms: SubsetTerms) -> float:
    value = abs(_value(name, terms, 17))
    with mpmath.workdps(20):
        return float(rounded_sum(terms)[1] / value) if value else math.inf
