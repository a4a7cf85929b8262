"""The public function: checks, photon counts, batches."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Inexact

from gbsjax import _checks, _exact
from gbsjax._batches import broadcast, over_batch, undifferentiated
from gbsjax._permanent import bound, exact, rule
from gbsjax._permanent.counts import Choice, Present, choose, choose_plain, plainly_written_out, weighted_out
from gbsjax._permanent.launch import BATCH_TERMS, Glynn, Recurrence
from gbsjax._permanent.program import Modes
from gbsjax._permanent.recurrence import Photons
from gbsjax._scaling import Certified, exact_ones
from gbsjax.numbers import BOUND, EXACT, WORDS, Precision


def permanent(
    matrix: Inexact[ArrayLike, "*batch k l"],
    *,
    rows: Any = None,
    cols: Any = None,
    total: int | None = None,
    precision: str = "fp64",
    backend: str | None = None,
) -> Inexact[Array, "*batch"]:
    """Permanent: the sum over permutations of products, one entry from each row and each column.

    perm A = sum_p prod_i A_(i, p(i)). Rows and columns are first balanced by exact powers of two, and the value is kept
    as mantissa and exponent until the end. Two programs:

    * Glynn's formula with the first sign fixed (D. G. Glynn, European J. Combin. 31 (2010) 1887, theorem 2.1); with
      counts m_i, signs become values v_i in {-m_i, -m_i + 2, .., m_i} with signed binomial weights.
    * The subset recurrence over column counts, for concrete counts of 20 photons or more where its states fit: it
      never subtracts, where Glynn's terms exceed the value e^(0.4 N) times on positive input.

    Args:
        matrix: (*batch, n, n), or (*batch, k, l) with counts; float32, float64, complex64 or complex128. Every entry
            whose row and column have a count is read.
        rows: photon counts m_i >= 0, integers of shape (k,) or (*batch, k): row i stands m_i times. None is once each.
        cols: photon counts n_j >= 0, integers of shape (l,) or (*batch, l): column j stands n_j times. None is once.
            The counts of a batch may have different sums; batch shapes of matrix, rows and cols broadcast.
        total: the largest number of photons, a Python int. Needed, and read, only when counts are traced (inside
            jit or vmap); a pattern with more photons than that is NaN.
        precision: "fp64", the arithmetic of the dtype as given; "dd", double-double (some 31 digits), for float64 and
            complex128, rounded at the end. Derivatives are those of "fp64". "exact", the exact value of the entries as
            stored, rounded once, by residues: also for integers, whose values are int64; not under jit.
        backend: "xla", or None to choose.

    Returns:
        (*batch,) in the dtype of the matrix. 1 for a 0 x 0 matrix, empty for an empty batch, NaN for the elements of
        a batch that have a NaN or Inf entry, inf where the value itself overflows.

    Raises:
        TypeError: the dtype is not one of the four (integers included), the counts are not integers, or float64 NumPy
            input meets a JAX that is set to 32 bits.
        ValueError: not square (without counts), counts of the wrong shape, negative, or with different sums; traced
            counts without total; an unknown option; more than 2^50 terms.

    Notes:
        Cost: 2^(n-1) terms of about 8 n floating point operations (complex), a quarter of that for real input; with
        counts the smaller of prod (m_i + 1) and prod (n_j + 1), halved. Memory is about 2 MB a matrix at n = 34, 9 MB
        for the gradient at n = 20, and 16 bytes a state for the recurrence. All n^2 derivatives come from one pass
        (`jax.grad`, holomorphic for complex input). Digits are lost where the value is small beside the terms: the
        relative error is near 16 n u kappa at most, kappa = sum |terms| /
        |value|. Under a caller's own jit with 32-bit JAX, float64 input is cut before this function sees it.

    Examples:
        >>> import jax.numpy as jnp, gbsjax
        >>> float(gbsjax.permanent(jnp.ones((4, 4))))
        24.0
    """
    name = "permanent"
    if precision in ("exact", EXACT):
        _checks.backend_known(name, backend)
        return _exact.answer(name, *_exactly(name, matrix, rows, cols), precision)
    array = _checks.array(name, "matrix", matrix)
    _checks.engine(name, precision, backend, array)
    _checks.matrices(name, "matrix", array)
    if rows is None and cols is None:
        _checks.square(name, "matrix", array, "Pass rows= and cols= counts for a matrix with repeated rows or columns.")
        size = array.shape[-1]
        if size == 0:
            return exact_ones(array.shape[:-2], array, precision)
        how = Glynn((1, *(2,) * (size - 1)), 1, size)
        _checks.affordable(name, how.terms, f"a {size} x {size} matrix")
        return _evaluate(array, None, how, precision)
    return _with_counts(name, array, rows, cols, total, precision)


def _exactly(name: str, matrix: Any, rows: Any, cols: Any) -> tuple[np.ndarray, bool, bool]:
    """The permanents of a batch as exact numbers, and whether they are of integers, and complex."""
    array = _exact.entries(name, "matrix", matrix)
    _checks.matrices(name, "matrix", array)
    if rows is None and cols is None:
        _checks.square(name, "matrix", array, "Pass rows= and cols= counts for a matrix with repeated rows or columns.")
    k, l = array.shape[-2:]
    counts = [
        np.asarray(_checks.counts(name, side, np.ones(size, int) if given is None else given, size))
        for side, given, size in (("rows", rows, k), ("cols", cols, l))
    ]
    batch = broadcast(name, "matrix, rows and cols", array.shape[:-2], *(count.shape[:-1] for count in counts))
    _same_sum(name, *counts)
    found = _exact.over_elements([array, *counts], [2, 1, 1], batch, functools.partial(exact.permanent, name))
    return found, _exact.is_whole(array), np.iscomplexobj(array)


def _same_sum(name: str, rows: np.ndarray, cols: np.ndarray) -> None:
    enter, leave = np.broadcast_arrays(rows.sum(axis=-1), cols.sum(axis=-1))
    if (enter != leave).any():
        first = np.flatnonzero(enter != leave)[0]
        raise ValueError(
            f"{name}: rows and cols must have the same sum, got {enter.flat[first]} and {leave.flat[first]}. Every "
            "photon that enters must leave."
        )


def _with_counts(name: str, array: jax.Array, rows: Any, cols: Any, total: int | None, precision: Precision) -> Any:
    k, l = array.shape[-2:]
    rows = _checks.counts(name, "rows", np.ones(k, int) if rows is None else rows, k)
    cols = _checks.counts(name, "cols", np.ones(l, int) if cols is None else cols, l)
    batch = broadcast(name, "matrix, rows and cols", array.shape[:-2], rows.shape[:-1], cols.shape[:-1])
    if 0 in batch:
        return exact_ones(batch, array, precision)
    plain = precision != "fp64"
    dtype = np.dtype(jnp.real(array).dtype)
    if isinstance(rows, np.ndarray) and isinstance(cols, np.ndarray):
        _same_sum(name, rows, cols)
        some = rows.sum() > 0 if plain else rows.size and cols.size
        choice = (choose_plain(rows, cols) if plain else choose(rows, cols, dtype)) if some else None
        allowed = None
    else:
        if total is None:
            raise ValueError(
                f"{name}: counts that are traced (inside jit or vmap) need total=, the largest number of photons, as a "
                "Python int. Pass total=, or keep the counts outside the traced function."
            )
        if total < 0:
            raise ValueError(f"{name}: total must be a Python int of 0 or more, got {total}.")
        choice = None
        if total > 0 and k > 0 and l > 0:
            choice = plainly_written_out(rows, cols, total) if plain else weighted_out(rows, cols, total, dtype)
        photons = jnp.sum(jnp.asarray(rows), axis=-1)
        # What an eager call would raise for, a traced one can only mark.
        allowed = (photons == jnp.sum(jnp.asarray(cols), axis=-1)) & (photons <= total)
    if choice is None:
        values = exact_ones(batch, array, precision)
    else:
        _checks.affordable(name, choice.how.terms, "this pattern of counts")
        values = _evaluate(*_gathered(array, batch, choice), choice.how, precision)
    return values if allowed is None else jax.tree.map(lambda x: jnp.where(allowed, x, jnp.nan), values)


Data = Modes | Photons | Present | None


def _gathered(array: jax.Array, batch: tuple[int, ...], choice: Choice) -> tuple[jax.Array, Data]:
    """The rows and columns that a program wants, in its order, summed side first, and its data, both (*batch, ..)."""
    row = jnp.broadcast_to(jnp.asarray(choice.rows), (*batch, choice.rows.shape[-1]))
    column = jnp.broadcast_to(jnp.asarray(choice.columns), (*batch, choice.columns.shape[-1]))
    chosen = jnp.broadcast_to(array, (*batch, *array.shape[-2:]))
    chosen = jnp.take_along_axis(chosen, row[..., :, None], axis=-2)
    chosen = jnp.take_along_axis(chosen, column[..., None, :], axis=-1)
    data = type(choice.data)(
        *(
            jnp.broadcast_to(jnp.asarray(x), (*batch, *x.shape[-2 if name == "weights" else -1 :]))
            for name, x in choice.data._asdict().items()
        )
    )
    return jnp.swapaxes(chosen, -1, -2) if choice.transpose else chosen, data


def _one(pair: tuple[jax.Array, Data], how: Glynn | Recurrence, precision: Precision) -> Any:
    matrix, data = pair
    if isinstance(data, Present):
        both = data.photon[:, None] & data.photon[None, :]
        matrix, data = jnp.where(both, matrix, jnp.eye(matrix.shape[0], dtype=matrix.dtype)), None
    if precision is WORDS:
        assert not isinstance(data, Modes)
        return rule.words(matrix, data, how)
    if precision in BOUND.values():
        return undifferentiated(functools.partial(_certified, how=how, precision=precision))(matrix, data)
    if isinstance(how, Recurrence):
        assert isinstance(data, Photons)
        return rule.recurrence(matrix, data, how, precision)
    assert not isinstance(data, Photons)
    return rule.glynn(matrix, data, how, precision)


def _certified(matrix: jax.Array, data: Data, how: Glynn | Recurrence, precision: Precision) -> Certified:
    if isinstance(how, Recurrence):
        assert isinstance(data, Photons)
        return bound.recurrence(matrix, data, how, precision)
    return bound.glynn(matrix, how, precision)


@functools.partial(jax.jit, static_argnums=(2, 3))
def _evaluate(array: jax.Array, data: Data, how: Glynn | Recurrence, precision: Precision) -> Any:
    """The permanents of a batch."""
    one = functools.partial(_one, how=how, precision=precision)
    return over_batch(one, (array, data), array.shape[:-2], BATCH_TERMS // how.terms)
