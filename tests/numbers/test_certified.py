"""Parts and sizes: exact sums whatever a compiler does, and sizes that are what they say."""

import functools
import operator
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from gbsjax.numbers import Parts, Planes, Residues, Sizes, aligned


def numbers(seed, *shape):
    rng = np.random.default_rng(seed)
    return Planes(*(jnp.asarray(rng.uniform(-1, 1, shape)) for _ in range(2)))


def test_high_parts_are_on_the_grid_also_under_jit():
    # Adding and subtracting a large constant does this too, until XLA simplifies it away.
    given = numbers(0, 40, 3)
    bits, signs = 6, np.sign(np.random.default_rng(1).normal(size=(40, 8)))
    for wrap in (lambda f: f, jax.jit):
        found = wrap(lambda n: Parts.of(n, bits))(given)
        sums = wrap(lambda n: Parts.of(n, bits).combine(signs).high)(given)
        for high, low, whole, total in (
            (found.high.re, found.low.re, given.re, sums.re),
            (found.high.im, found.low.im, given.im, sums.im),
        ):
            scaled = np.asarray(high) * 2.0 ** (52 - bits)
            assert np.array_equal(scaled, np.round(scaled))
            assert np.array_equal(np.asarray(high) + np.asarray(low), whole)
            assert np.abs(low).max() <= 2.0 ** (bits - 53)
            assert np.abs(low).max() > 0
            exact = [
                [sum(Fraction(float(x)) * int(s) for x, s in zip(column, word, strict=True)) for word in signs.T]
                for column in np.asarray(high).T
            ]
            assert [[Fraction(float(x)) for x in row] for row in np.asarray(total)] == exact


def test_products_and_sizes():
    given = numbers(2, 5, 4)
    planes = np.asarray(given.array())
    product = Parts.of(given, 3).product(lambda k: Parts.of(given, 3)[k], 5)
    assert np.allclose(product.array(), planes.prod(axis=0), rtol=1e-15)
    floor = 0.5
    size = Sizes(given, floor).product(lambda k: Sizes(given, floor)[k], 5).re
    assert np.allclose(size, np.sqrt(np.abs(planes) ** 2 + floor**2).prod(axis=0), rtol=1e-15)


def test_residues_are_exact():
    rng = np.random.default_rng(3)
    moduli = np.array([16777213, 16776989, 16776961], float)
    entries = [rng.integers(-(2**22), 2**22, (6, 3)) for _ in range(3)]

    def program(modulus, *planes):
        x, y, z = (Residues.of(plane, modulus) for plane in planes)
        return [
            r.rounded().re
            for r in (x * y * z, (x * y).sum(0) * z[0], (x + y) * z, x.times(jnp.asarray([3.0, 2.0, 1.0])) * y)
        ]

    found = jax.jit(program)(moduli, *(jnp.asarray(e, float) for e in entries))
    x, y, z = (e.astype(object) for e in entries)
    exact = [x * y * z, functools.reduce(operator.add, x * y) * z[0], (x + y) * z, x * np.array([3, 2, 1], object) * y]
    for mine, truth in zip(found, exact, strict=True):
        assert np.abs(mine).max() <= 2**23
        assert not np.any((np.asarray(mine).astype(np.int64).astype(object) - truth) % moduli.astype(np.int64))


def test_real_numbers_are_aligned_with_the_last_axes():
    assert aligned(np.arange(3), jnp.zeros((2, 4, 3))).shape == (1, 1, 3)
