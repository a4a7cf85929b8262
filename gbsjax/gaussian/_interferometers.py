"""Interferometers as parameters."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from gbsjax.gaussian import _inputs


class Mesh(eqx.Module):
    """A rectangular mesh of beamsplitters and phase shifters (W. R. Clements et al., Optica 3 (2016) 1460).

    m layers; layer l couples neighbours (i, i + 1) with i = l mod 2, l mod 2 + 2, ..; each coupling multiplies the
    amplitudes (a_i, a_i+1) by [[e^(i phi) cos theta, -sin theta], [e^(i phi) sin theta, cos theta]]. Every unitary has
    such parameters, and every value of them is a unitary.

    Attributes:
        theta: (m (m - 1) / 2,) reflection angles in radians, layer by layer.
        phi: (m (m - 1) / 2,) phases in radians.
        phases: (m,) phases at the outputs in radians, which detectors of photons do not see.
    """

    theta: Float[Array, " splitters"]
    phi: Float[Array, " splitters"]
    phases: Float[Array, " modes"]

    def __init__(self, theta: object, phi: object, phases: object) -> None:
        self.theta = _inputs.reals("Mesh", "theta", theta, 1)
        self.phi = _inputs.reals("Mesh", "phi", phi, 1)
        self.phases = _inputs.reals("Mesh", "phases", phases, 1)
        modes = len(self.phases)
        wanted = modes * (modes - 1) // 2
        if (len(self.theta), len(self.phi)) != (wanted, wanted):
            raise ValueError(
                f"Mesh: {modes} modes have {wanted} beamsplitters, got {len(self.theta)} theta and {len(self.phi)} phi."
            )

    @classmethod
    def random(cls, key: PRNGKeyArray, modes: int) -> Mesh:
        """A mesh with angles uniform in 0.2..1.4 and phases uniform in 0..2 pi; not Haar."""
        one, two, three = jax.random.split(key, 3)
        splitters = modes * (modes - 1) // 2
        return cls(
            jax.random.uniform(one, (splitters,), minval=0.2, maxval=1.4),
            jax.random.uniform(two, (splitters,), maxval=2 * jnp.pi),
            jax.random.uniform(three, (modes,), maxval=2 * jnp.pi),
        )

    @property
    def modes(self) -> int:
        return len(self.phases)

    def unitary(self) -> Complex[Array, "modes modes"]:
        """(modes, modes) amplitudes, rows are inputs: for `GaussianState.interfere`."""
        modes = self.modes
        first, missing = _layout(modes)
        # One splitter more, which does nothing: where a layer couples fewer.
        angles = [jnp.append(x, jnp.zeros((), x.dtype))[first] for x in (self.theta, self.phi)]

        def layer(rows: jax.Array, angle: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            theta, phi, odd = angle
            moved = jnp.where(odd, jnp.roll(rows, -1, axis=0), rows)
            pairs = moved[: 2 * (modes // 2)].reshape(modes // 2, 2, modes)
            c, s = (x[:, None].astype(rows.dtype) for x in (jnp.cos(theta), jnp.sin(theta)))
            one = jax.lax.complex(jnp.cos(phi), jnp.sin(phi))[:, None] * pairs[:, 0]
            coupled = jnp.stack([c * one - s * pairs[:, 1], s * one + c * pairs[:, 1]], axis=1)
            moved = moved.at[: 2 * (modes // 2)].set(coupled.reshape(-1, modes))
            return jnp.where(odd, jnp.roll(moved, 1, axis=0), moved), None

        start = jnp.eye(modes, dtype=np.result_type(self.phases.dtype, np.complex64))
        rows, _ = jax.lax.scan(layer, start, (angles[0], angles[1], jnp.asarray(missing)))
        # Rows of the product are outputs: the transpose has inputs as rows.
        return rows.T * jax.lax.complex(jnp.cos(self.phases), jnp.sin(self.phases))[None, :]


def _layout(modes: int) -> tuple[np.ndarray, np.ndarray]:
    """Which beamsplitter each pair of each layer is, and whether the layer starts with the second mode."""
    index = np.full((modes, modes // 2), modes * (modes - 1) // 2)
    count = 0
    for layer in range(modes):
        pairs = len(range(layer % 2, modes - 1, 2))
        index[layer, :pairs] = np.arange(count, count + pairs)
        count += pairs
    return index, np.arange(modes) % 2 == 1
