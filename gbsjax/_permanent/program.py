"""Glynn's formula with multiplicities, as a sum over words of modes; knows nothing of precision or of dtypes."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax._permanent.launch import GROUP, UNROLL, Grid
from gbsjax.numbers import Planes


class Modes(NamedTuple):
    """What the sum runs over: mode i takes the value counts[i] - 2 t with the weight weights[i, t], t < its radix.

    `powers` are the multiplicities of the columns, None where all are 1. NumPy arrays become constants of the program.
    """

    counts: jax.Array | np.ndarray
    weights: jax.Array | np.ndarray
    powers: jax.Array | np.ndarray | None


class Table(NamedTuple):
    """One group of modes, word by word: coefficients (k, words), weight (words,), partial row sums (l, words)."""

    coefficients: jax.Array | np.ndarray
    weights: jax.Array | np.ndarray
    sums: Planes


def _digits(radices: tuple[int, ...]) -> np.ndarray:
    return np.indices(radices[::-1]).reshape(len(radices), math.prod(radices))[::-1]


def tables(matrix: Planes, modes: Modes, grid: Grid) -> list[Table]:
    """The partial row sums of every group: sum over its modes i of value_i A_ij."""
    made, first = [], 0
    for group in grid.groups:
        modes_of = slice(first, first + len(group))
        digits = _digits(group)
        coefficients = modes.counts[modes_of, None] - 2 * digits.astype(modes.counts.dtype)
        weights = modes.weights[modes_of][np.arange(len(group))[:, None], digits].prod(axis=0)
        made.append(Table(coefficients, weights, matrix[modes_of].combine(coefficients)))
        first += len(group)
    return made


def _power(x: Planes, exponent: jax.Array, bits: int) -> Planes:
    result = x.one()
    for bit in range(bits):
        result = (result * x).where((exponent >> bit) & 1 == 1, result)
        if bit + 1 < bits:
            x = x * x
    return result


class Word(NamedTuple):
    """Where a nest of loops stands: the block with the loops' row sums added, their weight, the values they chose."""

    block: Planes
    weight: jax.Array
    values: jax.Array


def _loops(around: list[Table], at: Word, step: Callable[[Word], Any], zero: Any) -> Any:
    """The sum, over every word of the loop groups, of what step returns there (arrays or a tuple of arrays)."""
    if not around:
        return step(at)
    table, *inner = around
    sums = table.sums.map(jnp.transpose)
    following = sums.map(lambda plane: jnp.roll(plane, -1, axis=0))

    def shifted(row: Planes) -> Planes:
        return at.block + row[:, None]

    # The next block travels in the carry: computed where it is used, XLA:CPU would fuse it into every term.
    def body(carry: tuple[Any, Planes], word: tuple) -> tuple[tuple[Any, Planes], None]:
        total, block = carry
        row, weight, values = word
        here = Word(block, at.weight * weight, jnp.concatenate([at.values, values]))
        return (jax.tree.map(jnp.add, total, _loops(inner, here, step, zero)), shifted(row)), None

    words = (following, table.weights, table.coefficients.T)
    return lax.scan(body, (zero, shifted(sums[0])), words)[0][0]


def _start(block: Table) -> Word:
    dtype = block.sums.re.dtype
    return Word(block.sums, jnp.ones((), dtype), jnp.zeros((0,), dtype))


def _zeros(like: Planes, *shape: int) -> jax.Array:
    # Made from the data, not a constant: inside shard_map a carry must vary over the mesh like what is added to it.
    return jnp.broadcast_to(like.map(lambda plane: plane[0, 0] * 0).array(), shape)


def _total(array: jax.Array, axis: int, weights: jax.Array | np.ndarray | None = None) -> jax.Array:
    # A product and not a reduction: XLA:CPU would fuse a reduction with the terms and walk them one by one.
    size = array.shape[axis]
    vector = jnp.ones(size, array.dtype) if weights is None else jnp.asarray(weights).astype(array.dtype)
    return jnp.tensordot(array, vector, axes=(axis, 0), precision=lax.Precision.HIGHEST)


def value(matrix: Planes, modes: Modes, grid: Grid, power_bits: int) -> Planes:
    """The sum over all words of the product of their weights times prod_j (sum_i value_i A_ij)**power_j."""
    lanes, block, *loops = tables(matrix, modes, grid)
    columns, words = block.sums.re.shape
    unroll = min(UNROLL, words)
    each = -(-words // unroll)
    pad = unroll * each - words
    block = block._replace(
        sums=block.sums.map(lambda plane: jnp.pad(plane, ((0, 0), (0, pad)))),
        weights=jnp.pad(block.weights, (0, pad)),
    )

    def factor(at: Word, column: int, words_of: slice) -> Planes:
        part = at.block.map(lambda plane: plane[column, words_of, None])
        result = lanes.sums.map(lambda plane: plane[column, None, :]) + part
        return result if modes.powers is None else _power(result, modes.powers[column], power_bits)

    def step(at: Word) -> jax.Array:
        terms = []
        for word in range(unroll):
            words_of = slice(word * each, (word + 1) * each)
            product = functools.reduce(operator.mul, (factor(at, column, words_of) for column in range(columns)))
            weight = (at.weight * block.weights[words_of])[:, None]
            terms.append(product.map(lambda plane, weight=weight: plane * weight))
        return functools.reduce(operator.add, terms).array()

    sums = _loops(loops, _start(block), step, _zeros(matrix, each, lanes.weights.shape[0]))
    return Planes.of(jnp.sum(_total(sums, 1, lanes.weights)))


def minors(matrix: Planes, modes: Modes, grid: Grid, power_bits: int) -> Planes:
    """The derivative of `value` by every entry of the matrix, (k, l), in one pass and without a division.

    In each term the derivative by the row sum j is the product of the others, from prefix and suffix products over
    groups of columns; the row sums are linear in the matrix, so tables of its words' values bring the sums back.
    """
    lanes, block, *loops = tables(matrix, modes, grid)
    columns = matrix.re.shape[1]
    groups = -(-columns // GROUP)
    pad = groups * GROUP - columns

    def grouped(sums: Planes, fill: int) -> Planes:
        padded = sums.map(lambda plane: jnp.pad(plane, ((0, pad), (0, 0))))
        padded = Planes(padded.re.at[columns:].set(fill), padded.im) if pad else padded
        return padded.map(lambda plane: plane.reshape(groups, GROUP, -1))

    lane_sums = grouped(lanes.sums, 1)
    powers = None if modes.powers is None else jnp.pad(modes.powers, (0, pad)).reshape(groups, GROUP)
    weights = lanes.weights[None, :] * block.weights[:, None]

    def factors(lane: Planes, word: Planes, power: jax.Array | None) -> tuple[list[Planes], list[Planes | None]]:
        values, slopes = [], []
        for column in range(GROUP):
            x = lane.map(lambda plane, c=column: plane[c, None, :]) + word.map(
                lambda plane, c=column: plane[c, :, None]
            )
            slope = None
            if power is not None:
                exponent = power[column]
                low = _power(x, jnp.maximum(exponent - 1, 0), power_bits)
                slope = low.map(lambda plane, e=exponent: plane * e.astype(plane.dtype))
                x = (x * low).where(exponent > 0, x.one())
            values.append(x)
            slopes.append(slope)
        return values, slopes

    def step(at: Word) -> tuple[jax.Array, jax.Array, jax.Array]:
        word_sums = grouped(at.block, 0)
        each = (lane_sums, word_sums, powers)

        def forward(prefix: jax.Array, group: tuple) -> tuple[jax.Array, jax.Array]:
            values, _ = factors(*group)
            return functools.reduce(operator.mul, [Planes.of(prefix), *values]).array(), prefix

        def backward(suffix: jax.Array, group: tuple) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            prefix, *sums = group
            values, slopes = factors(*sums)
            outside = Planes.of(prefix) * Planes.of(suffix)
            over_words, over_lanes = [], []
            for column in range(GROUP):
                others = [*values[:column], *values[column + 1 :], outside]
                if slopes[column] is not None:
                    others.append(slopes[column])
                slope = functools.reduce(operator.mul, others).array()
                over_words.append(_total(slope, 0))
                over_lanes.append(_total(slope, 1))
            after = functools.reduce(operator.mul, [Planes.of(suffix), *values]).array()
            return after, (jnp.stack(over_words), jnp.stack(over_lanes))

        one = _zeros(matrix, *weights.shape) + 1
        _, prefixes = lax.scan(forward, one, each)
        _, sums = lax.scan(backward, one * (at.weight * weights).astype(one.dtype), (prefixes, *each), reverse=True)
        by_lane, by_word = (part.reshape(groups * GROUP, -1)[:columns] for part in sums)
        return by_lane, by_word, at.values[:, None].astype(by_word.dtype) * jnp.sum(by_word, axis=1)[None, :]

    shapes = [(columns, weights.shape[1]), (columns, weights.shape[0]), (sum(map(len, grid.loops)), columns)]
    by_lane, by_word, by_loop = _loops(loops, _start(block), step, tuple(_zeros(matrix, *shape) for shape in shapes))
    rows = [
        jnp.matmul(table.coefficients.astype(by.dtype), by.T, precision=lax.Precision.HIGHEST)
        for table, by in ((lanes, by_lane), (block, by_word))
    ]
    return Planes.of(jnp.concatenate([*rows, by_loop]))
