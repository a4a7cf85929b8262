"""The terms of a torontonian: all principal minors over pairs of rows in exact integers, and their sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import mpmath

from ._exact import GaussianMatrix, MpmathNumber

# Row i of an upper triangle holds columns i, i + 1, ..
Triangle = list[list[int]]


class Tally(NamedTuple):
    """How often a subset term occurs: with its signs, and without."""

    signed: int
    unsigned: int


@dataclass(frozen=True)
class SubsetTerms:
    """The terms of a torontonian, equal ones counted together.

    A term with the key (d, b) is exp(-b / (2 denominator d)) / sqrt(d / denominator^(2m)).

    Attributes:
        tallies: (d, b) to the tally.
        denominator: of the entries of I - O and of gamma.
        modes: m.
    """

    tallies: dict[tuple[int, int], Tally]
    denominator: int
    modes: int


def identity_minus(matrix: GaussianMatrix, gamma: GaussianMatrix | None = None) -> GaussianMatrix:
    """I - O, modes in pairs of neighbouring rows; with gamma a last column conj(gamma), a last row gamma, corner 0.

    The bordered matrix is Hermitian too, and its determinant is -det(I - O) gamma^T (I - O)^-1 conj(gamma).
    """
    m, d = len(matrix.real) // 2, matrix.denominator
    order = [row for k in range(m) for row in (k, k + m)]
    common = d if gamma is None else math.lcm(d, gamma.denominator)
    imaginary, scale = matrix.imaginary(), common // d
    real = [[scale * (d * (i == j) - matrix.real[i][j]) for j in order] for i in order]
    imag = [[-scale * imaginary[i][j] for j in order] for i in order]
    if gamma is not None:
        scale = common // gamma.denominator
        row_re, row_im = ([scale * plane[0][j] for j in order] for plane in (gamma.real, gamma.imaginary()))
        real = [[*row, a] for row, a in zip(real, row_re, strict=True)] + [[*row_re, 0]]
        imag = [[*row, -b] for row, b in zip(imag, row_im, strict=True)] + [[*row_im, 0]]
    return GaussianMatrix(real, imag if any(map(any, imag)) else None, common, matrix.is_complex)


def check_positive_definite(function: str, matrix: GaussianMatrix) -> None:
    """ValueError unless every leading principal minor of I - O is positive (Sylvester), decided exactly."""
    real, imag = _triangles(matrix)
    previous = 1
    while real:
        pivot = real[0][0]
        if pivot <= 0:
            raise ValueError(
                f"{function}: I - O must be positive definite, as it is for every Gaussian state; its smallest "
                f"eigenvalue is about {_smallest_eigenvalue(matrix)}."
            )
        real, imag = _eliminated(real, imag, previous)
        previous = pivot


def subset_terms(matrix: GaussianMatrix) -> SubsetTerms:
    """The terms of all mode subsets of a positive definite I - O, bordered or not, from `identity_minus`.

    Fraction-free elimination (Bareiss, Math. Comp. 22 (1968) 565) on the tree of Griffin and Tsatsomeros (Linear
    Algebra Appl. 419 (2006) 107): a mode is dropped or eliminated. After eliminating S entry (i, j) is the
    minor of the rows S + i and columns S + j, an integer: nothing is rounded.
    """
    size = len(matrix.real)
    modes, bordered = size // 2, size % 2
    tallies: dict[tuple[int, int], Tally] = {}

    def walk(real: Triangle, imag: Triangle | None, determinant: int, kept: int, left: int) -> None:
        if not left:
            # d^(2 (modes - kept)) brings minors of all sizes over one denominator, where equal terms meet.
            scale = matrix.denominator ** (2 * (modes - kept))
            key = (determinant * scale, real[0][0] * scale if bordered else 0)
            known = tallies.get(key, Tally(0, 0))
            tallies[key] = Tally(known.signed + (-1) ** (modes - kept), known.unsigned + 1)
            return
        once = _eliminated(real, imag, determinant)
        twice = _eliminated(*once, real[0][0])
        walk(*twice, once[0][0][0], kept + 1, left - 1)
        walk(real[2:], imag and imag[2:], determinant, kept, left - 1)

    walk(*_triangles(matrix), 1, 0, modes)
    return SubsetTerms(tallies, matrix.denominator, modes)


def rounded_sum(terms: SubsetTerms) -> tuple[MpmathNumber, MpmathNumber, MpmathNumber]:
    """The sum at the current precision, the sum without signs, and a bound of the rounding error."""
    value, moduli, error = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
    scale = mpmath.mpf(terms.denominator) ** terms.modes
    additions = sum(tally.signed != 0 for tally in terms.tallies.values())
    for (determinant, border), tally in terms.tallies.items():
        term = scale / mpmath.sqrt(determinant)
        exponent = mpmath.mpf(-border) / (2 * terms.denominator * determinant)
        if border:
            term *= mpmath.exp(exponent)
        value += tally.signed * term
        moduli += tally.unsigned * term
        # One rounding an addition, some ten a term, and what the exponent's three make of exp.
        error += abs(tally.signed) * term * (additions + 16 + 4 * exponent)
    return value, moduli, error * mpmath.mpf(2) ** -mpmath.mp.prec


def is_zero(terms: SubsetTerms) -> bool:
    """Whether the sum is exactly zero.

    Square roots of integers whose quotients are no squares are linearly independent over the rationals, and
    exponentials of different rationals over the algebraic numbers (Lindemann and Weierstrass): each class of
    terms has to cancel by itself.
    """
    by_exponent: dict[tuple[int, int], list[tuple[int, Tally]]] = {}
    for (determinant, border), tally in terms.tallies.items():
        common = math.gcd(determinant, border)
        by_exponent.setdefault((determinant // common, border // common) if border else (1, 0), []).append(
            (determinant, tally)
        )
    return all(map(_cancels, by_exponent.values()))


def eigenvalues(matrix: GaussianMatrix) -> list[MpmathNumber]:
    """The eigenvalues of a Hermitian matrix of integers over a denominator, at the current precision."""
    planes = zip(matrix.real, matrix.imaginary(), strict=True)
    entries = [[mpmath.mpc(a, b) / matrix.denominator for a, b in zip(*row, strict=True)] for row in planes]
    return list(mpmath.eighe(mpmath.matrix(entries), eigvals_only=True))


def _triangles(matrix: GaussianMatrix) -> tuple[Triangle, Triangle | None]:
    real = [row[i:] for i, row in enumerate(matrix.real)]
    return real, None if matrix.imag is None else [row[i:] for i, row in enumerate(matrix.imag)]


def _eliminated(real: Triangle, imag: Triangle | None, previous: int) -> tuple[Triangle, Triangle | None]:
    """(pivot b[i, j] - conj(b[0, i]) b[0, j]) / previous, the first row and column gone; all divisions exact."""
    (pivot, *a), rows = real[0], real[1:]
    if imag is None:
        return [
            [(pivot * x - a[i] * y) // previous for x, y in zip(row, a[i:], strict=True)] for i, row in enumerate(rows)
        ], None
    b = imag[0][1:]
    real_next, imag_next = [], []
    for i, (row_re, row_im) in enumerate(zip(rows, imag[1:], strict=True)):
        p, q = a[i], b[i]
        tail_re, tail_im = a[i:], b[i:]
        real_next.append(
            [(pivot * x - p * c - q * d) // previous for x, c, d in zip(row_re, tail_re, tail_im, strict=True)]
        )
        imag_next.append(
            [(pivot * y - p * d + q * c) // previous for y, c, d in zip(row_im, tail_re, tail_im, strict=True)]
        )
    return real_next, imag_next


def _smallest_eigenvalue(matrix: GaussianMatrix) -> str:
    with mpmath.workdps(15):
        return str(mpmath.nstr(min(eigenvalues(matrix)), 3))


def _cancels(roots: list[tuple[int, Tally]]) -> bool:
    """Whether the sum of signed / sqrt(determinant) is exactly zero."""
    sums: dict[int, tuple[int, int]] = {}
    for determinant, tally in roots:
        for first, (numerator, denominator) in sums.items():
            root = math.isqrt(first * determinant)
            if root * root == first * determinant:
                # 1 / sqrt(determinant) is (first / root) / sqrt(first).
                sums[first] = numerator * root + tally.signed * first * denominator, denominator * root
                break
        else:
            sums[determinant] = tally.signed, 1
    return not any(numerator for numerator, _ in sums.values())
