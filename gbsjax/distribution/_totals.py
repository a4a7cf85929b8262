"""Total numbers: photons from the generating function, clicks by enumeration or by sampling phase space."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax import _checks
from gbsjax.distribution._full import MOST_MODES, Distribution, click_distribution
from gbsjax.gaussian import GaussianState

# Points on the circle for each photon number, at which aliased and amplified rounding errors are both near 2e-13.
POINTS = 4


def total_photons(state: GaussianState, cutoff: int) -> Distribution:
    """Distribution of the total photon number, below a cutoff.

    From the generating function <z^n> = exp(-(1 - z)/2 beta^dagger K(z)^-1 beta) / sqrt(det K(z)), K(z) = 1 + (1 - z)
    (Q - 1), at points of a circle, by a Fourier transform.

    Args:
        state: a `gaussian.GaussianState` of m modes.
        cutoff: photon numbers 0 .. cutoff - 1, a Python int.

    Returns:
        `Distribution`: probabilities (cutoff,) real, and missing, 1 less their sum.

    Raises:
        ValueError: a cutoff below 1.

    Notes:
        Absolute errors near 1e-12 (float64), not relative ones. Cost: 2 cutoff determinants of 2 m rows. Differentiable
        to any order, also where squeezings are equal: no eigenvalue is differentiated.

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> distribution.total_photons(gaussian.thermal([1.0]), 3).probabilities.round(6).tolist()
        [0.5, 0.25, 0.125]
    """
    if _checks.is_traced(cutoff) or cutoff < 1:
        raise ValueError(f"total_photons: cutoff must be a Python int of 1 or more, got {cutoff!r}.")
    return _by_circle(state, int(cutoff))


@functools.partial(jax.jit, static_argnums=1)
def _by_circle(state: GaussianState, cutoff: int) -> Distribution:
    n, m = state.number, state.pair
    dtype = np.result_type(n.dtype, np.complex64)
    excess = jnp.block([[n.T, m], [m.conj(), n]]).astype(dtype)
    beta = jnp.concatenate([state.displacement, state.displacement.conj()]).astype(dtype)
    levels = jnp.linalg.eigvalsh(lax.stop_gradient(excess))
    points = POINTS * cutoff
    unit = float(jnp.finfo(dtype).eps) / 2
    radius = unit ** (1 / (POINTS + 1) / cutoff)
    identity = jnp.eye(len(excess), dtype=dtype)

    def generating(z: jax.Array) -> jax.Array:
        matrix = identity + (1 - z) * excess
        sign, size = jnp.linalg.slogdet(matrix)
        # The branch of the root: eigenvalues of K(z) have positive real parts, so their angles add up.
        angle = jnp.sum(jnp.angle(1 + (1 - z) * levels.astype(dtype)))
        own = jnp.angle(sign)
        log = -lax.complex(size, own + lax.stop_gradient(angle - own)) / 2
        if state.displaced:
            log = log - (1 - z) / 2 * (beta.conj() @ jnp.linalg.solve(matrix, beta))
        return jnp.exp(log)

    half = points // 2 + 1
    circle = jnp.asarray(radius * np.exp(2j * np.pi * np.arange(half) / points), dtype)
    # Half the circle: the other half is conjugate.
    found = lax.map(generating, circle, batch_size=max(1, 2**22 // max(1, excess.size)))
    table = jnp.fft.irfft(found.conj(), points)[:cutoff]
    table = table / jnp.asarray(radius ** np.arange(cutoff), table.dtype)
    return Distribution(table, 1 - jnp.sum(table))


class ClickNumbers(NamedTuple):
    """Probabilities of 0 .. m clicks in all, and their standard errors (zero where enumerated)."""

    probabilities: jax.Array
    errors: jax.Array


def total_clicks(state: GaussianState, *, samples: int | None = None, seed: int = 0) -> ClickNumbers:
    """Distribution of the total number of clicks.

    Enumerated over all patterns, or, for many modes, an average over samples of the positive P function, in each of
    which the clicks of the modes are independent with complex weights (P. D. Drummond, B. Opanchuk, A. Dellios, M. D.
    Reid, Phys. Rev. A 105 (2022) 012427).

    Args:
        state: a `gaussian.GaussianState` of m modes.
        samples: how many samples; None enumerates, up to 16 modes.
        seed: of the samples.

    Returns:
        `ClickNumbers`: probabilities (m + 1,) and their standard errors (m + 1,).

    Raises:
        ValueError: more than 16 modes without samples, or fewer than 2 samples.

    Notes:
        Enumerated: 3^m leaves of torontonians, differentiable. Sampled: O(samples m^2), errors fall with the square
        root of samples. A device whose light is far from classical in many modes has heavy-tailed weights: look at the
        errors.

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> distribution.total_clicks(gaussian.thermal([1.0])).probabilities.round(6).tolist()
        [0.5, 0.5]
    """
    modes = state.modes
    if samples is None:
        if modes > MOST_MODES:
            raise ValueError(
                f"total_clicks: at most {MOST_MODES} modes are enumerated, got {modes}. Pass samples=, such as 100_000."
            )
        found = click_distribution(state).reshape(-1)
        number = np.indices((2,) * modes).sum(axis=0).reshape(-1)
        of = jnp.asarray(number[None, :] == np.arange(modes + 1)[:, None], found.dtype)
        return ClickNumbers(of @ found, jnp.zeros(modes + 1, found.dtype))
    if samples < 2:
        raise ValueError(f"total_clicks: samples must be 2 or more, got {samples}.")
    return _sampled(state, samples, seed)


@functools.partial(jax.jit, static_argnums=1)
def _sampled(state: GaussianState, samples: int, seed: int) -> ClickNumbers:
    modes = state.modes
    # Normally ordered covariance of quadratures x = (a + a^dagger)/2, p: eigenvalues down to -1/4 for squeezed light.
    covariance = state.covariance(hbar=0.5) - jnp.eye(2 * modes, dtype=jnp.real(state.number).dtype) / 4
    levels, axes = jnp.linalg.eigh(covariance)
    real = levels.dtype
    roots = lax.complex(jnp.sqrt(jnp.maximum(levels, 0)), jnp.sqrt(jnp.maximum(-levels, 0)))
    means = state.means(hbar=0.5)
    turns = jnp.asarray(np.exp(-2j * np.pi * np.arange(modes + 1) / (modes + 1)), roots.dtype)
    chunk = max(1, min(samples, 2**21 // (modes + 1) ** 2))
    chunks = -(-samples // chunk)

    def some(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        noise = jax.random.normal(key, (chunk, 2 * modes), real)
        real_part = (noise * jnp.real(roots)[None, :]) @ axes.T + means[None, :]
        quadratures = lax.complex(real_part, (noise * jnp.imag(roots)[None, :]) @ axes.T)
        x, p = quadratures[:, :modes], quadratures[:, modes:]
        # alpha and its partner are conjugate only where the light is classical.
        dark = jnp.exp(-(x * x + p * p))

        def seen(points: jax.Array, dark: jax.Array) -> tuple[jax.Array, None]:
            return points * (dark[None, :] + (1 - dark)[None, :] * turns[:, None]), None

        points, _ = lax.scan(seen, jnp.ones((modes + 1, chunk), dark.dtype), dark.T)
        law = jnp.real(jnp.fft.ifft(points, axis=0))
        return jnp.sum(law, axis=1), jnp.sum(law * law, axis=1)

    sums, squares = lax.map(some, jax.random.split(jax.random.key(seed), chunks))
    count = chunks * chunk
    mean = jnp.sum(sums, axis=0) / count
    variance = jnp.maximum(jnp.sum(squares, axis=0) / count - mean**2, 0)
    return ClickNumbers(mean, jnp.sqrt(variance / (count - 1)))
