"""The hafnian of one matrix with its derivative rule, above every backend."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax import _scaling
from gbsjax._batches import differentiated_as, lanes_last, undifferentiated
from gbsjax._hafnian import low_rank, pairs, photons, program
from gbsjax._hafnian.launch import MatchedPairs, Photons, Subsets
from gbsjax.numbers import WORDS, Numbers, Planes, Precision, of_tier


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


class Balanced(NamedTuple):
    """A balanced matrix and its loops, the exponents taken out of its rows, what the value loses by them, and whether
    all that is read is finite."""

    matrix: Planes
    loops: Planes | None
    taken: jax.Array
    lost: jax.Array
    finite: jax.Array


def _balanced(matrix: jax.Array, loops: jax.Array | None, read: np.ndarray, total: int, counts: Any = 1) -> Balanced:
    ends = None if loops is None else Planes.of(loops)
    numbers, ends, taken, finite = _scaling.balance(Planes.of(_read(matrix, read)), ends, total)
    lost = jnp.sum(taken * jnp.asarray(counts, taken.dtype), axis=0, dtype=taken.dtype)
    return Balanced(numbers, ends, taken, lost, finite)


def balanced_subsets(matrix: jax.Array, loops: jax.Array | None, how: Subsets) -> Balanced:
    return _balanced(matrix, loops, _pairs_read(how), how.size)


def balanced_photons(matrix: jax.Array, loops: jax.Array | None, counts: jax.Array, how: Photons) -> Balanced:
    # The entry A_ii joins two photons of mode i: a mode of one photon has none.
    read = ~np.eye(len(how.radices), dtype=bool) | (np.array(how.radices) > 2)
    return _balanced(matrix, loops, read, sum(radix - 1 for radix in how.radices), counts)


def _tier(numbers: Planes | None, precision: Precision) -> Any:
    return None if numbers is None else of_tier(numbers, precision)


def _restored(mantissa: Numbers, scaled: Balanced) -> tuple[jax.Array, ...]:
    return tuple(_scaling.restore(word, scaled.lost, scaled.finite) for word in mantissa.in_words())


@functools.cache
def _subsets(how: Subsets, precision: Precision) -> Callable[[jax.Array, jax.Array | None], tuple[jax.Array, ...]]:
    """The value, in double-double its high and low word."""

    @lanes_last
    def value(matrix: jax.Array, loops: jax.Array | None) -> tuple[jax.Array, ...]:
        scaled = balanced_subsets(matrix, loops, how)
        found = program.value(_tier(scaled.matrix, precision), _tier(scaled.loops, precision), how.pairs)
        return _restored(found, scaled)

    return value


def _photons(
    matrix: jax.Array, loops: jax.Array | None, counts: jax.Array, how: Photons, precision: Precision
) -> tuple[jax.Array, ...]:
    scaled = balanced_photons(matrix, loops, counts, how)
    found = photons.value(_tier(scaled.matrix, precision), _tier(scaled.loops, precision), counts, how.radices)
    return _restored(found, scaled)


def words(matrix: jax.Array, loops: jax.Array | None, counts: jax.Array | None, how: Subsets | Photons) -> Any:
    """High and low word; without a derivative."""
    if isinstance(how, Subsets):
        return undifferentiated(_subsets(how, WORDS))(matrix, loops)
    return undifferentiated(functools.partial(_photons, how=how, precision=WORDS))(matrix, loops, counts)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def by_subsets(matrix: jax.Array, loops: jax.Array | None, how: Subsets, precision: Precision) -> jax.Array:
    """The subset recurrence for one (n, n) matrix."""
    return _subsets(how, precision)(matrix, loops)[0]


@functools.cache
def _subsets_slopes(how: Subsets, precision: Precision) -> Callable[[jax.Array, jax.Array | None], Any]:
    """The value, its derivatives by the entries above the diagonal (n, n), and by the loops (n,) or None."""

    def slopes(matrix: jax.Array, loops: jax.Array | None, precision: Precision) -> tuple[Any, Any, Any]:
        scaled = balanced_subsets(matrix, loops, how)
        slopes = program.slopes(_tier(scaled.matrix, precision), _tier(scaled.loops, precision), how.pairs)
        found, by_entry, by_loop = (numbers.rounded() for numbers in slopes)
        taken, lost, finite = scaled.taken, scaled.lost, scaled.finite
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
    balanced, ends, _, lost, finite = _balanced(matrix, loops, ~np.eye(n, dtype=bool), how.size)
    if n < how.size:
        # A vertex of its own, with a loop of 1.
        balanced = balanced.map(lambda plane: jnp.pad(plane, ((0, 1), (0, 1))))
        assert ends is not None
        ends = Planes(
            jnp.pad(ends.re, (0, 1), constant_values=1), None if ends.im is None else jnp.pad(ends.im, (0, 1))
        )
    return _scaling.restore(pairs.value(balanced, ends, progress), lost, finite)


def by_photons(
    matrix: jax.Array, loops: jax.Array | None, counts: jax.Array, how: Photons, precision: Precision
) -> jax.Array:
    """The recurrence over photon counts for one (k, k) matrix, which JAX differentiates as it stands."""

    def at(tier: Precision) -> Callable[..., jax.Array]:
        return lambda matrix, loops, counts: _photons(matrix, loops, counts, how, tier)[0]

    if precision == "fp64":
        return at("fp64")(matrix, loops, counts)
    return differentiated_as(at("fp64"), at(precision))(matrix, loops, counts)


def by_factor(factor: jax.Array) -> jax.Array:
    """The hafnian of G G^T for one (n, k) factor."""
    n, rank = factor.shape
    # Columns are variables of one law, so only rows may be scaled apart.
    _, rows, _, finite = _scaling.equilibrate(Planes.of(factor), 0)
    taken = rows + ((n * rank).bit_length() + 1) // 2
    balanced = Planes.of(factor).map(lambda plane: _scaling.scale(plane, -taken[:, None], steps=2))
    return _scaling.restore(low_rank.value(balanced), jnp.sum(taken, dtype=taken.dtype), finite)
