"""Certificates of the permanent: rigorous bounds of what its programs lose. The steps are in docs/proofs.md."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax import _scaling
from gbsjax._permanent import program, rule
from gbsjax._permanent.launch import Glynn, Grid, Recurrence, plan
from gbsjax._permanent.recurrence import Photons
from gbsjax._permanent.recurrence import value as value_by_recurrence
from gbsjax.numbers import ADD, BOUND, MULTIPLY, UNIT, Parts, Planes, Sizes, of_tier

# Words that one stage of the last sum adds: few, because each addition counts in the bound.
GROUP = 4


def _accurately(numbers: Planes, weights: jax.Array) -> tuple[Planes, int]:
    """The sum of (.., l) numbers times (l,) powers of two in stages, and the additions on its longest path."""
    plane = numbers.array()
    left, additions = (plane * weights.astype(plane.dtype)).ravel(), 0
    group = GROUP if left.shape[0] <= GROUP**3 else GROUP**2
    while left.shape[0] > 1:
        size = math.gcd(left.shape[0], group)
        # A product and not a sum: XLA:CPU would fuse a sum with what is before and walk it one by one.
        left = jnp.matmul(left.reshape(-1, size), jnp.ones(size, left.dtype), precision=lax.Precision.HIGHEST)
        additions += size - 1
    return Planes.of(left[0]), additions


def _loop_additions(grid: Grid) -> int:
    return sum(2 ** len(group) for group in grid.loops) + 2 ** len(grid.unroll)


def glynn(matrix: jax.Array, how: Glynn, precision: object) -> _scaling.Certified:
    """Glynn's formula for one (n, n) matrix, float64 or complex128."""
    n = matrix.shape[0]
    kind = "complex" if jnp.iscomplexobj(matrix) else "real"
    modes = rule.plain_modes(n, jnp.real(matrix).dtype)
    balanced = rule.balanced(matrix, modes.counts, None, how.shift)
    grid = plan(how.radices, unroll=1) if precision is BOUND["dd"] else plan(how.radices)
    # No row sum is larger, in a plane; 1.5 for both together.
    largest = 2.0 ** (n.bit_length() - how.shift)
    if precision is BOUND["dd"]:
        tier = "dd"
        mantissa = program.value(of_tier(balanced.matrix, "dd"), modes, grid, how.power_bits)
        lost = (MULTIPLY[tier]["real"] + (n + 2) * ADD[tier]) * UNIT[tier] * 1.5 * largest
        additions = _loop_additions(grid) + 2 ** (len(grid.lanes) + len(grid.block))
        floor, each = largest / 64, 64 * lost / largest
    else:
        tier = "fp64"
        found, weights = program.sums(
            Parts.of(balanced.matrix, n.bit_length() - how.shift), modes, grid, how.power_bits
        )
        mantissa, additions = _accurately(found, weights)
        additions += _loop_additions(grid)
        # The low parts are n numbers of half a place of the grid, and their sums are rounded; the other sum is that of
        # the sizes, in plain float64.
        lost = 1.5 * n * n * UNIT[tier] * 2.0**-52 * largest
        floor, each = 64 * (lost / UNIT[tier] + 1.5 * (n + 1) * UNIT[tier] * largest), UNIT[tier]
    sizes, weights = program.sums(Sizes(balanced.matrix, floor), modes, grid, how.power_bits)
    size = sizes.total(weights).re
    # A factor errs by `each` times its size, and its size may be that of a number up to (1 + 2^-12) larger.
    # The weights are powers of two, exact unless a type has only one way to multiply.
    additions += 8 if tier == "dd" else 0
    relative = n * each + (n - 1) * MULTIPLY[tier][kind] * UNIT[tier] + additions * ADD[tier] * UNIT[tier]
    relative = relative * (1 + 2.0**-12) ** n * (1 + relative * 2)
    return _scaling.certify(mantissa, relative, size, 2.0**-300, balanced.lost, balanced.finite)


def recurrence(matrix: jax.Array, photons: Photons, how: Recurrence, precision: object) -> _scaling.Certified:
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
    return _scaling.certify(mantissa, relative * (1 + 2 * relative), size, 2.0**-400, balanced.lost, balanced.finite)
