"""The public door: what every function checks of its input, and the one form of its messages."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from gbsjax.numbers import Precision, Tier

DTYPES = ("float32", "float64", "complex64", "complex128")
BACKENDS = ("xla",)
_DTYPES = frozenset(map(np.dtype, DTYPES))


def is_traced(x: object) -> bool:
    """Whether x is an abstract value of jit, vmap or grad, on which no decision can be made."""
    return isinstance(x, Tracer)


def choice(function: str, name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{function}: {name} must be one of {list(allowed)}, got {value!r}.")


def backend_known(function: str, backend: str | None) -> None:
    if backend is not None:
        choice(function, "backend", backend, BACKENDS)


def engine(function: str, precision: Precision, backend: str | None, array: jax.Array) -> None:
    """Refuse tiers and backends that do not exist, and tiers that the dtype does not have; backend None chooses."""
    if not isinstance(precision, Tier):
        choice(function, "precision", precision, ("fp64", "dd", "exact"))
    backend_known(function, backend)
    if precision != "fp64" and array.dtype not in (jnp.float64, jnp.complex128):
        what = f"precision={precision!r} computes with" if precision == "dd" else "words and certificates are made of"
        raise TypeError(
            f"{function}: {what} pairs of float64, got {array.dtype}. Convert the input to float64 or complex128, or "
            "drop the precision."
        )


def array(function: str, name: str, x: object) -> jax.Array:
    """x as a JAX array of one of the four dtypes, as it came: nothing is converted."""
    if isinstance(x, jax.Array) and x.dtype in _DTYPES:
        return x
    if not isinstance(x, jax.Array | np.ndarray | np.generic):
        x = np.asarray(x)
    dtype = str(x.dtype)
    if np.issubdtype(x.dtype, np.integer) or x.dtype == bool:
        raise TypeError(
            f"{function}: {name} must be real or complex floating point, got {dtype}. Convert it, for example "
            f"{name}.astype(float), if float64's 53 bits are enough."
        )
    if x.dtype not in _DTYPES:
        raise TypeError(f"{function}: {name} must have a dtype of {list(DTYPES)}, got {dtype}. Convert it first.")
    if dtype in ("float64", "complex128") and not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise TypeError(
            f"{function}: {name} is {dtype}, but JAX would cut it to single precision. Call "
            f"jax.config.update('jax_enable_x64', True) first, or convert {name} to a 32-bit dtype yourself."
        )
    return jnp.asarray(x)


def matrices(function: str, name: str, x: jax.Array | np.ndarray) -> None:
    if x.ndim < 2:
        raise ValueError(f"{function}: {name} must have shape (*batch, n, n), got {x.shape}. Pass a matrix.")


def square(function: str, name: str, x: jax.Array | np.ndarray, hint: str) -> None:
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{function}: {name} must have shape (*batch, n, n), got {x.shape}. {hint}")


def counts(function: str, name: str, x: object, modes: int) -> jax.Array | np.ndarray:
    """Photon counts of shape (*batch, modes): NumPy integers where concrete, the traced array where not."""
    if not is_traced(x):
        x = np.asarray(x)
    shape, dtype = x.shape, x.dtype  # pyright: ignore[reportAttributeAccessIssue]
    if len(shape) < 1 or shape[-1] != modes:
        raise ValueError(f"{function}: {name} must have shape (*batch, {modes}), got {shape}. Give one count a mode.")
    if not np.issubdtype(dtype, np.integer):
        raise TypeError(
            f"{function}: {name} must be integer photon counts, got {dtype}. Convert with {name}.astype(int) "
            "if they are whole numbers."
        )
    if isinstance(x, np.ndarray):
        if x.size and x.min() < 0:
            raise ValueError(f"{function}: {name} must be photon counts of 0 or more, got {x.min()}.")
        return x.astype(np.int64)
    return x  # pyright: ignore[reportReturnType]


def affordable(function: str, terms: int, what: str, most: int = 2**50) -> None:
    """Refuse work that would not end: `terms` terms of a sum."""
    if terms > most:
        years = terms / 5e8 / (365.25 * 86400)
        raise ValueError(
            f"{function}: {what} needs {terms:.3g} terms, more than the {most:.3g} that are let through; at 5e8 terms "
            f"a second that is {years:.3g} years. Reduce the size, or give repeated rows and columns as counts."
        )


def symmetric(function: str, name: str, x: jax.Array | np.ndarray, hermitian: bool = False) -> None:
    """Refuse concrete matrices that differ from their (conjugate) transpose by more than rounding, 64 u max|A|."""
    if is_traced(x) or x.size == 0:
        return
    entries = np.asarray(x)
    with np.errstate(invalid="ignore", over="ignore"):
        mirror = np.swapaxes(entries, -1, -2)
        gap = np.abs(entries - (mirror.conj() if hermitian else mirror))
        sizes = np.abs(entries)
    # Entries that are not finite make their own element NaN, and raise nothing.
    gap, sizes = np.where(np.isfinite(gap), gap, 0), np.where(np.isfinite(sizes), sizes, 0)
    unit = float(np.finfo(entries.dtype).eps) / 2
    beyond = gap.max(axis=(-1, -2)) - 64 * unit * sizes.max(axis=(-1, -2))
    if (beyond > 0).any():
        kind, mirrored = ("Hermitian", "A - A^H") if hermitian else ("symmetric", "A - A^T")
        raise ValueError(
            f"{function}: {name} must be {kind} up to rounding (64 u max|A|), got max|{mirrored}| = {gap.max():.3g}. "
            f"Pass {'(A + A.conj().T) / 2' if hermitian else '(A + A.T) / 2'} if that is what you mean."
        )


def photons_or_clicks(function: str, name: str, counts: jax.Array | np.ndarray, total: int | None) -> int:
    """The largest number of photons (or clicks) of a pattern: from concrete counts, or the caller's static total."""
    if isinstance(counts, np.ndarray):
        return int(counts.sum(axis=-1).max(initial=0))
    if total is None:
        raise ValueError(
            f"{function}: {name} that are traced (inside jit or vmap) need total=, their largest sum, as a Python int. "
            f"Pass total=, or keep {name} outside the traced function."
        )
    if total < 0:
        raise ValueError(f"{function}: total must be a Python int of 0 or more, got {total}.")
    return total
