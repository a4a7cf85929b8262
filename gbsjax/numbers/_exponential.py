"""The exponential less 1, of real numbers of any type, from sums and products whose errors are known."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp

from gbsjax.numbers._planes import Planes

# log 2, a word of 42 bits, whose multiples are exact, and two more.
LOG_2 = (0.6931471805598903, 5.497923018708371e-14, 1.94704509238075e-31)


def _words(number: Fraction) -> tuple[float, float]:
    high = float(number)
    return high, float(number - Fraction(high))


@jax.custom_jvp
def expm1(x: Any) -> Any:
    """exp(x) - 1 of real x >= 0: of x (1 + d) within r of it, relative, |d| <= 2 u and r = 20 u; of double-double
    |d| <= 24 u^2, r = 500 u^2 (docs, proofs)."""
    # Double-double goes an eighth of the way and doubles three times: half of the terms.
    halvings, terms = (0, 14) if isinstance(x, Planes) else (3, 16)
    k = jnp.round(x.rounded().re / math.log(2))
    near = (x - x.constant(LOG_2[0]).times(k)) - x.constant(*LOG_2[1:]).times(k)
    small = near.map(lambda plane: plane * 2.0**-halvings)
    series = x.constant(*_words(Fraction(1, math.factorial(terms))))
    for term in range(terms - 1, 0, -1):
        series = series * small + x.constant(*_words(Fraction(1, math.factorial(term))))
    found = series * small
    for _ in range(halvings):
        found = found * (found + x.constant(2.0))
    power = jnp.ldexp(jnp.ones((), k.dtype), k.astype(jnp.int32))
    scaled, powers = (part.map(lambda plane: plane * power) for part in (found, x.constant(1.0)))
    return scaled + (powers - x.constant(1.0))


@expm1.defjvp
def _expm1_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    found = expm1(primals[0])
    return found, (found + found.constant(1.0)) * tangents[0]
