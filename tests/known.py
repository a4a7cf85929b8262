"""Named matrices with exact permanents: closed forms and counts, one row per case; the table is itself tested."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np


class Known(NamedTuple):
    name: str
    matrix: np.ndarray
    permanent: complex | int | Fraction
    rows: tuple[int, ...] | None = None
    cols: tuple[int, ...] | None = None


def _derangements(n: int) -> int:
    return sum((-1) ** k * math.factorial(n) // math.factorial(k) for k in range(n + 1))


def _circulant_pairs(n: int) -> np.ndarray:
    return np.eye(n) + np.roll(np.eye(n), 1, axis=1)


KNOWN = [
    Known("empty", np.zeros((0, 0)), 1),
    Known("one", np.array([[3.0]]), 3),
    *(Known(f"ones-{n}", np.ones((n, n)), math.factorial(n)) for n in (2, 5, 9, 12)),
    *(Known(f"derangements-{n}", np.ones((n, n)) - np.eye(n), _derangements(n)) for n in (3, 6, 10)),
    *(Known(f"two-cycles-{n}", _circulant_pairs(n), 2) for n in (3, 7)),
    Known("zero-row", np.diag([1.0, 1, 0, 1]) + np.eye(4, k=1) * np.array([1, 1, 1, 0])[:, None], 0),
    Known("signs", np.array([[1.0, 1], [1, -1]]), 0),
    Known("imaginary", np.array([[1j, 2], [3, 4j]]), 2),
    Known("triangular", np.triu(np.arange(1.0, 26).reshape(5, 5)), 1 * 7 * 13 * 19 * 25),
    Known("repeated-once", np.array([[1.0]]), math.factorial(170), (170,), (170,)),
    Known("ones-collided", np.ones((3, 2)), math.factorial(9), (4, 0, 5), (3, 6)),
    Known("rank-one-counts", np.outer([2.0, 3], [5, 7.0]), 2**2 * 3 * 5 * 7**2 * math.factorial(3), (2, 1), (1, 2)),
    Known("no-photons", np.array([[2.0, 3], [4, 5]]), 1, (0, 0), (0, 0)),
]

# Decimal entries, so float64 stores others: the float answer is compared with the permanent of the stored entries.
HEAVY = np.array([[0.308549, 0.350677], [0.350677, 0.398558]])
HEAVY_DECIMAL = [[Fraction(308549, 10**6), Fraction(350677, 10**6)], [Fraction(350677, 10**6), Fraction(398558, 10**6)]]
HEAVY_PERMANENT = Fraction(719803013830192427, 10**17) * 10**20
