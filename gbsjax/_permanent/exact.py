"""The permanent exactly, through residues."""

from __future__ import annotations

import functools
import math

import jax
import numpy as np

from gbsjax import _checks, _exact
from gbsjax._batches import over_batch
from gbsjax._permanent import program
from gbsjax._permanent.counts import Photons, choose_plain
from gbsjax._permanent.launch import BATCH_TERMS, Glynn, Recurrence, plan
from gbsjax._permanent.recurrence import value as value_by_recurrence
from gbsjax.numbers import Residues


def permanent(name: str, matrix: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> _exact.Exact | None:
    """The permanent of one (k, l) matrix with counts of the same sum; None where what is read is not finite."""
    matrix = matrix[np.ix_(rows > 0, cols > 0)]
    rows, cols = rows[rows > 0], cols[cols > 0]
    if not rows.size:
        return _exact.Exact(1, 0 if np.iscomplexobj(matrix) else None, 0)
    if not _exact.is_whole(matrix) and not np.isfinite(matrix).all():
        return None
    numbers = _exact.Dyadic.of(matrix)
    by_row = numbers.exponent.min(axis=1)
    by_row = np.where(by_row == _exact.NOWHERE, 0, by_row)
    by_column = (numbers.exponent - by_row[:, None]).min(axis=0)
    by_column = np.where(by_column > _exact.NOWHERE // 2, 0, by_column)
    whole = numbers.scaled(by_row[:, None] + by_column[None, :])
    sizes = whole.sizes()
    largest = min(
        math.prod(int(size) ** int(m) for size, m in zip(sums, counts, strict=True))
        for sums, counts in ((sizes @ cols.astype(object), rows), (rows.astype(object) @ sizes, cols))
    )
    choice = choose_plain(rows, cols)
    lanes = 2 if whole.im is not None else 1
    _checks.affordable(name, choice.how.terms * lanes * max(1, largest.bit_length() // _exact.BITS), "the exact value")
    order = np.ix_(np.asarray(choice.rows), np.asarray(choice.columns))
    re, im = (None if part is None else part[order] for part in (whole.re, whole.im))
    if choice.transpose:
        re, im = (None if part is None else part.T for part in (re, im))
    chosen = whole._replace(re=re, im=im)
    photons = choice.data if isinstance(choice.data, Photons) else None
    divide = 2 ** (choice.how.photons - 1) if isinstance(choice.how, Glynn) else 1
    evaluate = functools.partial(_values, photons=photons, how=choice.how)
    re, im = _exact.through_residues(name, [chosen], largest, evaluate, divide)
    exponent = int(by_row @ rows.astype(object)) + int(by_column @ cols.astype(object))
    return _exact.Exact(re, im, exponent)


@functools.partial(jax.jit, static_argnames="how")
def _values(planes: jax.Array, modulus: jax.Array, photons: Photons | None, how: Glynn | Recurrence) -> jax.Array:
    """(lanes,) permanents modulo (lanes,) primes of (lanes, k, l); by Glynn's formula 2^(n - 1) times them."""

    def one(lane: tuple[jax.Array, jax.Array]) -> jax.Array:
        numbers = Residues.of(*lane)
        if isinstance(how, Recurrence):
            assert photons is not None
            return value_by_recurrence(numbers, photons, how.radices).rounded().re
        n = planes.shape[1]
        # The signs themselves: a half is no integer.
        weights = np.tile([1.0, -1.0], (n, 1))
        weights[0] = [1, 0]
        return program.value(numbers, program.Modes(np.ones(n), weights, None), plan(how.radices), 1).rounded().re

    return over_batch(one, (planes, modulus), modulus.shape, max(1, BATCH_TERMS // how.terms))
