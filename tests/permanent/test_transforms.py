"""Derivatives and transformations: against minors, and against each other."""

import functools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs

grad = jax.grad(gbsjax.permanent)
holomorphic = jax.grad(gbsjax.permanent, holomorphic=True)


def drop(matrix, *pairs):
    rows, cols = zip(*pairs, strict=True)
    return np.delete(np.delete(matrix, rows, axis=0), cols, axis=1)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_gradient_is_the_table_of_minors(n):
    matrix = _inputs.gaussian(_inputs.generator(n), n, n)
    exact = gbsjax_ref.permanent_minors_exact(matrix)
    slopes = holomorphic(matrix)
    size = max(abs(complex(minor)) for minor in exact.flat)
    assert max(abs(complex(exact[i, j]) - complex(slopes[i, j])) for i in range(n) for j in range(n)) < 1e-14 * n * size


@pytest.mark.full
def test_gradient_over_loops():
    # 2^(n-1) terms are more than one block of the minors: the loop modes have their own accumulators.
    matrix = _inputs.gaussian(_inputs.generator(14), 14, 14)
    slopes = np.asarray(holomorphic(matrix))
    values = np.asarray(gbsjax.permanent(matrix))
    # Laplace: every row and every column of A o minors sums to the permanent.
    assert np.allclose((matrix * slopes).sum(0), values, rtol=1e-11, atol=0)
    assert np.allclose((matrix * slopes).sum(1), values, rtol=1e-11, atol=0)


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.array([[1.0, 1], [1, -1]]), np.diag([1.0, 0, 2])])
def test_gradient_with_zero_row_sums(matrix):
    exact = gbsjax_ref.permanent_minors_exact(matrix)
    assert np.array_equal(grad(matrix), np.vectorize(lambda minor: float(minor))(exact))


def test_gradient_of_badly_scaled_input():
    matrix = _inputs.badly_scaled(_inputs.generator(2), 5)
    exact = gbsjax_ref.permanent_minors_exact(matrix)
    slopes = holomorphic(matrix)
    assert max(exact[i, j].relative_error(complex(slopes[i, j])) for i in range(5) for j in range(5)) < 1e-12


def test_second_and_third_derivatives_are_smaller_minors():
    matrix = _inputs.generator(4).normal(size=(4, 4))
    second = jax.jit(jax.hessian(gbsjax.permanent))(matrix)
    third = jax.jit(jax.jacfwd(jax.hessian(gbsjax.permanent)))(matrix)
    for (i, j), (k, l), (p, q) in [((0, 0), (1, 1), (2, 2)), ((3, 0), (1, 2), (0, 1)), ((2, 3), (3, 1), (1, 0))]:
        two = gbsjax_ref.permanent_exact(drop(matrix, (i, j), (k, l)))
        assert second[i, j, k, l] == pytest.approx(float(two), rel=1e-13)
        three = gbsjax_ref.permanent_exact(drop(matrix, (i, j), (k, l), (p, q)))
        assert third[i, j, k, l, p, q] == pytest.approx(float(three), rel=1e-13)
    # Linear in every row and column: no second derivative within one.
    assert jnp.all(jnp.abs(second[0, :, 0, :]) < 1e-14)
    assert jnp.all(jnp.abs(third[:, 1, :, :, :, 1]) < 1e-14)


@pytest.mark.full
def test_third_derivative_in_every_order_of_modes():
    matrix = _inputs.generator(4).normal(size=(4, 4))
    ways = [
        jax.jacfwd(jax.jacfwd(grad)),
        jax.jacrev(jax.jacrev(grad)),
        jax.jacrev(jax.jacfwd(grad)),
    ]
    first, *others = [jax.jit(way)(matrix) for way in ways]
    for other in others:
        assert jnp.allclose(first, other, rtol=0, atol=1e-13)


def test_jvp_and_vjp_agree_with_finite_differences():
    matrix, direction = (_inputs.generator(5, k).normal(size=(4, 4)) for k in range(2))
    value, tangent = jax.jvp(gbsjax.permanent, (matrix,), (direction,))
    assert value == gbsjax.permanent(matrix)
    assert jnp.allclose(tangent, jnp.sum(grad(matrix) * direction), rtol=1e-13)
    step = 1e-6
    difference = (gbsjax.permanent(matrix + step * direction) - gbsjax.permanent(matrix - step * direction)) / (
        2 * step
    )
    assert jnp.allclose(tangent, difference, rtol=1e-8)


def test_jit_vmap_and_grad_commute():
    matrices = _inputs.generator(6).normal(size=(3, 4, 4))
    one = jnp.stack([grad(matrix) for matrix in matrices])
    for other in (
        jax.vmap(grad)(matrices),
        jax.jit(jax.vmap(grad))(matrices),
        jax.vmap(jax.jit(grad))(matrices),
        jax.grad(lambda m: jnp.sum(gbsjax.permanent(m)))(matrices),
        jax.grad(lambda m: jnp.sum(jax.vmap(jax.jit(gbsjax.permanent))(m)))(matrices),
    ):
        assert jnp.allclose(one, other, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("counts", [((2, 1, 0, 1), (0, 3, 1, 0)), ((9, 12, 0, 0), (10, 0, 11, 0))])
def test_gradient_with_counts(counts):
    rows, cols = map(np.array, counts)
    matrix = _inputs.gaussian(_inputs.generator(9), 4, 4)
    slopes = jax.grad(functools.partial(gbsjax.permanent, rows=rows, cols=cols), holomorphic=True)(matrix)
    unit = np.eye(4, dtype=int)
    expected = np.array(
        [
            [
                rows[i]
                * cols[j]
                * complex(gbsjax_ref.permanent_exact(matrix, rows=rows - unit[i], cols=cols - unit[j]))
                if rows[i] * cols[j]
                else 0
                for j in range(4)
            ]
            for i in range(4)
        ]
    )
    assert jnp.allclose(slopes, expected, rtol=1e-11, atol=1e-14 * np.abs(expected).max())


def test_one_pattern_of_counts_compiles_once():
    from gbsjax._permanent.api import _evaluate

    matrix = np.ones((4, 4))
    gbsjax.permanent(matrix, rows=[2, 1, 0, 0], cols=[1, 1, 1, 0])
    before = _evaluate._cache_size()
    gbsjax.permanent(matrix, rows=[0, 1, 0, 2], cols=[0, 1, 1, 1])
    assert _evaluate._cache_size() == before


SHARDED = """
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
from jax.sharding import Mesh, PartitionSpec as P
import gbsjax
matrices = np.random.default_rng(0).normal(size=(4, 9, 9))
mesh = Mesh(np.array(jax.devices()), ("batch",))
assert mesh.size == 2
sharded = jax.jit(jax.shard_map(gbsjax.permanent, mesh=mesh, in_specs=P("batch"), out_specs=P("batch")))
assert jnp.allclose(sharded(matrices), gbsjax.permanent(matrices), rtol=1e-13)
spread = dict(mesh=mesh, in_specs=P("batch"), out_specs=P("batch"))
slopes = jax.jit(jax.shard_map(jax.vmap(jax.grad(gbsjax.permanent)), **spread))
assert jnp.allclose(slopes(matrices), jax.vmap(jax.grad(gbsjax.permanent))(matrices), rtol=1e-11)
counts = np.tile([12, 10], (4, 1))
small = matrices[:, :2, :2]
many = lambda m: gbsjax.permanent(m, rows=[12, 10], cols=[11, 11])
assert jnp.allclose(jax.shard_map(many, **spread)(small), many(small), rtol=1e-13)
big = np.random.default_rng(1).normal(size=(2, 18, 18))
assert jnp.allclose(sharded(big), gbsjax.permanent(big), rtol=1e-10)
"""


@pytest.mark.full
def test_inside_shard_map_over_two_devices():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", SHARDED],
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.full
def test_memory_of_the_gradient_is_bounded():
    compiled = jax.jit(holomorphic).lower(jnp.ones((20, 20), complex)).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 10e6
