"""The hafnian of one matrix with its derivative rule, above every backend."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax import _scaling
from gbsjax._batches import lanes_last
from gbsjax._hafnian import low_rank, pairs, photons, program
from gbsjax._hafnian.launch import MatchedPairs, Photons, Subsets
from gbsjax.numbers import DoubleDouble, Planes


def _symmetric(matrix: jax.Array) -> jax.Array:
    # Equal entries stay what they are, to the last bit and up to the end of the range.
    return matrix + (jnp.swapaxes(matrix, 0, 1) - matrix) / 2


def _read(matrix: jax.Array, read: np.ndarray) -> jax.Array:
    """The symmetric part, 0 where it is not read: whatever stands there must neither scale the rest nor make it NaN."""
    return jnp.where(
        read.reshape(*read.shape, *(1,) * (matrix.ndim - 2)), _symmetric(matrix), jnp.zeros((), matrix.dtype)
    )


def _pairs_read(how: Subsets) -> np.ndarray:
    read = ~np.eye(how.size, dtype=bool)
    if how.pairs is not None:
        read[:] = False
        for i, j in how.pairs:
            read[i, j] = read[j, i] = True
    return read


def _planes(loops: jax.Array | None) -> Planes | None:
    return None if loops is None else Planes.of(loops)


def _numbers(planes: Planes | None, precision: str) -> Any:
    return DoubleDouble.of(planes) if precision == "dd" and planes is not None else planes


@functools.cache
def _subsets(how: Subsets, precision: str) -> Callable[[jax.Array, jax.Array | None], tuple[jax.Array, ...]]:
    """The value, in double-double its high and low word."""

    @lanes_last
    def value(matrix: jax.Array, loops: jax.Array | None) -> tuple[jax.Array, ...]:
        planes = Planes.of(_read(matrix, _pairs_read(how)))
        balanced, ends, taken, finite = _scaling.balance(planes, _planes(loops), how.size)
        found = program.value(_numbers(balanced, precision), _numbers(ends, precision), how.pairs)
        lost = jnp.sum(taken, axis=0, dtype=taken.dtype)
        words = (found.hi, found.lo) if isinstance(found, DoubleDouble) else (found.rounded(),)
        return tuple(_scaling.restore(word, lost, finite) for word in words)

    return value


def subset_words(matrix: jax.Array, loops: jax.Array | None, how: Subsets) -> tuple[jax.Array, ...]:
    """The subset recurrence for one (n, n) matrix in double-double: the high and the low word."""
    return _subsets(how, "dd")(matrix, loops)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def by_subsets(matrix: jax.Array, loops: jax.Array | None, how: Subsets, precision: str) -> jax.Array:
    """The subset recurrence for one (n, n) matrix."""
    return _subsets(how, precision)(matrix, loops)[0]


@functools.cache
def _subsets_slopes(how: Subsets, precision: str) -> Callable[[jax.Array, jax.Array | None], Any]:
    """The value, its derivatives by the entries above the diagonal (n, n), and by the loops (n,) or None."""

    def slopes(matrix: jax.Array, loops: jax.Array | None, precision: str) -> tuple[Any, Any, Any]:
        planes = Planes.of(_read(matrix, _pairs_read(how)))
        balanced, ends, taken, finite = _scaling.balance(planes, _planes(loops), how.size)
        slopes = program.slopes(_numbers(balanced, precision), _numbers(ends, precision), how.pairs)
        found, by_entry, by_loop = (numbers.rounded() for numbers in slopes)
        lost = jnp.sum(taken, axis=0, dtype=taken.dtype)
        first = _scaling.restore(by_entry, lost[None, None] - taken[:, None] - taken[None, :], finite)
        value = _scaling.restore(found, lost, finite)
        return value, first, None if loops is None else _scaling.restore(by_loop, lost[None] - taken, finite)

    # Double-double has no derivative: second derivatives are those of the same program on planes.
    return lanes_last(
        functools.partial(slopes, precision=precision), smooth=functools.partial(slopes, precision="fp64")
    )


@by_subsets.defjvp
def _by_subsets_jvp(how, precision, primals, tangents):
    # A hafnian is linear in every entry above the diagonal and in every loop: the derivative by an entry is the hafnian
    # without its two vertices, and the program of all of them is plain JAX, which every higher derivative follows.
    matrix, loops = primals
    value, by_entry, by_loop = _subsets_slopes(how, precision)(matrix, loops)
    tangent = jnp.sum(by_entry * _symmetric(tangents[0]))
    if by_loop is not None:
        tangent = tangent + jnp.sum(by_loop * tangents[1])
    return value, tangent


def by_pairs(matrix: jax.Array, loops: jax.Array | None, how: MatchedPairs, progress: bool) -> jax.Array:
    """The matched-pair recursion for one (n, n) matrix, which JAX differentiates as it stands: + and x only."""
    n = matrix.shape[0]
    planes = Planes.of(_read(matrix, ~np.eye(n, dtype=bool)))
    balanced, ends, taken, finite = _scaling.balance(planes, _planes(loops), how.size)
    if n < how.size:
        # A vertex of its own, with a loop of 1.
        balanced = balanced.map(lambda plane: jnp.pad(plane, ((0, 1), (0, 1))))
        assert ends is not None
        ends = Planes(
            jnp.pad(ends.re, (0, 1), constant_values=1), None if ends.im is None else jnp.pad(ends.im, (0, 1))
        )
    return _scaling.restore(pairs.value(balanced, ends, progress), jnp.sum(taken, dtype=taken.dtype), finite)


def by_photons(matrix: jax.Array, loops: jax.Array | None, counts: jax.Array, how: Photons) -> jax.Array:
    """The recurrence over photon counts for one (k, k) matrix, which JAX differentiates as it stands."""
    # The entry A_ii joins two photons of mode i: a mode of one photon has none.
    read = ~np.eye(len(how.radices), dtype=bool) | (np.array(how.radices) > 2)
    planes = Planes.of(_read(matrix, read))
    total = sum(radix - 1 for radix in how.radices)
    balanced, ends, taken, finite = _scaling.balance(planes, _planes(loops), total)
    lost = jnp.sum(taken * counts.astype(taken.dtype), dtype=taken.dtype)
    return _scaling.restore(photons.value(balanced, ends, counts, how.radices), lost, finite)


def by_factor(factor: jax.Array) -> jax.Array:
    """The hafnian of G G^T for one (n, k) factor."""
    n, rank = factor.shape
    # Columns are variables of one law, so only rows may be scaled apart.
    _, rows, _, finite = _scaling.equilibrate(Planes.of(factor), 0)
    taken = rows + ((n * rank).bit_length() + 1) // 2
    balanced = Planes.of(factor).map(lambda plane: _scaling.scale(plane, -taken[:, None], steps=2))
    return _scaling.restore(low_rank.value(balanced), jnp.sum(taken, dtype=taken.dtype), finite)
