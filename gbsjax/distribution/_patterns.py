"""Probabilities, log-probabilities and amplitudes of photon patterns and of click patterns."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Complex, Float

from gbsjax import _checks
from gbsjax._hafnian.api import hafnian, loop_hafnian
from gbsjax._hafnian.launch import choose
from gbsjax._scaling import exponent_of, power_of_two
from gbsjax._torontonian.api import loop_torontonian, torontonian
from gbsjax._torontonian.launch import Tree
from gbsjax.distribution._groups import Group, over_patterns, submatrices
from gbsjax.gaussian import GaussianState


def photon_probability(
    state: GaussianState, counts: Any, *, total: int | None = None, precision: str = "fp64"
) -> Float[Array, "*batch"]:
    """Probability that photon-number detectors show given counts.

    P(n) = p0 lhaf(A_n, gamma_n) / prod n_i! (C. S. Hamilton et al., Phys. Rev. Lett. 119 (2017) 170501); for a state
    that is declared pure, p0 |lhaf(B_n, zeta_n)|^2 / prod n_i!, of half the size.

    Args:
        state: a `gaussian.GaussianState` of m modes.
        counts: (*batch, m) photons in each mode, integers. Their sums may differ.
        total: the largest sum, a Python int: needed, and read, only when counts are traced (inside jit or vmap). A
            pattern with more is NaN.
        precision: "fp64" or "dd", as for `gbsjax.hafnian`.

    Returns:
        (*batch,) real. A value that should be 0 may be negative by rounding.

    Raises:
        TypeError, ValueError: counts that are not, traced ones without total, an unknown precision.

    Notes:
        Cost: a hafnian of 2 n rows for n photons, of n rows where pure, by the cheapest program for the counts.
        Concrete counts are sorted into groups of one sum, each compiled once. For all patterns up to a cutoff see
        `photon_distribution`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from gbsjax import distribution, gaussian
        >>> round(float(distribution.photon_probability(gaussian.thermal([1.0]), [2])), 12)  # 1 / 2^(n + 1)
        0.125
    """

    def value(found: jax.Array, log_scale: jax.Array) -> jax.Array:
        return _size(state, found) * jnp.exp(log_scale)

    return _photons("photon_probability", state, counts, total, precision, value)


def photon_log_probability(
    state: GaussianState, counts: Any, *, total: int | None = None, precision: str = "fp64"
) -> Float[Array, "*batch"]:
    """Logarithm of the probability that photon-number detectors show given counts; it does not underflow.

    Args:
        state: a `gaussian.GaussianState` of m modes.
        counts: (*batch, m) photons in each mode, integers. Their sums may differ.
        total: the largest sum, a Python int: needed, and read, only when counts are traced (inside jit or vmap). A
            pattern with more is NaN.
        precision: "fp64" or "dd", as for `gbsjax.hafnian`.

    Returns:
        (*batch,) real; -inf for probability 0, NaN where rounding made the probability negative.

    Raises:
        TypeError, ValueError: counts that are not, traced ones without total, an unknown precision.

    Notes:
        Cost as for `photon_probability`. Where the probability is 0, its logarithm has no derivative and JAX gives NaN
        or inf; the derivative of `photon_probability` is finite there.

    Examples:
        >>> import jax.numpy as jnp
        >>> from gbsjax import distribution, gaussian
        >>> float(distribution.photon_log_probability(gaussian.squeezed([0.5]), [1]))  # photons come in pairs
        -inf
    """

    def value(found: jax.Array, log_scale: jax.Array) -> jax.Array:
        return jnp.log(_size(state, found)) + log_scale

    return _photons("photon_log_probability", state, counts, total, precision, value)


def amplitude(
    state: GaussianState, counts: Any, *, total: int | None = None, precision: str = "fp64"
) -> Complex[Array, "*batch"]:
    """Amplitude <n|state> of a pure state.

    Args:
        state: a `gaussian.GaussianState` of m modes that is declared pure.
        counts: (*batch, m) photons in each mode, integers. Their sums may differ.
        total: the largest sum, a Python int: needed, and read, only when counts are traced (inside jit or vmap). A
            pattern with more is NaN.
        precision: "fp64" or "dd", as for `gbsjax.hafnian`.

    Returns:
        (*batch,) complex; real for a real state.

    Raises:
        TypeError, ValueError: counts that are not, traced ones without total, a state that is not declared pure.

    Notes:
        The global phase is that of D(alpha) S |0> with <0|S|0> > 0. Cost: a hafnian of n rows for n photons.

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> round(float(distribution.amplitude(gaussian.coherent([1.0]), [0])), 6)  # exp(-1/2)
        0.606531
    """
    b, alpha = state.ket().matrix, state.displacement
    phase = jnp.imag(alpha.conj() @ (b @ alpha.conj())) / 2

    def value(found: jax.Array, log_scale: jax.Array) -> jax.Array:
        size = jnp.exp(log_scale / 2).astype(found.dtype)
        return found * size * lax.complex(jnp.cos(phase), jnp.sin(phase)) if jnp.iscomplexobj(found) else found * size

    return _photons("amplitude", state, counts, total, precision, value)


def _size(state: GaussianState, found: jax.Array) -> jax.Array:
    """What a hafnian contributes to the probability."""
    if not state.pure:
        return jnp.real(found)
    return jnp.real(found) ** 2 + jnp.imag(found) ** 2 if jnp.iscomplexobj(found) else found**2


def _photons(name: str, state: GaussianState, counts: Any, total: int | None, precision: str, value: Any) -> jax.Array:
    vacuum = state.ket() if state.pure else state.photons()
    blocks = 1 if state.pure else 2

    def terms(photons: int) -> int:
        return choose(blocks * photons, state.displaced, None, None).terms

    def one(group: Group) -> jax.Array:
        if group.total == 0:
            return _nothing(group, vacuum.log_p0, vacuum.matrix.dtype, value)
        matrix, vector = submatrices(vacuum.matrix, vacuum.vector, group.modes, blocks)
        matrix, vector, taken = _scaled(matrix, vector)
        xp = np if isinstance(group.counts, np.ndarray) else jnp
        options: Any = {"repeats": xp.tile(group.counts, (1, blocks)), "precision": precision}
        options["total"] = blocks * group.total
        found = hafnian(matrix, **options) if vector is None else loop_hafnian(matrix, vector, **options)
        real = vacuum.log_p0.dtype
        photons = jnp.sum(jnp.asarray(group.counts), axis=-1).astype(real)
        # Two rows a photon in lhaf A, and in |lhaf B|^2.
        log_scale = 2 * np.log(2) * taken.astype(real) * photons - jnp.asarray(group.log_factorials, real)
        return value(found, vacuum.log_p0 + log_scale)

    return over_patterns(name, "counts", counts, state.modes, total, terms, one)


def _nothing(group: Group, log_p0: jax.Array, dtype: Any, value: Any) -> jax.Array:
    """Of patterns that see nothing: hafnians and torontonians of nothing are 1."""
    ones = jnp.ones(len(group.modes), dtype)
    return value(ones, jnp.broadcast_to(log_p0, ones.shape))


def _scaled(matrix: jax.Array, vector: jax.Array | None) -> tuple[jax.Array, jax.Array | None, jax.Array]:
    """Matrices by 4^-k and vectors by 2^-k, and k (patterns,), so that entries are near 1: lhaf loses 2^k a row."""
    size = jnp.max(jnp.abs(matrix), axis=(-1, -2), initial=0)
    if vector is not None:
        size = jnp.maximum(size, jnp.max(jnp.abs(vector), axis=-1, initial=0) ** 2)
    taken = exponent_of(lax.stop_gradient(size)) // 2
    factor = power_of_two(-taken, size.dtype)
    half = None if vector is None else vector * factor[:, None].astype(vector.dtype)
    return matrix * (factor**2)[:, None, None].astype(matrix.dtype), half, taken


def click_probability(
    state: GaussianState, clicks: Any, *, total: int | None = None, precision: str = "fp64"
) -> Float[Array, "*batch"]:
    """Probability that threshold detectors click in given modes and in no other.

    P(S) = p0 ltor(O_S, gamma_S) (N. Quesada, J. M. Arrazola, N. Killoran, Phys. Rev. A 98 (2018) 062322; J. F. F.
    Bulmer, S. Paesani, R. S. Chadwick, N. Quesada, Phys. Rev. A 106 (2022) 043712).

    Args:
        state: a `gaussian.GaussianState` of m modes.
        clicks: (*batch, m), 1 for a mode that clicked and 0 for one that did not, integers. Their sums may differ.
        total: the largest sum, a Python int: needed, and read, only when clicks are traced (inside jit or vmap). A
            pattern with more is NaN.
        precision: "fp64", or "dd", which more than some twelve clicks need.

    Returns:
        (*batch,) real.

    Raises:
        TypeError, ValueError: clicks that are not, traced ones without total, an unknown precision.

    Notes:
        Cost: 24 2^k complex multiply-adds for k clicks. Modes that are not to be looked at are traced out first:
        `state.reduced`. Concrete clicks are sorted into groups of one sum, each compiled once.

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> round(float(distribution.click_probability(gaussian.thermal([1.0, 0.0]), [1, 0])), 12)
        0.5
    """

    def value(found: jax.Array, log_p0: jax.Array) -> jax.Array:
        return found * jnp.exp(log_p0)

    return _clicks("click_probability", state, clicks, total, precision, value)


def click_log_probability(
    state: GaussianState, clicks: Any, *, total: int | None = None, precision: str = "fp64"
) -> Float[Array, "*batch"]:
    """Logarithm of the probability that threshold detectors click in given modes and in no other.

    Args:
        state: a `gaussian.GaussianState` of m modes.
        clicks: (*batch, m), 1 for a mode that clicked and 0 for one that did not, integers. Their sums may differ.
        total: the largest sum, a Python int: needed, and read, only when clicks are traced (inside jit or vmap). A
            pattern with more is NaN.
        precision: "fp64", or "dd", which more than some twelve clicks need.

    Returns:
        (*batch,) real; -inf for probability 0, NaN where rounding made the probability negative.

    Raises:
        TypeError, ValueError: clicks that are not, traced ones without total, an unknown precision.

    Notes:
        Cost as for `click_probability`. Where the probability is 0, its logarithm has no derivative and JAX gives NaN
        or inf; the derivative of `click_probability` is finite there.

    Examples:
        >>> from gbsjax import distribution, gaussian
        >>> float(distribution.click_log_probability(gaussian.vacuum(2), [1, 0]))
        -inf
    """

    def value(found: jax.Array, log_p0: jax.Array) -> jax.Array:
        return jnp.log(found) + log_p0

    return _clicks("click_log_probability", state, clicks, total, precision, value)


def _clicks(name: str, state: GaussianState, clicks: Any, total: int | None, precision: str, value: Any) -> jax.Array:
    if not _checks.is_traced(clicks) and np.max(np.asarray(clicks), initial=0) > 1:
        raise ValueError(f"{name}: clicks must be 0 or 1 a mode, got {np.max(clicks)}. Pass (counts > 0).astype(int).")
    vacuum = state.clicks()

    def terms(size: int) -> int:
        return 48 * Tree(size, state.displaced).terms

    def one(group: Group) -> jax.Array:
        if group.total == 0:
            return _nothing(group, vacuum.log_p0, vacuum.log_p0.dtype, value)
        matrix, vector = submatrices(vacuum.matrix, vacuum.vector, group.modes, 2)
        options: Any = {"precision": precision}
        if not (isinstance(group.counts, np.ndarray) and group.counts.all()):
            options |= {"clicks": group.counts, "total": group.total}
        if vector is None:
            return value(torontonian(matrix, **options), vacuum.log_p0)
        return value(loop_torontonian(matrix, vector, **options), vacuum.log_p0)

    return over_patterns(name, "clicks", clicks, state.modes, total, terms, one)
