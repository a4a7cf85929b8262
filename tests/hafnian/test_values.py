"""Values: closed forms and counts first, then exact rationals."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs
from tests.graphs import CHESSBOARD, DODECAHEDRON, PETERSEN, SMALL_GRID
from tests.known import KNOWN

U = 2.0**-53
METHODS = ("subsets", "pairs", "photons")


def heavy_edge(weight):
    matrix = np.ones((8, 8))
    matrix[0, 1] = matrix[1, 0] = weight
    return matrix


def double_factorial(n):
    return math.prod(range(n, 0, -2))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 6, 8])
def test_all_ones_are_double_factorials(n):
    assert float(gbsjax.hafnian(np.ones((n, n)))) == (double_factorial(n - 1) if n % 2 == 0 else 0)


@pytest.mark.parametrize(("n", "telephone"), [(1, 1), (2, 2), (3, 4), (4, 10), (5, 26), (6, 76), (8, 764), (10, 9496)])
def test_all_ones_with_loops_are_telephone_numbers(n, telephone):
    assert float(gbsjax.loop_hafnian(np.ones((n, n)))) == telephone
    assert float(gbsjax.loop_hafnian(np.zeros((n, n)), np.ones(n))) == 1


@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_a_heavy_edge(method):
    assert float(gbsjax.hafnian(heavy_edge(1e6), method=method)) == pytest.approx(15000090, rel=8 * U)
    odd = heavy_edge(1e6)[:7, :7]
    exact = gbsjax_ref.loop_hafnian_exact(odd)
    assert exact.relative_error(float(gbsjax.loop_hafnian(odd, method=method))) < 40 * U
    assert float(gbsjax.hafnian(odd, method=method)) == 0


def test_small_entries_are_no_zeros():
    exact = gbsjax_ref.hafnian_exact(np.full((6, 6), 1e-9))
    assert exact.relative_error(float(gbsjax.hafnian(np.full((6, 6), 1e-9)))) < 8 * U


@pytest.mark.parametrize("diagonal", [1e8, np.nan, np.inf])
@pytest.mark.parametrize("method", ["subsets", "pairs", "photons"])
def test_the_diagonal_is_not_read(diagonal, method):
    matrix = np.ones((6, 6))
    np.fill_diagonal(matrix, diagonal)
    assert float(gbsjax.hafnian(matrix, method=method)) == 15


def test_bipartite_blocks_are_permanents():
    for case in KNOWN:
        if case.rows is None and 2 <= len(case.matrix) <= 5:
            n = len(case.matrix)
            matrix = np.block([[np.zeros((n, n)), case.matrix], [case.matrix.T, np.zeros((n, n))]])
            value = complex(gbsjax.hafnian(matrix))
            assert abs(value - complex(case.permanent)) <= 1e-13 * max(abs(complex(case.permanent)), 1), case.name


@pytest.mark.parametrize(("graph", "count"), [PETERSEN, SMALL_GRID])
def test_perfect_matchings(graph, count):
    assert float(gbsjax.hafnian(graph, support=graph > 0)) == count


@pytest.mark.full
def test_perfect_matchings_of_larger_graphs():
    graph, count = DODECAHEDRON
    assert float(gbsjax.hafnian(graph)) == count
    assert float(gbsjax.hafnian(graph, support=graph > 0)) == count
    board, dominoes = CHESSBOARD
    assert float(gbsjax.hafnian(board, bandwidth=8)) == dominoes
    assert float(gbsjax.hafnian(board, support=board > 0)) == dominoes
    # Shuffled, the support is still put in an order of small frontier.
    order = np.random.default_rng(0).permutation(64)
    board = board[order][:, order]
    assert float(gbsjax.hafnian(board, support=board > 0)) == dominoes


def test_structure_is_declared_and_what_lies_outside_is_not_read():
    matrix = np.ones((6, 6))
    banded = np.where(np.abs(np.subtract.outer(range(6), range(6))) <= 2, matrix, 0)
    exact = float(gbsjax_ref.hafnian_exact(banded))
    outside = np.where(banded > 0, banded, np.nan)
    assert float(gbsjax.hafnian(banded)) == float(gbsjax.hafnian(banded, bandwidth=2)) == exact
    for declared in (matrix, outside):
        assert float(gbsjax.hafnian(declared, bandwidth=2)) == exact
        assert float(gbsjax.hafnian(declared, support=banded > 0)) == exact
    assert np.isnan(float(gbsjax.hafnian(outside)))


@pytest.mark.parametrize("loops", [False, True])
def test_low_rank_through_the_factor(loops):
    factor = _inputs.gaussian(_inputs.generator(3), 8, 3)
    factor = factor if loops else factor.real
    exact = gbsjax_ref.hafnian_exact(np.array(factor @ factor.T))
    majorant = gbsjax_ref.hafnian_majorant(np.abs(factor) @ np.abs(factor).T)
    error = exact.relative_error(complex(gbsjax.low_rank_hafnian(factor))) * float(exact.modulus())
    # The product G G^T of the exact side is itself rounded: 3 u an entry.
    assert error <= 8 * 8 * U * float(majorant)


def test_low_rank_of_ones():
    assert float(gbsjax.low_rank_hafnian(np.ones((6, 1)))) == 15
    assert float(gbsjax.low_rank_hafnian(np.ones((5, 2)))) == 0


def family(name, seed, n):
    rng = _inputs.generator(seed, n)
    if name == "collision":
        base = _inputs.symmetric(rng, 3)
        copies = rng.integers(0, 3, n)
        return base[copies][:, copies]
    return {"random": _inputs.symmetric, "lossy": _inputs.squeezed, "badly scaled": _inputs.badly_scaled_symmetric}[
        name
    ](rng, n)


@pytest.mark.parametrize("name", ["random", "lossy", "collision", "badly scaled"])
@pytest.mark.parametrize("n", [4, 7, *(pytest.param(n, marks=pytest.mark.full) for n in (10, 12))])
def test_error_is_what_a_program_without_subtraction_owes(name, n):
    # 4 families x 4 sizes x 20 matrices, hafnian and loop hafnian.
    matrices = np.stack([family(name, seed, n) for seed in range(20)])
    values = np.asarray(gbsjax.loop_hafnian(matrices))
    plain = np.asarray(gbsjax.hafnian(matrices)) if n % 2 == 0 else None
    for k, matrix in enumerate(matrices):
        exact, most = gbsjax_ref.loop_hafnian_exact(matrix), gbsjax_ref.loop_hafnian_majorant(matrix)
        assert exact.relative_error(values[k]) * float(exact.modulus()) <= 4 * n * U * float(most)
        if plain is not None:
            exact, most = gbsjax_ref.hafnian_exact(matrix), gbsjax_ref.hafnian_majorant(matrix)
            assert exact.relative_error(plain[k]) * float(exact.modulus()) <= 4 * n * U * float(most)


@pytest.mark.parametrize(
    "repeats", [(0, 0, 0, 0), (1, 1, 0, 0), (3, 2, 0, 1), (2, 1, 1, 1), (5, 3, 0, 0), (10, 10, 10, 10)]
)
def test_repeats(repeats):
    matrix = _inputs.symmetric(_inputs.generator(1), 4)
    loops = _inputs.gaussian(_inputs.generator(2), 4)
    photons = max(sum(repeats), 1)
    exact, most = (f(matrix, repeats=repeats) for f in (gbsjax_ref.hafnian_exact, gbsjax_ref.hafnian_majorant))
    error = exact.relative_error(complex(gbsjax.hafnian(matrix, repeats=repeats))) * float(exact.modulus())
    assert error <= 4 * photons * U * float(most)
    exact = gbsjax_ref.loop_hafnian_exact(matrix, loops, repeats=repeats)
    most = gbsjax_ref.loop_hafnian_majorant(matrix, loops, repeats=repeats)
    error = exact.relative_error(complex(gbsjax.loop_hafnian(matrix, loops, repeats=repeats))) * float(exact.modulus())
    assert error <= 4 * photons * U * float(most)


def test_many_photons_in_few_modes_are_cheap():
    assert gbsjax.select(gbsjax.hafnian, [10, 10, 10, 10]).method == "photons"
    assert gbsjax.select(gbsjax.hafnian, [10, 10, 10, 10]).work < 2**17
    assert float(gbsjax.hafnian(np.ones((2, 2)), repeats=(150, 150))) == pytest.approx(double_factorial(299), rel=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_on_repeats(method):
    matrix, repeats = _inputs.symmetric(_inputs.generator(4), 3), (3, 2, 1)
    exact = gbsjax_ref.hafnian_exact(matrix, repeats=repeats)
    assert exact.relative_error(complex(gbsjax.hafnian(matrix, repeats=repeats, method=method))) < 1e-14


PATTERNS = np.array([[3, 2, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0], [2, 1, 1, 1], [1, 0, 0, 0]])


@pytest.mark.parametrize("traced", [False, True])
def test_ragged_patterns_of_one_state(traced):
    matrix = _inputs.symmetric(_inputs.generator(1), 4)
    loops = _inputs.gaussian(_inputs.generator(2), 4)

    def both(counts, total=None):
        return (
            gbsjax.hafnian(matrix, repeats=counts, total=total, method="subsets"),
            gbsjax.loop_hafnian(matrix, loops, repeats=counts, total=total, method="subsets"),
        )

    plain, looped = jax.jit(lambda counts: both(counts, 6))(PATTERNS) if traced else both(PATTERNS)
    for k, counts in enumerate(PATTERNS):
        assert gbsjax_ref.hafnian_exact(matrix, repeats=counts).relative_error(complex(plain[k])) < 1e-14
        assert gbsjax_ref.loop_hafnian_exact(matrix, loops, repeats=counts).relative_error(complex(looped[k])) < 1e-14


def test_traced_patterns_beyond_total_are_nan():
    values = jax.jit(lambda counts: gbsjax.hafnian(np.ones((4, 4)), repeats=counts, total=4))(PATTERNS)
    assert np.isnan(np.asarray(values)).tolist() == [True, False, False, True, False]


@pytest.mark.full
def test_submatrix_is_what_repeats_mean():
    matrix = _inputs.symmetric(_inputs.generator(1), 4)
    rows, ends = jax.jit(lambda counts: gbsjax.submatrix(matrix, counts, total=6))(PATTERNS)
    assert ends is None
    values = gbsjax.hafnian(rows)
    assert np.allclose(values, gbsjax.hafnian(matrix, repeats=PATTERNS), rtol=1e-13, atol=0)
    rows, ends = gbsjax.submatrix(matrix, PATTERNS, loops=np.ones(4) + 0j)
    values = gbsjax.loop_hafnian(rows, ends)
    assert np.allclose(values, gbsjax.loop_hafnian(matrix, np.ones(4) + 0j, repeats=PATTERNS), rtol=1e-13, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_dtypes_and_batches(dtype):
    matrices = np.ones((2, 3, 4, 4), dtype)
    value = gbsjax.hafnian(matrices)
    assert value.dtype == dtype
    assert value.shape == (2, 3)
    assert (np.asarray(value) == 3).all()
    assert gbsjax.loop_hafnian(np.ones((0, 4, 4), dtype)).shape == (0,)


def test_nan_and_inf_poison_their_element_only():
    matrices = np.ones((3, 4, 4))
    matrices[1, 0, 1] = matrices[1, 1, 0] = np.nan
    matrices[2, 2, 3] = matrices[2, 3, 2] = np.inf
    assert np.isnan(np.asarray(gbsjax.hafnian(matrices))).tolist() == [False, True, True]


def test_no_overflow_before_the_end():
    # haf (D A D) = prod d haf A: the product of the d is 1.
    scale = np.array([1e140, 1e-140, 1e100, 1e-100, 1e60, 1e-60])
    exact = gbsjax_ref.hafnian_exact(np.outer(scale, scale))
    assert exact.relative_error(float(gbsjax.hafnian(np.outer(scale, scale)))) < 8 * U
    blocks = np.zeros((4, 4))
    blocks[0, 1] = blocks[1, 0] = 1e-300
    blocks[2, 3] = blocks[3, 2] = 1e300
    assert float(gbsjax.hafnian(blocks)) == pytest.approx(1, rel=8 * U)


@pytest.mark.full
def test_pairs_in_loops_over_the_top_pairs():
    # Two pairs beyond the breadth: nested loops, and their progress.
    matrix = np.ones((24, 24))
    with gbsjax.show_progress():
        value = float(gbsjax.hafnian(matrix, method="pairs"))
    assert value == pytest.approx(double_factorial(23), rel=1e-10)


@pytest.mark.full
def test_one_compilation_for_each_padded_size():
    from gbsjax._hafnian.api import _evaluate

    matrix = np.ones((12, 12))
    rng = np.random.default_rng(0)
    patterns = np.array([np.bincount(rng.integers(0, 12, k), minlength=12) for k in rng.integers(0, 11, 1000)])
    evaluate = jax.jit(lambda counts: gbsjax.hafnian(matrix, repeats=counts, total=10))
    values = np.asarray(evaluate(patterns))
    photons = patterns.sum(axis=1)
    expected = np.array([double_factorial(k - 1) if k % 2 == 0 else 0 for k in photons])
    assert np.allclose(values, expected, rtol=1e-13)
    before = _evaluate._cache_size()
    evaluate(patterns[::-1])
    assert evaluate._cache_size() == 1
    assert _evaluate._cache_size() == before


def test_large_sizes_trace_without_tables():
    assert jax.eval_shape(gbsjax.hafnian, jnp.ones((40, 40), jnp.float32)).shape == ()
