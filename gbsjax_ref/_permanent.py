"""Exact permanents: by definition, by the subset recurrence, and all first minors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product

import numpy as np

from ._exact import ExactComplex, GaussianMatrix
from ._inputs import CountsLike, MatrixLike, refuse_beyond, repeated_matrix, square_matrix

# A recurrence on 2^24 states holds some gigabytes of Python ints.
_MOST_STATES = 2**24

Pair = tuple[int, int]


def permanent_by_permutations(matrix: MatrixLike, *, rows: CountsLike = None, cols: CountsLike = None) -> ExactComplex:
    """Permanent by its definition: the sum over permutations s of the products of a[i, s(i)], exactly.

    Args:
        matrix: (n, n), or (k, l) with counts: finite numbers of any kind (float, complex, int, Fraction, mpmath),
            taken exactly.
        rows: (k,) how often each row is written down; None for once.
        cols: (l,) how often each column is written down; None for once.

    Returns:
        The exact permanent of the written-out N x N matrix; 1 for N = 0.

    Raises:
        ValueError: not square, NaN or infinite entries, counts that are negative, fractional or of unequal
            sums, or N above 9.
        TypeError: entries that are not numbers.

    Notes:
        N! products of N factors. All ones of size 4 give 24.
    """
    name = "permanent_by_permutations"
    given, row_counts, col_counts = repeated_matrix(name, matrix, rows, cols)
    size = sum(row_counts)
    refuse_beyond(name, size, 9, "rows (repeats counted, N! products)")
    written_out = given.repeat(row_counts, col_counts)
    real, imag = written_out.real, written_out.imaginary()
    total_re = total_im = 0
    for permutation in permutations(range(size)):
        re, im = 1, 0
        for i, j in enumerate(permutation):
            re, im = re * real[i][j] - im * imag[i][j], re * imag[i][j] + im * real[i][j]
        total_re += re
        total_im += im
    return over(total_re, total_im, given.denominator**size)


def permanent_exact(matrix: MatrixLike, *, rows: CountsLike = None, cols: CountsLike = None) -> ExactComplex:
    """Permanent of a matrix with photon multiplicities, exactly, by the subset recurrence.

    The permanent is (product of cols[j]!) times the coefficient of x^cols in the product over rows i of
    (sum_j a[i, j] x_j)^rows[i]. For single columns the coefficients after k rows are the permanents of
    the first k rows with the columns S: P_k[S] = sum over j in S of a[k, j] P_(k-1)[S - j].

    Args:
        matrix: (n, n), or (k, l) with counts: finite numbers of any kind (float, complex, int, Fraction, mpmath),
            taken exactly.
        rows: (k,) how often each row is repeated; None for once.
        cols: (l,) how often each column is repeated; None for once.

    Returns:
        The exact permanent of the repeated matrix; 1 for n = 0 or no photons.

    Raises:
        ValueError: not square, NaN or infinite entries, counts that are negative, fractional or of unequal
            sums, or more than 2^24 states.
        TypeError: entries that are not numbers.

    Notes:
        States: product of (counts + 1), over rows or columns, whichever is less; n additions and products
        of long integers for each. [[1]] repeated k times gives k!.
    """
    name = "permanent_exact"
    given, row_counts, col_counts = repeated_matrix(name, matrix, rows, cols)
    if _states(row_counts) < _states(col_counts):
        given, row_counts, col_counts = given.transpose(), col_counts, row_counts
    refuse_beyond(name, _states(col_counts), _MOST_STATES, "states")
    once = (1,) * len(given.real)
    *_, last = _partial_products(given.repeat(row_counts, once), col_counts)
    ((re, im),) = last.values()
    orderings = math.prod(map(math.factorial, col_counts))
    return over(re * orderings, im * orderings, given.denominator ** sum(row_counts))


def permanent_minors_exact(matrix: MatrixLike) -> np.ndarray:
    """Permanents of all first minors: entry (i, j) is the permanent without row i and column j, exactly.

    It is also the derivative of the permanent with respect to entry (i, j).

    Args:
        matrix: (n, n) finite numbers of any kind (float, complex, int, Fraction, mpmath), taken exactly.

    Returns:
        (n, n) object array of ExactComplex; [[1]] for n = 1, empty for n = 0.

    Raises:
        ValueError: not square, NaN or infinite entries, or n above 20.
        TypeError: entries that are not numbers.

    Notes:
        A minor splits the other columns between the rows above i (columns S) and those below i (the
        rest): the sum over S of two subset tables, n 2^n long products in all. With multiplicities the
        derivative is rows[i] cols[j] times `permanent_exact` with one photon less in both.
    """
    name = "permanent_minors_exact"
    given = square_matrix(name, matrix)
    size = len(given.real)
    refuse_beyond(name, 2**size, 2**20, "column sets")
    above = list(_partial_products(given, (1,) * size))
    below = list(_partial_products(given.reverse_rows(), (1,) * size))
    minors = np.empty((size, size), dtype=object)
    for i, j in np.ndindex(size, size):
        others = (2**size - 1) ^ (1 << j)
        re = im = 0
        for chosen, (a, b) in above[i].items():
            if chosen & others == chosen:
                c, d = below[size - 1 - i][others ^ chosen]
                re += a * c - b * d
                im += a * d + b * c
        minors[i, j] = over(re, im, given.denominator ** (size - 1))
    return minors


def over(re: int, im: int, denominator: int) -> ExactComplex:
    """A Gaussian integer over a denominator."""
    return ExactComplex(Fraction(re, denominator), Fraction(im, denominator))


def _states(counts: tuple[int, ...]) -> int:
    return math.prod(count + 1 for count in counts)


def _partial_products(matrix: GaussianMatrix, limits: tuple[int, ...]) -> Iterator[dict[int, Pair]]:
    """Coefficients of the product of the first k linear forms, k = 0, 1, .., exponents within the limits.

    An exponent vector is the key sum_j e_j stride_j, mixed radix; bit j is column j where limits are one.
    """
    strides = [_states(limits[:j]) for j in range(len(limits))]
    keys: list[list[int]] = [[] for _ in range(sum(limits) + 1)]
    for exponents in product(*(range(limit + 1) for limit in limits)):
        keys[sum(exponents)].append(_key(exponents, strides))
    current = {0: (1, 0)}
    yield current
    for degree, (a, b) in enumerate(zip(matrix.real, matrix.imaginary(), strict=True), start=1):
        form = [(stride, limit + 1, x, y) for stride, limit, x, y in zip(strides, limits, a, b, strict=True)]
        step = _coefficient if matrix.imag is not None else _real_coefficient
        current = {key: step(key, form, current) for key in keys[degree]}
        yield current


def _key(exponents: tuple[int, ...], strides: list[int]) -> int:
    return sum(exponent * stride for exponent, stride in zip(exponents, strides, strict=True))


def _coefficient(key: int, form: list[tuple[int, int, int, int]], previous: dict[int, Pair]) -> Pair:
    re = im = 0
    for stride, base, a, b in form:
        if key // stride % base:
            c, d = previous[key - stride]
            re += a * c - b * d
            im += a * d + b * c
    return re, im


def _real_coefficient(key: int, form: list[tuple[int, int, int, int]], previous: dict[int, Pair]) -> Pair:
    return sum(a * previous[key - stride][0] for stride, base, a, _ in form if key // stride % base), 0
