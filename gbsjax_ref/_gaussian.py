"""Gaussian integers as numbers, so that one program serves real and complex sums."""

from __future__ import annotations

from typing import TypeAlias


class GaussianInteger:
    """real + i imag with Python ints; a ring of its own, whose only mixed product is int * GaussianInteger."""

    __slots__ = ("imag", "real")

    def __init__(self, real: int, imag: int) -> None:
        self.real = real
        self.imag = imag

    def __add__(self, other: GaussianInteger) -> GaussianInteger:
        return GaussianInteger(self.real + other.real, self.imag + other.imag)

    def __mul__(self, other: GaussianInteger) -> GaussianInteger:
        a, b, c, d = self.real, self.imag, other.real, other.imag
        return GaussianInteger(a * c - b * d, a * d + b * c)

    def __rmul__(self, factor: int) -> GaussianInteger:
        return GaussianInteger(factor * self.real, factor * self.imag)

    def __pow__(self, exponent: int) -> GaussianInteger:
        power = GaussianInteger(1, 0)
        for _ in range(exponent):
            power = power * self
        return power


# A real input stays in plain ints: a third of the time.
Integer: TypeAlias = int | GaussianInteger
