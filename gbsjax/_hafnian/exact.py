"""The hafnian and the loop hafnian exactly, through residues."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np

from gbsjax import _checks, _exact
from gbsjax._batches import lanes_last, over_batch
from gbsjax._hafnian import photons, program
from gbsjax._hafnian.launch import BATCH_TERMS, MOST_STATES, Photons, Subsets, choose
from gbsjax._hafnian.tables import Pairs
from gbsjax._patterns import ranked
from gbsjax.numbers import Residues


def hafnian(
    name: str, matrix: np.ndarray, loops: np.ndarray | None, counts: np.ndarray, pairs: Pairs | None
) -> _exact.Exact | None:
    """The value for one symmetric (n, n) matrix with counts; None where an entry that is read is not finite."""
    used = counts > 0
    counts = counts[used]
    matrix, loops = matrix[np.ix_(used, used)], None if loops is None else loops[used]
    is_complex = np.iscomplexobj(matrix)
    total = int(counts.sum())
    if total == 0:
        return _exact.Exact(1, 0 if is_complex else None, 0)
    read = ~np.eye(len(counts), dtype=bool) | (counts > 1)
    if pairs is not None:
        read[:] = False
        for i, j in pairs:
            read[i, j] = read[j, i] = True
    matrix = np.where(read, matrix, np.zeros((), matrix.dtype))
    if not _exact.is_whole(matrix) and not (np.isfinite(matrix).all() and (loops is None or np.isfinite(loops).all())):
        return None
    if loops is None and total % 2:
        return _exact.Exact(0, 0 if is_complex else None, 0)
    symmetrized = matrix if _exact.is_whole(matrix) else matrix + (matrix.T - matrix) / 2
    numbers, ends = _exact.Dyadic.of(symmetrized), None if loops is None else _exact.Dyadic.of(loops)
    taken = _taken(numbers, ends)
    whole = numbers.scaled(taken[:, None] + taken[None, :])
    whole_ends = None if ends is None else ends.scaled(taken)
    # haf^2 is a sum over pairs of matchings, each a part of the product of the row sums; with loops, of squares on the
    # diagonal (docs, proofs).
    sums = whole.sizes() @ counts.astype(object)
    if whole_ends is not None:
        sums = sums + whole_ends.sizes() ** 2
    largest = math.isqrt(math.prod(int(size) ** int(m) for size, m in zip(sums, counts, strict=True))) + 1
    how = _how(name, counts, loops is not None, pairs)
    _checks.affordable(
        name, how.terms * (1 + is_complex) * max(1, largest.bit_length() // _exact.BITS), "the exact value"
    )
    order = ranked(counts)[1] if isinstance(how, Photons) else np.repeat(np.arange(len(counts)), counts)
    chosen = [whole._replace(**{k: _picked(getattr(whole, k), np.ix_(order, order)) for k in ("re", "im")})]
    if whole_ends is not None:
        chosen.append(whole_ends._replace(**{k: _picked(getattr(whole_ends, k), order) for k in ("re", "im")}))
    evaluate = functools.partial(_values, counts=ranked(counts)[0].astype(np.int32), how=how)
    re, im = _exact.through_residues(name, chosen, largest, evaluate)
    return _exact.Exact(re, im, int(taken @ counts.astype(object)))


def _picked(part: np.ndarray | None, index: Any) -> np.ndarray | None:
    return None if part is None else part[index]


def _taken(numbers: _exact.Dyadic, ends: _exact.Dyadic | None) -> np.ndarray:
    """Exponents d_i such that A_ij 2**-(d_i + d_j) and loop_i 2**-d_i are integers, and small."""
    left, alone = numbers.exponent, None if ends is None else ends.exponent
    taken = np.zeros(len(left), object)
    # Half of what a row can spare, again and again: rows of different scales settle in a few turns.
    for _ in range(8):
        spare = left.min(axis=1) // 2
        if alone is not None:
            spare = np.minimum(spare, alone)
        spare = np.where(spare > _exact.NOWHERE // 8, 0, spare)
        taken, left = taken + spare, left - spare[:, None] - spare[None, :]
        alone = None if alone is None else alone - spare
    return taken


def _how(name: str, counts: np.ndarray, loops: bool, pairs: Pairs | None) -> Subsets | Photons:
    total = int(counts.sum())
    if pairs is not None:
        return Subsets(total, loops, pairs)
    how = choose(total, loops, ranked(counts)[2] if counts.max() > 1 else None, None, subtracting=False)
    assert isinstance(how, Subsets | Photons)
    if how.states > MOST_STATES:
        raise ValueError(
            f"{name}: {total} vertices have {how.states:.3g} states, more than the {MOST_STATES:.3g} that memory is "
            "given for. Declare a support of small frontier, or use precision='fp64'."
        )
    return how


@functools.partial(jax.jit, static_argnames="how")
def _values(*lanes: jax.Array, counts: jax.Array, how: Subsets | Photons) -> jax.Array:
    """(lanes,) values modulo (lanes,) primes of matrices (lanes, n, n), and of loops (lanes, n) if there are any."""
    *numbers, modulus = lanes

    def by_subsets(modulus: jax.Array, matrix: jax.Array, loops: jax.Array | None = None) -> jax.Array:
        ends = None if loops is None else Residues.of(loops, modulus)
        assert isinstance(how, Subsets)
        return program.value(Residues.of(matrix, modulus), ends, how.pairs).rounded().re

    def one(lane: list[jax.Array]) -> jax.Array:
        if isinstance(how, Subsets):
            return lanes_last(by_subsets)(*lane)
        modulus, matrix, *loops = lane
        ends = Residues.of(loops[0], modulus) if loops else None
        return photons.value(Residues.of(matrix, modulus), ends, counts, how.radices).rounded().re

    return over_batch(one, [modulus, *numbers], modulus.shape, max(1, BATCH_TERMS // how.terms))
