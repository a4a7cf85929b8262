"""The reference torontonians: closed forms first, then two routes to one number."""

import math
from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pytest

from gbsjax_ref import (
    ExactComplex,
    cond_identity_minus,
    loop_torontonian_by_subsets,
    loop_torontonian_condition,
    loop_torontonian_mpmath,
    loop_torontonian_numpy,
    torontonian_by_subsets,
    torontonian_condition,
    torontonian_mpmath,
    torontonian_numpy,
)

UNIT = 2.0**-53
DIGITS = 40


def fortieth_digits(matrix):
    return torontonian_mpmath(matrix, dps=DIGITS)


def loop_fortieth_digits(matrix, gamma):
    return loop_torontonian_mpmath(matrix, gamma, dps=DIGITS)


def ninety_digits(matrix):
    # Half of them may go: no known answer cancels to less than 1e-45 of its terms.
    return torontonian_by_subsets(matrix, dps=90)


def loop_ninety_digits(matrix, gamma):
    return loop_torontonian_by_subsets(matrix, gamma, dps=90)


MANY_DIGITS = [fortieth_digits, ninety_digits]
LOOP_MANY_DIGITS = [loop_fortieth_digits, loop_ninety_digits]
TORONTONIANS = [*MANY_DIGITS, torontonian_numpy]
LOOP_TORONTONIANS = [*LOOP_MANY_DIGITS, loop_torontonian_numpy]
CONDITIONS = [torontonian_condition, loop_torontonian_condition]


def squeezed(*tanhs):
    """Single-mode squeezed vacua."""
    m, zero = len(tanhs), Fraction(0)
    return [[tanhs[i % m] if abs(i - j) == m else zero for j in range(2 * m)] for i in range(2 * m)]


def two_mode_squeezed(tanh):
    matrix = [[Fraction(0)] * 4 for _ in range(4)]
    for i, j in [(0, 3), (1, 2), (2, 1), (3, 0)]:
        matrix[i][j] = tanh
    return matrix


def thermal(*numbers):
    m = len(numbers)
    return [
        [Fraction(numbers[i % m]) / (1 + Fraction(numbers[i % m])) if i == j else 0 for j in range(2 * m)]
        for i in range(2 * m)
    ]


# matrix, its torontonian from the click probability of the state
KNOWN = {
    "no modes": (np.empty((0, 0)), 1),
    "empty list": ([], 1),
    "vacuum": (np.zeros((2, 2)), 0),
    "one mode": (np.diag([0.25, 0.25]), Fraction(1, 3)),
    "one mode, complex": (np.diag([0.75 + 0j, 0.75]), 3),
    **{f"one mode of {a}": (np.diag([a, a]), Fraction(a) / (1 - Fraction(a))) for a in (1e-12, 1e-13, 1e-14, 1e-15)},
    "thermal": (thermal(1, 2, 3), 6),
    "thermal, dark and bright": (thermal(Fraction(1, 1000), 1000, Fraction(1, 7)), Fraction(1, 7)),
    "squeezed": (squeezed(Fraction(3, 5)), Fraction(1, 4)),
    "squeezed the other way": (squeezed(Fraction(-4, 5)), Fraction(2, 3)),
    "two squeezed": (squeezed(Fraction(3, 5), Fraction(4, 5)), Fraction(1, 4) * Fraction(2, 3)),
    "two-mode squeezed": (two_mode_squeezed(Fraction(3, 5)), Fraction(9, 16)),
    "squeezed at an angle": ([[0, 0.6j], [-0.6j, 0]], 1 / math.sqrt(1 - 0.6**2) - 1),
    "a mode in the vacuum": (np.diag([0.5, 0.0, 0.5, 0.0]), 0),
}
# matrix, gamma, loop torontonian; exp of
LOOP_KNOWN = {
    "no modes": ([], [], lambda: mpmath.mpf(1)),
    "coherent": (np.zeros((2, 2)), [1 + 1j, 1 - 1j], lambda: mpmath.exp(2) - 1),
    "two coherent": (
        np.zeros((4, 4)),
        [0.5, 2j, 0.5, -2j],
        lambda: (mpmath.exp(0.25) - 1) * (mpmath.exp(4) - 1),
    ),
    "unpaired gamma": (np.zeros((2, 2)), [1, 2j], lambda: mpmath.exp(2.5) - 1),
    "displaced thermal": (thermal(3), [0.5j, -0.5j], lambda: 4 * mpmath.exp(1) - 1),
    # (I - O)^-1 is [[1, t], [t, 1]] / (1 - t^2) with t = 3/5: g^2 (1 + t) / (1 - t^2) is 5/2 for g = 1, 5/8 for i
    "squeezed, displaced along": (squeezed(Fraction(3, 5)), [1, 1], lambda: 5 * mpmath.exp(2.5) / 4 - 1),
    "squeezed, displaced across": (squeezed(Fraction(3, 5)), [1j, -1j], lambda: 5 * mpmath.exp(0.625) / 4 - 1),
    # gamma^T (I - O)^-1 conj(gamma) is (1 + 1 + 2 Re(gamma_0 O_01 conj(gamma_1))) 25/16: 25/8, then 5, where
    # the conjugate of gamma would have 5/4.
    "squeezed at an angle": (
        [[0, Fraction(3, 5)], [Fraction(3, 5), 0]],
        [1j, 1],
        lambda: 5 * mpmath.exp(mpmath.mpf(25) / 16) / 4 - 1,
    ),
    "squeezed at a right angle": (
        [[0, ExactComplex(Fraction(0), Fraction(3, 5))], [ExactComplex(Fraction(0), Fraction(-3, 5)), 0]],
        [1, 1j],
        lambda: 5 * mpmath.exp(2.5) / 4 - 1,
    ),
    "no displacement": (thermal(1, 2, 3), [0] * 6, lambda: mpmath.mpf(6)),
    "a mode in the vacuum": (np.zeros((4, 4)), [1, 0, 1, 0], lambda: mpmath.mpf(0)),
}


def gaussian_state(m, seed, kind=complex, squeezing=0.8, transmission=0.6):
    """O and gamma of squeezed, displaced light behind a lossy interferometer, from its moments."""
    rng = np.random.default_rng([m, seed])
    normal = rng.normal(size=(m, m))
    unitary = np.linalg.qr(normal if kind is float else normal + 1j * rng.normal(size=(m, m)))[0]
    r = squeezing * rng.uniform(0.5, 1, size=m)
    transfer = math.sqrt(transmission) * unitary
    photons = transfer.conj().T @ np.diag(np.sinh(r) ** 2) @ transfer
    pairs = transfer.T @ np.diag(np.sinh(r) * np.cosh(r)) @ transfer
    identity = np.eye(m)
    husimi = np.block([[identity + photons.T, pairs], [pairs.conj(), identity + photons]])
    inverse = np.linalg.inv(husimi)
    inverse = (inverse + inverse.conj().T) / 2
    alpha = rng.normal(size=m) * 0.5 + (0 if kind is float else 0.5j) * rng.normal(size=m)
    beta = np.concatenate([alpha, alpha.conj()])
    return np.eye(2 * m) - inverse, beta.conj() @ inverse


def relative(value, truth):
    with mpmath.workdps(60):
        return float(abs(value / truth - 1)) if truth else float(abs(value))


def rounding_bound(matrix, kappa):
    """Relative error of a float64 sum of subset determinants: backward errors of 2m rows, conditioning, kappa."""
    return 10 * len(matrix) * UNIT * cond_identity_minus(matrix) * kappa


def modes(matrix, subset):
    rows = [*subset, *(k + len(matrix) // 2 for k in subset)]
    return matrix[np.ix_(rows, rows)], rows


@pytest.mark.parametrize("function", MANY_DIGITS)
@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(function, name):
    matrix, answer = KNOWN[name]
    # The angle's answer is a float; the others are exact.
    bound = 4 * UNIT if isinstance(answer, float) else 10.0**-DIGITS
    assert ExactComplex(Fraction(answer)).relative_error(function(matrix)) < bound


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers_in_floats(name):
    matrix, answer = KNOWN[name]
    value = torontonian_numpy(matrix)
    if answer:
        # 1 - a has lost what kappa says.
        error = ExactComplex(Fraction(answer)).relative_error(value)
        assert error <= rounding_bound(matrix, torontonian_condition(matrix))
    else:
        assert value == 0


@pytest.mark.parametrize("function", LOOP_TORONTONIANS)
@pytest.mark.parametrize("name", LOOP_KNOWN)
def test_known_loop_answers(function, name):
    matrix, gamma, answer = LOOP_KNOWN[name]
    with mpmath.workdps(60):
        truth = answer()
    if function is loop_torontonian_numpy:
        bound = rounding_bound(matrix, min(loop_torontonian_condition(matrix, gamma), 1e3)) if len(matrix) else UNIT
    else:
        bound = 10.0**-DIGITS
    assert relative(function(matrix, gamma), truth) <= bound


@pytest.mark.parametrize("m", range(1, 6))
@pytest.mark.parametrize("kind", [float, complex])
def test_every_route_on_random_states(m, kind):
    matrix, gamma = gaussian_state(m, 0, kind)
    truth, loop_truth = torontonian_mpmath(matrix, dps=60), loop_torontonian_mpmath(matrix, gamma, dps=60)
    assert relative(fortieth_digits(matrix), truth) < 10.0**-DIGITS
    assert relative(loop_fortieth_digits(matrix, gamma), loop_truth) < 10.0**-DIGITS
    assert relative(ninety_digits(matrix), truth) < 1e-55
    assert relative(loop_ninety_digits(matrix, gamma), loop_truth) < 1e-55
    assert relative(torontonian_numpy(matrix), truth) < rounding_bound(matrix, torontonian_condition(matrix))
    kappa = loop_torontonian_condition(matrix, gamma)
    assert relative(loop_torontonian_numpy(matrix, gamma), loop_truth) < rounding_bound(matrix, kappa)


@pytest.mark.parametrize("m", [3, 5])
def test_the_probabilities_of_all_patterns_add_up(m):
    # Sum over S of tor(O_S) is 1 / sqrt(det(I - O)), with gamma times exp(gamma^T (I - O)^-1 conj(gamma) / 2).
    matrix, gamma = gaussian_state(m, 1)
    with mpmath.workdps(60):
        total = loop_total = mpmath.mpf(0)
        for size in range(m + 1):
            for subset in combinations(range(m), size):
                block, rows = modes(matrix, subset)
                total += torontonian_mpmath(block, dps=50)
                loop_total += loop_torontonian_mpmath(block, gamma[rows], dps=50)
        difference = mpmath.eye(2 * m) - mpmath.matrix(matrix.tolist())
        norm = 1 / mpmath.sqrt(mpmath.det(difference).real)
        column = mpmath.matrix(gamma.tolist())
        exponent = (column.T * mpmath.inverse(difference) * column.conjugate())[0].real / 2
        assert relative(total, norm) < 1e-48
        assert relative(loop_total, norm * mpmath.exp(exponent)) < 1e-48


@pytest.mark.parametrize("function", MANY_DIGITS)
def test_independent_modes_multiply(function):
    one, two = gaussian_state(2, 2)[0], gaussian_state(1, 3)[0]
    matrix = np.zeros((6, 6), complex)
    for block, rows in [(one, [0, 1, 3, 4]), (two, [2, 5])]:
        matrix[np.ix_(rows, rows)] = block
    with mpmath.workdps(60):
        assert relative(function(matrix), function(one) * function(two)) < 1e-38


def test_modes_in_any_order():
    matrix, gamma = gaussian_state(4, 4)
    permuted, rows = modes(matrix, [2, 0, 3, 1])
    assert relative(fortieth_digits(permuted), fortieth_digits(matrix)) < 1e-39
    assert relative(loop_fortieth_digits(permuted, gamma[rows]), loop_fortieth_digits(matrix, gamma)) < 1e-39


def test_digits_survive_cancellation():
    # Ten modes of 1e-12 photons: terms near one, a value of 1e-120.
    a = Fraction(1e-12)
    truth = ExactComplex((a / (1 - a)) ** 10)
    matrix = np.diag([1e-12] * 20)
    assert truth.relative_error(torontonian_mpmath(matrix, dps=30)) < 1e-30
    assert torontonian_condition(matrix) == pytest.approx((2e12 - 1) ** 10, rel=1e-14)


def test_weak_light_has_the_digits_that_floats_lose():
    matrix, _ = gaussian_state(4, 5, squeezing=0.1, transmission=0.5)
    truth = ninety_digits(matrix)
    assert relative(fortieth_digits(matrix), truth) < 10.0**-DIGITS
    assert relative(torontonian_numpy(matrix), truth) > 1e-12
    assert torontonian_condition(matrix) > 1e6


def test_zero_is_exactly_zero():
    # Subset determinants 1, 1/4, 4 and 4/9: the terms 1 - 2 - 1/2 + 3/2 cancel, no two of them equal.
    c = Fraction(5, 3)
    difference = [[1, c, 0, 0], [c, 5, 0, 0], [0, 0, Fraction(1, 4), 0], [0, 0, 0, Fraction(4, 5)]]
    matrix = [[(i == j) - entry for j, entry in enumerate(row)] for i, row in enumerate(difference)]
    assert torontonian_mpmath(matrix) == 0
    assert loop_torontonian_mpmath(matrix, [0] * 4) == 0
    assert torontonian_condition(matrix) == math.inf
    # A hair off, narrower than what makes the sum suspect: not zero, nor with a hair of gamma.
    matrix[3][3] += Fraction(1, 2**9000)
    assert 0 < abs(torontonian_mpmath(matrix, dps=5)) < mpmath.mpf(2) ** -8998
    matrix[3][3] -= Fraction(1, 2**9000)
    assert 0 < abs(loop_torontonian_mpmath(matrix, [0, 0, Fraction(1, 2**5000), 0], dps=5)) < mpmath.mpf(2) ** -9995


def test_conditions_by_hand():
    # 1 / (1 - a) with and against 1; coth(1/2) of exp(1) + 1 over exp(1) - 1.
    assert torontonian_condition(np.diag([0.25, 0.25])) == 7.0
    assert torontonian_condition([]) == loop_torontonian_condition([], []) == 1.0
    assert torontonian_condition(np.zeros((4, 4))) == math.inf
    assert loop_torontonian_condition(np.zeros((2, 2)), [1, 1]) == pytest.approx(1 / math.tanh(0.5), rel=4 * UNIT)


@pytest.mark.parametrize("kind", [float, complex])
def test_conditions_are_plain_sums(kind):
    matrix, gamma = gaussian_state(3, 6, kind)
    plain = loop_plain = 0.0
    for subset in [s for size in range(4) for s in combinations(range(3), size)]:
        block, rows = modes(np.eye(6) - matrix, subset)
        term = 1 / math.sqrt(np.linalg.det(block).real)
        plain += term
        loop_plain += term * math.exp((gamma[rows] @ np.linalg.inv(block) @ gamma[rows].conj()).real / 2)
    assert torontonian_condition(matrix) == pytest.approx(plain / float(fortieth_digits(matrix)), rel=1e-12)
    expected = loop_plain / float(loop_fortieth_digits(matrix, gamma))
    assert loop_torontonian_condition(matrix, gamma) == pytest.approx(expected, rel=1e-12)


def test_cond_identity_minus():
    assert cond_identity_minus(np.diag([0.5, 0.0])) == 2.0
    assert cond_identity_minus([]) == 1.0
    # tanh = 3/5: eigenvalues 1 +- 3/5.
    assert cond_identity_minus(squeezed(Fraction(3, 5))) == 4.0
    assert cond_identity_minus([[0, 1 - Fraction(1, 2**200)], [1 - Fraction(1, 2**200), 0]]) == 2.0**201
    matrix, _ = gaussian_state(3, 7)
    assert cond_identity_minus(matrix) == pytest.approx(np.linalg.cond(np.eye(6) - matrix), rel=1e-12)


@pytest.mark.parametrize("precision", [5, 15, 200])
def test_no_global_precision_is_heeded_or_changed(precision):
    matrix, gamma = gaussian_state(2, 8)
    truth, loop_truth, cond = fortieth_digits(matrix), loop_fortieth_digits(matrix, gamma), cond_identity_minus(matrix)
    with mpmath.workdps(precision):
        assert fortieth_digits(matrix) == truth
        assert loop_fortieth_digits(matrix, gamma) == loop_truth
        assert cond_identity_minus(matrix) == cond
        assert ninety_digits(matrix) != 0
        assert mpmath.mp.dps == precision


@pytest.mark.parametrize("function", TORONTONIANS)
def test_an_asymmetry_of_rounding_is_averaged(function):
    matrix = np.array([[0.5, 0.25j], [-0.25j * (1 + 2.0**-50), 0.5 + 2e-16j]])
    mean = [[0.5, 0.25j * (1 + 2.0**-51)], [-0.25j * (1 + 2.0**-51), 0.5]]
    assert relative(function(matrix), fortieth_digits(mean)) < (20 * UNIT if function is torontonian_numpy else 1e-39)


@pytest.mark.parametrize("function", TORONTONIANS)
def test_the_answer_is_real(function):
    matrix, gamma = gaussian_state(2, 9)
    loop_function = LOOP_TORONTONIANS[TORONTONIANS.index(function)]
    for value in (function(matrix), loop_function(matrix, gamma)):
        assert type(value) is (np.float64 if function is torontonian_numpy else mpmath.mpf)


# Half a minute for numba to compile.
@pytest.mark.full
def test_the_walrus_has_this_convention_of_gamma():
    walrus = pytest.importorskip("thewalrus", reason="thewalrus is not installed")
    matrix, gamma = gaussian_state(3, 10)
    kappa = torontonian_condition(matrix)
    assert relative(walrus.tor(matrix), fortieth_digits(matrix)) < rounding_bound(matrix, kappa)
    kappa = loop_torontonian_condition(matrix, gamma)
    assert relative(walrus.ltor(matrix, gamma), loop_fortieth_digits(matrix, gamma)) < rounding_bound(matrix, kappa)


@pytest.mark.full
def test_eleven_modes():
    matrix, gamma = gaussian_state(11, 11)
    truth = loop_fortieth_digits(matrix, gamma)
    kappa = loop_torontonian_condition(matrix, gamma)
    assert relative(loop_torontonian_numpy(matrix, gamma), truth) < rounding_bound(matrix, kappa)


BAD = [
    (np.ones((2, 3)), ValueError, r"shape \(n, n\), got \(2, 3\)"),
    (np.eye(3) / 2, ValueError, r"shape \(2m, 2m\), got \(3, 3\)"),
    (np.zeros((1, 2, 2)), ValueError, r"got \(1, 2, 2\)"),
    ([[0.5, math.nan], [0.0, 0.5]], ValueError, r"finite, got nan at \[0, 1\]"),
    (np.array([[0.5, 0.0], [0.0, -np.inf]]), ValueError, r"finite, got -inf at \[1, 1\]"),
    ([[0.5, "0"], [0, 0.5]], TypeError, r"numbers, got str at \[0, 1\]"),
    ([[0.5, 0.1], [0.2, 0.5]], ValueError, r"must be Hermitian, .* by 0\.2 of it"),
    (np.array([[0.5, 0.1j], [0.1j, 0.5]]), ValueError, "must be Hermitian"),
    (np.array([[0.5, 0.1], [0.1, 0.5 + 0.1j]]), ValueError, "must be Hermitian"),
]
UNPHYSICAL = [
    (np.diag([0.5, 1.25]), r"smallest eigenvalue is about -0\.25"),
    (np.diag([2.0, 0.5, 0.5, 0.5]), r"about -1\.0"),
    (np.diag([2.0, 2.0]), r"about -1\.0"),
    (np.eye(4), r"about 0\.0"),
    ([[0, 1.5j], [-1.5j, 0]], r"about -0\.5"),
    # Singular, but not in any single mode: decided exactly.
    (two_mode_squeezed(1), "smallest eigenvalue is about"),
]
DOORS = [
    *[(f, False) for f in (torontonian_mpmath, torontonian_by_subsets, torontonian_condition, cond_identity_minus)],
    *[(f, True) for f in (loop_torontonian_mpmath, loop_torontonian_by_subsets, loop_torontonian_condition)],
]
NUMPY_DOORS = [(torontonian_numpy, False), (loop_torontonian_numpy, True)]


@pytest.mark.parametrize(("function", "with_gamma"), [*DOORS, *NUMPY_DOORS])
@pytest.mark.parametrize(("matrix", "error", "message"), BAD)
def test_bad_input(function, with_gamma, matrix, error, message):
    arguments = [np.zeros(len(matrix))] if with_gamma else []
    with pytest.raises(error, match=f"^{function.__name__}: .*{message}"):
        function(matrix, *arguments)


@pytest.mark.parametrize(("function", "with_gamma"), DOORS)
@pytest.mark.parametrize(("matrix", "message"), UNPHYSICAL)
def test_unphysical_input(function, with_gamma, matrix, message):
    arguments = [np.zeros(len(matrix))] if with_gamma else []
    with pytest.raises(ValueError, match=f"^{function.__name__}: I - O must be positive definite.*{message}"):
        function(matrix, *arguments)


def test_unphysical_input_is_nan_in_floats():
    assert np.isnan(torontonian_numpy(np.diag([0.5, 1.25])))


@pytest.mark.parametrize(("function", "with_gamma"), [*DOORS, *NUMPY_DOORS])
def test_bad_gamma(function, with_gamma):
    if not with_gamma:
        return
    with pytest.raises(ValueError, match=rf"^{function.__name__}: gamma must have shape \(4,\), got \(2,\)"):
        function(np.eye(4) / 2, [1, 1])
    with pytest.raises(ValueError, match=rf"^{function.__name__}: gamma must be finite, got nan at \[1\]"):
        function(np.eye(2) / 2, [1, math.nan])


@pytest.mark.parametrize(
    ("function", "m"),
    [
        (torontonian_mpmath, 21),
        (torontonian_condition, 21),
        (torontonian_by_subsets, 11),
        (torontonian_numpy, 21),
    ],
)
def test_work_without_end_is_refused_with_its_cost(function, m):
    message = rf"{function.__name__}: at most \d+ mode subsets are enumerated, this input has {2**m}\."
    with pytest.raises(ValueError, match=f"^{message}"):
        function(np.zeros((2 * m, 2 * m)))
    loop_function = globals()[f"loop_{function.__name__}"]
    with pytest.raises(ValueError, match=f"^loop_{message}"):
        loop_function(np.zeros((2 * m, 2 * m)), np.zeros(2 * m))


@pytest.mark.parametrize("function", [torontonian_mpmath, torontonian_by_subsets])
def test_digits_are_needed(function):
    with pytest.raises(ValueError, match=f"^{function.__name__}: dps must be 1 or more, got 0"):
        function(np.eye(2) / 2, dps=0)
