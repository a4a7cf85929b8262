"""The torontonian of matrices side by side with its derivative rule, above every backend."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax._batches import lanes_last, undifferentiated
from gbsjax._scaling import Certified, certify
from gbsjax._torontonian import bound, pool, program
from gbsjax._torontonian.launch import Tree
from gbsjax._torontonian.slopes import Slopes, slopes
from gbsjax.numbers import ADD, BOUND, UNIT, WORDS, Planes, Precision, of_tier


def hermitian(matrix: Any) -> Any:
    """(A + A^H) / 2 of (n, n, lanes); equal entries stay what they are to the last bit."""
    mirror = matrix.conj().map(lambda plane: jnp.swapaxes(plane, 0, 1))
    return matrix + (mirror - matrix).map(lambda plane: plane / 2)


def _node(matrices: jax.Array, ends: jax.Array | None, precision: Precision) -> program.Node:
    """In numbers of a tier, the lanes as one axis."""

    def numbers(x: jax.Array, own: int) -> Any:
        return of_tier(Planes.of(x.reshape(*x.shape[:own], -1)), precision)

    return program.Node(hermitian(numbers(matrices, 2)), None if ends is None else numbers(ends, 1))


def _descend(precision: Precision) -> Callable[[program.Node], program.Levels]:
    return program.descend if precision == "fp64" else pool.descend


@functools.cache
def _values(how: Tree, precision: Precision, progress: bool) -> Callable[..., tuple[jax.Array, ...]]:
    """The values, in double-double their high and low words."""

    @lanes_last
    def values(matrices: jax.Array, ends: jax.Array | None, present: jax.Array) -> tuple[jax.Array, ...]:
        node = _node(matrices, ends, precision)
        found = program.value(node, present.reshape(how.modes, -1), how.looped, progress, _descend(precision))
        return tuple(word.re.reshape(matrices.shape[2:]) for word in found.in_words())

    return values


@functools.cache
def _slopes(how: Tree) -> Callable[..., Slopes]:
    @lanes_last
    def found(matrices: jax.Array, ends: jax.Array | None, present: jax.Array) -> Slopes:
        all_lanes = slopes(_node(matrices, ends, "fp64"), present.reshape(how.modes, -1), how.looped)
        lanes = matrices.shape[2:]
        return jax.tree.map(lambda x: x.reshape(*x.shape[:-1], *lanes), all_lanes)

    return found


@functools.cache
def _certified(how: Tree, tier: str) -> Callable[..., Certified]:
    @lanes_last
    def certified(matrices: jax.Array, ends: jax.Array | None, present: jax.Array) -> Certified:
        node = _node(matrices, ends, tier)
        lost = _asymmetry(matrices, tier)
        found = bound.certified(node, present.reshape(how.modes, -1), how.looped, tier, lost, _descend(tier))
        finite = jnp.isfinite(matrices).all((0, 1))
        if ends is not None:
            finite = finite & jnp.isfinite(ends).all(0)
        value, error, size = jax.tree.map(lambda x: x.reshape(finite.shape), found)
        return certify(value, error, size, jnp.zeros(finite.shape, jnp.int32), finite)

    return certified


def _asymmetry(matrices: jax.Array, tier: str) -> jax.Array:
    """What the Hermitian part may be off, in the Frobenius norm, (lanes,): nothing where the matrix is its own."""
    matrix = Planes.of(matrices.reshape(*matrices.shape[:2], -1))
    apart = matrix - matrix.conj().map(lambda plane: jnp.swapaxes(plane, 0, 1))

    def size(numbers: Planes) -> jax.Array:
        return abs(numbers.re) if numbers.im is None else abs(numbers.re) + abs(numbers.im)

    rounded = jnp.where(size(apart) > 0, 2 * (size(matrix) + size(apart)), 0)
    return ADD[tier] * UNIT[tier] * jnp.sum(rounded, axis=(0, 1))


@functools.partial(jax.custom_jvp, nondiff_argnums=(3, 4, 5))
def tree(
    matrices: jax.Array, ends: jax.Array | None, present: jax.Array, how: Tree, precision: Precision, progress: bool
) -> jax.Array:
    """(lanes,) values of (2 m, 2 m, lanes), rows side by side by mode, and conj(gamma) (2 m, lanes)."""
    return _values(how, precision, progress)(matrices, ends, present)[0]


@tree.defjvp
def _tree_jvp(how, precision, progress, primals, tangents):
    # The first derivatives are a program of their own: left to JAX, the transposed slices of a tree take long to
    # compile. That program is plain JAX: every higher derivative follows by differentiating it.
    found = _slopes(how)(*primals)
    tangent = _real_product(found.matrix, Planes.of(tangents[0]), (0, 1))
    if found.ends is not None:
        tangent = tangent + _real_product(found.ends, Planes.of(tangents[1]), (0,))
    # Those of "dd" have the digits of float64.
    return found.value if precision == "fp64" else tree(*primals, how, precision, progress), tangent


def _real_product(x: Planes, y: Planes, axes: tuple[int, ...]) -> jax.Array:
    """Re sum conj(x) y."""
    product = x.re * y.re if x.im is None or y.im is None else x.re * y.re + x.im * y.im
    return jnp.sum(product, axis=axes)


def _at(precision: Precision, how: Tree, progress: bool) -> Callable[..., Any]:
    if precision is WORDS:
        return undifferentiated(_values(how, precision, progress))
    for tier, bounded in BOUND.items():
        if precision is bounded:
            return undifferentiated(_certified(how, tier))
    return functools.partial(tree, how=how, precision=precision, progress=progress)


def torontonians(
    matrices: jax.Array,
    gammas: jax.Array | None,
    clicks: tuple[jax.Array, jax.Array] | None,
    how: Tree,
    precision: Precision,
    progress: bool,
) -> Any:
    """(matrices,) values, words or certificates of (matrices, 2 k, 2 k); clicks are the modes (matrices, how.modes) and
    how many count."""
    found = _at(precision, how, progress)
    count, modes = matrices.shape[0], matrices.shape[-1] // 2
    # Two rows a mode, side by side, and the matrices last.
    grid = matrices.reshape(count, 2, modes, 2, modes)
    ends = None
    if gammas is not None:
        ends = jnp.conj(gammas) if jnp.iscomplexobj(gammas) else gammas
        ends = ends.reshape(count, 2, modes)
    if clicks is None:
        present = jnp.ones((modes, count), jnp.real(matrices).dtype)
        sub = jnp.transpose(grid, (2, 1, 4, 3, 0)).reshape(2 * modes, 2 * modes, count)
        ends = None if ends is None else jnp.transpose(ends, (2, 1, 0)).reshape(2 * modes, count)
        return found(sub, ends, present)
    chosen, clicked = clicks
    real = jnp.arange(how.modes)[:, None] < clicked[None, :]

    def modes_of(x: jax.Array, axis: int) -> jax.Array:
        index = lax.expand_dims(chosen, [k for k in range(1, x.ndim) if k != axis])
        return jnp.take_along_axis(x, index, axis=axis)

    def used(x: jax.Array, *axes: int) -> jax.Array:
        for axis in axes:
            keep = lax.expand_dims(real, [k for k in range(x.ndim - 1) if k != axis])
            x = jnp.where(keep, x, jnp.zeros((), x.dtype))
        return x

    size = 2 * how.modes
    sub = used(jnp.transpose(modes_of(modes_of(grid, 2), 4), (2, 1, 4, 3, 0)), 0, 2).reshape(size, size, count)
    if ends is not None:
        ends = used(jnp.transpose(modes_of(ends, 2), (2, 1, 0)), 0).reshape(size, count)
    return found(sub, ends, real.astype(jnp.real(sub).dtype))
