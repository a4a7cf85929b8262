"""All first derivatives of the tree in one pass: a differentiable program, as the tree is."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax._torontonian.program import Fold, Node, Pivot, combine, descend, excess_of, fold, pivot_alone
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


class _Weights(NamedTuple):
    det: jax.Array
    excess: Planes


def _weights(pivot: Pivot) -> _Weights:
    return _Weights(pivot.det.re, excess_of(pivot).in_memory())


def _step(node: Node, weights: _Weights, kept: Slopes, dropped: Slopes, present: jax.Array) -> Slopes:
    """One level up, for the first mode's block P, N = (I - P)^-1, the rows C below it and what is left, R.

    T = w T_kept - T_dropped with O' = R + C N C^H and y' = y_R + C N y_P in what is kept, and
    w = exp(y_P^H N y_P / 2) sqrt(det N), dw = w (tr((I - P) dN) + y^H dN y + 2 Re y^H N dy) / 2. So the slope by N is
    M = w T_kept (I - P + y y^H) / 2 + C^H H' C + .., by P it is N M N, and by C it is 2 H' C N, half of it in each of
    the two places of C.
    """
    block, columns = node.matrix[:2, :2], node.matrix[2:, :2]
    det, excess = weights
    weight = 1 + excess.re
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
    value = combine(excess, Planes(kept.value, None), Planes(dropped.value, None), present)
    return Slopes(value.re, matrix, ends)


def _leaf(node: Node, weights: _Weights) -> Slopes:
    none = node.ends
    return Slopes(jnp.ones_like(weights.det), node.matrix[:0, :0], None if none is None else none[:0])


def slopes(node: Node, present: jax.Array, looped: int) -> Slopes:
    """The value and all its first derivatives, the first `looped` modes one branch at a time."""
    return fold(Fold(descend, pivot_alone, _weights, _leaf, _step), node, present, looped)
