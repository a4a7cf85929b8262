"""Batches in chunks, so that the memory of many small evaluations stays bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def over_batch(one: Callable[[Any], jax.Array], arrays: Any, batch: tuple[int, ...], most: int) -> jax.Array:
    """`one` of every element of arrays with the leading axes `batch`, at most `most` of them at a time."""
    if not batch:
        return one(arrays)
    size = math.prod(batch)
    flat = jax.tree.map(lambda x: x.reshape(size, *x.shape[len(batch) :]), arrays)
    chunks = -(-size // max(1, most))
    if chunks <= 1:
        return jax.vmap(one)(flat).reshape(batch)
    chunk = -(-size // chunks)

    def cut(x: jax.Array) -> jax.Array:
        padded = jnp.pad(x, ((0, chunks * chunk - size), *((0, 0),) * (x.ndim - 1)))
        return padded.reshape(chunks, chunk, *x.shape[1:])

    values = lax.map(jax.vmap(one), jax.tree.map(cut, flat))
    return values.reshape(-1)[:size].reshape(batch)


def broadcast(function: str, names: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common batch shape."""
    try:
        return jnp.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{function}: the batch shapes of {names} must broadcast, got "
            f"{', '.join(map(str, shapes[:-1]))} and {shapes[-1]}. Add or drop leading axes."
        ) from None
