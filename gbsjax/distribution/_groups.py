"""Patterns of one state: which modes each sees, and which patterns share a compiled program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from gbsjax import _checks
from gbsjax._patterns import ranked, written_out

# Terms for which a group is not compiled on its own: 2 ms of work, where compiling takes 300.
FEW = 2**20


class Group(NamedTuple):
    """Patterns that are evaluated together: the modes they see (patterns, d), how often (patterns, d), 0 for a mode
    that only pads, the largest sum, and the logarithm of prod n_i! (patterns,)."""

    modes: Any
    counts: Any
    total: int
    log_factorials: Any


def groups(counts: np.ndarray, terms: Callable[[int], int]) -> tuple[list[Group], np.ndarray]:
    """Concrete patterns (patterns, modes) by their sum, and which they are, one group after the other; few small ones
    go with larger ones. `terms` are of a sum."""
    sums = counts.sum(axis=-1)
    found, order, waiting = [], [], np.zeros(0, dtype=int)
    sizes = np.unique(sums).tolist()
    for size, larger in zip(sizes, [*sizes[1:], None], strict=True):
        waiting = np.concatenate([waiting, np.flatnonzero(sums == size)])
        if larger is not None and len(waiting) * (terms(larger) - terms(size)) <= FEW:
            continue
        repeats, modes, _ = ranked(counts[waiting])
        found.append(Group(modes, repeats, size, log_factorials(repeats)))
        order.append(waiting)
        waiting = waiting[:0]
    return found, np.concatenate(order)


def log_factorials(counts: np.ndarray) -> np.ndarray:
    return np.array([math.lgamma(n + 1) for n in range(counts.max(initial=0) + 1)])[counts].sum(axis=-1)


def traced_group(name: str, what: str, counts: jax.Array, total: int | None) -> tuple[Group, jax.Array]:
    """Traced patterns, each photon or click written out; and whether `total` was enough."""
    most = _checks.photons_or_clicks(name, what, counts, total)
    modes, sums = written_out(counts, most)
    present = (jnp.arange(most, dtype=sums.dtype)[None, :] < sums[:, None]).astype(sums.dtype)
    factorials = jnp.sum(gammaln(jnp.arange(most + 1, dtype=float) + 1)[jnp.minimum(counts, most)], axis=-1)
    return Group(modes, present, most, factorials), sums <= most


def over_patterns(
    name: str,
    what: str,
    counts: Any,
    modes: int,
    total: int | None,
    terms: Callable[[int], int],
    one: Callable[[Group], jax.Array],
) -> jax.Array:
    """`one` of every group of the patterns (*batch, modes), in their order; NaN where traced ones are beyond total."""
    given = _checks.counts(name, what, counts, modes)
    flat = given.reshape(math.prod(given.shape[:-1]), modes)
    if not isinstance(flat, np.ndarray):
        group, allowed = traced_group(name, what, flat, total)
        values = one(group)
        return jnp.where(allowed, values, jnp.nan).reshape(given.shape[:-1])
    if not len(flat):
        nothing = np.zeros((0, 0), dtype=int)
        return one(Group(nothing, nothing, 0, np.zeros(0))).reshape(given.shape[:-1])
    parts, order = groups(flat, terms)
    return jnp.concatenate([one(part) for part in parts])[np.argsort(order)].reshape(given.shape[:-1])


def submatrices(
    matrix: jax.Array, vector: jax.Array | None, modes: Any, blocks: int
) -> tuple[jax.Array, jax.Array | None]:
    """Rows and columns of the modes (patterns, d): one row a mode, or rows k and k + m (blocks = 2)."""
    size = matrix.shape[-1] // blocks
    index = jnp.concatenate([jnp.asarray(modes) + block * size for block in range(blocks)], axis=-1)
    return matrix[index[:, :, None], index[:, None, :]], None if vector is None else vector[index]
