"""The torontonian of matrices side by side with its derivative rule, above every backend."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from gbsjax._batches import lanes_last
from gbsjax._torontonian import program
from gbsjax._torontonian.launch import Tree
from gbsjax._torontonian.slopes import Slopes, slopes
from gbsjax.numbers import Planes


def hermitian(matrix: jax.Array) -> jax.Array:
    """(A + A^H) / 2; equal entries stay what they are to the last bit."""
    mirror = jnp.swapaxes(matrix, -1, -2)
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
    modes = matrices.shape[-1] // 2
    matrices = hermitian(matrices)
    chosen = jnp.broadcast_to(jnp.arange(modes), (*matrices.shape[:1], modes))
    present = jnp.ones(chosen.shape, bool)
    if clicks is not None:
        chosen = clicks[0]
        present = jnp.arange(how.modes)[None, :] < clicks[1][:, None]
    # Two rows a mode, side by side.
    rows = jnp.stack([chosen, chosen + modes], axis=-1).reshape(chosen.shape[0], -1)
    real = jnp.repeat(present, 2, axis=1)
    sub = jnp.take_along_axis(jnp.take_along_axis(matrices, rows[:, :, None], axis=1), rows[:, None, :], axis=2)
    sub = jnp.where(real[:, :, None] & real[:, None, :], sub, jnp.zeros((), sub.dtype))
    ends = None
    if gammas is not None:
        ends = jnp.where(real, jnp.take_along_axis(gammas, rows, axis=1), jnp.zeros((), gammas.dtype)).T
        ends = jnp.conj(ends) if jnp.iscomplexobj(ends) else ends
    weights = present.T.astype(jnp.real(sub).dtype)
    return tree(jnp.transpose(sub, (1, 2, 0)), ends, weights, how, progress)
