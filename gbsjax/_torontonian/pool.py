"""The tree of Schur complements with all its entries in one pool, filled by one step in a loop.

Breadth first, every level has shapes, and so kernels, of its own; in double-double they take long to compile (12 modes:
17 s, and 3 s in a pool). Here one step serves all levels, and of two mirrored entries one is made; its look-ups make it
slower than breadth first, in float64 by half, in double-double up to twice.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax._torontonian.program import Levels, Node, Pivot, pivot, solved
from gbsjax.numbers import together

# Entries of a step, all matrices together.
ENTRIES = 2**9


class Steps(NamedTuple):
    """Places in the pool, step by step; what is padded reads place 0, a zero."""

    # Of each node: a, b, d of its first mode.
    blocks: np.ndarray
    # Of each row below: the entries of the first two rows in its column, and its node among those of the step.
    rows: np.ndarray
    # Of each entry made: what is left, the first two rows in its column, and its row among those of the step.
    made: np.ndarray
    # Where the first is put.
    first: np.ndarray


class Tables(NamedTuple):
    size: int
    # Of every node, all levels: a, b, d, and with displacement y and z.
    nodes: np.ndarray
    # Of every level, (rows, columns, nodes): the place of an entry, of its mirror image below the diagonal.
    levels: list[np.ndarray]
    steps: Steps | None


@functools.lru_cache(maxsize=32)
def tables(modes: int, loops: bool, most: int) -> Tables:
    """Entries on and above the diagonal, displacement as a last column; a level has the nodes that keep the mode before
    it first, then those that drop it."""
    size, index = 1, np.zeros((1, 2 * modes, 2 * modes + loops), np.int64)
    j, k = np.triu_indices(2 * modes, 0, 2 * modes + loops)
    index[0, j, k] = size + np.arange(len(j))
    size += len(j)
    # A step has room for one node of the first level.
    most = max(most, (2 * modes - 2) * (2 * modes - 1) // 2 + (2 * modes - 2) * loops)
    sizes = (most // 4 + 1, max(most // 2, 2 * modes - 2), most)
    nodes, levels, steps = [], [], []
    for level in range(modes):
        rows = index.shape[1]
        below = np.tril_indices(rows, -1)
        whole = index[:, :, :rows].copy()
        whole[:, below[0], below[1]] = whole[:, below[1], below[0]]
        levels.append(np.concatenate([whole, index[:, :, rows:]], axis=2).transpose(1, 2, 0))
        ends = [index[:, 0, -1], index[:, 1, -1]] if loops else []
        nodes.append(np.stack([index[:, 0, 0], index[:, 0, 1], index[:, 1, 1], *ends], axis=1))
        if level == modes - 1:
            break
        left = rows - 2
        j, k = np.triu_indices(left, 0, left + loops)
        count = len(index)
        each = min(sizes[0], sizes[1] // left, sizes[2] // len(j))
        for start in range(0, count, each):
            part = index[start : start + each]
            local = np.repeat(np.arange(len(part)), left)
            row = [part[:, 0, 2 : 2 + left].ravel(), part[:, 1, 2 : 2 + left].ravel(), local]
            at_row = (np.arange(len(part))[:, None] * left + j).ravel()
            entry = [part[:, 2 + j, 2 + k].ravel(), part[:, 0, 2 + k].ravel(), part[:, 1, 2 + k].ravel(), at_row]
            tabled = (nodes[-1][start : start + each, :3], np.stack(row, axis=1), np.stack(entry, axis=1))
            padded = (np.pad(x, np.array([[0, most - len(x)], [0, 0]])) for x, most in zip(tabled, sizes, strict=True))
            steps.append((*padded, size + start * len(j)))
        kept = np.zeros((count, left, left + loops), np.int64)
        kept[:, j, k] = size + np.arange(count * len(j)).reshape(count, -1)
        size += count * len(j)
        index = np.concatenate([kept, index[:, 2:, 2:]])
    columns = [np.array(column) for column in zip(*steps, strict=True)]
    return Tables(size + most, np.concatenate(nodes), levels, Steps(*columns) if columns else None)


def _at(pool: Any, places: Any) -> Any:
    return pool.map(lambda plane: plane.at[places].get(mode="promise_in_bounds"))


def _fill(pool: Any, steps: Steps) -> Any:
    def step(pool: Any, tables: Steps) -> tuple[Any, None]:
        # Look-ups by themselves: XLA:CPU would fuse nothing of what uses one of them more than once.
        a, b, d = together([_at(pool, tables.blocks[:, k]) for k in range(3)])
        a, d = a.real(), d.real()
        node = [_at(x, tables.rows[:, 2]) for x in (a, b, d, pivot(a, b, d, None).det)]
        # The first two rows are the columns below, conjugated.
        u, v, *node = together([*(_at(pool, tables.rows[:, k]).conj() for k in (0, 1)), *node])
        left, right = (_at(x, tables.made[:, 3]) for x in solved(u, v, *node, stage=together))
        rest, below, beside = (_at(pool, tables.made[:, k]) for k in range(3))
        left, right, rest, below, beside = together([left, right, rest, below, beside])
        made = (rest + (left * below + right * beside)).in_memory()

        def put(plane: jax.Array, new: jax.Array) -> jax.Array:
            return lax.dynamic_update_slice_in_dim(plane, new, tables.first, 0)

        return pool.map(put, made), None

    return lax.scan(step, pool, jax.tree.map(jnp.asarray, steps))[0]


def descend(node: Node) -> Levels:
    """Of every level, from the first mode to the last, its nodes side by side and their pivots."""
    rows, _, lanes = node.matrix.shape
    loops = node.ends is not None
    found = tables(rows // 2, loops, ENTRIES // lanes)
    entries = node.matrix
    if loops:
        entries = entries.map(lambda plane, end: jnp.concatenate([plane, end[:, None]], axis=1), node.ends)
    above = entries[np.triu_indices(rows, 0, rows + loops)]

    def around(plane: jax.Array) -> jax.Array:
        zeros = jnp.zeros((found.size, lanes), plane.dtype)
        return lax.dynamic_update_slice_in_dim(zeros, plane, 1, 0)

    pool = above.map(around)
    if found.steps is not None:
        pool = _fill(pool, found.steps)

    def flat(numbers: Any) -> Any:
        return numbers.map(lambda plane: plane.reshape(*plane.shape[:-2], -1))

    a, b, d, *ends = together([flat(_at(pool, found.nodes[:, k])) for k in range(found.nodes.shape[1])])
    all_pivots = pivot(a.real(), b, d.real(), (ends[0], ends[1]) if loops else None)
    levels, pivots, first = [], [], 0
    for level, places in enumerate(found.levels):
        here = _at(pool, places)
        size = places.shape[0]
        upper = np.triu(np.ones((size, size + loops), bool))[:, :, None, None]
        whole = flat(here.where(jnp.asarray(upper), here.conj()))
        levels.append(Node(whole[:, :size], whole[:, size] if loops else None))
        last = first + lanes * 2**level
        pivots.append(Pivot(*(None if x is None else x[first:last] for x in all_pivots)))
        first = last
    return levels, pivots
