"""Values: closed forms and counts first, then exact rationals."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs
from gbsjax import _scaling
from gbsjax.numbers import Planes
from tests.known import HEAVY, KNOWN

U = 2.0**-53


def budget(matrix: np.ndarray) -> float:
    """16 n u kappa, kappa of the balanced matrix; the reference has its signs on the columns, so transposed."""
    planes, _, _, _ = _scaling.equilibrate(Planes.of(jnp.asarray(matrix)), 0)
    return 16 * matrix.shape[0] * U * gbsjax_ref.permanent_condition(np.asarray(planes.array()).T)


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case.name)
def test_known_answers(case):
    value = gbsjax.permanent(case.matrix, rows=case.rows, cols=case.cols)
    assert value.dtype == case.matrix.dtype
    assert value.shape == ()
    error = abs(complex(value) - complex(case.permanent))
    # Integers below 100: kappa is at most about 60 here, and a zero comes out of terms of at most n^(n/2).
    assert error <= 1e-13 * max(abs(complex(case.permanent)), 1)


def test_heavy_collision():
    exact = gbsjax_ref.permanent_exact(HEAVY, rows=[16, 16], cols=[16, 16])
    # No subtraction: 32 photons, each a product and a sum.
    assert exact.relative_error(float(gbsjax.permanent(HEAVY, rows=[16, 16], cols=[16, 16]))) < 64 * U


@pytest.mark.parametrize("n", [20, pytest.param(22, marks=pytest.mark.full)])
def test_all_ones_keep_their_digits(n):
    value = float(gbsjax.permanent(np.ones((n, n))))
    # Ryser's formula gives 2.7e-6 at n = 22; kappa of Glynn's is 1200 there.
    assert abs(value / math.factorial(n) - 1) < 5e-12


@pytest.mark.parametrize("power", [40, -40])
def test_scaled_identity_loses_nothing(power):
    # The same value as the 24 x 24 identity times 2^40 or 2^-40, which the full tier has, in a compile half as long.
    value = float(gbsjax.permanent(np.eye(12) * 2.0 ** (2 * power)))
    assert value == 2.0 ** (24 * power)


@pytest.mark.full
@pytest.mark.parametrize("power", [40, -40])
def test_scaled_identity_of_24(power):
    assert float(gbsjax.permanent(np.eye(24) * 2.0**power)) == 2.0 ** (24 * power)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32, np.complex64])
def test_true_overflow_is_inf_and_not_nan(dtype):
    value = complex(
        gbsjax.permanent(np.eye(3, dtype=dtype) * dtype(1e30 if dtype in (np.float32, np.complex64) else 1e200))
    )
    assert value.real == math.inf
    assert value.imag == 0


def test_wide_range_within_a_row():
    # 2^-1050 relative to the row is no zero: the other column is as small, and the value is 2e290.
    assert float(gbsjax.permanent(np.array([[1e300, 1e-10], [1e300, 1e-10]]))) == pytest.approx(2e290, rel=4 * U)


def test_entries_at_both_ends_of_the_range():
    # 2^-1024 is no normal number: balancing the first row takes two steps.
    assert float(gbsjax.permanent(np.diag([1.7e308, 1e-300]))) == pytest.approx(1.7e308 * 1e-300, rel=4 * U)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtype_is_kept(dtype):
    matrix = _inputs.gaussian(_inputs.generator(3), 5, 5)
    matrix = (matrix.real if dtype.startswith("float") else matrix).astype(dtype)
    value = gbsjax.permanent(matrix)
    assert value.dtype == dtype
    unit = float(np.finfo(dtype).eps) / 2
    assert gbsjax_ref.permanent_exact(matrix).relative_error(complex(value)) < budget(matrix) * unit / U


FAMILIES = {
    "random": lambda rng, n: _inputs.gaussian(rng, n, n),
    "real": lambda rng, n: rng.normal(size=(n, n)),
    "unitary": _inputs.unitary,
    "lossy": _inputs.lossy,
    "badly scaled": _inputs.badly_scaled,
}


def errors_and_budgets(n: int, each: int) -> list[tuple[float, float]]:
    found = []
    for index, make in enumerate(FAMILIES.values()):
        matrices = np.stack([make(_inputs.generator(seed, n, index), n) for seed in range(each)])
        values = np.asarray(gbsjax.permanent(matrices))
        found += [
            (gbsjax_ref.permanent_exact(matrix).relative_error(value), budget(matrix))
            for matrix, value in zip(matrices, values.tolist(), strict=True)
        ]
    return found


def check(found: list[tuple[float, float]]) -> None:
    assert np.median([error for error, _ in found]) < 1e-14
    assert [pair for pair in found if pair[0] > pair[1]] == []


@pytest.mark.parametrize("n", [2, 5, 8])
def test_families_against_exact_rationals(n):
    check(errors_and_budgets(n, 4))


@pytest.mark.full
def test_500_matrices_against_exact_rationals():
    found = [pair for n in range(3, 13) for pair in errors_and_budgets(n, 10)]
    assert len(found) == 500
    check(found)


@pytest.mark.slow
def test_7000_small_matrices_against_exact_rationals():
    check([pair for n in range(2, 9) for pair in errors_and_budgets(n, 200)])


@pytest.mark.full
def test_batches_are_elementwise_in_chunks_too():
    matrices = _inputs.gaussian(_inputs.generator(5), 2, 700, 8, 8)
    values = gbsjax.permanent(matrices)
    assert values.shape == (2, 700)
    for index in ((0, 0), (1, 699), (0, 350)):
        assert gbsjax_ref.permanent_exact(matrices[index]).relative_error(complex(values[index])) < budget(
            matrices[index]
        )
    # Not bit for bit: a compiler may contract the products of the two shapes differently.
    assert jnp.allclose(jax.vmap(gbsjax.permanent)(matrices[0]), values[0], rtol=1e-12, atol=0)


def test_empty_batches_and_matrices():
    assert gbsjax.permanent(np.zeros((0, 3, 3))).shape == (0,)
    assert gbsjax.permanent(np.zeros((2, 0, 0))).tolist() == [1, 1]
    assert gbsjax.permanent(np.zeros((2, 0, 3)), cols=[0, 0, 0]).tolist() == [1, 1]


def test_not_finite_is_nan_for_that_element_only():
    matrices = np.stack([np.ones((3, 3))] * 4)
    matrices[1, 0, 0] = np.nan
    matrices[2, 1, 2] = np.inf
    assert np.isnan(gbsjax.permanent(matrices)).tolist() == [False, True, True, False]
    assert np.isnan(gbsjax.permanent(np.array([[np.inf, 1], [0.0, 0]])))
    # Here the sum alone would be inf, as an overflow is.
    assert np.isnan(gbsjax.permanent(np.array([[np.inf]])))
    assert np.isnan(gbsjax.permanent(np.array([[-np.inf + 0j]])))


PATTERNS = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [3, 2, 1, 0], [1, 1, 1, 1], [0, 0, 6, 0]])


def test_counts_in_a_batch_of_different_sums():
    matrix = _inputs.gaussian(_inputs.generator(6), 4, 4)
    reverse = PATTERNS[:, ::-1]
    values = gbsjax.permanent(matrix, rows=PATTERNS, cols=reverse)
    for pattern, other, value in zip(PATTERNS, reverse, values.tolist(), strict=True):
        exact = gbsjax_ref.permanent_exact(matrix, rows=pattern, cols=other)
        assert exact.relative_error(value) < 16 * 6 * U * gbsjax_ref.permanent_condition(
            matrix, rows=pattern, cols=other
        )


def test_traced_counts_equal_concrete_ones():
    matrix = _inputs.gaussian(_inputs.generator(7), 4, 4)
    values = gbsjax.permanent(matrix, rows=PATTERNS, cols=PATTERNS)
    traced = jax.jit(jax.vmap(lambda counts: gbsjax.permanent(matrix, rows=counts, cols=counts, total=6)))(PATTERNS)
    assert jnp.allclose(traced, values, rtol=1e-12, atol=0)


def test_traced_counts_beyond_total_are_nan():
    evaluate = jax.jit(lambda rows, cols: gbsjax.permanent(jnp.ones((2, 2)), rows=rows, cols=cols, total=3))
    assert np.isnan(evaluate(np.array([2, 2]), np.array([2, 2])))
    assert np.isnan(evaluate(np.array([2, 1]), np.array([1, 1])))
    assert float(evaluate(np.array([2, 1]), np.array([1, 2]))) == pytest.approx(6)


@pytest.mark.parametrize(
    ("rows", "cols"),
    [((5, 1), (2, 2, 2)), ((2, 2, 2), (1, 5, 0)), ((4, 4), (3, 5)), ((1, 1, 1, 1, 2), (6,)), ((12, 13), (10, 10, 5))],
)
def test_collisions_against_exact_rationals(rows, cols):
    matrix = _inputs.gaussian(_inputs.generator(8, len(rows)), len(rows), len(cols))
    exact = gbsjax_ref.permanent_exact(matrix, rows=rows, cols=cols)
    allowed = 16 * sum(rows) * U * gbsjax_ref.permanent_condition(matrix, rows=rows, cols=cols)
    assert exact.relative_error(complex(gbsjax.permanent(matrix, rows=rows, cols=cols))) < allowed


@pytest.mark.full
def test_memory_is_bounded_at_any_size():
    compiled = jax.jit(gbsjax.permanent).lower(jnp.ones((34, 34), complex)).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 4e6
