"""Photon counts: the rows they stand for, padded to one size."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def padded(
    matrix: jax.Array, loops: jax.Array | None, mode: jax.Array, photons: jax.Array
) -> tuple[jax.Array, jax.Array | None]:
    """Rows and columns written out, (total, total), followed by what changes no hafnian: pairs matched with each other,
    or, with loops, vertices alone with a loop of 1."""
    total = mode.shape[-1]
    place = jnp.arange(total, dtype=photons.dtype)
    real = place < photons
    both = real[:, None] & real[None, :]
    rows = matrix[mode[:, None], mode[None, :]]
    if loops is not None:
        return jnp.where(both, rows, jnp.zeros((), rows.dtype)), jnp.where(real, loops[mode], jnp.ones((), loops.dtype))
    # The k-th vertex beyond the photons is matched with the one whose k differs in the last bit.
    beyond = place - photons
    partner = (beyond[:, None] ^ 1) == beyond[None, :]
    pairs = ~real[:, None] & ~real[None, :] & partner
    return jnp.where(both, rows, pairs.astype(rows.dtype)), None
