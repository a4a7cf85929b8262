"""Glynn's formula with exact row sums: permanents at any digits, and their condition."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath

from ._exact import GaussianMatrix, MpmathNumber
from ._inputs import CountsLike, MatrixLike, refuse_beyond, repeated_matrix
from ._permanent import permanent_exact

_MOST_TERMS = 2**24

# |term| is a square root of an integer: 64 bits after the point leave a relative error below 2^-64.
_ROOT_BITS = 64


def permanent_mpmath(matrix: MatrixLike, dps: int, *, rows: CountsLike = None, cols: CountsLike = None) -> MpmathNumber:
    """Permanent of a matrix with photon multiplicities to `dps` decimal digits, by Glynn's formula.

    2^-N times the sum over v_j in {-c_j, -c_j + 2, .., c_j} of the product over columns of
    (-1)^((c_j - v_j)/2) binom(c_j, (c_j - v_j)/2) times the product over rows of
    (sum_j v_j a[i, j])^rows[i], with c = cols and N their sum (Glynn, Eur. J. Combin. 31 (2010) 1887).

    Args:
        matrix: (n, n), or (k, l) with counts: finite numbers of any kind (float, complex, int, Fraction, mpmath),
            taken exactly.
        dps: decimal digits wanted, 1 or more.
        rows: (k,) how often each row is repeated; None for once.
        cols: (l,) how often each column is repeated; None for once.

    Returns:
        The permanent, mpf for real input and mpc for complex; relative error (to the modulus) below
        10^-dps; 1 for n = 0; exactly 0 where the permanent is zero.

    Raises:
        ValueError: not square, NaN or infinite entries, counts that are negative, fractional or of unequal
            sums, dps below 1, or more than 2^24 terms.
        TypeError: entries that are not numbers.

    Notes:
        Product of (cols + 1) terms, halved. The working precision doubles until the rounding bound is
        small against the value, or the value, known to be an integer, can only be zero.
    """
    name = "permanent_mpmath"
    if dps < 1:
        raise ValueError(f"{name}: dps must be 1 or more, got {dps}.")
    given, row_counts, col_counts = _door(name, matrix, rows, cols)
    size = sum(row_counts)
    precision = math.ceil(dps * math.log2(10)) + 64
    while True:
        with mpmath.workprec(precision):
            value, sum_of_moduli, terms = _rounded_sum(given, row_counts, col_counts)
            # Rounding: at most four per factor of a term, one per addition.
            error = sum_of_moduli * (4 * size + terms + 8) * mpmath.mpf(2) ** -precision
            is_zero = abs(value) + error < mpmath.mpf(2) ** size
            if is_zero or error < abs(value) * mpmath.mpf(10) ** -(dps + 1):
                value = 0 * value if is_zero else value / (mpmath.mpf(2 * given.denominator) ** size)
                break
        precision *= 2
    with mpmath.workdps(dps + 1):
        return +value


def permanent_condition(matrix: MatrixLike, *, rows: CountsLike = None, cols: CountsLike = None) -> float:
    """Condition of Glynn's sum: kappa = (sum of the moduli of its terms) / (modulus of the sum).

    With signs on the columns and the first fixed, kappa = 2^-(N-1) sum over s of
    prod_i |sum_j s_j a[i, j]| / |perm|. A float64 sum loses about log10(kappa) digits.

    Args:
        matrix: (n, n), or (k, l) with counts: finite numbers of any kind (float, complex, int, Fraction, mpmath),
            taken exactly.
        rows: (k,) how often each row is repeated; None for once.
        cols: (l,) how often each column is repeated; None for once.

    Returns:
        kappa, 1 or more up to rounding; inf for a zero permanent and beyond the range of float64; 1.0 for
        n = 0.

    Raises:
        ValueError: not square, NaN or infinite entries, counts that are negative, fractional or of unequal
            sums, or more than 2^24 terms.
        TypeError: entries that are not numbers.

    Notes:
        kappa belongs to the matrix as given: scaling a row multiplies every term alike and changes
        nothing, scaling a column (or transposing) changes kappa. Multiplicities give the kappa of the
        written-out matrix. Both sums are taken in integers. All ones of size 3 give 5/4.
    """
    name = "permanent_condition"
    given, row_counts, col_counts = _door(name, matrix, rows, cols)
    truth = permanent_exact(matrix, rows=rows, cols=cols)
    if not truth:
        return math.inf
    sum_of_moduli = 0
    for weight, re, im in _glynn_terms(given, col_counts):
        squares = [a * a + b * b for a, b in zip(re, im, strict=True)]
        squared = weight * weight * math.prod(map(pow, squares, row_counts))
        sum_of_moduli += math.isqrt(squared << 2 * _ROOT_BITS)
    size = sum(row_counts)
    with mpmath.workdps(30):
        scale = mpmath.mpf(2) ** _ROOT_BITS * mpmath.mpf(2 * given.denominator) ** size
        return float(sum_of_moduli / scale / truth.modulus())


def _door(
    name: str, matrix: MatrixLike, rows: CountsLike, cols: CountsLike
) -> tuple[GaussianMatrix, tuple[int, ...], tuple[int, ...]]:
    given, row_counts, col_counts = repeated_matrix(name, matrix, rows, cols)
    refuse_beyond(name, math.prod(count + 1 for count in col_counts), _MOST_TERMS, "terms")
    return given, row_counts, col_counts


def _rounded_sum(
    matrix: GaussianMatrix, row_counts: tuple[int, ...], col_counts: tuple[int, ...]
) -> tuple[MpmathNumber, MpmathNumber, int]:
    """Glynn's sum over the integers at the current precision, the sum of its moduli, and how many terms."""
    value = mpmath.mpc(0) if matrix.is_complex else mpmath.mpf(0)
    sum_of_moduli, terms = mpmath.mpf(0), 0
    for weight, re, im in _glynn_terms(matrix, col_counts):
        term = mpmath.mpf(weight)
        for a, b, count in zip(re, im, row_counts, strict=True):
            factor = mpmath.mpf(a) if matrix.imag is None else mpmath.mpc(a, b)
            term *= factor**count if count != 1 else factor
        value += term
        sum_of_moduli += abs(term)
        terms += 1
    return value, sum_of_moduli, terms


def _glynn_terms(matrix: GaussianMatrix, counts: tuple[int, ...]) -> Iterator[tuple[int, list[int], list[int]]]:
    """Weights and exact row sums (real, imaginary) of Glynn's formula, one term of each pair v and -v."""
    columns = matrix.transpose()
    real, imag = columns.real, columns.imaginary()
    choices = [[(c - 2 * k, (-1) ** k * math.comb(c, k)) for k in range(c + 1)] for c in counts]
    if choices:
        choices[0] = [(v, 2 * weight if v else weight) for v, weight in choices[0] if v >= 0]

    def walk(j: int, weight: int, re: list[int], im: list[int]) -> Iterator[tuple[int, list[int], list[int]]]:
        if j == len(counts):
            yield weight, re, im
            return
        for v, factor in choices[j]:
            re_next = [x + v * a for x, a in zip(re, real[j], strict=True)]
            im_next = [x + v * b for x, b in zip(im, imag[j], strict=True)]
            yield from walk(j + 1, weight * factor, re_next, im_next)

    yield from walk(0, 1, [0] * len(counts), [0] * len(counts))
