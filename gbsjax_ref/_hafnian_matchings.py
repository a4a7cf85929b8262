"""Hafnians and loop hafnians by their definition: every matching written down."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy.typing as npt

from ._exact import ExactComplex
from ._inputs import CountsLike, MatrixLike, refuse_beyond
from ._permanent import over
from ._symmetric import Graph, graph, graph_with_loops

_MOST_MATCHINGS = 10**6


def hafnian_by_matchings(matrix: MatrixLike, *, repeats: CountsLike = None) -> ExactComplex:
    """Hafnian by its definition: the sum over perfect matchings of the products of a[i, j] over the pairs, exactly.

    Args:
        matrix: (n, n) symmetric: finite numbers of any kind (float, complex, int, Fraction, mpmath), taken
            exactly. Entries that differ from their mirror images by at most 2^-47 of the largest modulus are
            replaced by the exact mean. The diagonal is not read, except where it joins two copies.
        repeats: (n,) how often each row and column is written down; None for once.

    Returns:
        The exact hafnian of the written-out N x N matrix; 0 for odd N; 1 for N = 0.

    Raises:
        ValueError: not square, not symmetric, NaN or infinite entries, repeats that are negative or
            fractional, or more than a million matchings (N above 14).
        TypeError: entries that are not numbers.

    Notes:
        (N - 1)!! products of N/2 factors. All ones of size 4 give 3.
    """
    name = "hafnian_by_matchings"
    given = graph(name, matrix, repeats)
    # Beyond 40 vertices the count itself is long; it stays above any limit.
    refuse_beyond(name, math.prod(range(min(given.size, 40) - 1, 1, -2)), _MOST_MATCHINGS, "perfect matchings")
    return _definition(given)


def loop_hafnian_by_matchings(
    matrix: MatrixLike, loops: npt.ArrayLike | None = None, *, repeats: CountsLike = None
) -> ExactComplex:
    """Loop hafnian by its definition: the sum over all ways to pair vertices or leave them alone, exactly.

    Args:
        matrix: (n, n) symmetric: finite numbers of any kind (float, complex, int, Fraction, mpmath), taken
            exactly. Entries that differ from their mirror images by at most 2^-47 of the largest modulus are
            replaced by the exact mean. The diagonal joins two copies of a vertex, and is the default of loops.
        loops: (n,) the weight of each vertex left alone; None for the diagonal.
        repeats: (n,) how often each vertex is written down; None for once.

    Returns:
        The exact loop hafnian of the written-out N x N matrix, odd N included; 1 for N = 0.

    Raises:
        ValueError: not square, not symmetric, NaN or infinite entries, loops of another length, repeats that
            are negative or fractional, or more than a million matchings (N above 13).
        TypeError: entries that are not numbers.

    Notes:
        One product a matching, whose number is the telephone number of N: 10 for N = 4.
    """
    name = "loop_hafnian_by_matchings"
    given = graph_with_loops(name, matrix, loops, repeats)
    before, telephone = 1, 1
    for k in range(2, min(given.size, 40) + 1):
        before, telephone = telephone, telephone + (k - 1) * before
    refuse_beyond(name, telephone, _MOST_MATCHINGS, "matchings")
    return _definition(given)


def _definition(given: Graph) -> ExactComplex:
    edges, loops, one, denominator = given.integers()
    vertices = [i for i, count in enumerate(given.counts) for _ in range(count)]
    real = imag = 0
    for matching in _matchings(vertices, lone=loops is not None):
        product = one
        for group in matching:
            product = product * (edges[group[0]][group[1]] if len(group) == 2 else loops[group[0]])  # type: ignore[index]
        real += product.real
        imag += product.imag
    return over(real, imag, denominator)


def _matchings(vertices: list[int], lone: bool) -> Iterator[list[tuple[int, ...]]]:
    """All partitions into pairs, and single vertices where these may be left alone."""
    if not vertices:
        yield []
        return
    first, *others = vertices
    if lone:
        for matching in _matchings(others, lone):
            yield [(first,), *matching]
    for k, partner in enumerate(others):
        for matching in _matchings(others[:k] + others[k + 1 :], lone):
            yield [(first, partner), *matching]
