"""The subset recurrence over photon counts: no subtraction, for patterns of many photons in few modes."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax.numbers import Numbers


class Photons(NamedTuple):
    """One side photon by photon: row of each (photons,), 1 where present and 0 beyond the pattern, and the counts
    (k,) and (l,) of both sides."""

    row: jax.Array | np.ndarray
    present: jax.Array | np.ndarray
    counts: jax.Array | np.ndarray
    powers: jax.Array | np.ndarray


def value(matrix: Numbers, photons: Photons, radices: tuple[int, ...]) -> Any:
    """P[c] = the permanent of the photons so far with column j taken c_j times: each photon adds
    P'[c] = sum_j A_ij c_j P[c - e_j]. The answer is P[powers]; radices are the largest powers plus 1.

    Glynn's formula subtracts: on all-ones input its terms exceed the value e^(0.4 N) times, no digit at 90 photons.
    """
    strides = np.cumprod((1, *radices[:-1]))
    states = math.prod(radices)
    digits = np.indices(radices[::-1]).reshape(len(radices), states)[::-1]

    def photon(state: Numbers, which: tuple[jax.Array, jax.Array]) -> tuple[Numbers, None]:
        row, present = which
        entries = matrix[row]
        parts = []
        for column, stride in enumerate(strides):
            # What wraps around meets a count of 0.
            before = state.map(lambda plane, s=int(stride): jnp.roll(plane, s))
            parts.append(entries[column, None] * before.times(digits[column]))
        return functools.reduce(operator.add, parts).where(present > 0, state), None

    # Made from the data, not a constant: inside shard_map a carry must vary over the mesh like what is added to it.
    nothing = matrix.map(lambda plane: jnp.broadcast_to(plane[0, 0] * 0, (states,)))
    start = nothing.map(lambda plane, one: plane.at[0].add(one[0]), nothing.one())
    final, _ = lax.scan(photon, start, (jnp.asarray(photons.row), jnp.asarray(photons.present)))
    target = jnp.sum(jnp.asarray(photons.powers) * jnp.asarray(strides, photons.powers.dtype))
    return final[target]
