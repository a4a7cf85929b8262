"""The recurrence over photon counts: no subtraction, for patterns of many photons in few modes."""

from __future__ import annotations

import functools
import math
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax.numbers import Numbers


def value(matrix: Numbers, loops: Numbers | None, counts: jax.Array | np.ndarray, radices: tuple[int, ...]) -> Numbers:
    """H[c], the (loop) hafnian with mode i taken c_i times: with i the first mode that is left,
    H[c] = loop_i H[c - e_i] + (c_i - 1) A_ii H[c - 2 e_i] + sum over j > i of c_j A_ij H[c - e_i - e_j].

    Mode after mode from the last to the first, count after count. radices are the largest counts plus 1.
    """
    # Made from the data, not a constant: inside shard_map a carry must vary over the mesh like what is added to it.
    states = matrix[0, :1].map(lambda plane: plane * 0)
    states = states + states.one()
    sizes: list[int] = []
    for mode in range(len(radices) - 1, -1, -1):
        states = _mode(matrix, loops, mode, radices[mode], states, tuple(sizes))
        sizes.append(radices[mode])
    strides = np.cumprod([1, *sizes[:-1]])[::-1]
    index = jnp.sum(jnp.asarray(counts) * jnp.asarray(strides, counts.dtype))
    return states[index]


def _mode(
    matrix: Numbers, loops: Numbers | None, mode: int, radix: int, states: Numbers, sizes: tuple[int, ...]
) -> Numbers:
    """States with one more mode in front, (radix * states,). sizes are the radices of the later modes, last first."""
    digits = np.indices(sizes[::-1]).reshape(len(sizes), math.prod(sizes))[::-1]
    strides = np.cumprod([1, *sizes[:-1]]) if sizes else ()

    def step(before: tuple[Numbers, Numbers], count: jax.Array) -> tuple[tuple[Numbers, Numbers], Numbers]:
        one, two = before
        terms = [matrix[mode, mode] * two.times(count - 1)]
        if loops is not None:
            terms.append(loops[mode] * one)
        for place, stride in enumerate(strides):
            later = mode + len(sizes) - place
            # What wraps around meets a count of 0.
            taken = one.map(lambda plane, s=int(stride): jnp.roll(plane, s)).times(digits[place])
            terms.append(matrix[mode, later] * taken)
        new = functools.reduce(operator.add, terms).in_memory()
        return (new, one), new

    counts = jnp.arange(1, radix)
    _, rest = lax.scan(step, (states, states.map(jnp.zeros_like)), counts)
    return states.map(lambda first, more: jnp.concatenate([first[None], more]).reshape(-1), rest)
