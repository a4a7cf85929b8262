"""The permanent of one matrix with its derivative rule, above every backend."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax import _scaling
from gbsjax._permanent import program
from gbsjax._permanent.launch import MINORS_BLOCK, MINORS_LANES, Glynn, Recurrence, plan
from gbsjax._permanent.minors import minors as all_minors
from gbsjax._permanent.recurrence import Photons
from gbsjax._permanent.recurrence import value as value_by_recurrence
from gbsjax.numbers import Planes


def plain_modes(n: int, dtype: np.dtype) -> program.Modes:
    """Every row and column once: signs +-1 with weights +-1/2, the first sign fixed."""
    weights = np.tile(np.array([0.5, -0.5], dtype), (n, 1))
    weights[:1] = [1, 0]
    return program.Modes(np.ones(n, dtype), weights, None)


class _Balanced(NamedTuple):
    """A balanced matrix, the exponents taken out of its rows and columns, what the permanent loses by them, and
    whether every entry is finite."""

    matrix: Planes
    rows: jax.Array
    columns: jax.Array
    lost: jax.Array
    finite: jax.Array


def _balance(matrix: jax.Array, counts: jax.Array | np.ndarray, powers: Any, shift: int) -> _Balanced:
    balanced, rows, columns, finite = _scaling.equilibrate(Planes.of(matrix), shift)
    of_columns = columns if powers is None else columns * jnp.asarray(powers).astype(columns.dtype)
    of_rows = rows * jnp.asarray(counts).astype(rows.dtype)
    lost = jnp.sum(of_rows, dtype=rows.dtype) + jnp.sum(of_columns, dtype=rows.dtype)
    return _Balanced(balanced, rows, columns, lost, finite)


def recurrence(matrix: jax.Array, photons: Photons, how: Recurrence) -> jax.Array:
    """The permanent of one matrix by the subset recurrence, which JAX differentiates as it stands: + and x only."""
    balanced = _balance(matrix, photons.counts, photons.powers, how.shift)
    return _scaling.restore(value_by_recurrence(balanced.matrix, photons, how.radices), balanced.lost, balanced.finite)


def _or_plain(modes: program.Modes | None, matrix: jax.Array) -> program.Modes:
    return plain_modes(matrix.shape[0], np.dtype(jnp.real(matrix).dtype)) if modes is None else modes


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def glynn(matrix: jax.Array, modes: program.Modes | None, how: Glynn) -> jax.Array:
    """The permanent of one (k, l) matrix by Glynn's formula; modes=None is every row and column once."""
    modes = _or_plain(modes, matrix)
    balanced = _balance(matrix, modes.counts, modes.powers, how.shift)
    mantissa = program.value(balanced.matrix, modes, plan(how.radices), how.power_bits)
    return _scaling.restore(mantissa, balanced.lost, balanced.finite)


def minors(matrix: jax.Array, modes: program.Modes | None, how: Glynn) -> jax.Array:
    """All derivatives of the permanent by an entry, (k, l): a differentiable program of the matrix."""
    modes = _or_plain(modes, matrix)
    balanced = _balance(matrix, modes.counts, modes.powers, how.shift)
    mantissa = all_minors(balanced.matrix, modes, plan(how.radices, MINORS_LANES, MINORS_BLOCK), how.power_bits)
    return _scaling.restore(
        mantissa, balanced.lost - balanced.rows[:, None] - balanced.columns[None, :], balanced.finite
    )


@glynn.defjvp
def _glynn_jvp(how, primals, tangents):
    # perm is linear in every row, so d perm = sum_ij perm(A without row i and column j) dA_ij (Laplace), with
    # multiplicities as powers. The minors are plain JAX: every higher derivative follows by differentiating them.
    matrix, modes = primals
    return glynn(matrix, modes, how), jnp.sum(minors(matrix, modes, how) * tangents[0])
