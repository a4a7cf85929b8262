"""The tree of Schur complements; numbers need a division, a square root and an exponential besides + and x."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax import _progress
from gbsjax.numbers import Field, expm1, together


class Node(NamedTuple):
    """What is left of O, modes in order, two rows a mode: (2 n, 2 n, lanes); conj(gamma) (2 n, lanes) or None.

    O is carried and not I - O: for nearly empty modes 1 - a has rounded a away.
    """

    matrix: Any
    ends: Any


class Pivot(NamedTuple):
    """Of the first mode, lane by lane: less = det(I - P) - 1 and det = det(I - P) of its 2 x 2 block P of O, NaN where
    the block is unphysical, and the exponent q times det."""

    less: Any
    det: Any
    overlap: Any


def _squared(x: Field) -> Field:
    return (x * x.conj()).real()


def pivot(a: Any, b: Any, d: Any, ends: tuple[Any, Any] | None) -> Pivot:
    """For the block [[a, b], [conj b, d]]: det = (1 - a)(1 - d) - |b|^2."""
    one = a.constant(1.0)
    free = one - a
    less = (a * d - _squared(b)) - (a + d)
    # Both eigenvalues negative is as unphysical as one.
    positive = free.rounded().re > 0
    found = [less, (one + less).map(lambda plane: jnp.where(positive, plane, jnp.nan))]
    if ends is not None:
        y, z = ends
        twice = (one - d) * _squared(y) + free * _squared(z)
        found.append(twice.map(lambda plane: plane / 2) + (y.conj() * b * z).real())
    less, det, *overlap = together(found)
    return Pivot(less, det, overlap[0] if overlap else None)


def pivot_of(node: Node) -> Pivot:
    matrix, ends = node.matrix, node.ends
    return pivot(matrix[0, 0].real(), matrix[0, 1], matrix[1, 1].real(), None if ends is None else (ends[0], ends[1]))


def excess_of(pivot: Pivot) -> Any:
    """The weight exp(q) / sqrt(det) of keeping the mode, less 1."""
    root = pivot.det.sqrt()
    excess = pivot.less.map(jnp.negative) / (root * (root.constant(1.0) + root))
    return excess if pivot.overlap is None else excess + expm1(pivot.overlap / pivot.det) / root


def combine(excess: Any, kept: Any, dropped: Any, present: jax.Array) -> Any:
    # (1 + excess) kept - dropped, without the 1: of modes that know nothing of each other, kept is dropped to the bit.
    return excess * kept + (kept - dropped.map(lambda plane: plane * present))


def solved(u: Any, v: Any, a: Any, b: Any, d: Any, det: Any, stage: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """The columns [u v] times the inverse of I - [[a, b], [conj b, d]]; what is staged may be put into memory."""
    one = a.constant(1.0)
    products = stage([u * (one - d), v * b.conj(), u * b, v * (one - a)])
    return together([(products[0] + products[1]) / det, (products[2] + products[3]) / det])


def eliminate(node: Node, pivot: Pivot) -> tuple[Node, Node]:
    """What is left without the first mode, and what that gains where the mode is kept."""
    matrix, y = node.matrix, node.ends
    u, v = matrix[2:, 0], matrix[2:, 1]
    block = (matrix[0, 0].real(), matrix[0, 1], matrix[1, 1].real(), pivot.det)
    left, right = solved(u, v, *(x[None] for x in block), stage=list)
    gain = left[:, None] * u.conj()[None, :] + right[:, None] * v.conj()[None, :]
    ends = None if y is None else left * y[0][None] + right * y[1][None]
    return Node(matrix[2:, 2:], None if y is None else y[2:]), Node(gain, ends)


def _either(rest: Node, gain: Node, kept: jax.Array) -> Node:
    def child(rest: Field, gain: Field) -> Field:
        return rest + gain.map(lambda plane: jnp.where(kept, plane, jnp.zeros((), plane.dtype)))

    return Node(
        child(rest.matrix, gain.matrix), None if rest.ends is None or gain.ends is None else child(rest.ends, gain.ends)
    )


def doubled(rest: Node, gain: Node) -> Node:
    """Twice the lanes: first the nodes where the mode is kept, then those where it is dropped."""
    rest, gain = (jax.tree.map(lambda plane: plane[..., None, :], node) for node in (rest, gain))
    both = _either(rest, gain, jnp.arange(2)[:, None] == 0)

    def side_by_side(plane: jax.Array) -> jax.Array:
        return plane.reshape(*plane.shape[:-2], 2 * plane.shape[-1])

    # In memory before the lanes are one axis: inside a kernel, finding the lane of an element is a division.
    matrix, ends = both.matrix.in_memory(), None if both.ends is None else both.ends.in_memory()
    return jax.tree.map(side_by_side, Node(matrix, ends))


def _repeated(present: jax.Array, lanes: int) -> jax.Array:
    """(lanes,) of a level that has several times as many lanes."""
    return jnp.tile(present, lanes // present.shape[0])


Levels = tuple[list[Node], list[Pivot]]


def descend(node: Node) -> Levels:
    """Of every level, from the first mode to the last, its nodes side by side and their pivots."""
    levels, pivots = [node], [pivot_of(node)]
    while levels[-1].matrix.shape[0] > 2:
        levels.append(doubled(*eliminate(levels[-1], pivots[-1])))
        pivots.append(pivot_of(levels[-1]))
    return levels, pivots


class Fold(NamedTuple):
    """What is computed from the leaves of the tree to its root."""

    descend: Callable[[Node], Levels]
    # Of a node, and the pivot with which its first mode is eliminated.
    look: Callable[[Node, Pivot], Any]
    # Of what was seen of many nodes.
    weigh: Callable[[Any], Any]
    # Of the last node and its weights: what is found where no mode is left.
    leaf: Callable[[Node, Any], Any]
    # Of a node, its weights, and what was found where its first mode is kept and where it is dropped.
    step: Callable[[Node, Any, Any, Any, jax.Array], Any]


def fold(how: Fold, node: Node, present: jax.Array, looped: int, progress: bool = False) -> Any:
    """The first `looped` modes one branch at a time, breadth first from there on."""
    if looped > 0:
        pivot = pivot_of(node)
        seen = how.look(node, pivot)
        rest, gain = eliminate(node, pivot)

        def branch(kept: jax.Array) -> Any:
            return fold(how, _either(rest, gain, kept), present[1:], looped - 1, progress)

        below = lax.map(branch, jnp.array([True, False]))
        kept, dropped = (jax.tree.map(lambda plane, k=k: plane[k], below) for k in (0, 1))
        return how.step(node, how.weigh(seen), kept, dropped, present[0])
    levels, pivots = how.descend(node)
    all_seen = [how.look(node, pivot) for node, pivot in zip(levels, pivots, strict=True)]
    # Of all levels at once: what could run beside the descent XLA:CPU would give to another thread and wait for.
    weights = how.weigh(jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), *all_seen))
    ends = np.cumsum([pivot.det.shape[0] for pivot in pivots]).tolist()
    found = None
    for mode in range(len(levels) - 1, -1, -1):
        start, end = ends[mode - 1] if mode else 0, ends[mode]
        here = jax.tree.map(lambda plane, start=start, end=end: plane[..., start:end], weights)
        if found is None:
            kept = dropped = how.leaf(levels[mode], here)
        else:
            kept = jax.tree.map(lambda plane, lanes=end - start: plane[..., :lanes], found)
            dropped = jax.tree.map(lambda plane, lanes=end - start: plane[..., lanes:], found)
        found = how.step(levels[mode], here, kept, dropped, _repeated(present[mode], end - start))
    if progress:
        _progress.advance(jax.tree.leaves(found)[0])
    return found


def pivot_alone(node: Node, pivot: Pivot) -> Pivot:
    return pivot


def _excess(pivot: Pivot) -> Field:
    return excess_of(pivot).in_memory()


def _one(node: Node, excess: Field) -> Field:
    return excess.constant(1.0)


def _sum(node: Node, excess: Field, kept: Field, dropped: Field, present: jax.Array) -> Field:
    found = combine(excess, kept, dropped, present)
    # In memory now and then: a chain of halves in one kernel is code that doubles with every level.
    often = len(found.in_words()) > 1 or kept.shape[0].bit_length() % 3 == 0
    return found.in_memory() if often else found


def value(
    node: Node, present: jax.Array, looped: int, progress: bool, descend: Callable[[Node], Levels] = descend
) -> Any:
    """tor O = sum over subsets S of the modes of (-1)^(m - |S|) / sqrt(det(I - O_S)), with gamma times the exponential
    of gamma_S^T (I - O_S)^-1 conj(gamma_S) / 2 in each term; real, (lanes,).

    O (2 m, 2 m, lanes) is Hermitian, two rows a mode; present (m, lanes) is 1, and 0 for modes that only pad: they come
    last, their rows are 0, and they are never dropped.
    """
    return fold(Fold(descend, pivot_alone, _excess, _one, _sum), node, present, looped, progress)
