"""precision="exact" and `count`: correctly rounded, or whole, whatever the size of the answer."""

import math

import jax
import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs
from gbsjax import _exact
from tests import graphs


def same(found, truth):
    return complex(found) == complex(truth)


def test_factorials():
    ones = np.ones((22, 22))
    assert float(gbsjax.permanent(ones, precision="exact")) == float(math.factorial(22))
    assert gbsjax.count(gbsjax.permanent, ones.astype(int)) == math.factorial(22)
    assert gbsjax.count(gbsjax.permanent, [[1]], rows=[170], cols=[170]) == math.factorial(170)


@pytest.mark.parametrize("n", [1, 4, pytest.param(7, marks=pytest.mark.full), pytest.param(12, marks=pytest.mark.full)])
def test_permanents_are_rounded_once(n):
    for family in (_inputs.gaussian, _inputs.unitary, _inputs.badly_scaled):
        arguments = (n, n) if family is _inputs.gaussian else (n,)
        matrix = family(_inputs.generator(n), *arguments)
        for given in (matrix, matrix.real):
            assert same(gbsjax.permanent(given, precision="exact"), gbsjax_ref.permanent_exact(given))


@pytest.mark.parametrize("n", [2, 4, pytest.param(8, marks=pytest.mark.full)])
def test_hafnians_are_rounded_once(n):
    for family in (_inputs.symmetric, _inputs.badly_scaled_symmetric):
        matrix = np.triu(family(_inputs.generator(n), n))
        matrix = matrix + np.triu(matrix, 1).T
        for given in (matrix, matrix.real):
            assert same(gbsjax.hafnian(given, precision="exact"), gbsjax_ref.hafnian_exact(given))
            assert same(gbsjax.loop_hafnian(given, precision="exact"), gbsjax_ref.loop_hafnian_exact(given))


@pytest.mark.full
def test_counts_of_photons():
    matrix = _inputs.symmetric(_inputs.generator(5), 3)
    for repeats in ([2, 2, 0], [4, 1, 1], [1, 0, 1]):
        for function, exact in (
            (gbsjax.hafnian, gbsjax_ref.hafnian_exact),
            (gbsjax.loop_hafnian, gbsjax_ref.loop_hafnian_exact),
        ):
            assert same(function(matrix, repeats=repeats, precision="exact"), exact(matrix, repeats=repeats))
    found = gbsjax.permanent(matrix, rows=[[3, 1, 0], [1, 1, 0]], cols=[[2, 1, 1], [0, 1, 1]], precision="exact")
    assert same(found[0], gbsjax_ref.permanent_exact(matrix, rows=[3, 1, 0], cols=[2, 1, 1]))
    assert same(found[1], gbsjax_ref.permanent_exact(matrix, rows=[1, 1, 0], cols=[0, 1, 1]))


@pytest.mark.full
def test_loops_of_their_own():
    matrix, loops = _inputs.symmetric(_inputs.generator(6), 4).real, np.array([0.1, 1e-7, 3.0, 1e6])
    found = gbsjax.loop_hafnian(matrix, loops, precision="exact")
    assert same(found, gbsjax_ref.loop_hafnian_exact(matrix, loops=loops))
    assert gbsjax.count(gbsjax.loop_hafnian, np.ones((4, 4), int), np.zeros(4, int)) == 3


def test_matchings_of_graphs():
    assert gbsjax.count(gbsjax.hafnian, [[1]], repeats=[30]) == math.prod(range(1, 30, 2))
    for graph, matchings in (graphs.PETERSEN, graphs.DODECAHEDRON, graphs.CHESSBOARD):
        adjacency = graph.astype(int)
        assert gbsjax.count(gbsjax.hafnian, adjacency, support=adjacency != 0) == matchings


def test_what_comes_back():
    ones = np.ones((3, 3), int)
    found = gbsjax.permanent(ones, precision="exact")
    assert (found.dtype, int(found)) == (np.int64, 6)
    counts = gbsjax.count(gbsjax.permanent, np.stack([ones, 2 * ones]))
    assert (counts.dtype, counts.tolist()) == (object, [6, 48])
    assert isinstance(gbsjax.count(gbsjax.permanent, np.array([[2**70]], object)), int)
    assert gbsjax.permanent(np.zeros((0, 0)), precision="exact") == 1
    assert gbsjax.permanent(np.ones((0, 3, 3)), precision="exact").shape == (0,)
    assert np.isnan(gbsjax.permanent(np.array([[np.inf]]), precision="exact"))
    # A diagonal that is not read, and an odd number of vertices.
    assert gbsjax.hafnian(np.array([[np.nan, 0.1], [0.1, np.nan]]), precision="exact") == 0.1
    assert gbsjax.hafnian(np.ones((3, 3)), precision="exact") == 0


@pytest.mark.full
def test_the_ends_of_the_range():
    tiny, huge = 2.0**-600, 2.0**600
    for entry in (tiny, 3 * tiny, huge):
        matrix = np.array([[entry, 0.1 * entry], [0.3 * entry, entry]])
        assert same(gbsjax.permanent(matrix, precision="exact"), gbsjax_ref.permanent_exact(matrix))
    subnormal = np.array([[2.0**-530 * 1.1, 0], [0, 2.0**-535 * 1.3]])
    assert float(gbsjax.permanent(subnormal, precision="exact")) == 2.0**-530 * 1.1 * (2.0**-535 * 1.3) > 0


def test_residues_and_back():
    for integer in (0, 1, -1, 2**200 + 1, -(3**100)):
        bits = max(1, abs(integer).bit_length() + 1)
        count = -(-bits // (_exact.BITS - 1))
        assert _exact._integer([integer % p for p in _exact._primes()[:count]]) == integer
    primes = _exact._primes()[:20]
    assert all(p < 2**_exact.BITS and p % 4 == 1 for p in primes)
    assert all(pow(3, p - 1, p) == 1 for p in primes)
    assert all(_exact._root_of_minus_one(p) ** 2 % p == p - 1 for p in primes)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gbsjax.permanent(np.ones((25, 25), int), precision="exact"), OverflowError, "Call gbsjax.count"),
        (lambda: gbsjax.count(gbsjax.permanent, np.ones((2, 2))), TypeError, "must be integers, got float64"),
        (lambda: gbsjax.count(np.sum, np.ones((2, 2), int)), TypeError, "must be one of"),
        (
            lambda: jax.jit(lambda m: gbsjax.permanent(m, precision="exact"))(np.ones((2, 2))),
            TypeError,
            "matrix is traced",
        ),
        (lambda: gbsjax.hafnian(np.ones((2, 2)), precision="exact", method="pairs"), ValueError, "chooses its program"),
        (lambda: gbsjax.hafnian(np.array([[0, 1], [2, 0]]), precision="exact"), ValueError, "must be symmetric"),
        (
            lambda: gbsjax.permanent(
                np.array([[2.0**1000, 2.0**-1000], [2.0**-1000, 2.0**1000]]),
                rows=[75, 75],
                cols=[75, 75],
                precision="exact",
            ),
            ValueError,
            "bits",
        ),
    ],
)
def test_message(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert message in str(raised.value)
