"""The public functions: checks, click patterns, batches."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Inexact

from gbsjax import _checks, _progress
from gbsjax._batches import broadcast, in_chunks
from gbsjax._patterns import written_out
from gbsjax._scaling import exact_ones
from gbsjax._torontonian import rule
from gbsjax._torontonian.launch import Tree
from gbsjax.numbers import Precision, Tier


def torontonian(
    matrix: Inexact[ArrayLike, "*batch 2m 2m"],
    *,
    clicks: Any = None,
    total: int | None = None,
    precision: str = "fp64",
    backend: str | None = None,
) -> Float[Array, "*batch"]:
    """Torontonian: the signed sum over subsets of modes that gives the probability of clicks in all of them.

    tor O = sum over subsets S of the m modes of (-1)^(m - |S|) / sqrt(det(I - O_S)), mode k owning rows k and k + m
    (N. Quesada, J. M. Arrazola, N. Killoran, Phys. Rev. A 98 (2018) 062322). A tree of Schur complements takes every
    principal minor once (K. Griffin, M. J. Tsatsomeros, Linear Algebra Appl. 419 (2006) 107): each mode is dropped, or
    eliminated. O and not I - O is carried, and sums are taken as differences, so nearly empty modes keep their digits.

    Args:
        matrix: (*batch, 2 m, 2 m), Hermitian (complex) or symmetric (real) up to 64 u max|O|; float32, float64,
            complex64 or complex128. O = I - Q^-1 of a Gaussian state. What is evaluated is (O + O^H) / 2.
        clicks: (m,) or (*batch, m), 1 for a mode that clicked and 0 for one that did not: the torontonian of the rows
            of the clicked modes. None is all modes. The patterns of a batch may have different sums: smaller ones are
            padded.
        total: the largest number of clicks, a Python int. Needed when clicks are traced (inside jit or vmap): a pattern
            with more is then NaN. Of clicks that are not, calls with one total share one compiled program.
        precision: "fp64", the arithmetic of the dtype as given; "dd", double-double (some 31 digits), for float64 and
            complex128.
        backend: "xla", or None to choose.

    Returns:
        (*batch,) real, in the precision of the matrix. 1 for no mode, empty for an empty batch, NaN for the elements of
        a batch that have a NaN or Inf entry.

    Raises:
        TypeError: the dtype is not one of the four (integers included), clicks that are not integers, or float64 NumPy
            input meets a JAX that is set to 32 bits.
        ValueError: not square, an odd number of rows, not Hermitian or I - O not positive definite (concrete values;
            under jit that element is NaN), clicks other than 0 and 1, traced clicks without total, an unknown option,
            more than 2^50 subsets.

    Notes:
        Cost: 24 2^m complex multiply-adds in bounded memory: modes beyond the last 14 are looped over, which
        `gbsjax.show_progress()` shows. Digits are lost where the value is small beside its 2^m terms: the relative
        error is at most near 16 u kappa cond(I - O), kappa = sum |terms| / |value|, which for weak light and many
        modes leaves few (docs, accuracy). Hermitian input has Hermitian gradients.

    Examples:
        >>> import jax.numpy as jnp, gbsjax
        >>> float(gbsjax.torontonian(jnp.diag(jnp.array([0.5, 0.5]))))
        1.0
    """
    return _checked("torontonian", matrix, None, clicks, total, precision, backend)


def loop_torontonian(
    matrix: Inexact[ArrayLike, "*batch 2m 2m"],
    gamma: Inexact[ArrayLike, "*batch 2m"],
    *,
    clicks: Any = None,
    total: int | None = None,
    precision: str = "fp64",
    backend: str | None = None,
) -> Float[Array, "*batch"]:
    """Loop torontonian: the torontonian of a displaced state.

    ltor(O, gamma) = sum over subsets S of (-1)^(m - |S|) exp(gamma_S^T (I - O_S)^-1 conj(gamma_S) / 2) /
    sqrt(det(I - O_S)) (J. F. F. Bulmer, S. Paesani, R. S. Chadwick, N. Quesada, Phys. Rev. A 106 (2022) 043712; gamma
    as in The Walrus). The program is that of `torontonian`, with a vector beside the matrix.

    Args:
        matrix: (*batch, 2 m, 2 m), Hermitian (complex) or symmetric (real) up to 64 u max|O|; float32, float64,
            complex64 or complex128. What is evaluated is (O + O^H) / 2.
        gamma: (*batch, 2 m), the dtype of the matrix: beta^dagger Q^-1 of a state with displacement beta.
        clicks: (m,) or (*batch, m), 1 for a mode that clicked and 0 for one that did not. None is all modes.
        total: the largest number of clicks, a Python int. Needed when clicks are traced (inside jit or vmap): a pattern
            with more is then NaN. Of clicks that are not, calls with one total share one compiled program.
        precision: "fp64", the arithmetic of the dtype as given; "dd", double-double (some 31 digits), for float64 and
            complex128.
        backend: "xla", or None to choose.

    Returns:
        (*batch,) real, in the precision of the matrix. 1 for no mode, empty for an empty batch, NaN for the elements of
        a batch that have a NaN or Inf entry.

    Raises:
        TypeError: the dtype is not one of the four (integers included) or gamma has another than the matrix, clicks
            that are not integers, or float64 NumPy input meets a JAX that is set to 32 bits.
        ValueError: not square, an odd number of rows, gamma of another length, not Hermitian or I - O not positive
            definite (concrete values; under jit that element is NaN), clicks other than 0 and 1, traced clicks without
            total, an unknown option, more than 2^50 subsets.

    Notes:
        Cost and accuracy as for `torontonian`, at most twice the time. Derivatives are by matrix and gamma.

    Examples:
        >>> import jax.numpy as jnp, gbsjax
        >>> float(gbsjax.loop_torontonian(jnp.diag(jnp.array([0.5, 0.5])), jnp.zeros(2)))
        1.0
    """
    return _checked("loop_torontonian", matrix, gamma, clicks, total, precision, backend)


def _checked(
    name: str, matrix: Any, gamma: Any, clicks: Any, total: int | None, precision: Precision, backend: str | None
) -> Any:
    array = _checks.array(name, "matrix", matrix)
    if not isinstance(precision, Tier):
        _checks.choice(name, "precision", precision, ("fp64", "dd"))
    _checks.engine(name, precision, backend, array)
    _checks.matrices(name, "matrix", array)
    _checks.square(name, "matrix", array, "Pass I - Q^-1 of a Gaussian state.")
    if array.shape[-1] % 2:
        raise ValueError(
            f"{name}: matrix must have two rows a mode, got {array.shape[-1]} rows. Pass rows k and k + m."
        )
    _checks.symmetric(name, "matrix", array, hermitian=True)
    modes = array.shape[-1] // 2
    parts = {"matrix": array}
    if gamma is not None:
        parts["gamma"] = _checks.array(name, "gamma", gamma)
        if parts["gamma"].ndim < 1 or parts["gamma"].shape[-1] != 2 * modes:
            raise ValueError(f"{name}: gamma must have shape (*batch, {2 * modes}), got {parts['gamma'].shape}.")
        if parts["gamma"].dtype != array.dtype:
            raise TypeError(
                f"{name}: gamma must be {array.dtype} like matrix, got {parts['gamma'].dtype}. Convert one of them."
            )
    own = {"matrix": 2, "gamma": 1, "mode": 1, "clicked": 0}
    most, allowed = modes, None
    if clicks is not None:
        given = _checks.counts(name, "clicks", clicks, modes)
        if isinstance(given, np.ndarray) and given.max(initial=0) > 1:
            raise ValueError(f"{name}: clicks must be 0 or 1 a mode, got {given.max()}. A detector clicks once.")
        most = max(_checks.photons_or_clicks(name, "clicks", given, total), total or 0)
        parts["mode"], parts["clicked"] = written_out(given, most)
        allowed = None if isinstance(given, np.ndarray) else parts["clicked"] <= most
    shapes = [x.shape[: x.ndim - own[key]] for key, x in parts.items()]
    batch = broadcast(name, ", ".join(parts), *shapes)
    how = Tree(most, gamma is not None)
    _checks.affordable(name, how.terms, f"a state of {most} modes")
    if 0 in batch or most == 0:
        return exact_ones(batch, jnp.real(array), precision)
    data = {key: jnp.broadcast_to(x, (*batch, *x.shape[x.ndim - own[key] :])) for key, x in parts.items()}
    progress = _progress.wanted() and how.looped > 0
    if progress:
        _progress.expect(-(-math.prod(batch) // how.together) * 2**how.looped)
    found = _evaluate(data, how, precision, progress)
    if not any(_checks.is_traced(x) for x in parts.values()):
        _refuse_unphysical(name, parts, jax.tree.leaves(found)[0])
    # What an eager call cannot meet, a traced one can only mark.
    return found if allowed is None else jax.tree.map(lambda x: jnp.where(allowed, x, jnp.nan), found)


def _refuse_unphysical(name: str, parts: dict[str, jax.Array], values: jax.Array) -> None:
    lost = np.isnan(np.asarray(values))
    if not lost.any():
        return
    array = np.broadcast_to(np.asarray(parts["matrix"]), (*lost.shape, *parts["matrix"].shape[-2:]))[lost]
    finite = np.isfinite(array).all(axis=(-1, -2))
    if "gamma" in parts:
        gamma = np.broadcast_to(np.asarray(parts["gamma"]), (*lost.shape, parts["gamma"].shape[-1]))[lost]
        finite &= np.isfinite(gamma).all(axis=-1)
    if not finite.any():
        return
    smallest = min(float(np.linalg.eigvalsh(np.eye(len(one)) - one)[0]) for one in array[finite])
    raise ValueError(
        f"{name}: I - matrix must be positive definite, as it is for every Gaussian state, got a smallest eigenvalue "
        f"of {smallest:.3g}. Check that matrix is I - Q^-1 in the order a_1 .. a_m, a_1^dagger .. a_m^dagger."
    )


@functools.partial(jax.jit, static_argnames=("how", "precision", "progress"))
def _evaluate(data: dict[str, jax.Array], how: Tree, precision: Precision, progress: bool) -> Any:
    """The torontonians of a batch, as many side by side as keep the memory bounded."""

    def some(part: dict[str, jax.Array]) -> Any:
        clicks = (part["mode"], part["clicked"]) if "mode" in part else None
        return rule.torontonians(part["matrix"], part.get("gamma"), clicks, how, precision, progress)

    return in_chunks(some, data, data["matrix"].shape[:-2], how.together)
