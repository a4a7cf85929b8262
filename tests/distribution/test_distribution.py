"""Probabilities against Fock space, closed forms and sums; gradients; patterns that are ragged, traced, impossible."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gbsjax_ref
from gbsjax import distribution, gaussian

RNG = np.random.default_rng(5)
T = 0.9 * np.linalg.qr(RNG.normal(size=(2, 2)) + 1j * RNG.normal(size=(2, 2)))[0] @ np.diag([0.9, 0.7])
U = np.linalg.qr(RNG.normal(size=(2, 2)) + 1j * RNG.normal(size=(2, 2)))[0]
ALPHA = np.array([0.2 - 0.1j, 0.3j])
R, PHI = np.array([0.3, 0.25]), np.array([0.4, 1.1])
PATTERNS = np.array([[0, 0], [1, 0], [0, 2], [2, 1], [3, 3], [1, 1]])
CUTOFF = 24


def source(displaced: bool) -> gaussian.GaussianState:
    state = gaussian.squeezed(R, PHI)
    return state.displace(ALPHA) if displaced else state


def fock_source(displaced: bool) -> list[np.ndarray]:
    return [gbsjax_ref.fock_squeezed(r, p, a * displaced, CUTOFF) for r, p, a in zip(R, PHI, ALPHA, strict=True)]


@pytest.mark.parametrize("displaced", [True, False])
def test_pure_states_against_fock_space(displaced):
    state = source(displaced).interfere(U)
    wanted = gbsjax_ref.fock_amplitudes(fock_source(displaced), U, (6, 6))
    assert np.abs(distribution.photon_amplitudes(state, 6) - wanted).max() < 1e-12
    at = wanted[tuple(PATTERNS.T)]
    assert np.abs(distribution.amplitude(state, PATTERNS) - at).max() < 1e-12
    assert np.abs(distribution.photon_probability(state, PATTERNS) - np.abs(at) ** 2).max() < 1e-12


@pytest.mark.full
@pytest.mark.parametrize("displaced", [True, False])
def test_lossy_states_against_fock_space(displaced):
    state = source(displaced).through(T)
    wanted = gbsjax_ref.fock_probabilities(fock_source(displaced), T, (14, 14))
    found = distribution.photon_probability(state, PATTERNS)
    assert np.abs(found - wanted[tuple(PATTERNS.T)]).max() < 1e-12
    assert np.allclose(np.exp(distribution.photon_log_probability(state, PATTERNS)), found, rtol=1e-13)
    table = distribution.photon_distribution(state, (6, 5))
    assert np.abs(table.probabilities - wanted[:6, :5]).max() < 1e-12
    assert abs(table.missing - (1 - wanted[:6, :5].sum())) < 1e-12
    clicks = distribution.click_distribution(state)
    assert np.abs(clicks - gbsjax_ref.fock_clicks(wanted)).max() < 1e-10  # photons from 14 on are 1e-11
    totals = distribution.total_photons(state, 6)
    for n in range(6):
        assert abs(totals.probabilities[n] - np.fliplr(wanted[: n + 1, : n + 1]).trace()) < 1e-12
    mean = (wanted * np.arange(14)[:, None]).sum()
    assert abs(distribution.mean_photons(state)[0] - mean) < 1e-8


def test_squeezed_thermal_light_against_fock_space():
    nbar, r, phi, alpha = 0.05, 0.2, 0.3, 0.1 + 0.05j
    warm = np.array([[nbar]])
    # Squeezing acts on the moments as a -> a cosh r + e^(i phi) sinh r a^dagger.
    c, s = np.cosh(r), np.exp(1j * phi) * np.sinh(r)
    number, pair = warm * c**2 + (warm + 1) * abs(s) ** 2, (2 * warm + 1) * c * s
    state = gaussian.GaussianState(*map(jnp.array, (number + 0j, pair, [alpha])))
    wanted = gbsjax_ref.fock_probabilities([gbsjax_ref.fock_mixture(nbar, r, phi, alpha, 30)], np.eye(1), (5,))
    assert np.abs(distribution.photon_distribution(state, 5).probabilities - wanted).max() < 1e-12


def test_hong_ou_mandel_closed_form():
    """Two equal squeezed modes at a 50:50 beamsplitter, in phase: photons leave in pairs, never one and one."""
    r = 0.5
    split = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    state = gaussian.squeezed([r, r]).interfere(split)
    found = distribution.photon_probability(state, [[1, 1], [2, 0], [0, 2], [0, 0]])
    p = np.tanh(r) ** 2 / (2 * np.cosh(r) ** 2)
    assert np.allclose(found, [0, p, p, 1 / np.cosh(r) ** 2], atol=1e-16)


def test_coherent_light_is_poissonian_and_thermal_light_geometric():
    n = np.arange(8)
    factorials = np.cumprod([1, *range(1, 8)])
    coherent = distribution.photon_distribution(gaussian.coherent(jnp.array([1.5])), 8)
    assert np.allclose(coherent.probabilities, np.exp(-2.25) * 2.25**n / factorials, rtol=1e-14)
    thermal = distribution.photon_distribution(gaussian.thermal(jnp.array([0.7])), 8)
    assert np.allclose(thermal.probabilities, 0.7**n / 1.7 ** (n + 1), rtol=1e-14)
    assert abs(thermal.missing - (0.7 / 1.7) ** 8) < 1e-15
    assert np.allclose(
        distribution.total_photons(gaussian.thermal(jnp.array([0.7])), 8).probabilities,
        0.7**n / 1.7 ** (n + 1),
        atol=1e-12,
    )


@pytest.mark.parametrize("pure", [True, False])
def test_traced_patterns_are_the_concrete_ones(pure):
    state = source(True) if pure else source(True).lose(0.8)
    some = PATTERNS[[0, 2, 3, 4]]
    wanted = distribution.photon_log_probability(state, some)
    found = jax.jit(lambda c: distribution.photon_log_probability(state, c, total=3))(jnp.asarray(some))
    assert np.allclose(found[:3], wanted[:3], rtol=1e-13)
    assert np.isnan(found[3])


def test_traced_clicks_are_the_concrete_ones():
    state = source(True).lose(0.8)
    clicks = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    found = jax.jit(lambda c: distribution.click_probability(state, c, total=2))(jnp.asarray(clicks))
    wanted = distribution.click_probability(state, clicks.reshape(2, 2, 2))
    assert np.allclose(found, wanted.reshape(-1), rtol=1e-13)
    assert abs(wanted.sum() - 1) < 1e-15
    rates = distribution.click_rates(state)
    assert np.allclose(rates, [wanted[1].sum(), wanted[:, 1].sum()], rtol=1e-14)
    covariance = distribution.click_covariance(state)
    assert abs(covariance[0, 1] - (wanted[1, 1] - rates[0] * rates[1])) < 1e-15
    assert np.allclose(
        distribution.total_clicks(state).probabilities, [wanted[0, 0], wanted[0, 1] + wanted[1, 0], wanted[1, 1]]
    )


def test_sampled_click_numbers_within_their_errors():
    state = gaussian.squeezed([0.4, 0.5, 0.6], 0.3).lose(0.7)
    wanted = distribution.total_clicks(state).probabilities
    found = distribution.total_clicks(state, samples=20_000, seed=1)
    assert (np.abs(found.probabilities - wanted) < 4.5 * found.errors).all()
    assert (found.errors < 0.01).all()


def test_a_hundred_bright_modes_do_not_underflow():
    modes, r = 100, 3.0
    state = gaussian.two_mode_squeezed(jnp.full(modes // 2, r))
    none = np.zeros((1, modes), int)
    assert np.isclose(distribution.photon_log_probability(state, none)[0], -modes * np.log(np.cosh(r)), rtol=1e-13)
    pairs = none.copy()
    pairs[0, :12] = 1
    wanted = -modes * np.log(np.cosh(r)) + 12 * np.log(np.tanh(r))
    assert np.isclose(distribution.photon_log_probability(state, pairs)[0], wanted, rtol=1e-13)
    assert np.isclose(
        distribution.click_log_probability(state.reduced(np.arange(4)), [[0] * 4])[0], -4 * np.log(np.cosh(r))
    )


def test_faint_light_does_not_underflow():
    r = 1e-60
    state = gaussian.squeezed(jnp.array([r]))
    found = distribution.photon_log_probability(state, [[8]])[0]
    assert np.isclose(found, 8 * np.log(r) + np.log(40320 / (24**2 * 4**4)), rtol=1e-14)


def test_marginals_are_sums():
    state = source(True).lose(0.8)
    table = distribution.photon_distribution(state, (3, 12)).probabilities
    part = distribution.photon_distribution(state.reduced([0]), 3).probabilities
    assert np.allclose(table.sum(axis=1), part, atol=1e-9)


def device(x: jax.Array) -> gaussian.GaussianState:
    """Every kind of parameter: squeezing, phase, beamsplitter, displacement, loss, noise."""
    mesh = gaussian.Mesh(x[4:5], x[5:6], jnp.zeros(2))
    state = gaussian.squeezed(x[0:2], x[2:4]).displace(jax.lax.complex(x[6:8], x[8:10]))
    return state.interfere(mesh.unitary()).lose(jax.nn.sigmoid(x[10])).add_noise(x[11] ** 2)


NAMES = {"ordinary": [0.3, 0.4, 0.1, 0.5, 0.7, 0.2, 0.1, -0.2, 0.05, 0.3, 0.4, 0.3]}
NAMES["dark"] = [0.0] * 4 + [0.7, 0.2] + [0.0] * 4 + [0.4, 0.3]
NAMES["equal"] = [0.3, 0.3, 0.0, 0.0, 0.7, 0.2] + [0.0] * 4 + [0.4, 0.0]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["photons", "clicks"])
def test_gradients_by_every_parameter(kind):
    patterns = np.array([[1, 1], [2, 0]]) if kind == "photons" else np.array([[1, 1], [1, 0]])
    of = distribution.photon_probability if kind == "photons" else distribution.click_probability

    def probability(x):
        return of(device(x), patterns)

    value, forward = jax.jit(probability), jax.jit(jax.jacfwd(probability))
    backward = jax.jit(jax.jacrev(probability))
    for x in map(jnp.array, NAMES.values()):
        slopes = backward(x)
        assert np.isfinite(slopes).all()
        assert np.allclose(forward(x), slopes, rtol=1e-10, atol=1e-14)
        h = 1e-5
        for k in range(len(x)):
            step = jnp.zeros(len(x)).at[k].set(h)
            assert np.allclose((value(x + step) - value(x - step)) / (2 * h), slopes[:, k], atol=1e-9)


def test_moments_have_gradients_too():
    def all_of(x):
        state = device(x)
        parts = [distribution.click_rates(state), distribution.photon_covariance(state).reshape(-1)]
        return jnp.concatenate([*parts, distribution.total_photons(state, 3).probabilities])

    value, slopes = jax.jit(all_of), jax.jit(jax.jacfwd(all_of))
    for x in map(jnp.array, NAMES.values()):
        found = slopes(x)
        for k in (0, 4, 6, 10):
            step = jnp.zeros(len(x)).at[k].set(1e-5)
            assert np.allclose((value(x + step) - value(x - step)) / 2e-5, found[:, k], atol=1e-8)


def test_impossible_patterns():
    def probability(r):
        return distribution.photon_probability(gaussian.squeezed(r), [[1, 0], [2, 0]])

    r = jnp.array([0.5, 0.0])
    assert probability(r)[0] == 0
    assert np.isfinite(jax.jacrev(probability)(r)).all()
    assert distribution.photon_log_probability(gaussian.squeezed(r), [1, 0]) == -np.inf
    assert distribution.click_log_probability(gaussian.squeezed(r), [[0, 1]])[0] == -np.inf


def test_batches_of_states_and_of_nothing():
    many = jax.vmap(lambda r: distribution.click_probability(gaussian.squeezed(r), [[1, 0]]))(
        jnp.array([[0.1, 0.2], [0.3, 0.4]])
    )
    one = distribution.click_probability(gaussian.squeezed([0.3, 0.4]), [1, 0])
    assert np.isclose(many[1, 0], one, rtol=1e-14)
    assert distribution.click_probability(gaussian.vacuum(2), np.zeros((0, 2), int)).shape == (0,)
    assert distribution.photon_probability(gaussian.vacuum(0), np.zeros((1, 0), int)) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: distribution.click_probability(s, [[2, 0]]), "0 or 1"),
        (lambda s: distribution.click_probability(s, [[1, 0, 0]]), "must have shape"),
        (lambda s: distribution.photon_probability(s, [[-1, 0]]), "0 or more"),
        (lambda s: distribution.amplitude(s.lose(0.5), [1, 0]), "must be pure"),
        (lambda s: distribution.photon_distribution(s, (3, 3, 3)), "one a mode"),
        (lambda s: distribution.photon_distribution(s.lose(0.5), 200), "memory"),
        (lambda s: distribution.total_photons(s, 0), "1 or more"),
        (lambda s: distribution.click_distribution(gaussian.vacuum(17)), "at most 16"),
        (lambda s: distribution.total_clicks(gaussian.vacuum(17)), "samples="),
        (lambda s: distribution.total_clicks(s, samples=1), "2 or more"),
        (lambda s: jax.jit(lambda c: distribution.click_probability(s, c))(jnp.array([[1, 0]])), "need total="),
    ],
)
def test_bad_input_says_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call(gaussian.squeezed([0.3, 0.5]))
