"""Double-double: exact where it says so, and the same bits from a compiler as from NumPy."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from jax import lax

from gbsjax.numbers import ARGUMENT, EXPM1, UNIT, DoubleDouble, Planes, expm1
from gbsjax.numbers import _double_double as dd


def numbers(rng, size, spread=20):
    return rng.normal(size=size) * 2.0 ** rng.integers(-spread, spread + 1, size)


def words(rng, size, spread=20):
    hi = numbers(rng, size, spread)
    return dd.fast_two_sum(hi, hi * 2.0**-53 * rng.uniform(-1, 1, size))


def same(x, y):
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["numpy", "jit"])
def test_sums_and_products_are_exact(wrap):
    rng = np.random.default_rng(0)
    x, y = numbers(rng, 2000, 100), numbers(rng, 2000, 100)
    x[:3], y[:3] = [0.0, 1.0, 2.0**1022], [3.0, -1.0, 0.5]
    for exact, function in ((lambda a, b: a + b, dd.two_sum), (lambda a, b: a * b, dd.two_prod)):
        hi, lo = wrap(function)(x, y)
        for a, b, h, low in zip(x, y, hi, lo, strict=True):
            assert exact(Fraction(a), Fraction(b)) == Fraction(float(h)) + Fraction(float(low))
            assert abs(low) <= 2.0**-53 * abs(h)


def test_error_of_a_sum_and_a_product():
    rng = np.random.default_rng(1)
    x, y = words(rng, 4000), words(rng, 4000)
    near = -x[0][:2000] * (1 + 2.0**-40)  # cancels
    y[0][:2000], y[1][:2000] = dd.fast_two_sum(near, near * 2.0**-53 * rng.uniform(-1, 1, 2000))
    exact = [[Fraction(h) + Fraction(low) for h, low in zip(*part, strict=True)] for part in (x, y)]
    for a, b, hi, lo in zip(*exact, *dd.add(x, y), strict=True):
        assert abs(Fraction(hi) + Fraction(lo) - (a + b)) <= 3 * Fraction(1, 2**106) * (abs(a) + abs(b))
    for a, b, hi, lo in zip(*exact, *dd.multiply(x, y), strict=True):
        assert abs(Fraction(hi) + Fraction(lo) - a * b) <= 11 * Fraction(1, 2**106) * abs(a * b)
    z, w = ([part[::-1] for part in words] for words in (x, y))
    for (a, b, hi, lo), (c, d) in zip(
        zip(*exact, *dd.multiply_sum(x, y, z, w), strict=True),
        zip(exact[0][::-1], exact[1][::-1], strict=True),
        strict=True,
    ):
        size = abs(a * b) + abs(c * d)
        assert abs(Fraction(hi) + Fraction(lo) - (a * b + c * d)) <= 20 * Fraction(1, 2**106) * size


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["numpy", "jit"])
def test_error_of_a_quotient_and_a_root(wrap):
    rng = np.random.default_rng(2)
    x, y = words(rng, 500), words(rng, 500)
    positive = [part * np.sign(x[0]) for part in x]
    with mpmath.workprec(300):
        for a, b, root, q, s in zip(
            *(zip(*part, strict=True) for part in (x, y, positive)),
            zip(*wrap(dd.divide)(x, y), strict=True),
            zip(*wrap(dd.square_root)(positive), strict=True),
            strict=True,
        ):
            a, b, root, q, s = (mpmath.mpf(float(hi)) + mpmath.mpf(float(lo)) for hi, lo in (a, b, root, q, s))
            assert abs(q - a / b) <= 21 * mpmath.mpf(2) ** -106 * abs(a / b)
            assert abs(s - mpmath.sqrt(root)) <= 6.2 * mpmath.mpf(2) ** -106 * s


@pytest.mark.parametrize("tier", ["fp64", "dd"])
def test_exponential(tier):
    rng = np.random.default_rng(3)
    x = np.concatenate([10 ** rng.uniform(-30, 2.8, 300), rng.uniform(0, 3, 300)])
    low = x * 2.0**-54 * rng.uniform(-1, 1, len(x)) * (tier == "dd")
    planes = [Planes(jnp.asarray(part), None) for part in (x, low)]
    found = jax.jit(expm1)(DoubleDouble(*planes) if tier == "dd" else planes[0]).in_words()
    with mpmath.workprec(400):
        for k, value in enumerate(zip(*(np.asarray(word.re).tolist() for word in found), strict=True)):
            given = mpmath.mpf(x[k]) + mpmath.mpf(low[k])
            truth = mpmath.expm1(given)
            # Of an argument that is off, and off by itself.
            moved = ARGUMENT[tier] * given * (truth + 1) / truth
            unit = mpmath.mpf(UNIT[tier])
            assert abs(mpmath.fsum(value) - truth) <= (EXPM1[tier] + moved) * unit * truth
            assert abs(mpmath.fsum(value) - truth) <= 16 * unit * truth
    assert float(jax.grad(lambda x: expm1(Planes(x, None)).re)(1.0)) == pytest.approx(np.e, rel=1e-15)


def test_a_compiler_does_not_see_that_constants_are_constant():
    # (x + 1) - 1 is x to a compiler, and a sum then has no low word.
    given = DoubleDouble.of(Planes(jnp.asarray([0.1, 1e-9, 2e-17]), None))
    for wrap in (lambda f: f, jax.jit):
        found = wrap(lambda x: dd.two_sum(x.constant(1.0).hi.re, x.hi.re))(given)
        for x, hi, lo in zip(*(np.asarray(plane).tolist() for plane in (given.hi.re, *found)), strict=True):
            assert Fraction(hi) + Fraction(lo) == 1 + Fraction(x)


def twice(x, y):
    return dd.multiply_sum(x, y, y, y)


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(k, marks=pytest.mark.full) for k in range(12, 80))])
def test_jit_is_numpy_bit_for_bit(seed):
    # A random expression: a compiler that contracts, reorders or recomputes would change a bit of it.
    rng = np.random.default_rng(seed)
    inputs = [words(rng, 64, 3) for _ in range(3)]
    steps = [(rng.choice([dd.add, dd.multiply, twice]), *rng.integers(0, 3 + k, 2)) for k in range(8)]

    def program(inputs):
        values = list(inputs)
        for operation, i, j in steps:
            values.append(operation(values[i], values[j]))
        return values[3:]

    with np.errstate(over="ignore", invalid="ignore"):
        expected = program(inputs)
    for mine, theirs in zip(jax.jit(program)(inputs), expected, strict=True):
        assert same(mine, theirs)


def test_a_scan_and_a_reduction_are_numpy_bit_for_bit():
    rng = np.random.default_rng(5)
    x, y = words(rng, (9, 50)), words(rng, (9, 50))
    total = (np.zeros(50), np.zeros(50))
    for k in range(9):
        total = dd.add(total, dd.multiply((x[0][k], x[1][k]), (y[0][k], y[1][k])))

    def body(total, terms):
        return dd.add(total, dd.multiply(*terms)), None

    zero = (jnp.zeros(50), jnp.zeros(50))
    assert same(jax.jit(lambda x, y: lax.scan(body, zero, (x, y))[0])(x, y), total)
    as_numbers = [DoubleDouble(Planes(jnp.asarray(hi), None), Planes(jnp.asarray(lo), None)) for hi, lo in (x, y)]
    for axis, (a, b) in ((0, as_numbers), (1, [n.map(lambda plane: plane.T) for n in as_numbers])):
        found = jax.jit(lambda a, b, axis=axis: (a * b).sum(axis))(a, b)
        assert same((found.hi.re, found.lo.re), total)


def test_complex_products():
    rng = np.random.default_rng(6)
    parts = [words(rng, 40) for _ in range(4)]
    x, y = (
        DoubleDouble(Planes(*(jnp.asarray(p[0]) for p in pair)), Planes(*(jnp.asarray(p[1]) for p in pair)))
        for pair in (parts[:2], parts[2:])
    )
    found = jax.jit(lambda x, y: x * y)(x, y)
    exact = [[Fraction(h) + Fraction(low) for h, low in zip(*part, strict=True)] for part in parts]
    assert found.lo.im is not None
    assert found.hi.im is not None
    for k, (a, b, c, d) in enumerate(zip(*exact, strict=True)):
        size = (abs(a) + abs(b)) * (abs(c) + abs(d))
        for hi, lo, truth in ((found.hi.re, found.lo.re, a * c - b * d), (found.hi.im, found.lo.im, a * d + b * c)):
            assert abs(Fraction(float(hi[k])) + Fraction(float(lo[k])) - truth) <= 10 * Fraction(1, 2**106) * size
