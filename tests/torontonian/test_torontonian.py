"""The torontonians: closed forms first, then mpmath, derivatives, patterns, and bad input."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import gbsjax
import gbsjax_ref
from experiments import _inputs

U = 2.0**-53


def gamma_of(rng, modes, real=False):
    displacement = 0.3 * (rng.normal(size=modes) + (0 if real else 1j * rng.normal(size=modes)))
    return np.concatenate([displacement, displacement.conj()])


@pytest.mark.parametrize("a", [0.5, 0.9, 1e-12, 1e-13, 1e-14, 1e-15])
def test_one_mode(a):
    assert float(gbsjax.torontonian(np.diag([a, a]))) == pytest.approx(a / (1 - a), rel=4 * U)


def test_thermal_modes_are_independent_and_keep_their_digits():
    d = np.array([1e-9, 0.3, 1e-12, 0.7])
    value = float(gbsjax.torontonian(np.diag(np.concatenate([d, d]))))
    # kappa is 1e20 here: differences of what is equal to the bit.
    assert value == pytest.approx(np.prod(d / (1 - d)), rel=32 * U)


def test_vacuum_and_no_modes():
    assert float(gbsjax.torontonian(np.zeros((6, 6)))) == 0
    assert float(gbsjax.torontonian(np.zeros((0, 0)))) == 1
    assert float(gbsjax.loop_torontonian(np.zeros((0, 0)), np.zeros(0))) == 1


@pytest.mark.parametrize("modes", [1, 2, 3, 5, pytest.param(8, marks=pytest.mark.full)])
@pytest.mark.parametrize("real", [False, True])
def test_against_many_digits(modes, real):
    # Over sizes and kinds, light from weak to strong and loss from none to much: 35 states each, 15 of eight modes.
    states = 15 if modes == 8 else 35
    rng = _inputs.generator(modes, real)
    settings = [(0.1, 0.5), (0.8, 0.5), (1.5, 0.9), (2.5, 1.0), (0.3, 0.1)]
    matrices = [_inputs.click_matrix(rng, modes, *settings[k % 5], real=real) for k in range(states)]
    values = np.asarray(gbsjax.torontonian(np.stack(matrices)))
    for matrix, value in zip(matrices, values, strict=True):
        exact = float(gbsjax_ref.torontonian_mpmath(matrix))
        scale = gbsjax_ref.torontonian_condition(matrix) * gbsjax_ref.cond_identity_minus(matrix)
        assert abs(value / exact - 1) <= 16 * U * scale


@pytest.mark.parametrize("modes", [1, 2, 4])
@pytest.mark.parametrize("real", [False, True])
def test_loops_against_many_digits(modes, real):
    rng = _inputs.generator(modes, real, 1)
    matrices = np.stack([_inputs.click_matrix(rng, modes, real=real) for _ in range(5)])
    gammas = np.stack([gamma_of(rng, modes, real) for _ in range(5)])
    values = np.asarray(gbsjax.loop_torontonian(matrices, gammas))
    for matrix, gamma, value in zip(matrices, gammas, values, strict=True):
        exact = float(gbsjax_ref.loop_torontonian_mpmath(matrix, gamma))
        scale = gbsjax_ref.loop_torontonian_condition(matrix, gamma) * gbsjax_ref.cond_identity_minus(matrix)
        assert abs(value / exact - 1) <= 16 * U * scale


def test_gamma_is_not_its_conjugate():
    # (1, i) tells a gamma of a Hermitian matrix from its conjugate.
    matrix = _inputs.click_matrix(_inputs.generator(3), 2)
    gamma = np.array([0.5, 0.3j, 0.2, -0.4j])
    exact = float(gbsjax_ref.loop_torontonian_mpmath(matrix, gamma))
    assert float(gbsjax.loop_torontonian(matrix, gamma)) == pytest.approx(exact, rel=1e-12)
    assert float(gbsjax.loop_torontonian(matrix, gamma.conj())) != pytest.approx(exact, rel=1e-3)


CLICKS = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0]])


@pytest.mark.parametrize("traced", [False, True])
def test_click_patterns_of_one_state(traced):
    rng = _inputs.generator(4)
    matrix, gamma = _inputs.click_matrix(rng, 4), gamma_of(rng, 4)

    def both(clicks, total=None):
        return (
            gbsjax.torontonian(matrix, clicks=clicks, total=total),
            gbsjax.loop_torontonian(matrix, gamma, clicks=clicks, total=total),
        )

    plain, looped = jax.jit(lambda clicks: both(clicks, 4))(CLICKS) if traced else both(CLICKS)
    for k, pattern in enumerate(CLICKS):
        rows = np.concatenate([np.flatnonzero(pattern), np.flatnonzero(pattern) + 4])
        part = matrix[np.ix_(rows, rows)]
        assert float(plain[k]) == pytest.approx(float(gbsjax_ref.torontonian_mpmath(part)), rel=1e-11)
        exact = float(gbsjax_ref.loop_torontonian_mpmath(part, gamma[rows]))
        assert float(looped[k]) == pytest.approx(exact, rel=1e-11)


def test_traced_clicks_beyond_total_are_nan():
    matrix = _inputs.click_matrix(_inputs.generator(4), 4)
    values = jax.jit(lambda clicks: gbsjax.torontonian(matrix, clicks=clicks, total=3))(CLICKS)
    assert np.isnan(np.asarray(values)).tolist() == [False, False, True, False]


@pytest.mark.full
def test_loops_over_the_top_modes_change_nothing():
    from gbsjax._torontonian import bound, pool, program, rule, slopes

    matrix = _inputs.click_matrix(_inputs.generator(5), 3)
    rows = np.array([0, 3, 1, 4, 2, 5])
    node = rule._node(jnp.asarray(matrix[np.ix_(rows, rows)][..., None]), None, "fp64")
    present = jnp.ones((3, 1))

    def found(node, looped):
        value = program.value(node, present, looped, False).re
        certified, error, _ = bound.certified(node, present, looped, "fp64", jnp.zeros(1), pool.descend)
        return value, certified.re, slopes.slopes(node, present, looped), error

    one, other = (jax.jit(found, static_argnums=1)(node, looped) for looped in (0, 2))
    for a, b in zip(jax.tree.leaves(one[:3]), jax.tree.leaves(other[:3]), strict=True):
        assert jnp.allclose(a, b, rtol=1e-11, atol=1e-13)
    assert jnp.allclose(one[3], other[3], rtol=1e-2)


@pytest.mark.full
def test_many_modes_in_bounded_memory():
    memory = [
        jax.jit(gbsjax.torontonian).lower(jnp.zeros((2 * m, 2 * m))).compile().memory_analysis().temp_size_in_bytes
        for m in (16, 26)
    ]
    assert memory[1] < memory[0] + 4e6


@pytest.mark.full
@pytest.mark.parametrize("clicks", [None, (1, 0, 1)])
def test_derivatives_against_finite_differences(clicks):
    rng = _inputs.generator(6)
    matrix, gamma = _inputs.click_matrix(rng, 3), gamma_of(rng, 3)
    direction, shift = _inputs.gaussian(rng, 6, 6), _inputs.gaussian(rng, 6)
    direction = (direction + direction.conj().T) / 20

    def along(t):
        return gbsjax.loop_torontonian(matrix + t * direction, gamma + t * shift / 10, clicks=clicks)

    h = 1e-4
    value = [float(along(k * h)) for k in (-2, -1, 0, 1, 2)]
    first = (value[0] - 8 * value[1] + 8 * value[3] - value[4]) / (12 * h)
    second = (-value[0] + 16 * value[1] - 30 * value[2] + 16 * value[3] - value[4]) / (12 * h * h)
    slope = jax.grad(along)
    assert float(slope(0.0)) == pytest.approx(first, rel=1e-7)
    assert float(jax.jvp(along, (0.0,), (1.0,))[1]) == pytest.approx(first, rel=1e-7)
    assert float(jax.jvp(slope, (0.0,), (1.0,))[1]) == pytest.approx(second, rel=1e-4)


@pytest.mark.full
def test_third_derivative():
    matrix = _inputs.click_matrix(_inputs.generator(7), 2, real=True)

    def along(t):
        return gbsjax.torontonian(matrix * (1 + t))

    slope = jax.grad(along)
    second = jax.grad(slope)
    third = jax.jvp(second, (0.0,), (1.0,))[1]
    h = 1e-4
    assert float(third) == pytest.approx(float((second(h) - second(-h)) / (2 * h)), rel=1e-5)


@pytest.mark.parametrize("matrix", [np.zeros((4, 4)), np.diag([0.5, 0, 0.5, 0])])
def test_gradients_of_degenerate_states_are_finite(matrix):
    assert jnp.all(jnp.isfinite(jax.grad(gbsjax.torontonian)(matrix)))
    assert all(jnp.all(jnp.isfinite(part)) for part in jax.grad(gbsjax.loop_torontonian, (0, 1))(matrix, np.zeros(4)))


def test_gradient_of_complex_input_is_hermitian_and_moves_the_value():
    matrix = jnp.asarray(_inputs.click_matrix(_inputs.generator(8), 2))
    slope = jax.grad(gbsjax.torontonian)(matrix)
    assert jnp.allclose(slope, jnp.conj(slope.T), rtol=1e-12)
    # JAX's convention: the value rises along the conjugate of the gradient.
    step = jnp.conj(slope) * (1e-6 / jnp.linalg.norm(slope)).astype(slope.dtype)
    rise = gbsjax.torontonian(matrix + step) - gbsjax.torontonian(matrix - step)
    assert float(rise) == pytest.approx(2e-6 * float(jnp.linalg.norm(slope)), rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float64, np.complex128])
def test_dtypes_and_batches(dtype):
    value = gbsjax.torontonian(np.broadcast_to(np.diag([0.5, 0.5]).astype(dtype), (2, 3, 2, 2)))
    assert value.dtype == np.finfo(dtype).dtype
    assert value.shape == (2, 3)
    assert (np.asarray(value) == 1).all()


@pytest.mark.full
def test_vmap_is_the_batch():
    matrices = np.stack([_inputs.click_matrix(_inputs.generator(k), 3) for k in range(4)]).reshape(2, 2, 6, 6)
    gammas = 0.1 * _inputs.gaussian(_inputs.generator(9), 2, 2, 6)
    together = gbsjax.loop_torontonian(matrices, gammas)
    assert jnp.allclose(jax.vmap(jax.vmap(gbsjax.loop_torontonian))(matrices, gammas), together, rtol=1e-12)
    slope = jax.grad(gbsjax.loop_torontonian, argnums=(0, 1))
    batch = jax.vmap(jax.vmap(slope))(matrices, gammas)
    for found, alone in zip(batch, slope(matrices[1, 0], gammas[1, 0]), strict=True):
        assert jnp.allclose(found[1, 0], alone, rtol=1e-9, atol=1e-15)


def test_nan_poisons_its_element_only():
    matrices = np.stack([np.diag([0.5, 0.5]), np.full((2, 2), np.nan)])
    assert np.isnan(np.asarray(gbsjax.torontonian(matrices))).tolist() == [False, True]


def test_unphysical_input():
    unphysical = np.diag([1.5, 1.5])
    with pytest.raises(ValueError, match=r"positive definite, .* smallest eigenvalue of -0\.5"):
        gbsjax.torontonian(unphysical)
    assert np.isnan(float(jax.jit(gbsjax.torontonian)(unphysical)))
    # Both eigenvalues of a block negative: its determinant is positive.
    assert np.isnan(float(jax.jit(gbsjax.torontonian)(np.diag([0.5, 1.5, 0.5, 1.5]))))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gbsjax.torontonian(np.ones((2, 4))), ValueError, r"torontonian: matrix .*got \(2, 4\)"),
        (lambda: gbsjax.torontonian(np.zeros((3, 3))), ValueError, r"two rows a mode, got 3 rows"),
        (lambda: gbsjax.torontonian(np.zeros((2, 2), int)), TypeError, r"got int64"),
        (lambda: gbsjax.torontonian(np.array([[0, 0.1j], [0.1j, 0]])), ValueError, r"must be Hermitian .*A - A\^H"),
        (lambda: gbsjax.torontonian(np.zeros((2, 2)), clicks=[2]), ValueError, r"clicks must be 0 or 1 a mode, got 2"),
        (lambda: gbsjax.loop_torontonian(np.zeros((2, 2)), np.zeros(3)), ValueError, r"gamma must have shape"),
        (lambda: gbsjax.loop_torontonian(np.zeros((2, 2)), np.zeros(2) + 0j), TypeError, r"gamma must be float64 like"),
        (lambda: gbsjax.torontonian(np.zeros((120, 120))), ValueError, r"a state of 60 modes needs"),
        (
            lambda: jax.jit(lambda c: gbsjax.torontonian(np.zeros((2, 2)), clicks=c))(np.ones(1, int)),
            ValueError,
            r"traced .* need total=",
        ),
    ],
)
def test_message(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.full
@pytest.mark.parametrize("loops", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_pool_holds_the_levels_of_the_tree(loops, monkeypatch):
    from gbsjax._torontonian import pool, program, rule

    # Steps so small that a level takes several.
    monkeypatch.setattr(pool, "ENTRIES", 3)
    assert len(pool.tables(5, loops, 1).steps.first) > 4
    rng = _inputs.generator(6)
    states = jnp.asarray(np.stack([_inputs.click_matrix(rng, 5) for _ in range(3)], axis=-1))
    order = np.arange(10).reshape(2, 5).T.ravel()
    ends = jnp.asarray(np.stack([gamma_of(rng, 5) for _ in range(3)], axis=-1)) if loops else None
    node = rule._node(states[np.ix_(order, order)], ends, "fp64")
    whole, small = (jax.jit(lambda node, d=d: d(node))(node) for d in (program.descend, pool.descend))
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(small), strict=True):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.full
@pytest.mark.parametrize(
    ("modes", "loops"),
    [(2, False), (1, True), *(pytest.param(*case, marks=pytest.mark.slow) for case in [(2, True), (3, False)])],
)
def test_double_double(modes, loops):
    rng = _inputs.generator(modes, loops, 7)
    settings = [(0.01, 0.5), (0.8, 0.5), (2.5, 1.0)]
    states = [_inputs.click_matrix(rng, modes, *settings[k % 3]) for k in range(6)]
    arguments = [(o, gamma_of(rng, modes)) if loops else (o,) for o in states]
    function, exact, condition = (
        (gbsjax.loop_torontonian, gbsjax_ref.loop_torontonian_mpmath, gbsjax_ref.loop_torontonian_condition)
        if loops
        else (gbsjax.torontonian, gbsjax_ref.torontonian_mpmath, gbsjax_ref.torontonian_condition)
    )
    stacks = [np.stack(column) for column in zip(*arguments, strict=True)]
    words = gbsjax.numbers.words(function, *stacks)
    assert np.array_equal(function(*stacks, precision="dd"), words[0])
    with mpmath.workdps(60):
        for given, hi, lo in zip(arguments, *(word.tolist() for word in words), strict=True):
            truth = exact(*given, dps=50)
            error = abs((mpmath.mpf(hi) + mpmath.mpf(lo) - truth) / truth)
            assert error <= (4e-32 * condition(*given) + 1e-31) * gbsjax_ref.cond_identity_minus(given[0])


@pytest.mark.full
def test_double_double_is_differentiable_and_needs_64_bits():
    matrix = jnp.diag(jnp.array([0.3, 0.3]))
    fp64, dd = (jax.grad(lambda m, p=p: gbsjax.torontonian(m, precision=p))(matrix) for p in ("fp64", "dd"))
    assert np.array_equal(fp64, dd)
    with pytest.raises(TypeError, match="pairs of float64, got float32"):
        gbsjax.torontonian(matrix.astype(jnp.float32), precision="dd")
    with pytest.raises(ValueError, match=r"one of \['fp64', 'dd'\], got 'exact'"):
        gbsjax.torontonian(matrix, precision="exact")
