"""Every row of the table of bad input: what came, what to do."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gbsjax

M = np.ones((3, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: gbsjax.permanent(np.ones((2, 3))),
            ValueError,
            r"permanent: matrix .*\(\*batch, n, n\), got \(2, 3\).*rows=",
        ),
        (lambda: gbsjax.permanent(np.ones(3)), ValueError, r"permanent: matrix .*got \(3,\)"),
        (lambda: gbsjax.permanent(np.float64(3)), ValueError, r"permanent: matrix .*got \(\)"),
        (lambda: gbsjax.permanent(M.astype(int)), TypeError, r"floating point, got int64.*astype\(float\)"),
        (lambda: gbsjax.permanent(M > 0), TypeError, r"got bool"),
        (lambda: gbsjax.permanent(M.astype(np.float16)), TypeError, r"got float16"),
        (lambda: gbsjax.permanent(M.astype(object)), TypeError, r"got object"),
        (lambda: gbsjax.permanent([["a"]]), TypeError, r"dtype of .*got <U1"),
        (
            lambda: gbsjax.permanent(M, precision="fp16"),
            ValueError,
            r"precision must be one of \['fp64', 'dd', 'exact'\], got 'fp16'",
        ),
        (lambda: gbsjax.permanent(M, backend="cuda"), ValueError, r"backend must be one of \['xla'\], got 'cuda'"),
        (lambda: gbsjax.permanent(M, rows=[1, -1, 3]), ValueError, r"rows must be photon counts of 0 or more, got -1"),
        (
            lambda: gbsjax.permanent(M, cols=[1.5, 0.5, 1]),
            TypeError,
            r"cols must be integer .*got float64.*astype\(int\)",
        ),
        (lambda: gbsjax.permanent(M, rows=[1, 1]), ValueError, r"rows must have shape \(\*batch, 3\), got \(2,\)"),
        (lambda: gbsjax.permanent(M, rows=[2, 1, 1]), ValueError, r"same sum, got 4 and 3"),
        (lambda: gbsjax.permanent(M, rows=[[1, 1, 1], [2, 1, 1]]), ValueError, r"same sum, got 4 and 3"),
        (
            lambda: gbsjax.permanent(np.ones((2, 3, 3)), rows=np.ones((5, 3), int)),
            ValueError,
            r"batch shapes .* broadcast, got \(2,\), \(5,\) and \(\)",
        ),
        (lambda: gbsjax.permanent(np.ones((60, 60))), ValueError, r"60 x 60 matrix needs 5.76e\+17 terms.*years"),
        (lambda: jax.jit(lambda r: gbsjax.permanent(M, rows=r))(np.ones(3, int)), ValueError, r"traced .* need total="),
        (
            lambda: jax.jit(lambda r: gbsjax.permanent(M, rows=r, total=-1))(np.ones(3, int)),
            ValueError,
            r"total must be a Python int of 0 or more, got -1",
        ),
        (
            lambda: jax.jit(lambda r: gbsjax.permanent(M, rows=r, total=60))(np.ones(3, int)),
            ValueError,
            r"needs 5.76e\+17 terms",
        ),
    ],
)
def test_message(call, error, message):
    with pytest.raises(error, match=message):
        call()


SINGLE = """
import numpy as np, jax.numpy as jnp, gbsjax
assert gbsjax.permanent(np.ones((3, 3), np.float32)) == 6
assert gbsjax.permanent(jnp.ones((3, 3))).dtype == np.float32
try:
    gbsjax.permanent(np.ones((3, 3)))
except TypeError as error:
    assert "jax.config.update('jax_enable_x64', True)" in str(error), error
else:
    raise AssertionError("cut to float32 in silence")
"""


def test_float64_numpy_with_32_bit_jax_says_how_to_switch():
    environment = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    run = subprocess.run([sys.executable, "-W", "error", "-c", SINGLE], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_large_float32_matrices_need_no_64_bit_integers():
    # Loops are nested, so that no counter has to hold the number of terms.
    assert jax.eval_shape(gbsjax.permanent, jnp.ones((30, 30), jnp.float32)).shape == ()
