"""The hafnian of G G^T through its factor G."""

from __future__ import annotations

import functools
import math
import operator

import jax.numpy as jnp
import numpy as np
from jax import lax

from gbsjax.numbers import Planes


def value(factor: Planes) -> Planes:
    """haf(G G^T) = E prod_i (sum_a G_ia x_a) over independent standard normal x (Isserlis, Biometrika 12 (1918) 134).

    The product is expanded row by row as a polynomial in x; E x^e is (e - 1)!! for even e and 0 for odd. The exponent
    of the last variable is what the others leave of the degree, so there are (n + 1)^(k - 1) coefficients.
    """
    n, rank = factor.re.shape
    shape = (n + 1,) * (rank - 1)
    strides = np.cumprod((1, *shape[:-1]))[: rank - 1]
    # Made from the data, not a constant: inside shard_map a carry must vary over the mesh like what is added to it.
    nothing = factor.map(lambda plane: jnp.broadcast_to(plane[0, 0] * 0, (math.prod(shape),)))

    def row(coefficients: Planes, entries: Planes) -> tuple[Planes, None]:
        terms = [entries[rank - 1] * coefficients]
        # What wraps around belongs to an exponent above n and is 0.
        for variable, stride in enumerate(strides):
            terms.append(entries[variable] * coefficients.map(lambda plane, s=int(stride): jnp.roll(plane, s)))
        return functools.reduce(operator.add, terms), None

    start = Planes(nothing.re.at[0].add(1), nothing.im)
    final, _ = lax.scan(row, start, factor)
    moments = jnp.asarray(_moments(n, rank), factor.re.dtype)
    return final.map(lambda plane: jnp.sum(plane * moments))


def _moments(n: int, rank: int) -> np.ndarray:
    exponents = np.indices((n + 1,) * (rank - 1)).reshape(rank - 1, (n + 1) ** (rank - 1))[::-1]
    exponents = np.concatenate([exponents, n - exponents.sum(axis=0, keepdims=True)])
    one = np.array([float(math.prod(range(e - 1, 0, -2))) if e % 2 == 0 else 0.0 for e in range(n + 1)])
    return np.where((exponents >= 0).all(axis=0), one[np.maximum(exponents, 0)].prod(axis=0), 0.0)
