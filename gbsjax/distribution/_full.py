"""Whole distributions: every pattern of photons up to a cutoff, every pattern of clicks."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Complex, Float

from gbsjax import _checks
from gbsjax.distribution._patterns import click_probability
from gbsjax.gaussian import GaussianState

# Entries of a table: 2^27 complex ones are 2 GB.
MOST_ENTRIES = 2**27
# All patterns of clicks: 3^16 leaves take some ten seconds.
MOST_MODES = 16


class Distribution(NamedTuple):
    """Probabilities of a table of outcomes, and the probability of what is not in the table: 1 - their sum."""

    probabilities: jax.Array
    missing: jax.Array


def _cutoffs(name: str, state: GaussianState, cutoffs: Any, copies: int) -> tuple[int, ...]:
    if _checks.is_traced(cutoffs):
        raise ValueError(f"{name}: cutoffs decide the shape of the result and must be concrete. Pass Python ints.")
    per_mode = np.broadcast_to(np.asarray(cutoffs), (state.modes,) if np.ndim(cutoffs) == 0 else np.shape(cutoffs))
    if per_mode.shape != (state.modes,) or not np.issubdtype(per_mode.dtype, np.integer) or (per_mode < 1).any():
        raise ValueError(
            f"{name}: cutoffs must be a whole number of 1 or more, or one a mode ({state.modes}), got {cutoffs!r}. The "
            "largest photon number is cutoff - 1."
        )
    entries = math.prod(int(c) for c in per_mode) ** copies
    if entries > MOST_ENTRIES:
        raise ValueError(
            f"{name}: cutoffs {per_mode.tolist()} need a table of {entries:.3g} entries, more than the "
            f"{MOST_ENTRIES:.3g} that memory is given for. Lower them, trace modes out (state.reduced), or ask for "
            "single patterns (photon_probability)."
        )
    return tuple(int(c) for c in per_mode)


@functools.partial(jax.jit, static_argnames="cutoffs")
def _hermite(start: jax.Array, matrix: jax.Array, vector: jax.Array | None, cutoffs: tuple[int, ...]) -> jax.Array:
    """G_n = start lhaf(matrix_n, vector_n) / sqrt(prod n_i!) for all n below the cutoffs.

    sqrt(n_k + 1) G_(n + e_k) = v_k G_n + sum_j A_kj sqrt(n_j) G_(n - e_j): one mode after the other is added, its
    photon number stepped by a scan whose slices are the table of the modes before.
    """
    table = start.astype(matrix.dtype)
    real = jnp.real(matrix).dtype
    for k, cutoff in enumerate(cutoffs):
        drift = jnp.zeros((), table.dtype) if vector is None else vector[k]

        def step(carry, n, k=k, drift=drift):
            before, now = carry
            found = drift * now + matrix[k, k] * jnp.sqrt(n).astype(now.dtype) * before
            for j in range(k):
                roots = jnp.sqrt(jnp.arange(cutoffs[j], dtype=real)).astype(now.dtype)
                moved = lax.slice_in_dim(now, 0, cutoffs[j] - 1, axis=j)
                widths = [(1, 0) if axis == j else (0, 0) for axis in range(k)]
                moved = jnp.pad(moved, widths)
                found = found + matrix[k, j] * lax.expand_dims(roots, [a for a in range(k) if a != j]) * moved
            found = found / jnp.sqrt(n + 1).astype(now.dtype)
            return (now, found), now

        _, slices = lax.scan(step, (jnp.zeros_like(table), table), jnp.arange(cutoff, dtype=real))
        table = jnp.moveaxis(slices, 0, -1)
    return table


def photon_amplitudes(state: GaussianState, cutoffs: Any) -> Complex[Array, ...]:
    """All amplitudes <n|state> of a pure state with photon numbers below cutoffs.

    Args:
        state: a `gaussian.GaussianState` of m modes that is declared pure.
        cutoffs: a whole number, or one a mode: photon numbers 0 .. cutoff - 1.

    Returns:
        (cutoff_1, .., cutoff_m) complex; real for a real state. The phase is that of `amplitude`.

    Raises:
        ValueError: not declared pure, cutoffs that are not, or a table that memory would not hold.

    Notes:
        Cost: m multiply-adds an entry (Hermite recurrence: F. M. Miatto, N. Quesada, Quantum 4 (2020) 366), stepping
        photon numbers of one mode at a time. Differentiable to any order. An amplitude of the vacuum below 1e-308
        underflows.

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> distribution.photon_amplitudes(gaussian.vacuum(2), 3).shape
        (3, 3)
    """
    vacuum = state.ket()
    sizes = _cutoffs("photon_amplitudes", state, cutoffs, 1)
    start = jnp.exp(vacuum.log_p0 / 2).astype(vacuum.matrix.dtype)
    if jnp.iscomplexobj(vacuum.matrix):
        alpha = state.displacement
        phase = jnp.imag(alpha.conj() @ (vacuum.matrix @ alpha.conj())) / 2
        start = start * lax.complex(jnp.cos(phase), jnp.sin(phase))
    return _hermite(start, vacuum.matrix, vacuum.vector, sizes)


def photon_distribution(state: GaussianState, cutoffs: Any) -> Distribution:
    """Probabilities of all patterns with photon numbers below cutoffs, and the probability of all others.

    Args:
        state: a `gaussian.GaussianState` of m modes.
        cutoffs: a whole number, or one a mode: photon numbers 0 .. cutoff - 1.

    Returns:
        `Distribution`: probabilities (cutoff_1, .., cutoff_m) real, and missing, 1 less their sum.

    Raises:
        ValueError: cutoffs that are not, or a table that memory would not hold (2^27 entries).

    Notes:
        Cost: m multiply-adds an entry of the table of amplitudes for a state that is declared pure; else 2 m an entry
        of the density matrix, whose entries are as many squared. Differentiable to any order. A probability of the
        vacuum below 1e-308 underflows, and all is missing.

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> distribution.photon_distribution(gaussian.thermal([1.0]), 3).probabilities.round(6).tolist()
        [0.5, 0.25, 0.125]
    """
    name = "photon_distribution"
    if state.pure:
        _cutoffs(name, state, cutoffs, 1)
        found = photon_amplitudes(state, cutoffs)
        table = jnp.real(found) ** 2 + jnp.imag(found) ** 2 if jnp.iscomplexobj(found) else found**2
    else:
        sizes = _cutoffs(name, state, cutoffs, 2)
        vacuum = state.photons()
        density = _hermite(jnp.exp(vacuum.log_p0), vacuum.matrix, vacuum.vector, sizes + sizes)
        entries = math.prod(sizes)
        table = jnp.real(jnp.diagonal(density.reshape(entries, entries))).reshape(sizes)
    return Distribution(table, 1 - jnp.sum(table))


def click_distribution(state: GaussianState) -> Float[Array, ...]:
    """Probabilities of all 2^m patterns of clicks.

    Args:
        state: a `gaussian.GaussianState` of m modes.

    Returns:
        (2,) * m real, axis i is 1 where mode i clicked. They sum to 1.

    Raises:
        ValueError: more than 16 modes.

    Notes:
        Cost: 3^m leaves of torontonians. For more modes see `click_probability` and `total_clicks`.

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> distribution.click_distribution(gaussian.thermal([1.0])).round(6).tolist()
        [0.5, 0.5]
    """
    if state.modes > MOST_MODES:
        raise ValueError(
            f"click_distribution: at most {MOST_MODES} modes have few enough patterns, got {state.modes}. Trace modes "
            "out (state.reduced), or ask for single patterns (click_probability)."
        )
    patterns = np.indices((2,) * state.modes).reshape(state.modes, -1).T
    return click_probability(state, patterns).reshape((2,) * state.modes)
