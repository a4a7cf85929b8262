"""precision="dd": against exact rationals, high and low word; derivatives and messages."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("n", [4, pytest.param(8, marks=pytest.mark.full), pytest.param(12, marks=pytest.mark.full)])
def test_error_of_both_words(n, loops):
    exact, majorant = (
        (gbsjax_ref.loop_hafnian_exact, gbsjax_ref.loop_hafnian_majorant)
        if loops
        else (gbsjax_ref.hafnian_exact, gbsjax_ref.hafnian_majorant)
    )
    matrices = [_inputs.symmetric(_inputs.generator(k), n) for k in range(4)]
    matrices += [_inputs.cancelling_symmetric(_inputs.generator(k), n, 1e-12, loops) for k in range(4)]
    stack = jnp.asarray(np.stack(matrices))
    function = gbsjax.loop_hafnian if loops else gbsjax.hafnian
    hi, lo = gbsjax.numbers.words(function, stack)
    for k, matrix in enumerate(matrices):
        truth = exact(matrix)
        kappa = float(majorant(matrix)) / float(truth.modulus())
        assert truth.relative_error(complex(hi[k]), complex(lo[k])) <= 4e-32 * kappa + 1e-31


def test_what_float64_loses_is_kept():
    matrix = _inputs.cancelling_symmetric(_inputs.generator(0), 6, 1e-13)
    truth = gbsjax_ref.hafnian_exact(matrix)
    assert truth.relative_error(complex(gbsjax.hafnian(matrix))) > 1e-6
    assert truth.relative_error(complex(gbsjax.hafnian(matrix, precision="dd"))) < 2.0**-52


@pytest.mark.full
def test_derivatives_and_patterns():
    matrix = np.asarray(_inputs.symmetric(_inputs.generator(1), 4).real)

    def square(m, precision):
        return gbsjax.hafnian(m, precision=precision) ** 2

    for order in (jax.grad, jax.hessian):
        assert jnp.allclose(order(square)(matrix, "dd"), order(square)(matrix, "fp64"), rtol=1e-13, atol=1e-15)
    for counts in ([(2, 1, 1, 0), (1, 1, 0, 0)], [(5, 4, 0, 0)]):
        plain = gbsjax.loop_hafnian(matrix, repeats=counts)
        assert jnp.allclose(gbsjax.loop_hafnian(matrix, repeats=counts, precision="dd"), plain, rtol=1e-13)


def test_first_derivative():
    matrix = np.asarray(_inputs.symmetric(_inputs.generator(2), 4))
    slope = jax.grad(lambda m: gbsjax.hafnian(m, precision="dd"), holomorphic=True)(matrix)
    # The entry that is left.
    assert complex(2 * slope[0, 1]) == pytest.approx(complex(matrix[2, 3]), rel=1e-15)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: gbsjax.hafnian(np.ones((2, 2), np.float32), precision="dd"),
            TypeError,
            "pairs of float64, got float32",
        ),
        (
            lambda: gbsjax.hafnian(np.ones((2, 2)), precision="dd", method="pairs"),
            ValueError,
            "method='pairs' subtracts",
        ),
    ],
)
def test_message(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert message in str(raised.value)
