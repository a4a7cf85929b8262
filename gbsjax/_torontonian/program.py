"""The tree of Schur complements; numbers need a division and a square root besides + and x."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
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
    """Of the first mode, lane by lane: less = det(I - P) - 1 and det = det(I - P) of its 2 x 2 block P of O, NaN where
    the block is unphysical, and the exponent q times det."""

    less: jax.Array
    det: jax.Array
    overlap: jax.Array | None


def pivot_of(node: Node) -> Pivot:
    """For the block [[a, b], [conj b, d]]: det = (1 - a)(1 - d) - |b|^2."""
    a, b, d = node.matrix.re[0, 0], node.matrix[0, 1], node.matrix.re[1, 1]
    less = (a * d - b.squared_modulus()) - (a + d)
    # Both eigenvalues negative is as unphysical as one.
    found = [less, jnp.where(a < 1, 1 + less, jnp.nan)]
    if node.ends is not None:
        y, z = node.ends[0], node.ends[1]
        found.append(((1 - d) * y.squared_modulus() + (1 - a) * z.squared_modulus()) / 2 + (y.conj() * b * z).re)
    less, det, *overlap = (part.re for part in together([Planes(part, None) for part in found]))
    return Pivot(less, det, overlap[0] if overlap else None)


def excess_of(pivot: Pivot) -> jax.Array:
    """The weight exp(q) / sqrt(det) of keeping the mode, less 1."""
    root = jnp.sqrt(pivot.det)
    excess = -pivot.less / (root * (1 + root))
    return excess if pivot.overlap is None else excess + jnp.expm1(pivot.overlap / pivot.det) / root


def combine(excess: jax.Array, kept: jax.Array, dropped: jax.Array, present: jax.Array) -> jax.Array:
    # (1 + excess) kept - dropped, without the 1: of modes that know nothing of each other, kept is dropped to the bit.
    return excess * kept + (kept - present * dropped)


def eliminate(node: Node, pivot: Pivot) -> tuple[Node, Node]:
    """What is left without the first mode, and what that gains where the mode is kept."""
    b, y = node.matrix, node.ends
    u, v = b[2:, 0], b[2:, 1]
    left = u.map(lambda plane: plane * (1 - b.re[1, 1])[None]) + v * b[0, 1].conj()[None]
    right = u * b[0, 1][None] + v.map(lambda plane: plane * (1 - b.re[0, 0])[None])
    # A division for each number: XLA:CPU would make a kernel of its own of one that several share.
    left, right = together([part.map(lambda plane: plane / pivot.det[None]) for part in (left, right)])
    gain = left[:, None] * u.conj()[None, :] + right[:, None] * v.conj()[None, :]
    ends = None if y is None else left * y[0][None] + right * y[1][None]
    return Node(b[2:, 2:], None if y is None else y[2:]), Node(gain, ends)


def doubled(rest: Node, gain: Node) -> Node:
    """Twice the lanes: first the nodes where the mode is kept, then those where it is dropped."""

    def children(rest: jax.Array, gain: jax.Array) -> jax.Array:
        kept = jnp.arange(2)[:, None] == 0
        return rest[..., None, :] + jnp.where(kept, gain[..., None, :], jnp.zeros((), gain.dtype))

    def side_by_side(plane: jax.Array) -> jax.Array:
        return plane.reshape(*plane.shape[:-2], 2 * plane.shape[-1])

    both = jax.tree.map(children, rest, gain)
    # In memory before the lanes are one axis: inside a kernel, finding the lane of an element is a division.
    kept = Node(together([both.matrix])[0], None if both.ends is None else together([both.ends])[0])
    return jax.tree.map(side_by_side, kept)


def kept_or_dropped(rest: Node, gain: Node, kept: jax.Array) -> Node:
    """One of the two, by a traced boolean."""

    def child(plane: jax.Array, more: jax.Array) -> jax.Array:
        return plane + jnp.where(kept, more, jnp.zeros((), more.dtype))

    return jax.tree.map(child, rest, gain)


def descend(node: Node) -> tuple[list[Node], list[Pivot], list[jax.Array]]:
    """Of every level, from the first mode to the last: its nodes side by side, their pivots and their excess."""
    levels, pivots = [node], [pivot_of(node)]
    while levels[-1].matrix.re.shape[0] > 2:
        levels.append(doubled(*eliminate(levels[-1], pivots[-1])))
        pivots.append(pivot_of(levels[-1]))
    # Of all levels at once: what could run beside the descent XLA:CPU would give to another thread and wait for.
    excess = excess_of(jax.tree.map(lambda *parts: jnp.concatenate(parts), *pivots))
    (excess,) = together([Planes(excess, None)])
    return levels, pivots, jnp.split(excess.re, np.cumsum([pivot.det.shape[0] for pivot in pivots])[:-1])


def repeated(present: jax.Array, lanes: int) -> jax.Array:
    """(lanes,) of a level that has several times as many lanes."""
    return jnp.tile(present, lanes // present.shape[0])


def _subtree(node: Node, present: jax.Array) -> jax.Array:
    """The signed sum over all modes, breadth first, (lanes,)."""
    _, _, levels = descend(node)
    value = levels[-1] + (1 - repeated(present[-1], levels[-1].shape[0]))
    for mode in range(len(levels) - 2, -1, -1):
        excess = levels[mode]
        lanes = excess.shape[0]
        value = combine(excess, value[:lanes], value[lanes:], repeated(present[mode], lanes))
        if mode % 3 == 0:
            # In memory now and then: a chain of halves in one kernel is code that doubles with every level.
            value = together([Planes(value, None)])[0].re
    return value


def _walk(node: Node, present: jax.Array, looped: int, progress: bool) -> jax.Array:
    """The signed sum, a loop over keep and drop for each of the first modes, breadth first from there on."""
    if looped == 0:
        total = _subtree(node, present)
        if progress:
            _progress.advance(total)
        return total
    pivot = pivot_of(node)
    rest, gain = eliminate(node, pivot)

    def branch(kept: jax.Array) -> jax.Array:
        return _walk(kept_or_dropped(rest, gain, kept), present[1:], looped - 1, progress)

    below = lax.map(branch, jnp.array([True, False]))
    return combine(excess_of(pivot), below[0], below[1], present[0])


def value(node: Node, present: jax.Array, looped: int, progress: bool) -> jax.Array:
    """tor O = sum over subsets S of the modes of (-1)^(m - |S|) / sqrt(det(I - O_S)), with gamma times the exponential
    of gamma_S^T (I - O_S)^-1 conj(gamma_S) / 2 in each term; real, (lanes,).

    O (2 m, 2 m, lanes) is Hermitian, two rows a mode; present (m, lanes) is 1, and 0 for modes that only pad: they come
    last, their rows are 0, and they are never dropped.
    """
    return _walk(node, present, looped, progress)
