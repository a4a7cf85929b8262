"""Photon and click patterns: which mode each photon or click is of."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def written_out(counts: jax.Array | np.ndarray, total: int) -> tuple[jax.Array, jax.Array]:
    """The mode of each of `total` photons, and how many there are; what lies beyond is of any mode."""
    ends = jnp.cumsum(jnp.asarray(counts), axis=-1)
    photon = jnp.arange(total, dtype=ends.dtype)
    mode = jnp.sum(photon.reshape((1,) * (ends.ndim - 1) + (total, 1)) >= ends[..., None, :], axis=-1, dtype=jnp.int32)
    return jnp.minimum(mode, ends.shape[-1] - 1), ends[..., -1]


def ranked(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Counts from large to small, cut to the most modes in use; the modes in that order; the largest of each plus 1."""
    order = np.argsort(-counts, axis=-1, kind="stable")
    sorted_counts = np.take_along_axis(counts, order, axis=-1)
    used = int((sorted_counts > 0).sum(axis=-1).max(initial=0))
    sorted_counts, order = sorted_counts[..., :used], order[..., :used]
    largest = sorted_counts.max(axis=tuple(range(counts.ndim - 1)), initial=0)
    return sorted_counts, order, tuple(int(count) + 1 for count in largest)
