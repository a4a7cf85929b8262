"""Double-double numbers: unevaluated sums of two floats, some 106 bits, that a compiler cannot break.

A compiler may contract a * b + c into one operation of one rounding, and textbook double-double then loses its low
words. Here only exact products are formed, which contraction cannot change, and the inexact products of the low words
lose their last bit to a mask, through which no compiler looks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax.numbers._planes import Planes, aligned, together

# hi and lo, |lo| <= u |hi|: JAX or NumPy float64 arrays, for which the same functions give the same bits.
Words = tuple[Any, Any]


def _bits(x: Any, plus: int, mask: int) -> Any:
    """float64 x with `plus` added to its bits, and `mask` laid over them."""
    if isinstance(x, np.ndarray | np.generic):
        return ((np.asarray(x).view(np.int64) + plus) & mask).view(np.float64)
    return lax.bitcast_convert_type((lax.bitcast_convert_type(x, jnp.int64) + plus) & mask, jnp.float64)


def two_sum(a: Any, b: Any) -> Words:
    """a + b exactly: the rounded sum, and what it lacks (D. Knuth, TAOCP 2, 4.2.2)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fast_two_sum(a: Any, b: Any) -> Words:
    """a + b exactly where |a| >= |b| or a = 0 (T. Dekker, Numer. Math. 18 (1971) 224)."""
    s = a + b
    return s, b - (s - a)


def _product(a: Any, b: Any) -> Words:
    """a b exactly, for factors and products between 2^-900 and 2^1022, from four products that are exact; the second
    word may be as large as 3 u of the first.

    For a and b in [1, 2) the first halves are multiples of 2^-25, at most 2, and the second ones multiples of 2^-52, at
    most 2^-26. So the middle is a multiple of 2^-77 of at most 2^-24, what s lacks of a b is one of 2^-104 of at most
    2^-51, and both have 53 bits: no sum but that of s is rounded.
    """
    a1, b1 = (_bits(x, 0x4000000, ~0x7FFFFFF) for x in (a, b))
    a2, b2 = a - a1, b - b1
    s, e = fast_two_sum(a1 * b1, a1 * b2 + a2 * b1)
    return s, e + a2 * b2


def two_prod(a: Any, b: Any) -> Words:
    """a b exactly: the rounded product, and what it lacks."""
    return fast_two_sum(*_product(a, b))


def add(x: Words, y: Words) -> Words:
    """x + y within 11 u^2 (|x| + |y|) of it: half the price of a sum with a relative error, and no worse in sums of
    products (M. Joldes, J.-M. Muller, V. Popescu, ACM Trans. Math. Softw. 44 (2017) 15, algorithm 5)."""
    s, e = two_sum(x[0], y[0])
    return fast_two_sum(s, e + (x[1] + y[1]))


def _cross(x: Words, y: Words) -> Any:
    """What the low words add to a product. The masks keep a compiler from contracting products and sums."""
    return _bits(x[0] * y[1], 0, ~1) + _bits(x[1] * y[0], 0, ~1)


def multiply(x: Words, y: Words) -> Words:
    """x y within 20 u^2 of it, relative (docs, proofs)."""
    p, e = _product(x[0], y[0])
    return fast_two_sum(p, e + _cross(x, y))


def multiply_sum(x: Words, y: Words, z: Words, w: Words) -> Words:
    """x y + z w within 50 u^2 (|x y| + |z w|) of it (docs, proofs)."""
    p, e = _product(x[0], y[0])
    q, f = _product(z[0], w[0])
    s, g = two_sum(p, q)
    return fast_two_sum(s, g + ((e + f) + (_cross(x, y) + _cross(z, w))))


def divide(x: Words, y: Words) -> Words:
    """x / y within 42 u^2 of it, relative (docs, proofs)."""
    q = x[0] / y[0]
    p, e = two_prod(q, y[0])
    rest = (x[0] - p) + ((x[1] - e) - _bits(q * y[1], 0, ~1))
    return fast_two_sum(q, rest / y[0])


def square_root(x: Words) -> Words:
    """The square root of x > 0 within 13 u^2 of it, relative (docs, proofs)."""
    s = jnp.sqrt(x[0]) if isinstance(x[0], jax.Array) else np.sqrt(x[0])
    p, e = two_prod(s, s)
    return fast_two_sum(s, ((x[0] - p) + (x[1] - e)) / (s + s))


def negative(x: Words) -> Words:
    return -x[0], -x[1]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DoubleDouble:
    """Real or complex numbers as high and low words; a number type like `Planes`, with the same operations.

    It has no derivative: the functions that use it have theirs as a program of its own.
    """

    hi: Planes
    lo: Planes

    @classmethod
    def of(cls, numbers: Planes) -> DoubleDouble:
        return cls(numbers, numbers.map(jnp.zeros_like))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.hi.shape

    def rounded(self) -> Planes:
        """The nearest numbers of one word."""
        return self.hi

    def in_words(self) -> list[Planes]:
        """From the highest to the lowest."""
        return [self.hi, self.lo]

    def in_memory(self) -> DoubleDouble:
        """The same numbers, which no consumer computes again."""
        return DoubleDouble(*together([self.hi, self.lo]))

    def interleaved(self) -> DoubleDouble:
        return self

    def split(self) -> DoubleDouble:
        return self

    def map(self, function: Callable[..., jax.Array], *others: DoubleDouble) -> DoubleDouble:
        """The same indexing, reshaping, joining or scaling by a power of two on every plane."""
        hi = self.hi.map(function, *(other.hi for other in others))
        return DoubleDouble(hi, self.lo.map(function, *(other.lo for other in others)))

    def times(self, real: jax.Array | np.ndarray) -> DoubleDouble:
        """Times real numbers of one word."""
        real = aligned(real, self.hi.re)
        return self._from([multiply(x, (real, jnp.zeros_like(real))) for x in self._parts()])

    def product(self, factor: Callable[[Any], DoubleDouble], count: int) -> DoubleDouble:
        """factor(0) .. factor(count - 1), multiplied in this order: in a loop, since written out it takes long to
        compile."""

        # Two at a time: a step takes its product from memory and brings it back.
        def pair(k: Any, product: DoubleDouble) -> DoubleDouble:
            return (product * (factor(first + 2 * k) * factor(first + 1 + 2 * k))).in_memory()

        first = 2 - count % 2
        start = factor(0) if first == 1 else factor(0) * factor(1)
        return lax.fori_loop(0, (count - first) // 2, pair, start.in_memory())

    def stored(self) -> DoubleDouble:
        """As a loop should carry it."""
        return self.in_memory()

    def __getitem__(self, index: object) -> DoubleDouble:
        return DoubleDouble(self.hi[index], self.lo[index])

    def _parts(self) -> list[Words]:
        if self.hi.im is None or self.lo.im is None:
            return [(self.hi.re, self.lo.re)]
        return [(self.hi.re, self.lo.re), (self.hi.im, self.lo.im)]

    @classmethod
    def _from(cls, parts: list[Words]) -> DoubleDouble:
        im = parts[1] if len(parts) == 2 else (None, None)
        return cls(Planes(parts[0][0], im[0]), Planes(parts[0][1], im[1]))

    @jax.jit
    def __add__(self, other: DoubleDouble) -> DoubleDouble:
        return self._from([add(x, y) for x, y in zip(self._parts(), other._parts(), strict=True)])

    @jax.jit
    def __sub__(self, other: DoubleDouble) -> DoubleDouble:
        return self._from([add(x, negative(y)) for x, y in zip(self._parts(), other._parts(), strict=True)])

    @jax.jit
    def __mul__(self, other: DoubleDouble) -> DoubleDouble:
        x, y = self._parts(), other._parts()
        if len(y) == 1:
            return self._from([multiply(part, y[0]) for part in x])
        if len(x) == 1:
            return other * self
        real = multiply_sum(x[0], y[0], x[1], negative(y[1]))
        return self._from([real, multiply_sum(x[0], y[1], x[1], y[0])])

    @jax.jit
    def __truediv__(self, real: DoubleDouble) -> DoubleDouble:
        (y,) = real._parts()
        return self._from([divide(x, y) for x in self._parts()])

    def conj(self) -> DoubleDouble:
        return DoubleDouble(self.hi.conj(), self.lo.conj())

    def real(self) -> DoubleDouble:
        return DoubleDouble(self.hi.real(), self.lo.real())

    def sqrt(self) -> DoubleDouble:
        """Of real numbers above 0."""
        (x,) = self._parts()
        return self._from([square_root(x)])

    def where(self, keep: jax.Array, other: DoubleDouble) -> DoubleDouble:
        """This number where `keep`, the other elsewhere."""
        return DoubleDouble(self.hi.where(keep, other.hi), self.lo.where(keep, other.lo))

    def one(self) -> DoubleDouble:
        """The number 1 in the shape of this one."""
        return DoubleDouble.of(self.hi.one())

    def constant(self, *words: float) -> DoubleDouble:
        """A real number, given from its highest word to its lowest, in the shape of this one."""
        # Where this is NaN so is the constant: XLA simplifies (x + c) - c to x, and must not see that c is one.
        broken = jnp.isnan(self.hi.re)
        hi, lo = (jnp.where(broken, jnp.nan, word) for word in (*words, 0.0)[:2])
        return DoubleDouble(Planes(hi, None), Planes(lo, None))

    def combine(self, coefficients: jax.Array | np.ndarray) -> DoubleDouble:
        """Sums over the first axis: (k, l) numbers and (k, words) real coefficients give (l, words)."""
        return self.map(lambda plane: plane[:, :, None]).times(jnp.asarray(coefficients)[:, None, :]).sum(0)

    def total(self, weights: jax.Array) -> DoubleDouble:
        """The sum of all of (.., l) numbers times (l,) real weights."""
        return self.times(weights).map(jnp.ravel).sum(0)

    def sum(self, axis: int) -> DoubleDouble:
        """Sums over one axis, in its order."""
        planes = [word for part in self._parts() for word in part]

        def combine(x: list[jax.Array], y: list[jax.Array]) -> list[jax.Array]:
            words = [add((x[k], x[k + 1]), (y[k], y[k + 1])) for k in range(0, len(x), 2)]
            return [word for part in words for word in part]

        zeros = [jnp.zeros((), plane.dtype) for plane in planes]
        sums = lax.reduce(planes, zeros, combine, (axis % planes[0].ndim,))
        return self._from([(sums[k], sums[k + 1]) for k in range(0, len(sums), 2)])
