"""Photon numbers by sums over Fock space: closed forms first, then matrix exponentials and two routes to one number."""

import math

import numpy as np
import pytest
import scipy.linalg

from gbsjax_ref import (
    fock_amplitudes,
    fock_clicks,
    fock_mixture,
    fock_output,
    fock_probabilities,
    fock_squeezed,
    fock_two_mode_squeezed,
)

UNIT = 2.0**-53
# Sums of at most some hundred terms of at most 1, each a product of at most some ten rounded factors.
ROUNDING = 1000 * UNIT
SPLITTER = np.array([[1, 1], [1, -1]]) / math.sqrt(2)
ONE = np.array([0, 1])


def number(n):
    return np.eye(n + 1)[n]


def poisson(mean, size):
    return np.array([math.exp(-mean) * mean**n / math.factorial(n) for n in range(size)])


def unitary(m, seed):
    rng = np.random.default_rng([m, seed])
    return np.linalg.qr(rng.normal(size=(m, m)) + 1j * rng.normal(size=(m, m)))[0]


def lossy(m, k, seed):
    """A part of a larger interferometer: complex, not symmetric, not normal."""
    return 0.9 * unitary(max(m, k) + 1, seed)[:m, :k]


def operators(dimension, r, phi, alpha):
    """D(alpha) and S(r, phi) as exponentials, true far from the edge."""
    a = np.diag(np.sqrt(np.arange(1.0, dimension)), 1).astype(complex)
    squeeze = np.exp(1j * phi) * r * (a.T @ a.T) / 2
    displace = alpha * a.T
    return tuple(scipy.linalg.expm(part - part.conj().T) for part in (displace, squeeze))


def test_two_photons_leave_a_beam_splitter_together():
    amplitudes = fock_amplitudes([ONE, ONE], SPLITTER, (3, 3))
    assert abs(amplitudes[1, 1]) < ROUNDING
    assert amplitudes[2, 0] == pytest.approx(math.sqrt(0.5), abs=ROUNDING)
    assert amplitudes[0, 2] == pytest.approx(-math.sqrt(0.5), abs=ROUNDING)
    probabilities = fock_probabilities([ONE, ONE], SPLITTER, (3, 3))
    assert np.abs(probabilities - np.abs(amplitudes) ** 2).max() < ROUNDING
    # Loss takes photons and does not part those that leave together.
    assert fock_probabilities([ONE, ONE], SPLITTER * math.sqrt(0.5), (3, 3))[1, 1] < ROUNDING


@pytest.mark.parametrize("alpha", [0.0, 1.5, 0.6 - 1.1j])
def test_coherent_light_is_poisson(alpha):
    amplitudes = fock_squeezed(0.0, 0.3, alpha, 25)
    expected = [math.exp(-(abs(alpha) ** 2) / 2) * alpha**n / math.sqrt(math.factorial(n)) for n in range(25)]
    assert np.abs(amplitudes - expected).max() < ROUNDING
    probabilities = fock_probabilities([amplitudes], np.eye(1), (25,))
    assert np.abs(probabilities - poisson(abs(alpha) ** 2, 25)).max() < ROUNDING


def test_thermal_light_is_geometric():
    nbar, cutoff = 0.3, 28
    ensemble = fock_mixture(nbar, 0.0, 0.0, 0.0, cutoff)
    ratio = nbar / (1 + nbar)
    assert len(ensemble) == 27
    assert ratio**26 >= 1e-17 > ratio**27
    for survival in (1.0, 0.4):
        left = survival * nbar
        expected = (left / (1 + left)) ** np.arange(12) / (1 + left)
        found = fock_probabilities([ensemble], [[1j * math.sqrt(survival)]], (12,))
        assert np.abs(found - expected).max() < ROUNDING


@pytest.mark.parametrize(("r", "phi"), [(0.0, 1.0), (0.9, 0.0), (0.9, 2.1), (-0.6, 0.5)])
def test_squeezed_vacuum_comes_in_pairs(r, phi):
    amplitudes = fock_squeezed(r, phi, 0.0, 20)
    assert (amplitudes[1::2] == 0).all()
    k = np.arange(10)
    scale = [math.sqrt(math.factorial(2 * n)) / (2**n * math.factorial(n)) for n in range(10)]
    expected = (np.exp(1j * phi) * math.tanh(r)) ** k * scale / math.sqrt(math.cosh(r))
    assert np.abs(amplitudes[::2] - expected).max() < ROUNDING
    found = fock_probabilities([amplitudes], np.eye(1), (20,))
    assert np.abs(found[::2] - math.tanh(r) ** (2 * k) * np.square(scale) / math.cosh(r)).max() < ROUNDING


@pytest.mark.parametrize("n", [0, 1, 6])
def test_what_a_number_state_leaves_is_binomial(n):
    chance = 0.35
    transmission = [[math.sqrt(chance) * np.exp(0.7j)]]
    expected = [math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]
    assert np.abs(fock_probabilities([number(n)], transmission, (n + 1,)) - expected).max() < ROUNDING
    state = fock_output(number(n), transmission, (n + 1,))
    assert state.shape == (n + 1, n + 1)
    # All of the light is somewhere: k here and n - k in the environment.
    assert np.abs(np.abs(np.diag(state[:, ::-1])) ** 2 - expected).max() < ROUNDING
    assert np.count_nonzero(state) == n + 1


@pytest.mark.parametrize("phi", [0.0, 1.2])
def test_two_squeezed_vacua_make_a_two_mode_squeezed_one(phi):
    r, cutoff = 0.5, 8
    # Totals up to 14 need inputs of up to 14 photons.
    inputs = [fock_squeezed(r, phi, 0.0, 15), fock_squeezed(r, phi + math.pi, 0.0, 15)]
    expected = fock_two_mode_squeezed(r, phi, cutoff)
    assert expected[0, 0] == 1 / math.cosh(r)
    assert expected[3, 3] == pytest.approx((np.exp(1j * phi) * math.tanh(r)) ** 3 / math.cosh(r), abs=ROUNDING)
    assert np.abs(fock_amplitudes(inputs, SPLITTER, (cutoff, cutoff)) - expected).max() < ROUNDING
    # And back: entangled light as a tensor; 14 photons, as far as 8 numbers each go.
    back = fock_output(fock_two_mode_squeezed(r, phi, cutoff), SPLITTER, (7, 7))[:, :, 0, 0]
    assert np.abs(back - np.multiply.outer(inputs[0][:7], inputs[1][:7])).max() < ROUNDING


@pytest.mark.parametrize(
    ("r", "phi", "alpha"), [(0.7, 0.4, 0.5 - 0.8j), (0.5, 2.5, 1.2j), (-0.4, 1.0, 0.9), (0, 0, 1j)]
)
def test_displaced_squeezed_numbers_against_matrix_exponentials(r, phi, alpha):
    displace, squeeze = operators(110, r, phi, alpha)
    expected = displace @ squeeze
    # 1e-13: what LAPACK leaves of an exponential of norm 50.
    assert np.abs(fock_squeezed(r, phi, alpha, 20) - expected[:20, 0]).max() < 1e-13
    nbar = 0.4
    ensemble = fock_mixture(nbar, r, phi, alpha, 20)
    assert len(ensemble) == 20
    for k, (weight, amplitudes) in enumerate(ensemble):
        assert weight == pytest.approx(nbar**k / (1 + nbar) ** (k + 1), rel=100 * UNIT)
        assert np.abs(amplitudes - expected[:20, k]).max() < 1e-12


def test_the_amplitude_of_the_vacuum_has_a_phase():
    r, phi, alpha = 0.7, 0.4, 0.5 - 0.8j
    expected = np.exp(-(abs(alpha) ** 2) / 2 + np.exp(1j * phi) * math.tanh(r) * np.conj(alpha) ** 2 / 2)
    assert fock_squeezed(r, phi, alpha, 1)[0] == pytest.approx(expected / math.sqrt(math.cosh(r)), abs=ROUNDING)
    assert abs(expected.imag) > 0.05


@pytest.mark.parametrize(("m", "k"), [(1, 2), (2, 1), (2, 2), (3, 2)])
def test_coherent_light_stays_a_product(m, k):
    transmission = lossy(m, k, 1)
    alpha = np.array([0.5 - 0.3j, 0.4j, -0.6])[:m]
    probabilities = fock_probabilities([fock_squeezed(0.0, 0.0, a, 9) for a in alpha], transmission, (7,) * k)
    expected = np.ones(())
    for beta in transmission.T @ alpha:
        expected = np.multiply.outer(expected, poisson(abs(beta) ** 2, 7))
    # The inputs lack 9 photons and more: at most 0.36^9 / 9! of each.
    assert np.abs(probabilities - expected).max() < 3 * 0.36**9 / math.factorial(9)


def test_pairs_of_squeezed_light_are_those_of_the_transposed_matrix():
    matrix, r, phi = unitary(2, 2), np.array([0.3, 0.2]), np.array([0.5, -1.1])
    inputs = [fock_squeezed(*parameters, 0.0, 27) for parameters in zip(r, phi, strict=True)]
    psi = fock_amplitudes(inputs, matrix, (14, 14))
    a = np.diag(np.sqrt(np.arange(1.0, 14)), 1)
    lowered = [a @ psi, psi @ a.T]
    # <a_j a_k> = <a_j^dagger psi | a_k psi>
    pairs = np.array([[np.vdot(raised, low) for low in lowered] for raised in (a.T @ psi, psi @ a)])
    expected = matrix.T @ np.diag(np.exp(1j * phi) * np.sinh(r) * np.cosh(r)) @ matrix
    # 14 photons and more: the amplitudes below tanh(r)^7, squared, times 14 photons.
    assert np.abs(pairs - expected).max() < 14 * math.tanh(0.3) ** 14
    assert np.abs(expected - expected.conj()).max() > 0.1


@pytest.mark.parametrize(("m", "k", "cutoff"), [(1, 2, 9), (2, 2, 6), (2, 3, 5), (3, 2, 3)])
def test_losing_photons_is_not_looking_at_the_environment(m, k, cutoff):
    rng = np.random.default_rng([m, k])
    inputs = [rng.normal(size=cutoff) + 1j * rng.normal(size=cutoff) for _ in range(m)]
    inputs = [vector / np.linalg.norm(vector) for vector in inputs]
    transmission, photons = lossy(m, k, 3), m * (cutoff - 1)
    psi = np.ones(())
    for vector in inputs:
        psi = np.multiply.outer(psi, vector)
    state = fock_output(psi, transmission, (photons + 1,) * k)
    assert state.shape == (photons + 1,) * (k + m)
    expected = (np.abs(state) ** 2).sum(axis=tuple(range(k, k + m)))
    probabilities = fock_probabilities(inputs, transmission, (photons + 1,) * k)
    assert expected.sum() == pytest.approx(1, abs=ROUNDING)
    assert np.abs(probabilities - expected).max() < ROUNDING
    # A cutoff of the outputs cuts and does nothing else.
    assert np.abs(fock_probabilities(inputs, transmission, (2,) * k) - expected[(slice(2),) * k]).max() < ROUNDING


def test_a_mixture_is_the_sum_of_its_states():
    transmission = lossy(2, 2, 4)
    mixed = fock_mixture(0.2, 0.3, 0.8, 0.2 - 0.1j, 5)
    other = fock_squeezed(0.4, 1.0, 0.3j, 6)
    found = fock_probabilities([mixed, other], transmission, (4, 5))
    parts = [weight * fock_probabilities([state, other], transmission, (4, 5)) for weight, state in mixed]
    assert len(mixed) == 5
    assert np.abs(found - sum(parts)).max() < ROUNDING


def test_three_lossless_modes_lose_nothing():
    inputs = [number(4), number(5), number(3)]
    amplitudes = fock_amplitudes(inputs, unitary(3, 5), (13, 13, 13))
    assert np.linalg.norm(amplitudes) == pytest.approx(1, abs=ROUNDING)
    back = fock_output(amplitudes, unitary(3, 5).conj().T, (5, 6, 4))
    assert abs(back[4, 5, 3, 0, 0, 0]) == pytest.approx(1, abs=ROUNDING)


def test_probabilities_add_up_to_what_the_inputs_hold():
    inputs = [fock_mixture(0.1, 0.3, 0.2, 0.1j, 9), fock_mixture(0.05, -0.2, 0.0, 0.2, 9), fock_squeezed(0.3, 1, 0, 5)]
    held = [sum(w * np.linalg.norm(state) ** 2 for w, state in ensemble) for ensemble in inputs[:2]]
    held.append(np.linalg.norm(inputs[2]) ** 2)
    probabilities = fock_probabilities(inputs[:2], lossy(2, 2, 6), (17, 17))
    assert (probabilities > -ROUNDING).all()
    assert probabilities.sum() == pytest.approx(held[0] * held[1], abs=ROUNDING)
    assert 1 - probabilities.sum() < 1e-3
    cut = fock_probabilities([*inputs[:1], inputs[2]], lossy(2, 3, 7), (13, 13, 13))
    assert cut.sum() == pytest.approx(held[0] * held[2], abs=ROUNDING)


def test_clicks():
    assert fock_clicks([0.5, 0.25, 0.125]).tolist() == [0.5, 0.375]
    assert fock_clicks([0.5]).tolist() == [0.5, 0.0]
    probabilities = np.arange(24.0).reshape(2, 3, 4)
    clicks = fock_clicks(probabilities)
    assert clicks.shape == (2, 2, 2)
    assert clicks.sum() == probabilities.sum()
    assert clicks[0, 1, 0] == probabilities[0, 1:, 0].sum()
    assert clicks[1, 0, 1] == probabilities[1, 0, 1:].sum()
    # Two-mode squeezed light clicks at both or at none: tanh^2 of a pair.
    both = fock_clicks(np.abs(fock_two_mode_squeezed(0.5, 0.3, 40)) ** 2)
    assert both[1, 1] == pytest.approx(math.tanh(0.5) ** 2, abs=ROUNDING)
    assert both[0, 1] == both[1, 0] == 0


BAD = [
    (fock_squeezed, (math.nan, 0, 0, 3), ValueError, "r must be finite, got nan"),
    (fock_squeezed, (0.1, 0, 0, 0), ValueError, "cutoff must be 1 or more, got 0"),
    (fock_squeezed, (0.1, 0, 0, 3.0), TypeError, "cutoff must be integers, got float"),
    (fock_mixture, (-0.1, 0, 0, 0, 3), ValueError, r"nbar must be finite and zero or more, got -0\.1"),
    (fock_mixture, (0.1, 0, 0, complex(0, math.inf), 3), ValueError, "alpha must be finite"),
    (fock_two_mode_squeezed, (0.1, math.inf, 3), ValueError, "phi must be finite, got inf"),
    (fock_output, ([1, math.nan], [[1]], (2,)), ValueError, "amplitudes must be finite"),
    (fock_output, (np.ones((2, 2)), [[1]], (2,)), ValueError, r"one row an input, of 2, .* got \(1, 1\)"),
    (fock_output, (number(30), 0.5 * np.ones((1, 3)), (900, 900, 900)), ValueError, r"at most \d+ amplitudes"),
    (fock_amplitudes, ([ONE], [[0.9]], (2,)), ValueError, r"unitary must be square and unitary, .* off by 0\.19"),
    (fock_amplitudes, ([ONE], [[0.6, 0.8]], (2, 2)), ValueError, r"square and unitary, got \(1, 2\)"),
    (fock_amplitudes, ([[[1.0]]], [[1]], (2,)), ValueError, r"amplitudes of mode 0 .* got \(1, 1\)"),
    (fock_probabilities, ([ONE], [[1.1]], (2,)), ValueError, r"singular values up to 1, got 1\.1"),
    (fock_probabilities, ([ONE], [[math.nan]], (2,)), ValueError, "must be finite with singular values up to 1"),
    (fock_probabilities, ([ONE], [[1]], (2, 2)), ValueError, r"cutoffs must have shape \(1,\), got \(2,\)"),
    (fock_probabilities, ([ONE], [[1]], (0,)), ValueError, "cutoffs must be 1 or more, got 0"),
    (fock_probabilities, ([ONE], [[1]], (2.0,)), TypeError, "cutoffs must be integers"),
    (fock_probabilities, ([[(-0.5, ONE)]], [[1]], (2,)), ValueError, "ensemble of mode 0 must have finite weights"),
    (fock_probabilities, ([[(0.5, ONE), (0.5, [1])]], [[1]], (2,)), ValueError, "zero or more, and one cutoff"),
    (fock_probabilities, ([number(9)] * 9, np.eye(9), (2,) * 9), ValueError, r"at most \d+ pairs of patterns"),
    (fock_clicks, (np.ones((2, 0)),), ValueError, r"entries on every axis, got shape \(2, 0\)"),
]


@pytest.mark.parametrize(("function", "arguments", "error", "message"), BAD)
def test_bad_input(function, arguments, error, message):
    with pytest.raises(error, match=f"^{function.__name__}: .*{message}"):
        function(*arguments)
