"""Certificates of the hafnians: rigorous bounds of what the recurrences lose. The steps are in docs/proofs.md."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from gbsjax import _scaling
from gbsjax._batches import lanes_last
from gbsjax._hafnian import photons, program, rule
from gbsjax._hafnian.launch import Photons, Subsets
from gbsjax.numbers import ADD, BOUND, MULTIPLY, UNIT, Planes, Precision, of_tier

# Terms that underflow, and what they would still be multiplied by: balanced entries and values are at most 1.
FLOOR = 2.0**-400


def _relative(how: Subsets | Photons, tier: str, kind: str) -> float:
    """The longest path from an entry to the value, in units: the recurrences never subtract, so the error is at most
    this many times the same sum of absolute values."""
    if isinstance(how, Subsets):
        n = how.size
        # With loops every vertex may be on its own; else n - 1, n - 3, .. products are added up.
        products, additions = (n, n * (n - 1) // 2) if how.loops else (n // 2, (n // 2) * (n // 2 - 1))
        units = products * MULTIPLY[tier][kind] + additions * ADD[tier]
    else:
        total = sum(radix - 1 for radix in how.radices)
        step = MULTIPLY[tier][kind] + MULTIPLY[tier]["real"] + (len(how.radices) + 1) * ADD[tier]
        units = (total if how.loops else total // 2) * step
    relative = units * UNIT[tier]
    return relative * (1 + 2 * relative)


def _sizes(numbers: Planes | None) -> Planes | None:
    return None if numbers is None else Planes(numbers.size(), None)


def _certified(scaled: rule.Balanced, how: Subsets | Photons, precision: Precision, value: Callable[..., Any]) -> Any:
    tier = "dd" if precision is BOUND["dd"] else "fp64"
    kind = "real" if scaled.matrix.im is None else "complex"
    found = value(of_tier(scaled.matrix, tier), None if scaled.loops is None else of_tier(scaled.loops, tier))
    size = value(_sizes(scaled.matrix), _sizes(scaled.loops)).re
    return _scaling.certify(found, _relative(how, tier, kind) * (size + FLOOR), size, scaled.lost, scaled.finite)


@functools.cache
def _subsets(how: Subsets, precision: Precision) -> Callable[..., _scaling.Certified]:
    @lanes_last
    def certified(matrix: jax.Array, loops: jax.Array | None) -> _scaling.Certified:
        value = functools.partial(program.value, pairs=how.pairs)
        return _certified(rule.balanced_subsets(matrix, loops, how), how, precision, value)

    return certified


def by_subsets(matrix: jax.Array, loops: jax.Array | None, how: Subsets, precision: Precision) -> _scaling.Certified:
    """The subset recurrence for one (n, n) matrix, float64 or complex128."""
    return _subsets(how, precision)(matrix, loops)


def by_photons(
    matrix: jax.Array, loops: jax.Array | None, counts: jax.Array, how: Photons, precision: Precision
) -> _scaling.Certified:
    """The recurrence over photon counts for one (k, k) matrix, float64 or complex128."""
    value = functools.partial(photons.value, counts=counts, radices=how.radices)
    return _certified(rule.balanced_photons(matrix, loops, counts, how), how, precision, value)


def nothing(matrix: jax.Array) -> _scaling.Certified:
    """The hafnian of an odd number of vertices: 0, NaN where the matrix is."""
    zero = jnp.real(matrix)
    return _scaling.Certified(matrix, zero, zero)
