"""States by closed forms, conventions by their definitions, and conversion that loses nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gbsjax import gaussian

U = np.array([[3, 4j], [4j, 3]]) / 5


def test_a_coherent_state_moves_with_rows_as_inputs():
    t = np.array([[0.3 + 0.2j, 0.1], [0.5j, 0.2 - 0.1j]])
    state = gaussian.coherent(jnp.array([0.7 + 0.1j, -0.3j])).through(t)
    assert np.allclose(state.displacement, t.T @ np.array([0.7 + 0.1j, -0.3j]), atol=1e-15)
    assert not np.asarray(state.number).any()


def test_two_squeezed_modes_at_a_beamsplitter_are_two_mode_squeezed():
    r = 0.6
    split = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    found = gaussian.squeezed([r, r], [0.0, np.pi]).interfere(split)
    wanted = gaussian.two_mode_squeezed([r])
    assert np.allclose(found.number, wanted.number, atol=1e-15)
    assert np.allclose(found.pair, wanted.pair, atol=1e-15)


def test_covariance_of_squeezed_light_and_hbar():
    r = 0.4
    for hbar in (2.0, 1.0, 0.5):
        found = gaussian.squeezed([r]).covariance(hbar=hbar)
        assert np.allclose(found, hbar / 2 * np.diag([np.exp(2 * r), np.exp(-2 * r)]), atol=1e-15)
    means = gaussian.coherent(jnp.array([1 + 2j, 3 + 4j])).means(order="xpxp", hbar=0.5)
    assert np.allclose(means, [1, 2, 3, 4])
    assert np.allclose(gaussian.coherent(jnp.array([1 + 2j, 3 + 4j])).means(hbar=2.0), [2, 6, 4, 8])


@pytest.mark.parametrize("order", ["xxpp", "xpxp"])
def test_covariance_and_back(order):
    state = gaussian.squeezed([0.3, 0.9], 0.4).displace(jnp.array([0.1j, 0.2])).through(0.9 * U).add_noise(0.1)
    covariance, means = state.covariance(hbar=1.0, order=order), state.means(hbar=1.0, order=order)
    back = gaussian.from_covariance(covariance, means, hbar=1.0, order=order)
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(back), strict=True):
        assert np.allclose(one, other, atol=4e-16, rtol=0)
    again = back.covariance(hbar=1.0, order=order)
    assert np.abs(again - covariance).max() <= 2 * np.finfo(float).eps * np.abs(covariance).max()


def test_the_walrus_squeezes_with_the_other_sign():
    symplectic = pytest.importorskip("thewalrus.symplectic")
    s = symplectic.two_mode_squeezing(-0.4, 0.0) @ symplectic.expand(symplectic.squeezing(0.3, 0.2), 0, 2)
    covariance = s @ s.T
    state = gaussian.from_covariance(covariance, pure=True)
    assert np.allclose(state.covariance(), covariance, atol=1e-15)
    plain = symplectic.squeezing(0.3, 0.2)
    assert np.allclose(gaussian.squeezed([0.3], [0.2 + np.pi]).covariance(), plain @ plain.T, atol=1e-14)


def test_a_mesh_is_the_product_of_its_beamsplitters():
    mesh = gaussian.Mesh.random(jax.random.key(3), 5)
    wanted, k = np.eye(5, dtype=complex), 0
    for layer in range(5):
        for i in range(layer % 2, 4, 2):
            c, s, p = np.cos(mesh.theta[k]), np.sin(mesh.theta[k]), np.exp(1j * np.asarray(mesh.phi[k]))
            step = np.eye(5, dtype=complex)
            step[i : i + 2, i : i + 2] = [[p * c, -s], [p * s, c]]
            wanted, k = step @ wanted, k + 1
    assert k == len(mesh.theta)
    wanted = (np.exp(1j * np.asarray(mesh.phases))[:, None] * wanted).T
    assert np.allclose(mesh.unitary(), wanted, atol=1e-15)


def test_a_mesh_of_one_mode_or_none():
    assert gaussian.Mesh(jnp.zeros(0), jnp.zeros(0), jnp.array([0.3])).unitary().shape == (1, 1)
    assert gaussian.vacuum(0).clicks().matrix.shape == (0, 0)


def test_what_is_traced_out_is_what_is_not_there():
    one, two = gaussian.squeezed([0.3, 0.5]), gaussian.coherent(jnp.array([0.4]))
    both = one.beside(two)
    assert (both.modes, both.pure, both.displaced) == (3, True, True)
    part = both.reduced([1, 0])
    assert not part.pure
    assert np.array_equal(part.number, np.asarray(one.number)[::-1, ::-1])


def test_ket_and_back():
    b = jnp.array([[0.1, 0.3 + 0.2j], [0.3 + 0.2j, -0.2j]])
    zeta = jnp.array([0.2, 0.1j])
    found = gaussian.from_ket(b, zeta).ket()
    assert np.allclose(found.matrix, b, atol=1e-15)
    assert np.allclose(found.vector, zeta, atol=1e-15)


def test_weak_light_keeps_its_digits():
    n = 1e-14
    found = gaussian.thermal([n]).clicks().matrix
    assert np.allclose(np.diagonal(found), n / (1 + n), rtol=4e-16, atol=0)


def test_losing_all_is_vacuum_and_the_bath_comes_in():
    state = gaussian.squeezed([0.5, 0.2]).lose([1.0, 0.0], thermal=[3.0, 2.0])
    assert np.allclose(np.diagonal(state.number), [np.sinh(0.5) ** 2, 2.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.through(1.1 * U), "more light out than in"),
        (lambda s: s.interfere(0.9 * U), "U U\\^dagger = 1"),
        (lambda s: s.interfere(U[:1]), "must have 2 rows"),
        (lambda s: s.lose(1.5), "between 0 and 1"),
        (lambda s: s.lose(0.5, thermal=-1.0), "at least 0"),
        (lambda s: s.lose([0.1, 0.2, 0.3]), "one a mode"),
        (lambda s: s.displace([0.1]), "2 entries"),
        (lambda s: s.reduced([0, 0]), "different indices"),
        (lambda s: s.covariance(order="pxpx"), "order must be one of"),
        (lambda s: s.covariance(hbar=0.0), "hbar must be positive"),
        (lambda s: s.add_noise(0.1).ket(), "must be pure"),
        (lambda s: gaussian.from_covariance(np.eye(4) * 0.9), "uncertainty"),
        (lambda s: gaussian.from_covariance(np.eye(3)), "two rows a mode"),
        (lambda s: gaussian.from_ket(np.ones((2, 2))), "below 1"),
        (lambda s: gaussian.thermal([-1.0]), "at least 0"),
        (lambda s: gaussian.Mesh([0.1], [0.1, 0.2], [0.0, 0.0]), "1 beamsplitters"),
        (
            lambda s: gaussian.GaussianState(s.number, s.pair + jnp.triu(s.pair + 1.0, 1), s.displacement).check(),
            "symm",
        ),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call(gaussian.squeezed([0.3, 0.5]))


def test_complex_where_real_is_meant():
    with pytest.raises(TypeError, match="must be real"):
        gaussian.squeezed([0.3j])


@pytest.mark.parametrize("r", [[0.0, 0.0], [0.5, 0.5]])
def test_derivatives_at_zero_and_equal_squeezing(r):
    def log_p0(r):
        return gaussian.squeezed(r).interfere(U).lose(0.7).clicks().log_p0

    r = jnp.array(r)
    slope = jax.grad(log_p0)(r)
    curve = jax.hessian(log_p0)(r)
    h = 1e-4
    for k in range(2):
        step = jnp.zeros(2).at[k].set(h)
        assert abs((log_p0(r + step) - log_p0(r - step)) / (2 * h) - slope[k]) < 1e-7
        assert abs((log_p0(r + step) - 2 * log_p0(r) + log_p0(r - step)) / h**2 - curve[k, k]) < 1e-5
