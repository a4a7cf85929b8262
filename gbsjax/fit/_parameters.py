"""Parameters that keep their constraints by parametrisation, and a model's free parameters as one real vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from gbsjax.gaussian import _inputs


class Bounded(eqx.Module):
    """A parameter strictly between two bounds: low + (high - low) / (1 + exp(-raw)).

    Attributes:
        raw: what the optimiser moves, any real array.
        low, high: the bounds.
    """

    raw: Float[Array, ...]
    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)

    def __init__(self, value: Any, low: float = 0.0, high: float = 1.0) -> None:
        found = _inputs.reals("Bounded", "value", value, np.ndim(value))
        if not low < high:
            raise ValueError(f"Bounded: low must be below high, got {low} and {high}.")
        inside = np.asarray(found)
        if not ((inside > low) & (inside < high)).all():
            raise ValueError(
                f"Bounded: value must be strictly between {low} and {high}, got {inside.tolist()}. At a bound the "
                "derivative is 0: start a little inside, or leave the parameter out of the fit."
            )
        self.raw = jnp.log((found - low) / (high - found))
        self.low, self.high = float(low), float(high)

    @property
    def value(self) -> Float[Array, ...]:
        return self.low + (self.high - self.low) * jax.nn.sigmoid(self.raw)


class Positive(eqx.Module):
    """A parameter above 0: exp(raw).

    Attributes:
        raw: what the optimiser moves, any real array.
    """

    raw: Float[Array, ...]

    def __init__(self, value: Any) -> None:
        found = _inputs.reals("Positive", "value", value, np.ndim(value))
        if not (np.asarray(found) > 0).all():
            raise ValueError(
                f"Positive: value must be above 0, got {np.asarray(found).tolist()}. Start a little above."
            )
        self.raw = jnp.log(found)

    @property
    def value(self) -> Float[Array, ...]:
        return jnp.exp(self.raw)


Constrained = (Bounded, Positive)


def flatten(model: Any, free: Callable[[Any], Any] | None) -> tuple[jax.Array, Callable[[jax.Array], Any]]:
    """The free parameters as a real vector, complex ones as real and imaginary parts; and the model with others."""
    chosen = jax.tree.map(eqx.is_inexact_array, model)
    if free is not None:
        none = jax.tree.map(lambda _: False, model)
        chosen = eqx.tree_at(free, none, replace_fn=lambda part: jax.tree.map(lambda _: True, part))
        chosen = jax.tree.map(lambda leaf, wanted: wanted and eqx.is_inexact_array(leaf), model, chosen)
    parameters, rest = eqx.partition(model, chosen)
    if not jax.tree.leaves(parameters):
        raise ValueError(
            "fit: the model has no free parameter: no floating-point array is in it, or in what free takes."
        )
    real = jax.tree.map(lambda x: (jnp.real(x), jnp.imag(x)) if jnp.iscomplexobj(x) else x, parameters)
    vector, unravel = ravel_pytree(real)
    is_complex = jax.tree.map(jnp.iscomplexobj, parameters)

    def model_of(vector: jax.Array) -> Any:
        joined = jax.tree.map(lambda two, part: jax.lax.complex(*part) if two else part, is_complex, unravel(vector))
        return eqx.combine(joined, rest)

    return vector, model_of


def natural(model: Any) -> dict[str, jax.Array]:
    """The parameters of a model by name, constrained ones by their value, complex ones as real and imaginary parts."""
    found: dict[str, jax.Array] = {}
    leaves, _ = jax.tree_util.tree_flatten_with_path(model, is_leaf=lambda x: isinstance(x, Constrained))
    for path, leaf in leaves:
        name = jax.tree_util.keystr(path).lstrip(".")
        if isinstance(leaf, Constrained):
            found[name] = leaf.value
        elif eqx.is_inexact_array(leaf):
            if jnp.iscomplexobj(leaf):
                found |= {f"Re {name}": jnp.real(leaf), f"Im {name}": jnp.imag(leaf)}
            else:
                found[name] = leaf
    return found
