"""Exact hafnians and loop hafnians with repeated vertices, and the same sums of moduli."""

from __future__ import annotations

import math
from itertools import dropwhile
from typing import Any

import mpmath
import numpy.typing as npt

from ._exact import ExactComplex, MpmathNumber
from ._gaussian import GaussianInteger
from ._inputs import CountsLike, MatrixLike, refuse_beyond
from ._permanent import over
from ._symmetric import Graph, graph, graph_with_loops

# Not all are reached: 121393 of the 2^24 sets of 24 vertices.
_MOST_STATES = 2**24

_MAJORANT_DIGITS = 30


def hafnian_exact(matrix: MatrixLike, *, repeats: CountsLike = None) -> ExactComplex:
    """Hafnian of a matrix with photon multiplicities, exactly, by sets of vertices still to be matched.

    The hafnian is the sum over perfect matchings of {1, .., N} of the products of a[i, j] over the matched
    pairs (Caianiello, Nuovo Cimento 10 (1953) 1634). The first unmatched vertex takes each possible partner in
    turn; equal sets of vertices left over are one state that carries the summed weight of all ways to it.

    Args:
        matrix: (n, n) symmetric: finite numbers of any kind (float, complex, int, Fraction, mpmath), taken
            exactly. Entries that differ from their mirror images by at most 2^-47 of the largest modulus are
            replaced by the exact mean. A diagonal entry joins two copies of one vertex: where a vertex is
            written down once or not at all it is not read, and may be NaN.
        repeats: (n,) how often each row and column is written down; None for once.

    Returns:
        The exact hafnian of the written-out N x N matrix; 0 for odd N; 1 for N = 0.

    Raises:
        ValueError: not square, not symmetric, NaN or infinite entries, repeats that are negative or
            fractional, or more than 2^24 states.
        TypeError: entries that are not numbers.

    Notes:
        Reaches Fibonacci(N + 2) states of single vertices, a long product for each partner: N = 20 takes about a
        second. Product of (repeats + 1) states at most. All ones of size 4 give 3.
    """
    name = "hafnian_exact"
    given = graph(name, matrix, repeats)
    return _exact(name, given)


def loop_hafnian_exact(
    matrix: MatrixLike, loops: npt.ArrayLike | None = None, *, repeats: CountsLike = None
) -> ExactComplex:
    """Loop hafnian of a matrix with photon multiplicities, exactly, by sets of vertices still to be matched.

    The sum over matchings of {1, .., N}, perfect once a vertex may also be left alone, of the products of
    a[i, j] over the pairs and loops[i] over the lone vertices (Bjorklund, Gupt and Quesada, ACM J. Exp.
    Algorithmics 24 (2019) 1.11, arXiv:1805.12498).

    Args:
        matrix: (n, n) symmetric: finite numbers of any kind (float, complex, int, Fraction, mpmath), taken
            exactly. Entries that differ from their mirror images by at most 2^-47 of the largest modulus are
            replaced by the exact mean. A diagonal entry joins two copies of one vertex, and is not read as
            such where a vertex is written down once or not at all.
        loops: (n,) the weight of each vertex left alone, the same for all its copies; None for the diagonal.
        repeats: (n,) how often each vertex is written down; None for once.

    Returns:
        The exact loop hafnian of the written-out N x N matrix, odd N included; 1 for N = 0.

    Raises:
        ValueError: not square, not symmetric, NaN or infinite entries, loops of another length, repeats that
            are negative or fractional, or more than 2^24 states.
        TypeError: entries that are not numbers.

    Notes:
        Reaches Fibonacci(N + 3) - 1 states of single vertices. All ones of size 4 give 10.
    """
    name = "loop_hafnian_exact"
    given = graph_with_loops(name, matrix, loops, repeats)
    return _exact(name, given)


def hafnian_majorant(matrix: MatrixLike, *, repeats: CountsLike = None) -> MpmathNumber:
    """Hafnian of the moduli haf(|A|), to 30 digits: what a sum of products may be wrong by is a multiple of it.

    A program that only adds and multiplies errs by at most about 4 N u haf(|A|), u = 2^-53.

    Args:
        matrix: (n, n) as `hafnian_exact` takes it.
        repeats: (n,) how often each row and column is written down; None for once.

    Returns:
        haf(|A|) as an mpf (beyond the range of float64 if need be), relative error below 10^-30; 0 for odd
        N; 1 for N = 0.

    Raises:
        ValueError: as `hafnian_exact`.
        TypeError: entries that are not numbers.

    Notes:
        The cost of `hafnian_exact`. haf(|A|) / |haf(A)| is the condition of the sum, 1 for entries of one
        sign. All entries i of size 4 give 3.
    """
    name = "hafnian_majorant"
    return _majorant(name, graph(name, matrix, repeats))


def loop_hafnian_majorant(
    matrix: MatrixLike, loops: npt.ArrayLike | None = None, *, repeats: CountsLike = None
) -> MpmathNumber:
    """Loop hafnian of the moduli lhaf(|A|, |loops|), to 30 digits: the scale of rounding errors.

    Args:
        matrix: (n, n) as `loop_hafnian_exact` takes it.
        loops: (n,) the weight of each vertex left alone; None for the diagonal.
        repeats: (n,) how often each vertex is written down; None for once.

    Returns:
        lhaf(|A|, |loops|) as an mpf, relative error below 10^-30; 1 for N = 0.

    Raises:
        ValueError: as `loop_hafnian_exact`.
        TypeError: entries that are not numbers.

    Notes:
        The cost of `loop_hafnian_exact`. All entries i of size 4, the diagonal too, give 10.
    """
    name = "loop_hafnian_majorant"
    return _majorant(name, graph_with_loops(name, matrix, loops, repeats))


def _exact(name: str, given: Graph) -> ExactComplex:
    refuse_beyond(name, math.prod(count + 1 for count in given.counts), _MOST_STATES, "states")
    edges, loops, one, denominator = given.integers()
    total = _sum_over_matchings(given.counts, edges, loops, one)
    return over(total.real, total.imag, denominator)


def _majorant(name: str, given: Graph) -> MpmathNumber:
    exact = _exact(name, given.moduli()).real
    with mpmath.workdps(_MAJORANT_DIGITS + 2):
        return mpmath.fraction(exact.numerator, exact.denominator) + 0


def _sum_over_matchings(counts: tuple[int, ...], edges: list[list[Any]], loops: list[Any] | None, one: Any) -> Any:
    """Weights flow from the whole graph to the empty one, which is where the sum arrives.

    A state is the copies left of each vertex from the first that has any: its length tells which one that is.
    """
    size = sum(counts)
    levels: list[dict[tuple[int, ...], Any]] = [{} for _ in range(size + 1)]
    levels[size][_trimmed(counts)] = one

    def arrive(level: int, left: tuple[int, ...], weight: Any) -> None:
        left = _trimmed(left)
        known = levels[level].get(left)
        levels[level][left] = weight if known is None else known + weight

    for level in range(size, 0, -1):
        for state, weight in levels[level].items():
            i = len(counts) - len(state)
            left = (state[0] - 1, *state[1:])
            if loops is not None:
                arrive(level - 1, left, weight * loops[i])
            for k, copies in enumerate(left):
                if copies:
                    pair = weight * edges[i][i + k]
                    arrive(level - 2, (*left[:k], copies - 1, *left[k + 1 :]), pair if copies == 1 else copies * pair)
        levels[level].clear()
    return levels[0].get((), 0 if isinstance(one, int) else GaussianInteger(0, 0))


def _trimmed(counts: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dropwhile(lambda count: not count, counts))
