"""Seeded inputs, the same for every engine."""

from __future__ import annotations

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
