"""Numbers for proofs: one whose products have a known error, and one that is the size of such a product."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax.numbers._planes import Planes, aligned

Coefficients = jax.Array | np.ndarray


def on_grid(numbers: Planes, grid: jax.Array) -> tuple[Planes, Planes]:
    """The nearest multiples of a power of two, and what is left, exactly."""
    # By rounding, and not by adding and subtracting a large number, which XLA simplifies to nothing.
    high = numbers.map(lambda plane: jnp.round(plane * (1 / grid)) * grid)
    return high, numbers - high


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Parts:
    """Numbers as a high part on a grid so coarse that sums of them are exact, in any order, and a small low part.

    What is multiplied is their sum, rounded once; products and sums of products are `Planes`.
    """

    high: Planes
    low: Planes

    @classmethod
    def of(cls, numbers: Planes, bits: int) -> Parts:
        """`numbers` of which every sum that occurs stays below 2**bits."""
        return cls(*on_grid(numbers, jnp.asarray(2.0 ** (bits - 52), numbers.re.dtype)))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.high.shape

    def map(self, function: Callable[..., jax.Array], *others: Parts) -> Parts:
        """The same indexing, reshaping or joining."""
        high = self.high.map(function, *(other.high for other in others))
        return Parts(high, self.low.map(function, *(other.low for other in others)))

    def __getitem__(self, index: object) -> Parts:
        return Parts(self.high[index], self.low[index])

    def __add__(self, other: Parts) -> Parts:
        return Parts(self.high + other.high, self.low + other.low)

    def combine(self, coefficients: Coefficients) -> Parts:
        return Parts(self.high.combine(coefficients), self.low.combine(coefficients))

    def product(self, factor: Callable[[int], Parts], count: int) -> Planes:
        factors = map(factor, range(count))
        return functools.reduce(operator.mul, (part.high + part.low for part in factors))

    def stored(self) -> Planes:
        return self.high.stored()


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sizes:
    """Numbers of which a product is the product of their sizes sqrt(|x|^2 + floor^2): one square root each product.

    Products and sums of products are real `Planes`, of no sign whatever their weights.
    """

    numbers: Planes
    floor: float = dataclasses.field(metadata={"static": True})

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape

    def map(self, function: Callable[..., jax.Array], *others: Sizes) -> Sizes:
        """The same indexing, reshaping or joining."""
        return Sizes(self.numbers.map(function, *(other.numbers for other in others)), self.floor)

    def __getitem__(self, index: object) -> Sizes:
        return Sizes(self.numbers[index], self.floor)

    def __add__(self, other: Sizes) -> Sizes:
        return Sizes(self.numbers + other.numbers, self.floor)

    def combine(self, coefficients: Coefficients) -> Sizes:
        return Sizes(self.numbers.combine(coefficients), self.floor)

    def product(self, factor: Callable[[int], Sizes], count: int) -> _Positive:
        squares = [part.numbers.squared_modulus() + self.floor**2 for part in map(factor, range(count))]
        return _Positive(jnp.sqrt(functools.reduce(operator.mul, squares)), None)

    def stored(self) -> _Positive:
        return _Positive(self.numbers.re, None)


class _Positive(Planes):
    def times(self, real: Coefficients) -> _Positive:
        return _Positive(self.re * jnp.abs(aligned(real, self.re)), None)

    def __add__(self, other: Planes) -> _Positive:
        return _Positive(self.re + other.re, None)

    def stored(self) -> _Positive:
        return self

    def total(self, weights: jax.Array) -> Planes:
        return Planes(self.re, None).total(jnp.abs(weights))


jax.tree_util.register_dataclass(_Positive, data_fields=["re", "im"], meta_fields=[])
