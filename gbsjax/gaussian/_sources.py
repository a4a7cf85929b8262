"""States that sources make."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Inexact

from gbsjax.gaussian import _inputs
from gbsjax.gaussian._state import GaussianState


def vacuum(modes: int) -> GaussianState:
    """Vacuum of some modes.

    Args:
        modes: how many.

    Returns:
        A pure `GaussianState` in JAX's default precision.

    Raises:
        ValueError: a negative number.

    Examples:
        >>> from gbsjax import gaussian
        >>> gaussian.vacuum(3).modes
        3
    """
    if modes < 0:
        raise ValueError(f"vacuum: modes must be 0 or more, got {modes}.")
    zero = jnp.zeros((modes, modes))
    return GaussianState(zero, zero, jnp.zeros(modes), True, False)


def coherent(alpha: Inexact[Any, " m"]) -> GaussianState:
    """Coherent states, one a mode.

    Args:
        alpha: (m,) amplitudes; |alpha|^2 mean photons.

    Returns:
        A pure `GaussianState`.

    Raises:
        TypeError, ValueError: not a vector of floating numbers.

    Examples:
        >>> from gbsjax import gaussian
        >>> gaussian.coherent([0.5, 0.0]).modes
        2
    """
    mean = _inputs.entries("coherent", "alpha", alpha, 1)
    zero = jnp.zeros((len(mean), len(mean)), mean.dtype)
    return GaussianState(zero, zero, mean, True)


def thermal(photons: Float[Any, " m"]) -> GaussianState:
    """Thermal light, one source a mode.

    Args:
        photons: (m,) mean photons, 0 or more.

    Returns:
        A `GaussianState`, not declared pure.

    Raises:
        TypeError, ValueError: not a real vector, or a negative mean.

    Examples:
        >>> from gbsjax import gaussian
        >>> gaussian.thermal([1.0, 0.0]).modes
        2
    """
    mean = _inputs.reals("thermal", "photons", photons, 1)
    _inputs.within("thermal", "photons", mean, 0, np.inf)
    zero = jnp.zeros(len(mean), mean.dtype)
    return GaussianState(jnp.diag(mean), jnp.diag(zero), zero, False, False)


def _phased(name: str, r: Any, phi: Any) -> tuple[jax.Array, jax.Array]:
    """sinh^2 r and e^(i phi) sinh r cosh r; real where no phase is given."""
    squeezing = _inputs.reals(name, "r", r, 1)
    pairs = jnp.sinh(squeezing) * jnp.cosh(squeezing)
    if phi is not None:
        pairs = jax.lax.complex(pairs, jnp.zeros_like(pairs))
        turned = _inputs.a_per_mode(name, "phi", phi, len(squeezing)).astype(squeezing.dtype)
        pairs = pairs * jax.lax.complex(jnp.cos(turned), jnp.sin(turned))
    return (jnp.sinh(squeezing) ** 2).astype(pairs.dtype), pairs


def squeezed(r: Float[Any, " m"], phi: Any = None) -> GaussianState:
    """Squeezed vacuum, one source a mode: proportional to exp(e^(i phi) tanh(r) a^dagger^2 / 2) |0>.

    Args:
        r: (m,) squeezing; sinh^2 r mean photons. <a a> = e^(i phi) sinh r cosh r.
        phi: phases in radians, a number or (m,); None is 0 and keeps the state real.

    Returns:
        A pure `GaussianState`.

    Raises:
        TypeError, ValueError: not real vectors of one length.

    Notes:
        Strawberry Fields, The Walrus and Piquasso squeeze with the other sign: their r, phi are phi + pi here.

    Examples:
        >>> from gbsjax import gaussian
        >>> gaussian.squeezed([1.0, 0.5]).modes
        2
    """
    number, pair = _phased("squeezed", r, phi)
    return GaussianState(jnp.diag(number), jnp.diag(pair), jnp.zeros_like(number), True, False)


def two_mode_squeezed(r: Float[Any, " s"], phi: Any = None) -> GaussianState:
    """Two-mode squeezed vacuum: source s feeds modes 2 s and 2 s + 1 with pairs of photons.

    Args:
        r: (s,) squeezing; each of its two modes has sinh^2 r mean photons. <a_2s a_2s+1> = e^(i phi) sinh r cosh r.
        phi: phases in radians, a number or (s,); None is 0 and keeps the state real.

    Returns:
        A pure `GaussianState` of 2 s modes.

    Raises:
        TypeError, ValueError: not real vectors of one length.

    Examples:
        >>> from gbsjax import gaussian
        >>> gaussian.two_mode_squeezed([1.0, 0.5]).modes
        4
    """
    number, pair = _phased("two_mode_squeezed", r, phi)
    twice = jnp.repeat(number, 2)
    first = 2 * np.arange(len(number))
    apart = jnp.zeros((len(twice),) * 2, pair.dtype).at[first, first + 1].set(pair).at[first + 1, first].set(pair)
    return GaussianState(jnp.diag(twice), apart, jnp.zeros_like(twice), True, False)
