"""All first derivatives of the tree in one pass: a differentiable program, as the tree is."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax._torontonian.program import (
    Node,
    combine,
    descend,
    eliminate,
    excess_of,
    kept_or_dropped,
    pivot_of,
    repeated,
)
from gbsjax.numbers import Planes, together


class Slopes(NamedTuple):
    """The value (lanes,), and H and h with d value = Re sum conj(H) dO + Re sum conj(h) dy: H (2 n, 2 n, lanes) is
    Hermitian, h (2 n, lanes) or None."""

    value: jax.Array
    matrix: Planes
    ends: Planes | None


def _times(numbers: Planes, factor: jax.Array) -> Planes:
    """Numbers (.., lanes) times a real factor a lane."""
    return numbers.map(lambda plane: plane * factor.reshape((1,) * (plane.ndim - factor.ndim) + factor.shape))


def _matmul(x: Planes, y: Planes) -> Planes:
    """(i, j, lanes) times (j, k, lanes), lane by lane, in memory."""
    return (x[:, :, None] * y[None]).sum(1)


def _adjoint(x: Planes) -> Planes:
    return x.conj().map(lambda plane: jnp.swapaxes(plane, 0, 1))


def _inverse(block: Planes, det: jax.Array) -> Planes:
    """The inverse of I - P for P = [[a, b], [conj b, d]]: [[1 - d, b], [conj b, 1 - a]] / det."""
    eye, signs = (jnp.asarray(m, det.dtype)[:, :, None] for m in (np.eye(2), 1 - 2 * np.eye(2)))
    turned = block.map(lambda plane: jnp.swapaxes(plane[::-1, ::-1], 0, 1) * signs)
    return _times(Planes(turned.re + eye, turned.im), 1 / det)


def _joined(rows: list[list[Planes]]) -> Planes:
    def join(*planes: jax.Array) -> jax.Array:
        top, bottom = (jnp.concatenate(pair, axis=1) for pair in (planes[:2], planes[2:]))
        return jnp.concatenate([top, bottom])

    return jax.tree.map(join, *rows[0], *rows[1])


def _step(node: Node, det: jax.Array, excess: jax.Array, kept: Slopes, dropped: Slopes, present: jax.Array) -> Slopes:
    """One level up, for the first mode's block P, N = (I - P)^-1, the rows C below it and what is left, R.

    T = w T_kept - T_dropped with O' = R + C N C^H and y' = y_R + C N y_P in what is kept, and
    w = exp(y_P^H N y_P / 2) sqrt(det N), dw = w (tr((I - P) dN) + y^H dN y + 2 Re y^H N dy) / 2. So the slope by N is
    M = w T_kept (I - P + y y^H) / 2 + C^H H' C + .., by P it is N M N, and by C it is 2 H' C N, half of it in each of
    the two places of C.
    """
    block, columns = node.matrix[:2, :2], node.matrix[2:, :2]
    weight = 1 + excess
    half = weight * kept.value / 2
    inverse = _inverse(block, det)
    inner = _times(kept.matrix, weight)
    by_columns = _matmul(inner, columns)
    eye = jnp.asarray(np.eye(2), half.dtype)[:, :, None]
    middle = _times(block.map(lambda plane: -plane), half) + _matmul(_adjoint(columns), by_columns)
    middle = Planes(middle.re + eye * half[None, None], middle.im)
    side, ends = _matmul(by_columns, inverse), None
    if node.ends is not None and kept.ends is not None and dropped.ends is not None:
        # Columns of one entry a row.
        y, outer = node.ends[:2][:, None], _times(kept.ends, weight)[:, None]
        through, back = _matmul(inverse, y), _matmul(_adjoint(columns), outer)
        mixed = back * _adjoint(y)
        middle = middle + _times(y * _adjoint(y), half) + (mixed + _adjoint(mixed)).map(lambda plane: plane / 2)
        side = side + (outer * _adjoint(through)).map(lambda plane: plane / 2)
        first = _times(through, 2 * half) + _matmul(inverse, back)
        rest = outer[:, 0] - _times(dropped.ends, present)
        ends = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), first[:, 0], rest)
    corner = _matmul(_matmul(inverse, middle), inverse)
    rest = inner - _times(dropped.matrix, present)
    (matrix,) = together([_joined([[corner, _adjoint(side)], [side, rest]])])
    return Slopes(combine(excess, kept.value, dropped.value, present), matrix, ends)


def _subtree(node: Node, present: jax.Array) -> Slopes:
    levels, pivots, excesses = descend(node)
    # No mode left.
    last = levels[-1].matrix[:0, :0].map(lambda plane: jnp.concatenate([plane, plane], axis=-1))
    none = levels[-1].ends
    ends = None if none is None else none[:0].map(lambda plane: jnp.concatenate([plane, plane], axis=-1))
    found = Slopes(jnp.ones(2 * excesses[-1].shape[0], present.dtype), last, ends)
    for mode in range(len(levels) - 1, -1, -1):
        lanes = excesses[mode].shape[0]
        kept = jax.tree.map(lambda plane, lanes=lanes: plane[..., :lanes], found)
        dropped = jax.tree.map(lambda plane, lanes=lanes: plane[..., lanes:], found)
        here = repeated(present[mode], lanes)
        found = _step(levels[mode], pivots[mode].det, excesses[mode], kept, dropped, here)
    return found


def slopes(node: Node, present: jax.Array, looped: int) -> Slopes:
    """The value and all its first derivatives, the first `looped` modes one branch at a time."""
    if looped == 0:
        return _subtree(node, present)
    pivot = pivot_of(node)
    rest, gain = eliminate(node, pivot)

    def branch(kept: jax.Array) -> Slopes:
        return slopes(kept_or_dropped(rest, gain, kept), present[1:], looped - 1)

    below = lax.map(branch, jnp.array([True, False]))
    kept, dropped = (jax.tree.map(lambda plane, k=k: plane[k], below) for k in (0, 1))
    return _step(node, pivot.det, excess_of(pivot), kept, dropped, present[0])
