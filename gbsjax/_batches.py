"""Batches in chunks, so that the memory of many small evaluations stays bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def over_batch(one: Callable[[Any], Any], arrays: Any, batch: tuple[int, ...], most: int) -> Any:
    """`one` of every element of arrays with the leading axes `batch`, at most `most` elements at a time."""
    return in_chunks(jax.vmap(one), arrays, batch, most) if batch else one(arrays)


def in_chunks(some: Callable[[Any], Any], arrays: Any, batch: tuple[int, ...], most: int) -> Any:
    """`some` of arrays with the leading axes `batch`, which it takes as one axis, at most `most` elements at a time."""
    size = math.prod(batch)
    flat = jax.tree.map(lambda x: x.reshape(size, *x.shape[len(batch) :]), arrays)
    chunks = -(-size // max(1, most))
    if chunks <= 1:
        return jax.tree.map(lambda x: x.reshape(batch), some(flat))
    chunk = -(-size // chunks)

    def cut(x: jax.Array) -> jax.Array:
        padded = jnp.pad(x, ((0, chunks * chunk - size), *((0, 0),) * (x.ndim - 1)))
        return padded.reshape(chunks, chunk, *x.shape[1:])

    found = lax.map(some, jax.tree.map(cut, flat))
    return jax.tree.map(lambda x: x.reshape(-1)[:size].reshape(batch), found)


def differentiated_as(smooth: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the derivatives of `smooth`: for one that JAX would differentiate wrongly or not at all."""
    differentiable = jax.custom_jvp(function)

    @differentiable.defjvp
    def _(arrays: Any, slopes: Any) -> tuple[Any, Any]:
        _, tangents = jax.jvp(smooth, arrays, slopes)
        return differentiable(*arrays), tangents

    return differentiable


def undifferentiated(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which says so when it is differentiated."""

    def refuse(*_: Any) -> Any:
        raise TypeError(
            "the words of a double-double and certificates have no derivative. Differentiate the function itself, at "
            "precision='fp64' or 'dd'."
        )

    return differentiated_as(refuse, function)


def lanes_last(function: Callable[..., Any], smooth: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """`function` of arrays, with a batch that jax.vmap adds as the last axis of every array; differentiated as `smooth`
    is, None for itself.

    `function` takes any number of further axes at the end, the same for all its arrays. Last, the batch is contiguous
    in memory, and what is done to one element is vectorised over all; JAX by itself would put it first.
    """

    @jax.custom_batching.custom_vmap
    def one(*arrays: Any) -> Any:
        return function(*arrays)

    @one.def_vmap
    def _(size: int, batched: Any, *arrays: Any) -> tuple[Any, Any]:
        def move(x: jax.Array, has: bool) -> jax.Array:
            return jnp.moveaxis(x, 0, -1) if has else jnp.broadcast_to(x[..., None], (*x.shape, size))

        # The same function again: it may be in another vmap.
        values = one(*jax.tree.map(move, arrays, tuple(batched)))
        return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), values), jax.tree.map(lambda _: True, values)

    # A function with a rule for vmap cannot be differentiated in reverse: derivatives are those of the plain function.
    return differentiated_as(smooth or function, one)


def broadcast(function: str, names: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common batch shape."""
    try:
        return jnp.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{function}: the batch shapes of {names} must broadcast, got "
            f"{', '.join(map(str, shapes[:-1]))} and {shapes[-1]}. Add or drop leading axes."
        ) from None
