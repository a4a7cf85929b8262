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

from gbsjax._permanent.launch import Grid
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


def power(x: Planes, exponent: jax.Array, bits: int) -> Planes:
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


def loops_over(around: list[Table], at: Word, step: Callable[[Word], Any], zero: Any) -> Any:
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
        return (jax.tree.map(jnp.add, total, loops_over(inner, here, step, zero)), shifted(row)), None

    words = (following, table.weights, table.coefficients.T)
    return lax.scan(body, (zero, shifted(sums[0])), words)[0][0]


def start(unroll: Table, block: Table) -> Word:
    """No loop entered yet; the words of the block run within each word of the unrolled modes."""
    words = unroll.sums.map(lambda plane: plane[:, :, None]) + block.sums.map(lambda plane: plane[:, None, :])
    dtype = block.sums.re.dtype
    flat = words.map(lambda plane: plane.reshape(plane.shape[0], -1))
    return Word(flat, jnp.ones((), dtype), jnp.zeros((0,), dtype))


def zeros_like(like: Planes, *shape: int) -> Planes:
    # Made from the data, not a constant: inside shard_map a carry must vary over the mesh like what is added to it.
    return like.map(lambda plane: jnp.broadcast_to(plane[0, 0] * 0, shape))


def row_sums(lanes: Planes, words: Planes) -> Planes:
    """Row sums (.., words, lanes) from the tables (.., lanes) and (.., words)."""
    return lanes.map(lambda plane: plane[..., None, :]) + words.map(lambda plane: plane[..., :, None])


def value(matrix: Planes, modes: Modes, grid: Grid, power_bits: int) -> Planes:
    """The sum over all words of the product of their weights times prod_j (sum_i value_i A_ij)**power_j."""
    lanes, unroll, block, *loops = tables(matrix, modes, grid)
    each = block.weights.shape[0]

    def factor(at: Word, column: int, word: int) -> Planes:
        words = at.block.map(lambda plane: plane[column, word * each : (word + 1) * each])
        sums = row_sums(lanes.sums[column], words)
        return sums if modes.powers is None else power(sums, modes.powers[column], power_bits)

    def term(at: Word, word: int) -> Planes:
        product = functools.reduce(operator.mul, [factor(at, column, word) for column in range(matrix.re.shape[1])])
        weight = (at.weight * unroll.weights[word] * block.weights)[:, None]
        return product.map(lambda plane: plane * weight)

    def step(at: Word) -> jax.Array:
        return functools.reduce(operator.add, (term(at, word) for word in range(unroll.weights.shape[0]))).array()

    sums = loops_over(loops, start(unroll, block), step, zeros_like(matrix, each, lanes.weights.shape[0]).array())
    # A product and not a reduction: XLA:CPU would fuse a reduction with the terms and walk them one by one.
    weights = jnp.asarray(lanes.weights).astype(sums.dtype)
    return Planes.of(jnp.sum(jnp.matmul(sums, weights, precision=lax.Precision.HIGHEST)))
