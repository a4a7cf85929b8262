"""Powers of two: exact equilibration, and values kept as mantissa * 2**exponent until the end."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from gbsjax.numbers import BOUND, WORDS, DoubleDouble, Numbers, Planes, Precision


def exponent_of(x: jax.Array) -> jax.Array:
    """The int32 e with 2**(e - 1) <= x < 2**e for normal positive x; 0 for zero, subnormal and non-finite x."""
    fraction_bits = jnp.finfo(x.dtype).nmant
    integer = jnp.int64 if x.dtype == jnp.float64 else jnp.int32
    field = (lax.bitcast_convert_type(x, integer) >> fraction_bits).astype(jnp.int32)
    bias = jnp.finfo(x.dtype).maxexp - 2
    ordinary = (field > 0) & (field < 2 * bias + 3)
    return jnp.where(ordinary, field - bias, 0)


def power_of_two(exponent: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """2**exponent, exact, for exponents of normal numbers (exp2 of XLA:CPU is not exact)."""
    fraction_bits = jnp.finfo(dtype).nmant
    integer = jnp.int64 if dtype == jnp.float64 else jnp.int32
    field = exponent.astype(integer) + (jnp.finfo(dtype).maxexp - 1)
    return lax.bitcast_convert_type(field << fraction_bits, dtype)


def scale(x: jax.Array, exponent: jax.Array, steps: int = 3) -> jax.Array:
    """x * 2**exponent, linear in x; inf only where the product overflows.

    Three steps serve any int32 exponent; two serve one that leaves the product at most 1.
    """
    dtype = jnp.finfo(x.dtype).dtype
    # A step is a normal power of two, and three of them leave the range of the dtype whatever x is.
    limit = int(jnp.finfo(dtype).maxexp) - 2
    for _ in range(steps):
        step = jnp.clip(exponent, -limit, limit)
        x = x * power_of_two(step, dtype)
        exponent = exponent - step
    return x


def equilibrate(matrix: Planes, shift: int) -> tuple[Planes, jax.Array, jax.Array, jax.Array]:
    """A balanced (k, l) matrix, the exponents (k,) and (l,) taken out of its rows and columns, whether it is finite.

    The result is 2**-(rows_i + columns_j) A_ij, exactly; the largest entry of every column that is not zero has a
    plane in [1/2, 1) 2**-shift, that of every row at most that. Balance is what keeps badly scaled input accurate: the
    terms of Glynn's formula add entries of different rows, and a small row beside a large one would lose its digits.
    """
    sizes = _sizes(matrix)
    # In exponents, so that no range of the entries is too wide; a zero entry never decides.
    zero = -(2**20)
    exponents = jnp.where(sizes > 0, exponent_of(sizes), zero)
    largest = jnp.max(sizes, axis=1, initial=0)
    rows = jnp.where(largest > 0, exponent_of(largest), 0)
    columns = jnp.max(exponents - rows[:, None], axis=0, initial=2 * zero)
    columns = jnp.where(columns < zero // 2, 0, columns) + shift
    taken = rows[:, None] + columns[None, :]
    # The largest of a row is NaN or Inf where one of its entries is.
    return matrix.map(lambda plane: scale(plane, -taken, steps=2)), rows, columns, jnp.all(jnp.isfinite(largest))


def balance(matrix: Planes, loops: Planes | None, photons: int) -> tuple[Planes, Planes | None, jax.Array, jax.Array]:
    """A balanced symmetric (n, n, *lanes) matrix and its loops, the exponents (n, *lanes) taken, whether all that is
    read is finite, (*lanes,).

    The results are 2**-(e_i + e_j) A_ij and 2**-e_i loop_i, exactly, none above 1 / photons.
    """
    dtype = matrix.re.dtype
    sizes = _sizes(matrix)
    rows = jnp.max(sizes, axis=1, initial=0)
    ends = jnp.zeros_like(rows) if loops is None else _sizes(loops)
    one = jnp.maximum(rows, ends)
    first, alone = jnp.where(rows > 0, exponent_of(rows), -(2**20)), exponent_of(ends)
    first = jnp.where(ends > 0, jnp.maximum(first, alone), first)
    used = one > 0
    top = jnp.max(jnp.where(used, first, -(2**20)), axis=0, initial=-(2**20))
    bottom = jnp.min(jnp.where(used, first, 2**20), axis=0, initial=2**20)
    # D_i D_j is taken out at once where its range is not the whole of the dtype; half a row never leaves more than 1.
    near = (top - bottom < int(jnp.finfo(dtype).maxexp) - 100)[None]
    taken = jnp.where(used, jnp.where(near, first - (top >> 1)[None], (first + 1) >> 1), 0)
    # The second step leaves no entry above 1, whatever the rest.
    p, q, a, b = _factors(taken, dtype)
    rows = jnp.max(sizes * p * q, axis=1, initial=0)
    more = jnp.where(rows > 0, exponent_of(rows), -(2**20))
    ends_now = ends * a * b
    more = jnp.where(ends_now > 0, jnp.maximum(more, 2 * exponent_of(ends_now)), more)
    taken = taken + jnp.where(more > -(2**20), (more + 1) >> 1, 0) + (photons.bit_length() + 1) // 2
    p, q, a, b = _factors(taken, dtype)
    balanced = matrix.map(lambda plane: plane * p * q)
    ends_balanced = None if loops is None else loops.map(lambda plane: plane * a * b)
    return balanced, ends_balanced, taken, jnp.isfinite(jnp.max(one, axis=0, initial=0))


def _factors(taken: jax.Array, dtype: jnp.dtype) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """2**-(taken_i + taken_j) as two factors (n, n), and 2**-taken_i as two (n,).

    Two, so that each is in range wherever the result is; and made from n powers of two, n^2 of which would cost more
    than the smallest hafnians. The bound keeps 0 from meeting inf.
    """
    half, rest = (power_of_two(-part, dtype) for part in (taken >> 1, taken - (taken >> 1)))
    most = float(jnp.finfo(dtype).max) / 2
    first, second = (jnp.minimum(part[:, None] * part[None, :], most) for part in (half, rest))
    return first, second, half, rest


def _sizes(numbers: Planes) -> jax.Array:
    sizes = jnp.abs(numbers.re) if numbers.im is None else jnp.maximum(jnp.abs(numbers.re), jnp.abs(numbers.im))
    return lax.stop_gradient(sizes)


def restore(mantissa: Planes, exponent: jax.Array, finite: jax.Array) -> jax.Array:
    """mantissa * 2**exponent, NaN where the input was not finite (*lanes, the last axes of the mantissa)."""
    # NaN whenever an entry is not finite: a sum with NaN or Inf in it may be either, by chance of its order.
    poison = jnp.where(finite, 0, jnp.nan).astype(mantissa.re.dtype)
    poison = lax.expand_dims(poison, range(mantissa.re.ndim - poison.ndim))
    return mantissa.map(lambda plane: scale(plane, exponent) + poison).array()


class Certified(NamedTuple):
    """A value, a rigorous bound of its distance from the exact one, and the sum of the sizes of its terms."""

    value: jax.Array
    bound: jax.Array
    size: jax.Array


# What the few roundings of a bound itself may take from it, relative.
SLACK = 1 + 2.0**-30


def certify(value: Numbers, error: jax.Array, size: jax.Array, exponent: jax.Array, finite: jax.Array) -> Certified:
    """Restore a mantissa within `error` of the exact one, with the size of its terms."""
    if isinstance(value, DoubleDouble):
        hi, lo = (restore(word, exponent, finite) for word in (value.hi, value.lo))
        # The value is the high word alone.
        rounding = jnp.abs(jnp.real(lo)) + jnp.abs(jnp.imag(lo))
    else:
        hi, rounding = restore(value.rounded(), exponent, finite), 0
    bound, size = (restore(Planes(plane, None), exponent, finite) for plane in (error * SLACK, size * SLACK))
    # Each of the words, and the bound, may have been flushed to zero.
    tiny = 8 * float(jnp.finfo(bound.dtype).tiny)
    return Certified(hi, (bound + rounding) * SLACK + tiny, size)


def exact_ones(shape: tuple[int, ...], like: jax.Array, precision: Precision) -> Any:
    """The number 1, without any error, in the form of a tier."""
    ones = jnp.ones(shape, like.dtype)
    if precision is WORDS:
        return ones, jnp.zeros_like(ones)
    if precision in BOUND.values():
        return Certified(ones, jnp.zeros(shape, jnp.real(ones).dtype), jnp.ones(shape, jnp.real(ones).dtype))
    return ones
