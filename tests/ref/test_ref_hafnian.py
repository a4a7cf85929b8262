"""The reference hafnians and loop hafnians: known answers first, then three routes to one number."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbsjax_ref import (
    ExactComplex,
    hafnian_by_matchings,
    hafnian_exact,
    hafnian_kan,
    hafnian_majorant,
    hafnian_numpy,
    loop_hafnian_by_matchings,
    loop_hafnian_exact,
    loop_hafnian_kan,
    loop_hafnian_majorant,
    loop_hafnian_numpy,
    permanent_exact,
)

UNIT = 2.0**-53
EXACT = [hafnian_exact, hafnian_by_matchings, hafnian_kan]
LOOP_EXACT = [loop_hafnian_exact, loop_hafnian_by_matchings, loop_hafnian_kan]
FLOAT = [hafnian_numpy, loop_hafnian_numpy]
MAJORANTS = [hafnian_majorant, loop_hafnian_majorant]
HAFNIANS = [*EXACT, hafnian_numpy]
LOOP_HAFNIANS = [*LOOP_EXACT, loop_hafnian_numpy]
ALL = [*HAFNIANS, *LOOP_HAFNIANS]

# Pairings of n vertices that may be left alone.
TELEPHONE = {0: 1, 1: 1, 2: 2, 3: 4, 4: 10, 5: 26, 6: 76, 7: 232, 8: 764, 10: 9496}


def with_edge(n, weight):
    ones = np.ones((n, n))
    ones[0, 1] = ones[1, 0] = weight
    return ones


def with_diagonal(n, weight, dtype=float):
    ones = np.ones((n, n), dtype)
    np.fill_diagonal(ones, weight)
    return ones


# matrix, its hafnian counted by hand
KNOWN = {
    "empty": (np.empty((0, 0)), 1),
    "empty list": ([], 1),
    "one vertex": ([[7.0]], 0),
    "odd": (np.ones((5, 5)), 0),
    "one edge": ([[7.0, -2.5], [-2.5, 9.0]], -2.5),
    "ones 4": (np.ones((4, 4)), 3),
    "ones 6 complex": (np.ones((6, 6), dtype=complex), 15),
    "ones 10": (np.ones((10, 10)), 945),
    "heavy edge": (with_edge(8, 1e6), 90 + 15 * 10**6),
    "heavy diagonal": (with_diagonal(8, 1e8), 105),
    "diagonal of NaN": (with_diagonal(8, math.nan, complex), 105),
    "diagonal of infinities": (with_diagonal(6, -math.inf), 15),
    "tiny": (1e-9 * np.ones((6, 6)), 15 * Fraction(1e-9) ** 3),
    "four vertices": ([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]], 1 * 6 + 2 * 5 + 3 * 4),
    "imaginary": (1j * np.ones((6, 6)), -15j),
    "zero by cancellation": ([[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, -2], [1, 1, -2, 0]], 0),
    # Dominoes on 2 x 4 fields
    "ladder of four": (
        np.diag([1.0, 1, 1, 0, 1, 1, 1], 1)
        + np.diag([1.0, 1, 1, 0, 1, 1, 1], -1)
        + np.diag(np.ones(4), 4)
        + np.diag(np.ones(4), -4),
        5,
    ),
    "booleans": (np.ones((4, 4), dtype=bool), 3),
}

# matrix, loops, its loop hafnian counted by hand
LOOP_KNOWN = {
    "empty": (np.empty((0, 0)), None, 1),
    "empty with loops": ([], [], 1),
    "one vertex": ([[7.0]], None, 7),
    "one vertex, its loop": ([[math.nan]], [-3j], -3j),
    "two vertices": ([[2.0, 5.0], [5.0, 3.0]], None, 11),
    "two vertices, their loops": ([[2.0, 5.0], [5.0, 3.0]], [1.0, -4.0], 1),
    "no loops": (np.ones((6, 6)), np.zeros(6), 15),
    "odd without loops": (np.ones((5, 5)), np.zeros(5), 0),
    # All three alone, or one of them alone
    "three vertices": (np.ones((3, 3)), [1, 2, 3], 1 * 2 * 3 + 1 + 2 + 3),
    "imaginary loops": (np.ones((4, 4)), [1j] * 4, 1 - 6 + 3),
    "loops alone": (np.diag([2.0, 3.0, 5.0]), None, 30),
    **{f"telephone {n}": (np.ones((n, n)), None, number) for n, number in TELEPHONE.items()},
}


def random_symmetric(n, seed, kind=complex):
    rng = np.random.default_rng([n, seed])
    real = rng.normal(size=(n, n))
    matrix = real if kind is float else real + 1j * rng.normal(size=(n, n))
    return matrix + matrix.T


def random_loops(n, seed, kind=complex):
    rng = np.random.default_rng([n, seed, 1])
    return rng.normal(size=n) if kind is float else rng.normal(size=n) + 1j * rng.normal(size=n)


def exact(value):
    if isinstance(value, Fraction):
        return ExactComplex(value)
    return ExactComplex(Fraction(complex(value).real), Fraction(complex(value).imag))


def expanded(matrix, repeats):
    return np.repeat(np.repeat(np.asarray(matrix), repeats, axis=0), repeats, axis=1)


def rounding_bound(n, majorant):
    """Absolute error of a program that adds and multiplies only, n roundings and 2 sqrt(2) for complex products."""
    return 4 * n * UNIT * float(majorant)


small_numbers = st.builds(complex, st.integers(-9, 9), st.integers(-9, 9))


@st.composite
def repeated_graphs(draw, largest=4, most_copies=3):
    n = draw(st.integers(1, largest))
    matrix = np.zeros((n, n), complex)
    for i, j in zip(*np.triu_indices(n), strict=True):
        matrix[i, j] = matrix[j, i] = draw(small_numbers)
    loops = [draw(small_numbers) for _ in range(n)]
    repeats = draw(st.lists(st.integers(0, most_copies), min_size=n, max_size=n).filter(lambda r: sum(r) <= 8))
    return matrix, loops, repeats


@pytest.mark.parametrize("function", HAFNIANS)
@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(function, name):
    matrix, answer = KNOWN[name]
    error = exact(answer).relative_error(function(matrix))
    assert error <= (0 if function not in FLOAT else 10 * UNIT)


@pytest.mark.parametrize("function", LOOP_HAFNIANS)
@pytest.mark.parametrize("name", LOOP_KNOWN)
def test_known_loop_answers(function, name):
    matrix, loops, answer = LOOP_KNOWN[name]
    assert exact(answer).relative_error(function(matrix, loops)) == 0


@pytest.mark.parametrize("n", [16, 20])
def test_double_factorials(n):
    truth = math.prod(range(n - 1, 0, -2))
    assert hafnian_exact(np.ones((n, n))).real == truth
    assert hafnian_numpy(np.ones((n, n))) == truth


def test_telephone_numbers_follow_their_recurrence():
    numbers = [loop_hafnian_exact(np.ones((n, n))).real for n in range(16)]
    for n in range(2, 16):
        assert numbers[n] == numbers[n - 1] + (n - 1) * numbers[n - 2]


@pytest.mark.parametrize("function", HAFNIANS)
@pytest.mark.parametrize("kind", [float, complex])
def test_a_bipartite_graph_has_the_permanent_of_its_block(function, kind):
    block = random_symmetric(5, 0, kind) + np.arange(5)
    matrix = np.block([[np.zeros((5, 5)), block], [block.T, np.zeros((5, 5))]])
    error = permanent_exact(block).relative_error(function(matrix))
    assert error == 0 or (function in FLOAT and error < 1e-13)


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("kind", [float, complex])
def test_every_route_on_random_matrices(n, kind):
    matrix, loops = random_symmetric(n, 1, kind), random_loops(n, 1, kind)
    truth, loop_truth = hafnian_by_matchings(matrix), loop_hafnian_by_matchings(matrix, loops)
    assert bool(truth) == (n % 2 == 0)
    for function, loop_function in zip(EXACT, LOOP_EXACT, strict=True):
        assert function(matrix) == truth
        assert loop_function(matrix, loops) == loop_truth
        assert loop_function(matrix) == loop_hafnian_by_matchings(matrix, matrix.diagonal())
        assert loop_function(matrix, np.zeros(n)) == truth
    assert abs(complex(truth) - hafnian_numpy(matrix)) <= rounding_bound(n, hafnian_majorant(matrix))
    majorant = loop_hafnian_majorant(matrix, loops)
    assert abs(complex(loop_truth) - loop_hafnian_numpy(matrix, loops)) <= rounding_bound(n, majorant)


@pytest.mark.parametrize("kind", [float, complex])
def test_two_routes_at_twelve(kind):
    matrix, loops = random_symmetric(12, 2, kind), random_loops(12, 2, kind)
    assert hafnian_exact(matrix) == hafnian_kan(matrix)
    assert loop_hafnian_exact(matrix, loops) == loop_hafnian_kan(matrix, loops)


@pytest.mark.parametrize("kind", [float, complex])
def test_floats_at_eighteen_are_within_the_majorant(kind):
    matrix, loops = random_symmetric(18, 3, kind), random_loops(18, 3, kind)
    error = abs(complex(hafnian_exact(matrix)) - hafnian_numpy(matrix))
    assert error <= rounding_bound(18, hafnian_majorant(matrix))
    error = abs(complex(loop_hafnian_exact(matrix, loops)) - loop_hafnian_numpy(matrix, loops))
    assert error <= rounding_bound(18, loop_hafnian_majorant(matrix, loops))


@settings(max_examples=60, deadline=None)
@given(repeated_graphs())
def test_repeats_are_rows_and_columns_written_down(case):
    matrix, loops, repeats = case
    truth = hafnian_by_matchings(expanded(matrix, repeats))
    loop_truth = loop_hafnian_by_matchings(expanded(matrix, repeats), np.repeat(loops, repeats))
    for function, loop_function in zip(EXACT, LOOP_EXACT, strict=True):
        assert function(matrix, repeats=repeats) == truth
        assert loop_function(matrix, loops, repeats=repeats) == loop_truth
    # Products and sums of small integers are exact.
    assert truth.relative_error(hafnian_numpy(matrix, repeats=repeats)) == 0
    assert loop_truth.relative_error(loop_hafnian_numpy(matrix, loops, repeats=repeats)) == 0


@pytest.mark.parametrize("function", [loop_hafnian_exact, loop_hafnian_kan, loop_hafnian_numpy])
def test_repeats_take_the_diagonal_for_loops_and_for_copies(function):
    # Two copies of one vertex: left alone twice, or joined by the same entry.
    assert exact(3**2 + 3).relative_error(function([[3.0]], repeats=[2])) == 0
    assert exact(5**2 + 3).relative_error(function([[3.0]], [5.0], repeats=[2])) == 0


@pytest.mark.parametrize("function", [hafnian_exact, hafnian_kan])
def test_three_hundred_photons_in_one_mode(function):
    truth = math.prod(range(299, 0, -2)) * 3**150
    assert function([[3]], repeats=[300]).real == truth


def test_two_modes_of_many_photons():
    # Hafnians of a two-mode squeezed state: photons come in pairs, n! ways.
    assert hafnian_exact([[0, 1], [1, 0]], repeats=[40, 40]).real == math.factorial(40)
    assert not hafnian_exact([[0, 1], [1, 0]], repeats=[40, 38])
    matrix, repeats = random_symmetric(2, 4), [20, 14]
    assert hafnian_exact(matrix, repeats=repeats) == hafnian_kan(matrix, repeats=repeats)


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("repeats", [[0, 0, 0], [0, 2, 0], [1, 0, 1]])
def test_a_vertex_written_down_once_or_never_has_no_diagonal(function, repeats):
    matrix = random_symmetric(3, 5)
    arguments = () if function in HAFNIANS else (np.ones(3),)
    truth = function(matrix, *arguments, repeats=repeats)
    for i, count in enumerate(repeats):
        if count <= 1:
            matrix[i, i] = math.nan
    assert function(matrix, *arguments, repeats=repeats) == truth


@pytest.mark.parametrize("function", ALL)
def test_no_argument_is_written_to(function):
    matrix = random_symmetric(4, 6)
    before = matrix.copy()
    matrix.flags.writeable = False
    function(matrix)
    assert (matrix == before).all()


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_exact_beyond_the_range_of_float64(scale):
    truth = 105 * Fraction(scale) ** 4
    assert hafnian_exact(scale * np.ones((8, 8))).real == truth
    assert ExactComplex(truth).relative_error(hafnian_majorant(scale * np.ones((8, 8)))) < 1e-30


def test_edges_and_loops_over_different_denominators():
    matrix = [[Fraction(1, 3), Fraction(2, 7)], [Fraction(2, 7), 5]]
    for function in LOOP_EXACT:
        assert function(matrix, [Fraction(1, 5), Fraction(1, 2)]).real == Fraction(2, 7) + Fraction(1, 10)
        assert function(matrix, [Fraction(1, 5), 2], repeats=[3, 0]).real == Fraction(1, 125) + 3 * Fraction(1, 15)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("repeats", [None, [1, 2, 0, 3]])
def test_majorants_are_hafnians_of_moduli(kind, repeats):
    # Moduli of Gaussian integers from Pythagorean triples are integers.
    triples = np.array([3 + 4j, -5 + 12j, 8 - 15j, -7 - 24j, 5, 13, -17, 25j, 0, 20 + 21j])
    matrix = np.zeros((4, 4), complex)
    matrix[np.triu_indices(4)] = triples
    matrix = matrix + np.triu(matrix, 1).T
    loops = np.array([4 - 3j, 12j, -1, 0])
    if kind is float:
        matrix, loops = matrix.real, loops.real
    moduli, loop_moduli = np.abs(matrix), np.abs(loops)
    truth = hafnian_exact(moduli, repeats=repeats)
    assert truth.real == hafnian_majorant(matrix, repeats=repeats)
    truth = loop_hafnian_exact(moduli, loop_moduli, repeats=repeats)
    assert truth.real == loop_hafnian_majorant(matrix, loops, repeats=repeats)


def test_majorants_have_thirty_digits():
    # |1 + i|^3 15, and with loops of modulus sqrt(2) too.
    with mpmath.workdps(50):
        root = mpmath.sqrt(2)
        truth, loop_truth = 15 * root**3, root**6 + 15 * root**5 + 45 * root**4 + 15 * root**3
    matrix = (1 - 1j) * np.ones((6, 6))
    with mpmath.workdps(40):
        assert abs(hafnian_majorant(matrix) / truth - 1) < mpmath.mpf(10) ** -30
        assert abs(loop_hafnian_majorant(matrix) / loop_truth - 1) < mpmath.mpf(10) ** -30
    assert hafnian_majorant(np.empty((0, 0))) == loop_hafnian_majorant([]) == 1
    assert hafnian_majorant(np.ones((3, 3))) == 0


@pytest.mark.parametrize("function", ALL)
def test_an_asymmetry_of_rounding_is_averaged(function):
    matrix = random_symmetric(4, 7, float)
    matrix[0, 1] = 1.0
    matrix[1, 0] = 1.0 + 2.0**-51
    mean = [[Fraction(a) for a in row] for row in matrix.tolist()]
    mean[0][1] = mean[1][0] = 1 + Fraction(1, 2**52)
    truth = EXACT[1](mean) if function in HAFNIANS else LOOP_EXACT[1](mean)
    assert truth.relative_error(function(matrix)) <= (0 if function not in FLOAT else 100 * UNIT)


@pytest.mark.parametrize("function", [*ALL, *MAJORANTS])
@pytest.mark.parametrize("scale", [2.0**-250, 1.0, 2.0**250])
def test_asymmetry_above_64_units_is_refused_at_any_scale(function, scale):
    ones = scale * np.ones((4, 4), complex)
    ones[2, 3] *= 1 + 2.0**-47
    function(ones)
    ones[2, 3] += scale * 2.0**-52
    with pytest.raises(ValueError, match=f"^{function.__name__}: matrix must be symmetric, up to 2\\^-47"):
        function(ones)
    # Hermitian is not symmetric.
    with pytest.raises(ValueError, match="matrix must be symmetric"):
        function(scale * np.array([[0, 1j], [-1j, 0]]))


@pytest.mark.parametrize("function", ALL)
def test_real_in_real_out(function):
    real = function(random_symmetric(4, 8, float))
    imaginary = function(random_symmetric(4, 8, float).astype(complex))
    expected = (np.float64, np.complex128) if function in FLOAT else (ExactComplex, ExactComplex)
    assert (type(real), type(imaginary)) == expected
    assert complex(real) == pytest.approx(complex(imaginary), rel=100 * UNIT)


def test_complex_loops_of_a_real_matrix():
    matrix, loops = random_symmetric(5, 9, float), random_loops(5, 9)
    truth = loop_hafnian_by_matchings(matrix, loops)
    assert truth.imag
    assert truth.relative_error(loop_hafnian_numpy(matrix, loops)) < 1e-14


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.complex64, np.int8, np.uint64])
def test_every_dtype_is_taken_exactly(dtype):
    matrix = (7 * np.abs(random_symmetric(6, 10, float))).astype(dtype)
    by_fraction = [[Fraction(*entry.real.item().as_integer_ratio()) for entry in row] for row in matrix]
    assert hafnian_exact(matrix) == hafnian_by_matchings(by_fraction)
    assert loop_hafnian_exact(matrix) == loop_hafnian_by_matchings(by_fraction)


def test_mpmath_entries():
    with mpmath.workdps(50):
        root = mpmath.sqrt(2)
        matrix = [[mpmath.mpc(0, 1), root], [root, mpmath.mpf(1)]]
        assert abs(loop_hafnian_exact(matrix).to_mpc(50) - mpmath.mpc(root, 1)) < mpmath.mpf(10) ** -48


# A minute for numba to compile, to check a third route: slow.
@pytest.mark.slow
@pytest.mark.parametrize("kind", [float, complex])
def test_the_walrus_agrees(kind):
    walrus = pytest.importorskip("thewalrus", reason="thewalrus is not installed")
    matrix, loops, repeats = random_symmetric(6, 11, kind), random_loops(6, 11, kind), [1, 0, 2, 3, 1, 1]
    assert walrus.hafnian(matrix) == pytest.approx(complex(hafnian_exact(matrix)), rel=1e-11)
    assert walrus.loop_hafnian(matrix, loops) == pytest.approx(complex(loop_hafnian_exact(matrix, loops)), rel=1e-11)
    truth = loop_hafnian_exact(matrix, loops, repeats=repeats)
    assert walrus.loop_hafnian(matrix, loops, reps=repeats) == pytest.approx(complex(truth), rel=1e-10)


BAD = [
    ({"matrix": np.ones((2, 3))}, ValueError, r"shape \(n, n\), got \(2, 3\)"),
    ({"matrix": [[1, 2], [3]]}, ValueError, r"shape \(n, n\)"),
    ({"matrix": np.ones((1, 2, 2))}, ValueError, r"got \(1, 2, 2\)"),
    ({"matrix": [[1.0, math.nan], [math.nan, 1.0]]}, ValueError, r"entries must be finite, got nan at \[0, 1\]"),
    ({"matrix": np.array([[1.0, np.inf], [np.inf, 1.0]])}, ValueError, r"finite, got inf at \[0, 1\]"),
    ({"matrix": [[1, "1"], ["1", 1]]}, TypeError, r"entries must be numbers, got str at \[0, 1\]"),
    ({"matrix": [[1.0, 2.0], [3.0, 1.0]]}, ValueError, r"must be symmetric, .* by 0\.333 of it"),
    ({"matrix": [[math.nan]], "repeats": [2]}, ValueError, "must be finite, got nan"),
    ({"matrix": np.eye(2), "repeats": [1, -1]}, ValueError, r"repeats must be whole numbers, .*got \[1, -1\]"),
    ({"matrix": np.eye(2), "repeats": [0.5, 1.5]}, ValueError, "repeats must be whole numbers"),
    ({"matrix": np.eye(2), "repeats": [1, 1, 0]}, ValueError, r"repeats must have shape \(2,\), got \(3,\)"),
    ({"matrix": np.eye(2), "repeats": ["a", "b"]}, TypeError, "repeats must be integers"),
]
BAD_LOOPS = [
    ({"matrix": np.eye(2), "loops": [1.0]}, ValueError, r"loops must have shape \(2,\), got \(1,\)"),
    ({"matrix": np.eye(2), "loops": np.eye(2)}, ValueError, r"loops must have shape \(2,\), got \(2, 2\)"),
    ({"matrix": np.eye(2), "loops": [1.0, math.nan]}, ValueError, r"loops must be finite, got nan at \[1\]"),
    ({"matrix": np.eye(2), "loops": [1.0, None]}, TypeError, r"loops must be numbers, got NoneType at \[1\]"),
    ({"matrix": [[1.0, 1.0], [1.0, math.inf]]}, ValueError, r"loops must be finite, got inf at \[1\]"),
]


@pytest.mark.parametrize("function", [*ALL, *MAJORANTS])
@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input(function, arguments, error, message):
    # A loop hafnian reads NaN and strings on the diagonal as loops first.
    message = message.replace("entries must", "(entries|loops) must")
    with pytest.raises(error, match=f"^{function.__name__}: .*{message}"):
        function(**arguments)


@pytest.mark.parametrize("function", [*LOOP_HAFNIANS, loop_hafnian_majorant])
@pytest.mark.parametrize(("arguments", "error", "message"), BAD_LOOPS)
def test_bad_loops(function, arguments, error, message):
    with pytest.raises(error, match=f"^{function.__name__}: .*{message}"):
        function(**arguments)


@pytest.mark.parametrize(
    "call",
    [
        lambda: hafnian_by_matchings(np.eye(16)),
        lambda: hafnian_by_matchings([[1]], repeats=[10**9]),
        lambda: loop_hafnian_by_matchings(np.eye(14)),
        lambda: loop_hafnian_by_matchings([[1]], repeats=[10**9]),
        lambda: hafnian_exact(np.eye(25)),
        lambda: loop_hafnian_exact([[1]], repeats=[10**9]),
        lambda: hafnian_majorant(np.eye(25)),
        lambda: loop_hafnian_majorant(np.eye(25)),
        lambda: hafnian_kan(np.eye(22)),
        lambda: loop_hafnian_kan([[1]], repeats=[10**9]),
        lambda: hafnian_numpy(np.eye(25)),
        lambda: loop_hafnian_numpy([[1]], repeats=[10**9]),
    ],
)
def test_work_without_end_is_refused_with_its_cost(call):
    with pytest.raises(ValueError, match=r"^(loop_)?hafnian_\w+: at most \d+ .* this input has \d+\."):
        call()
