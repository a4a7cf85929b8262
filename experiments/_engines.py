"""What a throughput study times: seeded inputs and engines, gbsjax and its peers, function by function."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments import _inputs

# "hafnian_patterns" is one state and many patterns of 0 to PHOTONS photons: a batch is ragged.
FUNCTIONS = ("permanent", "hafnian", "loop_hafnian", "hafnian_patterns", "torontonian", "loop_torontonian")
PHOTONS = 10
SIZES = {
    "permanent": list(range(4, 23, 2)),
    "hafnian": list(range(4, 25, 4)),
    "loop_hafnian": list(range(4, 21, 4)),
    "hafnian_patterns": [12],
    "torontonian": list(range(2, 15, 2)),
    "loop_torontonian": list(range(2, 13, 2)),
}
Engine = Callable[[], np.ndarray]


def work(function: str, n: int) -> float:
    """Rough multiply-adds of one value, to leave out cells that would take too long."""
    if function == "permanent":
        return n * 2.0**n
    if function == "hafnian_patterns":
        return PHOTONS * 1.618 ** (PHOTONS + 2)
    return n * 1.618 ** (n + 2) if "hafnian" in function else 48 * 2.0**n


def inputs(function: str, n: int, batch: int) -> list[np.ndarray]:
    """The arrays of a batch: matrices, and gammas where the function has them."""
    rng = _inputs.generator(0, n, batch)
    if function == "permanent":
        return [_inputs.gaussian(rng, batch, n, n)]
    if function == "hafnian_patterns":
        photons = rng.integers(0, PHOTONS + 1, batch)
        patterns = np.stack([rng.multinomial(count, np.full(n, 1 / n)) for count in photons])
        return [np.broadcast_to(_inputs.symmetric(rng, n), (batch, n, n)), patterns]
    if "hafnian" in function:
        return [np.stack([_inputs.symmetric(rng, n) for _ in range(batch)])]
    # Bright light, little loss: weak light cancels, and engines that agree on few digits could not be compared.
    matrices = np.stack([_inputs.click_matrix(rng, n, 1.5, 0.9) for _ in range(batch)])
    if function == "torontonian":
        return [matrices]
    displacement = 0.2 * _inputs.gaussian(rng, batch, n)
    return [matrices, np.concatenate([displacement, displacement.conj()], axis=-1)]


def _peers(function: str, n: int) -> dict[str, Callable[..., Any]]:
    """Every peer's documented ways to one value."""
    import thewalrus

    found: dict[str, Callable[..., Any]] = {}
    if function == "permanent":
        found["The Walrus"] = thewalrus.perm
        if importlib.util.find_spec("exqalibur"):
            import exqalibur

            kernel = exqalibur.permanent_cx  # pyright: ignore[reportAttributeAccessIssue]
            # Its "glynn" is the faster of its two methods at every size here; "ryser" loses digits (docs, accuracy).
            found["exqalibur"] = lambda matrix: kernel(matrix, "glynn")
    elif function == "hafnian":
        found["The Walrus"] = thewalrus.hafnian
        found["The Walrus recursive"] = lambda matrix: thewalrus.hafnian(matrix, method="recursive")
    elif function == "loop_hafnian":
        found["The Walrus"] = lambda matrix: thewalrus.hafnian(matrix, loop=True)
    elif function == "hafnian_patterns":
        # Two ways to one pattern: its repeated rows written out, or the formula for repetitions.
        found["The Walrus"] = lambda matrix, counts: thewalrus.hafnian(thewalrus.reduction(matrix, counts))
        found["The Walrus repeated"] = thewalrus.hafnian_repeated
    elif function == "torontonian":
        found["The Walrus"] = thewalrus.tor
    else:
        found["The Walrus"] = thewalrus.ltor
    if importlib.util.find_spec("piquasso"):
        from piquasso._math import hafnian
        from piquasso._math.permanent import permanent

        once = np.ones(n, np.uint64)
        if function == "permanent":
            found["Piquasso"] = lambda matrix: permanent(matrix, once, once)
        elif function == "hafnian":
            found["Piquasso"] = lambda matrix: hafnian.hafnian_with_reduction(matrix, np.ones(n, np.int32))
        elif function == "hafnian_patterns":
            found["Piquasso"] = lambda matrix, counts: hafnian.hafnian_with_reduction(matrix, counts.astype(np.int32))
        elif function == "loop_hafnian":
            import jax.numpy as jnp
            from piquasso._math.jax.hafnian import loop_hafnian_with_reduction

            every = np.ones(n, np.int32)
            found["Piquasso"] = lambda matrix: hafnian.loop_hafnian_with_reduction(
                matrix, np.ascontiguousarray(np.diagonal(matrix)), every
            )
            # Not compiled, and each size takes long; beyond this, minutes.
            if n <= 4:
                found["Piquasso JAX"] = lambda matrix: complex(
                    loop_hafnian_with_reduction(jnp.asarray(matrix), jnp.diagonal(jnp.asarray(matrix)), every)
                )
    return found


def values(function: str, arrays: list[np.ndarray]) -> dict[str, Engine]:
    """gbsjax in one call, compiled by the caller and not; peers have no batch and loop."""
    import jax

    import gbsjax

    single = len(arrays[0]) == 1
    on_device = [jax.numpy.asarray(x[0] if single else x) for x in arrays]
    if function == "hafnian_patterns":
        on_device[0] = jax.numpy.asarray(arrays[0][0])

        def ours(matrix: jax.Array, counts: jax.Array) -> jax.Array:
            return gbsjax.hafnian(matrix, repeats=counts, total=PHOTONS)
    else:
        ours = getattr(gbsjax, function)
    compiled = jax.jit(ours)
    engines: dict[str, Engine] = {
        "gbsjax jit": lambda: np.atleast_1d(compiled(*on_device)),
        "gbsjax eager": lambda: np.atleast_1d(ours(*on_device)),
    }
    for name, peer in _peers(function, arrays[0].shape[-1]).items():
        engines[name] = lambda peer=peer: np.array([peer(*one) for one in zip(*arrays, strict=True)])
    return engines


def gradients(function: str, arrays: list[np.ndarray]) -> dict[str, Engine]:
    """All derivatives by the matrix: gbsjax in one pass; for permanents The Walrus as n^2 permanents of minors."""
    import jax
    import thewalrus

    import gbsjax

    ours = getattr(gbsjax, function)
    holomorphic = "torontonian" not in function
    compiled = jax.jit(jax.vmap(jax.grad(ours, holomorphic=holomorphic)))
    if len(arrays[0]) == 1:
        alone = jax.jit(jax.grad(ours, holomorphic=holomorphic))
        on_device = [jax.numpy.asarray(x[0]) for x in arrays]
        engines: dict[str, Engine] = {"gbsjax jit": lambda: np.asarray(alone(*on_device))}
    else:
        on_device = [jax.numpy.asarray(x) for x in arrays]
        engines = {"gbsjax jit": lambda: np.asarray(compiled(*on_device))}
    matrices, n = arrays[0], arrays[0].shape[-1]
    # n^2 permanents a matrix: minutes beyond this for what gbsjax does in milliseconds.
    if function == "permanent" and len(matrices) * 2.0**n * n**3 <= 2.0**27:
        keep = [[k for k in range(n) if k != i] for i in range(n)]
        engines["The Walrus"] = lambda: np.array(
            [[[thewalrus.perm(m[np.ix_(keep[i], keep[j])]) for j in range(n)] for i in range(n)] for m in matrices]
        )
    return engines
