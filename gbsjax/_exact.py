"""Exact values through residues: floats as integers, integers modulo primes, and back to a number rounded once.

Everything here runs on the host, in Python and NumPy integers: how many primes are needed depends on the entries.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax import _checks
from gbsjax.numbers import EXACT, Precision

# Primes of Residues, 1 modulo 4, so that -1 has a square root and complex numbers are residues too.
BITS = 24
# Primes that this many bits of an answer ask for are refused.
MOST_BITS = 2**17


class Dyadic(NamedTuple):
    """Gaussian integers times powers of two, (re + i im) 2**exponent: arrays of Python integers; im None for real."""

    re: np.ndarray
    im: np.ndarray | None
    exponent: np.ndarray

    @classmethod
    def of(cls, array: np.ndarray) -> Dyadic:
        """Exactly the entries; the exponent is the largest possible, 0 where an entry is 0."""
        parts = [np.real(array), np.imag(array)] if np.iscomplexobj(array) else [array]
        odd = [_odd(part) for part in parts]
        lowest = functools.reduce(np.minimum, (exponent for _, exponent in odd))
        none = lowest == NOWHERE
        lowest = np.where(none, 0, lowest)
        re, *im = (mantissa << np.where(mantissa == 0, 0, exponent - lowest) for mantissa, exponent in odd)
        return cls(re, im[0] if im else None, np.where(none, NOWHERE, lowest))

    def scaled(self, taken: np.ndarray) -> Dyadic:
        """Divided by 2**taken, which must leave integers, with the exponent 0."""
        shift = np.where(self.exponent == NOWHERE, 0, self.exponent - taken).astype(object)
        return Dyadic(self.re << shift, None if self.im is None else self.im << shift, np.zeros_like(shift))

    def sizes(self) -> np.ndarray:
        """|re| + |im|, no less than the moduli."""
        return abs(self.re) if self.im is None else abs(self.re) + abs(self.im)


# The exponent of 0.
NOWHERE = 2**40


def _odd(part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mantissas without factors of two, and exponents."""
    if part.dtype == object or np.issubdtype(part.dtype, np.integer) or part.dtype == bool:
        mantissa, exponent = part.astype(object) + 0, np.zeros(part.shape, object)
    else:
        fraction, power = np.frexp(part.astype(np.float64))
        mantissa = (fraction * 2.0**53).astype(np.int64).astype(object)
        exponent = power.astype(object) - 53
    zeros = np.array([(int(m) & -int(m)).bit_length() - 1 for m in mantissa.flat], object).reshape(part.shape)
    nothing = mantissa == 0
    zeros = np.where(nothing, 0, zeros)
    return mantissa >> zeros, np.where(nothing, NOWHERE, exponent + zeros)


class Exact(NamedTuple):
    """(re + i im) 2**exponent; im None for real."""

    re: int
    im: int | None
    exponent: int

    def rounded(self) -> float | complex:
        """The nearest float64 of each part; inf where it overflows."""
        if self.im is None:
            return _rounded(self.re, self.exponent)
        return complex(_rounded(self.re, self.exponent), _rounded(self.im, self.exponent))

    def is_float(self) -> bool:
        """Whether rounding changes nothing, told on the safe side."""
        parts = [part for part in (self.re, self.im) if part]
        spans = [(part.bit_length(), (part & -part).bit_length() - 1) for part in parts]
        return all(
            top - low <= 53 and self.exponent + low >= -1022 and self.exponent + top <= 1024 for top, low in spans
        )

    def integer(self) -> int:
        assert self.im is None
        assert self.exponent >= 0
        return self.re << self.exponent


def _rounded(integer: int, exponent: int) -> float:
    try:
        # Python rounds both once, to nearest, ties to even.
        return float(integer << exponent) if exponent >= 0 else integer / (1 << -exponent)
    except OverflowError:
        return math.copysign(math.inf, integer)


@functools.cache
def _primes() -> tuple[int, ...]:
    """Primes that are 1 modulo 4, from just below 2**BITS downwards."""
    top, length = 2**BITS, 2**18
    first = top - length
    sieve = np.ones(length, bool)
    for factor in range(2, math.isqrt(top) + 1):
        sieve[-first % factor :: factor] = False
    found = first + np.flatnonzero(sieve)
    return tuple(int(p) for p in found[found % 4 == 1][::-1])


@functools.cache
def _root_of_minus_one(prime: int) -> int:
    for base in range(2, prime):
        root = pow(base, (prime - 1) // 4, prime)
        if root * root % prime == prime - 1:
            return root
    raise AssertionError(prime)


@functools.lru_cache(maxsize=64)
def _remainder_weights(count: int) -> tuple[int, tuple[int, ...]]:
    """The product of the first primes, and for each what is 1 modulo it and 0 modulo the others."""
    primes = _primes()[:count]
    product = math.prod(primes)
    return product, tuple(product // p * pow(product // p, -1, p) for p in primes)


def _integer(residues: Sequence[int]) -> int:
    """The integer of least size with these residues (Chinese remainder theorem)."""
    product, weights = _remainder_weights(len(residues))
    found = sum(r * w for r, w in zip(residues, weights, strict=True)) % product
    return found - product if 2 * found > product else found


def _bucket(count: int) -> int:
    """Few different numbers of primes, so that few programs are compiled: 1, 2, 3, 4, 6, 8, 12, .."""
    step = 2 ** max(0, count.bit_length() - 2)
    return -(-count // step) * step


def through_residues(
    function: str,
    numbers: Sequence[Dyadic],
    largest: int,
    evaluate: Callable[..., jax.Array],
    divide: int = 1,
) -> tuple[int, int | None]:
    """The real and imaginary part, each at most `largest` in size, of a polynomial of integers.

    `evaluate` takes the numbers (lanes, ..) modulo (lanes,) primes, and gives (lanes,) values modulo them of `divide`
    times the polynomial.
    """
    bits = (2 * largest + 1).bit_length()
    if bits > MOST_BITS:
        raise ValueError(
            f"{function}: the exact value may have {bits} bits, more than the {MOST_BITS} that are let through; its "
            "entries differ too much in size. Use precision='dd'."
        )
    count = _bucket(max(1, -(-bits // (BITS - 1))))
    primes = np.array(_primes()[:count], np.int64)
    is_complex = any(number.im is not None for number in numbers)
    roots = np.array([_root_of_minus_one(int(p)) for p in primes], np.int64)
    # One lane for each prime, and for complex numbers another with the other root of -1.
    modulus = np.concatenate([primes, primes]) if is_complex else primes
    images = np.concatenate([roots, primes - roots]) if is_complex else None
    lanes = []
    for number in numbers:
        shape = (-1, *(1,) * number.re.ndim)
        by_lane = modulus.reshape(shape)
        residues = _modulo(number.re, primes, is_complex)
        if number.im is not None and images is not None:
            residues = (residues + _modulo(number.im, primes, is_complex) * images.reshape(shape)) % by_lane
        lanes.append(jnp.asarray(np.where(2 * residues > by_lane, residues - by_lane, residues).astype(np.float64)))
    found = np.asarray(evaluate(*lanes, jnp.asarray(modulus.astype(np.float64)))).astype(np.int64)
    inverse = np.array([pow(divide, -1, int(p)) for p in primes], np.int64)
    first = found[:count] % primes * inverse % primes
    if not is_complex:
        return _integer([int(r) for r in first]), None
    second = found[count:] % primes * inverse % primes
    half = (primes + 1) // 2
    re = (first + second) % primes * half % primes
    im = (first - second) % primes * half % primes * (primes - roots) % primes
    return _integer([int(r) for r in re]), _integer([int(r) for r in im])


def _modulo(integers: np.ndarray, primes: np.ndarray, twice: bool) -> np.ndarray:
    """(primes, ..) residues, the whole once more for the second lanes of complex numbers."""
    if integers.size and max(abs(int(x)) for x in integers.flat) < 2**62:
        residues = integers.astype(np.int64)[None] % primes.reshape(-1, *(1,) * integers.ndim)
    else:
        residues = np.stack([(integers % int(p)).astype(np.int64) for p in primes])
    return np.concatenate([residues, residues]) if twice else residues


def entries(function: str, name: str, x: Any) -> np.ndarray:
    """x as NumPy numbers that are known exactly: integers of any size, floats or complex floats, all finite."""
    if _checks.is_traced(x):
        raise TypeError(
            f"{function}: precision='exact' looks at the entries, and {name} is traced (inside jit, vmap or grad). "
            "Call it outside, or use precision='dd'."
        )
    array = np.asarray(x)
    whole = array.dtype == object and all(isinstance(entry, int) for entry in array.flat)
    if not (whole or array.dtype == bool or np.issubdtype(array.dtype, np.integer)) and array.dtype not in (
        np.float16, np.float32, np.float64, np.complex64, np.complex128
    ):  # fmt: skip
        raise TypeError(f"{function}: {name} must be integers, float64 or complex128 at most, got {array.dtype}.")
    return array


def is_whole(array: np.ndarray) -> bool:
    return array.dtype in (object, bool) or np.issubdtype(array.dtype, np.integer)


def over_elements(
    arrays: Sequence[np.ndarray | None],
    own: Sequence[int],
    batch: tuple[int, ...],
    one: Callable[..., Exact | None],
) -> np.ndarray:
    """`one` of every element of a batch, an object array; None stays None (input that is not finite)."""
    found = np.empty(batch, object)
    spread = [
        None if x is None else np.broadcast_to(x, (*batch, *x.shape[x.ndim - k :]))
        for x, k in zip(arrays, own, strict=True)
    ]
    for index in np.ndindex(*batch):
        found[index] = one(*(None if x is None else x[index] for x in spread))
    return found


def as_floats(exact: np.ndarray, is_complex: bool) -> np.ndarray:
    """float64 or complex128, each part rounded once; NaN for None."""
    dtype = np.complex128 if is_complex else np.float64
    values = [np.nan if value is None else value.rounded() for value in exact.flat]
    return np.array(values, dtype).reshape(exact.shape)


def answer(function: str, exact: np.ndarray, whole: bool, is_complex: bool, precision: Precision) -> Any:
    """What a public function returns: float64 or complex128; int64 for integers; or the exact numbers."""
    if precision is EXACT:
        return exact
    if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise TypeError(
            f"{function}: precision='exact' returns 64-bit numbers, which JAX would cut. Call "
            "jax.config.update('jax_enable_x64', True) first, or gbsjax.count for integers."
        )
    if not whole:
        return jnp.asarray(as_floats(exact, is_complex))
    values = [value.integer() for value in exact.flat]
    beyond = [value for value in values if not -(2**63) <= value < 2**63]
    if beyond:
        raise OverflowError(
            f"{function}: the value has {beyond[0].bit_length()} bits, more than int64 holds. Call gbsjax.count for "
            "Python integers, or convert the matrix to float64 for a rounded value."
        )
    return jnp.asarray(np.array(values, np.int64).reshape(exact.shape))
