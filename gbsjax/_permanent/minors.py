"""All first derivatives of the Glynn sum in one pass: a program of its own beside the value's."""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax._permanent.launch import IDLE_LANES, Grid
from gbsjax._permanent.program import Modes, Table, Word, loops_over, power, row_sums, start, tables, zeros_like
from gbsjax.numbers import Planes, together

ALL, OTHER = slice(None), slice(None, None, -1)


def _constant(real: jax.Array, like: Planes) -> Planes:
    return Planes(real, None if like.im is None else jnp.zeros_like(real))


def _signed(terms: list[list[Planes]]) -> list[list[Planes]]:
    """The sum of 2**k lists of numbers, then for each of the k bits of their place the sum signed by that bit."""
    if len(terms) == 1:
        return terms
    even, odd = terms[0::2], terms[1::2]
    total, *rest = _signed([_plus(a, b) for a, b in zip(even, odd, strict=True)])
    differences = [[x - y for x, y in zip(a, b, strict=True)] for a, b in zip(even, odd, strict=True)]
    return [total, functools.reduce(_plus, differences), *rest]


def _plus(a: list[Planes], b: list[Planes]) -> list[Planes]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _product(factors: list[Planes]) -> Planes:
    return functools.reduce(operator.mul, factors)


def _others(factors: list[Planes], outside: Planes) -> list[Planes]:
    """For each factor, the product of the other factors times `outside`; no division, since factors may be zero."""
    if len(factors) == 1:
        return [outside]
    low, high = factors[: len(factors) // 2], factors[len(factors) // 2 :]
    return _others(low, outside * _product(high)) + _others(high, outside * _product(low))


def _quads(sums: Any, fill: int, present: jax.Array | None) -> Planes:
    """(l, words) row sums as (quads, 2 pairs, 2 columns, words); columns missing or without a photon are `fill`."""
    columns, words = sums.re.shape
    if present is not None:
        sums = sums.where(present[:, None], sums.one().map(lambda plane: fill * plane))
    pad = ((0, -columns % 4), (0, 0))
    re = jnp.pad(sums.re, pad, constant_values=fill)
    im = None if sums.im is None else jnp.pad(sums.im, pad)
    return Planes(re, im).map(lambda plane: plane.reshape(-1, 2, 2, words))


class _Slopes(NamedTuple):
    """Derivatives by the row sums of columns 2p and 2p + 1 of every pair p, (quads, 2, ..), by word of each group."""

    lanes: list[Planes]
    block: list[Planes]
    unroll: list[list[Planes]]
    loops: list[Planes]


def minors(matrix: Planes, modes: Modes, grid: Grid, power_bits: int) -> Planes:
    """The derivative of `value` by every entry of the matrix, (k, l), in one pass and without a division.

    In each term the derivative by the row sum j is the product of the others; columns go in quads of two pairs, so that
    a block takes three kernels: the product of every quad, for every quad the product of the other quads, and for
    every pair the two slopes, summed over the unrolled words, plainly and with the signs of those words' modes. Row
    sums are linear in the matrix, so the values of the words bring the sums back to its entries.
    """
    lanes, unroll, block, *loops = tables(matrix, modes, grid)
    idle = ((0, 0), (0, IDLE_LANES))
    sums = lanes.sums.map(lambda plane: jnp.pad(plane, idle))
    lanes = Table(jnp.pad(lanes.coefficients, idle), jnp.pad(lanes.weights, idle[1:]), sums)
    columns = matrix.re.shape[1]
    unrolled, each, vector = (table.weights.shape[0] for table in (unroll, block, lanes))
    # With powers p, the slope of prod x**p by one x is p times that of prod x, all times prod x**(p-1).
    present = None if modes.powers is None else jnp.asarray(modes.powers) > 0
    lane_quads = _quads(lanes.sums, 1, present)
    weights = jnp.asarray(unroll.weights)[:, None, None] * jnp.asarray(block.weights)[None, :, None]

    def higher_powers(at: Word) -> Planes:
        assert modes.powers is not None
        exponents = jnp.maximum(jnp.asarray(modes.powers) - 1, 0)
        factors = [row_sums(lanes.sums[column], at.block[column]) for column in range(columns)]
        product = _product([power(x, exponents[column], power_bits) for column, x in enumerate(factors)])
        (kept,) = together([product])
        return kept.map(lambda plane: plane.reshape(unrolled, each, vector))

    def step(at: Word) -> _Slopes:
        word_quads = _quads(at.block, 0, present).map(lambda plane: plane.reshape(*plane.shape[:3], unrolled, each))

        def factor(pair: Any, column: int, word: Any) -> Planes:
            """Row sums of one column of each pair: (quads, [2,] [unrolled,] each, lanes)."""
            words = word_quads.map(lambda plane: plane[:, pair, column, ..., word, :])
            vectors = lane_quads.map(lambda plane: plane[:, pair, column])
            return row_sums(vectors.map(lambda plane: plane[:, None]) if word is ALL else vectors, words)

        (quads,) = together([_product([factor(pair, column, ALL) for pair in (0, 1) for column in (0, 1)])])
        outside = _constant(at.weight * jnp.broadcast_to(weights, (unrolled, each, vector)), quads)
        if modes.powers is not None:
            outside = outside * higher_powers(at)
        others = together(_others([quads[k] for k in range(quads.re.shape[0])], outside))
        outside = jax.tree.map(lambda *planes: jnp.stack(planes), *others)

        def slopes(word: int) -> list[Planes]:
            x = [factor(ALL, column, word) for column in (0, 1)]
            y = [factor(OTHER, column, word) for column in (0, 1)]
            rest = outside.map(lambda plane: plane[:, None, word]) * (y[0] * y[1])
            return [rest * x[1], rest * x[0]]

        kept = together([part for pair in _signed([slopes(word) for word in range(unrolled)]) for part in pair])
        over_lanes = [
            part.map(lambda plane: jnp.matmul(plane, lanes.weights, precision=lax.Precision.HIGHEST)) for part in kept
        ]
        whole = [part.map(lambda plane: jnp.sum(plane, axis=2)) for part in over_lanes]
        return _Slopes(
            # Written out: XLA:CPU adds it to the carry in one pass on both threads.
            lanes=[functools.reduce(operator.add, [part[:, :, word] for word in range(each)]) for part in kept[:2]],
            block=over_lanes[:2],
            unroll=[whole[i : i + 2] for i in range(2, len(whole), 2)],
            loops=[part.map(lambda plane: plane[..., None] * at.values[None, None, :]) for part in whole[:2]],
        )

    def zeros(*shape: int) -> list[Planes]:
        return [zeros_like(matrix, -(-columns // 4), 2, *shape)] * 2

    total = _Slopes(zeros(vector), zeros(each), [zeros()] * len(grid.unroll), zeros(sum(map(len, grid.loops))))
    plus = functools.partial(jax.tree.map, jnp.add)
    total = loops_over(loops, start(unroll, block), step, total, plus)

    # A mode of radix 2 has the values +-1, or, where its photon is absent from one pattern of a batch, 0 alone.
    unrolled_counts = modes.counts[len(grid.lanes) : len(grid.lanes) + len(grid.unroll)]

    def by_column(pair: list[Planes]) -> Planes:
        return jax.tree.map(
            lambda a, b: jnp.stack([a, b], axis=2).reshape(4 * a.shape[0], *a.shape[2:])[:columns].T, *pair
        )

    lane_sums = by_column(total.lanes).map(lambda plane: plane * jnp.asarray(lanes.weights)[:, None])
    rows = [
        lane_sums.combine(lanes.coefficients.T).map(jnp.transpose),
        *(
            by_column([part.map(lambda plane, m=count: plane[..., None] * m) for part in pair])
            for count, pair in zip(unrolled_counts, total.unroll, strict=True)
        ),
        by_column(total.block).combine(block.coefficients.T).map(jnp.transpose),
        by_column(total.loops),
    ]
    result = jax.tree.map(lambda *planes: jnp.concatenate(planes), *rows)
    if modes.powers is None:
        return result
    return result.map(lambda plane: plane * jnp.asarray(modes.powers).astype(plane.dtype)[None, :])
