"""The door of the hafnians and torontonians: symmetric and Hermitian matrices, loops, repeats."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._exact import GaussianMatrix
from ._gaussian import GaussianInteger
from ._inputs import CountsLike, MatrixLike, counts_of, finite_matrix, finite_vector, square_entries

# A matrix computed in float64 may be symmetric up to rounding: 64 units, 2^-47, of its largest entry.
_TOLERANCE_BITS = 47

# Moduli are integer square roots with so many bits below the unit of the entries.
_ROOT_BITS = 128


@dataclass(frozen=True)
class Graph:
    """A complete graph: weighted edges, weighted loops, and how often each vertex is written down.

    Attributes:
        edges: (n, n) symmetric; the diagonal joins two copies of one vertex and is zero where it is not read.
        loops: (1, n), or None for a graph without loops.
        counts: copies of each vertex.
    """

    edges: GaussianMatrix
    loops: GaussianMatrix | None
    counts: tuple[int, ...]

    @property
    def size(self) -> int:
        """Vertices, copies counted."""
        return sum(self.counts)

    @property
    def is_complex(self) -> bool:
        """Whether edges or loops came as complex numbers, be their imaginary parts zero or not."""
        return self.edges.is_complex or (self.loops is not None and self.loops.is_complex)

    def moduli(self) -> Graph:
        """Every weight replaced by its modulus, to a relative 2^-128."""
        return replace(self, edges=_moduli(self.edges), loops=None if self.loops is None else _moduli(self.loops))

    def integers(self) -> tuple[list[list[Any]], list[Any] | None, Any, int]:
        """Edges, loops and one as ints or GaussianIntegers; what to divide a sum over perfect matchings by.

        Loops are over d and edges over d^2, so that every matching has the denominator d^size.
        """
        if self.loops is None:
            is_real = self.edges.imag is None
            return _numbers(self.edges, 1, is_real), None, _one(is_real), self.edges.denominator ** (self.size // 2)
        is_real = self.edges.imag is None and self.loops.imag is None
        d = math.lcm(self.edges.denominator, self.loops.denominator)
        edges = _numbers(self.edges, d * d // self.edges.denominator, is_real)
        loops = _numbers(self.loops, d // self.loops.denominator, is_real)[0]
        return edges, loops, _one(is_real), d**self.size


def graph(function: str, matrix: MatrixLike, repeats: CountsLike) -> Graph:
    """The graph of a hafnian."""
    entries = square_entries(function, matrix)
    counts = counts_of(function, "repeats", len(entries), repeats)
    return Graph(_symmetric(function, _without_unread(entries, counts)), None, counts)


def graph_with_loops(function: str, matrix: MatrixLike, loops: npt.ArrayLike | None, repeats: CountsLike) -> Graph:
    """The graph of a loop hafnian; loops from the diagonal where they are None."""
    entries = square_entries(function, matrix)
    counts = counts_of(function, "repeats", len(entries), repeats)
    weights = finite_vector(function, "loops", entries.diagonal() if loops is None else loops, len(entries))
    return Graph(_symmetric(function, _without_unread(entries, counts)), weights, counts)


def hermitian_matrix(function: str, matrix: MatrixLike) -> GaussianMatrix:
    """The exact Hermitian part of a (2m, 2m) array-like; ValueError unless Hermitian up to rounding."""
    entries = square_entries(function, matrix)
    if len(entries) % 2:
        raise ValueError(f"{function}: matrix must have shape (2m, 2m), got {entries.shape}.")
    return _reflected_mean(function, finite_matrix(function, entries), "Hermitian", -1)


def _symmetric(function: str, entries: np.ndarray) -> GaussianMatrix:
    return _reflected_mean(function, finite_matrix(function, entries), "symmetric", 1)


def _without_unread(entries: np.ndarray, counts: tuple[int, ...]) -> np.ndarray:
    """The diagonal joins copies of a vertex: zero, whatever it holds, where there is one copy or none."""
    kept = entries.copy()
    for i, count in enumerate(counts):
        if count <= 1:
            kept[i, i] = 0
    return kept


def _reflected_mean(function: str, given: GaussianMatrix, kind: str, sign: int) -> GaussianMatrix:
    """(A + A^T)/2, or with sign -1 (A + A^H)/2, where the two halves differ by rounding only."""
    real, imag = given.real, given.imaginary()
    reflected_re, reflected_im = _transposed(real, 1), _transposed(imag, sign)
    if real == reflected_re and imag == reflected_im:
        return given
    largest = max(a * a + b * b for a, b in _pairs(real, imag))
    difference = max(
        (a - c) ** 2 + (b - d) ** 2
        for (a, b), (c, d) in zip(_pairs(real, imag), _pairs(reflected_re, reflected_im), strict=True)
    )
    if difference << 2 * _TOLERANCE_BITS > largest:
        ratio = math.sqrt(difference / largest)
        raise ValueError(
            f"{function}: matrix must be {kind}, up to 2^-{_TOLERANCE_BITS} of its largest entry; got entries "
            f"that differ from their mirror images by {ratio:.3g} of it. Pass the {kind} part."
        )
    mean_re, mean_im = _sum(real, reflected_re), _sum(imag, reflected_im)
    imaginary = mean_im if any(map(any, mean_im)) else None
    return GaussianMatrix(mean_re, imaginary, 2 * given.denominator, given.is_complex)


def _transposed(plane: list[list[int]], sign: int) -> list[list[int]]:
    return [[sign * entry for entry in column] for column in zip(*plane, strict=True)]


def _sum(plane: list[list[int]], other: list[list[int]]) -> list[list[int]]:
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(plane, other, strict=True)]


def _pairs(real: list[list[int]], imag: list[list[int]]) -> list[tuple[int, int]]:
    return [pair for rows in zip(real, imag, strict=True) for pair in zip(*rows, strict=True)]


def _moduli(given: GaussianMatrix) -> GaussianMatrix:
    planes = zip(given.real, given.imaginary(), strict=True)
    roots = [[math.isqrt((a * a + b * b) << 2 * _ROOT_BITS) for a, b in zip(*rows, strict=True)] for rows in planes]
    return GaussianMatrix(roots, None, given.denominator << _ROOT_BITS, False)


def _numbers(given: GaussianMatrix, scale: int, is_real: bool) -> list[list[Any]]:
    if is_real:
        return [[scale * entry for entry in row] for row in given.real]
    planes = zip(given.real, given.imaginary(), strict=True)
    return [[GaussianInteger(scale * a, scale * b) for a, b in zip(*rows, strict=True)] for rows in planes]


def _one(is_real: bool) -> Any:
    return 1 if is_real else GaussianInteger(1, 0)
