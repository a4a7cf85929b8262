"""The tree of Schur complements; numbers need a division and a square root besides + and x."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax import _progress
from gbsjax.numbers import Planes, together


class Node(NamedTuple):
    """What is left of O, modes in order, two rows a mode: (2 n, 2 n, lanes); conj(gamma) (2 n, lanes) or None.

    O is carried and not I - O: for nearly empty modes 1 - a has rounded a away.
    """

    matrix: Planes
    ends: Planes | None


class Pivot(NamedTuple):
    """Of the first mode, lane by lane: the inverse of the 2 x 2 block of I - O times its determinant, the determinant's
    inverse, and the weight of keeping the mode, less 1."""

    first: jax.Array
    cross: Planes
    second: jax.Array
    inverse: jax.Array
    excess: jax.Array


def pivot_of(node: Node) -> Pivot:
    """For the block [[a, b], [conj b, d]] of O: the weight is exp(q) / sqrt(det), det = (1 - a)(1 - d) - |b|^2."""
    block = node.matrix
    a, b, d = block.re[0, 0], block[0, 1], block.re[1, 1]
    x = (a * d - b.squared_modulus()) - (a + d)
    # Both eigenvalues negative is as unphysical as one.
    det = jnp.where(a < 1, 1 + x, jnp.nan)
    root, inverse = jnp.sqrt(det), 1 / det
    excess = -x / (root * (1 + root))
    if node.ends is not None:
        y, z = node.ends[0], node.ends[1]
        overlap = ((1 - d) * y.squared_modulus() + (1 - a) * z.squared_modulus()) / 2 + (y.conj() * b * z).re
        excess = excess + jnp.expm1(overlap * inverse) / root
    return Pivot(1 - d, b, 1 - a, inverse, excess)


def combine(excess: jax.Array, kept: jax.Array, dropped: jax.Array, present: jax.Array) -> jax.Array:
    # (1 + excess) kept - dropped, without the 1: of modes that know nothing of each other, kept is dropped to the bit.
    return excess * kept + (kept - present * dropped)


def eliminate(node: Node, in_memory: bool = True) -> tuple[Pivot, Node, Node]:
    """The first mode's pivot, what is left without it, and what that gains where the mode is kept."""
    b, y = node.matrix, node.ends
    pivot = pivot_of(node)
    u, v = b[2:, 0], b[2:, 1]
    left = u.map(lambda plane: plane * pivot.first[None]) + v * pivot.cross.conj()[None]
    right = u * pivot.cross[None] + v.map(lambda plane: plane * pivot.second[None])
    left, right = (part.map(lambda plane: plane * pivot.inverse[None]) for part in (left, right))
    if in_memory:
        left, right = together([left, right])
    gain = left[:, None] * u.conj()[None, :] + right[:, None] * v.conj()[None, :]
    ends = None if y is None else left * y[0][None] + right * y[1][None]
    return pivot, Node(b[2:, 2:], None if y is None else y[2:]), Node(gain, ends)


def excess_of(node: Node, present: jax.Array) -> jax.Array:
    """The signed sum over one mode."""
    return pivot_of(node).excess + (1 - present[0])


def doubled(rest: Node, gain: Node) -> Node:
    """Twice the lanes: first the nodes where the mode is kept, then those where it is dropped."""

    def children(rest: jax.Array, gain: jax.Array) -> jax.Array:
        kept = jnp.arange(2)[:, None] == 0
        both = rest[..., None, :] + jnp.where(kept, gain[..., None, :], jnp.zeros((), gain.dtype))
        return both.reshape(*both.shape[:-2], 2 * both.shape[-1])

    both = jax.tree.map(children, rest, gain)
    return Node(together([both.matrix])[0], None if both.ends is None else together([both.ends])[0])


def kept_or_dropped(rest: Node, gain: Node, kept: jax.Array) -> Node:
    """One of the two, by a traced boolean."""

    def child(plane: jax.Array, more: jax.Array) -> jax.Array:
        return plane + jnp.where(kept, more, jnp.zeros((), more.dtype))

    return jax.tree.map(child, rest, gain)


def _subtree(node: Node, present: jax.Array) -> jax.Array:
    """The signed sum over all modes left, breadth first, (lanes,)."""
    modes = node.matrix.re.shape[0] // 2
    if modes == 1:
        return excess_of(node, present)
    pivot, rest, gain = eliminate(node, in_memory=modes > 2)
    if modes == 2:
        kept = jax.tree.map(jnp.add, rest, gain)
        return combine(pivot.excess, excess_of(kept, present[1:]), excess_of(rest, present[1:]), present[0])
    lanes = present.shape[1]
    below = _subtree(doubled(rest, gain), jnp.concatenate([present[1:], present[1:]], axis=1))
    value = combine(pivot.excess, below[:lanes], below[lanes:], present[0])
    # In memory now and then: a chain of halves in one kernel is code that doubles with every level.
    return together([Planes(value, None)])[0].re if modes % 2 else value


def _walk(node: Node, present: jax.Array, looped: int, progress: bool) -> jax.Array:
    """The signed sum, a loop over keep and drop for each of the first modes, breadth first from there on."""
    if looped == 0:
        total = _subtree(node, present)
        if progress:
            _progress.advance(total)
        return total
    pivot, rest, gain = eliminate(node, in_memory=True)

    def branch(kept: jax.Array) -> jax.Array:
        return _walk(kept_or_dropped(rest, gain, kept), present[1:], looped - 1, progress)

    below = lax.map(branch, jnp.array([True, False]))
    return combine(pivot.excess, below[0], below[1], present[0])


def value(node: Node, present: jax.Array, looped: int, progress: bool) -> jax.Array:
    """tor O = sum over subsets S of the modes of (-1)^(m - |S|) / sqrt(det(I - O_S)), with gamma times the exponential
    of gamma_S^T (I - O_S)^-1 conj(gamma_S) / 2 in each term; real, (lanes,).

    O (2 m, 2 m, lanes) is Hermitian, two rows a mode; present (m, lanes) is 1, and 0 for modes that only pad: they come
    last, their rows are 0, and they are never dropped.
    """
    return _walk(node, present, looped, progress)
