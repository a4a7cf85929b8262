"""From photon counts to a program: which one, over which side, and with how many terms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax._patterns import written_out
from gbsjax._permanent.launch import Glynn, Recurrence
from gbsjax._permanent.program import Modes
from gbsjax._permanent.recurrence import Photons
from gbsjax.numbers import aligned

# From here on the recurrence is preferred: on all-ones input with 20 photons Glynn's terms exceed the value 600 times.
MANY_PHOTONS = 20
# Multiply-adds that the recurrence may cost before Glynn's formula is taken all the same: its gradient keeps every
# state of every step, 200 MB at most.
RECURRENCE_WORK = 2**25


class Present(NamedTuple):
    """Photon by photon, 1 where there is one and 0 beyond the pattern's photons: (photons,)."""

    photon: jax.Array | np.ndarray


class Choice(NamedTuple):
    """A program with its static sizes, its arrays (batched or not), and the rows and columns it wants, in its order.

    Orders and arrays are NumPy where the counts were concrete; `transpose` says that the program sums over columns.
    """

    how: Glynn | Recurrence
    data: Modes | Photons | Present
    rows: np.ndarray | jax.Array
    columns: np.ndarray | jax.Array
    transpose: bool


def _sorted(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts from large to small, cut to the most modes in use, and the modes in that order."""
    order = np.argsort(-counts, axis=-1, kind="stable")
    ranked = np.take_along_axis(counts, order, axis=-1)
    used = max(int((ranked > 0).sum(axis=-1).max(initial=0)), 1)
    return ranked[..., :used], order[..., :used]


def _written_out(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every photon on its own: 1 where there is one (0 beyond a pattern's photons), and the mode of each."""
    photons = max(int(counts.sum(axis=-1).max(initial=0)), 1)
    ends = np.cumsum(counts, axis=-1)
    photon = np.arange(photons)
    order = np.minimum((photon >= ends[..., None]).sum(axis=-2), counts.shape[-1] - 1)
    return (photon < ends[..., -1:]).astype(counts.dtype), order


def _largest(counts: np.ndarray) -> np.ndarray:
    return counts.reshape(-1, counts.shape[-1]).max(axis=0, initial=0)


def _halved_first(counts: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # v and -v give the same term, so one mode, put first, runs over its values v >= 0 only: the one that saves most.
    most = _largest(counts)
    best = int(np.argmin((most // 2 + 1) / (most + 1)))
    front = [best, *(i for i in range(len(most)) if i != best)]
    return counts[..., front], order[..., front]


def _glynn_radices(counts: np.ndarray) -> tuple[int, ...]:
    first, *rest = (int(m) for m in _largest(counts))
    return (first // 2 + 1, *(m + 1 for m in rest))


def _weights(counts: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Signed binomial weights (-1)^t C(m, t) / 2^m of the value m - 2 t, (*batch, modes, largest radix)."""
    largest = int(counts.max(initial=0))
    table = np.zeros((largest + 1, largest + 1))
    for m in range(largest + 1):
        # Through fractions: C(m, t) overflows float64 from m = 1030 on, C(m, t) / 2^m never does.
        table[m, : m + 1] = [float(Fraction((-1) ** t * math.comb(m, t), 2**m)) for t in range(m + 1)]
    weights = table[counts]
    value = counts[..., 0, None] - 2 * np.arange(largest + 1)
    weights[..., 0, :] *= np.where(value > 0, 2, np.where(value == 0, 1, 0))
    return weights.astype(dtype)


def _recurrence(over: np.ndarray, other: np.ndarray, transpose: bool) -> tuple[int, Choice]:
    """The recurrence photon by photon of one side, its states the counts of the other; its cost in multiply-adds."""
    counts, modes = _sorted(over)
    photons, row = _written_out(counts)
    powers, columns = _sorted(other)
    radices = tuple(int(m) + 1 for m in _largest(powers))
    work = photons.shape[-1] * len(radices) * math.prod(radices)
    data = Photons(row.astype(np.int32), photons.astype(np.int32), counts.astype(np.int32), powers.astype(np.int32))
    rows, cols = (columns, modes) if transpose else (modes, columns)
    return work, Choice(Recurrence(radices, photons.shape[-1]), data, rows, cols, transpose)


def _glynn(over: np.ndarray, order: np.ndarray, other: np.ndarray, transpose: bool, dtype: np.dtype) -> Choice:
    powers, columns = _sorted(other)
    bits = max(int(powers.max(initial=0)).bit_length(), 1)
    data = Modes(over.astype(dtype), _weights(over, dtype), powers.astype(np.int32))
    rows, cols = (columns, order) if transpose else (order, columns)
    return Choice(Glynn(_glynn_radices(over), bits, int(over.sum(axis=-1).max(initial=0))), data, rows, cols, transpose)


def choose_plain(rows: np.ndarray, cols: np.ndarray) -> Choice:
    """The program for concrete counts and numbers other than floats: the recurrence, or Glynn's formula over photons
    written out, whichever has fewer terms. Neither has weights that need rounding."""
    total = int(rows.sum(axis=-1).max(initial=0))
    sides = ((False, rows, cols), (True, cols, rows))
    work, choice = min((_recurrence(a, b, side) for side, a, b in sides), key=lambda pair: pair[0])
    if work <= RECURRENCE_WORK and (work < total * 2 ** max(total - 1, 0) or total >= MANY_PHOTONS):
        return choice
    return plainly_written_out(rows, cols, total)


def plainly_written_out(rows: jax.Array | np.ndarray, cols: jax.Array | np.ndarray, total: int) -> Choice:
    """Glynn's formula for `total` photons one by one; what is beyond a pattern is a unit matrix in the corner."""
    row, photons = written_out(rows, total)
    column, _ = written_out(cols, total)
    present = aligned(np.arange(total), photons[..., None]) < photons[..., None]
    return Choice(Glynn((1, *(2,) * (total - 1)), 1, total), Present(present), row, column, False)


def choose(rows: np.ndarray, cols: np.ndarray, dtype: np.dtype) -> Choice:
    """The program for concrete counts: the recurrence for many photons in few modes, else the fewest Glynn terms."""
    sides = ((False, rows, cols), (True, cols, rows))
    if rows.sum(axis=-1).max(initial=0) >= MANY_PHOTONS:
        work, choice = min((_recurrence(a, b, side) for side, a, b in sides), key=lambda pair: pair[0])
        if work <= RECURRENCE_WORK:
            return choice
    candidates = []
    for transpose, over, other in sides:
        for counts in (_sorted(over), _written_out(over)):
            counts, order = _halved_first(*counts)
            candidates.append((math.prod(_glynn_radices(counts)), counts, order, other, transpose))
    _, counts, order, other, transpose = min(candidates, key=lambda candidate: candidate[0])
    return _glynn(counts, order, other, transpose, dtype)


def weighted_out(rows: jax.Array | np.ndarray, cols: jax.Array | np.ndarray, total: int, dtype: np.dtype) -> Choice:
    """Glynn's formula for `total` photons one by one, for counts that are known only when the program runs."""

    def photons(counts: jax.Array | np.ndarray) -> tuple[jax.Array, jax.Array]:
        ends = jnp.cumsum(jnp.asarray(counts), axis=-1)
        photon = jnp.broadcast_to(jnp.arange(total, dtype=ends.dtype), (*ends.shape[:-1], total))
        order = jnp.sum(photon[..., None, :] >= ends[..., :, None], axis=-2)
        return (photon < ends[..., -1:]).astype(dtype), jnp.minimum(order, ends.shape[-1] - 1)

    ones, row_order = photons(rows)
    powers, column_order = photons(cols)
    # Signs +-1 with weights +-1/2; an absent photon has the value 0 once, with the weight 1, and so the first photon.
    halves = (ones / 2).at[..., 0].set(0)
    weights = jnp.stack([1 - halves, -halves], axis=-1)
    data = Modes(ones, weights, powers.astype(jnp.int32))
    return Choice(Glynn((1, *(2,) * (total - 1)), 1, total), data, row_order, column_order, False)
