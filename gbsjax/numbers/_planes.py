"""Real or complex numbers as separate real and imaginary planes."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def aligned(real: jax.Array | np.ndarray, plane: jax.Array) -> jax.Array:
    """Real numbers in the dtype and the rank of a plane, whose last axes are theirs."""
    real = jnp.asarray(real, plane.dtype)
    return lax.expand_dims(real, range(plane.ndim - real.ndim))


# Not an Equinox module: importing equinox takes a quarter of a second, as much as everything else here together.
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Planes:
    """A float array, or a complex one held as two float arrays; `im` is None for real numbers.

    Planes, never a complex dtype, in a hot loop: compilers vectorise the products of planes and not complex ones.
    """

    re: jax.Array
    im: jax.Array | None

    @classmethod
    def of(cls, array: jax.Array) -> Planes:
        if jnp.iscomplexobj(array):
            return cls(jnp.real(array), jnp.imag(array))
        return cls(array, None)

    def array(self) -> jax.Array:
        """One array again. XLA:CPU has no multi-output fusion: two roots would compute everything before twice."""
        return self.re if self.im is None else lax.complex(self.re, self.im)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.re.shape

    def rounded(self) -> Planes:
        """The nearest numbers of one word: these."""
        return self

    def in_words(self) -> list[Planes]:
        """From the highest to the lowest."""
        return [self]

    def in_memory(self) -> Planes:
        """The same numbers, which no consumer computes again."""
        return together([self])[0]

    def interleaved(self) -> Planes:
        """The same numbers as one plane, of complex dtype: where each is looked up in memory and used once, one look-up
        serves both parts, and XLA:CPU fuses it into the sum."""
        return Planes(self.array(), None)

    def split(self) -> Planes:
        """Interleaved numbers as separate planes again."""
        return Planes.of(self.re) if self.im is None else self

    def map(self, function: Callable[..., jax.Array], *others: Planes) -> Planes:
        """The same indexing, reshaping, joining or scaling by a power of two on every plane."""
        if self.im is None:
            return Planes(function(self.re, *(other.re for other in others)), None)
        return Planes(
            function(self.re, *(other.re for other in others)), function(self.im, *(other.im for other in others))
        )

    def times(self, real: jax.Array | np.ndarray) -> Planes:
        """Times real numbers of one word."""
        return self.map(lambda plane: plane * aligned(real, plane))

    def product(self, factor: Callable[[int], Planes], count: int) -> Planes:
        """factor(0) .. factor(count - 1), multiplied in this order; the type is that of this number."""
        return functools.reduce(operator.mul, map(factor, range(count)))

    def stored(self) -> Planes:
        """As a loop should carry it."""
        return self.interleaved()

    def __getitem__(self, index: object) -> Planes:
        return self.map(lambda plane: plane[index])  # pyright: ignore[reportArgumentType]

    def __add__(self, other: Planes) -> Planes:
        if self.im is None or other.im is None:
            return Planes(self.re + other.re, None)
        return Planes(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Planes) -> Planes:
        if self.im is None or other.im is None:
            return Planes(self.re - other.re, None)
        return Planes(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Planes) -> Planes:
        if other.im is None:
            return self.map(lambda plane: plane * other.re)
        if self.im is None:
            return other * self
        return Planes(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __truediv__(self, real: Planes) -> Planes:
        # A division for each number: XLA:CPU would make a kernel of its own of one that several share.
        return self.map(lambda plane: plane / real.re)

    def conj(self) -> Planes:
        return Planes(self.re, None if self.im is None else -self.im)

    def real(self) -> Planes:
        return Planes(self.re, None)

    def sqrt(self) -> Planes:
        """Of real numbers."""
        return Planes(jnp.sqrt(self.re), None)

    def squared_modulus(self) -> jax.Array:
        return self.re * self.re if self.im is None else self.re * self.re + self.im * self.im

    def size(self) -> jax.Array:
        """The moduli."""
        return jnp.abs(self.re) if self.im is None else jnp.sqrt(self.squared_modulus())

    def where(self, keep: jax.Array, other: Planes) -> Planes:
        """This number where `keep`, the other elsewhere."""
        if self.im is None or other.im is None:
            return Planes(jnp.where(keep, self.re, other.re), None)
        return Planes(jnp.where(keep, self.re, other.re), jnp.where(keep, self.im, other.im))

    def one(self) -> Planes:
        """The number 1 in the shape of this one."""
        return Planes(jnp.ones_like(self.re), None if self.im is None else jnp.zeros_like(self.im))

    def constant(self, *words: float) -> Planes:
        """A real number, given from its highest word to its lowest, in the shape of this one."""
        return Planes(jnp.full_like(self.re, words[0]), None)

    def sum(self, axis: int) -> Planes:
        """Sums over one axis, both planes in one kernel that no consumer recomputes."""
        return _sum(self, axis)

    def combine(self, coefficients: jax.Array | np.ndarray) -> Planes:
        """Sums over the first axis: (k, l) numbers and (k, words) real coefficients give (l, words)."""
        # One product for both planes, at full precision (a GPU would otherwise round float32 operands to 10 bits).
        planes = self.re if self.im is None else jnp.concatenate([self.re, self.im], axis=1)
        sums = jnp.matmul(planes.T, coefficients, precision=lax.Precision.HIGHEST)
        if self.im is None:
            return Planes(sums, None)
        rows = self.re.shape[1]
        return Planes(sums[:rows], sums[rows:])

    def total(self, weights: jax.Array) -> Planes:
        """The sum of all of (.., l) numbers times (l,) real weights."""
        # A product and not a reduction: XLA:CPU would fuse a reduction with what is before and walk it one by one.
        plane = self.array()
        return Planes.of(jnp.sum(jnp.matmul(plane, weights.astype(plane.dtype), precision=lax.Precision.HIGHEST)))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _sum(numbers: Planes, axis: int) -> Planes:
    # XLA fuses a plain sum into its consumers: through a chain of sums and gathers it would compute the first sum
    # exponentially often.
    return _reduce(numbers, axis)


@_sum.defjvp
def _sum_jvp(axis: int, primals: tuple[Planes], tangents: tuple[Planes]) -> tuple[Planes, Planes]:
    return _sum(primals[0], axis), tangents[0].map(lambda plane: jnp.sum(plane, axis=axis))


def _reduce(numbers: Any, axis: int) -> Any:
    """Sums of planes of one shape: a variadic reduction is the only multi-output fusion that XLA:CPU makes, and no
    consumer recomputes one."""
    planes, structure = jax.tree.flatten(numbers)
    # A single operand would make it a plain reduction, which XLA splits among threads however small it is: a second,
    # of zeros, of which one is used so that it is not taken away.
    operands = [*planes, jnp.zeros_like(planes[0])] if len(planes) == 1 else planes
    zeros = [jnp.zeros((), plane.dtype) for plane in operands]

    def add(x: list[jax.Array], y: list[jax.Array]) -> list[jax.Array]:
        return [a + b for a, b in zip(x, y, strict=True)]

    sums = lax.reduce(operands, zeros, add, (axis,))
    if len(planes) == 1:
        sums = [sums[0] + sums[1][(0,) * sums[1].ndim] if sums[0].size else sums[0]]
    return jax.tree.unflatten(structure, sums)


@jax.custom_jvp
def together(numbers: list[Any]) -> list[Any]:
    """The same numbers, of any type, computed in one kernel that shares their common parts, and kept in memory.

    The axis that is reduced has a second, masked element: an axis of size 1 would be simplified away; LLVM drops the
    masked half when it unrolls the two.
    """
    shape = jnp.broadcast_shapes(*(plane.shape for plane in jax.tree.leaves(numbers)))
    first = jnp.broadcast_to(jnp.arange(2) == 0, (*shape, 2))

    def masked(plane: jax.Array) -> jax.Array:
        return jnp.where(first, jnp.broadcast_to(plane, shape)[..., None], jnp.zeros((), plane.dtype))

    return _reduce(jax.tree.map(masked, numbers), len(shape))


@together.defjvp
def _together_jvp(primals: tuple[list[Planes]], tangents: tuple[list[Planes]]) -> tuple[list[Planes], list[Planes]]:
    (numbers,), (slopes,) = primals, tangents
    shape = jnp.broadcast_shapes(*(plane.shape for plane in jax.tree.leaves(numbers)))
    return together(numbers), jax.tree.map(lambda plane: jnp.broadcast_to(plane, shape), slopes)
