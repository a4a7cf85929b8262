"""The public functions: checks, photon counts, batches."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Inexact, Int

from gbsjax import _checks, _exact, _progress
from gbsjax._batches import broadcast, over_batch, undifferentiated
from gbsjax._hafnian import bound, exact, rule
from gbsjax._hafnian.counts import padded
from gbsjax._hafnian.launch import (
    BATCH_TERMS,
    METHODS,
    MOST_STATES,
    How,
    MatchedPairs,
    Photons,
    Subsets,
    choose,
)
from gbsjax._hafnian.pairs import loop_pairs
from gbsjax._hafnian.tables import Pairs
from gbsjax._patterns import ranked, written_out
from gbsjax._scaling import exact_ones
from gbsjax.numbers import BOUND, EXACT, WORDS, Precision


def hafnian(
    matrix: Inexact[ArrayLike, "*batch n n"],
    *,
    repeats: Any = None,
    total: int | None = None,
    bandwidth: int | None = None,
    support: Any = None,
    method: str | None = None,
    precision: str = "fp64",
    backend: str | None = None,
) -> Inexact[Array, "*batch"]:
    """Hafnian: the sum over perfect matchings of the vertices of products of entries, one for each matched pair.

    haf A = sum over matchings M of prod_((i, j) in M) A_ij (E. R. Caianiello, Nuovo Cimento 10 (1953) 1634). The matrix
    is first balanced by exact powers of two. No program divides or takes eigenvalues:

    * "subsets", the subset recurrence: the lowest open vertex is matched with each other one. It never subtracts: the
      error is a few units for input of one sign and 4 n u haf(|A|) in general. Fibonacci(n + 2) states.
    * "pairs", the matched-pair recursion (A. Bjorklund, SODA 2012, 914): 12 m^2 2^(m-1) multiply-adds, m = n/2, in
      little memory. Its signed sum loses digits where the value is small beside its terms.
    * "photons", the recurrence over counts: product of (counts + 1) states, never subtracts.

    Args:
        matrix: (*batch, n, n), symmetric up to 64 u max|A|; float32, float64, complex64 or complex128. What is
            evaluated is (A + A^T) / 2. The diagonal is not read, except where a mode has two photons or more.
        repeats: photon counts r_i >= 0, integers of shape (n,) or (*batch, n): row and column i stand r_i times. None
            is once each. The counts of a batch may have different sums: smaller ones are padded.
        total: the largest number of photons, a Python int. Needed, and read, only when repeats are traced (inside jit
            or vmap); a pattern with more photons than that is NaN.
        bandwidth: entries with |i - j| > bandwidth are zero, as you declare, and are not read. n 2^bandwidth states.
        support: (n, n) booleans, symmetric: entries outside are zero, as you declare, and are not read. The vertices
            are put in an order of small frontier, and only the states that can occur are visited.
        method: "subsets", "pairs" or "photons"; None chooses by cost, as `gbsjax.select` tells.
        precision: "fp64", the arithmetic of the dtype as given; "dd", double-double (some 31 digits) by "subsets" or
            "photons", for float64 and complex128, rounded at the end. The first derivatives of "subsets" are "dd"
            too. "exact", the exact value of the entries as stored, rounded once, by residues: also for integers, whose
            values are int64; not under jit.
        backend: "xla", or None to choose.

    Returns:
        (*batch,) in the dtype of the matrix. 1 for a 0 x 0 matrix, 0 for odd n, empty for an empty batch, NaN for the
        elements of a batch that have a NaN or Inf entry, inf where the value itself overflows.

    Raises:
        TypeError: the dtype is not one of the four (integers included), counts that are not integers, or float64 NumPy
            input meets a JAX that is set to 32 bits.
        ValueError: not square, not symmetric (concrete values), counts of the wrong shape or negative, traced counts
            without total, an unknown option, options that exclude each other, more than 2^50 terms.

    Notes:
        Cost: `gbsjax.select(gbsjax.hafnian, n)`. Gradients of "subsets" come from one pass of about three times the
        value; the other programs are differentiated by JAX. n = 40 takes seconds: `gbsjax.show_progress()` shows them.
        Symmetric input has symmetric gradients. Under a caller's own jit asymmetry is not seen, and with 32-bit JAX
        float64 input is cut before this function sees it.

    Examples:
        >>> import jax.numpy as jnp, gbsjax
        >>> float(gbsjax.hafnian(jnp.ones((4, 4))))
        3.0
    """
    name = "hafnian"
    options = _Options(repeats, total, bandwidth, support, method, precision, backend)
    if precision in ("exact", EXACT):
        return _exact.answer(name, *_exactly(name, matrix, None, options), precision)
    return _checked(name, _symmetric_input(name, matrix), None, options)


def loop_hafnian(
    matrix: Inexact[ArrayLike, "*batch n n"],
    loops: Inexact[ArrayLike, "*batch n"] | None = None,
    *,
    repeats: Any = None,
    total: int | None = None,
    bandwidth: int | None = None,
    support: Any = None,
    method: str | None = None,
    precision: str = "fp64",
    backend: str | None = None,
) -> Inexact[Array, "*batch"]:
    """Loop hafnian: the sum over matchings in which a vertex may also stay alone, with its loop as the factor.

    lhaf(A, v) = sum over matchings M, perfect or not, of prod_((i, j) in M) A_ij prod_(i alone) v_i (A. Bjorklund,
    B. Gupt, N. Quesada, ACM J. Exp. Algorithmics 24 (2019) 1.11). The programs are those of `hafnian`, with loops.

    Args:
        matrix: (*batch, n, n), symmetric up to 64 u max|A|; float32, float64, complex64 or complex128. What is
            evaluated is (A + A^T) / 2. The diagonal is read as loops where loops is None, and as the entry between two
            photons of one mode where a count is two or more.
        loops: (*batch, n), the dtype of the matrix. None takes the diagonal.
        repeats: photon counts r_i >= 0, integers of shape (n,) or (*batch, n): vertex i, with its loop, stands r_i
            times. None is once each. The counts of a batch may have different sums: smaller ones are padded.
        total: the largest number of photons, a Python int. Needed, and read, only when repeats are traced (inside jit
            or vmap); a pattern with more photons than that is NaN.
        bandwidth: entries with |i - j| > bandwidth are zero, as you declare, and are not read. n 2^bandwidth states.
        support: (n, n) booleans, symmetric: entries outside are zero, as you declare, and are not read.
        method: "subsets", "pairs" or "photons"; None chooses by cost, as `gbsjax.select` tells.
        precision: "fp64", the arithmetic of the dtype as given; "dd", double-double (some 31 digits) by "subsets" or
            "photons", for float64 and complex128, rounded at the end. The first derivatives of "subsets" are "dd"
            too. "exact", the exact value of the entries as stored, rounded once, by residues: also for integers, whose
            values are int64; not under jit.
        backend: "xla", or None to choose.

    Returns:
        (*batch,) in the dtype of the matrix. 1 for a 0 x 0 matrix, empty for an empty batch, NaN for the elements of a
        batch that have a NaN or Inf entry or loop, inf where the value itself overflows.

    Raises:
        TypeError: the dtype is not one of the four (integers included) or loops have another than the matrix, counts
            that are not integers, or float64 NumPy input meets a JAX that is set to 32 bits.
        ValueError: not square, not symmetric (concrete values), loops or counts of the wrong shape, traced counts
            without total, an unknown option, options that exclude each other, more than 2^50 terms.

    Notes:
        Cost: `gbsjax.select(gbsjax.loop_hafnian, n)`; about 1.6 times the hafnian of the same even n. Derivatives are
        with respect to matrix and loops.

    Examples:
        >>> import jax.numpy as jnp, gbsjax
        >>> float(gbsjax.loop_hafnian(jnp.ones((4, 4))))
        10.0
    """
    name = "loop_hafnian"
    options = _Options(repeats, total, bandwidth, support, method, precision, backend)
    if precision in ("exact", EXACT):
        if loops is None and not _checks.is_traced(matrix):
            loops = np.diagonal(np.asarray(matrix), axis1=-2, axis2=-1)
        return _exact.answer(name, *_exactly(name, matrix, loops, options), precision)
    array = _symmetric_input(name, matrix)
    if loops is None:
        ends = jnp.diagonal(array, axis1=-2, axis2=-1)
    else:
        ends = _checks.array(name, "loops", loops)
        if ends.ndim < 1 or ends.shape[-1] != array.shape[-1]:
            raise ValueError(
                f"{name}: loops must have shape (*batch, {array.shape[-1]}), got {ends.shape}. Give one a vertex."
            )
        if ends.dtype != array.dtype:
            raise TypeError(f"{name}: loops must be {array.dtype} like matrix, got {ends.dtype}. Convert one of them.")
    return _checked(name, array, ends, options)


def low_rank_hafnian(factor: Inexact[ArrayLike, "*batch n k"]) -> Inexact[Array, "*batch"]:
    """Hafnian of G G^T through its factor G, of k columns: cheap where k is small.

    haf(G G^T) is the mean of prod_i (sum_a G_ia x_a) over independent standard normal x_a (L. Isserlis, Biometrika 12
    (1918) 134): the product is expanded row by row as a polynomial in x and its moments are taken.

    Args:
        factor: (*batch, n, k); float32, float64, complex64 or complex128. G G^T has the transpose, no conjugate.

    Returns:
        (*batch,) in the dtype of the factor. 1 for n = 0, 0 for odd n, empty for an empty batch, NaN for the elements
        of a batch that have a NaN or Inf entry.

    Raises:
        TypeError: the dtype is not one of the four (integers included), or float64 NumPy input meets a JAX that is set
            to 32 bits.
        ValueError: fewer than two axes, no column, or more than 2^50 terms.

    Notes:
        Cost: n k (n + 1)^(k - 1) multiply-adds, (n + 1)^(k - 1) numbers of memory. Nothing is subtracted, so the error
        is of the order of n u times the value for |G| in place of G. Differentiable in G to any order.

    Examples:
        >>> import jax.numpy as jnp, gbsjax
        >>> float(gbsjax.low_rank_hafnian(jnp.ones((6, 1))))
        15.0
    """
    name = "low_rank_hafnian"
    array = _checks.array(name, "factor", factor)
    if array.ndim < 2 or array.shape[-1] == 0:
        raise ValueError(f"{name}: factor must have shape (*batch, n, k) with k > 0, got {array.shape}. Pass columns.")
    n, rank = array.shape[-2:]
    if n == 0:
        return jnp.ones(array.shape[:-2], array.dtype)
    terms = n * rank * (n + 1) ** (rank - 1)
    _checks.affordable(name, terms, f"a factor of shape ({n}, {rank})")
    return _evaluate_factor(array, terms)


class _Options(NamedTuple):
    repeats: Any
    total: int | None
    bandwidth: int | None
    support: Any
    method: str | None
    precision: Precision
    backend: str | None


def _symmetric_input(name: str, matrix: Any) -> jax.Array:
    array = _checks.array(name, "matrix", matrix)
    _checks.matrices(name, "matrix", array)
    _checks.square(name, "matrix", array, "Pass a symmetric matrix.")
    _checks.symmetric(name, "matrix", array)
    return array


def _exactly(name: str, matrix: Any, loops: Any, options: _Options) -> tuple[np.ndarray, bool, bool]:
    """The values of a batch as exact numbers, and whether they are of integers, and complex."""
    _checks.backend_known(name, options.backend)
    if options.method is not None:
        raise ValueError(f"{name}: precision='exact' chooses its program itself, got method={options.method!r}.")
    array = _exact.entries(name, "matrix", matrix)
    _checks.matrices(name, "matrix", array)
    _checks.square(name, "matrix", array, "Pass a symmetric matrix.")
    if _exact.is_whole(array):
        if (array != np.swapaxes(array, -1, -2)).any():
            raise ValueError(f"{name}: matrix must be symmetric. Pass integers that are.")
    else:
        _checks.symmetric(name, "matrix", array)
    ends = None if loops is None else _exact.entries(name, "loops", loops)
    size = array.shape[-1]
    if ends is not None and (ends.ndim < 1 or ends.shape[-1] != size):
        raise ValueError(f"{name}: loops must have shape (*batch, {size}), got {ends.shape}. Give one a vertex.")
    if ends is not None and np.iscomplexobj(ends) != np.iscomplexobj(array):
        raise TypeError(f"{name}: loops must be {array.dtype} like matrix, got {ends.dtype}. Convert one of them.")
    order, pairs = None, None
    if options.bandwidth is not None or options.support is not None:
        if options.repeats is not None:
            raise ValueError(f"{name}: bandwidth and support go without repeats. Write the repeated rows out.")
        order, pairs = _structure(name, size, options.bandwidth, options.support)
    if order is not None:
        array = array[..., order[:, None], order[None, :]]
        ends = None if ends is None else ends[..., order]
    counts = np.asarray(
        _checks.counts(name, "repeats", np.ones(size, int) if options.repeats is None else options.repeats, size)
    )
    shapes = [array.shape[:-2], () if ends is None else ends.shape[:-1], counts.shape[:-1]]
    batch = broadcast(name, "matrix, loops and repeats", *shapes)
    one = functools.partial(exact.hafnian, name, pairs=pairs)
    found = _exact.over_elements([array, ends, counts], [2, 1, 1], batch, one)
    return found, _exact.is_whole(array) and (ends is None or _exact.is_whole(ends)), np.iscomplexobj(array)


def _checked(name: str, array: jax.Array, loops: jax.Array | None, options: _Options) -> jax.Array:
    _checks.engine(name, options.precision, options.backend, array)
    if options.precision != "fp64" and options.method == "pairs":
        raise ValueError(
            f"{name}: method='pairs' subtracts, and has precision='fp64' alone. Drop the method, or the precision."
        )
    if options.method is not None:
        _checks.choice(name, "method", options.method, METHODS)
    size = array.shape[-1]
    batch = broadcast(name, "matrix and loops", array.shape[:-2], () if loops is None else loops.shape[:-1])
    structured = options.bandwidth is not None or options.support is not None
    if structured and (options.repeats is not None or options.method not in (None, "subsets")):
        raise ValueError(
            f"{name}: bandwidth and support go with the subset recurrence and without repeats, got "
            f"method={options.method!r} and repeats. Write the repeated rows out, or drop the structure."
        )
    if options.repeats is not None:
        return _with_repeats(name, array, loops, batch, options)
    if structured:
        order, pairs = _structure(name, size, options.bandwidth, options.support)
        how: How = Subsets(size, loops is not None, pairs)
        if order is not None:
            array = array[..., order[:, None], order[None, :]]
            loops = None if loops is None else loops[..., order]
    else:
        radices = (2,) * size if options.method == "photons" else None
        how = choose(size, loops is not None, radices, options.method, options.precision == "fp64")
    return _run(name, array, loops, None, None, batch, how, options.precision, f"a {size} x {size} matrix")


def _with_repeats(
    name: str, array: jax.Array, loops: jax.Array | None, batch: tuple[int, ...], options: _Options
) -> jax.Array:
    counts = _checks.counts(name, "repeats", options.repeats, array.shape[-1])
    batch = broadcast(name, "matrix, loops and repeats", batch, counts.shape[:-1])
    total = _checks.photons_or_clicks(name, "repeats", counts, options.total)
    if options.method == "photons" and not isinstance(counts, np.ndarray):
        raise ValueError(
            f"{name}: method='photons' compiles for given counts, and these are traced (inside jit or vmap). Keep "
            "repeats outside the traced function, or drop the method."
        )
    ordered, order, radices = ranked(counts) if isinstance(counts, np.ndarray) else (None, None, None)
    vertices = total + (total % 2 if loops is None else 0)
    how = choose(vertices, loops is not None, radices, options.method, options.precision == "fp64")
    what = f"a pattern of {total} photons"
    if isinstance(how, Photons):
        assert order is not None
        index = jnp.broadcast_to(jnp.asarray(order, jnp.int32), (*batch, order.shape[-1]))
        return _run(name, array, loops, index, jnp.asarray(ordered, jnp.int32), batch, how, options.precision, what)
    mode, photons = written_out(counts, total if loops is not None else total + total % 2)
    values = _run(name, array, loops, mode, photons, batch, how, options.precision, what)
    if isinstance(counts, np.ndarray):
        return values
    # What an eager call cannot meet, a traced one can only mark.
    return jax.tree.map(lambda x: jnp.where(photons <= total, x, jnp.nan), values)


def _structure(name: str, size: int, bandwidth: int | None, support: Any) -> tuple[np.ndarray | None, Pairs]:
    """The pairs that may be matched, and the order of the vertices that they are numbered in."""
    if bandwidth is not None and support is not None:
        raise ValueError(f"{name}: bandwidth and support are two ways to say it, got both. Pass support alone.")
    if bandwidth is not None:
        if bandwidth < 0:
            raise ValueError(f"{name}: bandwidth must be a Python int of 0 or more, got {bandwidth}.")
        return None, tuple((i, j) for i in range(size) for j in range(i + 1, min(size, i + bandwidth + 1)))
    if _checks.is_traced(support):
        raise ValueError(f"{name}: support decides what is compiled and must be concrete. Pass a NumPy array.")
    allowed = np.asarray(support)
    if allowed.shape != (size, size) or allowed.dtype != bool:
        raise ValueError(
            f"{name}: support must be booleans of shape ({size}, {size}), got {allowed.dtype} {allowed.shape}."
        )
    if (allowed != allowed.T).any():
        raise ValueError(f"{name}: support must be symmetric. Pass support | support.T.")
    # scipy comes with JAX.
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    best = None
    for order in (np.arange(size), reverse_cuthill_mckee(csr_matrix(allowed), symmetric_mode=True)):
        moved = np.triu(allowed[order[:, None], order[None, :]], 1)
        pairs = tuple((int(i), int(j)) for i, j in np.argwhere(moved))
        states = Subsets(size, False, pairs).states
        if best is None or states < best[0]:
            best = (states, order, pairs)
    assert best is not None
    return best[1], best[2]


def _run(
    name: str,
    array: jax.Array,
    loops: jax.Array | None,
    index: jax.Array | None,
    photons: jax.Array | None,
    batch: tuple[int, ...],
    how: How,
    precision: Precision,
    what: str,
) -> Any:
    _checks.affordable(name, how.terms, what)
    if isinstance(how, Subsets | Photons) and how.states > MOST_STATES:
        other = "method='pairs'" if isinstance(how, Photons) or how.pairs is None else "an order of smaller frontier"
        if precision != "fp64" and other == "method='pairs'":
            other = "precision='fp64', whose method='pairs' takes little memory"
        raise ValueError(
            f"{name}: {what} has {how.states:.3g} states, more than the {MOST_STATES:.3g} that memory is given for. "
            f"Use {other}."
        )
    if 0 in batch:
        return exact_ones(batch, array, precision)
    if (isinstance(how, Photons) and not how.radices) or (not isinstance(how, Photons) and how.size == 0):
        return exact_ones(batch, array, precision)
    progress = _progress.wanted() and isinstance(how, MatchedPairs)
    if progress and isinstance(how, MatchedPairs):
        _progress.expect(max(1, int(np.prod(batch))) * 2 ** loop_pairs(how.size // 2))
    parts = {"matrix": (array, 2), "loops": (loops, 1), "index": (index, 1)}
    parts["photons"] = (photons, 1 if isinstance(how, Photons) else 0)
    data = {
        key: jnp.broadcast_to(x, (*batch, *x.shape[x.ndim - own :])) for key, (x, own) in parts.items() if x is not None
    }
    return _evaluate(data, how, precision, progress)


def _one(data: dict[str, jax.Array], how: How, precision: Precision, progress: bool) -> Any:
    matrix, loops, index, photons = (data.get(key) for key in ("matrix", "loops", "index", "photons"))
    assert matrix is not None
    if isinstance(how, Photons):
        if index is not None:
            matrix, loops = matrix[index[:, None], index[None, :]], None if loops is None else loops[index]
        counts = jnp.ones(len(how.radices), jnp.int32) if photons is None else photons
        if precision is WORDS:
            return rule.words(matrix, loops, counts, how)
        if precision in BOUND.values():
            certified = functools.partial(bound.by_photons, how=how, precision=precision)
            return undifferentiated(certified)(matrix, loops, counts)
        return rule.by_photons(matrix, loops, counts, how, precision)
    if index is not None:
        assert photons is not None
        matrix, loops = padded(matrix, loops, index, photons)
    n = matrix.shape[0]
    if loops is None and n % 2:
        read = jnp.where(np.eye(n, dtype=bool), jnp.zeros((), matrix.dtype), matrix)
        zero = jnp.where(jnp.all(jnp.isfinite(read)), 0, jnp.nan).astype(jnp.real(matrix).dtype)
        zero = zero.astype(matrix.dtype)
        if precision in BOUND.values():
            return bound.nothing(zero)
        return (zero, zero) if precision is WORDS else zero
    if isinstance(how, MatchedPairs):
        return rule.by_pairs(matrix, loops, how, progress)
    if precision is WORDS:
        return rule.words(matrix, loops, None, how)
    if precision in BOUND.values():
        return undifferentiated(functools.partial(bound.by_subsets, how=how, precision=precision))(matrix, loops)
    return rule.by_subsets(matrix, loops, how, precision)


@functools.partial(jax.jit, static_argnames=("how", "precision", "progress"))
def _evaluate(data: dict[str, jax.Array], how: How, precision: Precision, progress: bool) -> Any:
    """The hafnians of a batch."""
    one = functools.partial(_one, how=how, precision=precision, progress=progress)
    return over_batch(one, data, data["matrix"].shape[:-2], BATCH_TERMS // how.terms)


@functools.partial(jax.jit, static_argnames="terms")
def _evaluate_factor(array: jax.Array, terms: int) -> jax.Array:
    return over_batch(rule.by_factor, array, array.shape[:-2], BATCH_TERMS // terms)


def submatrix(
    matrix: Inexact[ArrayLike, "*batch n n"],
    repeats: Int[ArrayLike, "*batch n"],
    *,
    loops: Inexact[ArrayLike, "*batch n"] | None = None,
    total: int | None = None,
) -> tuple[Inexact[Array, "*batch total total"], Inexact[Array, "*batch total"] | None]:
    """Submatrix of a photon pattern: row and column i written out repeats_i times, padded to one size.

    The padding changes no hafnian: pairs of vertices matched with each other by an entry of 1; with loops, vertices
    alone with a loop of 1. So patterns with different photon numbers share one compiled program.

    Args:
        matrix: (*batch, n, n), symmetric; float32, float64, complex64 or complex128.
        repeats: (*batch, n) photon counts, integers, traced or not.
        loops: (*batch, n) in the dtype of the matrix, or None for a plain hafnian.
        total: rows of the result, a Python int; needed when repeats are traced. None takes the largest photon number of
            the batch, rounded up to even without loops.

    Returns:
        The padded matrices (*batch, total, total), and the padded loops (*batch, total) or None.

    Raises:
        TypeError: a dtype that is not one of the four, or counts that are not integers.
        ValueError: shapes that do not fit, concrete counts above total, or traced counts without total.

    Notes:
        Cost: total^2 copies. A traced pattern with more photons than total is cut; `hafnian(.., repeats=, total=)`
        returns NaN for it. The diagonal holds the entries A_ii, which a plain hafnian does not read.

    Examples:
        >>> import jax.numpy as jnp, gbsjax
        >>> rows, _ = gbsjax.submatrix(jnp.ones((3, 3)), jnp.array([2, 0, 2]), total=6)
        >>> float(gbsjax.hafnian(rows))
        3.0
    """
    name = "submatrix"
    array = _symmetric_input(name, matrix)
    ends = None if loops is None else _checks.array(name, "loops", loops)
    counts = _checks.counts(name, "repeats", repeats, array.shape[-1])
    most = _checks.photons_or_clicks(name, "repeats", counts, total)
    size = most + (most % 2 if loops is None else 0) if total is None else total
    if isinstance(counts, np.ndarray) and most > size:
        raise ValueError(f"{name}: total must be at least the {most} photons of a pattern, got {size}.")
    shapes = [array.shape[:-2], counts.shape[:-1]] + ([] if ends is None else [ends.shape[:-1]])
    batch = broadcast(name, "matrix, repeats and loops", *shapes)
    mode, photons = written_out(counts, size)
    parts = [
        jnp.broadcast_to(x, (*batch, *x.shape[x.ndim - own :]))
        for x, own in ((array, 2), (mode, 1), (photons, 0), (ends, 1))
        if x is not None
    ]

    def one(matrix: jax.Array, mode: jax.Array, photons: jax.Array, ends: jax.Array | None = None) -> Any:
        return padded(matrix, ends, mode, photons)

    for _ in batch:
        one = jax.vmap(one)
    return one(*parts)
