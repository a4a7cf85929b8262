"""Tiers: which number type a precision stands for."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import jax

from gbsjax.numbers._double_double import DoubleDouble
from gbsjax.numbers._numbers import Numbers
from gbsjax.numbers._planes import Planes


class Tier(enum.Enum):
    """What a function returns besides the value of a public tier."""

    WORDS = "dd words"
    EXACT = "exact numbers"
    FP64_BOUND = "fp64 bound"
    DD_BOUND = "dd bound"


Precision = str | Tier
WORDS = Tier.WORDS
EXACT = Tier.EXACT
BOUND = {"fp64": Tier.FP64_BOUND, "dd": Tier.DD_BOUND}


# What an operation loses, in units of the tier, of the size of its product or of its two summands; of complex numbers
# normwise, whatever a compiler contracts.
UNIT = {"fp64": 2.0**-53, "dd": 2.0**-106}
ADD = {"fp64": 1.0, "dd": 11.0}
MULTIPLY = {"fp64": {"real": 1.0, "complex": 2.31}, "dd": {"real": 20.0, "complex": 71.0}}
DIVIDE = {"fp64": 1.0, "dd": 42.0}
SQUARE_ROOT = {"fp64": 1.0, "dd": 13.0}
# exp(x) - 1 is that of x (1 + d), |d| <= ARGUMENT, within EXPM1 of it.
EXPM1 = {"fp64": 20.0, "dd": 500.0}
ARGUMENT = {"fp64": 2.0, "dd": 24.0}


def of_tier(numbers: Planes, precision: Precision) -> Numbers:
    """The numbers as the type that a tier computes with."""
    return DoubleDouble.of(numbers) if precision in ("dd", Tier.WORDS, Tier.DD_BOUND) else numbers


def words(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[jax.Array, jax.Array]:
    """High and low word of a function of gbsjax in double-double: hi + lo has some 31 digits, hi is its rounding.

    Args:
        function: gbsjax.permanent, hafnian, loop_hafnian, torontonian or loop_torontonian.
        arguments: the matrix, and what else the function takes.
        options: as the function takes them, without precision.

    Returns:
        hi and lo, each like the value of the function.

    Raises:
        TypeError, ValueError: what the function raises with precision="dd"; TypeError when differentiated.

    Examples:
        >>> import jax, jax.numpy as jnp, gbsjax
        >>> jax.config.update("jax_enable_x64", True)
        >>> hi, lo = gbsjax.numbers.words(gbsjax.permanent, jnp.full((3, 3), 0.1))
        >>> float(hi), float(lo)
        (0.006, 1.6653345369377348e-19)
    """
    return function(*arguments, precision=Tier.WORDS, **options)
