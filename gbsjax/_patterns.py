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
