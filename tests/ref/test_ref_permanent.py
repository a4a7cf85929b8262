"""The reference permanents: known answers first, then two routes to one number."""

import ast
import math
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gbsjax_ref
from gbsjax_ref import (
    ExactComplex,
    permanent_by_permutations,
    permanent_condition,
    permanent_exact,
    permanent_glynn,
    permanent_minors_exact,
    permanent_mpmath,
    permanent_ryser,
)

UNIT = 2.0**-53
DIGITS = 40
EXACT = [permanent_by_permutations, permanent_exact]
FLOAT = [permanent_glynn, permanent_ryser]
TWO_MODES = [[0.308549, 0.350677], [0.350677, 0.398558]]


def fortieth_digits(matrix, *, rows=None, cols=None):
    return permanent_mpmath(matrix, DIGITS, rows=rows, cols=cols)


ALL = [*EXACT, fortieth_digits, *FLOAT]
COUNTED = [permanent_exact, fortieth_digits]

# matrix, its permanent counted by hand
KNOWN = {
    "empty": (np.empty((0, 0)), 1),
    "empty list": ([], 1),
    "one entry": ([[-2.5]], -2.5),
    "ones 4": (np.ones((4, 4)), 24),
    "ones 8": (np.ones((8, 8), dtype=complex), 40320),
    "identity": (np.eye(5), 1),
    "derangements of 6": (np.ones((6, 6)) - np.eye(6), 265),
    "menage of 5": (np.ones((5, 5)) - np.eye(5) - np.roll(np.eye(5), 1, axis=1), 13),
    "zero by cancellation": ([[1.0, 1.0], [1.0, -1.0]], 0),
    "zero column": (np.array([[1.0, 0.0], [2.0, 0.0]]), 0),
    "two by two": ([[1 + 2j, 3.0], [-1j, 0.5]], 0.5 - 2j),
    "imaginary": (1j * np.ones((3, 3)), -6j),
    # 1 (3 8 + 5 6) + 2 (3 7 + 4 6), the first entry being zero
    "integers": (np.arange(9).reshape(3, 3), 144),
    "booleans": (np.ones((3, 3), dtype=bool), 6),
}


def random_matrix(n, seed, kind=complex):
    rng = np.random.default_rng([n, seed])
    real = rng.normal(size=(n, n))
    return real if kind is float else real + 1j * rng.normal(size=(n, n))


def exact(value):
    return ExactComplex(Fraction(complex(value).real), Fraction(complex(value).imag))


def row_sum_bound(matrix, terms):
    """Relative rounding bound of a signed sum of products of row sums: (3 n + terms) u sum|terms| / |perm|."""
    n = len(matrix)
    moduli = np.abs(np.asarray(matrix)).sum(axis=1).prod()
    # 2 sqrt(2) for complex products; a block is summed pairwise, but the bound takes it one by one.
    return 3 * (3 * n + terms) * UNIT * moduli / abs(complex(permanent_exact(matrix)))


small_integers = st.integers(1, 4).flatmap(
    lambda n: st.lists(
        st.lists(st.builds(complex, st.integers(-9, 9), st.integers(-9, 9)), min_size=n, max_size=n),
        min_size=n,
        max_size=n,
    )
)


@st.composite
def counted_matrices(draw):
    matrix = draw(small_integers)
    n, total = len(matrix), draw(st.integers(0, 6))

    def counts():
        modes = draw(st.lists(st.integers(0, n - 1), min_size=total, max_size=total))
        return np.bincount(np.array(modes, dtype=int), minlength=n)

    return matrix, counts(), counts()


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(function, name):
    matrix, answer = KNOWN[name]
    error = exact(answer).relative_error(function(matrix))
    assert error <= (0 if function not in FLOAT else 50 * UNIT)


@pytest.mark.parametrize("function", COUNTED)
def test_170_photons_in_one_mode(function):
    value = function([[1.0]], rows=[170], cols=[170])
    assert ExactComplex(Fraction(math.factorial(170))).relative_error(value) < 10.0**-DIGITS


@pytest.mark.parametrize("function", COUNTED)
def test_sixteen_photons_in_each_of_two_modes(function):
    value = function(TWO_MODES, rows=[16, 16], cols=[16, 16])
    assert exact(7.19803013830192427e20).relative_error(value) < 4e-15


def test_sixteen_photons_to_every_digit_that_is_written_down():
    # The 18 digits belong to the decimals, not to the nearest floats.
    decimals = [[Fraction(str(entry)) for entry in row] for row in TWO_MODES]
    value = permanent_exact(decimals, rows=[16, 16], cols=[16, 16])
    assert value.relative_error(Fraction("7.19803013830192427e20")) < 1e-17


@pytest.mark.parametrize("n", [12, 14])
def test_factorials(n):
    assert permanent_exact(np.ones((n, n))) == ExactComplex(Fraction(math.factorial(n)))


@pytest.mark.parametrize("n", range(1, 8))
@pytest.mark.parametrize("kind", [float, complex])
def test_every_route_on_random_matrices(n, kind):
    matrix = random_matrix(n, 0, kind)
    truth = permanent_by_permutations(matrix)
    assert permanent_exact(matrix) == truth
    assert truth.relative_error(fortieth_digits(matrix)) < 10.0**-DIGITS
    assert truth.relative_error(permanent_glynn(matrix)) < row_sum_bound(matrix, 2 ** (n - 1))
    assert truth.relative_error(permanent_ryser(matrix)) < 2**n * row_sum_bound(matrix, 2**n)


@pytest.mark.parametrize("kind", [float, complex])
def test_recurrence_and_glynn_at_twelve(kind):
    matrix = random_matrix(12, 1, kind)
    assert permanent_exact(matrix).relative_error(permanent_mpmath(matrix, 60)) < 1e-60


@settings(max_examples=100, deadline=None)
@given(small_integers)
def test_integer_matrices(matrix):
    truth = permanent_by_permutations(matrix)
    assert permanent_exact(matrix) == truth
    assert truth.relative_error(fortieth_digits(matrix)) <= 10.0**-DIGITS
    assert permanent_exact(np.transpose(matrix)) == truth


@settings(max_examples=100, deadline=None)
@given(counted_matrices())
def test_counts_are_repeated_rows_and_columns(case):
    matrix, rows, cols = case
    written_out = np.repeat(np.repeat(np.array(matrix), rows, axis=0), cols, axis=1)
    truth = permanent_by_permutations(written_out)
    assert permanent_exact(matrix, rows=rows, cols=cols) == truth
    assert permanent_by_permutations(matrix, rows=rows, cols=cols) == truth
    assert truth.relative_error(fortieth_digits(matrix, rows=rows, cols=cols)) <= 10.0**-DIGITS
    # Floats round in proportion to the row sums; Ryser's 2^N terms each reach their product (N <= 6).
    bound = 1000 * UNIT * 2 ** len(written_out) * float(np.abs(written_out).sum(axis=1).prod())
    for function in FLOAT:
        assert abs(complex(truth) - function(matrix, rows=rows, cols=cols)) <= bound


@pytest.mark.parametrize(("rows", "cols"), [([3, 0, 1], [1, 1, 2]), ([2, 2, 2], [6, 0, 0]), ([0, 0, 0], [0, 0, 0])])
def test_counts_on_either_side(rows, cols):
    matrix = random_matrix(3, 2)
    truth = permanent_by_permutations(matrix, rows=rows, cols=cols)
    assert permanent_exact(matrix, rows=rows, cols=cols) == truth
    assert permanent_exact(matrix.T, rows=cols, cols=rows) == truth
    assert truth.relative_error(fortieth_digits(matrix, rows=rows, cols=cols)) < 10.0**-DIGITS


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("kind", [float, complex])
def test_minors_are_permanents_of_what_is_left(n, kind):
    matrix = random_matrix(n, 3, kind)
    minors = permanent_minors_exact(matrix)
    for i, j in np.ndindex(n, n):
        left = np.delete(np.delete(matrix, i, axis=0), j, axis=1)
        assert minors[i, j] == permanent_by_permutations(left)


def test_minors_at_twelve_expand_the_permanent_along_any_row():
    matrix = random_matrix(12, 4, float)
    minors = permanent_minors_exact(matrix)
    truth = permanent_exact(matrix).real
    for row, line in zip(matrix.tolist(), minors, strict=True):
        assert sum(Fraction(entry) * minor.real for entry, minor in zip(row, line, strict=True)) == truth


def test_minors_of_nothing():
    assert permanent_minors_exact(np.empty((0, 0))).shape == (0, 0)


def test_derivative_with_counts_is_one_photon_less():
    matrix, rows, cols = random_matrix(2, 5, float), np.array([3, 2]), np.array([4, 1])
    step = Fraction(1, 2**400)
    exactly = [[Fraction(entry) for entry in row] for row in matrix.tolist()]
    shifted = [[exactly[0][0] + step, exactly[0][1]], exactly[1]]
    difference = (
        permanent_exact(shifted, rows=rows, cols=cols).real - permanent_exact(exactly, rows=rows, cols=cols).real
    )
    fewer = permanent_exact(exactly, rows=rows - [1, 0], cols=cols - [1, 0]).real
    assert ExactComplex(3 * 4 * fewer).relative_error(difference / step) < 1e-100


def test_condition_by_hand():
    # Signs (1, 1, 1) give 27, the three others 1 each: 30 / 4 over 3! is 5/4.
    assert permanent_condition(np.ones((3, 3))) == 1.25
    assert permanent_condition(np.ones((1, 1))) == permanent_condition(np.empty((0, 0))) == 1.0


@pytest.mark.parametrize("kind", [float, complex])
def test_condition_is_the_plain_sum_of_moduli(kind):
    matrix = random_matrix(6, 6, kind)
    signs = np.array([[1.0, *(1.0 - 2.0 * ((word >> np.arange(5)) & 1))] for word in range(32)])
    moduli = np.abs(signs @ matrix.T).prod(axis=1).sum() / 32
    assert permanent_condition(matrix) == pytest.approx(moduli / abs(complex(permanent_exact(matrix))), rel=1e-12)


def test_condition_under_scaling():
    matrix = random_matrix(5, 7)
    scale = 2.0 ** np.array([3, -300, 200, 0, 1])
    kappa = permanent_condition(matrix)
    assert permanent_condition(scale[:, None] * matrix) == pytest.approx(kappa, rel=1e-15)
    assert permanent_condition(matrix * scale) > 1e6 * kappa


def test_condition_of_zero_and_of_nearly_zero():
    assert permanent_condition([[1.0, 1.0], [1.0, -1.0]]) == math.inf
    # perm = w = 2^-40 out of the terms 2 w and 0, halved: nothing cancels.
    assert permanent_condition([[1.0, 1.0], [-1.0, 1.0 + 2.0**-40]]) == 1.0
    # perm = w again, out of terms near -3/4 and +3/4, halved.
    assert permanent_condition([[1.0, 0.5], [-1.0, 0.5 + 2.0**-40]]) > 2.0**38


def test_condition_with_counts_is_that_of_the_repeated_matrix():
    matrix, rows, cols = random_matrix(3, 8), [3, 1, 2], [2, 4, 0]
    written_out = np.repeat(np.repeat(matrix, rows, axis=0), cols, axis=1)
    assert permanent_condition(matrix, rows=rows, cols=cols) == pytest.approx(
        permanent_condition(written_out), rel=1e-15
    )


def test_glynn_keeps_the_digits_that_ryser_loses():
    ones = np.ones((18, 18))
    truth = ExactComplex(Fraction(math.factorial(18)))
    assert truth.relative_error(permanent_glynn(ones)) < 5e-12
    assert truth.relative_error(permanent_ryser(ones)) > 1000 * truth.relative_error(permanent_glynn(ones))


def test_mpmath_digits_survive_cancellation():
    # perm = 2^-52 - 2^-900 out of terms near one.
    matrix = [[Fraction(1), Fraction(1)], [Fraction(1), Fraction(-1) + Fraction(1, 2**52) - Fraction(1, 2**900)]]
    assert permanent_exact(matrix).relative_error(permanent_mpmath(matrix, 300)) < 1e-300
    tiny = [[1.0, 1.0], [2.0**-1000 - 2.0**-1040, -(2.0**-1000)]]
    assert permanent_mpmath(tiny, 20) == -(mpmath.mpf(2) ** -1040)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_zero_is_exactly_zero_at_any_scale(scale):
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    matrix = scale * np.kron(np.eye(2), np.array([[1.0, 1.0], [1.0, -1.0]]))
    assert not permanent_exact(matrix)
    assert permanent_mpmath(matrix, 15) == 0
    assert permanent_exact(scale * hadamard).relative_error(permanent_mpmath(scale * hadamard, 30)) < 1e-30


@pytest.mark.parametrize("precision", [5, 15, 200])
def test_mpmath_heeds_and_changes_no_global_precision(precision):
    matrix = random_matrix(4, 9)
    truth = permanent_exact(matrix)
    with mpmath.workdps(precision):
        assert truth.relative_error(permanent_mpmath(matrix, 50)) < 1e-50
        assert truth.relative_error(permanent_glynn(matrix)) > 0
        assert mpmath.mp.dps == precision


@pytest.mark.parametrize("function", ALL)
def test_real_in_real_out(function):
    real, imaginary = function(random_matrix(3, 10, float)), function(random_matrix(3, 10, float).astype(complex))
    expected = {fortieth_digits: (mpmath.mpf, mpmath.mpc)}.get(function, (np.float64, np.complex128))
    if function in EXACT:
        expected = (ExactComplex, ExactComplex)
    assert type(real) is expected[0]
    assert type(imaginary) is expected[1]
    # One value, though the products of complex numbers round differently.
    assert complex(real) == pytest.approx(complex(imaginary), rel=100 * UNIT)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.int8, np.uint64])
def test_every_dtype_is_taken_exactly(dtype):
    matrix = (7 * np.abs(random_matrix(4, 11, float))).astype(dtype)
    by_fraction = [[Fraction(*entry.real.item().as_integer_ratio()) for entry in row] for row in matrix]
    assert permanent_exact(matrix) == permanent_by_permutations(by_fraction)


def test_small_integers_do_not_wrap():
    assert permanent_exact(np.full((10, 10), 127, dtype=np.int8)).real == 127**10 * math.factorial(10)
    assert permanent_exact([[2**70, 0], [0, Fraction(1, 3)]]).real == Fraction(2**70, 3)


def test_mpmath_entries():
    with mpmath.workdps(50):
        matrix = [[mpmath.sqrt(2), mpmath.mpc(0, 1)], [1, mpmath.sqrt(2)]]
        assert abs(permanent_mpmath(matrix, 45) - mpmath.mpc(2, 1)) < mpmath.mpf(10) ** -45


@pytest.mark.parametrize("function", FLOAT)
def test_beyond_the_range_of_float64(function):
    huge = np.array([[1e200, 0.0], [0.0, -1e200]])
    assert float(permanent_exact(huge)) == -math.inf
    assert permanent_mpmath(huge, 20) < -(mpmath.mpf(10) ** 399)
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.isfinite(function(huge))


def test_subnormal_entries_are_exact():
    assert permanent_exact([[5e-324]], rows=[2], cols=[2]).real == 2 * Fraction(1, 2**2148)


@settings(deadline=None)
@given(st.fractions(), st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e3, 1e3))
def test_relative_error_is_exact(truth, high, low):
    value = Fraction(high) + Fraction(low)
    error = ExactComplex(truth).relative_error(high, low)
    if truth == 0:
        assert error == (math.inf if value else 0.0)
    else:
        expected = abs(value - truth) / abs(truth)
        if expected > Fraction(sys.float_info.max):
            assert error >= sys.float_info.max
        else:
            assert abs(error - float(expected)) <= 2 * math.ulp(float(expected))


def test_relative_error_by_hand():
    truth = ExactComplex(Fraction(3), Fraction(4))
    assert truth.relative_error(3 + 4j) == 0.0
    assert truth.relative_error(np.complex64(3 + 3j)) == 0.2
    assert truth.relative_error(np.array(3.0), 4j) == 0.0
    assert ExactComplex(Fraction(1)).relative_error(1.0, 2.0**-400) == 2.0**-400
    assert ExactComplex(Fraction(0)).relative_error(0.0) == 0.0
    assert ExactComplex(Fraction(0)).relative_error(5e-324) == math.inf
    assert truth.relative_error(math.nan) == truth.relative_error(complex(3, math.inf)) == math.inf
    assert truth.relative_error(mpmath.inf) == truth.relative_error(mpmath.nan) == math.inf
    assert truth.relative_error(mpmath.mpc(3, -mpmath.inf)) == truth.relative_error(np.float32("nan")) == math.inf


@pytest.mark.parametrize("value", [np.ones(2), "1", None])
def test_relative_error_refuses_what_is_no_number(value):
    with pytest.raises(TypeError, match="must be numbers"):
        ExactComplex(Fraction(1)).relative_error(value)


def test_rounding_to_floats_and_to_digits():
    third = ExactComplex(Fraction(1, 3), Fraction(-2, 3))
    assert complex(third) == complex(1 / 3, -2 / 3)
    # A tie goes to even, a hair above it goes up.
    tie = 1 + Fraction(1, 2**53)
    assert float(ExactComplex(tie)) == 1.0
    assert float(ExactComplex(tie + Fraction(1, 2**2000))) == 1.0 + 2.0**-52
    assert float(ExactComplex(Fraction(3, 2**1075))) == 2.0**-1073
    with mpmath.workdps(70):
        assert abs(third.to_mpc(60) - mpmath.mpc(1, -2) / 3) < mpmath.mpf(10) ** -60
    with pytest.raises(ValueError, match="ExactComplex"):
        float(third)


BAD = [
    ({"matrix": np.ones((2, 3))}, ValueError, r"shape \(n, n\), got \(2, 3\)"),
    ({"matrix": [[1, 2], [3]]}, ValueError, r"shape \(n, n\)"),
    ({"matrix": np.ones(4)}, ValueError, r"shape \(n, n\), got \(4,\)"),
    ({"matrix": 3.0}, ValueError, r"shape \(n, n\), got \(\)"),
    ({"matrix": np.ones((1, 2, 2))}, ValueError, r"got \(1, 2, 2\)"),
    ({"matrix": [[1.0, math.nan], [1.0, 1.0]]}, ValueError, r"finite, got nan at \[0, 1\]"),
    ({"matrix": np.array([[1.0, 1.0], [1.0, -np.inf]])}, ValueError, r"finite, got -inf at \[1, 1\]"),
    ({"matrix": np.array([[complex(0, math.inf)]])}, ValueError, "finite"),
    ({"matrix": [["1"]]}, TypeError, r"numbers, got str at \[0, 0\]"),
    (
        {"matrix": np.eye(2), "rows": [1, -1], "cols": [0, 0]},
        ValueError,
        r"rows must be whole numbers, .*got \[1, -1\]",
    ),
    ({"matrix": np.eye(2), "rows": [1, 1], "cols": [0.5, 1.5]}, ValueError, "cols must be whole numbers"),
    ({"matrix": np.eye(2), "rows": [1, math.nan]}, ValueError, "rows must be whole numbers"),
    ({"matrix": np.eye(2), "rows": [2, 1]}, ValueError, "equal sums, got 3 and 2"),
    ({"matrix": np.eye(2), "cols": [1, 1, 0]}, ValueError, r"cols must have shape \(2,\), got \(3,\)"),
    ({"matrix": np.eye(2), "cols": ["a", "b"]}, TypeError, "cols must be integers"),
]


@pytest.mark.parametrize("function", [*ALL, permanent_condition])
@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input(function, arguments, error, message):
    name = "permanent_mpmath" if function is fortieth_digits else function.__name__
    with pytest.raises(error, match=f"^{name}: .*{message}"):
        function(**arguments)


@pytest.mark.parametrize(("arguments", "error", "message"), [case for case in BAD if len(case[0]) == 1])
def test_bad_input_to_the_minors(arguments, error, message):
    with pytest.raises(error, match=f"^permanent_minors_exact: .*{message}"):
        permanent_minors_exact(**arguments)


@pytest.mark.parametrize(
    "call",
    [
        lambda: permanent_by_permutations(np.eye(10)),
        lambda: permanent_by_permutations([[1]], rows=[10**9], cols=[10**9]),
        lambda: permanent_exact(np.eye(25)),
        lambda: permanent_exact([[1]], rows=[10**9], cols=[10**9]),
        lambda: permanent_minors_exact(np.eye(21)),
        lambda: permanent_mpmath(np.eye(25), 20),
        lambda: permanent_condition(np.eye(25)),
        lambda: permanent_glynn(np.eye(31)),
        lambda: permanent_ryser(np.eye(31)),
    ],
)
def test_work_without_end_is_refused_with_its_cost(call):
    with pytest.raises(ValueError, match=r"^permanent_\w+: at most \d+ .* this input has \d+\."):
        call()


def test_mpmath_needs_digits():
    with pytest.raises(ValueError, match="permanent_mpmath: dps must be 1 or more, got 0"):
        permanent_mpmath(np.eye(2), 0)


def test_the_reference_imports_nothing_that_it_judges():
    allowed = {"mpmath", "numpy", *sys.stdlib_module_names}
    for path in Path(gbsjax_ref.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules.append(node.module or "")
            assert {module.split(".")[0] for module in modules} <= allowed, path.name
