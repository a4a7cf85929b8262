"""Real or complex numbers as separate real and imaginary planes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


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

    def map(self, function: Callable[[jax.Array], jax.Array]) -> Planes:
        """The same indexing, reshaping or scaling by a real on every plane."""
        return Planes(function(self.re), None if self.im is None else function(self.im))

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
        if self.im is None or other.im is None:
            return Planes(self.re * other.re, None)
        return Planes(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def where(self, keep: jax.Array, other: Planes) -> Planes:
        """This number where `keep`, the other elsewhere."""
        if self.im is None or other.im is None:
            return Planes(jnp.where(keep, self.re, other.re), None)
        return Planes(jnp.where(keep, self.re, other.re), jnp.where(keep, self.im, other.im))

    def one(self) -> Planes:
        """The number 1 in the shape of this one."""
        return Planes(jnp.ones_like(self.re), None if self.im is None else jnp.zeros_like(self.im))

    def combine(self, coefficients: jax.Array | np.ndarray) -> Planes:
        """Sums over the first axis: (k, l) numbers and (k, words) real coefficients give (l, words)."""
        # One product for both planes, at full precision (a GPU would otherwise round float32 operands to 10 bits).
        planes = self.re if self.im is None else jnp.concatenate([self.re, self.im], axis=1)
        sums = jnp.matmul(planes.T, coefficients, precision=lax.Precision.HIGHEST)
        if self.im is None:
            return Planes(sums, None)
        rows = self.re.shape[1]
        return Planes(sums[:rows], sums[rows:])


def together(numbers: list[Planes]) -> list[Planes]:
    """The same numbers, computed in one kernel that shares their common parts, and kept in memory.

    A variadic reduction is the only multi-output fusion that XLA:CPU makes, and no consumer recomputes one. The axis
    that is reduced has a second, masked element: an axis of size 1 would be simplified away, and LLVM drops the
    masked half when it unrolls the two.
    """
    planes, structure = jax.tree.flatten(numbers)
    shape = jnp.broadcast_shapes(*(plane.shape for plane in planes))
    first = jnp.broadcast_to(jnp.arange(2) == 0, (*shape, 2))
    nothing = jnp.zeros((), planes[0].dtype)
    masked = [jnp.where(first, jnp.broadcast_to(plane, shape)[..., None], nothing) for plane in planes]

    def add(x: list[jax.Array], y: list[jax.Array]) -> list[jax.Array]:
        return [a + b for a, b in zip(x, y, strict=True)]

    return jax.tree.unflatten(structure, lax.reduce(masked, [nothing] * len(planes), add, (len(shape),)))
