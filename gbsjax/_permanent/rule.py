"""The permanent of one matrix with its derivative rule, above every backend."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax import _scaling
from gbsjax._batches import differentiated_as, undifferentiated
from gbsjax._permanent import program
from gbsjax._permanent.launch import MINORS_BLOCK, MINORS_LANES, Glynn, Recurrence, plan
from gbsjax._permanent.minors import minors as all_minors
from gbsjax._permanent.recurrence import Photons
from gbsjax._permanent.recurrence import value as value_by_recurrence
from gbsjax.numbers import WORDS, Planes, Precision, of_tier


def plain_modes(n: int, dtype: np.dtype) -> program.Modes:
    """Every row and column once: signs +-1 with weights +-1/2, the first sign fixed."""
    weights = np.tile(np.array([0.5, -0.5], dtype), (n, 1))
    weights[:1] = [1, 0]
    return program.Modes(np.ones(n, dtype), weights, None)


class Balanced(NamedTuple):
    """A balanced matrix, the exponents taken out of its rows and columns, what the permanent loses by them, and
    whether every entry is finite."""

    matrix: Planes
    rows: jax.Array
    columns: jax.Array
    lost: jax.Array
    finite: jax.Array


def balanced(matrix: jax.Array, counts: jax.Array | np.ndarray, powers: Any, shift: int) -> Balanced:
    found, rows, columns, finite = _scaling.equilibrate(Planes.of(matrix), shift)
    of_columns = columns if powers is None else columns * jnp.asarray(powers).astype(columns.dtype)
    of_rows = rows * jnp.asarray(counts).astype(rows.dtype)
    lost = jnp.sum(of_rows, dtype=rows.dtype) + jnp.sum(of_columns, dtype=rows.dtype)
    return Balanced(found, rows, columns, lost, finite)


def _recurrence(matrix: jax.Array, photons: Photons, how: Recurrence, precision: Precision) -> tuple[jax.Array, ...]:
    scaled = balanced(matrix, photons.counts, photons.powers, how.shift)
    mantissa = value_by_recurrence(of_tier(scaled.matrix, precision), photons, how.radices)
    return tuple(_scaling.restore(word, scaled.lost, scaled.finite) for word in mantissa.in_words())


def recurrence(matrix: jax.Array, photons: Photons, how: Recurrence, precision: Precision) -> jax.Array:
    """The permanent of one matrix by the subset recurrence, which JAX differentiates as it stands: + and x only."""

    def smooth(matrix: jax.Array, photons: Photons) -> jax.Array:
        return _recurrence(matrix, photons, how, "fp64")[0]

    if precision == "fp64":
        return smooth(matrix, photons)

    def accurate(matrix: jax.Array, photons: Photons) -> jax.Array:
        return _recurrence(matrix, photons, how, precision)[0]

    return differentiated_as(smooth, accurate)(matrix, photons)


def _glynn(matrix: jax.Array, modes: program.Modes | None, how: Glynn, precision: Precision) -> tuple[jax.Array, ...]:
    modes = _or_plain(modes, matrix)
    scaled = balanced(matrix, modes.counts, modes.powers, how.shift)
    # In double-double one word at a time: more would take long to compile.
    grid = plan(how.radices) if precision == "fp64" else plan(how.radices, unroll=1)
    mantissa = program.value(of_tier(scaled.matrix, precision), modes, grid, how.power_bits)
    return tuple(_scaling.restore(word, scaled.lost, scaled.finite) for word in mantissa.in_words())


def words(matrix: jax.Array, photons: Photons | None, how: Glynn | Recurrence) -> tuple[jax.Array, ...]:
    """High and low word; without a derivative."""
    if isinstance(how, Recurrence):
        assert photons is not None
        return undifferentiated(functools.partial(_recurrence, how=how, precision=WORDS))(matrix, photons)
    return undifferentiated(functools.partial(_glynn, modes=None, how=how, precision=WORDS))(matrix)


def _or_plain(modes: program.Modes | None, matrix: jax.Array) -> program.Modes:
    return plain_modes(matrix.shape[0], np.dtype(jnp.real(matrix).dtype)) if modes is None else modes


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def glynn(matrix: jax.Array, modes: program.Modes | None, how: Glynn, precision: Precision) -> jax.Array:
    """The permanent of one (k, l) matrix by Glynn's formula; modes=None is every row and column once."""
    return _glynn(matrix, modes, how, precision)[0]


def minors(matrix: jax.Array, modes: program.Modes | None, how: Glynn) -> jax.Array:
    """All derivatives of the permanent by an entry, (k, l): a differentiable program of the matrix."""
    modes = _or_plain(modes, matrix)
    scaled = balanced(matrix, modes.counts, modes.powers, how.shift)
    mantissa = all_minors(scaled.matrix, modes, plan(how.radices, MINORS_LANES, MINORS_BLOCK), how.power_bits)
    lost = scaled.lost - scaled.rows[:, None] - scaled.columns[None, :]
    return _scaling.restore(mantissa, lost, scaled.finite)


@glynn.defjvp
def _glynn_jvp(how, precision, primals, tangents):
    # perm is linear in every row, so d perm = sum_ij perm(A without row i and column j) dA_ij (Laplace), with
    # multiplicities as powers. The minors are plain JAX: every higher derivative follows by differentiating them.
    matrix, modes = primals
    return glynn(matrix, modes, how, precision), jnp.sum(minors(matrix, modes, how) * tangents[0])
