"""All first derivatives of the tree in one pass: a differentiable program, as the tree is."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax._torontonian.program import Node, Pivot, combine, doubled, eliminate, excess_of, kept_or_dropped, pivot_of
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


def _first_block(
    pivot: Pivot, node: Node, weight: jax.Array, more: tuple[jax.Array, Planes, jax.Array] | None
) -> tuple[list[list[Planes]], tuple[Planes, Planes] | None]:
    """By the pivot block P: N M N, N = (I - P)^-1 and M the derivative by N; and N y for the loops.

    The weight w = exp(y^H N y / 2) sqrt(det N) has dw = w (tr(N^-1 dN) + y^H dN y + 2 Re y^H N dy) / 2; `weight` is w
    times the value below, `more` what the rest adds to M.
    """
    half = weight / 2
    m00, m01, m11 = half * pivot.second, _times(pivot.cross, -half), half * pivot.first
    n00, n01, n11 = pivot.first * pivot.inverse, _times(pivot.cross, pivot.inverse), pivot.second * pivot.inverse
    through = None
    if node.ends is not None:
        y, z = node.ends[0], node.ends[1]
        m00 = m00 + half * y.squared_modulus()
        m01 = m01 + _times(y * z.conj(), half)
        m11 = m11 + half * z.squared_modulus()
        through = (_times(y, n00) + n01 * z, n01.conj() * y + _times(z, n11))
    if more is not None:
        m00, m01, m11 = m00 + more[0], m01 + more[1], m11 + more[2]
    # N M, then N M N.
    p00 = n01 * m01.conj()
    p00 = Planes(p00.re + n00 * m00, p00.im)
    p01 = _times(m01, n00) + _times(n01, m11)
    p10 = _times(n01.conj(), m00) + _times(m01.conj(), n11)
    p11 = n01.conj() * m01
    p11 = Planes(p11.re + n11 * m11, p11.im)
    q00 = _times(p00, n00) + p01 * n01.conj()
    q01 = p00 * n01 + _times(p01, n11)
    q11 = p10 * n01 + _times(p11, n11)
    return [[q00, q01], [q01.conj(), q11]], through


def _rows(parts: list[Planes]) -> Planes:
    return jax.tree.map(lambda *planes: jnp.stack(planes), *parts)


def _one(node: Node, present: jax.Array) -> Slopes:
    pivot = pivot_of(node)
    weight = 1 + pivot.excess
    block, through = _first_block(pivot, node, weight, None)
    ends = None if through is None else _rows([_times(part, weight) for part in through])
    return Slopes(excess_of(node, present), _rows([_rows(row) for row in block]), ends)


def _step(pivot: Pivot, node: Node, kept: Slopes, dropped: Slopes, present: jax.Array) -> Slopes:
    """One level up: O' = R + C N C^H and y' = y_R + C N y_P give C twice H' C N, N gets C^H H' C, and so on."""
    weight = 1 + pivot.excess
    u, v = node.matrix[2:, 0], node.matrix[2:, 1]
    n00, n01, n11 = pivot.first * pivot.inverse, _times(pivot.cross, pivot.inverse), pivot.second * pivot.inverse
    inner = _times(kept.matrix, weight)
    # The columns of H' C.
    by_u, by_v = (inner * u[None]).sum(1), (inner * v[None]).sum(1)
    m00, m11 = (u.conj() * by_u).sum(0).re, (v.conj() * by_v).sum(0).re
    m01 = (u.conj() * by_v).sum(0)
    columns = [_times(by_u, n00) + by_v * n01.conj()[None], by_u * n01[None] + _times(by_v, n11)]
    ends = None
    if node.ends is None or kept.ends is None or dropped.ends is None:
        block, _ = _first_block(pivot, node, kept.value * weight, (m00, m01, m11))
    else:
        y, z = node.ends[0], node.ends[1]
        outer = _times(kept.ends, weight)
        half = jnp.asarray(0.5, m00.dtype)
        c, d = (u.conj() * outer).sum(0), (v.conj() * outer).sum(0)
        m00, m11 = m00 + (c * y.conj()).re, m11 + (d * z.conj()).re
        m01 = m01 + _times(c * z.conj() + y * d.conj(), half)
        block, through = _first_block(pivot, node, kept.value * weight, (m00, m01, m11))
        assert through is not None
        columns = [
            column + _times(outer * part.conj()[None], half) for column, part in zip(columns, through, strict=True)
        ]
        first = [
            _times(through[0], kept.value * weight) + _times(c, n00) + n01 * d,
            _times(through[1], kept.value * weight) + n01.conj() * c + _times(d, n11),
        ]
        rest = outer - _times(dropped.ends, present)
        ends = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), _rows(together(first)), rest)
    columns = together(columns)
    (rest,) = together([inner - _times(dropped.matrix, present)])
    (corner,) = together([_rows([_rows(row) for row in block])])
    side = jax.tree.map(lambda *planes: jnp.stack(planes, axis=1), *columns)
    across = jax.tree.map(lambda *planes: jnp.stack(planes), *(column.conj() for column in columns))
    matrix = jax.tree.map(
        lambda p, c, s, r: jnp.concatenate([jnp.concatenate([p, c], axis=1), jnp.concatenate([s, r], axis=1)]),
        corner,
        across,
        side,
        rest,
    )
    return Slopes(combine(pivot.excess, kept.value, dropped.value, present), matrix, ends)


def _subtree(node: Node, present: jax.Array) -> Slopes:
    if node.matrix.re.shape[0] == 2:
        return _one(node, present)
    pivot, rest, gain = eliminate(node)
    lanes = present.shape[1]
    below = _subtree(doubled(rest, gain), jnp.concatenate([present[1:], present[1:]], axis=1))
    kept = jax.tree.map(lambda plane: plane[..., :lanes], below)
    dropped = jax.tree.map(lambda plane: plane[..., lanes:], below)
    return _step(pivot, node, kept, dropped, present[0])


def slopes(node: Node, present: jax.Array, looped: int) -> Slopes:
    """The value and all its first derivatives, the first `looped` modes one branch at a time."""
    if looped == 0:
        return _subtree(node, present)
    pivot, rest, gain = eliminate(node)

    def branch(kept: jax.Array) -> Slopes:
        return slopes(kept_or_dropped(rest, gain, kept), present[1:], looped - 1)

    below = lax.map(branch, jnp.array([True, False]))
    kept, dropped = (jax.tree.map(lambda plane, k=k: plane[k], below) for k in (0, 1))
    return _step(pivot, node, kept, dropped, present[0])
