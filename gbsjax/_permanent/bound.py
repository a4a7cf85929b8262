"""Certificates of the permanent: rigorous bounds of what its programs lose. The steps are in docs/proofs.md."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax import _scaling
from gbsjax._permanent import program, rule
from gbsjax._permanent.launch import Glynn, Grid, Recurrence, plan
from gbsjax._permanent.recurrence import Photons
from gbsjax._permanent.recurrence import value as value_by_recurrence
from gbsjax.numbers import ADD, BOUND, MULTIPLY, UNIT, Parts, Planes, Precision, Sizes, of_tier, on_grid

# Numbers up to which the last sum is made without loss: beyond, it would take longer than the terms.
FEW = 2**9


def _accurately(numbers: Planes, weights: jax.Array, size: jax.Array) -> Planes:
    """The sum of (.., l) numbers times (l,) powers of two, rounded once, for numbers whose sizes add up to `size`.

    High parts on a grid so coarse that their sum is exact, in any order, and low parts that are small: the sum of
    S. M. Rump, T. Ogita, S. Oishi, SIAM J. Sci. Comput. 31 (2008) 189, with a grid that is known beforehand.
    """
    # In memory: both parts would compute it.
    planes = lax.optimization_barrier(numbers).split().times(weights)
    high, low = on_grid(planes, _scaling.power_of_two(_scaling.exponent_of(size) - 52, size.dtype))
    ones = jnp.ones_like(weights)
    return high.total(ones) + low.total(ones)


def _additions(grid: Grid) -> int:
    """On the longest path from a term to the sums of the lanes: the unrolled words in pairs, then loop in loop."""
    return len(grid.unroll) + sum(2 ** len(group) for group in grid.loops)


class _Errors(NamedTuple):
    """What a program loses, relative: in each factor of its size, which is at least `floor`, and in additions."""

    tier: str
    factor: float
    additions: float
    floor: float


def _relative(errors: _Errors, n: int, kind: str) -> float:
    unit = UNIT[errors.tier]
    relative = n * errors.factor + ((n - 1) * MULTIPLY[errors.tier][kind] + errors.additions * ADD[errors.tier]) * unit
    # The size of a factor may be that of a number up to (1 + 2^-12) larger.
    return relative * (1 + 2.0**-12) ** n * (1 + 2 * relative)


def glynn(matrix: jax.Array, how: Glynn, precision: Precision) -> _scaling.Certified:
    """Glynn's formula for one (n, n) matrix, float64 or complex128."""
    n = matrix.shape[0]
    modes = rule.plain_modes(n, jnp.real(matrix).dtype)
    balanced = rule.balanced(matrix, modes.counts, None, how.shift)
    grid = plan(how.radices)
    # No row sum is larger, in a plane; 1.5 for both together.
    largest = 2.0 ** (n.bit_length() - how.shift)
    # The sizes have row sums of their own, in plain float64.
    gap = 1.5 * (n + 1) * UNIT["fp64"] * largest

    def sizes(floor: float) -> jax.Array:
        found, weights = program.sums(Sizes(balanced.matrix, floor), modes, grid, how.power_bits)
        return found.total(weights).re

    if precision is BOUND["dd"]:
        in_steps = plan(how.radices, unroll=1)
        mantissa = program.value(of_tier(balanced.matrix, "dd"), modes, in_steps, how.power_bits)
        # A row sum has n products by a sign and n + 2 additions. Weights are powers of two, and multiply like others.
        lost = (MULTIPLY["dd"]["real"] + (n + 2) * ADD["dd"]) * UNIT["dd"] * 1.5 * largest
        additions = _additions(in_steps) + 2 ** (len(in_steps.lanes) + len(in_steps.block)) + 8
        errors = _Errors("dd", 64 * lost / largest, additions, largest / 64)
        size = sizes(errors.floor)
    else:
        parts = Parts.of(balanced.matrix, n.bit_length() - how.shift)
        found, weights = program.sums(parts, modes, grid, how.power_bits)
        few = math.prod(found.shape) <= FEW
        # The low parts of a row sum are n numbers of half a place of the grid, whose sums are rounded.
        lost = 1.5 * n * n * UNIT["fp64"] * 2.0**-52 * largest
        additions = _additions(grid) + (0.1 if few else sum(found.shape))
        errors = _Errors("fp64", UNIT["fp64"], additions, 64 * (lost / UNIT["fp64"] + gap))
        size = sizes(errors.floor)
        mantissa = _accurately(found, weights, size * 2) if few else found.total(weights)
    relative = _relative(errors, n, "complex" if jnp.iscomplexobj(matrix) else "real")
    # What is rounded last is the value itself.
    error = relative * (size + 2.0**-300) + UNIT[errors.tier] * mantissa.rounded().size()
    return _scaling.certify(mantissa, error, size, balanced.lost, balanced.finite)


def recurrence(matrix: jax.Array, photons: Photons, how: Recurrence, precision: Precision) -> _scaling.Certified:
    """The subset recurrence over column counts for one matrix, float64 or complex128."""
    tier = "dd" if precision is BOUND["dd"] else "fp64"
    kind = "complex" if jnp.iscomplexobj(matrix) else "real"
    balanced = rule.balanced(matrix, photons.counts, photons.powers, how.shift)
    mantissa = value_by_recurrence(of_tier(balanced.matrix, tier), photons, how.radices)
    size = value_by_recurrence(Planes(balanced.matrix.size(), None), photons, how.radices).re
    # A photon multiplies by an entry and by a count, and adds up the columns.
    columns = len(how.radices)
    steps = MULTIPLY[tier][kind] + MULTIPLY[tier]["real"] + (columns - 1) * ADD[tier]
    relative = how.photons * steps * UNIT[tier]
    error = relative * (1 + 2 * relative) * (size + 2.0**-400)
    return _scaling.certify(mantissa, error, size, balanced.lost, balanced.finite)
