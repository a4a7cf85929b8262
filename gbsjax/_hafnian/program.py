"""The subset recurrence as sums over a pool of states; knows nothing of precision. It never subtracts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax._hafnian.launch import CHUNK, UNROLLED
from gbsjax._hafnian.tables import LOOP, Pairs, Pool, inward, outward
from gbsjax.numbers import Planes


def _weights(matrix: Planes, loops: Planes | None) -> Planes:
    """What level i multiplies by: (1, loop_i, A_i0, .., A_i(n-1)), one row a level."""
    ones = matrix[:, :1].one()
    first = ones if loops is None else loops[:, None]
    return jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=1), ones, first, matrix)


def _pick(numbers: Planes, index: jax.Array | np.ndarray) -> Planes:
    return numbers.map(lambda plane: plane.at[index].get(mode="promise_in_bounds"))


def _fill(pool: Pool, weights: Planes) -> Planes:
    """Every state of a pool."""

    def level(states: Planes, row: Planes, source: jax.Array | np.ndarray, first: jax.Array | int) -> Planes:
        new = (row[:, None] * _pick(states, source)).sum(0)
        return jax.tree.map(lambda old, new: lax.dynamic_update_slice(old, new, (first,)), states, new)

    # Made from the data, not a constant: inside shard_map a carry must vary over the mesh like what is added to it.
    room = pool.size if len(pool.sums) <= UNROLLED else pool.size + CHUNK
    states = weights.map(lambda plane: jnp.broadcast_to(plane[0, 0] * 0, (room,)))
    states = Planes(states.re.at[1].add(1), states.im)
    if len(pool.sums) <= UNROLLED:
        for sums in pool.sums:
            states = level(states, _pick(weights[sums.level], sums.weights), sums.source, sums.first)
        return states
    # Many levels, as sparse matrices have: one compiled step for all, chunk by chunk.
    terms = max(len(sums.weights) for sums in pool.sums)
    steps = []
    for sums in pool.sums:
        for start in range(0, sums.source.shape[1], CHUNK):
            part = sums.source[:, start : start + CHUNK]
            source = np.zeros((terms, CHUNK), np.int32)
            source[: part.shape[0], : part.shape[1]] = part
            steps.append((sums.level, np.resize(sums.weights, terms), source, sums.first + start))
    parts = tuple(jnp.asarray(np.array(column, np.int32)) for column in zip(*steps, strict=True))

    def body(states: Planes, step: tuple[jax.Array, ...]) -> tuple[Planes, None]:
        row, columns, source, first = step
        return level(states, _pick(weights[row], columns), source, first), None

    return lax.scan(body, states, parts)[0]


def value(matrix: Planes, loops: Planes | None, pairs: Pairs | None) -> Planes:
    """The hafnian, with loops the loop hafnian, of a symmetric (n, n) matrix of which the part above the diagonal is
    read."""
    pool = outward(matrix.re.shape[0], loops is not None, pairs)
    return _fill(pool, _weights(matrix, loops))[pool.answer]


def slopes(matrix: Planes, loops: Planes | None, pairs: Pairs | None) -> tuple[Planes, Planes]:
    """All derivatives, by the entries above the diagonal (n, n) and by the loops (n,): a differentiable program.

    The value is a sum over all ways from the first state to the last, so a weight's derivative is the sum, over the
    steps that use it, of what leads to the step (G) times what follows it (F).
    """
    n = matrix.re.shape[0]
    weights = _weights(matrix, loops)
    out, (into, places) = outward(n, loops is not None, pairs), inward(n, loops is not None, pairs)
    follows, leads = _fill(out, weights), _fill(into, weights)
    parts, where, found = [], np.zeros((n, n + LOOP + 1), np.int32), 1
    for sums, place in zip(out.sums, places, strict=True):
        parts.append((_pick(leads, place)[None, :] * _pick(follows, sums.source)).sum(1))
        where[sums.level, sums.weights] = np.arange(found, found + len(sums.weights))
        found += len(sums.weights)
    nothing = follows[:1]
    flat = jax.tree.map(lambda *planes: jnp.concatenate(planes), nothing, *parts)
    table = _pick(flat, where)
    return table[:, LOOP + 1 :], table[:, LOOP]
