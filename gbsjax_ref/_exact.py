"""Exact complex rationals, and arrays of numbers as Gaussian integers over one denominator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any, TypeAlias

import mpmath
import numpy as np
from mpmath.libmp import to_rational

# mpmath has no static types: mpf and mpc are made at run time.
MpmathNumber: TypeAlias = Any


@dataclass(frozen=True)
class ExactComplex:
    """A complex number whose real and imaginary parts are exact rationals.

    Attributes:
        real: the real part.
        imag: the imaginary part, zero unless given.

    Example:
        >>> ExactComplex(Fraction(1, 3)).relative_error(1 / 3) < 2**-53
        True
    """

    real: Fraction
    imag: Fraction = Fraction(0)

    def __float__(self) -> float:
        """The real part, correctly rounded to float64; an infinity beyond its range.

        Raises:
            ValueError: the imaginary part is not zero.
        """
        if self.imag:
            raise ValueError(f"ExactComplex: float() needs a zero imaginary part, got {self.imag}; use complex().")
        return _nearest_float(self.real)

    def __complex__(self) -> complex:
        """Both parts correctly rounded to float64; an infinity beyond its range."""
        return complex(_nearest_float(self.real), _nearest_float(self.imag))

    def __bool__(self) -> bool:
        """Whether the number differs from zero."""
        return bool(self.real or self.imag)

    def to_mpc(self, dps: int) -> MpmathNumber:
        """Both parts correctly rounded to `dps` decimal digits, as an mpmath complex number."""
        with mpmath.workdps(dps):
            return mpmath.mpc(*(mpmath.fraction(part.numerator, part.denominator) for part in (self.real, self.imag)))

    def modulus(self, dps: int = 30) -> MpmathNumber:
        """The absolute value to `dps` decimal digits, as an mpmath number (which does not overflow)."""
        squared = self.real**2 + self.imag**2
        with mpmath.workdps(dps + 5):
            return mpmath.sqrt(mpmath.mpf(squared.numerator) / squared.denominator)

    def relative_error(self, value: Any, *corrections: Any) -> float:
        """Distance |value - self| / |self|, the subtraction and the division done exactly.

        Args:
            value: a scalar of any kind that a matrix may hold, or an array of one entry.
            *corrections: added to the value, exactly: the low word of a double-double.

        Returns:
            The relative error; 0.0 when value and truth are both zero, inf when only the truth is zero or
            when the value is NaN or infinite (so that a maximum over errors cannot hide it).
        """
        try:
            real, imag = (sum(part) for part in zip(*map(exact_parts, (value, *corrections)), strict=True))
        except (OverflowError, ValueError):
            return math.inf
        distance = ExactComplex(Fraction(real - self.real), Fraction(imag - self.imag))
        if not self:
            return math.inf if distance else 0.0
        with mpmath.workdps(30):
            return float(distance.modulus() / self.modulus())


@dataclass(frozen=True)
class GaussianMatrix:
    """A matrix (real + i imag) / denominator whose parts are Python ints, row by row.

    Attributes:
        real: rows of ints.
        imag: rows of ints, or None where every imaginary part is zero (half the work).
        denominator: a positive int; a power of two whenever the matrix came from floats.
        is_complex: whether the input was of a complex type, be its imaginary parts zero or not.
    """

    real: list[list[int]]
    imag: list[list[int]] | None
    denominator: int
    is_complex: bool

    def imaginary(self) -> list[list[int]]:
        """The imaginary parts, zeros spelled out."""
        return self.imag if self.imag is not None else [[0] * len(row) for row in self.real]

    def transpose(self) -> GaussianMatrix:
        """Rows and columns exchanged."""
        return self._map(lambda plane: [list(column) for column in zip(*plane, strict=True)])

    def reverse_rows(self) -> GaussianMatrix:
        """The last row first."""
        return self._map(lambda plane: plane[::-1])

    def repeat(self, rows: tuple[int, ...], cols: tuple[int, ...]) -> GaussianMatrix:
        """Row i written down rows[i] times and column j cols[j] times."""

        def plane_repeated(plane: list[list[int]]) -> list[list[int]]:
            wide = [[entry for entry, times in zip(row, cols, strict=True) for _ in range(times)] for row in plane]
            return [row for row, times in zip(wide, rows, strict=True) for _ in range(times)]

        return self._map(plane_repeated)

    def _map(self, change: Any) -> GaussianMatrix:
        imag = None if self.imag is None else change(self.imag)
        return GaussianMatrix(change(self.real), imag, self.denominator, self.is_complex)


def gaussian_matrix(entries: np.ndarray) -> GaussianMatrix:
    """The exact integers behind a two-dimensional array of finite numbers."""
    parts = [[exact_parts(entry) for entry in row] for row in entries.tolist()]
    # Every float is an integer over a power of two, so this is a power of two for float input.
    denominator = math.lcm(*(part.denominator for row in parts for entry in row for part in entry))
    planes = [[[int(entry[plane] * denominator) for entry in row] for row in parts] for plane in (0, 1)]
    imag = planes[1] if any(any(row) for row in planes[1]) else None
    return GaussianMatrix(planes[0], imag, denominator, _is_complex(entries))


def exact_parts(number: Any) -> tuple[Fraction, Fraction]:
    """The real and the imaginary part of one finite number; the errors of `Fraction` for NaN and infinities."""
    if hasattr(number, "item") and getattr(number, "size", 1) == 1:
        number = number.item()
    if isinstance(number, ExactComplex):
        return number.real, number.imag
    if isinstance(number, (Integral, Rational)):
        return Fraction(int(number.numerator), int(number.denominator)), Fraction(0)
    if isinstance(number, (float, complex, np.inexact, mpmath.mpf, mpmath.mpc)):
        return _exact_real(number.real), _exact_real(number.imag)
    raise TypeError(f"entries must be numbers, got {type(number).__name__}.")


def _exact_real(number: Any) -> Fraction:
    if isinstance(number, mpmath.mpf):
        if not mpmath.isfinite(number):
            raise ValueError(f"cannot convert {number} to a Fraction.")
        return Fraction(*map(int, to_rational(number._mpf_)))
    return Fraction(*number.as_integer_ratio())


def _is_complex(entries: np.ndarray) -> bool:
    if entries.dtype != object:
        return np.iscomplexobj(entries)
    return any(isinstance(entry, (complex, np.complexfloating, mpmath.mpc, ExactComplex)) for entry in entries.flat)


def _nearest_float(number: Fraction) -> float:
    # Division of ints rounds correctly, below the normal range too; Fraction raises where IEEE gives infinity.
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf
