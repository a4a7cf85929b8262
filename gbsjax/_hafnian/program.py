"""The subset recurrence as sums over a pool of states; knows nothing of precision. It never subtracts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax._hafnian.launch import LANES_CHUNK, UNROLLED, chunk_of
from gbsjax._hafnian.tables import Pairs, Pool, Steps, Sums, inward, outward, stages, steps
from gbsjax.numbers import Numbers

Index = jax.Array | np.ndarray


def _weights(matrix: Numbers, loops: Numbers | None) -> Numbers:
    """What level i multiplies by, from column i on: (1, [loop_i,] A_i(i+1), .., A_i(n-1)), (n, columns, *lanes)."""
    n = matrix.shape[0]
    shift = 0 if loops is None else 1
    lanes = ((0, 0),) * (len(matrix.shape) - 2)
    wide = matrix.map(lambda plane: jnp.pad(plane, ((0, 0), (shift, 0), *lanes)))
    place = np.arange(n + shift)[None, :] - np.arange(n)[:, None]

    def at(k: int) -> jax.Array:
        return jnp.asarray(place == k).reshape(*place.shape, *(1,) * len(lanes))

    if loops is not None:
        wide = loops[:, None].where(at(1), wide)
    # In memory, once: every level would compute them again.
    return wide.one().where(at(0), wide).in_memory()


def _pick(numbers: Numbers, index: jax.Array | np.ndarray) -> Numbers:
    return numbers.map(lambda plane: plane.at[index].get(mode="promise_in_bounds"))


def _parts(pool: Pool, lanes: tuple[int, ...]) -> tuple[int, tuple[tuple[Sums, ...], ...]]:
    """The chunk, and the levels that share a compiled step."""
    if len(pool.sums) <= UNROLLED:
        return 0, tuple((sums,) for sums in pool.sums)
    chunk = LANES_CHUNK if lanes else chunk_of(pool.size)
    return chunk, stages(pool.sums, chunk)


def _rows(weights: Numbers, steps: Steps) -> Numbers:
    """The weights of each step, (steps, terms, *lanes)."""
    columns = weights.shape[1]
    flat = weights.map(lambda plane: plane.reshape(-1, *plane.shape[2:]))
    return _pick(flat, steps.weights + steps.level[:, None] * columns)


def _row(weights: Numbers, sums: Sums) -> Numbers:
    """The weights of a level. Side by side they are a slice, which costs nothing; looked up, they would be a kernel of
    their own, which XLA:CPU would give to another thread and wait for."""
    first, count = int(sums.weights[0]), len(sums.weights)
    if sums.weights[-1] == first + count - 1:
        return weights[sums.level, first : first + count]
    return _pick(weights[sums.level], sums.weights)


def _fill(pool: Pool, weights: Numbers) -> Numbers:
    """Every state of a pool, (states, *lanes)."""

    def level(states: Numbers, step: tuple[Numbers, Index, Index | int]) -> tuple[Numbers, None]:
        row, source, first = step
        new = (row[None] * _pick(states, source)).sum(1)
        return states.map(lambda old, more: lax.dynamic_update_slice_in_dim(old, more, first, 0), new), None

    lanes = weights.shape[2:]
    chunk, parts = _parts(pool, lanes)
    # Made from the data, not a constant: inside shard_map a carry must vary over the mesh like what is added to it.
    states = weights.map(lambda plane: jnp.broadcast_to(plane[0, 0] * 0, (pool.size + chunk, *lanes)))
    states = states.map(lambda plane, one: plane.at[1].add(one[1]), states.one())
    for part in parts:
        if len(part) == 1:
            states, _ = level(states, (_row(weights, part[0]), part[0].source, part[0].first))
        else:
            cut = steps(part, chunk)
            rows = _rows(weights, cut)

            def step(states: Numbers, at: tuple, rows: Numbers = rows) -> tuple[Numbers, None]:
                place, source, first = at
                row = rows.map(lambda plane: lax.dynamic_index_in_dim(plane, place, keepdims=False))
                return level(states, (row, source, first))

            places = jnp.arange(len(cut.first))
            states, _ = lax.scan(step, states, (places, jnp.asarray(cut.source), jnp.asarray(cut.first)), unroll=2)
    return states


def _together(matrix: Numbers, loops: Numbers | None) -> tuple[Numbers, Numbers | None]:
    """With lanes, planes: their products are vectorised. A single matrix is looked up number by number."""
    if len(matrix.shape) > 2:
        return matrix, loops
    return matrix.interleaved(), None if loops is None else loops.interleaved()


def value(matrix: Numbers, loops: Numbers | None, pairs: Pairs | None) -> Numbers:
    """The hafnian, with loops the loop hafnian, of a symmetric (n, n, *lanes) matrix of which the part above the
    diagonal is read."""
    pool = outward(matrix.shape[0], loops is not None, pairs)
    return _fill(pool, _weights(*_together(matrix, loops)))[pool.answer].split()


def slopes(matrix: Numbers, loops: Numbers | None, pairs: Pairs | None) -> tuple[Numbers, Numbers, Numbers]:
    """The value and all its derivatives, by the entries above the diagonal (n, n, *lanes) and by the loops (n, *lanes):
    a differentiable program.

    The value is a sum over all ways from the first state to the last, so a weight's derivative is the sum, over the
    steps that use it, of what leads to the step (G) times what follows it (F).
    """
    n = matrix.shape[0]
    weights = _weights(*_together(matrix, loops))
    out, (into, place) = outward(n, loops is not None, pairs), inward(n, loops is not None, pairs)
    follows, leads = _fill(out, weights), _fill(into, weights)

    def level(_: None, step: tuple[Numbers, Index]) -> tuple[None, Numbers]:
        lead, source = step
        return None, (lead[None] * _pick(follows, source)).sum(1)

    # Slope 0 is 0: of weights that are not used.
    found, where, size = [follows[:1]], np.zeros(weights.shape[:2], np.uint32), 1
    chunk, parts = _parts(out, weights.shape[2:])
    for part in parts:
        if len(part) == 1:
            (sums,) = part
            own = place[sums.first : sums.first + len(sums.source)]
            new = level(None, (_pick(leads, own), sums.source.T))[1][None]
        else:
            cut = steps(part, chunk)
            turned = jnp.asarray(np.swapaxes(cut.source, 1, 2))
            _, new = lax.scan(level, None, (_pick(leads, place[cut.own]), turned))
            new = _over_chunks(new, cut.level, part)
        for k, sums in enumerate(part):
            where[sums.level, sums.weights] = size + k * new.shape[1] + np.arange(len(sums.weights))
        size += new.shape[0] * new.shape[1]
        found.append(new.map(lambda plane: plane.reshape(-1, *plane.shape[2:])))
    flat = found[0].map(lambda *planes: jnp.concatenate(planes), *found[1:])
    shift = weights.shape[1] - n
    by_entry = np.triu(where[:, shift:], 1)
    by_loop = np.diagonal(where[:, shift:])
    return follows[out.answer].split(), _pick(flat, by_entry).split(), _pick(flat, by_loop).split()


def _over_chunks(numbers: Numbers, level: np.ndarray, part: tuple[Sums, ...]) -> Numbers:
    """Sums over the steps of each level: (steps, terms, *lanes) to (levels, terms, *lanes)."""
    most = max(int((level == sums.level).sum()) for sums in part)
    index = np.zeros((len(part), most), np.uint32)
    for row, sums in zip(index, part, strict=True):
        (of_level,) = np.nonzero(level == sums.level)
        row[: len(of_level)] = 1 + of_level
    padded = numbers.map(lambda plane: jnp.concatenate([jnp.zeros_like(plane[:1]), plane]))
    return _pick(padded, index).sum(1)
