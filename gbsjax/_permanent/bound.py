"""A rigorous error bound for the float permanent, from the sizes of the entries alone."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from gbsjax import _scaling
from gbsjax._permanent.launch import Glynn, plan
from gbsjax.numbers import Planes


def glynn_error_bound(matrix: np.ndarray) -> float:
    """An upper bound of |computed - exact| for the permanent of one square matrix by Glynn's formula.

    With R_j = sum_i |A_ij| in the balanced matrix, every row sum is at most R_j and errs at most gamma_(2n) R_j, a
    product of n complex numbers adds gamma_(3n), the weights are exact, and D additions on the longest path of the
    sum add gamma_D; the weights' absolute values sum to 1. So the error is at most gamma_(2n*n + 3n + D + 8)
    prod_j R_j (N. J. Higham, Accuracy and Stability (2002), lemmas 3.1 and 3.5); a product that
    underflows and is multiplied by up to n sums of at most 4 adds the tiny last term. It costs n^2 and is e^n loose.
    """
    matrix = np.asarray(matrix)
    n = matrix.shape[-1]
    if n == 0:
        return 0.0
    if not np.isfinite(matrix).all():
        return float("inf")
    how = Glynn((1, *(2,) * (n - 1)), 1, n)
    planes, rows, columns, _ = _scaling.equilibrate(Planes.of(jnp.asarray(matrix)), how.shift)
    balanced = np.asarray(planes.array())
    grid = plan(how.radices)
    additions = sum(2 ** len(group) for group in grid.groups)
    unit = float(np.finfo(np.real(balanced).dtype).eps) / 2
    operations = 2 * n * n + 3 * n + additions + 8
    if operations * unit >= 0.5:
        return float("inf")
    gamma = operations * unit / (1 - operations * unit)
    sizes = np.abs(np.real(balanced).astype(float)) + np.abs(np.imag(balanced).astype(float))
    # In logarithms, so that nothing overflows; the last factor covers the rounding of this very computation.
    with np.errstate(divide="ignore"):
        logarithm = np.log2(sizes.sum(axis=0)).sum()
    exponent = int(np.asarray(rows).sum()) + int(np.asarray(columns).sum())
    tiny = np.finfo(np.real(balanced).dtype).minexp + 2 * n + 20
    mantissa = np.logaddexp2(np.log2(gamma) + logarithm, float(tiny)) + exponent
    with np.errstate(over="ignore"):
        return float(np.exp2(mantissa) * (1 + 1e-9))
