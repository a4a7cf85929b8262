"""Derivatives and transformations: against smaller hafnians, and against each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs


def without(matrix, *vertices):
    return np.delete(np.delete(matrix, vertices, axis=0), vertices, axis=1)


@pytest.mark.parametrize(
    "method", ["subsets", *(pytest.param(m, marks=pytest.mark.full) for m in ("pairs", "photons"))]
)
def test_gradient_is_the_hafnian_without_the_pair(method):
    matrix = _inputs.symmetric(_inputs.generator(0), 6)
    slopes = jax.grad(lambda m: gbsjax.hafnian(m, method=method), holomorphic=True)(matrix)
    assert np.array_equal(slopes, slopes.T)
    for i, j in [(0, 1), (2, 5), (3, 4)]:
        # Both entries of a symmetric pair share the derivative.
        exact = gbsjax_ref.hafnian_exact(without(matrix, i, j))
        assert exact.relative_error(2 * complex(slopes[i, j]), 0) < 1e-13
    assert np.all(np.diagonal(slopes) == 0)


@pytest.mark.parametrize("method", ["subsets", pytest.param("pairs", marks=pytest.mark.full)])
def test_gradient_by_loops(method):
    matrix = _inputs.symmetric(_inputs.generator(1), 5)
    loops = _inputs.gaussian(_inputs.generator(2), 5)
    by_matrix, by_loops = jax.grad(
        lambda m, v: gbsjax.loop_hafnian(m, v, method=method), argnums=(0, 1), holomorphic=True
    )(matrix, loops)
    for i in range(5):
        exact = gbsjax_ref.loop_hafnian_exact(without(matrix, i), np.delete(loops, i))
        assert exact.relative_error(complex(by_loops[i])) < 1e-13
    exact = gbsjax_ref.loop_hafnian_exact(without(matrix, 1, 3), np.delete(loops, (1, 3)))
    assert exact.relative_error(2 * complex(by_matrix[1, 3])) < 1e-13


@pytest.mark.full
def test_second_and_third_derivatives():
    matrix = np.asarray(_inputs.symmetric(_inputs.generator(3), 6).real)
    direction = np.asarray(_inputs.symmetric(_inputs.generator(4), 6).real)

    def along(t):
        return gbsjax.hafnian(matrix + t * direction)

    # A polynomial of degree 3 in t: its derivatives from four exact values.
    values = [float(gbsjax_ref.hafnian_exact(matrix + t * direction)) for t in range(4)]
    coefficients = np.polynomial.polynomial.polyfit(range(4), values, 3)
    first = jax.grad(along)
    second = jax.grad(first)
    assert float(first(0.0)) == pytest.approx(coefficients[1], rel=1e-9)
    assert float(second(0.0)) == pytest.approx(2 * coefficients[2], rel=1e-9)
    assert float(jax.jvp(second, (0.0,), (1.0,))[1]) == pytest.approx(6 * coefficients[3], rel=1e-9)
    hessian = jax.hessian(gbsjax.hafnian)(matrix)
    exact = gbsjax_ref.hafnian_exact(without(matrix, 0, 1, 2, 3))
    assert float(hessian[0, 1, 2, 3]) == pytest.approx(float(exact) / 4, rel=1e-13)


@pytest.mark.full
@pytest.mark.parametrize(
    "matrix", [np.zeros((4, 4)), np.ones((4, 4)), np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1), np.eye(4)]
)
def test_gradients_of_degenerate_matrices_are_finite(matrix):
    for method in ("subsets", "pairs"):
        assert jnp.all(jnp.isfinite(jax.grad(lambda m, how=method: gbsjax.hafnian(m, method=how))(matrix)))
        slopes = jax.grad(lambda m, v, how=method: gbsjax.loop_hafnian(m, v, method=how), (0, 1))(matrix, np.zeros(4))
        assert all(jnp.all(jnp.isfinite(part)) for part in slopes)


def test_badly_scaled_gradient():
    scale = np.array([1e140, 1e-140, 1e100, 1e-100])
    slopes = np.asarray(jax.grad(gbsjax.hafnian)(np.outer(scale, scale)))
    assert slopes[0, 1] == pytest.approx(0.5, rel=1e-14)
    assert slopes[1, 3] == pytest.approx(0.5e240, rel=1e-14)


def test_jit_vmap_and_grad_commute():
    matrices = np.stack([_inputs.symmetric(_inputs.generator(k), 4).real for k in range(3)])
    slope = jax.grad(gbsjax.hafnian)
    one = jnp.stack([slope(matrix) for matrix in matrices])
    for other in (
        jax.vmap(slope)(matrices),
        jax.jit(jax.vmap(slope))(matrices),
        jax.grad(lambda m: jnp.sum(gbsjax.hafnian(m)))(matrices),
    ):
        assert jnp.allclose(one, other, rtol=1e-13, atol=1e-15)


@pytest.mark.full
@pytest.mark.parametrize("loops", [False, True])
def test_many_levels_share_a_compiled_step(loops):
    # More than 10 levels: chunks of levels, for one matrix and for a batch, which has another chunk.
    function, exact = (
        (gbsjax.loop_hafnian, gbsjax_ref.loop_hafnian_exact) if loops else (gbsjax.hafnian, gbsjax_ref.hafnian_exact)
    )
    matrices = np.stack([_inputs.symmetric(_inputs.generator(k), 12) for k in range(2)])
    slope = jax.value_and_grad(function, holomorphic=True)
    value, alone = slope(matrices[0])
    values, batch = jax.vmap(slope)(matrices)
    assert exact(matrices[0]).relative_error(complex(value)) < 1e-13
    assert jnp.allclose(values, function(matrices), rtol=1e-13, atol=0)
    assert jnp.allclose(batch[0], alone, rtol=1e-11, atol=1e-14)
    for i, j in [(0, 1), (0, 11), (3, 4), (9, 11)]:
        assert exact(without(matrices[1], i, j)).relative_error(2 * complex(batch[1, i, j])) < 1e-12
    if loops:
        assert exact(without(matrices[1], 7)).relative_error(complex(batch[1, 7, 7])) < 1e-12


def test_vmap_of_vmap_and_of_one_argument():
    matrices = np.stack([_inputs.symmetric(_inputs.generator(k), 4).real for k in range(6)]).reshape(2, 3, 4, 4)
    loops = _inputs.generator(7).normal(size=(3, 4))
    together = gbsjax.loop_hafnian(matrices, loops)
    assert jnp.allclose(jax.vmap(jax.vmap(gbsjax.loop_hafnian))(matrices, np.stack([loops, loops])), together)
    assert jnp.allclose(jax.vmap(jax.vmap(gbsjax.loop_hafnian), (0, None))(matrices, loops), together)
    one = gbsjax.loop_hafnian(matrices, loops[0])
    assert jnp.allclose(jax.vmap(jax.vmap(gbsjax.loop_hafnian, (0, None)), (0, None))(matrices, loops[0]), one)


@pytest.mark.full
def test_gradient_through_repeats_and_factor():
    matrix = _inputs.symmetric(_inputs.generator(5), 3).real
    step = 1e-6
    direction = _inputs.symmetric(_inputs.generator(6), 3).real
    for function in (
        lambda m: gbsjax.hafnian(m, repeats=(3, 2, 1), method="photons"),
        lambda m: gbsjax.hafnian(m, repeats=(3, 2, 1), method="subsets"),
        lambda m: gbsjax.low_rank_hafnian(jnp.concatenate([m, m])),
    ):
        tangent = jax.jvp(function, (matrix,), (direction,))[1]
        assert tangent == pytest.approx(float(jnp.sum(jax.grad(function)(matrix) * direction)), rel=1e-12)
        difference = (function(matrix + step * direction) - function(matrix - step * direction)) / (2 * step)
        assert tangent == pytest.approx(float(difference), rel=1e-7)
