"""Photon numbers of Gaussian light by sums over Fock space: neither moments nor matrix functions, but a cutoff.

A transmission T has inputs as rows and outputs as columns: a_i^dagger becomes sum_j T_ij a_j^dagger, without a
conjugate, so that coherent light of amplitudes alpha becomes coherent light of T^T alpha.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ._inputs import refuse_beyond

Ensemble: TypeAlias = list[tuple[float, np.ndarray]]
Light: TypeAlias = npt.ArrayLike | Sequence[tuple[float, npt.ArrayLike]]

_LEAST_WEIGHT = 1e-17
_MOST_ENTRIES = 2**25


def fock_squeezed(r: float, phi: float, alpha: complex, cutoff: int) -> np.ndarray:
    """Amplitudes <n|D(alpha) S(r, phi)|0> of displaced squeezed vacuum.

    S|0> is exp(e^(i phi) tanh(r) a^dagger^2 / 2)|0> / sqrt(cosh r), so that <a a> = e^(i phi) sinh(r) cosh(r); then
    D(alpha) = exp(alpha a^dagger - conj(alpha) a) displaces. The state is what (a - alpha) cosh(r) - e^(i phi)
    (a^dagger - conj(alpha)) sinh(r) annihilates, and <0|D S|0> is <-alpha|S|0> =
    exp(-|alpha|^2 / 2 + e^(i phi) tanh(r) conj(alpha)^2 / 2) / sqrt(cosh r): not real in general.

    Args:
        r: squeezing, any sign.
        phi: angle of the squeezing, in radians.
        alpha: displacement <a>.
        cutoff: number of amplitudes, 1 or more.

    Returns:
        (cutoff,) complex128: n = 0, 1, ..., cutoff - 1. The norm falls short of 1 by what lies beyond.

    Raises:
        ValueError: a parameter not finite, or a cutoff below 1.
        TypeError: a cutoff that is not an integer.

    Notes:
        One step an amplitude. Coherent light, r = 0, has alpha^n exp(-|alpha|^2 / 2) / sqrt(n!).
    """
    return _displaced_squeezed("fock_squeezed", r, phi, alpha, cutoff, 1)[0]


def fock_mixture(nbar: float, r: float, phi: float, alpha: complex, cutoff: int) -> Ensemble:
    """Displaced squeezed thermal light as a mixture of the pure states D(alpha) S(r, phi)|k>.

    Args:
        nbar: mean photons of the thermal light before squeezing, zero or more.
        r: squeezing, as `fock_squeezed` takes it.
        phi: angle of the squeezing, in radians.
        alpha: displacement <a>, after squeezing.
        cutoff: number of amplitudes and the largest number of states, 1 or more.

    Returns:
        Pairs of the weight nbar^k / (1 + nbar)^(k + 1) and the (cutoff,) complex128 amplitudes <n|D S|k>, while the
        weights are at least 1e-17 of the first and k is below the cutoff. The sum of weight times norm squared falls
        short of 1 by what lies beyond.

    Raises:
        ValueError: a parameter not finite, nbar below zero, or a cutoff below 1.
        TypeError: a cutoff that is not an integer.

    Notes:
        One step an amplitude. Rounding grows with k, most without squeezing: to 7e-11 at k = 49 for alpha = 3, before
        the weight. Thermal light, r = 0 and alpha = 0, has the number states k themselves.
    """
    if not (math.isfinite(nbar) and nbar >= 0):
        raise ValueError(f"fock_mixture: nbar must be finite and zero or more, got {nbar!r}.")
    size = _whole("fock_mixture", "cutoff", cutoff)
    ratio = nbar / (1 + nbar)
    weights = [ratio**k / (1 + nbar) for k in range(size) if ratio**k >= _LEAST_WEIGHT]
    return list(zip(weights, _displaced_squeezed("fock_mixture", r, phi, alpha, size, len(weights)), strict=True))


def fock_two_mode_squeezed(r: float, phi: float, cutoff: int) -> np.ndarray:
    """Amplitudes <n, l| exp(e^(i phi) tanh(r) a^dagger b^dagger)|0, 0> / cosh(r) of two-mode squeezed vacuum.

    Args:
        r: squeezing, any sign.
        phi: angle of the squeezing, in radians.
        cutoff: number of amplitudes of each mode, 1 or more.

    Returns:
        (cutoff, cutoff) complex128, zero off the diagonal. The norm squared falls short of 1 by tanh(r)^(2 cutoff).

    Raises:
        ValueError: a parameter not finite, or a cutoff below 1.
        TypeError: a cutoff that is not an integer.

    Notes:
        <a b> = e^(i phi) sinh(r) cosh(r). Squeezed vacua of (r, phi) and (r, phi + pi) behind the beam splitter
        [[1, 1], [1, -1]] / sqrt(2) are this state.
    """
    _finite("fock_two_mode_squeezed", r=r, phi=phi)
    size = _whole("fock_two_mode_squeezed", "cutoff", cutoff)
    return np.diag((cmath.exp(1j * phi) * math.tanh(r)) ** np.arange(size) / math.cosh(r))


def fock_output(amplitudes: npt.ArrayLike, transmission: npt.ArrayLike, cutoffs: npt.ArrayLike) -> np.ndarray:
    """Amplitudes behind a passive device, of its outputs and of the environment that takes what is lost.

    The transmission T is completed by m columns E with T T^dagger + E E^dagger = 1, and the state
    sum_p psi_p prod_i (a_i^dagger)^p_i / sqrt(p_i!) |0> is expanded with a_i^dagger = sum_j [T E]_ij a_j^dagger.

    Args:
        amplitudes: tensor psi with one axis an input mode, of product or entangled light.
        transmission: (m, k) finite, real or complex, rows are inputs, singular values up to 1.
        cutoffs: (k,) numbers of amplitudes kept of each output, 1 or more.

    Returns:
        complex128 of shape (*cutoffs, *(m axes of the environment)); the axes of the environment are one longer than
        the largest photon number in `amplitudes`, so that nothing of it is cut. Which basis of the environment is
        meant is not said: sum the squares over it.

    Raises:
        ValueError: shapes that do not fit, entries not finite, more light out than in, a cutoff below 1, or more than
            2^25 entries in what has to be held.
        TypeError: cutoffs that are not integers.

    Notes:
        Exact up to the amplitudes that the input lacks. Holds a block of all input times all output patterns of one
        photon number: three lossy modes up to 14 photons take seconds, mostly for the answer of
        prod(cutoffs) * 15^3 entries. |1, 1> behind the beam splitter [[1, 1], [1, -1]] / sqrt(2) has no |1, 1>.
    """
    psi = np.asarray(amplitudes, np.complex128)
    matrix, sizes = _device("fock_output", psi.ndim, transmission, cutoffs)
    if not np.isfinite(psi).all():
        raise ValueError("fock_output: amplitudes must be finite.")
    left, singular, _ = np.linalg.svd(matrix)
    kept = np.zeros(psi.ndim)
    kept[: singular.size] = np.minimum(singular, 1)
    # Not the root of 1 - T T^dagger, whose eigenvalues near zero are rounding of either sign.
    environment = left * np.sqrt((1 - kept) * (1 + kept))
    photons = _most_photons(psi)
    return _expanded("fock_output", psi, np.hstack([matrix, environment]), (*sizes, *[photons + 1] * psi.ndim))


def fock_amplitudes(inputs: Sequence[npt.ArrayLike], unitary: npt.ArrayLike, cutoffs: npt.ArrayLike) -> np.ndarray:
    """Amplitudes of product light behind a lossless interferometer.

    Args:
        inputs: for each of m input modes the amplitudes of n = 0, 1, ..., as `fock_squeezed` gives them.
        unitary: (m, m) finite, rows are inputs: a_i^dagger becomes sum_j U_ij a_j^dagger.
        cutoffs: (m,) numbers of amplitudes kept of each output, 1 or more.

    Returns:
        complex128 of shape cutoffs.

    Raises:
        ValueError: shapes that do not fit, entries not finite, a matrix that is not unitary, a cutoff below 1, or more
            than 2^25 entries in what has to be held.
        TypeError: cutoffs that are not integers.

    Notes:
        Exact up to the amplitudes that the inputs lack: those of patterns with fewer photons than the shortest input
        has entries are exact. The identity gives the product of the inputs.
    """
    vectors = [_amplitudes("fock_amplitudes", mode, light) for mode, light in enumerate(inputs)]
    matrix, sizes = _device("fock_amplitudes", len(vectors), unitary, cutoffs)
    gap = np.abs(matrix @ matrix.conj().T - np.eye(len(matrix))).max()
    if matrix.shape[0] != matrix.shape[1] or not gap <= 64 * len(matrix) * 2.0**-53:
        raise ValueError(f"fock_amplitudes: unitary must be square and unitary, got {matrix.shape}, off by {gap:.3g}.")
    refuse_beyond("fock_amplitudes", math.prod(vector.size for vector in vectors), _MOST_ENTRIES, "amplitudes")
    psi = np.ones((), np.complex128)
    for vector in vectors:
        psi = np.multiply.outer(psi, vector)
    return _expanded("fock_amplitudes", psi, matrix, sizes)


def fock_probabilities(inputs: Sequence[Light], transmission: npt.ArrayLike, cutoffs: npt.ArrayLike) -> np.ndarray:
    """Probabilities of photon numbers behind a passive device, for product light, pure or mixed.

    What is lost is summed over: with J(rho) = sum_ij (1 - T T^dagger)_ij a_i rho a_j^dagger, which loses one photon,
    the light that is left is sum_l J^l(rho) / l!, expanded with a_i^dagger = sum_j T_ij a_j^dagger. Counting does not
    see the coherences between different numbers of photons, so that only rho between equal numbers is held.

    Args:
        inputs: for each of m input modes the amplitudes of n = 0, 1, ..., or pairs of a weight and such amplitudes,
            as `fock_mixture` gives them.
        transmission: (m, k) finite, real or complex, rows are inputs, singular values up to 1.
        cutoffs: (k,) numbers of photon numbers kept of each output, 1 or more.

    Returns:
        float64 of shape cutoffs: entry (n_1, ..., n_k) is the probability of that pattern. One minus the sum is what
        lies beyond the cutoffs of inputs and outputs.

    Raises:
        ValueError: shapes that do not fit, entries not finite, weights below zero, more light out than in, a cutoff
            below 1, or more than 2^25 entries in what has to be held.
        TypeError: cutoffs that are not integers.

    Notes:
        Exact up to the photons that the inputs lack: each probability is too low, by no more than the weight that the
        inputs fall short of 1. Cost as the sixth power of the photons for three modes, whatever the mixture: two
        seconds for 10 photon numbers each, a quarter of a minute for 14. Rounding grows with the photons, to 1e-11
        of the sum for 78 in two modes. A number state through one mode of transmission t leaves binomial numbers of
        chance |t|^2.
    """
    states = [_density("fock_probabilities", mode, light) for mode, light in enumerate(inputs)]
    matrix, sizes = _device("fock_probabilities", len(states), transmission, cutoffs)
    photons = sum(len(state) - 1 for state in states)
    _refuse_blocks("fock_probabilities", photons, len(states), len(states))
    reached = min(photons, sum(size - 1 for size in sizes))
    _refuse_blocks("fock_probabilities", reached, *matrix.shape)
    refuse_beyond("fock_probabilities", math.prod(sizes), _MOST_ENTRIES, "probabilities")
    given = [_joint_density(states, total) for total in range(photons + 1)]
    missing = np.eye(len(states)) - matrix @ matrix.conj().T
    probabilities = np.zeros(sizes)
    for left, block in enumerate(_blocks(matrix, reached)):
        rho = given[photons]
        for total in range(photons, left, -1):
            rho = given[total - 1] + _one_lost(rho, missing, total) / (total - left)
        patterns, inside = _inside(len(sizes), left, sizes)
        found = (block * (rho @ block.conj())).sum(axis=0).real
        probabilities[tuple(patterns[inside].T)] = found[inside]
    return probabilities


def fock_clicks(probabilities: npt.ArrayLike) -> np.ndarray:
    """Probabilities of threshold clicks from those of photon numbers: no photon, or any number of them.

    Args:
        probabilities: array with one axis an output mode, as `fock_probabilities` gives it.

    Returns:
        float64 of shape (2,) * k: index 0 of an axis is no click, 1 a click.

    Raises:
        ValueError: an axis without entries.

    Notes:
        A sum. What lies beyond the cutoffs is missing in the clicks: better one minus the rest where it matters. A
        single mode of probabilities (1/2, 1/4, 1/4) gives (1/2, 1/2).
    """
    clicks = np.asarray(probabilities, np.float64)
    if 0 in clicks.shape:
        raise ValueError(f"fock_clicks: probabilities must have entries on every axis, got shape {clicks.shape}.")
    for axis in range(clicks.ndim):
        dark, bright = np.split(clicks, [1], axis=axis)
        clicks = np.concatenate([dark, bright.sum(axis=axis, keepdims=True)], axis=axis)
    return clicks


def _displaced_squeezed(name: str, r: float, phi: float, alpha: complex, cutoff: int, states: int) -> np.ndarray:
    """<n|D S|k> as (states, cutoff), k before n."""
    _finite(name, r=r, phi=phi, alpha=alpha)
    size = _whole(name, "cutoff", cutoff)
    pair, scale, alpha = cmath.exp(1j * phi) * math.tanh(r), 1 / math.cosh(r), complex(alpha)
    shift = alpha - pair * alpha.conjugate()
    table = np.zeros((states, size), np.complex128)
    exponent = (pair * alpha.conjugate() ** 2 - abs(alpha) ** 2) / 2
    table[0, 0] = cmath.exp(exponent) * math.sqrt(scale)
    # <n|a and <n|a^dagger in terms of D S a S^dagger D^dagger. An index of -1 always meets a root of zero. Which of
    # the two serves: to divide by the larger root keeps the errors of earlier entries from growing.
    for k, n in np.ndindex(states, size):
        if n > k:
            row = shift * table[k, n - 1] + pair * math.sqrt(n - 1) * table[k, n - 2]
            table[k, n] = (row + math.sqrt(k) * scale * table[k - 1, n - 1]) / math.sqrt(n)
        elif k > 0:
            column = alpha.conjugate() * scale * table[k - 1, n] + pair.conjugate() * math.sqrt(k - 1) * table[k - 2, n]
            table[k, n] = (math.sqrt(n) * scale * table[k - 1, n - 1] - column) / math.sqrt(k)
    return table


def _expanded(name: str, psi: np.ndarray, matrix: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """sum_p psi_p prod_i (sum_j M_ij a_j^dagger)^p_i / sqrt(p_i!) |0>."""
    refuse_beyond(name, math.prod(sizes), _MOST_ENTRIES, "amplitudes")
    photons = min(_most_photons(psi), sum(size - 1 for size in sizes))
    _refuse_blocks(name, photons, *matrix.shape)
    output = np.zeros(sizes, np.complex128)
    for total, block in enumerate(_blocks(matrix, photons)):
        rows, given = _inside(psi.ndim, total, psi.shape)
        columns, kept = _inside(len(sizes), total, sizes)
        output[tuple(columns[kept].T)] = (psi[tuple(rows[given].T)] @ block[given])[kept]
    return output


def _blocks(matrix: np.ndarray, photons: int) -> Iterator[np.ndarray]:
    """For each photon number, all input patterns (rows) in terms of all output patterns (columns)."""
    block = np.ones((1, 1), np.complex128)
    yield block
    for total in range(1, photons + 1):
        inputs, outputs = (_ladder(modes, total) for modes in matrix.shape)
        larger = np.zeros([len(_patterns(modes, total)) for modes in matrix.shape], np.complex128)
        # The mean over the photon that came last, and not one of its modes: that would lose up to m^(photons / 2).
        for (i, j), entry in np.ndenumerate(matrix):
            (rows, in_roots), (columns, out_roots) = inputs[i], outputs[j]
            larger[np.ix_(rows, columns)] += (entry / total) * in_roots[:, None] * block * out_roots
        block = larger
        yield block


def _one_lost(rho: np.ndarray, missing: np.ndarray, total: int) -> np.ndarray:
    """sum_ij G_ij a_i rho a_j^dagger."""
    modes = _ladder(len(missing), total)
    lowered = [rho[:, columns] * roots for columns, roots in modes]
    smaller = len(_patterns(len(missing), total - 1))
    lost = np.zeros((smaller, smaller), np.complex128)
    for row, (places, roots) in zip(missing, modes, strict=True):
        for entry, part in zip(row, lowered, strict=True):
            lost += entry * roots[:, None] * part[places]
    return lost


def _joint_density(states: list[np.ndarray], total: int) -> np.ndarray:
    """The product of the modes' density matrices between patterns of one photon number."""
    patterns, inside = _inside(len(states), total, tuple(len(state) for state in states))
    kept = patterns[inside]
    product = np.ones((len(kept), len(kept)), np.complex128)
    for mode, state in enumerate(states):
        product *= state[np.ix_(kept[:, mode], kept[:, mode])]
    joint = np.zeros((len(patterns), len(patterns)), np.complex128)
    joint[np.ix_(inside, inside)] = product
    return joint


@lru_cache(maxsize=256)
def _patterns(modes: int, total: int) -> np.ndarray:
    """All photon numbers of the modes with the given sum, in lexical order."""
    if modes == 1:
        return np.array([[total]])
    firsts = [(first, _patterns(modes - 1, total - first)) for first in range(total + 1)]
    return np.vstack([np.hstack([np.full((len(rest), 1), first), rest]) for first, rest in firsts])


@lru_cache(maxsize=256)
def _ladder(modes: int, total: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each mode, the patterns with a photon in it and the roots of their photon numbers there.

    Without that photon they are the patterns of total - 1, in their order: no table of places is needed.
    """
    occupied = [(np.flatnonzero(column), column[column > 0]) for column in _patterns(modes, total).T]
    return [(places, np.sqrt(numbers)) for places, numbers in occupied]


def _inside(modes: int, total: int, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The patterns, and the places of those below all cutoffs."""
    patterns = _patterns(modes, total)
    return patterns, np.flatnonzero((patterns < np.array(sizes)).all(axis=1))


def _most_photons(psi: np.ndarray) -> int:
    return int(np.argwhere(psi).sum(axis=1).max(initial=0))


def _refuse_blocks(name: str, photons: int, *modes: int) -> None:
    entries = math.prod(math.comb(photons + mode - 1, photons) for mode in modes)
    refuse_beyond(name, entries, _MOST_ENTRIES, f"pairs of patterns of {photons} photons")


def _density(name: str, mode: int, light: Light) -> np.ndarray:
    """<n|rho|l> of amplitudes or of an ensemble."""
    if isinstance(light, Sequence) and len(light) and isinstance(light[0], tuple):
        ensemble = cast("Sequence[tuple[float, npt.ArrayLike]]", light)
    else:
        ensemble = [(1.0, cast("npt.ArrayLike", light))]
    weights = np.array([weight for weight, _ in ensemble], np.float64)
    vectors = [_amplitudes(name, mode, vector) for _, vector in ensemble]
    if not (np.isfinite(weights) & (weights >= 0)).all() or len({vector.size for vector in vectors}) > 1:
        raise ValueError(f"{name}: the ensemble of mode {mode} must have finite weights, zero or more, and one cutoff.")
    table = np.array(vectors)
    return (table.T * weights) @ table.conj()


def _amplitudes(name: str, mode: int, light: npt.ArrayLike) -> np.ndarray:
    vector = np.asarray(light, np.complex128)
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        raise ValueError(
            f"{name}: the amplitudes of mode {mode} must be finite, of shape (cutoff,), got {vector.shape}."
        )
    return vector


def _device(
    name: str, modes: int, transmission: npt.ArrayLike, cutoffs: npt.ArrayLike
) -> tuple[np.ndarray, tuple[int, ...]]:
    matrix = np.asarray(transmission, np.complex128)
    if matrix.ndim != 2 or not modes or matrix.shape[0] != modes or not matrix.shape[1]:
        raise ValueError(f"{name}: the matrix must have one row an input, of {modes}, and columns, got {matrix.shape}.")
    # NaN is refused before LAPACK sees it.
    largest = np.linalg.norm(matrix, 2) if np.isfinite(matrix).all() else math.nan
    if not largest <= 1 + 64 * max(matrix.shape) * 2.0**-53:
        raise ValueError(f"{name}: the matrix must be finite with singular values up to 1, got {largest:.17g}.")
    sizes = np.asarray(cutoffs)
    if sizes.shape != (matrix.shape[1],):
        raise ValueError(f"{name}: cutoffs must have shape ({matrix.shape[1]},), got {sizes.shape}.")
    return matrix, tuple(_whole(name, "cutoffs", size) for size in sizes)


def _whole(name: str, what: str, cutoff: int) -> int:
    try:
        size = operator.index(cutoff)
    except TypeError:
        raise TypeError(f"{name}: {what} must be integers, got {type(cutoff).__name__}.") from None
    if size < 1:
        raise ValueError(f"{name}: {what} must be 1 or more, got {size}.")
    return size


def _finite(name: str, **parameters: complex) -> None:
    for parameter, value in parameters.items():
        if not cmath.isfinite(value):
            raise ValueError(f"{name}: {parameter} must be finite, got {value!r}.")
