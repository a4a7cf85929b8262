"""What the states and devices check of their input, and the conventions of quadratures."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax import _checks

# [x, p] = i hbar; The Walrus and Strawberry Fields have 2 too.
HBAR = 2.0
# All positions, then all momenta; or position and momentum of each mode.
ORDERS = ("xxpp", "xpxp")


def entries(name: str, what: str, x: Any, ndim: int) -> jax.Array:
    """x as a floating array with `ndim` axes; Python numbers and lists are taken in JAX's default precision."""
    if isinstance(x, int | float | complex | list | tuple):
        x = jnp.asarray(x, dtype=jnp.result_type(complex if np.iscomplexobj(x) else float))
    array = _checks.array(name, what, x)
    if array.ndim != ndim:
        kind = ("a number", "a vector, one entry a mode", "a matrix")[ndim]
        raise ValueError(f"{name}: {what} must be {kind}, got shape {array.shape}.")
    return array


def reals(name: str, what: str, x: Any, ndim: int) -> jax.Array:
    array = entries(name, what, x, ndim)
    if jnp.iscomplexobj(array):
        raise TypeError(f"{name}: {what} must be real, got {array.dtype}. Pass its real part, and its phase apart.")
    return array


def within(name: str, what: str, x: jax.Array, low: float, high: float) -> None:
    """Refuse concrete values outside low..high; NaN is refused too."""
    if _checks.is_traced(x):
        return
    values = np.asarray(x)
    if not ((values >= low) & (values <= high)).all():
        allowed = f"at least {low:g}" if high == np.inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name}: {what} must be {allowed}, got values from {values.min()} to {values.max()}.")


def a_per_mode(name: str, what: str, x: Any, modes: int) -> jax.Array:
    """A real number, or a vector with one entry a mode."""
    array = reals(name, what, x, 0 if np.ndim(x) == 0 else 1)
    if array.ndim and len(array) != modes:
        raise ValueError(f"{name}: {what} must be a number or have {modes} entries, one a mode, got {len(array)}.")
    return array


def to_xxpp(name: str, order: str, modes: int) -> np.ndarray:
    """Indices that bring quadratures of the given order to xxpp."""
    _checks.choice(name, "order", order, ORDERS)
    index = np.arange(2 * modes)
    return index if order == "xxpp" else np.concatenate([index[::2], index[1::2]])


def positive_hbar(name: str, hbar: float) -> float:
    if not hbar > 0:
        raise ValueError(f"{name}: hbar must be positive, got {hbar}. [x, p] = i hbar; 2, 1 and 1/2 are in use.")
    return float(hbar)
