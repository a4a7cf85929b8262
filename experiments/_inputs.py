"""Seeded inputs, the same for every engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np


def generator(*key: int) -> np.random.Generator:
    """A generator for one cell of a study: seed, size, and what else tells it apart."""
    return np.random.default_rng(np.random.SeedSequence(key))


def gaussian(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Complex normal entries of variance 1 / n."""
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)) / np.sqrt(2 * shape[-1])


def unitary(rng: np.random.Generator, n: int) -> np.ndarray:
    """A Haar random unitary (F. Mezzadri, Notices AMS 54 (2007) 592)."""
    q, r = np.linalg.qr(gaussian(rng, n, n))
    phases = np.diagonal(r) / np.abs(np.diagonal(r))
    return q * phases


def lossy(rng: np.random.Generator, n: int) -> np.ndarray:
    """An n x n corner of a lossy 2n-mode interferometer, losses uniform in 0..0.7."""
    return (np.sqrt(1 - 0.7 * rng.random(2 * n)) * unitary(rng, 2 * n))[:n, :n]


def badly_scaled(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows and columns of a random matrix scaled by 10^U(-8, 8) and 10^U(-3, 3)."""
    return 10 ** rng.uniform(-8, 8, (n, 1)) * gaussian(rng, n, n) * 10 ** rng.uniform(-3, 3, n)


def cancelling(rng: np.random.Generator, n: int, delta: float) -> np.ndarray:
    """A 2 x 2 block [[a, b], [c, d]] whose permanent is 2 delta, beside a random rest, so the whole cancels by delta.

    a, b and c are generic: with entries of 1 every product of Glynn's formula is exact and nothing is seen.
    """
    matrix = np.zeros((n, n), complex)
    a, b, c = gaussian(rng, 3)
    matrix[:2, :2] = [[a, b], [c, (2 * delta - b * c) / a]]
    matrix[2:, 2:] = gaussian(rng, n - 2, n - 2)
    return matrix


def symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    """A complex symmetric matrix of normal entries."""
    matrix = gaussian(rng, n, n)
    return (matrix + matrix.T) / 2


def squeezed(rng: np.random.Generator, n: int) -> np.ndarray:
    """B = U diag(tanh r) U^T of squeezed light, r uniform in 0.2..1.2, in a Haar random interferometer with loss."""
    transmission = lossy(rng, n)
    matrix = transmission @ np.diag(np.tanh(rng.uniform(0.2, 1.2, n))) @ transmission.T
    return (matrix + matrix.T) / 2


def pure(rng: np.random.Generator, n: int) -> np.ndarray:
    """B = U diag(tanh r) U^T of squeezed light, r uniform in 0.2..1.2, in a Haar random interferometer without loss."""
    mixing = unitary(rng, n)
    matrix = mixing @ np.diag(np.tanh(rng.uniform(0.2, 1.2, n))) @ mixing.T
    return (matrix + matrix.T) / 2


def displaced(rng: np.random.Generator, n: int) -> np.ndarray:
    """Squeezed light with loss, and displacements of size near 0.5 on the diagonal, where a loop hafnian reads them."""
    matrix = squeezed(rng, n)
    np.fill_diagonal(matrix, rng.normal(scale=0.35, size=n) + 1j * rng.normal(scale=0.35, size=n))
    return matrix


def collisions(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows and columns of a unitary of n modes, each drawn with repetition: photons that share modes."""
    matrix = unitary(rng, n)
    return matrix[np.ix_(np.sort(rng.integers(0, n, n)), np.sort(rng.integers(0, n, n)))]


def collisions_symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    """Squeezed light with loss, modes drawn with repetition."""
    modes = np.sort(rng.integers(0, n, n))
    return squeezed(rng, n)[np.ix_(modes, modes)]


def badly_scaled_symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    """D A D of a random symmetric A, D = 10^U(-8, 8)."""
    scale = 10 ** rng.uniform(-8, 8, n)
    matrix = np.triu(scale[:, None] * symmetric(rng, n) * scale)
    return matrix + np.triu(matrix, 1).T


def click_matrix(
    rng: np.random.Generator, modes: int, squeezing: float = 0.8, survival: float = 0.5, real: bool = False
) -> np.ndarray:
    """O = I - Q^-1 (2 m, 2 m) of squeezed light, r up to `squeezing`, after a random interferometer and loss."""
    mixing = np.linalg.qr(rng.normal(size=(modes, modes)))[0] if real else unitary(rng, modes)
    transmission = np.sqrt(survival) * mixing
    r = squeezing * rng.uniform(0.4, 1, modes)
    n = transmission.conj().T @ np.diag(np.sinh(r) ** 2) @ transmission
    m = transmission.T @ np.diag(np.sinh(r) * np.cosh(r)) @ transmission
    q = np.block([[np.eye(modes) + n.T, m], [m.conj(), np.eye(modes) + n]])
    o = np.eye(2 * modes) - np.linalg.inv(q)
    o = (o + o.conj().T) / 2
    return o.real if real else o


def displaced_clicks(rng: np.random.Generator, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """O and a gamma (2 m,) whose halves are conjugates, of displacements of size near 0.4."""
    modes = len(matrix) // 2
    half = 0.3 * (rng.normal(size=modes) + 1j * rng.normal(size=modes))
    return matrix, np.concatenate([half, half.conj()])


def adversarial_clicks(rng: np.random.Generator, n: int) -> np.ndarray:
    """From hardly any light, whose torontonian cancels, to light so strong that I - O is nearly singular."""
    return click_matrix(rng, n // 2, squeezing=10 ** rng.uniform(-3, 0.5), survival=rng.uniform(0.05, 1))


def cancelling_symmetric(rng: np.random.Generator, n: int, delta: float, loops: bool = False) -> np.ndarray:
    """A random symmetric matrix with one entry set so that its (loop) hafnian is about `delta` of what it was: it is
    linear in every entry, a + b A_01. The truth is the value for the stored entries."""
    import gbsjax_ref

    exact = gbsjax_ref.loop_hafnian_exact if loops else gbsjax_ref.hafnian_exact
    matrix = symmetric(rng, n)
    before = complex(exact(matrix))
    matrix[0, 1] = matrix[1, 0] = 0
    rest, by_entry = complex(exact(matrix)), complex(exact(matrix[2:, 2:]))
    matrix[0, 1] = matrix[1, 0] = (delta * before - rest) / by_entry
    return matrix


def adversarial(rng: np.random.Generator, n: int) -> np.ndarray:
    """`cancelling`, delta from 1e-15 to 1."""
    return gaussian(rng, n, n) if n < 2 else cancelling(rng, n, 10 ** rng.uniform(-15, 0))


def hidden(rng: np.random.Generator, n: int) -> np.ndarray:
    """Cancellation that kappa does not see: each of the eight words of signs of a 4 x 4 block makes one of its row sums
    1e-12 to 1e-6 of its entries, beside a random rest."""
    words = np.array([[1, *signs] for signs in np.ndindex(2, 2, 2)]) * 2.0 - 1
    words[:, 0] = 1
    matrix = np.zeros((n, n), complex)
    for column, pair in enumerate(rng.permutation(8).reshape(4, 2)):
        span, _ = np.linalg.qr(words[pair].T)
        entries = gaussian(rng, 4)
        entries = entries - span @ (span.T @ entries)
        matrix[:4, column] = entries + 10 ** rng.uniform(-12, -6) * gaussian(rng, 4)
    matrix[4:, 4:] = gaussian(rng, n - 4, n - 4)
    return matrix


def adversarial_symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    """`cancelling_symmetric`, delta from 1e-15 to 1."""
    return cancelling_symmetric(rng, n, 10 ** rng.uniform(-15, 0))


def adversarial_loops(rng: np.random.Generator, n: int) -> np.ndarray:
    """`cancelling_symmetric` for loop hafnians, delta from 1e-15 to 1."""
    return cancelling_symmetric(rng, n, 10 ** rng.uniform(-15, 0), loops=True)


# One matrix, or all arguments.
Family = Callable[[np.random.Generator, int], np.ndarray | tuple[np.ndarray, ...]]
_CLICKS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "physical": lambda rng, n: click_matrix(rng, n // 2, squeezing=1.2, survival=1),
    "lossy": lambda rng, n: click_matrix(rng, n // 2),
    "adversarial": adversarial_clicks,
}
# Of each function, the regimes that tests and studies of accuracy share.
FAMILIES: Mapping[str, Mapping[str, Family]] = {
    "permanent": {
        "physical": unitary,
        "lossy": lossy,
        "collisions": collisions,
        "adversarial": adversarial,
        "hidden": lambda rng, n: hidden(rng, n) if n >= 4 else adversarial(rng, n),
        "badly scaled": badly_scaled,
    },
    "hafnian": {
        "physical": pure,
        "lossy": squeezed,
        "collisions": collisions_symmetric,
        "adversarial": adversarial_symmetric,
        "badly scaled": badly_scaled_symmetric,
    },
    "loop_hafnian": {
        "physical": pure,
        "lossy": squeezed,
        "displaced": displaced,
        "collisions": collisions_symmetric,
        "adversarial": adversarial_loops,
        "badly scaled": badly_scaled_symmetric,
    },
    "torontonian": _CLICKS,
    "loop_torontonian": {
        regime: lambda rng, n, family=family: displaced_clicks(rng, family(rng, n))
        for regime, family in _CLICKS.items()
    },
}


def arguments(family: Family, seed: int, n: int) -> tuple[np.ndarray, ...]:
    """All arguments of a function, of one seed and size."""
    found = family(generator(seed, n), n)
    return found if isinstance(found, tuple) else (found,)
