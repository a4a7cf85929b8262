"""Glynn's formula with multiplicities, as a sum over words of modes; knows nothing of precision or of dtypes."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax._permanent.launch import Grid
from gbsjax.numbers import Numbers

N = TypeVar("N", bound=Numbers)


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
    sums: Any


def _digits(radices: tuple[int, ...]) -> np.ndarray:
    return np.indices(radices[::-1]).reshape(len(radices), math.prod(radices))[::-1]


def tables(matrix: Any, modes: Modes, grid: Grid) -> list[Table]:
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


def power(x: N, exponent: jax.Array, bits: int) -> N:
    result = x.one()
    for bit in range(bits):
        result = (result * x).where((exponent >> bit) & 1 == 1, result)
        if bit + 1 < bits:
            x = x * x
    return result


class Word(NamedTuple):
    """Where a nest of loops stands: the block with the loops' row sums added, their weight, the values they chose."""

    block: Any
    weight: jax.Array
    values: jax.Array


def loops_over(around: list[Table], at: Word, step: Callable[[Word], Any], zero: Any, add: Callable[..., Any]) -> Any:
    """The sum by `add`, over every word of the loop groups, of what step returns there."""
    if not around:
        return step(at)
    table, *inner = around
    sums = table.sums.map(jnp.transpose)
    following = sums.map(lambda plane: jnp.roll(plane, -1, axis=0))

    def shifted(row: Any) -> Any:
        return at.block + row[:, None]

    # The next block travels in the carry: computed where it is used, XLA:CPU would fuse it into every term.
    def body(carry: tuple[Any, Any], word: tuple) -> tuple[tuple[Any, Any], None]:
        total, block = carry
        place, weight, values = word
        here = Word(block, at.weight * weight, jnp.concatenate([at.values, values]))
        return (add(total, loops_over(inner, here, step, zero, add)), shifted(following[place])), None

    words = (jnp.arange(table.weights.shape[0]), table.weights, table.coefficients.T)
    return lax.scan(body, (zero, shifted(sums[0])), words)[0][0]


def start(unroll: Table, block: Table) -> Word:
    """No loop entered yet; the words of the block run within each word of the unrolled modes."""
    words = unroll.sums.map(lambda plane: plane[:, :, None]) + block.sums.map(lambda plane: plane[:, None, :])
    dtype = block.coefficients.dtype
    flat = words.map(lambda plane: plane.reshape(plane.shape[0], -1))
    return Word(flat, jnp.ones((), dtype), jnp.zeros((0,), dtype))


def zeros_like(like: N, *shape: int) -> N:
    # Made from the data, not a constant: inside shard_map a carry must vary over the mesh like what is added to it.
    return like.map(lambda plane: jnp.broadcast_to(plane[0, 0] * 0, shape))


def row_sums(lanes: N, words: N) -> N:
    """Row sums (.., words, lanes) from the tables (.., lanes) and (.., words)."""
    return lanes.map(lambda plane: plane[..., None, :]) + words.map(lambda plane: plane[..., :, None])


def sums(matrix: Any, modes: Modes, grid: Grid, power_bits: int) -> tuple[Any, jax.Array]:
    """Of the sum over all words of the product of their weights times prod_j (sum_i value_i A_ij)**power_j, what is to
    be added up, (words of the block, lanes), and the weights of the lanes."""
    lanes, unroll, block, *loops = tables(matrix, modes, grid)
    each = block.weights.shape[0]

    def term(at: Word, word: int) -> Any:
        words = at.block.map(lambda plane: plane[:, word * each : (word + 1) * each])

        def factor(column: int | jax.Array) -> Any:
            row = row_sums(lanes.sums[column], words[column])
            return row if modes.powers is None else power(row, jnp.asarray(modes.powers)[column], power_bits)

        product = matrix.product(factor, matrix.shape[1])
        weight = (at.weight * unroll.weights[word] * block.weights)[:, None]
        return product.times(weight)

    def step(at: Word) -> Any:
        terms = [term(at, word) for word in range(unroll.weights.shape[0])]
        while len(terms) > 1:
            # In pairs, which leaves the least to lose.
            terms = [functools.reduce(operator.add, terms[k : k + 2]) for k in range(0, len(terms), 2)]
        return terms[0].stored()

    zero = zeros_like(matrix, each, lanes.weights.shape[0]).stored()
    found = loops_over(loops, start(unroll, block), step, zero, lambda total, more: (total + more).stored())
    return found, jnp.asarray(lanes.weights)


def value(matrix: Numbers, modes: Modes, grid: Grid, power_bits: int) -> Any:
    found, weights = sums(matrix, modes, grid, power_bits)
    return found.total(weights)
