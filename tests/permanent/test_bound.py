"""The error bound holds against exact rationals, and is not vacuous."""

import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs
from gbsjax._permanent.bound import glynn_error_bound


@pytest.mark.parametrize("family", [_inputs.unitary, _inputs.lossy, _inputs.badly_scaled])
@pytest.mark.parametrize("n", [1, 3, 6])
def test_bound_holds(family, n):
    matrices = [family(_inputs.generator(seed, n), n) for seed in range(10)]
    for matrix, value in zip(matrices, gbsjax.permanent(np.stack(matrices)).tolist(), strict=True):
        exact = gbsjax_ref.permanent_exact(matrix)
        error = exact.relative_error(value) * float(exact.modulus())
        assert error <= glynn_error_bound(matrix)


def test_bound_of_a_cancelling_matrix_exceeds_its_value():
    matrix = _inputs.cancelling(_inputs.generator(0), 6, 1e-15)
    assert glynn_error_bound(matrix) > 0.01 * abs(complex(gbsjax.permanent(matrix)))


def test_bound_is_useful_for_ordinary_input():
    assert glynn_error_bound(np.ones((8, 8))) < 1e-8 * 40320
    assert glynn_error_bound(np.zeros((0, 0))) == 0
    assert glynn_error_bound(np.array([[np.nan]])) == np.inf
