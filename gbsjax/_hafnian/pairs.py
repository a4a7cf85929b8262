"""The matched-pair recursion (A. Bjorklund, SODA 2012, 914), extended to loops: polynomial memory, any size."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax import _progress
from gbsjax._hafnian.launch import PAIR_BREADTH
from gbsjax.numbers import Planes, together


class Node(NamedTuple):
    """Polynomials in z by rising degree (degree, .., nodes): the matrix left, its loops, and the weight so far."""

    matrix: Planes
    loops: Planes | None
    weight: Planes


def _product(x: Planes, y: Planes) -> Planes:
    """The product of polynomials (degree, .., nodes), cut to the same degree."""
    length = x.re.shape[0]
    above = y.map(lambda plane: jnp.concatenate([jnp.zeros_like(plane[1:]), plane]))
    shape = jnp.broadcast_shapes(x.re.shape, y.re.shape)
    nothing = x.map(lambda plane: jnp.broadcast_to(plane * 0, shape))

    def add(total: Planes, term: tuple[jax.Array, Planes]) -> tuple[Planes, None]:
        degree, factor = term
        shifted = above.map(lambda plane: lax.dynamic_slice_in_dim(plane, length - 1 - degree, length))
        return together([total + factor[None] * shifted])[0], None

    return lax.scan(add, nothing, (jnp.arange(length), x))[0]


def _split(node: Node) -> tuple[Node, Node]:
    """What is left when vertices 0 and 1 go, and what is added to it with the sign +1 or -1, already times z."""
    b, v = node.matrix, node.loops
    first, second, edge = b[:, 0, 2:], b[:, 1, 2:], b[:, 0, 1]
    half = _product(first[:, :, None], second[:, None, :])
    matrix = half + half.map(lambda plane: jnp.swapaxes(plane, 1, 2))
    rest, loops = None, None
    if v is not None:
        edge = edge + _product(v[:, 0], v[:, 1])
        loops = _product(v[:, :1], second) + _product(v[:, 1:2], first)
        rest = v[:, 2:]
    return Node(b[:, 2:, 2:], rest, node.weight), Node(matrix, loops, _product(node.weight, edge))


def _grow(plane: jax.Array, times_z: bool) -> jax.Array:
    zero = jnp.zeros_like(plane[:1])
    return jnp.concatenate([zero, plane] if times_z else [plane, zero])


def _last(node: Node) -> Planes:
    """Of the last pair: the sum over its sign r of r times the highest coefficient of the weight, (nodes,)."""
    edge = node.matrix[:, 0, 1]
    if node.loops is not None:
        edge = edge + _product(node.loops[:, 0], node.loops[:, 1])
    twice = node.weight * edge[::-1]
    return twice.sum(0).map(lambda plane: 2 * plane)


def _subtree(node: Node) -> Planes:
    """The signed sum below the nodes, breadth first, (nodes,)."""
    if node.matrix.re.shape[1] == 2:
        return _last(node)
    stay, add = _split(node)

    def children(kept: jax.Array, added: jax.Array) -> jax.Array:
        kept, added = _grow(kept, False), _grow(added, True)
        return jnp.concatenate([kept + added, kept - added], axis=-1)

    below = _subtree(jax.tree.map(children, stay, add))
    nodes = node.weight.re.shape[-1]
    return below[:nodes] - below[nodes:]


def _walk(node: Node, loops_left: int, progress: bool) -> Planes:
    """The signed sum below one node: a loop over the sign of each of the first pairs, breadth first from there on."""
    if loops_left == 0:
        total = jax.checkpoint(_subtree)(node)
        if progress:
            _progress.advance(total.re)
        return total
    stay, add = _split(node)

    def branch(total: Planes, sign: jax.Array) -> tuple[Planes, None]:
        child = jax.tree.map(lambda kept, added: _grow(kept, False) + sign * _grow(added, True), stay, add)
        return total + _walk(child, loops_left - 1, progress).map(lambda plane: sign * plane), None

    signs = jnp.asarray([1, -1], node.weight.re.dtype)
    return lax.scan(branch, node.weight.map(lambda plane: plane[0] * 0), signs)[0]


def value(matrix: Planes, loops: Planes | None, progress: bool) -> Planes:
    """The hafnian, with loops the loop hafnian, of a symmetric (n, n) matrix, n even, diagonal 0.

    haf = 2^-(m-1) sum over the signs of pairs 2..m of their product times [z^m] g, the first sign being +1: removing
    the pair (0, 1) turns g into g (1 + r z (B_01 + v_0 v_1)), B_jk into B_jk + r z (B_0j B_1k + B_1j B_0k) and v_j into
    v_j + r z (v_0 B_1j + v_1 B_0j). After d pairs only degrees up to d can still count: a valid term uses each of the
    pairs removed once.
    """
    pairs = matrix.re.shape[0] // 2

    def lift(plane: jax.Array) -> jax.Array:
        return plane[None, ..., None]

    weight = matrix[0, 0].one().map(lambda plane: plane[None, None])
    node = Node(matrix.map(lift), None if loops is None else loops.map(lift), weight)
    if pairs == 1:
        # Both signs of the only pair give the same.
        return _last(node)[0].map(lambda plane: plane / 2)
    stay, add = _split(node)
    first: Any = jax.tree.map(lambda kept, added: _grow(kept, False) + _grow(added, True), stay, add)
    total = _walk(first, loop_pairs(pairs), progress)
    return total[0].map(lambda plane: plane / 2 ** (pairs - 1))


def loop_pairs(pairs: int) -> int:
    """How many pairs after the first are looped over one sign at a time."""
    return max(0, pairs - 2 - PAIR_BREADTH)
