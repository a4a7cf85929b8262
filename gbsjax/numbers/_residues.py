"""Integers modulo primes, in floats: exact sums and products, whatever a compiler contracts or reorders."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax.numbers._planes import Planes, aligned

# Moduli are below 2^24: reduced numbers are at most 2^23, sums of a few of them 2^26, and 127 products of two reduced
# numbers less than 2^53: products are summed as they are.
BITS = 24


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Residues:
    """Integers modulo `modulus`, a scalar or one for each of the last axes (lanes); a number type like `Planes`.

    Reduced numbers are at most (modulus + 1) / 2 in size. What is `wide` is a product or a sum of products, below 2^52,
    and is reduced before it is multiplied again or stored.
    """

    plane: jax.Array
    modulus: jax.Array
    inverse: jax.Array
    wide: bool = dataclasses.field(default=False, metadata={"static": True})

    @classmethod
    def of(cls, plane: jax.Array, modulus: jax.Array) -> Residues:
        return cls(plane, modulus, 1 / modulus)

    def _with(self, plane: jax.Array, wide: bool) -> Residues:
        return Residues(plane, self.modulus, self.inverse, wide)

    def _reduced(self, plane: jax.Array) -> Residues:
        # Every step is exact: the multiple of the modulus is an integer below 2^53, and so is what is left.
        modulus, inverse = aligned(self.modulus, plane), aligned(self.inverse, plane)
        return self._with(plane - jnp.round(plane * inverse) * modulus, False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.plane.shape

    def narrow(self) -> Residues:
        return self._reduced(self.plane) if self.wide else self

    def stored(self) -> Residues:
        """As a loop should carry it: reduced."""
        return self._reduced(self.plane)

    def rounded(self) -> Planes:
        return Planes(self.narrow().plane, None)

    def in_words(self) -> list[Planes]:
        return [self.rounded()]

    def in_memory(self) -> Residues:
        return self._with(Planes(self.narrow().plane, None).in_memory().re, False)

    def interleaved(self) -> Residues:
        return self

    def split(self) -> Residues:
        return self

    def map(self, function: Callable[..., jax.Array], *others: Residues) -> Residues:
        """The same indexing, reshaping or joining."""
        numbers = [self, *others]
        if len({number.wide for number in numbers}) > 1:
            numbers = [number.narrow() for number in numbers]
        return self._with(function(*(number.plane for number in numbers)), numbers[0].wide)

    def __getitem__(self, index: object) -> Residues:
        return self._with(self.plane[index], self.wide)  # pyright: ignore[reportArgumentType]

    def __add__(self, other: Residues) -> Residues:
        return self._with(self.plane + other.plane, self.wide or other.wide)

    def __sub__(self, other: Residues) -> Residues:
        return self._with(self.plane - other.plane, self.wide or other.wide)

    def __mul__(self, other: Residues) -> Residues:
        return self._with(self.narrow().plane * other.narrow().plane, True)

    def times(self, real: jax.Array | np.ndarray) -> Residues:
        """Times integers below 2^24."""
        return self._with(self.narrow().plane * aligned(real, self.plane), True)

    def product(self, factor: Callable[[int], Residues], count: int) -> Residues:
        return functools.reduce(operator.mul, map(factor, range(count)))

    def where(self, keep: jax.Array, other: Residues) -> Residues:
        return self.narrow().map(lambda here, there: jnp.where(keep, here, there), other.narrow())

    def one(self) -> Residues:
        return self._with(jnp.ones_like(self.plane), False)

    def sum(self, axis: int) -> Residues:
        """Sums of at most 127 numbers."""
        return self._reduced(Planes(self.plane, None).sum(axis).re)

    def combine(self, coefficients: jax.Array) -> Residues:
        """Sums over the first axis: (k, l) numbers and (k, words) integers give (l, words)."""
        return self._reduced(jnp.matmul(self.plane.T, coefficients, precision=lax.Precision.HIGHEST))

    def total(self, weights: jax.Array) -> Residues:
        """The sum of all of (.., l) reduced numbers times (l,) integers, less than 2^28 in all."""
        return self._reduced(jnp.sum(jnp.matmul(self.plane, weights, precision=lax.Precision.HIGHEST)))
