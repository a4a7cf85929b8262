"""Every row of the table of bad input: what came, what to do."""

import jax
import numpy as np
import pytest

import gbsjax

M = np.ones((4, 4))
SKEW = np.array([[0.0, 1], [2, 0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gbsjax.hafnian(np.ones((2, 3))), ValueError, r"hafnian: matrix .*\(\*batch, n, n\), got \(2, 3\)"),
        (lambda: gbsjax.hafnian(np.ones(3)), ValueError, r"hafnian: matrix .*got \(3,\)"),
        (lambda: gbsjax.hafnian(M.astype(int)), TypeError, r"got int64.*astype\(float\)"),
        (lambda: gbsjax.hafnian(SKEW), ValueError, r"must be symmetric .*max\|A - A\^T\| = 1\. Pass \(A \+ A\.T\) / 2"),
        (lambda: gbsjax.hafnian(M, method="power"), ValueError, r"method must be one of .*got 'power'"),
        (lambda: gbsjax.hafnian(M, precision="fp128"), ValueError, r"precision must be one of .*got 'fp128'"),
        (lambda: gbsjax.hafnian(M, backend="cuda"), ValueError, r"backend must be one of \['xla'\], got 'cuda'"),
        (lambda: gbsjax.hafnian(M, repeats=[1, -1, 0, 0]), ValueError, r"repeats must be photon counts of 0 or more"),
        (lambda: gbsjax.hafnian(M, repeats=[1, 1]), ValueError, r"repeats must have shape \(\*batch, 4\), got \(2,\)"),
        (lambda: gbsjax.hafnian(M, repeats=[1.0, 1, 0, 0]), TypeError, r"repeats must be integer .*got float64"),
        (lambda: gbsjax.hafnian(np.ones((150, 150))), ValueError, r"a 150 x 150 matrix needs .*years"),
        (
            lambda: gbsjax.hafnian(np.ones((60, 60)), method="subsets"),
            ValueError,
            r"states.*method='pairs'",
        ),
        (lambda: gbsjax.hafnian(M, bandwidth=-1), ValueError, r"bandwidth must be a Python int of 0 or more, got -1"),
        (lambda: gbsjax.hafnian(M, bandwidth=1, support=M > 0), ValueError, r"got both"),
        (lambda: gbsjax.hafnian(M, bandwidth=1, method="pairs"), ValueError, r"bandwidth and support go with"),
        (lambda: gbsjax.hafnian(M, support=np.ones((3, 3), bool)), ValueError, r"booleans of shape \(4, 4\)"),
        (lambda: gbsjax.hafnian(M, support=np.triu(M) > 0), ValueError, r"support must be symmetric"),
        (
            lambda: jax.jit(lambda r: gbsjax.hafnian(M, repeats=r))(np.ones(4, int)),
            ValueError,
            r"traced .* need total=",
        ),
        (lambda: gbsjax.loop_hafnian(M, np.ones(3)), ValueError, r"loops must have shape \(\*batch, 4\), got \(3,\)"),
        (
            lambda: gbsjax.loop_hafnian(M, np.ones(4) + 0j),
            TypeError,
            r"loops must be float64 like matrix",
        ),
        (lambda: gbsjax.loop_hafnian(np.ones((2, 4, 4)), np.ones((3, 4))), ValueError, r"must broadcast"),
        (lambda: gbsjax.low_rank_hafnian(np.ones(3)), ValueError, r"factor must have shape \(\*batch, n, k\)"),
        (lambda: gbsjax.submatrix(M, [3, 3, 0, 0], total=4), ValueError, r"at least the 6 photons .*got 4"),
        (
            lambda: jax.jit(lambda r: gbsjax.hafnian(M, repeats=r, total=4, method="photons"))(np.ones(4, int)),
            ValueError,
            r"method='photons' compiles for given counts",
        ),
        (lambda: gbsjax.select(sum, 4), TypeError, r"must be a matrix function of gbsjax"),
    ],
)
def test_message(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_rounding_is_no_asymmetry():
    matrix = M + 1e-15 * np.triu(M, 1)
    assert float(gbsjax.hafnian(matrix)) == pytest.approx(3, rel=1e-14)
    assert gbsjax.hafnian(np.full((2, 2), np.nan)).shape == ()
