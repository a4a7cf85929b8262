"""Hafnians and loop hafnians as moments of Gaussians: a sum over signs that knows of no matching."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from ._exact import ExactComplex
from ._inputs import CountsLike, MatrixLike, refuse_beyond
from ._permanent import over
from ._symmetric import Graph, graph, graph_with_loops

_MOST_TERMS = 2**20


def hafnian_kan(matrix: MatrixLike, *, repeats: CountsLike = None) -> ExactComplex:
    """Hafnian of a matrix with photon multiplicities, exactly, by Kan's formula for Gaussian moments.

    The sum over v, 0 <= v_i <= r_i, of (-1)^(sum v) prod_i binom(r_i, v_i) (h^T A h / 2)^(N/2) / (N/2)! with
    h = r/2 - v, r the repeats and N their sum (Kan, J. Multivariate Anal. 99 (2008) 542).

    Args:
        matrix: (n, n) as `hafnian_exact` takes it.
        repeats: (n,) how often each row and column is written down; None for once.

    Returns:
        The exact hafnian of the written-out N x N matrix; 0 for odd N; 1 for N = 0.

    Raises:
        ValueError: as `hafnian_exact`, or more than 2^20 terms.
        TypeError: entries that are not numbers.

    Notes:
        Product of (repeats + 1) terms, halved. All ones of size 4 give 3.
    """
    name = "hafnian_kan"
    return _moment(name, graph(name, matrix, repeats))


def loop_hafnian_kan(
    matrix: MatrixLike, loops: npt.ArrayLike | None = None, *, repeats: CountsLike = None
) -> ExactComplex:
    """Loop hafnian of a matrix with photon multiplicities, exactly, by Kan's formula for Gaussian moments.

    The moment of a Gaussian with covariance A and mean the loops: (h^T A h / 2)^(N/2) / (N/2)! of `hafnian_kan`
    becomes the sum over k of (h^T A h / 2)^k (h^T loops)^(N - 2k) / (k! (N - 2k)!) (Kan, J. Multivariate
    Anal. 99 (2008) 542).

    Args:
        matrix: (n, n) as `loop_hafnian_exact` takes it.
        loops: (n,) the weight of each vertex left alone; None for the diagonal.
        repeats: (n,) how often each vertex is written down; None for once.

    Returns:
        The exact loop hafnian of the written-out N x N matrix, odd N included; 1 for N = 0.

    Raises:
        ValueError: as `loop_hafnian_exact`, or more than 2^20 terms.
        TypeError: entries that are not numbers.

    Notes:
        Product of (repeats + 1) terms, halved, of N/2 products each. All ones of size 4 give 10.
    """
    name = "loop_hafnian_kan"
    return _moment(name, graph_with_loops(name, matrix, loops, repeats))


def _moment(name: str, given: Graph) -> ExactComplex:
    """Kan's sum with g = 2 h: N! 2^N times the moment is the integer sum that is taken here."""
    refuse_beyond(name, math.prod(count + 1 for count in given.counts), _MOST_TERMS, "terms")
    size, (edges, loops, one, denominator) = given.size, given.integers()
    # Ways to pair up 2k of N vertices.
    ways = [
        math.factorial(size) // (2**k * math.factorial(k) * math.factorial(size - 2 * k)) for k in range(size // 2 + 1)
    ]
    real = imag = 0
    for weight, quadratic, linear in _points(given.counts, edges, loops, one):
        # Without loops every vertex is paired: the highest power alone, times the zero of `linear` for odd N.
        powers = range(size // 2 + 1) if loops is not None else [size // 2]
        for k in powers:
            term = (weight * ways[k]) * (quadratic**k * linear ** (size - 2 * k))
            real += term.real
            imag += term.imag
    return over(real, imag, denominator * math.factorial(size) * 2**size)


def _points(
    counts: tuple[int, ...], edges: list[list[Any]], loops: list[Any] | None, one: Any
) -> Iterator[tuple[int, Any, Any]]:
    """Weights, g^T A g and g^T loops for every g = repeats - 2 v, one of each pair g and -g."""
    zero = 0 * one
    choices = [[(c - 2 * v, (-1) ** v * math.comb(c, v)) for v in range(c + 1)] for c in counts]
    # The terms of g and -g are equal; the first vertex with copies chooses between them.
    first = next((i for i, c in enumerate(counts) if c), None)
    if first is not None:
        choices[first] = [(g, 2 * weight if g else weight) for g, weight in choices[first] if g >= 0]

    def walk(i: int, weight: int, quadratic: Any, linear: Any, inner: list[Any]) -> Iterator[tuple[int, Any, Any]]:
        if i == len(counts):
            yield weight, quadratic, linear
            return
        for g, factor in choices[i]:
            wider = quadratic + (2 * g) * inner[0] + (g * g) * edges[i][i]
            further = linear if loops is None else linear + g * loops[i]
            products = [x + g * a for x, a in zip(inner[1:], edges[i][i + 1 :], strict=True)]
            yield from walk(i + 1, weight * factor, wider, further, products)

    yield from walk(0, 1, zero, zero, [zero] * len(counts))
