"""Moments of photon numbers and of clicks: no exponential sum."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gbsjax._torontonian.api import loop_torontonian, torontonian
from gbsjax.gaussian import GaussianState, Vacuum


def mean_photons(state: GaussianState) -> Float[Array, " m"]:
    """Mean photon number of each mode: <n_i> = N_ii + |alpha_i|^2.

    Args:
        state: a `gaussian.GaussianState` of m modes.

    Returns:
        (m,) real.

    Raises:
        Nothing of its own.

    Notes:
        O(m).

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> distribution.mean_photons(gaussian.thermal([1.0, 0.5])).tolist()
        [1.0, 0.5]
    """
    return jnp.real(jnp.diagonal(state.number)) + jnp.abs(state.displacement) ** 2


def photon_covariance(state: GaussianState) -> Float[Array, "m m"]:
    """Covariance matrix of the photon numbers.

    cov(n_i, n_j) = |N_ij|^2 + |M_ij|^2 + 2 Re(conj(alpha_i) alpha_j conj(N_ij) + conj(alpha_i alpha_j) M_ij) + delta_ij
    <n_i>.

    Args:
        state: a `gaussian.GaussianState` of m modes.

    Returns:
        (m, m) real symmetric; the diagonal holds the variances.

    Raises:
        Nothing of its own.

    Notes:
        O(m^2).

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> distribution.photon_covariance(gaussian.thermal([1.0])).tolist()  # n (n + 1)
        [[2.0]]
    """
    alpha = state.displacement
    cross = (alpha.conj()[:, None] * alpha[None, :]) * state.number.conj()
    cross = cross + (alpha[:, None] * alpha[None, :]).conj() * state.pair
    squares = jnp.abs(state.number) ** 2 + jnp.abs(state.pair) ** 2
    return squares + 2 * jnp.real(cross) + jnp.diag(mean_photons(state))


def _of_modes(state: GaussianState, modes: np.ndarray) -> jax.Array:
    """The probability that all of some modes click, whatever the others do: (sets,) for modes (sets, k)."""

    def vacuum(index: jax.Array) -> Vacuum:
        block = (index[:, None], index[None, :])
        mean = state.displacement[index]
        return GaussianState(state.number[block], state.pair[block], mean, False, state.displaced).clicks()

    of = jax.jit(jax.vmap(vacuum))(jnp.asarray(modes))
    found = torontonian(of.matrix) if of.vector is None else loop_torontonian(of.matrix, of.vector)
    return jnp.exp(of.log_p0) * found


def click_rates(state: GaussianState) -> Float[Array, " m"]:
    """Probability of a click in each mode, whatever the others show: one-mode torontonians of the reduced states.

    Args:
        state: a `gaussian.GaussianState` of m modes.

    Returns:
        (m,) real. Nearly empty modes keep their digits.

    Raises:
        Nothing of its own.

    Notes:
        O(m).

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> distribution.click_rates(gaussian.thermal([1.0])).round(6).tolist()
        [0.5]
    """
    return _of_modes(state, np.arange(state.modes)[:, None])


def click_covariance(state: GaussianState) -> Float[Array, "m m"]:
    """Covariance matrix of the clicks: P(i and j click) - P(i clicks) P(j clicks).

    Args:
        state: a `gaussian.GaussianState` of m modes.

    Returns:
        (m, m) real symmetric; the diagonal holds p (1 - p).

    Raises:
        Nothing of its own.

    Notes:
        O(m^2): torontonians of two modes. Of modes that know nothing of each other the difference is rounding,
        u P(i) P(j) in size.

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> distribution.click_covariance(gaussian.thermal([1.0])).round(6).tolist()
        [[0.25]]
    """
    rates = click_rates(state)
    i, j = np.triu_indices(state.modes, 1)
    both = _of_modes(state, np.stack([i, j], axis=1)) - rates[i] * rates[j] if len(i) else jnp.zeros(0, rates.dtype)
    upper = jnp.zeros((state.modes,) * 2, rates.dtype).at[i, j].set(both)
    return upper + upper.T + jnp.diag(rates * (1 - rates))
