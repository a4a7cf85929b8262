"""The torontonian of matrices side by side with its derivative rule, above every backend."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax._batches import lanes_last
from gbsjax._torontonian import program
from gbsjax._torontonian.launch import Tree
from gbsjax._torontonian.slopes import Slopes, slopes
from gbsjax.numbers import Planes


def hermitian(matrix: jax.Array) -> jax.Array:
    """(A + A^H) / 2 of (n, n, lanes); equal entries stay what they are to the last bit."""
    mirror = jnp.swapaxes(matrix, 0, 1)
    return matrix + ((jnp.conj(mirror) if jnp.iscomplexobj(matrix) else mirror) - matrix) / 2


def _node(matrices: jax.Array, ends: jax.Array | None) -> program.Node:
    return program.Node(Planes.of(matrices), None if ends is None else Planes.of(ends))


def _flat(x: Any, own: int) -> Any:
    """(.., *lanes) with the lanes as one axis."""
    return None if x is None else x.reshape(*x.shape[:own], -1)


@functools.cache
def _values(how: Tree, progress: bool) -> Callable[..., jax.Array]:
    @lanes_last
    def values(matrices: jax.Array, ends: jax.Array | None, present: jax.Array) -> jax.Array:
        node = _node(_flat(matrices, 2), _flat(ends, 1))
        return program.value(node, _flat(present, 1), how.looped, progress).reshape(matrices.shape[2:])

    return values


@functools.cache
def _slopes(how: Tree) -> Callable[..., Slopes]:
    @lanes_last
    def found(matrices: jax.Array, ends: jax.Array | None, present: jax.Array) -> Slopes:
        all_lanes = slopes(_node(_flat(matrices, 2), _flat(ends, 1)), _flat(present, 1), how.looped)
        lanes = matrices.shape[2:]
        return jax.tree.map(lambda x: x.reshape(*x.shape[:-1], *lanes), all_lanes)

    return found


@functools.partial(jax.custom_jvp, nondiff_argnums=(3, 4))
def tree(matrices: jax.Array, ends: jax.Array | None, present: jax.Array, how: Tree, progress: bool) -> jax.Array:
    """(lanes,) values of (2 m, 2 m, lanes), rows side by side by mode, and conj(gamma) (2 m, lanes)."""
    return _values(how, progress)(matrices, ends, present)


@tree.defjvp
def _tree_jvp(how, progress, primals, tangents):
    # The first derivatives are a program of their own: left to JAX, the transposed slices of a tree take long to
    # compile. That program is plain JAX: every higher derivative follows by differentiating it.
    found = _slopes(how)(*primals)
    tangent = _real_product(found.matrix, Planes.of(tangents[0]), (0, 1))
    if found.ends is not None:
        tangent = tangent + _real_product(found.ends, Planes.of(tangents[1]), (0,))
    return found.value, tangent


def _real_product(x: Planes, y: Planes, axes: tuple[int, ...]) -> jax.Array:
    """Re sum conj(x) y."""
    product = x.re * y.re if x.im is None or y.im is None else x.re * y.re + x.im * y.im
    return jnp.sum(product, axis=axes)


def torontonians(
    matrices: jax.Array, gammas: jax.Array | None, clicks: tuple[jax.Array, jax.Array] | None, how: Tree, progress: bool
) -> jax.Array:
    """(matrices,) values of (matrices, 2 k, 2 k); clicks are the modes (matrices, how.modes) and how many count."""
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
        return tree(hermitian(sub), ends, present, how, progress)
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
    return tree(hermitian(sub), ends, real.astype(jnp.real(sub).dtype), how, progress)
