"""precision="dd": against exact rationals, high and low word; derivatives; counts."""

import jax
import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs


@pytest.mark.parametrize("n", [3, pytest.param(6, marks=pytest.mark.full), pytest.param(9, marks=pytest.mark.full)])
def test_error_of_both_words(n):
    matrices = [_inputs.unitary(_inputs.generator(k), n) for k in range(4)]
    matrices += [_inputs.cancelling(_inputs.generator(k), n, 1e-12) for k in range(4)]
    hi, lo = gbsjax.numbers.words(gbsjax.permanent, np.stack(matrices))
    for k, matrix in enumerate(matrices):
        truth, kappa = gbsjax_ref.permanent_exact(matrix), float(gbsjax_ref.permanent_condition(matrix.T))
        assert truth.relative_error(complex(hi[k]), complex(lo[k])) <= 4e-32 * kappa + 1e-31


@pytest.mark.full
def test_real_matrices_and_derivatives():
    matrix = _inputs.unitary(_inputs.generator(7), 4).real
    truth = gbsjax_ref.permanent_exact(matrix)
    assert truth.relative_error(float(gbsjax.permanent(matrix, precision="dd"))) <= 2.0**-53

    def value(m, precision):
        return gbsjax.permanent(m, precision=precision)

    assert np.allclose(jax.grad(value)(matrix, "dd"), jax.grad(value)(matrix, "fp64"), rtol=1e-13)


@pytest.mark.full
def test_patterns():
    # Collisions, by the recurrence and written out; photon numbers that differ; traced counts.
    matrix = _inputs.unitary(_inputs.generator(8), 3)
    rows, cols = np.array([[4, 2, 0], [1, 1, 0]]), np.array([[2, 2, 2], [0, 1, 1]])
    traced = jax.jit(lambda r, c: gbsjax.permanent(matrix, rows=r, cols=c, total=6, precision="dd"))(rows, cols)
    together = gbsjax.permanent(matrix, rows=rows, cols=cols, precision="dd")
    for k in range(2):
        truth = gbsjax_ref.permanent_exact(matrix, rows=rows[k], cols=cols[k])
        for value in (traced[k], together[k], gbsjax.permanent(matrix, rows=rows[k], cols=cols[k], precision="dd")):
            assert truth.relative_error(complex(value)) <= 2e-16
